"""Categories of personal data: what each is for, on what basis, how long it stays, and who receives it (GDPR, Art. 30).

An application declares the fields of its models in `personal_data.py`, each under a category or as no personal data;
a test fails for a field that is in neither.
"""

from collections.abc import Mapping
from dataclasses import dataclass

ANNOTATORS, STAFF, IN_CONTENT = "Annotators", "Researchers and administrators", "People named in items"
OF_STUDY = "study"
"""The legal basis is the one that the site's operator has for studies."""
OF_SITE = "site"
"""The legal basis is the one that the site's operator has for running the site."""


@dataclass(frozen=True, slots=True)
class DataCategory:
    """What the record of processing says of a kind of personal data."""

    name: str
    subjects: str
    purpose: str
    basis: str
    retention: str
    recipients: str


@dataclass(frozen=True, slots=True)
class ModelData:
    """The fields of a model: names separated by commas, the personal ones by category."""

    model: str
    personal: Mapping[str, str]
    other: str


RESEARCHERS = "The study's owner and administrators; others see pseudonyms, a different one in each study"
OF_RETENTION = "Until the person is erased: on request, or by the study's retention rule"

CATEGORIES = {
    "identity": DataCategory(
        "Identity and origin",
        ANNOTATORS,
        "Let a person take part once, and reconcile their submission with the crowdsourcing platform that pays them",
        OF_STUDY,
        OF_RETENTION,
        RESEARCHERS,
    ),
    "preferences": DataCategory(
        "Language", ANNOTATORS, "Show pages in the person's language", OF_STUDY, OF_RETENTION, "Nobody"
    ),
    "account": DataCategory(
        "Account of an annotator",
        ANNOTATORS,
        "Let a person sign in and see their studies",
        OF_STUDY,
        "Until the person deletes their account",
        "Administrators, by the database alone",
    ),
    "participation": DataCategory(
        "Participation",
        ANNOTATORS,
        "Lead a person through the steps of a study, and give them their completion code",
        OF_STUDY,
        f"{OF_RETENTION}; afterwards days, stages and counts without a link",
        RESEARCHERS,
    ),
    "eligibility": DataCategory(
        "Answers about the person",
        ANNOTATORS,
        "Admit the people that the study is about. They may be special categories of data, if the study asks for them",
        OF_STUDY,
        OF_RETENTION,
        RESEARCHERS,
    ),
    "device": DataCategory(
        "Mark of the browser (a keyed hash)",
        ANNOTATORS,
        "Keep one person from taking part twice",
        OF_STUDY,
        OF_RETENTION,
        "Nobody",
    ),
    "consent": DataCategory(
        "Consent",
        ANNOTATORS,
        "Prove what a person agreed to, and when",
        OF_SITE,
        "As long as their labels; after an anonymization with the day and without a link",
        "The study's owner and administrators",
    ),
    "work": DataCategory(
        "Labels, times, drafts and comments",
        ANNOTATORS,
        "The research itself: what people say of items, and how long it took",
        OF_STUDY,
        "Labels stay without a link to the person where they were told so; drafts are deleted with the link, comments "
        "and marked passages as the study says",
        "Researchers who may see the study, by pseudonym; recipients of exports",
    ),
    "signals": DataCategory(
        "Signals of how answers were given",
        ANNOTATORS,
        "Find bots, and answers that are a language model's: reasons to look, from which nothing follows by itself",
        OF_STUDY,
        "Until the person is erased: on request, or by the study's retention rule; nothing of them stays",
        RESEARCHERS,
    ),
    "quality": DataCategory(
        "Tests, checks and decisions about the work",
        ANNOTATORS,
        "Find work that can't be relied on",
        OF_STUDY,
        f"{OF_RETENTION}; afterwards results without a link",
        RESEARCHERS,
    ),
    "pay": DataCategory(
        "Pay",
        ANNOTATORS,
        "Pay what was earned",
        OF_STUDY,
        OF_RETENTION,
        f"{RESEARCHERS}; the platform that pays",
    ),
    "requests": DataCategory(
        "Requests for deletion",
        ANNOTATORS,
        "Answer a person's request",
        OF_SITE,
        "Until it's carried out",
        "The study's owner and administrators",
    ),
    "erasures": DataCategory(
        "List of erasures (hashes)",
        ANNOTATORS,
        "Erase a person again after a backup was restored",
        OF_SITE,
        "As long as backups from before the erasure exist",
        "Nobody",
    ),
    "invitations": DataCategory(
        "Notes on invitations",
        ANNOTATORS,
        "Know whom a link was given to",
        OF_STUDY,
        "As long as the study; the link between a person and an invitation goes with the person",
        "The study's owner and administrators",
    ),
    "staff_accounts": DataCategory(
        "Accounts of staff",
        STAFF,
        "Let staff sign in, and decide what they may do",
        OF_SITE,
        "Until an administrator deletes the account",
        "Administrators",
    ),
    "staff_actions": DataCategory(
        "Who made or decided something",
        STAFF,
        "Attribute studies, decisions, notes and files to a person",
        OF_SITE,
        "As long as what was made",
        "Researchers who may see it",
    ),
    "audit": DataCategory(
        "Audit log",
        f"{STAFF}; {ANNOTATORS.lower()} in decisions about them",
        "Find out who changed rights, rules and labels' standing; networks (/24, /48) instead of addresses",
        OF_SITE,
        "As long as the site; what it says of an annotator goes with them",
        "Administrators",
    ),
    "content": DataCategory(
        "Texts and images of items, and answers of models",
        IN_CONTENT,
        "The material that is labeled and judged; it can name people",
        OF_STUDY,
        "Until the dataset is deleted",
        "Annotators, researchers who may see the dataset, and model servers, remote ones not of private datasets",
    ),
    "requests_to_models": DataCategory(
        "Requests to models and their answers",
        IN_CONTENT,
        "Answer the same request once, and show how a judgment came about",
        OF_STUDY,
        "Until an operator runs purge_requests",
        "The model servers that administrators set up",
    ),
    "exports": DataCategory(
        "Files of exports",
        ANNOTATORS,
        "Give researchers the data that they asked for",
        OF_STUDY,
        "EXPORTS_KEEP_HOURS; deleted at once when a person in them is erased",
        "The researcher who asked",
    ),
    "uploads": DataCategory(
        "Uploaded files",
        f"{IN_CONTENT}; {ANNOTATORS.lower()} in imported labels",
        "Import data",
        OF_STUDY,
        "Until they are imported or discarded, EXPORTS_KEEP_HOURS at most",
        "The researcher who sent them",
    ),
    "reports": DataCategory(
        "Reports",
        ANNOTATORS,
        "Figures of agreement, by annotator under a number",
        OF_STUDY,
        "As long as the report; it says how many people were erased since",
        "Researchers who may see the report",
    ),
}
"""By the name that `ModelData.personal` uses."""
OUTSIDE_DATABASE = (
    (
        "Cookies",
        "A sign-in, or which study a browser takes part in; language and reading preferences. 30 days after the last "
        "visit at most, no tracking.",
    ),
    (
        "Browser's storage",
        "Answers that weren't sent yet and items fetched ahead, until they are sent or the study ends.",
    ),
    (
        "Logs",
        "User names and primary keys of staff; networks of clients (/24, /48) and no whole address; no answers and no "
        "names of annotators. As long as your log collector keeps them.",
    ),
    ("Counters of limits", "Keyed hashes of addresses and names, in memory or Redis, for two days at most."),
    ("Backups", "All of the above. BACKUPS_DIR and where you copy it; encrypted if you give a key."),
)
"""Where personal data is beside the database: the place, and what and how long."""
MEASURES = (
    "Pseudonyms: annotators have another name in each study, in pages, exports and the API.",
    "Access: every row is fetched through its owner; tests ask every address as six people.",
    "Encryption: TLS (HSTS); backups with AES-256-GCM; passwords and tokens as hashes.",
    "Traceability: an append-only audit log of rights, rules, standing of labels and exports.",
    "Availability: verified backups, restore drills; erasures are applied again after a restore.",
    "Review: OWASP ASVS 5.0 level 2 in docs/security.md, each requirement with the test that shows it.",
)
"""Article 32, in brief."""
