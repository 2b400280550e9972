"""`manage.py apply`: a site from a file, once or as often as one likes."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Dataset, Item, Role, Study, StudyState
from judges.models import Endpoint, Judge, Sweep
from judges.strategies.documents import document_make
from judges.strategies.spec import JudgeSpec
from tests.annotation.factories import user_make
from tests.judges.props import endpoint_make, judge_make
from tests.judges.standalone.files import pairs_write
from tests.judges.views.test_judge_uploads import MT_BENCH

pytestmark = pytest.mark.django_db

SITE = """
endpoints:
  - {name: local, base_url: "http://127.0.0.1:9/v1", is_local: true, max_concurrency: 4, price_input: 0.25}
datasets:
  - {name: teas, file: pairs.jsonl, title: Teas, licence: CC-BY-4.0}
studies:
  - {slug: which-tea, title: Which tea is better, dataset: teas, overlap: 2, guidelines_file: guidelines.md}
judges:
  - {name: Rules at home, strategy: rules, endpoint: local, model: small}
  - {strategy: longest}
sweeps:
  - {name: First, datasets: [teas], judges: [Rules at home]}
"""


@pytest.fixture(autouse=True)
def ada():
    return user_make(username="ada", role=Role.ADMINISTRATOR)


@pytest.fixture
def folder(tmp_path):
    pairs_write(tmp_path / "pairs.jsonl", 3)
    (tmp_path / "guidelines.md").write_text("# Tea\nBe fair.")
    (tmp_path / "site.yaml").write_text(SITE)
    return tmp_path


def applied(path, user="ada"):
    out = StringIO()
    call_command("apply", str(path), user=user, stdout=out)
    return out.getvalue().splitlines()


def rows():
    return [model.objects.count() for model in (Endpoint, Dataset, Item, Study, Judge, Sweep)]


def test_a_site_is_there_and_applying_it_again_changes_nothing(folder):
    first = applied(folder / "site.yaml")
    assert first[0] == "Endpoint 'local': added."
    assert rows() == [1, 1, 3, 1, 2, 1]
    study = Study.objects.get()
    assert (study.slug, study.overlap, study.guidelines) == ("which-tea", 2, "# Tea\nBe fair.")
    assert study.state == StudyState.DRAFT
    assert Judge.objects.get(name="Rules at home").endpoint == Endpoint.objects.get()
    again = applied(folder / "site.yaml")
    assert rows() == [1, 1, 3, 1, 2, 1]
    assert [line for line in again if "unchanged" not in line] == ["Dataset 'teas': 3 items, 0 of them new."]


def test_what_changed_in_the_file_changes_in_the_site(folder):
    applied(folder / "site.yaml")
    changed = SITE.replace("max_concurrency: 4", "max_concurrency: 8").replace(
        "overlap: 2", "overlap: 3, qualification_size: 0, qualification_pass: 0, open: true"
    )
    (folder / "site.yaml").write_text(changed)
    said = applied(folder / "site.yaml")
    assert "Endpoint 'local': changed." in said
    assert "Study 'which-tea': changed and opened." in said
    assert Endpoint.objects.get().max_concurrency == 8
    assert Study.objects.get().state == StudyState.OPEN


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("is_local: true", "api_key: sk-1", "endpoints.0.api_key: unknown field"),
        ("is_local: true", "api_key_env: sk-1", "endpoints.0.api_key_env"),
        ("file: pairs.jsonl", "file: none.jsonl", "none.jsonl"),
        ("licence: CC-BY-4.0", "split: half", "datasets.0: split"),
        ("overlap: 2", "overlap: 0", "studies.0.overlap"),
        ("dataset: teas", "dataset: coffees", "studies.0.dataset: there is no dataset 'coffees'"),
        ("guidelines.md", "gone.md", "studies.0.guidelines_file"),
        ("strategy: rules", "strategy: tarot", "judges.0.strategy"),
        ("endpoint: local", "endpoint: remote", "judges.0.endpoint: there is no endpoint 'remote'"),
        ("datasets: [teas]", "datasets: [coffees]", "sweeps.0.datasets.0"),
        ("sweeps:", "swoops:", "swoops: unknown section"),
        ("judges:\n", "judges: 3\nx:\n", "x: unknown section"),
    ],
)
def test_what_is_wrong_is_named_and_then_nothing_is_done(folder, old, new, said):
    assert old in SITE
    (folder / "site.yaml").write_text(SITE.replace(old, new, 1))
    with pytest.raises(CommandError) as caught:
        applied(folder / "site.yaml")
    assert said in str(caught.value)
    assert "sk-1" not in str(caught.value)
    assert rows() == [0] * 6


def test_a_judge_json_alone_is_applied(tmp_path):
    judge = judge_make(endpoint_make(), strategy="cot", params={"rules": True})
    path = tmp_path / "judge.json"
    path.write_text(json.dumps(document_make(judge.name, JudgeSpec.from_dict(judge.spec))))
    judge.delete()
    assert applied(path) == [f"Judge '{judge.name}': added."]
    assert Judge.objects.get().fingerprint == judge.fingerprint
    assert applied(path) == [f"Judge '{judge.name}': unchanged."]


def test_only_an_administrator_applies(folder):
    user_make(username="grace")
    with pytest.raises(CommandError, match="There is no administrator 'grace'"):
        applied(folder / "site.yaml", user="grace")


def test_a_published_evaluator_is_applied_from_a_copy_of_its_files(tmp_path):
    endpoint = endpoint_make(name="local")
    (tmp_path / "judge_prompts.jsonl").write_text(MT_BENCH)
    path = tmp_path / "mt.yaml"
    path.write_text(
        "published: {format: fastchat, path: judge_prompts.jsonl, evaluator: pair-v9}\nmodel: small\nendpoint: local\n"
    )
    assert applied(path) == ["Judge 'MT-bench pair-v9': added."]
    judge = Judge.objects.get()
    assert (judge.model, judge.endpoint) == ("small", endpoint)
    assert applied(path) == ["Judge 'MT-bench pair-v9': unchanged."]
    path.write_text(path.read_text().replace("pair-v9", "pair-v1"))
    with pytest.raises(CommandError, match="there is no prompt 'pair-v1'"):
        applied(path)
