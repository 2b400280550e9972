"""Make the evaluators beside this file in a project of Langfuse: `python create.py`.

LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and LANGFUSE_BASE_URL say which project. With OPENAI_API_KEY the connection to
the judge's model is made too, or replaced.
"""

import json
import os
import sys
from pathlib import Path

from langfuse import get_client
from langfuse.api import CreateEvaluatorRequest
from langfuse.api.core.pydantic_utilities import parse_obj_as

HERE = Path(__file__).parent


def file_values(name: str) -> dict:
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def main() -> None:
    api = get_client().api
    if key := os.environ.get("OPENAI_API_KEY"):
        connection = file_values("connection.json")
        api.llm_connections.upsert(
            provider=connection["provider"],
            adapter=connection["adapter"],
            secret_key=key,
            base_url=connection.get("baseURL"),
            custom_models=connection["customModels"],
            with_default_models=connection["withDefaultModels"],
        )
    for path in sorted(HERE.glob("evaluator*.json")):
        request = parse_obj_as(CreateEvaluatorRequest, file_values(path.name))
        sys.stdout.write(f"{api.evaluators.create(request=request).id}\n")


if __name__ == "__main__":
    main()
