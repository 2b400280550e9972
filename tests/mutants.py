"""Whether the tests notice what they should: one small fault at a time is put into the code, and its tests are run.

`python tests/mutants.py` draws mutants of four packages with a fixed seed and prints the share of them that a test
killed. A first run of the tests, under coverage, prints how much of the packages they cover, lines and branches, and
finds which tests reach which line; a mutant is then tried on those that reach its own, the quick ones first, until one
fails. `--tree` names another checkout, of whatever layout, so that two can be compared; `--map` keeps the first run for
the next call.

Nothing is written to a checkout: every worker has a copy.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("annotation/services", "judges/engine", "metaeval/stats", "metaeval/selection")
SELECTED = "not (browser or redis)"
IGNORED = ("tests/browser", "tests/local_models", "tests/upgrade")
PLUGIN = "mutants_plugin"  # this file, under a name that no checkout has

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
# What is said rather than done: types, docstrings and the words of an error have tests of their own, or need none.
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "exc"}


@dataclass(frozen=True)
class Mutant:
    """One fault: the n-th place of a module at which one can be made."""

    path: str
    site: int
    line: int
    statement: int
    fault: str


def changed(node: ast.AST) -> ast.AST | None:
    """The node with its fault, or None where it has none to be given."""
    match node:
        case ast.Compare(left, [op, *ops], comparators) if type(op) in SWAPPED:
            return ast.Compare(left, [SWAPPED[type(op)](), *ops], comparators)  # type: ignore[list-item]
        case ast.BinOp(left, op, right) if type(op) in SWAPPED:
            return ast.BinOp(left, SWAPPED[type(op)](), right)  # type: ignore[arg-type]
        case ast.AugAssign(target, op, value) if type(op) in SWAPPED:
            return ast.AugAssign(target, SWAPPED[type(op)](), value)  # type: ignore[arg-type]
        case ast.BoolOp(op, values):
            return ast.BoolOp(SWAPPED[type(op)](), values)  # type: ignore[arg-type]
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Constant(value=bool(value)):
            return ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            return ast.Constant(value + 1)
        case ast.If(ast.Name() | ast.Attribute() | ast.Call() as test, body, orelse):
            return ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            return ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call()):
            return ast.Pass()
    return None


def sites(
    node: ast.AST, inside: bool = False, statement: int = 0
) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, int]]:
    """Every place in the body of a function where a fault can be made: parent, field, position, node, statement."""
    inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    statement = node.lineno if isinstance(node, ast.stmt) else statement
    for field, value in ast.iter_fields(node):
        if field in SKIPPED_FIELDS:
            continue
        many = isinstance(value, list)
        for position, child in enumerate(value if many else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, ast.arguments):
                continue
            if inside and changed(child) is not None:
                yield node, field, position if many else None, child, statement
            yield from sites(child, inside, statement)


def mutants_of(tree: Path, package: str) -> list[Mutant]:
    found = []
    for path in sorted((tree / package).rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        for site, (*_, node, statement) in enumerate(sites(module)):
            new = changed(node)
            assert new is not None
            was, now = (ast.unparse(one).splitlines()[0] for one in (node, ast.fix_missing_locations(new)))
            fault = f"{was} -> {now}"
            line = getattr(node, "lineno", statement)
            found.append(Mutant(str(path.relative_to(tree)), site, line, statement, fault))
    return found


def source_of(tree: Path, mutant: Mutant) -> str:
    module = ast.parse((tree / mutant.path).read_text(encoding="utf-8"))
    parent, field, position, node, _ = list(sites(module))[mutant.site]
    new = changed(node)
    if position is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[position] = new
    return ast.unparse(ast.fix_missing_locations(module))


# --- The plugin: which tests reach which line, and how long they take ---------------------------------------------


class Reached:
    """Gives what coverage measures the name of the test that runs; keeps the seconds of those that pass."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        import coverage

        current = coverage.Coverage.current()
        assert current is not None
        current.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self) -> None:
        Path(os.environ["MUTANTS_SECONDS"]).write_text(json.dumps(self.seconds), encoding="utf-8")


def pytest_configure(config: Any) -> None:
    if "MUTANTS_SECONDS" in os.environ:
        config.pluginmanager.register(Reached())


# --- Running ------------------------------------------------------------------------------------------------------


def copied(tree: Path, to: Path) -> Path:
    """A copy of what git keeps of a checkout, as it lies there."""
    names = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z"], check=True, capture_output=True, text=True
    )
    for name in filter(None, names.stdout.split("\0")):
        source, goal = tree / name, to / name
        if source.is_file():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, goal)
    shutil.copy2(__file__, to / f"{PLUGIN}.py")
    return to


def environment(copy: Path) -> dict[str, str]:
    """The copy goes before any installed checkout; bytecode is kept, as each mutant starts a process."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    kept.setdefault("TOUCHSTONE_DATA", str(ROOT.parent / "shared" / "data"))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return kept | threads | {"PYTHONPATH": str(copy)}


def command_of(*arguments: str) -> list[str]:
    fixed = (
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "-p",
        PLUGIN,
        "--hypothesis-seed=0",
        "-q",
        "--no-header",
    )
    return ["-m", "pytest", *fixed, *arguments]


def measured(tree: Path, copy: Path, tests: list[str]) -> dict[str, Any]:
    """Run the tests once: by file and line the tests that reach it, and each test's seconds."""
    import coverage

    seconds, data = copy / "seconds.json", copy / "reached.data"
    rules = copy / "coverage.ini"
    rules.write_text(
        f"[run]\nbranch = true\nsource = {','.join(PACKAGES)}\ndata_file = {data}\n", encoding="utf-8"
    )
    ignored = [f"--ignore={name}" for name in IGNORED]
    command = [
        "-m",
        "coverage",
        "run",
        f"--rcfile={rules}",
        *command_of("-m", SELECTED, *ignored, *tests),
    ]
    env = environment(copy) | {"MUTANTS_SECONDS": str(seconds)}
    where = [sys.executable, "-c", f"import {PACKAGES[0].partition('/')[0]} as one; print(one.__file__)"]
    home = subprocess.run(where, cwd=copy, env=env, check=True, capture_output=True, text=True).stdout.strip()
    if not Path(home).is_relative_to(copy):
        raise SystemExit(f"the code comes from {home}, not from the copy {copy}")
    subprocess.run([sys.executable, *command], cwd=copy, env=env, check=False)
    if not seconds.exists() or not json.loads(seconds.read_text(encoding="utf-8")):
        raise SystemExit("no test passed in the first run")
    report = [sys.executable, "-m", "coverage", "report", f"--rcfile={rules}"]
    print(subprocess.run(report, cwd=copy, env=env, check=True, capture_output=True, text=True).stdout)
    found = coverage.CoverageData(str(data))
    found.read()
    lines = {
        str(Path(name).relative_to(copy)): {
            str(line): sorted(filter(None, tests)) for line, tests in found.contexts_by_lineno(name).items()
        }
        for name in found.measured_files()
    }
    return {"lines": lines, "seconds": json.loads(seconds.read_text(encoding="utf-8"))}


def reaching(mutant: Mutant, known: dict[str, Any], budget: float) -> list[str]:
    """The tests that pass and reach the mutant's line, quick ones first, as far as the budget of seconds goes."""
    seconds = known["seconds"]
    lines = known["lines"].get(mutant.path, {})
    tests = lines.get(str(mutant.line)) or lines.get(str(mutant.statement), [])
    chosen, spent = [], 0.0
    for test in sorted((one for one in tests if one in seconds), key=lambda one: (seconds[one], one)):
        spent += seconds[test]
        if chosen and spent > budget:
            break
        chosen.append(test)
    return chosen


def outcome(tree: Path, copy: Path, mutant: Mutant, tests: list[str], number: int) -> str:
    """How the mutant fared: killed, timed out, survived, or reached by no test."""
    if not tests:
        return "not reached"
    path, wanted = copy / mutant.path, copy / "wanted.txt"
    wanted.write_text("\n".join(tests), encoding="utf-8")
    path.write_text(source_of(tree, mutant), encoding="utf-8")
    # Bytecode is held to be current by second and size, which two mutants may share.
    os.utime(path, (number + 1, number + 1))
    command = [sys.executable, *command_of("-x", f"@{wanted}")]
    env = environment(copy)
    try:
        done = subprocess.run(
            command, cwd=copy, env=env, timeout=600, check=False, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        shutil.copy2(tree / mutant.path, path)
    if done.returncode in (4, 5):
        raise SystemExit(f"the tests of {mutant} were not found:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return "killed" if done.returncode else "survived"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to test")
    parser.add_argument(
        "--map", type=Path, help="a file that keeps which tests reach what, made if it is not there"
    )
    parser.add_argument("--tests", nargs="+", default=["tests"], help="of the first run: these paths only")
    parser.add_argument(
        "--only", nargs="+", default=PACKAGES, choices=PACKAGES, metavar="PACKAGE", help="of the four"
    )
    parser.add_argument("--each", type=int, default=40, help="mutants a package (40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests a mutant, at most (60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    tree = asked.tree.resolve()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        first = copied(tree, Path(folder, "0"))
        if asked.map and asked.map.exists():
            known = json.loads(asked.map.read_text(encoding="utf-8"))
        else:
            known = measured(tree, first, asked.tests)
            if asked.map:
                asked.map.write_text(json.dumps(known), encoding="utf-8")
        copies.put(first)
        for number in range(1, asked.jobs):
            copies.put(copied(tree, Path(folder, str(number))))

        def tried(numbered: tuple[int, Mutant]) -> str:
            number, mutant = numbered
            copy = copies.get()
            try:
                found = outcome(tree, copy, mutant, reaching(mutant, known, asked.budget), number)
            finally:
                copies.put(copy)
            print(f"{found:<11} {mutant.path}:{mutant.line}: {mutant.fault}", flush=True)
            return found

        table = []
        with ThreadPoolExecutor(asked.jobs) as pool:
            for package in asked.only:
                every = mutants_of(tree, package)
                sample = random.Random(asked.seed).sample(every, min(asked.each, len(every)))
                table.append((package, len(every), Counter(pool.map(tried, enumerate(sample)))))
    for package, n_all, fates in table:
        n_dead = fates["killed"] + fates["timed out"]
        others = ", ".join(f"{count} {fate}" for fate, count in sorted(fates.items()))
        print(
            f"{package:<22} {n_dead}/{fates.total()} killed ({n_dead / fates.total():.1%} of {n_all}): {others}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
