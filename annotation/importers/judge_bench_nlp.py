"""JUDGE-BENCH: 20 datasets of human judgments in one JSON schema, graded or categorical.

Source: https://github.com/dmg-illc/JUDGE-BENCH (`data/*/*.json`; the files of `prompt_model_json.py` repeat them
with the answers of a model; A. Bavaresco et al., "LLMs instead of Human Judges?", ACL 2025). Not JudgeBench of
ScalerLab.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.importers.build import AspectFields, BundleBuilder
from annotation.importers.categories import MOST
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.files import read_document
from annotation.importers.records import EMPTY, DatasetBundle, Origin, Value
from annotation.importers.rows import MAX_ASPECT_KEY, MAX_ID, MAX_JUDGE, Row, one_of, whole, whole_text
from annotation.importers.votes import WINNERS
from annotation.kinds.classification import CategoryScheme, Classification
from annotation.kinds.rubric import Rubric

GRADED, CATEGORICAL, CONTINUOUS = "graded", "categorical", "continuous"
CATEGORIES = (GRADED, CATEGORICAL, CONTINUOUS)
COMPUTED = ("mean_human", "majority_human")
SCORES = "individual_human_scores"
WHO = {"true": "expert", "false": "crowdworker"}
RATE = "Rate the text."
POINTS = ("1", "2", "3", "4", "5")
PAIR = ("input", "output_a", "output_b")
"""What an instance has that is a pair."""
PLACEHOLDER = re.compile(r"\{\{\s*\w+\s*\}\}")
NUMBER = re.compile(r"(?<!\d)\d+(?!\d)")
UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that was judged of each instance.

    Attributes
    ----------
    name : str
        As in the instances.
    category : {"graded", "categorical"}
    labels : tuple of str
        What may be said: the points in order, or the labels.
    question : str
    """

    name: str
    category: str
    labels: tuple[str, ...]
    question: str

    @property
    def key(self) -> str:
        return UNSAFE.sub("-", self.name).strip("-")[:64] or "metric"

    @property
    def is_criterion(self) -> bool:
        """Whether it is graded with the points that rubrics have."""
        return self.category == GRADED and set(self.labels) == set(POINTS)

    @property
    def is_of_numbers(self) -> bool:
        return all(whole_text(label) is not None for label in self.labels)

    def read(self, text: str) -> str | None:
        """What an answer of a model says, by the rules of the authors' evaluation; None where it says nothing.

        Of a graded metric the first number in its range, of a categorical one the first of its labels that is a
        word of the answer. The authors draw an answer at random in place of None.
        """
        answer = text.strip().lower()
        if self.category == GRADED:
            return next((found for found in NUMBER.findall(answer) if found in self.labels), None)
        return next(
            (one for one in self.labels if re.search(rf"\b{re.escape(one.strip().lower())}\b", answer)), None
        )


def read_judge_bench_nlp(path: str | Path, metrics: Sequence[str] = ()) -> DatasetBundle:
    """Read a file of the schema.

    Metrics graded from 1 to 5 are the criteria of one rubric of each instance. Any other metric is an item of its
    own to classify, ``ID/METRIC``: points are categories at interval level, labels at nominal level. Where the
    labels are "model_a" and "model_b", and an instance has an input and two outputs, it's a pair.

    The human scores have no names in the schema: the first is of "expert 1" or "crowdworker 1", and so on. Where
    there is only a majority it is gold. Other fields of a metric are answers of models, which are read as the
    authors read them.

    Parameters
    ----------
    metrics : sequence of str, optional
        Those to import; the others are left out. A continuous metric has to be, because no kind of item has it.
    """
    file = Path(path)
    builder = BundleBuilder(f"judge-bench-nlp: {file.name}")
    document = read_document(file)
    if not isinstance(document, dict):
        raise ImportFileError(file, None, None, "expected an object with annotations and instances.")
    about = Row(Origin(str(file), 0), document)
    declared = _metrics(about, metrics)
    faults = Faults()
    with faults:
        scheme = _scheme(about, declared)
        who = WHO.get(str(document.get("expert_annotator")), "annotator")
        instances = about.items("instances")
        if not instances:
            about.fail("instances", "expected at least one instance, found none.")
        for criterion in declared:
            if criterion.is_criterion:
                _add_criterion(builder, about, criterion)
        for number, data in enumerate(instances, start=1):
            with faults:
                row = Row(Origin(str(file), number), {"instance": data}).within("instance", data)
                _add(builder, Row(row.origin, row.data), declared, scheme, who)
    faults.check()
    return builder.finish(file)


def _metrics(about: Row, wanted: Sequence[str]) -> list[Metric]:
    found = []
    names = []
    for number, data in enumerate(about.items("annotations")):
        one = about.within(f"annotations[{number}]", data)
        name = one.identifier("metric", limit=MAX_ASPECT_KEY)
        names.append(name)
        if wanted and name not in wanted:
            continue
        category = one.require("category")
        if category not in (GRADED, CATEGORICAL):
            others = "" if len(about.items("annotations")) < 2 else " Choose the other metrics by name."
            one.fail("category", f"expected graded or categorical, found {quoted(category)}.{others}")
        labels = _points(one) if category == GRADED else _labels(one)
        question = " ".join(PLACEHOLDER.sub("", one.text("prompt")).split()) or name
        found.append(Metric(name, category, labels, question))
    missing = next((name for name in wanted if name not in names), None)
    if missing is not None:
        about.fail(
            "annotations", f"expected a metric {quoted(missing)}; the file has {one_of(names or ['none'])}."
        )
    if not found:
        about.fail("annotations", "expected at least one metric, found none.")
    return found


def _points(one: Row) -> tuple[str, ...]:
    """The points from the lowest to the highest."""
    ends = [whole(one.require(name)) for name in ("worst", "best")]
    if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        one.fail("best", f"expected two different whole numbers as worst and best, found {quoted(ends)}.")
    low, high = sorted(ends)  # type: ignore[type-var]
    if high - low >= MOST:  # type: ignore[operator]
        one.fail("best", f"expected at most {MOST} points, found {low} to {high}.")
    return tuple(str(point) for point in range(low, high + 1))  # type: ignore[arg-type, operator]


def _labels(one: Row) -> tuple[str, ...]:
    given = one.items("labels_list")
    labels = [
        one.within(f"labels_list[{n}]", {"label": label}).identifier("label", limit=MAX_ASPECT_KEY)
        for n, label in enumerate(given)
    ]
    if len(set(labels)) < 2:
        one.fail("labels_list", f"expected two labels or more, found {len(set(labels))}.")
    return tuple(dict.fromkeys(labels))


def _scheme(about: Row, metrics: Sequence[Metric]) -> CategoryScheme:
    """How the categories of all metrics that are no criteria are used: a dataset has one level."""
    classified = [metric for metric in metrics if not metric.is_criterion]
    graded = [metric for metric in classified if metric.category == GRADED]
    if not graded:
        return CategoryScheme()
    # Of two categories the interval level says what the nominal one does.
    for metric in classified:
        if metric.category == CATEGORICAL and not (metric.is_of_numbers and len(metric.labels) == 2):
            about.fail(
                "annotations",
                f"expected metrics of one level; {quoted(graded[0].name)} is graded and {quoted(metric.name)} "
                "is not. Import each as a dataset of its own, by name.",
            )
    return CategoryScheme("interval")


def _add_criterion(builder: BundleBuilder, about: Row, metric: Metric) -> None:
    builder.criterion(
        about, key=metric.key, question=metric.question, options={point: point for point in POINTS}
    )


def _add(
    builder: BundleBuilder, row: Row, metrics: Sequence[Metric], scheme: CategoryScheme, who: str
) -> None:
    external_id = row.identifier("id", limit=MAX_ID - MAX_ASPECT_KEY)
    annotated = row.within("annotations", row.mapping("annotations"))
    given: dict[str, Row] = {}
    for metric in metrics:
        name = metric.name
        if name not in annotated.data and len(metrics) == len(annotated.data) == 1:
            name = next(iter(annotated.data))  # LLMBar's files have another name in their instances
        if annotated.get(name) is not None:
            given[metric.name] = annotated.within(name, annotated.get(name))
    criteria = [metric for metric in metrics if metric.is_criterion and metric.name in given]
    if criteria:
        _add_rubric(builder, row, external_id, criteria, given, who)
    for metric in metrics:
        if metric.name in given and not metric.is_criterion:
            _add_classified(builder, row, external_id, metric, given[metric.name], scheme, who)


def _add_rubric(
    builder: BundleBuilder,
    row: Row,
    external_id: str,
    criteria: Sequence[Metric],
    given: Mapping[str, Row],
    who: str,
) -> None:
    instruction = builder.instruction(row, text=RATE, key=external_id)
    response = builder.response(instruction, system="", text=_text(row))
    builder.item(
        row, external_id=external_id, kind=Rubric.name, instruction=instruction, responses=[response]
    )
    labels: dict[str, dict[str, int]] = {}
    for metric in criteria:
        for annotator, label in _scores(given[metric.name], metric, who):
            labels.setdefault(annotator, {})[metric.key] = int(label)
    for annotator, ratings in labels.items():
        builder.label(
            row, item=external_id, annotator=annotator, value={"ratings": ratings}, field="annotations"
        )
    answers = {metric: _answers(given[metric.name]) for metric in criteria}
    for judge in dict.fromkeys(name for said in answers.values() for name in said):
        ratings = {
            metric.key: int(read)
            for metric, said in answers.items()
            if (read := metric.read(said.get(judge, ""))) is not None
        }
        raw = "\n".join(f"{metric.name}: {said[judge]}" for metric, said in answers.items() if judge in said)
        _add_verdict(builder, row, external_id, judge, {"ratings": ratings} if ratings else None, raw)


def _add_classified(
    builder: BundleBuilder,
    row: Row,
    external_id: str,
    metric: Metric,
    given: Row,
    scheme: CategoryScheme,
    who: str,
) -> None:
    item = f"{external_id}/{metric.key}"
    instance = row.get("instance")
    is_pair = set(metric.labels) <= set(WINNERS) and isinstance(instance, dict) and set(PAIR) <= set(instance)
    labels = list(_scores(given, metric, who))
    majority = given.get("majority_human")
    gold = None if labels or majority is None else _label(given, "majority_human", majority, metric)

    def value(label: str) -> Value:
        return (
            dict(WINNERS[label]) if is_pair else {"categories": {one: one == label for one in metric.labels}}
        )

    rest: dict[str, Any] = {"external_id": item, "gold": None if gold is None else value(gold), "field": "id"}
    if is_pair:
        pair = row.within("instance", instance)
        instruction = builder.instruction(row, text=pair.text(PAIR[0], required=True))
        builder.pair(row, instruction=instruction, texts=[pair.answer(name) for name in PAIR[1:]], **rest)
    else:
        categories: list[AspectFields] = [(label, label, None, EMPTY) for label in metric.labels]
        # The items' own lists: each metric has its labels.
        builder.declare_categories(row, scheme, [])
        text = _text(row)
        instruction = builder.instruction(
            row, text=metric.question, context=text, key=item, aspects=categories
        )
        builder.item(row, kind=Classification.name, instruction=instruction, **rest)
    for annotator, label in labels:
        builder.label(
            row, item=item, annotator=annotator, value=value(label), field=f"annotations.{metric.name}"
        )
    for judge, answer in _answers(given).items():
        read = metric.read(answer)
        _add_verdict(builder, row, item, judge, None if read is None else value(read), answer)


def _add_verdict(
    builder: BundleBuilder, row: Row, item: str, judge: str, value: Value | None, raw: str
) -> None:
    name = Row(row.origin, {judge: judge}).identifier(judge, limit=MAX_JUDGE)
    builder.verdict(
        row, item=item, judge=name, order=0, value=value, field=f"annotations.{judge}", raw=raw, model=name
    )


def _scores(given: Row, metric: Metric, who: str) -> list[tuple[str, str]]:
    """Who said what; a score that is null is of nobody."""
    return [
        (f"{who} {place + 1}", _label(given, f"{SCORES}[{place}]", score, metric))
        for place, score in enumerate(given.items(SCORES))
        if score is not None
    ]


def _label(given: Row, field: str, score: object, metric: Metric) -> str:
    number = whole(score)
    said = str(number) if number is not None else score
    # Labels of the files differ in case from their list, as "Yes" and "yes" do.
    known = {label.casefold(): label for label in metric.labels}
    if not isinstance(said, str) or said.casefold() not in known:
        expected = (
            f"{metric.labels[0]} to {metric.labels[-1]}"
            if metric.category == GRADED
            else one_of(metric.labels)
        )
        given.fail(field, f"expected {expected}, found {quoted(score)}.")
    return known[said.casefold()]


def _answers(given: Row) -> dict[str, str]:
    """The answers of models: what else a metric has that is text."""
    return {
        name: answer
        for name, answer in given.data.items()
        if name not in (*COMPUTED, SCORES) and isinstance(answer, str)
    }


def _text(row: Row) -> str:
    """The text that was judged; of several parts each after its name. Files of labels alone have none."""
    instance = row.get("instance")
    if not isinstance(instance, dict):
        return row.text("instance")
    parts = {name: row.within("instance", instance).text(name) for name in instance}
    return "\n\n".join(f"{name}:\n{text}" for name, text in parts.items() if text)
