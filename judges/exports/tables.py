"""What each target carries, as tables of Markdown: the documentation's."""

from __future__ import annotations

from judges.exports.questions import ABOUT, asked_about, why_refused
from judges.exports.targets import TARGETS
from judges.exports.writing import ASPECTS, ExportTarget
from judges.strategies.registry import STRATEGIES

YES, LOST, NO_PLACE = "yes", "lost", "no"


def documentation() -> str:
    """Return the tables, in the order in which the documentation has them."""
    parts = [
        overview(),
        by_strategy(),
        *(f"### {each.title}\n\n{of_target(each)}" for each in TARGETS.values()),
    ]
    return "\n\n".join(parts)


def overview() -> str:
    """Return which target carries what."""
    rows = [
        *(
            [words, *(YES if about in each.about else NO_PLACE for each in _all())]
            for about, words in ABOUT.items()
        ),
        *(
            [words, *(YES if name in each.carries else LOST for each in _all())]
            for name, words in ASPECTS.items()
        ),
    ]
    return _table(["", *(each.title for each in _all())], rows)


def by_strategy() -> str:
    """Return which target a judge of each strategy goes into with the strategy's own settings, or why it does not."""
    rows = []
    for info in STRATEGIES.values():
        params = {name: param.default for name, param in info.params.items()}
        if why := why_refused(info, params):
            rows.append([f"`{info.name}`", f"None: it {why}"])
        else:
            about = asked_about(info, params)
            into = ", ".join(each.title for each in _all() if about in each.about)
            rows.append([f"`{info.name}`", f"{ABOUT[about]}: {into or 'none'}"])
    return _table(["Strategy", "Goes into"], rows)


def of_target(target: ExportTarget) -> str:
    """Return how a target carries each thing, or why it does not."""
    rows = [
        *([words, target.about[about]] for about, words in ABOUT.items() if about in target.about),
        *(
            [words, target.carries[name] if name in target.carries else f"Lost. {target.loses[name]}"]
            for name, words in ASPECTS.items()
        ),
    ]
    return f"{target.how} Tested with {target.version}.\n\n{_table(['', 'How, or why not'], rows)}"


def _all() -> tuple[ExportTarget, ...]:
    return tuple(TARGETS.values())


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(each.replace("|", "\\|") for each in line) + " |" for line in lines)
