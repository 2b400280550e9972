"""`touchstone export`: a judge as files of another tool."""

import argparse
import sys
from pathlib import Path

from annotation.importers import read_generic
from judges.exports.errors import ExportRefusedError
from judges.exports.targets import TARGETS, export_target
from judges.exports.writing import ASPECTS, target_export
from judges.services.judge_files import judge_of_file
from judges.standalone.items import bundle_views
from judges.standalone.main import CommandRefusedError, StandaloneCommand
from judges.strategies.types import CriterionView


class ExportCommand(StandaloneCommand):
    about = f"""\
Write a judge as files of another tool: {", ".join(TARGETS)}. What the tool can't carry is refused until you accept to
lose it; README.md in the folder says what was carried and what was lost.

  touchstone export judge.json --to alpaca-eval --out folder --accept context,orders,fences

Exit codes: 0 it is written; 2 an option is wrong; 3 the judge, or the tool can't carry it."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "judge",
            type=Path,
            help="a judge.json of a site, a YAML of your own, or a published evaluator's files",
        )
        parser.add_argument("--evaluator", default="", help="which one, where these files have several")
        parser.add_argument(
            "--model", default="", help="in place of the one that a published evaluator names"
        )
        parser.add_argument("--to", required=True, choices=TARGETS, help="the tool")
        parser.add_argument(
            "--out", required=True, type=Path, help="the folder, which may not hold files yet"
        )
        parser.add_argument(
            "--accept", default="", metavar="NAME,NAME", help=f"what may be lost: {', '.join(ASPECTS)}"
        )
        parser.add_argument("--items", type=Path, help="of a rubric: a file of items with its criteria")

    def run(self, options: argparse.Namespace) -> int:
        document = judge_of_file(options.judge, evaluator=options.evaluator, model=options.model).document
        if options.out.exists() and (not options.out.is_dir() or any(options.out.iterdir())):
            raise CommandRefusedError(f"{options.out}: expected an empty folder, or none yet.")
        accept = [name.strip() for name in options.accept.split(",") if name.strip()]
        criteria = _criteria(options.items, document.spec.kind)
        exported = target_export(export_target(options.to), document, accept=accept, criteria=criteria)
        for name, text in exported.files.items():
            path = options.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sys.stderr.write(f"Exported {len(exported.files)} files to {options.out}.\n")
        for name in exported.lost:
            sys.stderr.write(f"Lost: {ASPECTS[name]}. {TARGETS[options.to].loses[name]}\n")
        return 0


def _criteria(path: Path | None, kind: str) -> tuple[CriterionView, ...]:
    if path is None:
        return ()
    found = next((view.criteria for view in bundle_views(read_generic(path), kind) if view.criteria), ())
    if not found:
        raise ExportRefusedError("criteria", f"{path} has no item with criteria.")
    return found
