"""What a figure is: its name, what it estimates, its unit, and how it is computed from the inputs of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from annotation.domain.scales import Scale
from metaeval.figures.sample import ByCriterion, ByGroup, Crossed, CrossedRatio, JudgeSample, Part, Sample
from metaeval.inputs import Against, Inputs, Options
from metaeval.stats.intervals import AMOUNT

Unit = Literal["percent", "points", "number", "money", "seconds"]
Bounds = tuple[float, float] | None
CORRELATION: Bounds = (-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a kind of item, of human annotators or of judges.

    Attributes
    ----------
    name : str
        Member of a report's ``measures``, and of its CSV.
    label : str
        As pages, tables and files call it.
    estimand : str
        What it estimates, in one sentence.
    function : callable
        What it is computed from: of the kind's `Sample` for people and gold, of its `JudgeSample` for judges. None
        where these inputs have no such figure.
    unit : {"percent", "points", "number", "money", "seconds"}
    bounds : (float, float) or None
        The range of the figure: its interval stays inside, and plots are drawn on it.
    axes : tuple of str
        Ways to group items of which there is a table: "criterion", "subset", "category".
    resampled : str
        What intervals resample.
    short : str
        Head of a narrow column; the label where it is empty.
    in_pages : bool
        Whether it stands in the tables of all figures, and by group; JSON and CSV have every figure, by group too.
    table : str
        Heading of a table of its own in pages and papers, which it shares with others of that heading; empty: none.
    compares : bool
        Of judges: whether it compares them with what people said, so that items weigh by the chance with which they
        were drawn for labelling. Figures of people always weigh so.
    gap : bool
        Whether the difference between adversarial and other subsets is one of its values.
    of_gold : bool
        Of judges: whether it compares them with gold answers, whatever the others are compared with.
    lead : str
        The sentence on the leading judge, from ``{name}`` and ``{value}``; empty: with the label and people's figure.
    lacking : str
        Why it is undefined for every judge; empty: with the label.
    alike : callable or None
        What its second interval, of annotators like these on new items, is computed from; None where its function
        says that already, or where it has none.
    only_these : str
        Why it has none although it rests on people's labels: a clause for the methods of a report.
    neutral : float or None
        Its value without any bias: a dashed line on plots. Of agreement beyond chance that is 0.
    """

    name: str
    label: str
    estimand: str
    function: Callable[[Any], Part | None]
    unit: Unit = "percent"
    bounds: Bounds = (0.0, 1.0)
    axes: tuple[str, ...] = ()
    resampled: str = "instructions"
    short: str = ""
    in_pages: bool = True
    table: str = ""
    compares: bool = False
    gap: bool = False
    of_gold: bool = False
    lead: str = ""
    lacking: str = ""
    neutral: float | None = None
    alike: Callable[[Any], Crossed | CrossedRatio | ByCriterion | ByGroup | None] | None = None
    only_these: str = ""

    @property
    def mark(self) -> float | None:
        """Where plots have a dashed line."""
        return 0.0 if self.bounds == CORRELATION else self.neutral

    @property
    def head(self) -> str:
        """The head of a narrow column."""
        return self.short or self.label

    @property
    def axis(self) -> tuple[float, float]:
        """Ends of the axis that it is drawn on."""
        return self.bounds or (0.0, 1.0)

    @property
    def range(self) -> Bounds:
        """What intervals stay inside."""
        return AMOUNT if self.unit in ("money", "seconds") else self.bounds


GROUPS = ("subset", "category")
# The options that count for most kinds.
OPTIONS = ("against", "confidence", "n_resamples", "seed", "margin", "annotators")
UNPARSED = Figure(
    "unparsed_rate",
    "Unparsed",
    "Share of the judgments that are unparsed or missing.",
    JudgeSample.unparsed,
)


@dataclass(frozen=True, slots=True)
class Convention:
    """What figures of a kind do where papers differ, as arguments of a function of `metaeval.stats`.

    Attributes
    ----------
    figures : tuple of str
        Of people or of judges.
    function : str
    arguments : mapping
        What stands fixed; a report's options and these together are compared with a preset's.
    """

    figures: tuple[str, ...]
    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublishedConvention:
    """The figures that a paper prints, by its convention: beside the others where a report is asked for them.

    Attributes
    ----------
    title : str
        Of the paper or benchmark, with letters, digits, hyphens and spaces alone.
    convention : str
        What the paper does where others differ, in one sentence or two.
    cites : tuple of str
        Keys of the bibliography.
    judges, people : tuple of Figure
        Their names begin with that of the preset.
    """

    title: str
    convention: str
    cites: tuple[str, ...]
    judges: tuple[Figure, ...]
    people: tuple[Figure, ...] = ()

    @property
    def table(self) -> str:
        """The heading of the table of judges."""
        return f"As published ({self.title})"


@dataclass(frozen=True, slots=True)
class ScoreWords:
    """The words of a score of judges, in a choice between them.

    Attributes
    ----------
    items : str
        What is judged, as many.
    people, gold : str
        The score on a dataset of each role, as it stands in a sentence.
    short : str
        The score in a column's head, whatever the role; empty where it depends on the role.
    meaning : str
        What the score is, and what is had by chance.
    """

    items: str
    people: str
    gold: str
    short: str = ""
    meaning: str = ""

    def role(self, role: str) -> str:
        """The score on a dataset of a role."""
        return self.people if role == "people" else self.gold


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFigures:
    """The figures of a kind, and what else reports on it need to know.

    Attributes
    ----------
    sample : type of Sample
        What its figures are computed in.
    people, judges, gold : tuple of Figure
        In the order of a report. The first of people is the one that is said where there are no judges.
    primaries : tuple of str
        By which figures judges may be ranked; by the first where there is nothing else to say.
    further : tuple of str
        By which they may be ranked too, if asked, where `Sample.ranks_by` says that inputs have it.
    so_far : tuple of str
        The figures of people that the page of a study shows while it fills.
    of_one_person : Figure
        Agreement of one annotator with the others, from `Sample.with_others`.
    of_everyone : str
        The figure of people that this is one person's part of.
    beside_names : mapping of str
        The figure of people that stands beside a figure of judges, where it has another name.
    of_responses : str
        What a judge says of the responses, which needs nothing to compare it with; empty where there is none.
    options : tuple of str
        The options that count; judges are compared with people or with gold where "against" is one of them, else by
        figures of their own.
    n_resamples, quick, quick_rows : int
        Resamples by default; items times judges, and rows, on which a page computes while somebody waits (two seconds).
    majority : bool
        Whether judges are compared with a majority, so that an even number of labels may leave an item undecided.
    finer : tuple of str
        Fields of a judgment that have finer numbers than its value, the finest first.
    shows_baselines : bool
        Whether baselines are judges of the report; the leading judge is compared with them in any case.
    has_replacement : bool
        Whether the alternative annotator test is one of its figures.
    says_undefined : bool
        Whether figures of people are there without labels, each with its reason.
    sides : tuple of str
        Of verdicts with two sides what either is called, the positive one first; empty of others.
    counted : str
        What n counts.
    methods : tuple of str
        How figures of people are computed.
    conventions : tuple of Convention
        By which a report says which presets of papers its figures follow.
    published : mapping of str to PublishedConvention
        By the name of a preset the figures of its paper, of those that have some of this kind.
    ranked : str
        By what judges are ranked; ``{against}`` is one of `against`.
    against : mapping of str
        What judges are compared with, by the option.
    scores : mapping of str
        What the score of each of the primaries is called in a choice between judges, the first one's first.
    on_scales : callable or None
        Of kinds with criteria, the same on other scales than 1 to 5: words and bounds depend on them.
    """

    sample: type[Sample]
    people: tuple[Figure, ...]
    judges: tuple[Figure, ...]
    gold: tuple[Figure, ...] = ()
    primaries: tuple[str, ...]
    further: tuple[str, ...] = ()
    so_far: tuple[str, ...]
    of_one_person: Figure
    of_everyone: str
    beside_names: Mapping[str, str] = field(default_factory=dict)
    of_responses: str = ""
    options: tuple[str, ...] = OPTIONS
    n_resamples: int = 2_000
    quick: int = 3_000
    quick_rows: int = 6_000
    majority: bool = False
    finer: tuple[str, ...] = ()
    shows_baselines: bool = False
    has_replacement: bool = False
    says_undefined: bool = False
    sides: tuple[str, ...] = ()
    counted: str = "n counts items."
    methods: tuple[str, ...] = ()
    conventions: tuple[Convention, ...] = ()
    published: Mapping[str, PublishedConvention] = field(default_factory=dict)
    ranked: str = ""
    against: Mapping[Against, str] = field(default_factory=dict)
    scores: Mapping[str, ScoreWords]
    on_scales: Callable[[tuple[Scale, ...]], KindFigures] | None = None

    def on(self, scales: Sequence[Scale]) -> KindFigures:
        """The figures of criteria on these scales: of kinds without criteria, and of 1 to 5, these."""
        if self.on_scales is None or not any(scale.as_json() for scale in scales):
            return self
        return self.on_scales(tuple(scale.numbers for scale in scales))

    def under(self, preset: str) -> KindFigures:
        """The same with the figures of a paper's convention, last; these where it has none of this kind."""
        found = self.published.get(preset)
        if found is None:
            return self
        judges = tuple(replace(one, table=found.table, in_pages=False) for one in found.judges)
        return replace(self, people=(*self.people, *found.people), judges=(*self.judges, *judges))

    @property
    def ranking(self) -> tuple[str, ...]:
        """All figures by which judges may be ranked."""
        return (*self.primaries, *self.further)

    def of_judges(self, name: str) -> Figure:
        """A figure of judges by its name."""
        return next(figure for figure in self.judges if figure.name == name)

    def of_people(self, name: str) -> Figure:
        """A figure of people by its name."""
        return next(figure for figure in self.people if figure.name == name)

    def beside(self, name: str) -> str:
        """The figure of people that stands beside a figure of judges; empty where there is none."""
        beside = self.beside_names.get(name, name)
        return beside if any(figure.name == beside for figure in self.people) else ""

    def only(self, *names: str) -> KindFigures:
        """The same with the figures of these names."""
        people, judges = (
            tuple(one for one in figures if one.name in names) for figures in (self.people, self.judges)
        )
        return replace(self, people=people, judges=judges)

    def with_baselines(self, inputs: Inputs) -> Inputs:
        """The same inputs with the baselines as judges, last."""
        floors = self.sample(inputs, Options(n_resamples=0)).baselines()
        return replace(inputs, judges=(*inputs.judges, *floors))
