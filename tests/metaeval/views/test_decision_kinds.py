"""Choosing between judges of rubrics, checklists, importance and rankings: what is shown, asked and promoted."""

import json
import re

import pytest
from django.urls import reverse

from annotation.models import Criterion, Item, Kind, Label
from metaeval.models import Decision
from metaeval.reports.promotion import summary_lines
from metaeval.reports.selection.markdown import selection_markdown
from metaeval.reports.selection.report import SelectionReport
from metaeval.selectors.selections import selection_inputs
from metaeval.selectors.sweeps import sweep_view
from tests.annotation.factories import annotator_make, dataset_make, user_make
from tests.annotation.kinds import kind_dataset_make
from tests.metaeval.choices import (
    content_of,
    criteria_of,
    form_of,
    kind_choosing,
    report_of,
    two_datasets,
    two_kinds,
)
from tests.metaeval.kinds import kind_judgments, kind_labels, kind_swept
from tests.metaeval.rows import judge_make, sweep_make

pytestmark = pytest.mark.django_db
KINDS = (Kind.RUBRIC, Kind.CHECKLIST, Kind.IMPORTANCE, Kind.ANSWER_RANKING)
RULES = {
    Kind.RUBRIC: "always the median",
    Kind.CHECKLIST: "always yes",
    Kind.IMPORTANCE: "order given",
    Kind.ANSWER_RANKING: "longest",
}


def at(sweep, name="decision", *args):
    return reverse(f"metaeval:{name}", args=[sweep.pk, *args])


def page(client, sweep, status=200, **query):
    response = client.get(at(sweep), query)
    assert response.status_code == status
    return response.content.decode().replace("\u00a0", " ")


def read(sweep, kind, **given):
    return selection_inputs(sweep=sweep_view(sweep.pk), criteria=criteria_of(sweep, kind=kind, **given))


class TestPage:
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind(self, client, researcher, kind):
        _, sweep = kind_choosing(kind)
        text = page(client, sweep)
        for words in (
            f"Near {kind}",
            f"Far {kind}",
            RULES[kind],
            "Expected score on new items",
            "All judges",
        ):
            assert words in text
        assert "An unparsed answer scores 0." in text
        for words in (
            "pairs",
            "oth orders",
            "lternative annotator test",
            "leave one out",
            "min_positional",
            'style="',
        ):
            assert words not in text.replace("orders of", "")
        assert "chance" in text or "Guessing reaches 50%" in text

    def test_the_best_two_are_told_from_the_worst(self, client, researcher):
        _, sweep = kind_choosing(Kind.RUBRIC, items=60)
        content = content_of(sweep, kind=Kind.RUBRIC)
        names = {row["key"]: row["name"] for row in content["judges"]}
        assert content["verdict"] == "open"
        assert {names[key] for key in content["confidence_set"]} == {"Near rubric", "Dear rubric"}
        assert [names[key] for key in content["front"]] == ["Near rubric"]
        assert content["composite"]["worth_it"] is False
        text = page(client, sweep)
        assert "No clear winner" in text
        assert "Near rubric costs least" in text

    def test_a_choice_speaks_of_the_scales_of_the_criteria(self, client, researcher):
        dataset, sweep = kind_choosing(Kind.RUBRIC)
        before = content_of(sweep, kind=Kind.RUBRIC)
        assert "scales" not in before
        Criterion.objects.filter(dataset=dataset).update(scale={"low": 0, "high": 100})
        text = page(client, sweep, measure="within_one")
        assert "Within 10 points is the share of a judge" in text
        assert "within one point" not in text.lower()
        content = content_of(sweep, kind=Kind.RUBRIC)
        assert content["scales"] == [{"low": 0, "high": 100}]
        assert content["inputs_hash"] != before["inputs_hash"]

    def test_no_better_than_a_rule(self, client, researcher):
        """Everybody says yes to everything, and so does the judge: it beats the other, and not the rule."""
        dataset = kind_dataset_make(Kind.CHECKLIST, items=20)
        yes, no = judge_make("Yes"), judge_make("No")
        answers = {
            said: {"answers": dict.fromkeys(("format", "length", "tone"), said)} for said in (True, False)
        }
        person = annotator_make()
        for item in dataset.items.all():
            Label.objects.create(item=item, annotator=person, kind=item.kind, value=answers[True])
        kind_judgments(yes, dataset, Kind.CHECKLIST)
        kind_judgments(no, dataset, Kind.CHECKLIST)
        yes.judgments.update(value=answers[True])
        no.judgments.update(value=answers[False])
        text = page(client, sweep_make(judges=[yes, no], datasets=[dataset]))
        assert "Not better than a baseline" in text
        assert "No judge is significantly better than the baseline always yes" in text

    def test_against_gold_with_a_limit(self, client, researcher):
        dataset, sweep = kind_choosing(Kind.CHECKLIST, gold=True)
        asked = {f"role-{dataset.name}": "gold", "min_accuracy": "99"}
        text = page(client, sweep, kind="checklist", **asked)
        assert "agreement with gold answers per question" in text
        assert "Score of at least 99% on each gold dataset" in text
        assert re.search(r"Its score on [\w-]+ is [\d.]+%, less than 99%", text)
        assert "Score on each gold dataset, at least (%)" in text

    def test_costs_and_unreadable_answers_can_be_limited(self, client, researcher):
        _, sweep = kind_choosing(Kind.IMPORTANCE)
        text = page(client, sweep, max_cost="5", max_unparsed="1")
        assert "Near importance is the only eligible judge" in text
        assert "1,000 judgments cost $10.00, more than $5.00" in text

    def test_a_switch_between_kinds(self, client, researcher):
        _, sweep = two_kinds()
        text = page(client, sweep)
        assert "Right on pairs is significantly better than the other judges" in text
        nav = text[text.index('aria-label="Kind of item"') :]
        assert nav.index("?kind=pairwise") < nav.index("?kind=rubric")
        text = page(client, sweep, kind="rubric")
        assert "Near rubric is significantly better than the other judges" in text
        assert "Right on pairs" not in text
        assert 'name="kind" value="rubric"' in text
        # Files, the promotion and the form stay with the kind.
        assert text.count("?kind=rubric") >= 4

    def test_without_pairs_or_labels_of_them_it_is_about_what_can_be_chosen(self, client, researcher):
        _, sweep = two_kinds()
        Item.objects.filter(kind="pairwise").update(gold=None)
        assert "Near rubric is significantly better than the other judges" in page(client, sweep)
        assert "human labels or gold answers" in page(client, sweep, kind="pairwise")

    def test_a_kind_that_nobody_judged_is_not_found(self, client, researcher):
        _, sweep = kind_swept(Kind.RUBRIC)
        for kind in ("checklist", "nonsense", ""):
            page(client, sweep, 404, kind=kind)
            assert client.get(at(sweep, "decision-download", "json"), {"kind": kind}).status_code == 404

    def test_nothing_to_choose_by(self, client, researcher):
        dataset = kind_dataset_make(Kind.RUBRIC)
        one = judge_make("One")
        kind_judgments(one, dataset, Kind.RUBRIC)
        sweep = sweep_make(judges=[one], datasets=[dataset])
        assert "has judged rated responses that have human labels or gold answers" in page(client, sweep)
        assert "human labels or gold answers" in client.get(at(sweep, "decision-summary")).content.decode()

    def test_the_summary(self, client, administrator):
        _, sweep = two_kinds()
        text = client.get(at(sweep, "decision-summary")).content.decode()
        assert "Right on pairs is significantly better than the other judges" in text
        assert f'{at(sweep)}?kind=rubric">Rubric rating' in text
        _, rubrics = kind_swept(Kind.RUBRIC, items=60, mark=" alone")
        text = client.get(at(rubrics, "decision-summary")).content.decode()
        assert "Near rubric alone is significantly better than the other judges" in text
        assert "Held-out closeness" in text
        assert "both orders" not in text

    def test_files(self, client, researcher):
        _, sweep = kind_choosing(Kind.ANSWER_RANKING)
        content = json.loads(client.get(at(sweep, "decision-download", "json")).content)
        assert content["kind"] == "answer_ranking"
        assert content["replaces"] == {}
        text = client.get(at(sweep, "decision-download", "md"), {"kind": "answer_ranking"}).content.decode()
        assert "50% is chance" in text
        assert "Positional agreement" not in text
        assert "lternative annotator test" not in text
        assert "Sets of answers" in text

    def test_the_comparison_leads_to_it(self, client, researcher):
        _, sweep = two_kinds()
        text = client.get(reverse("metaeval:comparison", args=[sweep.pk])).content.decode()
        assert f'href="{at(sweep)}?kind=rubric&amp;measure=closeness"' in text

    def test_somebody_elses_dataset(self, client):
        owner = user_make()
        _, sweep = kind_swept(Kind.RUBRIC, split="private", owner=owner)
        urls = [
            f"{at(sweep)}?kind=rubric",
            at(sweep, "decision-summary"),
            at(sweep, "decision-download", "md"),
        ]
        assert [client.get(url).status_code for url in urls] == [302] * 3
        client.force_login(user_make(role="annotator"))
        assert [client.get(url).status_code for url in urls] == [403] * 3
        client.force_login(user_make())
        assert [client.get(url).status_code for url in urls] == [404] * 3
        client.force_login(owner)
        assert [client.get(url).status_code for url in urls] == [200] * 3

    def test_a_private_dataset_beside_a_public_one_is_not_shown(self, client, researcher):
        _, sweep = kind_swept(Kind.RUBRIC)
        hidden, other = kind_swept(Kind.CHECKLIST, split="private", mark=" hidden")
        sweep.datasets.add(hidden)
        sweep.judges.add(*other.judges.all())
        text = page(client, sweep)
        assert "Kind of item" not in text
        assert hidden.title not in text
        page(client, sweep, 404, kind="checklist")

    def test_hostile_names_are_escaped(self, client, administrator):
        dataset = kind_dataset_make(Kind.RUBRIC, items=6, title="<img src=y>")
        kind_labels(dataset, Kind.RUBRIC, (0, 1))
        dataset.instructions.update(category="<img src=x>")
        one = judge_make("<img src=x onerror=alert(1)>")
        kind_judgments(one, dataset, Kind.RUBRIC)
        sweep = sweep_make(judges=[one], datasets=[dataset])
        for url in (at(sweep), at(sweep, "decision-summary")):
            assert "<img src=" not in re.sub("<noscript>.*?</noscript>", "", client.get(url).content.decode())

    def test_what_the_page_takes_does_not_grow(self, client, researcher, django_assert_max_num_queries):
        _, sweep = kind_choosing(Kind.CHECKLIST, items=40)
        for name in ("decision", "decision-summary"):
            with django_assert_max_num_queries(35):
                client.get(at(sweep, name))


def test_rubrics_of_two_datasets_are_chosen_by_at_once(client, researcher):
    """The same instruction in two datasets is one; weights decide as they do of pairs."""
    first, sweep = kind_choosing(Kind.RUBRIC)
    second = kind_dataset_make(Kind.RUBRIC, items=30)
    kind_labels(second, Kind.RUBRIC, (0, 1))
    for judge in sweep.judges.all():
        kind_judgments(judge, second, Kind.RUBRIC, shift=0 if judge.name.startswith("Near") else 1)
    sweep.datasets.add(second)
    content = content_of(
        sweep, kind=Kind.RUBRIC, **{f"weight-{first.name}": "1", f"weight-{second.name}": "3"}
    )
    assert [row["n_instructions_shared"] for row in content["datasets"]] == [30, 30]
    near = next(row for row in content["standings"] if row["judge"] == content["leader"])
    scores = {name: score["value"] for name, score in near["scores"].items()}
    assert near["objective"]["value"] == pytest.approx((scores[first.name] + 3 * scores[second.name]) / 4)


# --- promotion -----------------------------------------------------------------------------------------------------


def promote(client, sweep, judge, kind):
    """As the page of the kind sends it: its address and its hidden fields."""
    text = client.get(at(sweep), {"kind": kind}).content.decode()
    action = re.search(r'action="([^"]*promote[^"]*)"', text)[1].replace("&amp;", "&")
    data = {name: re.search(rf'name="{name}" value="([^"]+)"', text)[1] for name in ("inputs_hash", "seen")}
    data |= {"judge": sweep.judges.get(name=judge).fingerprint, "reason": f"Best on {kind}."}
    return client.post(action, data, follow=True).content.decode()


def test_a_decision_on_pairs_and_one_on_rubrics_live_side_by_side(client, administrator):
    dataset, sweep = two_kinds()
    assert "Right on pairs is now the judge" in promote(client, sweep, "Right on pairs", "pairwise")
    text = promote(client, sweep, "Near rubric", "rubric")
    assert "Near rubric is now the judge for mixed." in text
    assert "Near rubric for Mixed, promoted by" in text
    assert "Right on pairs" not in text
    in_force = Decision.objects.filter(dataset=dataset, replaced_by__isnull=True)
    assert {row.kind: row.judge.name for row in in_force} == {
        "pairwise": "Right on pairs",
        "rubric": "Near rubric",
    }
    rubric = in_force.get(kind="rubric")
    assert rubric.selection["kind"] == "rubric"
    assert rubric.evidence["rank"] == 1
    assert rubric.evidence["objective"]["value"] == pytest.approx(
        next(row for row in rubric.selection["standings"] if row["judge"] == rubric.judge.fingerprint)[
            "objective"
        ]["value"]
    )
    # Another replaces that of its kind only.
    promote(client, sweep, "Far rubric", "rubric")
    assert Decision.objects.filter(kind="rubric").count() == 2
    assert Decision.objects.get(kind="pairwise").replaced_by is None


def test_the_choice_of_pairs_is_of_pairs(client, administrator):
    sweep, *_ = two_datasets()
    assert form_of(sweep).criteria().kind == "pairwise"
    assert content_of(sweep)["kind"] == "pairwise"
    dataset_make(pairs=2)
    assert "Kind of item" not in page(client, sweep)


def test_a_choice_that_was_stored_before_there_were_kinds_is_of_pairs():
    sweep, *_ = two_datasets()
    report = report_of(sweep)
    content = report.as_json()
    older = {name: value for name, value in content.items() if name != "kind"}
    assert summary_lines(older) == summary_lines(content)
    assert selection_markdown(SelectionReport.read(older)) == selection_markdown(report)
    assert "agreement with human annotators" in dict(summary_lines(older))["Datasets"]


def test_a_stored_choice_of_rubrics_in_short():
    _, sweep = two_kinds()
    lines = dict(summary_lines(content_of(sweep, kind=Kind.RUBRIC, max_unparsed="1")))
    assert lines["Datasets"] == "Mixed: closeness to human ratings, weight 1"
    assert lines["Constraints"] == "at most 1% unparsed"
