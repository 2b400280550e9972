"""Samples and orders: what holds of every slice, and the studies that are opened with them."""

import doctest
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain import sampling
from annotation.domain.errors import StudyRuleError
from annotation.domain.sampling import (
    Sides,
    allocate,
    draw_length_balanced,
    draw_stratified,
    interleave,
    sample_simple,
    shuffled,
)
from annotation.importers import ImportFileError
from annotation.models import StudyItem
from annotation.selectors.slices import length_sides
from annotation.services.item_choice import ChosenItem, chosen_items_read, items_choose
from annotation.services.studies import study_create, study_open
from tests.annotation.cast import label_make
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.annotation.services.test_concurrency import label_everything
from tests.races import all_at_once

GROUPS = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=2), st.integers(0, 40), max_size=12)


def test_the_examples():
    assert doctest.testmod(sampling).failed == 0


class TestInterleave:
    @given(GROUPS)
    def test_every_prefix_has_the_groups_in_proportion(self, sizes):
        order = interleave({name: [(name, k) for k in range(size)] for name, size in sizes.items()})
        total = sum(sizes.values())
        assert sorted(order) == sorted((name, k) for name, size in sizes.items() for k in range(size))
        seen: Counter[str] = Counter()
        for position, (name, number) in enumerate(order, start=1):
            assert number == seen[name], "the order inside a group is kept"
            seen[name] += 1
            for group, size in sizes.items():
                assert abs(seen[group] * total - position * size) <= total, "off by more than one item"

    def test_nothing(self):
        assert interleave({}) == []
        assert interleave({"a": []}) == []


class TestAllocate:
    @given(GROUPS, st.integers(0, 200))
    def test_shares(self, sizes, total):
        places = allocate(sizes, total)
        assert sum(places.values()) == min(total, sum(sizes.values()))
        assert all(0 <= places[name] <= size for name, size in sizes.items())
        filled = sum(size > 0 for size in sizes.values())
        if total >= filled:
            assert all(places[name] for name, size in sizes.items() if size), "everybody has a chance"

    def test_fewer_than_none(self):
        with pytest.raises(ValueError, match="negative"):
            allocate({"a": 1}, -1)


class TestDraw:
    @given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 5))
    def test_a_random_sample(self, available, size, seed):
        drawn = sample_simple(range(available), size, seed=str(seed))
        assert len(set(drawn.items)) == len(drawn.items) == min(size, available)
        assert drawn == sample_simple(range(available), size, seed=str(seed))
        assert set(drawn.probability.values()) <= {min(size, available) / (available or 1)}

    def test_every_item_is_drawn_as_often_as_its_probability_says(self):
        times = Counter(
            item for seed in range(2_000) for item in sample_simple(range(8), 2, seed=str(seed)).items
        )
        assert all(400 < times[item] < 600 for item in range(8))

    @given(GROUPS, st.integers(1, 60))
    def test_inverse_probabilities_add_up_to_the_strata(self, sizes, size):
        strata = {
            name: range(1_000 * place, 1_000 * place + count)
            for place, (name, count) in enumerate(sizes.items())
        }
        drawn = draw_stratified(strata, size, seed="1")
        for name, items in strata.items():
            mine = [item for item in drawn.items if item in items]
            if mine:
                assert sum(1 / drawn.probability[item] for item in mine) == pytest.approx(sizes[name])


class TestLengthBalanced:
    @given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8), st.integers(0, 3))
    def test_as_many_longer_as_shorter_of_each_instruction(self, counts, seed):
        sides = [
            Sides(tuple(range(100 * k, 100 * k + a)), tuple(range(100 * k + 50, 100 * k + 50 + b)))
            for k, (a, b) in enumerate(counts)
        ]
        drawn = draw_length_balanced(sides, seed=str(seed))
        for one in sides:
            longer, shorter = (set(side) & set(drawn.items) for side in (one.longer, one.shorter))
            assert len(longer) == len(shorter) == one.each
            for side, taken in ((one.longer, longer), (one.shorter, shorter)):
                assert all(drawn.probability[item] == one.each / len(side) for item in taken)
        assert drawn == draw_length_balanced(sides, seed=str(seed))

    def test_a_cap_takes_whole_couples(self):
        sides = [Sides((1, 2, 3), (4,)), Sides((5,), (6, 7))]
        drawn = draw_length_balanced(sides, seed="0", size=3)
        assert len(drawn.items) == 2
        longer = {1, 2, 3, 5} & set(drawn.items)
        assert len(longer) == 1

    def test_the_chances_under_a_cap_are_right(self):
        sides = [Sides((1, 2, 3), (4, 5)), Sides((6,), (7, 8, 9, 10))]
        times: Counter[int] = Counter()
        for seed in range(3_000):
            drawn = draw_length_balanced(sides, seed=str(seed), size=4)
            times.update(drawn.items)
            assert len(drawn.items) == 4
            for item, chance in drawn.probability.items():
                expected = 2 / 3 * (1 if item in (4, 5, 6) else 2 / 3 if item <= 3 else 1 / 4)
                assert chance == pytest.approx(expected)
        for item in range(1, 11):
            chance = 2 / 3 * (1 if item in (4, 5, 6) else 2 / 3 if item <= 3 else 1 / 4)
            assert times[item] / 3_000 == pytest.approx(chance, abs=0.04)


@given(st.lists(st.integers()), st.integers(0, 3))
def test_shuffling(items, seed):
    assert sorted(shuffled(items, seed=str(seed))) == sorted(items)
    assert shuffled(items, seed=str(seed)) == shuffled(items, seed=str(seed))


def opened(dataset, **rules):
    """A study that was made and opened by the services."""
    rules = {"qualification_size": 0, "qualification_pass": 0} | rules
    return study_open(study=study_create(dataset=dataset, title="x", **rules))


def work_of(study):
    return list(study.study_items.filter(role="work").order_by("position"))


@pytest.mark.django_db
class TestOpening:
    def test_test_training_checks_and_work_share_no_item(self):
        study = opened(
            dataset_make(pairs=30),
            qualification_size=4,
            qualification_pass=3,
            training_size=3,
            check_size=5,
            check_rate=0.1,
        )
        asked = {part: set() for part in ("test", "training")}
        for question in study.qualification_questions.all():
            asked[question.part].add(question.item_id)
        checks = study.study_items.filter(role="check")
        groups = [
            *asked.values(),
            set(checks.values_list("item_id", flat=True)),
            {one.item_id for one in work_of(study)},
        ]
        assert [len(group) for group in groups] == [4, 3, 5, 18]
        assert len(set().union(*groups)) == 30
        assert set(checks.values_list("overlap", flat=True)) == {0}

    def test_questions_from_other_datasets(self):
        gold = dataset_make(pairs=6)
        study = opened(
            dataset_make(pairs=5, gold=False),
            qualification_size=2,
            qualification_pass=1,
            qualification_dataset=gold,
            training_size=2,
            training_dataset=gold,
            check_size=2,
            check_rate=0.2,
            check_dataset=gold,
        )
        assert len(work_of(study)) == 5
        assert study.study_items.filter(role="check", item__dataset=gold).count() == 2

    def test_a_shared_test_is_not_made_again_and_not_worked_on(self):
        dataset = dataset_make(pairs=10)
        first = opened(dataset, qualification_size=3, qualification_pass=2)
        second = opened(dataset, qualification_from=first)
        asked = set(first.qualification_questions.values_list("item_id", flat=True))
        assert not second.qualification_questions.exists()
        assert len(work_of(second)) == 7
        assert not asked & {one.item_id for one in work_of(second)}

    def test_a_slice(self):
        dataset = dataset_make(pairs=8)
        study = opened(dataset, categories=["Rewrite"])
        assert {one.item.instruction.category for one in work_of(study)} == {"Rewrite"}
        dataset.instructions.filter(external_id__in=["i0", "i1"]).update(subset="Adversarial/Neighbor")
        dataset.instructions.filter(external_id="i2").update(subset="Adversarially")
        assert len(work_of(opened(dataset, subset="Adversarial"))) == 2

    def test_a_random_sample_keeps_its_probability(self):
        dataset = dataset_make(pairs=20)
        rules = {"sampling": "random", "sample_size": 5, "sample_seed": 3, "balance_categories": False}
        study, again = (opened(dataset, **rules) for _ in range(2))
        assert {one.probability for one in work_of(study)} == {5 / 20}
        drawn = [[one.item_id for one in work_of(each)] for each in (study, again)]
        assert set(drawn[0]) == set(drawn[1])
        other = opened(dataset, **(rules | {"sample_seed": 4}))
        assert {one.item_id for one in work_of(other)} != set(drawn[0])

    def test_a_stratified_sample_has_the_probability_of_its_stratum(self):
        dataset = dataset_make(pairs=9)  # five Brainstorm, four Rewrite
        study = opened(dataset, sampling="random", sample_size=3)
        found = Counter((one.item.instruction.category, round(one.probability, 6)) for one in work_of(study))
        assert found == {("Brainstorm", round(2 / 5, 6)): 2, ("Rewrite", 0.25): 1}

    def test_categories_are_in_proportion_at_any_time(self):
        study = opened(dataset_make(pairs=40))
        seen: Counter[str] = Counter()
        for position, one in enumerate(work_of(study), start=1):
            seen[one.item.instruction.category] += 1
            assert abs(seen["Rewrite"] - position / 2) <= 1

    def test_as_many_longer_as_shorter_than_the_baseline(self):
        dataset = dataset_make(pairs=8, per_instruction=4)
        # Of the first instruction 3 longer and 1 shorter; of the second 1 longer, 2 shorter, 1 equal.
        ours = "aa"
        for number, other in enumerate(["aaaa", "aaa", "aaaaa", "a", "aaaa", "a", "", "bb"]):
            item = dataset.items.get(external_id=f"p{number}")
            # The baseline stands on either side.
            order = item.item_responses.order_by("position" if number % 2 else "-position")
            for link, system, text in zip(order, ("base", "other"), (ours, other), strict=True):
                type(link.response).objects.filter(pk=link.response_id).update(system=system, text=text)
        study = opened(dataset, sampling="length_balanced", sampling_baseline="base")
        drawn = {one.item.external_id: one.probability for one in work_of(study)}
        assert len(drawn) == 4
        assert drawn["p3"] == 1
        assert drawn["p4"] == 1
        assert sorted(drawn.values()) == [1 / 3, 1 / 2, 1, 1]
        sides = length_sides(study)
        assert (sides.equal, sides.without, sides.balanced) == (1, 0, 4)

    def test_too_little_gold_for_all_three(self):
        with pytest.raises(StudyRuleError) as caught:
            opened(dataset_make(pairs=6), training_size=3, check_size=4, check_rate=0.1)
        assert caught.value.field == "check_size"
        assert not StudyItem.objects.exists()

    def test_a_deadline_that_has_passed(self):
        with pytest.raises(StudyRuleError) as caught:
            opened(dataset_make(pairs=2), closes_at=timezone.now() - timedelta(hours=1))
        assert caught.value.field == "closes_at"

    def test_a_rubric_needs_criteria(self):
        dataset = dataset_make(pairs=2)
        dataset.items.update(kind="rubric")
        with pytest.raises(StudyRuleError) as caught:
            opened(dataset, kind="rubric")
        assert caught.value.field == "criteria"


@pytest.mark.django_db
class TestChosenItems:
    def test_a_draft_offers_exactly_these(self):
        dataset = dataset_make(pairs=6)
        study = study_create(dataset=dataset, title="x", qualification_size=2, qualification_pass=1)
        rows = [
            ChosenItem("p5"),
            ChosenItem("p1", priority=1, overlap=7),
            ChosenItem("p2", priority=2, probability=0.5),
        ]
        assert items_choose(study=study, rows=rows).added == 3
        study = study_open(study=study)
        found = [(one.item.external_id, one.overlap, one.probability) for one in work_of(study)]
        assert found == [("p2", 4, 0.5), ("p1", 7, 1), ("p5", 4, 1)]
        asked = set(study.qualification_questions.values_list("item__external_id", flat=True))
        assert asked <= {"p0", "p3", "p4"}

    def test_a_choice_is_replaced_and_forgotten(self):
        study = study_create(dataset=dataset_make(pairs=4), title="x", qualification_size=0)
        for names in (["p0", "p1"], ["p2"]):
            items_choose(study=study, rows=[ChosenItem(name) for name in names])
        assert [one.item.external_id for one in work_of(study)] == ["p2"]
        items_choose(study=study, rows=[])
        assert len(work_of(study_open(study=study))) == 4

    def test_priorities_of_an_open_study_come_first_and_everybody_looks_from_the_front(self):
        study = study_make(pairs=5)
        person = enrollment_make(study=study, cursor=3)
        rows = [ChosenItem("p4", priority=5), ChosenItem("p2", priority=9), ChosenItem("p3", overlap=6)]
        assert items_choose(study=study, rows=rows).changed == 3
        found = [(one.item.external_id, one.overlap) for one in work_of(study)]
        assert found == [("p2", 2), ("p4", 2), ("p0", 2), ("p1", 2), ("p3", 6)]
        person.refresh_from_db()
        assert person.cursor is None

    def test_items_that_an_open_study_does_not_have_are_added(self):
        dataset = dataset_make(pairs=6)
        study = study_make(dataset=dataset)
        study.study_items.filter(item__external_id__in=["p4", "p5"]).delete()
        choice = items_choose(study=study, rows=[ChosenItem("p5"), ChosenItem("p4", priority=1)])
        assert (choice.added, choice.changed) == (2, 0)
        assert [one.item.external_id for one in work_of(study)] == ["p4", "p0", "p1", "p2", "p3", "p5"]

    @pytest.mark.parametrize(
        ("rows", "field", "message"),
        [
            ([ChosenItem("p1"), ChosenItem("nothing")], "item", "has no pairwise comparison item"),
            ([ChosenItem("p0")], "item", "is part of the test"),
            ([ChosenItem("p1"), ChosenItem("p1")], "item", "a second time"),
            ([ChosenItem("p2", overlap=5), ChosenItem("p1", overlap=1)], "overlap", "2 labels"),
            ([ChosenItem("p2", overlap=5), ChosenItem("p1", probability=0.5)], "probability", "has labels"),
        ],
    )
    def test_all_or_nothing(self, rows, field, message):
        study = study_make(dataset=dataset_make(pairs=4), qualification=1)
        for choice in (1, 2):
            label_make(study=study, item=study.dataset.items.get(external_id="p1"), choice=choice)
        before = list(study.study_items.order_by("pk").values())
        with pytest.raises(StudyRuleError, match=message) as caught:
            items_choose(study=study, rows=rows)
        assert caught.value.field == field
        assert list(study.study_items.order_by("pk").values()) == before

    @pytest.mark.parametrize(
        ("name", "text", "row", "field"),
        [
            ("a.csv", "item,priority\np1,high\n", 2, "priority"),
            ("a.csv", "item,prority\np1,1\n", 1, "prority"),
            ("a.csv", "item,overlap\np1,0\n", 2, "overlap"),
            ("a.csv", "item,overlap\np1,1.5\n", 2, "overlap"),
            ("a.jsonl", '{"item": "p1"}\n{"item": "p1"}\n', 2, "item"),
            ("a.jsonl", '{"item": "p1", "probability": 0}\n', 1, "probability"),
            ("a.jsonl", '{"item": "p1", "probability": 1.1}\n', 1, "probability"),
            ("a.csv", "item\n", None, None),
        ],
    )
    def test_what_is_wrong_in_a_file_is_named(self, tmp_path, name, text, row, field):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(ImportFileError) as caught:
            chosen_items_read(path)
        assert (caught.value.row, caught.value.field) == (row, field)

    def test_a_file(self, tmp_path):
        path = tmp_path / "items.csv"
        path.write_text("item,priority,probability,overlap\np1,2,,\np2,,0.25,8\n")
        found = [(one.item, one.priority, one.probability, one.overlap) for one in chosen_items_read(path)]
        assert found == [("p1", 2, None, None), ("p2", None, 0.25, 8)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_priorities_while_people_work_lose_and_exceed_nothing():
    study = study_make(pairs=12, overlap=2)
    people = [enrollment_make(study=study).pk for _ in range(6)]

    def act(who):
        if who != "prioritise":
            return label_everything(who)
        for turn in range(6):
            rows = [ChosenItem(f"p{(turn + k) % 12}", priority=k, overlap=3) for k in range(4)]
            items_choose(study=study, rows=rows)
        return 0

    given = sum(all_at_once(act, [*people, "prioritise"]))
    for one in work_of(study):
        assert one.n_open == 0
        assert one.n_accepted <= one.overlap
    assert sum(one.n_accepted for one in work_of(study)) == given
