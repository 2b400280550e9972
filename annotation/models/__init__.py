"""The tables of the annotation half: datasets and items, studies, people, assignments and labels."""

from annotation.models.datasets import (
    Aspect,
    Criterion,
    Dataset,
    Instruction,
    Item,
    ItemResponse,
    Kind,
    Response,
    Split,
)
from annotation.models.people import Annotator, Enrollment, QualificationAnswer, Stage
from annotation.models.studies import (
    Invitation,
    QualificationQuestion,
    Study,
    StudyItem,
    StudyState,
    TiePolicy,
)
from annotation.models.users import Role, User
from annotation.models.work import Assignment, AssignmentState, Label

__all__ = [
    "Annotator",
    "Aspect",
    "Assignment",
    "AssignmentState",
    "Criterion",
    "Dataset",
    "Enrollment",
    "Instruction",
    "Invitation",
    "Item",
    "ItemResponse",
    "Kind",
    "Label",
    "QualificationAnswer",
    "QualificationQuestion",
    "Response",
    "Role",
    "Split",
    "Stage",
    "Study",
    "StudyItem",
    "StudyState",
    "TiePolicy",
    "User",
]
