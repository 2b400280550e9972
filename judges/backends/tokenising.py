"""From a request to token ids, in the same way for every backend that has the tokenizer at hand.

The boundary between a context and the continuation that is scored follows lm-evaluation-harness (`TemplateLM`,
`_encode_pair`): spaces at the end of raw context go to the continuation, context and whole are tokenised, and the
continuation is what the whole has beyond the context's length. Where there is no context, the start (or else the end)
token stands for it. Behind a chat template the continuation is tokenised by itself, as the model would begin it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from judges.backends.errors import PermanentBackendError
from judges.backends.wire import WireRequest
from judges.strategies.prompts import Message
from judges.strategies.thinking import thinking_fields
from judges.strategies.thoughts import is_mark

NO_VARIABLES: Mapping[str, Any] = MappingProxyType({})


def leaves_out_special(tokenizer: Any) -> bool:
    """Whether special tokens are left out when an answer is decoded; not where they mark what the model thought.

    What else they are, such as the end of a turn, `judges.strategies.thoughts` takes away.
    """
    return not any(is_mark(str(token)) for token in getattr(tokenizer, "all_special_tokens", ()))


@dataclass(frozen=True, slots=True)
class Encoded:
    """A request's token ids.

    Attributes
    ----------
    ids : list of int
    start : int
        Where the continuation begins, for a "score" request; 0 for others.
    second : int
        Where the second text of a pair begins, for tokenizers that tell the two apart; 0 if there is none.
    """

    ids: list[int]
    start: int = 0
    second: int = 0


class Prompter:
    """Turn requests into token ids.

    Parameters
    ----------
    tokenizer
        Of transformers.
    max_length : int
        Tokens that the model takes, prompt and answer together.
    template_options : mapping
        Further variables of the chat template, such as ``{"enable_thinking": False}``.
    """

    def __init__(
        self, tokenizer: Any, *, max_length: int, template_options: Mapping[str, Any] | None = None
    ) -> None:
        self.tokenizer = tokenizer
        self.max_length = max_length
        self._template_options = dict(template_options or {})
        start = tokenizer.bos_token_id
        self._start = tokenizer.eos_token_id if start is None else start
        self._start_text = "" if self._start is None else tokenizer.decode([self._start])

    def encode(self, request: WireRequest) -> Encoded:
        """Return a request's token ids.

        Raises
        ------
        PermanentBackendError
            It is empty, too long, or the chat template refuses it.
        """
        if request.kind == "chat":
            # One token at least is to be generated.
            thinking = thinking_fields(request.decoding, "template")
            return self._checked(self.conversation(request.messages, variables=thinking), room=1)
        if request.kind == "score":
            return self._pair(request)
        if request.kind == "embed":
            return self._checked(self._ids(request.text))
        if request.kind == "match":
            return self._two(request.text, request.prefix)
        if request.messages:
            return self._checked(self.conversation(request.messages, answer=False))
        return self._texts(request.text, request.prefix)

    def conversation(
        self,
        messages: tuple[Message, ...],
        *,
        answer: bool = True,
        variables: Mapping[str, Any] = NO_VARIABLES,
    ) -> list[int]:
        """Return the conversation in the model's chat template, with the opening of the answer if one is to follow.

        `variables` of the template stand above those of the endpoint.
        """
        if not getattr(self.tokenizer, "chat_template", None):
            raise PermanentBackendError(
                "The model has no chat template, so it can't take a conversation: choose a model tuned for chat."
            )
        turns = [{"role": role, "content": content} for role, content in messages]
        try:
            text = self.tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=answer, **{**self._template_options, **variables}
            )
        except Exception as error:  # templates are programs of their own; Jinja's errors and others
            raise PermanentBackendError(
                f"The model's chat template refuses the conversation: {error}"
            ) from error
        # The template writes the special tokens itself.
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _pair(self, request: WireRequest) -> Encoded:
        if not request.text:
            raise PermanentBackendError("An empty continuation has no log-likelihood.")
        if request.messages:
            context = self.conversation(request.messages)
            rest = self._plain(request.text)
        elif not request.prefix:
            context, rest = self._without_context(request.text)
        else:
            context, rest = self._split(request.prefix, request.text)
        if not rest or not context:
            raise PermanentBackendError("The continuation has no token of its own behind its context.")
        # vLLM generates a token beside scoring a prompt; a model for two texts takes the same in both backends.
        return self._checked(context + rest, room=1, start=len(context))

    def _without_context(self, text: str) -> tuple[list[int], list[int]]:
        rest = self._plain(text)
        if self._start is None:
            return rest[:1], rest[1:]
        return (rest[:1], rest[1:]) if rest[:1] == [self._start] else ([self._start], rest)

    def _split(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        kept = context.rstrip()
        if not kept:
            return self._without_context(context + continuation)
        context_ids = self._ids(kept)
        return context_ids, self._ids(context + continuation)[len(context_ids) :]

    def _texts(self, text: str, second: str) -> Encoded:
        if not second:
            return self._checked(self._ids(text))
        encoded = self.tokenizer(text, second)
        types = encoded.get("token_type_ids") or []
        place = types.index(1) if 1 in types else 0
        return self._checked(list(encoded["input_ids"]), second=place)

    def _two(self, text: str, second: str) -> Encoded:
        """Return two texts one after the other, each as the tokenizer encodes it alone."""
        one, two = self._checked(self._ids(text)).ids, self._checked(self._ids(second)).ids
        return Encoded(one + two, second=len(one))

    def _ids(self, text: str) -> list[int]:
        """Return the ids with the special tokens that the tokenizer puts around a text, unless they stand in it."""
        if self._start_text and text.startswith(self._start_text):
            return self._plain(text)
        return list(self.tokenizer.encode(text))

    def _plain(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def _checked(self, ids: list[int], *, room: int = 0, start: int = 0, second: int = 0) -> Encoded:
        if not ids:
            raise PermanentBackendError("The text has no tokens.")
        if len(ids) + room > self.max_length:
            raise PermanentBackendError(
                f"The prompt is too long: {len(ids)} tokens, and the model takes {self.max_length - room}."
            )
        return Encoded(ids, start, second)
