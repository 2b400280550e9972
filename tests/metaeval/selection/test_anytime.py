"""Two judges while labels arrive: against the library's sequence on the same arrays, and what counts when."""

import numpy as np
import pytest

from metaeval.selection import JudgedDataset
from metaeval.selection.anytime import NEVER, NOT_ASKED, TO_COME, difference_so_far
from metaeval.stats import ConfidenceSequence, leave_one_out_contributions


def dataset_of(clusters, labels, first, second):
    return JudgedDataset(
        "People",
        "people",
        {"first": np.asarray(first, float), "second": np.asarray(second, float)},
        judged={},
        clusters=np.asarray(clusters).astype(str),
        categories=np.full(len(clusters), ""),
        labels=np.asarray(labels, float),
    )


@pytest.fixture(scope="module")
def drawn():
    """150 instructions of one to three items; two labels each, judges right on 90 and 60%."""
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(150), rng.integers(1, 4, 150))
    n = len(clusters)
    labels = np.where(rng.random((n, 2)) < 0.9, 1.0, 2.0)
    first, second = (np.where(rng.random(n) < chance, 1.0, 2.0) for chance in (0.9, 0.6))
    return dataset_of(clusters, labels, first, second), clusters, rng.permutation(n) + 1


def test_it_is_the_librarys_sequence_in_the_order_in_which_instructions_were_finished(drawn):
    dataset, clusters, arrival = drawn
    found = difference_so_far(dataset, arrival, ("first", "second"), n_shared=3, margin=0.05)
    # The slow way, an instruction after the other.
    gaps = leave_one_out_contributions(dataset.labels, dataset.verdicts["first"])
    gaps = gaps - leave_one_out_contributions(dataset.labels, dataset.verdicts["second"])
    sequence = ConfidenceSequence(bounds=(-1, 1), confidence=1 - 0.05 / 3, largest=3)
    for one in sorted(set(clusters), key=lambda one: arrival[clusters == one].max()):
        sequence.update(gaps[clusters == one], clusters=[one] * int((clusters == one).sum()))
    slow = sequence.decide(margin=0.05, reference=0, budget=150)
    assert found.decision.answer == slow.answer == "above"
    ends = [[one.estimate.value, one.estimate.low, one.estimate.high] for one in (found.decision, slow)]
    assert ends[0] == pytest.approx(ends[1])
    assert (found.n_finished, found.n_planned) == (150, 150)
    alone = difference_so_far(dataset, arrival, ("first", "second")).decision.estimate
    assert alone.low > found.decision.estimate.low, "a shared level has wider intervals"
    back = difference_so_far(dataset, arrival, ("second", "first"), n_shared=3).decision
    assert back.answer == "below"
    assert back.estimate.value == pytest.approx(-found.decision.estimate.value)


def test_items_weigh_as_many_as_they_have_questions(drawn):
    """Checklists: an item weighs its decided questions, and may weigh as many as it has."""
    _, clusters, arrival = drawn
    rng = np.random.default_rng(6)
    n = len(clusters)
    most = rng.integers(1, 6, n)
    size = np.maximum(1, most - rng.integers(0, 2, n)).astype(float)
    scores = {
        name: rng.binomial(size.astype(int), chance) / size for name, chance in (("a", 0.9), ("b", 0.6))
    }
    dataset = JudgedDataset(
        "People", "people", {}, judged=dict.fromkeys(scores, np.ones((n, 1), dtype=bool)),
        clusters=clusters.astype(str), categories=np.full(n, ""), weights=size, scores=scores,
        scorable=np.ones(n, dtype=bool),
    )  # fmt: skip
    found = difference_so_far(dataset, arrival, ("a", "b"), most=most.tolist())
    largest = max(int(most[clusters == one].sum()) for one in set(clusters))
    sequence = ConfidenceSequence(bounds=(-1, 1), largest=largest)
    for one in sorted(set(clusters), key=lambda one: arrival[clusters == one].max()):
        own = np.flatnonzero(clusters == one)
        answers = [
            np.repeat([1.0, 0.0], [round(s * k), k - round(s * k)])
            for s, k in zip(
                np.r_[scores["a"][own], scores["b"][own]],
                np.r_[size[own], size[own]].astype(int),
                strict=True,
            )
        ]
        gaps = np.concatenate(answers[: len(own)]) - np.concatenate(answers[len(own) :])
        sequence.update(gaps, clusters=[one] * len(gaps))
    ends = [[one.value, one.low, one.high] for one in (found.decision.estimate, sequence.estimate)]
    assert ends[0] == pytest.approx(ends[1])
    assert found.decision.answer == "above"


def test_what_was_counted_does_not_change_with_the_next_label(drawn):
    dataset, clusters, arrival = drawn
    whole = np.array([arrival[clusters == one].max() for one in clusters])
    counts = []
    for now in (40, 120, 121, 300):
        seen = np.where(arrival <= now, arrival, TO_COME)
        found = difference_so_far(dataset, seen, ("first", "second"))
        done = whole <= now
        # Labels of what is not finished say nothing yet.
        blank = dataset_of(
            clusters,
            np.where(done[:, None], dataset.labels, np.nan),
            dataset.verdicts["first"],
            dataset.verdicts["second"],
        )
        assert difference_so_far(blank, seen, ("first", "second")).decision == found.decision
        assert (found.n_finished, found.n_planned) == (len(set(clusters[done])), 150)
        counts.append(found.n_finished)
    assert counts == sorted(counts)


def test_what_never_counts():
    clusters = ["a", "a", "b", "b", "c", "d", "e"]
    labels = [[1, 1]] * 6 + [[1, np.nan]]
    first, second = [1] * 7, [2, 2, 2, 2, 2, np.nan, 2]
    dataset = dataset_of(clusters, labels, first, second)
    # An item of "a" was not asked for; of "b" one will never be finished; "c" comes; the second did not judge "d"; of
    # "e" one label is all that was asked for.
    arrival = [1, NOT_ASKED, 2, NEVER, TO_COME, 3, 4]
    found = difference_so_far(dataset, arrival, ("first", "second"))
    assert (found.decision.estimate.value, found.decision.estimate.n) == (1.0, 1)
    assert (found.n_finished, found.n_planned) == (1, 2)
    nothing = difference_so_far(dataset, [TO_COME] * 7, ("first", "second"))
    assert (nothing.decision.answer, nothing.n_finished) == ("open", 0)
    assert np.isnan(nothing.decision.estimate.value)
    assert nothing.decision.estimate.reason == "no item counts yet"
    neither = difference_so_far(dataset, [NOT_ASKED] * 7, ("first", "second"))
    assert (neither.n_finished, neither.n_planned) == (0, 0)


def test_at_a_margin_of_nothing_equal_judges_are_never_equivalent():
    same = dataset_of(np.arange(200), [[1, 1]] * 200, [1] * 200, [1] * 200)
    arrival = np.arange(1, 201)
    assert difference_so_far(same, arrival, ("first", "second")).decision.answer == "not at this budget"
    assert difference_so_far(same, arrival, ("first", "second"), margin=0.2).decision.answer == "within"


def test_of_scores_of_items_of_another_kind():
    rng = np.random.default_rng(2)
    scores = {"first": rng.random(80) * 0.5 + 0.5, "second": rng.random(80) * 0.5}
    dataset = JudgedDataset(
        "Rated", "people", {}, {}, np.arange(80).astype(str), np.full(80, ""), scores=scores
    )
    found = difference_so_far(dataset, np.arange(80, 0, -1), ("first", "second")).decision
    sequence = ConfidenceSequence(bounds=(-1, 1))
    sequence.update((scores["first"] - scores["second"])[::-1])
    assert found == sequence.decide(margin=1e-9, reference=0, budget=80)
    assert found.answer == "above"
