"""The composite that a choice found becomes a judge when it is promoted: once, with the decisions or not at all."""

import json
import re
from dataclasses import replace

import pytest
from django.urls import reverse

from annotation.models import Dataset, Instruction, Kind
from judges.backends.mock_server import running_mock_server
from judges.models import Judge, Judgment
from judges.services.judge_imports import judge_import
from judges.strategies.documents import document_read
from judges.strategies.spec import JudgeSpec
from metaeval.models import Decision
from metaeval.reports.errors import DecisionError
from metaeval.reports.promotion import composite_offer
from metaeval.reports.selection.report import ViolationEntry
from tests.annotation.factories import user_make
from tests.annotation.kinds import kind_dataset_make
from tests.judges.props import endpoint_make, run
from tests.judges.props import judge_make as real_judge_make
from tests.judges.props import sweep_make as real_sweep_make
from tests.metaeval.choices import content_of, form_of, report_of
from tests.metaeval.composites import specialists
from tests.metaeval.kinds import kind_labels, value_of
from tests.metaeval.rows import labels_make, sweep_make
from tests.metaeval.services.test_selection_promotion import promote as promote_any
from tests.metaeval.services.test_selection_promotion import race, seen_now

pytestmark = pytest.mark.django_db


@pytest.fixture
def sweep():
    return specialists()[0]


def promote(sweep, user, **fields):
    return promote_any(sweep, user, judge=None, asked={}, **({"fingerprint": "composite"} | fields))


def form(sweep, **fields):
    return {
        "judge": "composite",
        "reason": "Each knows its own.",
        "inputs_hash": content_of(sweep)["inputs_hash"],
        "seen": ",".join(f"{pk}:{decision or ''}" for pk, decision in seen_now(sweep).items()),
    } | fields


def post(client, sweep, data, **asked):
    url = f"{reverse('metaeval:decision-promote', args=[sweep.pk])}?{form_of(sweep, **asked).query()}"
    return client.post(url, data, follow=True)


def composites():
    return Judge.objects.filter(strategy="composite")


# --- it becomes a judge -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "keys"),
    [("category", {"Brainstorm", "Rewrite", "*"}), ("subset", {"Natural", "Adversarial/Neighbor", "*"})],
)
def test_the_composite_is_made_from_its_parts(client, administrator, by, keys):
    sweep, first, second = specialists(by=by)
    text = post(client, sweep, form(sweep)).content.decode()
    judge = composites().get()
    assert judge.name == "Composite of Specialists: 2 parts"
    assert f"{judge.name} is now the judge for arena." in text
    assert f'href="{reverse("admin:judges_judge_change", args=[judge.pk])}"' in text
    run_it = re.search(r'href="([^"]*)">run it</a>', text)[1].replace("&amp;", "&")
    begun = client.get(run_it).context["form"]
    assert begun._chosen("datasets") == {str(sweep.datasets.get().pk)}
    assert begun._chosen("judges") == {str(judge.pk)}
    assert (judge.spec["params"], set(judge.spec["members"])) == ({"by": by}, keys)
    members = {row.key: row.member for row in judge.memberships.all()}
    leader = sweep.judges.get(fingerprint=content_of(sweep)["leader"])
    own = ("Brainstorm", "Rewrite") if by == "category" else ("Natural", "Adversarial/Neighbor")
    assert members == {own[0]: first, own[1]: second, "*": leader}
    decision = Decision.objects.get()
    assert (decision.judge, decision.decided_by, decision.sweep) == (judge, administrator, sweep)
    assert (judge.created_by, judge.backend) == (administrator, "composed")
    assert JudgeSpec.from_dict(judge.spec).fingerprint() == judge.fingerprint


def test_the_evidence_is_what_was_held_out(administrator):
    sweep = specialists(wrong=10)[0]
    found = content_of(sweep)["composite"]
    assert found["held_out"]["value"] < found["naive"]
    (decision,) = promote(sweep, administrator, although=True)
    evidence = decision.evidence
    assert (evidence["is_held_out"], evidence["objective"]) == (True, found["held_out"])
    assert evidence["judge"]["fingerprint"] == decision.judge.fingerprint
    assert evidence["judge"]["measures"] == {}
    assert evidence["composite"] == {
        "held_out": found["held_out"],
        "gain": found["gain"],
        "worth_it": False,
        "in_sample": found["naive"],
        "by": "category",
        "parts": [
            {"category": "Brainstorm", "judge": found["parts"]["Brainstorm"], "name": "First half"},
            {"category": "Rewrite", "judge": found["parts"]["Rewrite"], "name": "Second half"},
        ],
        "others": {"judge": content_of(sweep)["leader"], "name": "First half"},
    }
    assert decision.selection["promoted"]["composite"] == evidence["composite"]
    assert decision.selection["promoted"]["judge"] == decision.judge.fingerprint


def test_a_sweep_with_it_sends_nothing_new(client, administrator):
    """Its parts have judged these items, so every answer is there."""
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url)
        judges = [real_judge_make(endpoint, f"mock-{kind}", name=kind) for kind in ("longer", "shorter")]
        dataset = specialists()[0].datasets.get()
        # Responses of different lengths, so that both judges stick to a verdict.
        for k, item in enumerate(dataset.items.order_by("position")):
            response = item.item_responses.order_by("position")[k % 3 == 0].response
            response.text += " And more of it." * (k + 1)
            response.save()
        sweep = real_sweep_make(judges, dataset)
        run()
        said = {
            (row.judge.name, row.item_id): row.choice
            for row in Judgment.objects.filter(judge__in=judges, order=0).select_related("judge")
        }
        assert len(said) == 120
        for item in dataset.items.select_related("instruction"):
            own = "longer" if item.instruction.category == "Brainstorm" else "shorter"
            item.gold = {"choice": said[own, item.pk]}
            item.save()
        before = server.stats()["requests"]
        assert before == 240
        post(client, sweep, form(sweep))
        judge = Decision.objects.get().judge
        again = real_sweep_make([judge], dataset)
        run()
        assert server.stats()["requests"] == before
    rows = list(Judgment.objects.filter(judge=judge, status="parsed").select_related("item"))
    assert len(rows) == 120
    assert all(row.choice == row.item.gold["choice"] for row in rows)
    assert again.runs.get().n_failed == 0


def test_an_item_of_a_category_without_a_part_goes_to_the_leader(sweep, administrator):
    (decision,) = promote(sweep, administrator)
    leader = content_of(sweep)["leader"]
    member = decision.judge.memberships.get(key="*").member
    assert member.fingerprint == leader
    offer = composite_offer(report_of(sweep))
    assert (offer.others, offer.others_name) == (leader, member.name)


def test_the_configuration_holds_its_members_and_what_to_expect(client, administrator, sweep):
    post(client, sweep, form(sweep))
    decision = Decision.objects.get()
    exported = json.loads(client.get(reverse("metaeval:decision-judge", args=[decision.pk])).content)
    spec = JudgeSpec.from_dict(exported["spec"])
    assert spec.fingerprint() == exported["fingerprint"] == decision.judge.fingerprint
    assert {key: member.model for key, member in spec.members.items()} == {
        "*": spec.members["Brainstorm"].model,
        "Brainstorm": "mock-first",
        "Rewrite": "mock-longer",
    }
    # Loaded elsewhere it is the same judge, with its figures; brought back it is the one that is here.
    loaded = document_read(exported)
    assert loaded.spec.members["Rewrite"].prompt_source.startswith("# ")
    assert loaded.decision["dataset"] == decision.dataset.name
    assert judge_import(values=exported, user=administrator).judge == decision.judge
    found = content_of(sweep)["composite"]
    assert exported["decision"]["held_out"] == found["held_out"]
    assert exported["decision"]["composite"]["gain"] == found["gain"]
    assert [part["name"] for part in exported["decision"]["composite"]["parts"]] == [
        "First half",
        "Second half",
    ]


def test_judges_of_rubrics_make_a_composite_of_rubrics(client, administrator):
    dataset = kind_dataset_make(Kind.RUBRIC, items=60)
    items = list(dataset.items.order_by("position"))
    for k, item in enumerate(items):
        Instruction.objects.filter(pk=item.instruction_id).update(category="Poems" if k < 30 else "Code")
    kind_labels(dataset, Kind.RUBRIC, (0, 0))
    endpoint = endpoint_make()
    judges = [
        real_judge_make(endpoint, model, strategy="rubric_all", name=model) for model in ("poet", "coder")
    ]
    for place, judge in enumerate(judges):
        Judgment.objects.bulk_create(
            Judgment(
                judge=judge,
                item=item,
                order=0,
                status="parsed",
                value=value_of(Kind.RUBRIC, k, 0 if (k >= 30) == bool(place) or k % 2 else 2),
            )
            for k, item in enumerate(items)
        )
    sweep = sweep_make(judges=judges, datasets=[dataset], name="Rubrics")
    page = client.get(reverse("metaeval:decision", args=[sweep.pk]), {"kind": Kind.RUBRIC}).content.decode()
    action = re.search(r'action="([^"]*promote[^"]*)"', page)[1].replace("&amp;", "&")
    data = {name: re.search(rf'name="{name}" value="([^"]+)"', page)[1] for name in ("inputs_hash", "seen")}
    text = client.post(
        action, data | {"judge": "composite", "reason": "Each its own."}, follow=True
    ).content.decode()
    decision = Decision.objects.get()
    assert f"{decision.judge.name} is now the judge" in text
    assert (decision.kind, decision.judge.name) == (Kind.RUBRIC, "Composite of Rubrics: 2 parts")
    assert JudgeSpec.from_dict(decision.judge.spec).kind == Kind.RUBRIC
    assert {row.key: row.member.name for row in decision.judge.memberships.exclude(key="*")} == {
        "Code": "coder",
        "Poems": "poet",
    }


# --- what speaks against it ---------------------------------------------------------------------------------------


def test_although_it_is_not_worth_it(client, administrator):
    sweep = specialists(wrong=12)[0]
    data = form(sweep)
    response = post(client, sweep, data)
    text = response.content.decode()
    assert response.status_code == 422
    assert "Although its held-out gain over the best single judge" in text
    assert "recommended: its held-out gain" in text
    assert not Decision.objects.exists()
    assert not composites().exists()
    assert "is now the judge" in post(client, sweep, data | {"although": "composite"}).content.decode()
    assert Decision.objects.get().evidence["composite"]["worth_it"] is False


def test_a_constraint_that_rules_a_part_out_leaves_no_composite(administrator, sweep):
    assert composite_offer(report_of(sweep, max_cost="5")) is None
    with pytest.raises(DecisionError, match="no composite"):
        promote_any(sweep, administrator, judge=None, asked={"max_cost": "5"}, fingerprint="composite")


def test_it_violates_what_its_parts_violate(sweep):
    report = report_of(sweep)
    part = report.composite.parts["Rewrite"]
    broken = ViolationEntry("max_cost_per_1000", 5.0, 8.0, "")
    standings = tuple(
        replace(row, violations=(broken,)) if row.judge == part else row for row in report.standings
    )
    offer = composite_offer(replace(report, standings=standings))
    assert offer.although == ("Second half: 1,000 judgments cost $8.00, more than $5.00",)
    assert offer.violations == ((part, broken),)


def test_imported_verdicts_cannot_be_asked(client, administrator, sweep):
    Judge.objects.filter(name="First half").update(backend="imported")
    page = client.get(reverse("metaeval:decision", args=[sweep.pk])).content.decode()
    assert "The verdicts of First half were imported" in page
    assert 'value="composite"' not in page
    with pytest.raises(DecisionError, match="can't be a judge"):
        promote(sweep, administrator)


def test_parts_of_two_sorts_are_no_judge(sweep):
    report = report_of(sweep)
    other = replace(report.datasets[0], name="other", composed_by="subset")
    mixed = replace(report, datasets=(*report.datasets, other))
    assert "goes by one of the two" in composite_offer(mixed).obstacle
    shown = replace(report, datasets=(*report.datasets, replace(other, weight=0.0)))
    assert not composite_offer(shown).obstacle


def test_what_cannot_be_a_judge_is_no_decision(client, administrator):
    """The name of a subset may be longer than that of a member: said, and nothing is half done."""
    sweep = specialists(by="subset")[0]
    Instruction.objects.filter(subset="Natural").update(subset="N" * 150)
    response = post(client, sweep, form(sweep))
    assert response.status_code == 422
    assert "be a judge" in response.content.decode()
    assert not Decision.objects.exists()
    assert not composites().exists()


# --- once, by one, or not at all ----------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_sent_twice_is_one_judge_and_one_decision(client, administrator, sweep):
    data = form(sweep)
    for _ in range(2):
        assert "is now the judge" in post(client, sweep, data).content.decode()
    assert (composites().count(), Decision.objects.count()) == (1, 1)


@pytest.mark.both_databases
def test_a_judge_that_answers_the_same_is_taken(administrator, sweep):
    first, second = sweep.judges.order_by("name")
    leader = sweep.judges.get(fingerprint=content_of(sweep)["leader"])
    members = {"Brainstorm": first, "Rewrite": second, "*": leader}
    mine = real_judge_make(strategy="composite", members=members, name="By hand")
    (decision,) = promote(sweep, administrator)
    assert decision.judge == mine
    assert composites().count() == 1


@pytest.mark.both_databases
def test_another_composite_of_the_sweep_has_another_name(administrator, sweep):
    real_judge_make(name="Composite of Specialists: 2 parts")
    (decision,) = promote(sweep, administrator)
    assert decision.judge.name == "Composite of Specialists: 2 parts (2)"


@pytest.mark.both_databases
def test_somebody_else_decided_and_no_judge_is_left_behind(client, administrator, sweep):
    stale = form(sweep, reason="I looked earlier.")
    promote_any(sweep, administrator, judge="First half", asked={})
    response = post(client, sweep, stale)
    text = response.content.decode()
    assert response.status_code == 409
    assert "Someone else decided" in text
    assert "I looked earlier.</textarea>" in text
    assert re.search(r'value="composite"[^>]* checked', text)
    assert not composites().exists()
    assert Decision.objects.count() == 1


def test_figures_that_have_changed_are_looked_at_first(client, administrator, sweep):
    data = form(sweep)
    labels_make(dataset=Dataset.objects.get(), choices=[(1, 1)])
    response = post(client, sweep, data, **{"role-arena": "gold", "weight-arena": "1"})
    assert response.status_code == 409
    assert "Check the new figures first" in response.content.decode()
    assert not composites().exists()


def test_researchers_and_strangers_may_not(client, sweep):
    url, data = reverse("metaeval:decision-promote", args=[sweep.pk]), form(sweep)
    assert client.post(url, data).status_code == 302
    for role in ("researcher", "annotator"):
        user = user_make(role=role)
        client.force_login(user)
        assert client.post(url, data).status_code == 403
    with pytest.raises(DecisionError, match="Only administrators"):
        promote(sweep, user)
    assert not composites().exists()


def test_of_a_private_dataset_only_for_who_sees_it(client):
    sweep = specialists(split="private")[0]
    client.force_login(user_make())
    assert client.get(reverse("metaeval:decision", args=[sweep.pk])).status_code == 404
    client.force_login(user_make(role="administrator"))
    post(client, sweep, form(sweep))
    url = reverse("metaeval:decision-judge", args=[Decision.objects.get().pk])
    client.force_login(user_make())
    assert client.get(url).status_code == 404


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("people", [1, 6])
def test_many_at_once_make_one_judge_and_one_decision(people):
    sweep = specialists()[0]
    users = [user_make(role="administrator") for _ in range(people)] * (6 // people)
    outcomes = race(
        sweep, users, lambda n: f"Reason {n if people > 1 else 0}", asked={}, fingerprint="composite"
    )
    assert sorted(outcomes) == (["made"] * 6 if people == 1 else ["conflict"] * 5 + ["made"])
    assert (composites().count(), Decision.objects.count()) == (1, 1)
    assert Decision.objects.get().judge == composites().get()


# --- the pages that read decisions --------------------------------------------------------------------------------


def test_every_page_copes_with_a_judge_that_has_judged_nothing(client, administrator, sweep):
    post(client, sweep, form(sweep))
    decision, judge = Decision.objects.get(), composites().get()
    page = client.get(reverse("metaeval:decision", args=[sweep.pk])).content.decode()
    assert f"{judge.name} for Arena, promoted by" in page
    comparison = client.get(reverse("metaeval:comparison", args=[sweep.pk])).content.decode()
    assert f"{judge.name} was promoted by" in comparison
    assert "no longer leads" not in comparison
    held_out = content_of(sweep)["composite"]["held_out"]
    assert f"{100 * held_out['value']:.1f}%" in comparison
    assert "held-out" in comparison
    admin = client.get(reverse("admin:metaeval_decision_change", args=[decision.pk])).content.decode()
    assert "<dt>Promoted</dt><dd>The composite by category, 2 parts" in admin
    assert judge.name in client.get(reverse("admin:metaeval_decision_changelist")).content.decode()
    assert client.get(reverse("metaeval:systems", args=["arena"])).status_code == 200
    assert judge.name in client.get(reverse("admin:judges_judge_change", args=[judge.pk])).content.decode()


def test_the_page_offers_it_with_what_to_expect(client, administrator, sweep):
    page = client.get(reverse("metaeval:decision", args=[sweep.pk])).content.decode()
    found = content_of(sweep)["composite"]
    assert re.search(r'value="composite"[^>]* checked', page), "nothing else wins, and it is worth it"
    assert (
        f'Composite, 2 parts <span class="muted num">{100 * found["held_out"]["value"]:.1f}% held-out' in page
    )
    assert "points [" in re.search(r'id="promote-composite">[^<]*', page)[0]
    assert "First half judges every other category." in page
