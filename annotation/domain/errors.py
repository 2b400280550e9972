"""What can go wrong in annotation, in one tree.

AnnotationError
├── LabelValueError         a label value does not fit its kind
├── EntryRefusedError       a study lets nobody in, or not this person
├── StudyNotOpenError       the study is a draft, paused or closed
├── StageError              not at this step of the study
├── SuspendedError          suspended by a researcher or by the hidden checks
├── ItemNoteError           a note on an item is empty, too long, or one too many
├── SharingError            access cannot be granted, changed or given away like this
└── StudyRuleError          a study cannot be made, opened or changed like this
"""


class AnnotationError(Exception):
    """Base of all of them."""


class LabelValueError(AnnotationError, ValueError):
    """A label value does not fit its kind. `field` names the part, `message` says what was expected."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class EntryRefusedError(AnnotationError):
    """`reason` is a word: `draft`, `paused`, `closed`, `full`, `device`; of a link also `revoked`, `expired`."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no entry: {reason}")
        self.reason = reason


class StudyNotOpenError(AnnotationError):
    """`state` is the state that it is in."""

    def __init__(self, state: str) -> None:
        super().__init__(f"study is {state}")
        self.state = state


class StageError(AnnotationError):
    """`stage` is where the person is."""

    def __init__(self, stage: str) -> None:
        super().__init__(f"enrollment is at stage {stage}")
        self.stage = stage


class SuspendedError(AnnotationError):
    """The person is suspended; `reason` says why, and may be empty."""

    def __init__(self, reason: str = "") -> None:
        super().__init__("suspended")
        self.reason = reason


class ItemNoteError(AnnotationError):
    """A note on an item is empty, too long, or one too many; the text says so to its author."""


class StudyRuleError(AnnotationError):
    """`field` names the rule, so that a form can show the message beside it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


class SharingError(AnnotationError):
    """Access cannot be granted, changed or given away like this. `field` names what is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
