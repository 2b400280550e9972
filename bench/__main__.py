"""Run one benchmark and print its figures; with --json the last line is one JSON object."""

import argparse
import importlib
import json
import os
import platform
import sys
from typing import Any

NAMES = (
    *("loo", "stats", "engine", "judges", "claims", "timing", "pages", "reports"),
    *("scale", "imports", "coverage", "simulations", "abuse"),
)
# What is measured on one core, so that neither side of a ratio has more.
ONE_CORE = ("stats", "coverage", "simulations", "abuse")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object, last")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small run, to look at while developing (not of loo, engine, pages)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="FAMILY",
        help="of claims, coverage and simulations: these families only, such as few, proportions or selection",
    )
    parser.add_argument("--small", action="store_true", help="of reports: 2,000 items, without the 20,000")
    parser.add_argument("--size", type=int, default=0, help="of scale: how many judgments; of imports: items")
    arguments = parser.parse_args()
    print(f"bench {arguments.name}: Python {platform.python_version()} on {platform.machine()}", flush=True)
    if arguments.name in ONE_CORE:
        os.environ |= dict.fromkeys(THREADS, "1")
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    module = importlib.import_module(f"bench.{arguments.name}")
    options: dict[str, Any] = {"quick": True} if arguments.quick else {}
    if arguments.only:
        if unknown := set(arguments.only) - set(getattr(module, "FAMILIES", ())):
            parser.error(f"{arguments.name} has no family {', '.join(sorted(unknown))}")
        options["only"] = arguments.only
    if arguments.small:
        if arguments.name != "reports":
            parser.error(f"{arguments.name} has no small size")
        options["small"] = True
    if arguments.size:
        if arguments.name not in ("scale", "imports"):
            parser.error(f"{arguments.name} has no size")
        options["size"] = arguments.size
    figures: dict[str, float] = module.run(**options)
    for name, value in figures.items():
        print(f"  {name:44} {value:,.6g}")
    if arguments.json:
        print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
