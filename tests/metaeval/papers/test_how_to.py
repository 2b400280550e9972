"""The how-tos of the papers, followed to the letter on the mock server."""

import csv
from pathlib import Path

import pytest
from django.test import Client

from annotation.models import Role, User
from judges.backends.mock_server import running_mock_server
from judges.services.endpoints import endpoint_create
from tests.annotation.factories import user_make
from tests.metaeval.papers.how_to import HowTo

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service, pytest.mark.slow]


@pytest.fixture(autouse=True)
def site(tmp_path, monkeypatch):
    """What every page says that it needs: an administrator and an endpoint, and a folder to work in."""
    monkeypatch.chdir(tmp_path)
    user_make(username="admin", role=Role.ADMINISTRATOR)
    with running_mock_server() as server:
        endpoint_create(name="mock", base_url=server.url, is_local=True, max_concurrency=8)
        yield


def rows(path: str) -> list[list[str]]:
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def follow(name: str) -> str:
    """Execute the page's commands, and open the pages that it names: what it says to choose is there."""
    how_to = HowTo(name)
    printed = how_to.run()
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    assert len(how_to.pages) > 1
    for address, labels in how_to.pages:
        response = client.get(address)
        assert response.status_code == 200, address
        assert not [label for label in labels if label not in response.content.decode()], address
    return printed


def test_tower():
    printed = follow("tower")
    assert "Preference test" in printed
    table = rows("tower-paper/t1.csv")
    assert table[0] == ["", "Annotator 1", "Annotator 2", "Annotator 3", "Annotator 4", "Avg"]
    assert [row[0] for row in table[1:]] == [
        "Human annotators",
        "Standard DRFR",
        "Ranking",
        "Direct Scoring",
        "Tree-Based",
        "Tree of the dataset",
    ]
    assert all(row[5] for row in table if row[0] in ("Ranking", "Tree-Based"))
    models = rows("tower-paper/t2-checks.csv")
    assert {row[0] for row in models[1:]} == {"model-one", "model-two"}
    assert rows("tower-paper/f2-checks.csv")[0] == ["Level", "model-one", "model-two"]


def test_helm_instruct():
    follow("helm-instruct")
    table = rows("helm-paper/t4-helpfulness.csv")
    assert table[0] == ["", "Human annotators", "Rater A", "Rater B"]
    scenarios = rows("helm-paper/t2.csv")
    assert scenarios[0][:2] == ["Scenario", "Example"]
    assert all(row[1] for row in scenarios[1:-1])
    assert scenarios[-1] == ["Total", "", "2.0", "4.0", "8.0"]
    assert [row[0] for row in rows("helm-paper/f3-conciseness.csv")[1:]] == ["model-one", "model-two"]
    assert len(rows("helm-paper/t5.csv")) == 7
    assert Path("helm-paper/scenario-level-overall.tex").is_file()


def test_humanrankeval():
    follow("humanrankeval")
    assert rows("hre-paper/f3.csv")[1][:3] == ["Physics", "36.5", "19.5"]
    table = rows("hre-paper/f4-pythia.csv")
    assert table[0] == ["Topic", "pythia-70m", "pythia-1.4b", "pythia-12b"]
    assert [row[0] for row in table[1:]] == ["Physics", "Python", "HRE"]
    assert rows("hre-paper/f9.csv")[0] == ["", "Chatbot Arena", "HRE"]
    assert rows("hre-paper/f9.csv")[1][2]
    assert Path("hre-paper/order-checks.tex").is_file()


def test_llmbar():
    printed = follow("llmbar")
    assert "Not in this data: Table 2: GPT-4" in printed
    table = rows("llmbar-paper/t2-like-mock-longer.csv")
    assert table[0][:5] == [
        "Strategy",
        "Natural Acc.",
        "Natural Agr.",
        "Adversarial: Neighbor Acc.",
        "Adversarial: Neighbor Agr.",
    ]
    methods = [
        "Vanilla",
        "Vanilla*",
        "CoT*",
        "Swap*",
        "Swap+CoT*",
        "Metrics*",
        "Reference*",
        "Metrics+Reference*",
    ]
    assert [row[0] for row in table[1:]] == methods
    # A judge that prefers the longer output falls for every adversarial pair, in both orders.
    assert {tuple(row[3:5]) for row in table[1:]} == {("0.0", "100.0")}
    ratings = rows("llmbar-paper/t11-like-ratings-mock-longer.csv")
    assert [row[0] for row in ratings[1:]] == ["Vanilla", "Vanilla*"]
    hedging = rows("llmbar-paper/t10-like-hedging-mock-longer.csv")
    assert [row[0] for row in hedging[1:]] == ["Vanilla", "Vanilla*"]


def test_href():
    follow("href")
    table = {row[0]: row[1:] for row in rows("href-agreement/t2-agreement.csv")}
    assert table["Method"] == ["Brn", "CQA", "Average"]
    assert {"Judge", "Judge with reference", "Other judge", "Best per category", "Human annotators"} <= set(
        table
    )
    assert any(name.startswith("ROUGE") for name in table)
    ranking = rows("href-ranking/t5-win-rates.csv")
    assert ranking[0] == ["System", "Total", "Brn", "OQA"]
    assert {row[0] for row in ranking[1:]} == {"Model one", "Model two", "Model three"}
    assert rows("href-ranking/f6-p-values.csv")[0] == ["Over pairs of systems", "Instructions", "p-value"]
    prompts = rows("href-ranking/t6-prompts.csv")
    assert prompts[1][0] in ("Judge", "Judge with reference")
    agreement = {row[0]: row[-1] for row in rows("href-agreement/t2-agreement.csv")}
    assert {row[0]: row[3] for row in prompts[1:]} == {row[0]: agreement[row[0]] for row in prompts[1:]}
