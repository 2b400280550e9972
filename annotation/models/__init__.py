"""The tables of the annotation half: datasets and items, studies, people, assignments and labels."""

from annotation.models.accounts import Account
from annotation.models.audit import AuditEvent, AuditRedaction
from annotation.models.datasets import (
    Aspect,
    Criterion,
    Dataset,
    DatasetImage,
    DatasetVersion,
    Instruction,
    Item,
    ItemResponse,
    Kind,
    Response,
    Split,
    StagedImport,
)
from annotation.models.entry import PlatformEvent, PlatformLink
from annotation.models.notes import ItemNote
from annotation.models.people import WITHOUT_A_PLACE, Annotator, Enrollment, Stage
from annotation.models.privacy import (
    ConsentEvent,
    ConsentRecord,
    ConsentText,
    Erasure,
    ErasureKind,
    ErasureRequest,
    ErasureRequestState,
)
from annotation.models.qualification import (
    QualificationAnswer,
    QualificationAttempt,
    QualificationQuestion,
    QuestionPart,
)
from annotation.models.quality import (
    Action,
    Adjudication,
    AdjudicationRequest,
    Bonus,
    Intervention,
    ItemReport,
)
from annotation.models.rules import (
    EvidenceRule,
    ItemSampling,
    PayBasis,
    PreferencePoints,
    QualificationRule,
    RetentionAction,
    TiePolicy,
)
from annotation.models.sessions import StaffSession
from annotation.models.sharing import AccessGrant, AccessRole, Team, TeamMember
from annotation.models.studies import (
    GuidelinesRevision,
    Invitation,
    ItemRole,
    Study,
    StudyItem,
    StudyState,
)
from annotation.models.tokens import RESOURCES, TOKEN_SCOPES, ApiToken, IdempotentAnswer, scope_of
from annotation.models.users import Role, User
from annotation.models.webhooks import Delivery, DeliveryAttempt, DeliveryState, Webhook
from annotation.models.work import AnswerSignals, Assignment, AssignmentState, Label, WorkRole
