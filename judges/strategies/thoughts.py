"""Separating what a model thought from what it answered: the one place, before any strategy reads an answer.

Reasoning models write their thought into the answer, each in its own markup, or the server sends it in a field of its
own. A thought weighs both sides and names either as the better one, so nothing is ever read from it, and no later step
of a strategy is shown it. `heard` runs a strategy on answers without their thoughts and gives these to its verdict.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from judges.strategies.types import Answer, Steps, TokenLogprob, Verdict

EMPTY = "empty answer"
NO_ANSWER = "thought without an answer"

MOST_THOUGHTS = 100
"""Closing tags without an opening one that are looked for, one after the other."""

Span = tuple[int, int]

_TAGS = "think|thinking|thoughts?|reasoning|reflection|seed:think"
_OPENINGS = rf"""(?:
    <(?P<tag>{_TAGS})> | \[(?P<square>THINK)\] | (?P<kimi>◁think▷) | <\|(?P<begin>begin_of_thought)\|>
    | <\|(?P<start>START_THINKING)\|> | <\|channel>(?P<gemma>thought) | <unused94>(?P<med>thought)
)"""
_FLAGS = re.IGNORECASE | re.VERBOSE
_OPENING = re.compile(_OPENINGS, _FLAGS)
_AT_LINE_START = re.compile(rf"^[ \t]{{0,8}}{_OPENINGS}", _FLAGS | re.MULTILINE)
_HERE = re.compile(rf"\s*{_OPENINGS}", _FLAGS)
_CLOSINGS = {
    "square": "[/THINK]",
    "kimi": "◁/think▷",
    "begin": "<|end_of_thought|>",
    "start": "<|END_THINKING|>",
    "gemma": "<channel|>",
    "med": "<unused95>",
}
_CLOSING = re.compile(
    rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>|<channel\|>|<unused95>",
    re.IGNORECASE,
)
# Granite says in words where its thought and where its answer begin.
_IN_WORDS = re.compile(
    r"\s*here(?:'s|\s+is)\s+my\s+thought\s+process:(?P<thought>.*?)\n\s*here(?:'s|\s+is)\s+my\s+response:",
    re.IGNORECASE | re.DOTALL,
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(?P<name>\w+)[^<]{0,100}(?:<\|constrain\|>[^<]{0,100})?<\|message\|>")
_CHANNEL_MARKS = frozenset({"<|channel|>", "<|message|>", "<|channel>"})
_MESSAGE_END = re.compile(r"<\|(?:end|return|call|start)\|>")
# The same channels where a server left out the tokens that mark them.
_BARE_CHANNELS = re.compile(r"\s*analysis(?=\S)(?P<thought>.*)assistant\s?final", re.DOTALL)
_WRAPPER = re.compile(r"\s*<\|(?:begin_of_solution|START_RESPONSE)\|>")
END_TOKEN = re.compile(
    r"(?:</s>|<\|(?!(?:channel|message|begin_|start_|end_of_thought|end_thinking))[a-z_]{1,20}\|>|<end_of_turn>|<eos>)\Z",
    re.IGNORECASE,
)
_BEFORE_JSON = re.compile(r"\s*(?:<\|(?:begin_of_solution|START_RESPONSE)\|>\s*)?(?:`{3}\w*\s*)?")
_CODE = re.compile(r"```.*?```", re.DOTALL)
_QUOTED = frozenset({'""', "''", "``", "“”", "‘’", "«»"})
_SHORTEST_MARKUP = 4
_MARKUP = re.compile(r"[<\[◁]|(?:analysis|here(?:'s|\s+is)\s+my\s+thought)", re.IGNORECASE)


def heard(steps: Steps) -> Steps:
    """Run a strategy on answers without their thoughts; the verdict that it returns keeps them."""
    thoughts: list[str] = []
    silent = False
    try:
        asked = next(steps)
        while True:
            given = yield asked
            if isinstance(given, tuple):
                answers = tuple([without_thought(each) for each in given])
                for answer in answers:
                    thoughts.append(answer.thought)
                    silent = silent or _is_silent(answer)
                asked = steps.send(answers)
            else:
                answer = without_thought(given)
                thoughts.append(answer.thought)
                silent = silent or _is_silent(answer)
                asked = steps.send(answer)
    except StopIteration as stop:
        return _with_thoughts(stop.value, thoughts, silent=silent)


def _is_silent(answer: Answer) -> bool:
    return bool(answer.thought) and not answer.text.strip()


def without_thought(answer: Answer) -> Answer:
    """Return an answer with its text and its tokens free of what was thought, which is in `thought`.

    A thought that was never closed leaves an empty text; of tokens
    that cannot be told from those of the thought, none is kept.
    """
    text = answer.text
    if not answer.thought and (len(text) < _SHORTEST_MARKUP or not _MARKUP.search(text)):
        return answer
    spans, thought = _split(answer.text, has_thought=bool(answer.thought))
    said = "".join(answer.text[begin:end] for begin, end in spans)
    thought = "\n\n".join(each for each in (answer.thought, thought) if each)
    logprobs = answer.logprobs
    if thought and logprobs:
        logprobs = _tokens_of(logprobs, answer.text, spans)
    return replace(answer, text=said, thought=thought, logprobs=logprobs)


def is_mark(token: str) -> bool:
    """Whether a token of a vocabulary marks a thought, so that a text without it would run into its thought.

    >>> [is_mark(token) for token in ("[THINK]", "<|END_THINKING|>", "<|channel|>", "<|im_end|>")]
    [True, True, True, False]
    """
    return token in _CHANNEL_MARKS or bool(_OPENING.fullmatch(token) or _CLOSING.fullmatch(token))


def _with_thoughts(verdict: Verdict, thoughts: Sequence[str], *, silent: bool) -> Verdict:
    if not any(thoughts):
        return verdict
    numbered = [(number, thought) for number, thought in enumerate(thoughts, start=1) if thought]
    alone = len(thoughts) == 1
    kept = "\n\n".join(thought if alone else f"[answer {number}]\n{thought}" for number, thought in numbered)
    reason = verdict.reason.replace(EMPTY, NO_ANSWER) if silent else verdict.reason
    return replace(verdict, thought=kept, reason=reason)


def _split(text: str, *, has_thought: bool) -> tuple[list[Span], str]:
    """Return the places of what was said, and the thought.

    Parameters
    ----------
    has_thought : bool
        The server sent the thought apart, so that a closing tag within the text does not end one.
    """
    end = _turn_end(text)
    if _CHANNEL.search(text, 0, end) or text.lstrip().startswith("<|channel|>"):
        return _channels(text, end)
    for pattern in (_BARE_CHANNELS, _IN_WORDS):
        if found := pattern.match(text, 0, end):
            return _trimmed(text, [(found.end(), end)]), found["thought"].strip()
    spans, thoughts = _tagged(text, end, has_thought=has_thought)
    is_whole = spans == [(0, end)] and not has_thought
    return spans if is_whole else _trimmed(text, spans), "\n\n".join(filter(None, thoughts))


def _tagged(text: str, end: int, *, has_thought: bool) -> tuple[list[Span], list[str]]:
    """Take out the thoughts between tags, and what stands before a tag that closes one."""
    spans: list[Span] = []
    thoughts: list[str] = []
    begin = 0
    for _ in range(MOST_THOUGHTS):
        while opened := _opened(text, begin, end):
            closed = _close(text, opened, end)
            if closed is None:
                # After something was said, it may be a word of what is said.
                if any(_is_text(text, *each) for each in (*spans, (begin, opened.start()))):
                    break
                return [], [*thoughts, text[opened.end() : end].strip()]
            spans.append((begin, opened.start()))
            thoughts.append(text[opened.end() : closed[0]].strip())
            begin = closed[1]
        has_said = has_thought or any(_is_text(text, *each) for each in spans)
        closing = _unopened(text, begin, end, at_start=has_said)
        if closing is None:
            break
        thoughts.append(text[begin : closing.start()].strip())
        begin = closing.end()
    return [*spans, (begin, end)], thoughts


def _is_text(text: str, begin: int, end: int) -> bool:
    return not text[begin:end].isspace() and begin < end


def _opened(text: str, begin: int, end: int) -> re.Match[str] | None:
    if begin == 0 and text.lstrip()[:1] in ("{", "`"):  # JSON, whatever its texts quote
        return None
    # Behind a thought, another may open on the same line.
    if here := _HERE.match(text, begin, end):
        return here
    place, fences = begin, 0
    for opened in _AT_LINE_START.finditer(text, begin, end):
        fences, place = fences + text.count("```", place, opened.start()), opened.start()
        if fences % 2 == 0:  # within a block of code it is quoted
            return opened
    return None


def _close(text: str, opened: re.Match[str], end: int) -> Span | None:
    name = next(name for name, value in opened.groupdict().items() if value is not None)
    closing = f"</{opened['tag']}>" if name == "tag" else _CLOSINGS[name]
    found = re.compile(re.escape(closing), re.IGNORECASE).search(text, opened.end(), end)
    return None if found is None else found.span()


def _unopened(text: str, begin: int, end: int, *, at_start: bool) -> re.Match[str] | None:
    """Return the last tag that closes a thought which the chat template opened; none that is a quotation."""
    found = None
    blocks = [block.span() for block in _CODE.finditer(text, begin, end) if _OPENING.search(block[0])]
    json_end = _json_end(text, begin)
    for closing in _CLOSING.finditer(text, begin, end):
        place = closing.start()
        if at_start and _is_text(text, begin, place):
            break
        while blocks and blocks[0][1] <= place:
            blocks.pop(0)
        in_code = bool(blocks) and blocks[0][0] < place
        in_quotes = text[place - 1 : place] + text[closing.end() : closing.end() + 1] in _QUOTED
        if not (in_code or in_quotes or place < json_end):
            found, json_end = closing, _json_end(text, closing.end())
    return found


def _json_end(text: str, begin: int) -> int:
    """Return where a JSON value ends that stands here, bare or in a fence; `begin` if there is none."""
    start = found.end() if (found := _BEFORE_JSON.match(text, begin)) else begin
    if text[start : start + 1] not in ("{", "[") or text.startswith("[/", start):
        return begin
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return begin


def _channels(text: str, end: int) -> tuple[list[Span], str]:
    """Read OpenAI's harmony format: only the channel "final" is said; what stands before the first was thought."""
    spans: list[Span] = []
    thoughts: list[str] = []
    found = list(_CHANNEL.finditer(text, 0, end))
    lead = _MESSAGE_END.split(text[: found[0].start()] if found else text[:end])[0].strip()
    if lead:
        thoughts.append(lead.removeprefix("<|channel|>"))
    for place, header in enumerate(found):
        limit = found[place + 1].start() if place + 1 < len(found) else end
        stop = _MESSAGE_END.search(text, header.end(), limit)
        message = (header.end(), stop.start() if stop else limit)
        if header["name"] == "final":
            spans.append(message)
        elif said := text[message[0] : message[1]].strip():
            thoughts.append(said)
    return _trimmed(text, spans), "\n\n".join(thoughts)


def _turn_end(text: str) -> int:
    """Return where the tokens begin that end a turn, which some servers leave in the text."""
    end = len(text)
    while True:
        tail = text[max(0, end - 60) : end]
        ended = END_TOKEN.search(tail.rstrip())
        if ended is None:
            return end
        end -= len(tail) - ended.start()


def _trimmed(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans without white space and wrappers before what is said."""
    kept: list[Span] = []
    for begin, end in spans:
        if not kept:
            if wrapper := _WRAPPER.match(text, begin, end):
                begin = wrapper.end()
            begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        if begin < end:
            kept.append((begin, end))
    return kept


def _tokens_of(
    tokens: Sequence[TokenLogprob], text: str, spans: Sequence[Span]
) -> tuple[TokenLogprob, ...] | None:
    """Return the tokens of what is said; None where they cannot be told from those of the thought."""
    joined = "".join(each.token for each in tokens)
    shift = 0
    if not joined.startswith(text):
        # The server took the thought out of the text, and not out of the tokens.
        end = _turn_end(joined)
        if not text.strip() or not joined[:end].rstrip().endswith(text.rstrip()):
            return None
        shift = len(joined[:end].rstrip()) - len(text.rstrip())
    kept, offset = [], -shift
    for each in tokens:
        begin, offset = offset, offset + len(each.token)
        if any(begin < stop and offset > start for start, stop in spans):
            kept.append(each)
    return tuple(kept)
