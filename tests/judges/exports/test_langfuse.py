"""Langfuse's own client takes an exported judge for its types, and sends it as it is in the files.

There is no server of Langfuse to try it on: what answers here keeps what it was sent.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from judges.exports.errors import ExportRefusedError
from judges.exports.targets import export_target
from judges.exports.writing import ASPECTS, target_export
from tests.judges.exports.cases import CRITERIA, document_of, exported_to
from tests.peers import output_of, python_with, run

URL = "http://127.0.0.1:9/v1"
CHECK = """
import json, sys
from langfuse.api.core.pydantic_utilities import parse_obj_as
from langfuse.api import CreateEvaluatorRequest, EvaluatorChatMessageRole, PromptVariableMappingSource
found = []
for name in sys.argv[1:]:
    values = json.load(open(name))
    request = parse_obj_as(CreateEvaluatorRequest, values)
    # Types of the client allow fields that they do not know: there may be none.
    assert request.__pydantic_extra__ in (None, {}), request.__pydantic_extra__
    assert request.output_definition.__pydantic_extra__ in (None, {}), request.output_definition
    assert all(EvaluatorChatMessageRole(each.role) for each in request.prompt)
    assert all(PromptVariableMappingSource(each.source) for each in request.variable_mapping)
    found.append(type(request.output_definition).__name__)
print(json.dumps(found))
"""


def evaluators(folder, strategy, **fields):
    """The evaluators of a judge, as files and as values."""
    exported_to(folder, "langfuse", document_of(strategy, "some-model", URL, **fields))
    paths = sorted((folder / f"our_{strategy}").glob("evaluator*.json"))
    return paths, [json.loads(path.read_text()) for path in paths]


@pytest.mark.parametrize(
    ("strategy", "form"),
    [
        ("cot", "Categorical"),
        ("rubric_each", "Numeric"),
        ("checklist_each", "Categorical"),
        ("rating", "Numeric"),
    ],
)
@pytest.mark.slow
@pytest.mark.service
def test_the_types_of_the_client_take_it(tmp_path, strategy, form):
    paths, values = evaluators(tmp_path, strategy)
    found = run("langfuse", CHECK, *map(str, paths), folder=tmp_path)
    assert found == [f"EvaluatorOutputDefinition_{form}"] * len(values)
    assert len(values) == (len(CRITERIA) if strategy == "rubric_each" else 1)


def test_each_variable_of_the_prompt_has_a_source(tmp_path):
    _, (values,) = evaluators(tmp_path, "reference", allow_tie=True)
    prompt = "".join(each["content"] for each in values["prompt"])
    assert {each["variable"] for each in values["variableMapping"]} == {
        "instruction",
        "output_a",
        "output_b",
        "reference",
    }
    assert all(f"{{{{{each['variable']}}}}}" in prompt for each in values["variableMapping"])
    assert {"variable": "output_b", "source": "metadata", "jsonPath": "$.output_b"} in values[
        "variableMapping"
    ]
    assert values["outputDefinition"]["categories"] == ["A", "B", "tie"]


def test_braces_are_refused_and_keys_stand_nowhere(tmp_path):
    document = document_of("guidelines", "m", URL)
    with pytest.raises(ExportRefusedError, match="double braces"):
        target_export(export_target("langfuse"), document, accept=ASPECTS)
    exported = target_export(export_target("langfuse"), document_of("cot", "m", URL), accept=ASPECTS)
    assert "secret" not in exported.files["our_cot/connection.json"].lower()


@pytest.mark.slow
@pytest.mark.service
def test_the_client_sends_it_as_it_is(tmp_path):
    _, values = evaluators(tmp_path, "rubric_each")
    program = python_with("langfuse")
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self):
            self.do_POST()

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "/evaluators" not in self.path and "/llm-connections" not in self.path:
                self.send(404, {})
                return
            got.append((self.command, self.path, body))
            times = dict.fromkeys(("createdAt", "updatedAt", "versionCreatedAt"), "2026-11-01T00:00:00Z")
            known = {"id": "e1", "versionId": "v1", "version": 1, "status": "active", "variables": []}
            shown = {"displaySecretKey": "...", "extraHeaderKeys": [], "evaluationRuleAssignments": []}
            self.send(200, body | times | known | shown)

        def send(self, status, values):
            data = json.dumps(values).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        said = output_of(
            [program, str(tmp_path / "our_rubric_each" / "create.py")],
            tmp_path,
            {
                "LANGFUSE_PUBLIC_KEY": "pk-1",
                "LANGFUSE_SECRET_KEY": "sk-1",
                "LANGFUSE_BASE_URL": f"http://127.0.0.1:{server.server_port}",
                "OPENAI_API_KEY": "the-key",
            },
        )
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert said.split() == ["e1"] * len(values)
    assert [(method, path) for method, path, _ in got] == [
        ("PUT", "/api/public/llm-connections"),
        *[("POST", "/api/public/v2/evaluators")] * len(values),
    ]
    assert got[0][2]["secretKey"] == "the-key"
    assert got[0][2]["baseURL"] == URL
    assert [body for _, _, body in got[1:]] == values
