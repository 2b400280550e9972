"""`touchstone gate`: judge a gold file by a judge, and say with an exit code whether the judge may be trusted."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

from judges.standalone.commands.judge import (
    FileJudging,
    access_options,
    evaluator_option,
    judge_from_options,
    mapping_read,
    output_options,
)
from judges.standalone.item_files import OpenItems, images_open
from judges.standalone.main import BROKEN, REFUSALS, CommandRefusedError, StandaloneCommand
from judges.strategies.presentation import ORDERS
from metaeval.gate.decision import GRADED, GateOptions, GateOutcome, GateResult, decide
from metaeval.gate.gold import VerdictsRead, gold_read, verdicts_of_file
from metaeval.gate.writing import WRITERS, gate_text, junit_of_error
from metaeval.inputs import GOLD, PEOPLE
from metaeval.selection.verdict import ANNOTATORS
from metaeval.stats import InvalidInputError


class GateCommand(StandaloneCommand):
    usage_code: ClassVar[int] = BROKEN
    about = """\
Judge a file of items whose gold answers or labels are known, and hold the judge to thresholds. A threshold is passed
where the whole interval is beyond it, and failed where the whole interval is on the other side of it.

  touchstone gate judge.json gold.jsonl --min-agreement 0.8 --max-drop 2

Exit codes: 0 trusted; 1 not trusted; 2 inconclusive, with the sample size needed; 3 broken: a
file, an option or an endpoint is wrong, or a judgment never came."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "judge",
            type=Path,
            help="a judge.json of a site, a YAML of your own, or a published evaluator's files",
        )
        parser.add_argument(
            "gold",
            type=Path,
            help="items with gold answers or labels, in the generic format; with images, a folder or zip archive",
        )
        asked = parser.add_argument_group("what is asked")
        asked.add_argument(
            "--min-agreement", type=float, help="the least agreement, accuracy or correlation, such as 0.8"
        )
        asked.add_argument(
            "--figure",
            default="",
            help="hold it by this figure: one that ranks judges of the kind, or of graded preferences "
            f"{' or '.join(GRADED)} (default: the one that ranks judges in a report)",
        )
        asked.add_argument(
            "--max-drop", type=float, help="the most points below the baseline, such as 2, on the same items"
        )
        asked.add_argument(
            "--baseline", type=Path, help="verdicts that were accepted before (default: JUDGE.baseline.jsonl)"
        )
        asked.add_argument(
            "--save-baseline",
            action="store_true",
            help="keep the verdicts as the baseline if the judge is trusted",
        )
        asked.add_argument(
            "--against", choices=(PEOPLE, GOLD), help="labels or gold answers (default: what more items have)"
        )
        asked.add_argument(
            "--annotators",
            choices=ANNOTATORS,
            default="these",
            help="with which annotators the thresholds hold: these, or new ones like them too (default: these)",
        )
        asked.add_argument("--confidence", type=float, default=0.95, help="of the intervals (default: 0.95)")
        asked.add_argument("--seed", type=int, default=0, help="of resamples and of random orders")
        judged = parser.add_argument_group("judging")
        judged.add_argument(
            "--verdicts",
            type=Path,
            help="keep the verdicts in this .jsonl, and continue from those in the file",
        )
        judged.add_argument("--orders", choices=ORDERS, default="both", help="of pairs (default: both)")
        judged.add_argument("--map", action="append", default=[], metavar="COLUMN=FIELD")
        output_options(parser)
        evaluator_option(judged)
        judged.add_argument("--base-url", default="", help="ask there instead: it is then another judge")
        judged.add_argument("--model", default="", help="ask this model instead: it is then another judge")
        judged.add_argument("--revision", default="", help="of the model")
        access_options(parser)
        told = parser.add_argument_group("results")
        for name, about in (("json", "JSON"), ("junit", "JUnit's XML"), ("markdown", "Markdown")):
            told.add_argument(
                f"--{name}", type=Path, metavar="FILE", help=f"write the decision there as {about}"
            )
        parser.set_defaults(strategy="", backend="", set=[])

    def run(self, options: argparse.Namespace) -> int:
        try:
            result = gate_result(options)
        except (*REFUSALS, InvalidInputError) as error:
            if options.junit is not None:
                options.junit.write_text(junit_of_error(str(error)), encoding="utf-8")
            if isinstance(error, InvalidInputError):
                raise CommandRefusedError(str(error)) from error
            raise
        for name, writer in WRITERS.items():
            if (path := getattr(options, name)) is not None:
                path.write_text(writer(result), encoding="utf-8")
        sys.stdout.write(gate_text(result))
        return result.outcome.code


def gate_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(prog="touchstone gate", exit_on_error=False)
    GateCommand().configure(parser)
    return parser


def gate_result(options: argparse.Namespace) -> GateResult:
    """Judge what is left to judge, decide, and keep the baseline if that was asked for.

    Raises
    ------
    CommandRefusedError, ImportFileError, SpecError, BackendError, OSError, InvalidInputError
        The gate is broken: nothing can be said.
    """
    asked = GateOptions(
        min_agreement=options.min_agreement,
        max_drop=options.max_drop,
        figure=options.figure,
        against=options.against,
        annotators=options.annotators,
        confidence=options.confidence,
        seed=options.seed,
    )
    document = judge_from_options(options)
    spec = document.spec
    with ExitStack() as stack:
        table, images = stack.enter_context(images_open(options.gold))
        gold = gold_read(
            table,
            spec.kind,
            systems=tuple(spec.reference_systems()),
            mapping=mapping_read(options.map),
            images=images,
        )
        place = options.baseline or options.judge.with_suffix(".baseline.jsonl")
        before = _baseline(place, options) if options.max_drop is not None else None
        verdicts = options.verdicts
        if verdicts is None:
            verdicts = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "verdicts.jsonl"
        judging = argparse.Namespace(**vars(options) | {"out": str(verdicts), "items": options.gold})
        if FileJudging(judging, document, OpenItems(gold.views, gold.n_others, images)).judge():
            raise CommandRefusedError("judging stopped before the end, so nothing can be said.")
        now = verdicts_of_file(verdicts, gold)
        if now.n_failed:
            raise CommandRefusedError(
                f"{now.n_failed:,} judgments never came, so nothing can be said: see `reason` in the verdicts, "
                "which --verdicts FILE keeps."
            )
        kept: VerdictsRead | None = None if before is None else verdicts_of_file(before, gold)
        result = decide(
            gold,
            now.answers,
            asked,
            baseline=None if kept is None else kept.answers,
            n_left_out=0 if kept is None else kept.n_other_texts + kept.n_unknown,
        )
        if options.save_baseline and _is_acceptable(result):
            shutil.copyfile(verdicts, place)
    return result


def _baseline(place: Path, options: argparse.Namespace) -> Path | None:
    if place.exists():
        return place
    if options.save_baseline:
        return None
    raise CommandRefusedError(
        f"{place}: there is no baseline to hold the judge against. --save-baseline makes one; --baseline names another."
    )


def _is_acceptable(result: GateResult) -> bool:
    # The first baseline has nothing to be compared with.
    return result.outcome == GateOutcome.TRUSTED or not result.checks
