"""How exceptions of annotation are answered."""

from annotation.domain.errors import ItemNoteError, SharingError, StudyRuleError
from annotation.importers import ImportFileError
from annotation.importers.errors import errors_of
from annotation.services.datasets import DatasetImportError
from annotation.services.webhooks import WebhookRuleError
from web.api.problems import answered_by, error_of
from web.deleting import InUseError

Answered = tuple[int, list[dict[str, str]]]


@answered_by(StudyRuleError)
def _rule(error: StudyRuleError) -> Answered:
    """A state that does not allow it is a conflict; a rule that is wrong is invalid."""
    return 409 if error.field == "state" else 400, [error_of(error.message, error.field)]


@answered_by(SharingError)
def _sharing(error: SharingError) -> Answered:
    return 400, [error_of(error.message, error.field)]


@answered_by(WebhookRuleError)
def _webhook(error: WebhookRuleError) -> Answered:
    return 400, [error_of(error.message, error.field)]


@answered_by(ItemNoteError)
def _note(error: ItemNoteError) -> Answered:
    return 400, [error_of(error, "text")]


@answered_by(InUseError)
def _in_use(error: InUseError) -> Answered:
    return 409, [error_of(error)]


@answered_by(DatasetImportError)
def _import(error: DatasetImportError) -> Answered:
    return 400, [error_of(error)]


@answered_by(ImportFileError)
def _row(error: ImportFileError) -> Answered:
    """Rows are counted from 1 in files, and from 0 in JSON."""
    return 400, [error_of(one.message, _place(one)) for one in errors_of(error)]


def _place(error: ImportFileError) -> str:
    row = [] if error.row is None else [str(error.row - 1)]
    return ".".join([error.file, *row, *filter(None, [error.field])])
