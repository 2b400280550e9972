"""What a gate decided, for people (text, Markdown) and for CI (JUnit's XML, JSON)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from xml.etree import ElementTree as Xml

from metaeval.gate.decision import GateCheck, GateOutcome, GateResult
from metaeval.inputs import PEOPLE
from metaeval.reports.markdown import plain_text
from web.numbers import figure_text, interval_text

# What XML 1.0 has no way to write.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_text(result: GateResult) -> str:
    """The decision in words, a line for each thing that was asked."""
    lines = [_headline(result)]
    lines += [f"  {check_sentence(check, result)}" for check in result.checks]
    lines += [f"  {line}" for line in gate_facts(result)]
    return "\n".join(lines) + "\n"


def gate_markdown(result: GateResult) -> str:
    """The decision as Markdown, for the summary of a run in CI."""
    lines = [
        f"## {plain_text(_headline(result))}",
        "",
        "| | Found | Asked | n | |",
        "|---|---:|---:|---:|---|",
    ]
    for check in result.checks:
        asked = figure_text(check.threshold, check.unit)
        cells = (
            plain_text(_subject(check)),
            _found(check),
            f"at least {asked}" if check.name == "agreement" else f"at most {asked}",
            f"{check.n:,}",
            f"**{check.outcome}**",
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        *(plain_text(_sample_size_needed(check)) for check in result.checks if _sample_size_needed(check)),
    ]
    lines += ["", *(f"- {plain_text(line)}" for line in gate_facts(result))]
    return "\n".join(lines) + "\n"


def gate_json(result: GateResult) -> str:
    """The decision as JSON, in the schema `touchstone.gate/1`."""
    return json.dumps(result.as_dict(), indent=2, ensure_ascii=False) + "\n"


def gate_junit(result: GateResult) -> str:
    """The decision as JUnit's XML: a test case for each thing that was asked; what is inconclusive is skipped."""
    count = [check.outcome for check in result.checks]
    suite = Xml.Element(
        "testsuite",
        name="touchstone gate",
        tests=str(len(count)),
        failures=str(count.count(GateOutcome.NOT_TRUSTED)),
        skipped=str(count.count(GateOutcome.INCONCLUSIVE)),
        errors="0",
    )
    for check in result.checks:
        case = Xml.SubElement(suite, "testcase", classname=_clean(f"gate.{result.judge}"), name=check.name)
        sentence = _clean(check_sentence(check, result))
        if check.outcome == GateOutcome.NOT_TRUSTED:
            Xml.SubElement(case, "failure", message=sentence)
        elif check.outcome == GateOutcome.INCONCLUSIVE:
            Xml.SubElement(case, "skipped", message=sentence)
        Xml.SubElement(case, "system-out").text = sentence
    root = Xml.Element("testsuites")
    root.append(suite)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def junit_of_error(message: str) -> str:
    """JUnit's XML of a gate that could not decide because something is broken."""
    root = Xml.Element("testsuites")
    suite = Xml.SubElement(
        root, "testsuite", name="touchstone gate", tests="1", failures="0", skipped="0", errors="1"
    )
    case = Xml.SubElement(suite, "testcase", classname="gate", name="gate")
    Xml.SubElement(case, "error", message=_clean(message))
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


WRITERS: Mapping[str, Callable[[GateResult], str]] = MappingProxyType(
    {"json": gate_json, "junit": gate_junit, "markdown": gate_markdown}
)
"""By the option that names a file."""


def check_sentence(check: GateCheck, result: GateResult) -> str:
    """What was found, what was asked, and what follows."""
    asked = figure_text(check.threshold, check.unit)
    at = "at least" if check.name == "agreement" else "at most"
    whose = " with new annotators like these too" if result.annotators == "alike" else ""
    said = (
        f"{_subject(check)}: {_found(check)}, n = {check.n:,}; asked: {at} {asked}{whose}: {check.outcome}."
    )
    return f"{said} {_sample_size_needed(check)}".rstrip()


def gate_facts(result: GateResult) -> list[str]:
    """What a reader has to know of the items and of the verdicts."""
    labels = f", {result.n_labels:,} labels" if result.against == PEOPLE else ""
    held = "human labels" if result.against == PEOPLE else "gold answers"
    found = [
        f"{result.n_items:,} items of {result.gold}{labels}; held against {held}; "
        f"{100 * result.confidence:g}% intervals."
    ]
    if result.n_unparsed:
        found.append(f"{result.n_unparsed:,} verdicts could not be read; they count as wrong.")
    if result.n_baseline_left_out:
        found.append(
            f"{result.n_baseline_left_out:,} items of the baseline are left out: they are not in {result.gold}, "
            "or have other texts there."
        )
    return [*found, *result.remarks]


def _headline(result: GateResult) -> str:
    return f"{result.judge}: {result.outcome}"


def _subject(check: GateCheck) -> str:
    return check.label if check.name == "agreement" else f"Drop of {check.label[0].lower()}{check.label[1:]}"


def _found(check: GateCheck) -> str:
    if check.value != check.value:
        return "not defined"
    shown = figure_text(check.value, check.unit)
    return shown if check.low != check.low else f"{shown} {interval_text(check.low, check.high, check.unit)}"


def _sample_size_needed(check: GateCheck) -> str:
    """The sample size that is needed where a check is inconclusive."""
    if check.outcome != GateOutcome.INCONCLUSIVE:
        return ""
    if check.low != check.low:
        return f"Nothing can be said: {check.reason}."
    if check.needed is None:
        return "The value is too near the threshold for any sample size."
    value = figure_text(check.value, check.unit)
    return f"Sample size needed, if it stays at {value}: about {check.needed:,} labeled items."


def _clean(text: str) -> str:
    """Without characters that XML cannot hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
