"""How the figures of a report were computed: prose that a paper's appendix can take over, with what it cites."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from metaeval.reports.citations import SOFTWARE, Citation, citations, data_key, keys_of_figure
from metaeval.reports.replacement import replacements
from metaeval.reports.report import ReportContent, known
from metaeval.reports.tables import has_alike, only_these, people_table, why_not_alike
from metaeval.stats import PRESETS

_TIES = {
    "expected": (
        "Leave-one-out agreement compares each label with the modes of the others; ties between modes count by the "
        "exact expectation of breaking them at random."
    ),
    "random": (
        "Leave-one-out agreement compares each label with the mode of the others; ties between modes were broken at "
        "random (seed {seed})."
    ),
    "alpaca_eval": (
        "Agreement follows AlpacaEval's published convention: human annotators are compared with the mode of the other "
        "labels, judges with the mode of all, and ties between two modes go to the second output."
    ),
}


class Sentence(NamedTuple):
    """A sentence, and the keys of what it cites."""

    text: str
    cites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Methods:
    """Paragraphs of a methods section, and the bibliography: `number` of a key is its place there."""

    paragraphs: tuple[tuple[Sentence, ...], ...]
    bibliography: tuple[Citation, ...]

    def numbers(self, sentence: Sentence) -> str:
        """What stands after a sentence where citations are numbers: "[3, 4]"; empty where it cites nothing."""
        keys = [one.key for one in self.bibliography]
        return f"[{', '.join(str(keys.index(key) + 1) for key in sentence.cites)}]" if sentence.cites else ""

    @property
    def prose(self) -> tuple[str, ...]:
        """The paragraphs as text, with the numbers of citations before each full stop."""
        return tuple(" ".join(map(self._cited, paragraph)) for paragraph in self.paragraphs)

    def _cited(self, sentence: Sentence) -> str:
        numbers = self.numbers(sentence)
        return f"{sentence.text[:-1]} {numbers}{sentence.text[-1]}" if numbers else sentence.text


def methods(report: ReportContent) -> list[str]:
    """Every sentence of the methods, one after another."""
    return [sentence.text for paragraph in methods_section(report).paragraphs for sentence in paragraph]


def methods_section(report: ReportContent) -> Methods:
    """The methods of a report, written out: data, figures, intervals and comparisons, software."""
    paragraphs = (
        tuple(_data(report)),
        tuple(_figures(report)),
        (*_drawn(report), *_intervals(report), *_compared(report)),
        tuple(_software(report)),
    )
    kept = tuple(paragraph for paragraph in paragraphs if paragraph)
    keys = [key for paragraph in kept for sentence in paragraph for key in sentence.cites]
    return Methods(kept, citations(report, keys))


def _data(report: ReportContent) -> Iterator[Sentence]:
    """Items, labels with their overlap, judges."""
    items, people = report.items, report.people
    where = (
        f"The items are {items.n_items:,} of the dataset {report.dataset['title'] or report.dataset['name']}"
    )
    yield Sentence(
        f"{where}, version {report.dataset['version']}, on {items.n_instructions:,} instructions"
        + (f"; {items.n_gold:,} of them have a gold answer." if items.n_gold else "."),
        (data_key(report),),
    )
    if people.n_labels:
        low, high = people.labels_per_item["min"], people.labels_per_item["max"]
        overlap = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        yield Sentence(
            f"{people.n_annotators:,} annotators gave {people.n_labels:,} labels of {people.n_items_labelled:,} items, "
            f"{overlap} an item; {people.n_items_with_two_labels:,} items have two labels or more."
        )
        if people.simulated_share:
            yield Sentence(
                f"{100 * people.simulated_share:.0f}% of the labels come from simulated annotators."
            )
    judges = [judge for judge in report.judges if not judge.baseline]
    if judges:
        n, read = sum(one.n_judgments for one in judges), sum(one.n_unparsed for one in judges)
        models = len({one.model for one in judges if one.model != one.name} - {""})
        of = f" of {models:,} models" if models > 1 else ""
        yield Sentence(
            f"{len(judges):,} {'judge' if len(judges) == 1 else 'judges'}{of} gave {n:,} judgments, of which {read:,} "
            "could not be read."
        )


def _figures(report: ReportContent) -> Iterator[Sentence]:
    yield from _of_pairs(report) if "tie_break" in report.options else _of_values(report)
    labels, keys = _cited_figures(report)
    if keys:
        yield Sentence(f"These figures are defined as in the publications cited: {', '.join(labels)}.", keys)
    if (published := report.published) is not None:
        named = ", ".join(dict.fromkeys(one.label for one in (*published.judges, *published.people)))
        yield Sentence(
            f"These figures follow the published convention (preset {report.options['preset']}): {named}. "
            f"{published.convention}",
            published.cites,
        )


def _cited_figures(report: ReportContent) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The figures of the report that a publication defines, and what is cited for them."""
    found = [
        (label, keys) for name, label in _known_figures(report) if (keys := keys_of_figure(report.kind, name))
    ]
    return tuple(dict.fromkeys(label for label, _ in found)), tuple(
        dict.fromkeys(key for _, keys in found for key in keys)
    )


def _known_figures(report: ReportContent) -> list[tuple[str, str]]:
    """Name and label of the figures that the report has a value of: of people, then of judges."""
    there = [(one.name, one.label) for one, estimate in people_table(report) if known(estimate)]
    names = {name for judge in report.judges for name in judge.measures if known(judge.overall(name))}
    return there + [(one.name, one.label) for one in report.figures.judges if one.name in names]


def _of_pairs(report: ReportContent) -> Iterator[Sentence]:
    options = report.options
    if report.people.n_labels:
        yield Sentence(_TIES[options["tie_break"]].format(seed=options["seed"]))
    yield Sentence("A judge's figure is the mean of the presentation orders in which it judged.")
    if options["unparsed"] == "wrong":
        yield Sentence("An unparsed verdict counts as wrong.")
    else:
        yield Sentence("Unparsed verdicts are left out of agreement and accuracy.")
    yield Sentence("In positional agreement an unparsed verdict agrees with nothing.")
    yield Sentence(_presets_words(report))
    if report.items.n_gold:
        yield Sentence("Accuracy counts a tie as one half where the gold answer is none.")
    yield Sentence(
        "Lengths are in characters. Length bias is the share that prefers the longer response minus the share that "
        "prefers the shorter, averaged over the items whose responses differ in length."
    )
    if any(judge.baseline for judge in report.judges):
        yield Sentence("Baselines are judges without an LLM, computed from the lengths and the order alone.")


def _presets_words(report: ReportContent) -> str:
    """Which presets have the conventions of which figures of this report."""
    there = _known_figures(report)
    found: dict[tuple[str, ...], list[str]] = {}
    for one in report.figures.conventions:
        labels = [label for name, label in there if name in one.figures]
        names = tuple(
            each.name
            for each in PRESETS.values()
            if one.function in each.options
            and each.options[one.function].items() <= (report.options | dict(one.arguments)).items()
        )
        if labels and names:
            found.setdefault(names, []).extend(labels)
    sentences = []
    for names, labels in found.items():
        unique = list(dict.fromkeys(labels))
        verb = "has" if len(unique) == 1 else "have"
        which = f"{', '.join(unique[:-1])} and {unique[-1]}" if len(unique) > 1 else unique[0]
        presets = f"preset{'s' if len(names) > 1 else ''} {' and '.join(names)}"
        sentences.append(f"{which} {verb} the conventions of the {presets}.")
    return " ".join(sentences) or "These conventions are the defaults; they are no preset of a paper."


def _of_values(report: ReportContent) -> Iterator[Sentence]:
    if report.people.n_labels:
        yield from map(Sentence, report.figures.methods)
    if report.judges:
        if report.selection.leader is not None:
            against = report.figures.against["gold" if report.against == "gold" else "people"]
            yield Sentence(report.figures.ranked.format(against=against))
        yield Sentence(
            "Unparsed answers are left out of correlations, scores and mean ratings, and count as wrong for agreement "
            "and for agreement within a tolerance."
        )
    if report.people.n_labels or report.judges:
        yield Sentence(_presets_words(report))


def _drawn(report: ReportContent) -> Iterator[Sentence]:
    if report.people.n_drawn_by_chance and not any("do not weigh" in one for one in report.remarks):
        yield Sentence(
            "Items that were sampled for labeling with a probability below 1 are weighted by its inverse in all "
            "figures "
            "from labels.",
            ("horvitz1952",),
        )


def _populations(report: ReportContent) -> Iterator[Sentence]:
    """Whom the intervals speak of."""
    why = why_not_alike(report)
    if not (why or has_alike(report)):
        return
    yield Sentence("Intervals are of these annotators on new items, unless stated otherwise.")
    if why:
        yield Sentence(f"None is of annotators like these on new items: {why}.")
        return
    yield Sentence(
        "Intervals for annotators like these on new items add the variance between annotators: what replacing one "
        "annotator's labels by those of the others of the same items does to the figure, with modes, means and ranks "
        "recomputed. "
        "What an annotator does on one instruction only is in the variance between instructions, and counts once "
        "(two-way clustering, Satterthwaite's degrees of freedom).",
        ("cameron2011", "satterthwaite1946"),
    )
    for whose, reason, labels in only_these(report):
        yield Sentence(f"There is none of these figures of {whose}: {', '.join(labels)}. Reason: {reason}.")


def _intervals(report: ReportContent) -> Iterator[Sentence]:
    options = report.options
    if not options["n_resamples"]:
        yield Sentence("No intervals were asked for.")
        return
    yield Sentence(
        f"Intervals are at {100 * options['confidence']:g}%, from {options['n_resamples']:,} bootstrap resamples of "
        f"instructions (seed {options['seed']}), the same for all judges; of shares and means they are Wilson's, of "
        "correlations Fisher's, with the sample size and degrees of freedom that the variance between instructions "
        "gives.",
        ("field2007", "wilson1927", "korn1998", "fisher1921"),
    )
    yield from _populations(report)
    if not any(one.differences for one in report.selections.values()):
        return
    yield Sentence(
        "Differences to the leading judge are paired by item, with Student intervals. They allow for the "
        "selection of the leader as the best."
    )
    if report.primary in report.figures.primaries:
        yield Sentence(
            "The leader and the judges that are not significantly different from it are a model confidence set "
            "(Hansen, Lunde and Nason), which holds all equally best judges in at least "
            f"{100 * options['confidence']:g}% of datasets.",
            ("hansen2011",),
        )


def _compared(report: ReportContent) -> Iterator[Sentence]:
    options = report.options
    if options.get("margin"):
        yield Sentence(
            f"A difference counts in practice above {100 * options['margin']:g} points; judges shown to be closer are "
            "equivalent (two one-sided tests).",
            ("schuirmann1987",),
        )
    if replacements(report):
        yield Sentence(
            f"The alternative annotator test compares each judge with each annotator, with an epsilon of "
            f"{options.get('epsilon', 0.2):g}; its p-values are corrected for the annotators by Benjamini and "
            "Yekutieli's procedure and for the judges by Holm's.",
            ("calderon2025", "benjamini2001", "holm1979"),
        )


def _software(report: ReportContent) -> Iterator[Sentence]:
    software = report.software
    yield Sentence(
        f"All figures were computed with {software['name'].title()} {software['version']} from inputs with the "
        f"SHA-256 {report.inputs_hash}; the same inputs give the same report, byte for byte.",
        (SOFTWARE,),
    )
