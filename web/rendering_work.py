"""A bound on the work of reading a text as Markdown, counted in steps and not in time.

The parser's rules are asked at each place where a structure may begin. Texts that people write need about one such
step for six characters; one that was built to be slow needs two for one, and each of them may look far ahead. Steps
are counted per text, so that the same text is always shown in the same way, on a busy machine too.
"""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.utils import EnvType

STEPS_FREE = 4_000
STEPS_PER_CHARACTER = 0.5


class TooMuchWorkError(Exception):
    """A text took more steps than its length allows."""


def spend(env: EnvType, steps: int = 1) -> None:
    """Take steps from what the text may use. Raises TooMuchWorkError when there are none left."""
    env["steps_left"] -= steps
    if env["steps_left"] < 0:
        raise TooMuchWorkError


def _begin(state: StateCore) -> None:
    state.env["steps_left"] = STEPS_FREE + int(STEPS_PER_CHARACTER * len(state.src))


def _blocks(state: StateCore) -> None:
    # The rows of a table are filled up to its width: few characters may make many cells.
    if len(state.tokens) > STEPS_FREE + len(state.src):
        raise TooMuchWorkError


def _inline(state: StateInline, _silent: bool) -> bool:
    spend(state.env)
    return False


def _block(state: StateBlock, _start_line: int, _end_line: int, _silent: bool) -> bool:
    spend(state.env)
    return False


def work_plugin(md: MarkdownIt) -> None:
    """markdown-it plugin: counts the steps of every text."""
    md.core.ruler.before("normalize", "steps", _begin)
    md.core.ruler.after("block", "blocks", _blocks)
    md.inline.ruler.before("text", "steps", _inline)
    md.block.ruler.before("table", "steps", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
