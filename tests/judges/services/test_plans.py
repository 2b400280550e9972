"""Sweeps written down in YAML: judges defined, grids combined, and nothing made where something is wrong."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Role
from judges.models import Judge, Orders, Sweep, SweepState
from judges.services.plans import PlanError, judge_carry_out, plan_carry_out, plan_read
from tests.annotation.factories import dataset_make, user_make
from tests.judges.props import endpoint_make, judge_make, run_instant
from tests.races import after, all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def site():
    """An administrator, a dataset, an endpoint and a judge without a model."""
    return {
        "user": user_make(username="ada", role=Role.ADMINISTRATOR),
        "dataset": dataset_make(name="pairs", pairs=2),
        "endpoint": endpoint_make(name="local"),
        "judge": judge_make(name="Longer"),
    }


PLAN = """
name: Which prompt?
datasets: [pairs]
orders: original
sample_size: 1
budget: 0.1
judges:
  - Longer
  - {name: Plain, strategy: vanilla, endpoint: local, model: small}
grid:
  strategy: [vanilla, cot]
  endpoint: local
  model: [small, large]
  decoding.temperature: [0, 0.7]
  params.rules: true
"""


def carried_out(site, tmp_path, text):
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    return plan_carry_out(plan=plan_read(path), user=site["user"])


def test_a_plan_becomes_a_draft_with_its_judges(site, tmp_path):
    planned = carried_out(site, tmp_path, PLAN)

    sweep = planned.sweep
    assert (sweep.state, sweep.orders, sweep.sample_size) == (SweepState.DRAFT, Orders.ORIGINAL, 1)
    assert sweep.budget == Decimal("0.1")
    assert list(sweep.datasets.all()) == [site["dataset"]]
    # Eight of the grid, of which "Plain" is one by another name (vanilla has no such setting), and one was there.
    assert sweep.judges.count() == 1 + 8
    assert planned.found == (site["judge"],)
    cot = Judge.objects.get(name="cot · large · temperature 0.7")
    assert (cot.spec["params"]["rules"], cot.model) == (True, "large")
    assert cot.spec["decoding"]["temperature"] == 0.7


def test_the_same_plan_again_is_the_same_sweep_and_the_same_judges(site, tmp_path):
    first = carried_out(site, tmp_path, PLAN)
    again = carried_out(site, tmp_path, PLAN)

    assert again.sweep == first.sweep
    assert again.made == ()
    assert Judge.objects.count() == 9


def test_roles_and_members_are_named(site, tmp_path):
    planned = carried_out(
        site,
        tmp_path,
        """
name: Together
datasets: [pairs]
judges:
  - {name: Three, strategy: jury, members: {a: Longer, b: Shorter}}
  - name: Likelier
    strategy: perplexity_reference
    roles:
      model-a: {endpoint: local, model: a}
      model-b: {endpoint: local, model: b}
"""
        if judge_make(name="Shorter", strategy="shortest")
        else "",
    )

    three, likelier = sorted(planned.made, key=lambda judge: judge.name, reverse=True)
    assert [member.member.name for member in three.memberships.all()] == ["Longer", "Shorter"]
    assert {row.role: row.model for row in likelier.models.all()} == {"model-a": "a", "model-b": "b"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: Which prompt?", "", "^name: missing"),
        ("[pairs]", "[pears]", r"datasets.0: there is no dataset 'pears'"),
        ("[pairs]", "pairs", "datasets: expected a list"),
        ("orders: original", "orders: sideways", "orders"),
        ("sample_size: 1", "sample_size: 0", "sample_size"),
        ("sample_size: 1", "simple_size: 1", r"plan.simple_size: unknown field"),
        ("budget: 0.1", "budget: much", "plan"),
        ("- Longer", "- Longest", r"judges.0: there is no judge 'Longest'"),
        ("- Longer", "- 7", r"judges.0: expected the name of a judge"),
        (
            "strategy: vanilla, endpoint: local",
            "strategy: vanilla",
            r"judges.1.endpoint: This strategy needs a model",
        ),
        ("strategy: vanilla, e", "strategy: vanila, e", r"judges.1.strategy: .*no strategy 'vanila'"),
        ("strategy: vanilla, e", "e", r"judges.1.strategy: missing"),
        (
            "endpoint: local, m",
            "endpoint: far, m",
            r"judges.1.endpoint: there is no endpoint 'far'; there is local",
        ),
        ("model: small}", "model: small, colour: red}", r"judges.1.colour: unknown field"),
        ("[0, 0.7]", "[0, 70]", r"grid.decoding: decoding.temperature: expected a number from 0 to 2"),
        ("[small, large]", "[]", r"grid.model: an empty list"),
        ("[0, 0.7]", str(list(range(500))), r"grid: 2,000 combinations"),
        (
            "params.rules: true",
            "params: 7\n  params.rules: true",
            r"grid.params.rules: 'params' is given as 7 too",
        ),
        ("name: Which", "\tname: Which", "not YAML"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_made(site, tmp_path, old, new, problem):
    with pytest.raises(PlanError, match=problem):
        carried_out(site, tmp_path, PLAN.replace(old, new, 1))

    assert not Sweep.objects.exists()
    assert list(Judge.objects.all()) == [site["judge"]]


def test_a_plan_without_judges_or_fields_is_refused(site, tmp_path):
    with pytest.raises(PlanError, match="judges: name at least one"):
        carried_out(site, tmp_path, "name: x\ndatasets: [pairs]\n")
    with pytest.raises(PlanError, match="expected fields by name"):
        carried_out(site, tmp_path, "- x")
    with pytest.raises(PlanError, match="No such file"):
        plan_read(tmp_path / "none.yaml")


def command(*arguments):
    out, err = StringIO(), StringIO()
    call_command("plan_sweep", *arguments, stdout=out, stderr=err)
    return out.getvalue()


def test_the_command_makes_and_starts_it(site, tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("name: Quick\ndatasets: [pairs]\njudges: [Longer]\n")
    said = command(str(path), "--user", "ada", "--start")

    sweep = Sweep.objects.get()
    assert f"Sweep {sweep.pk}, 'Quick', is queued" in said
    run_instant()
    sweep.refresh_from_db()
    assert sweep.state == SweepState.FINISHED


def test_the_command_names_file_and_field(site, tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text("name: Quick\ndatasets: [pears]\njudges: [Longer]\n")
    with pytest.raises(CommandError, match=r"plan.yaml: datasets.0: there is no dataset 'pears'"):
        command(str(path), "--user", "ada")
    with pytest.raises(CommandError, match="no administrator 'eve'"):
        command(str(path), "--user", "eve")
    user_make(username="rita")
    with pytest.raises(CommandError, match="no administrator 'rita'"):
        command(str(path), "--user", "rita")


def test_a_plan_that_unfolds_without_end_is_refused_in_a_line(tmp_path):
    bomb = "\n".join(
        ["a0: &a0 [x]", *(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12))]
    )
    path = tmp_path / "plan.yaml"
    path.write_text(f"name: x\ndatasets: [{dataset_make(pairs=1).name}]\njudges: [*a11]\n")
    path.write_text(f"{bomb}\n" + path.read_text())
    with pytest.raises(PlanError, match="more than 100,000 values once aliases are written out") as caught:
        plan_read(path)
    assert len(str(caught.value)) < 500


def test_a_name_that_is_taken_at_this_moment_is_looked_for_again(site):
    # The other judge goes with the savepoint in which it was made, so that the second look finds the name free.
    with after(r'"judges_judge"\."name" LIKE', lambda: judge_make(name="Other", strategy="always_a")):
        made, is_new = judge_carry_out(values={"strategy": "shortest", "name": "Other"}, user=site["user"])
    assert (made.name, is_new, Judge.objects.filter(name__startswith="Other").count()) == ("Other", True, 1)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_names_taken_at_the_same_moment_are_numbered():
    user = user_make(username="ada", role=Role.ADMINISTRATOR)

    def define(strategy):
        return judge_carry_out(values={"strategy": strategy, "name": "Same"}, user=user)[0].name

    assert sorted(all_at_once(define, ["shortest", "longest", "always_a"])) == [
        "Same",
        "Same (2)",
        "Same (3)",
    ]


OWN = r"""
name: In my own format
datasets: [pairs]
judges:
  - name: Sides
    strategy: own
    endpoint: local
    model: small
    prompt_source: |
      # user
      {{instruction}} {{output_a}} {{output_b}}
    params:
      read: pattern
      pattern: 'winner=(\w+)'
      words: "A: left; B: right"
  - {name: Five verdicts, strategy: arena_hard, endpoint: local, model: small}
"""


def test_a_format_of_ones_own_is_written_in_a_plan(site, tmp_path):
    carried_out(site, tmp_path, OWN)
    judge = Judge.objects.get(name="Sides")
    assert judge.spec["prompt_source"] == "# user\n{{instruction}} {{output_a}} {{output_b}}\n"
    assert judge.spec["params"]["pattern"] == r"winner=(\w+)"
    assert Judge.objects.get(name="Five verdicts").spec["prompt"] == "arena_hard.v1"
    with pytest.raises(PlanError, match=r"judges\.0.*params.*regular expression"):
        carried_out(site, tmp_path, OWN.replace("In my", "Again in my").replace("winner=(", "winner=(("))
