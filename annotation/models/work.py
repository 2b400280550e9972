"""Assignments, which are leases, and labels, which are for ever."""

from django.db import models
from django.db.models import Q

from annotation.kinds import PAIRWISE, kind_choices
from annotation.models.datasets import Item
from annotation.models.people import Annotator, Enrollment
from annotation.models.rules import MAX_AHEAD
from annotation.models.studies import Study, StudyItem


class AssignmentState(models.TextChoices):
    OPEN = "open", "Open"
    SUBMITTED = "submitted", "Submitted"
    EXPIRED = "expired", "Expired"
    RELEASED = "released", "Released"


class WorkRole(models.TextChoices):
    WORK = "work", "Work"
    CHECK = "check", "Hidden check"
    REPEAT = "repeat", "Repeat of an own item"


class Assignment(models.Model):
    """A lease of one item to one annotator, with the order in which its responses are shown.

    Of each role there is one row per (item, annotator) and study, for ever: an expired lease is renewed in place when
    the person comes back, so nobody is given an item twice and the shown order never changes for them.

    Of a person's open leases, the one that was given first is in hand; the others were fetched ahead.
    """

    study_item = models.ForeignKey(StudyItem, on_delete=models.CASCADE, related_name="assignments")
    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="assignments")
    role = models.CharField(max_length=6, choices=WorkRole.choices, default=WorkRole.WORK)
    state = models.CharField(max_length=10, choices=AssignmentState.choices, default=AssignmentState.OPEN)
    shown_order = models.JSONField(
        help_text="Response positions in the order shown: [1, 0] shows the second as A."
    )
    ahead = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="0: given when it was asked for. Otherwise fetched ahead, in this one of the person's places.",
    )
    draft = models.JSONField(null=True, blank=True, help_text="The form's fields as typed, and active_ms.")
    leased_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True, blank=True)
    release_reason = models.CharField(max_length=200, blank=True, help_text="Why it was released unanswered.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study_item", "enrollment", "role"], name="assignment_unique"),
            models.CheckConstraint(
                condition=Q(state__in=AssignmentState.values), name="assignment_state_known"
            ),
            # A person is given one item at a time, so that two tabs show the same one, and has a few places for what is
            # fetched ahead.
            models.UniqueConstraint(
                fields=["enrollment", "ahead"], condition=Q(state="open"), name="assignment_one_open_a_place"
            ),
            # One place more than items are fetched ahead: the item in hand may be one that was.
            models.CheckConstraint(condition=Q(ahead__lte=MAX_AHEAD + 1), name="assignment_ahead_few"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(state="open"), name="assignment_open_expiry"),
            # What ran out and may be had again is looked for at each claim, among all that the person ever had.
            models.Index(fields=["enrollment"], condition=Q(state="expired"), name="assignment_run_out"),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"


class LabelQuerySet(models.QuerySet["Label"]):
    def standing(self) -> "LabelQuerySet":
        """Labels that no later one of the same person supersedes."""
        return self.filter(superseded_by__isnull=True)

    def current(self) -> "LabelQuerySet":
        """Labels that count: the latest of each person, without those that came when all places were taken, those
        set aside, hidden checks and repeats.
        """
        return self.standing().filter(is_surplus=False, is_set_aside=False, role=WorkRole.WORK)


class Label(models.Model):
    """What an annotator said of an item, in canonical order. Append-only: the database refuses an UPDATE of anything
    but `is_surplus` and `is_set_aside`, which say whether it counts.

    A correction is a new label that supersedes the old one. `choice` repeats a pairwise value as a number, so that
    a million labels can be read without parsing JSON.
    """

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="labels")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="labels")
    # Imported labels, by the million, have neither: the indexes of these two, below, leave them out.
    study = models.ForeignKey(
        *(Study, models.PROTECT), null=True, blank=True, related_name="labels", db_index=False
    )
    assignment = models.ForeignKey(
        *(Assignment, models.PROTECT), null=True, blank=True, related_name="labels", db_index=False
    )
    supersedes = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="superseded_by"
    )
    role = models.CharField(max_length=6, choices=WorkRole.choices, default=WorkRole.WORK)
    kind = models.CharField(max_length=16, choices=kind_choices)
    value = models.JSONField()
    choice = models.SmallIntegerField(null=True, blank=True, help_text="Pairwise: 1, 2, or 0 for a tie.")
    shown_order = models.JSONField(null=True, blank=True, help_text="Empty where an import does not say.")
    is_surplus = models.BooleanField(
        default=False,
        help_text="Came when its item had all its labels, or its study was closed: kept, not counted.",
    )
    is_set_aside = models.BooleanField(
        default=False, help_text="Given by an annotator whose work is in doubt: kept, not counted."
    )
    evidence = models.JSONField(
        null=True,
        blank=True,
        help_text="Passages marked as reasons (annotation.kinds.evidence); empty where nobody asked.",
    )
    comment = models.TextField(blank=True)
    pasted_chars = models.PositiveIntegerField(
        default=0, help_text="Characters of the comment that were pasted."
    )
    check_score = models.FloatField(
        null=True, blank=True, help_text="Of a hidden check: how right it was, 0 to 1."
    )
    source = models.CharField(max_length=300, blank=True, help_text="Of an imported label: file and row.")
    guidelines_version = models.PositiveIntegerField(null=True, blank=True)
    probability = models.FloatField(default=1.0, help_text="The chance with which its item was picked.")
    active_ms = models.PositiveBigIntegerField(null=True, blank=True, help_text="Visible tab, recent input.")
    wall_ms = models.PositiveBigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = LabelQuerySet.as_manager()

    class Meta:
        constraints = [
            # One first word per person and item of a study; imports have no assignment and are unique likewise.
            models.UniqueConstraint(
                fields=["assignment"],
                condition=Q(supersedes__isnull=True, assignment__isnull=False),
                name="label_first_unique",
            ),
            models.UniqueConstraint(
                fields=["item", "annotator"],
                condition=Q(study__isnull=True, supersedes__isnull=True),
                name="label_imported_unique",
            ),
            models.CheckConstraint(condition=Q(role__in=WorkRole.values), name="label_role_known"),
            models.CheckConstraint(
                condition=Q(choice__isnull=True) | Q(choice__in=[0, 1, 2]), name="label_choice_known"
            ),
            models.CheckConstraint(
                condition=~Q(kind=PAIRWISE.name) | Q(choice__isnull=False), name="label_pairwise_has_choice"
            ),
        ]

        indexes = [
            models.Index(
                fields=["study", "annotator"], condition=Q(study__isnull=False), name="label_by_annotator"
            ),
            models.Index(
                fields=["assignment"], condition=Q(assignment__isnull=False), name="label_of_assignment"
            ),
        ]

    def __str__(self) -> str:
        return f"label {self.pk}"


class AnswerSignals(models.Model):
    """What the browser summarized of how the first answer to an assignment was given (`annotation.domain.signals`).

    There is a row only where something was sent; a column that is empty is unknown. It's beside the label, not of it:
    no figure of agreement reads it, and it can be deleted while the label stays.
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="signals")
    first_ms = models.PositiveIntegerField(
        null=True, help_text="Until the first key, press or turn of the wheel."
    )
    hidden = models.PositiveIntegerField(null=True, help_text="How often the page was hidden.")
    hidden_ms = models.PositiveIntegerField(null=True)
    pointer = models.PositiveIntegerField(null=True, help_text="Events of a mouse or pen.")
    touch = models.PositiveIntegerField(null=True)
    keys = models.PositiveIntegerField(null=True)
    scrolled = models.PositiveIntegerField(null=True, help_text="Percent of the texts that came into view.")
    pastes = models.PositiveIntegerField(null=True)
    pasted = models.PositiveIntegerField(null=True, help_text="Characters.")
    gaps = models.PositiveIntegerField(null=True, help_text="Pauses between two keys in text fields.")
    gap_ms = models.PositiveIntegerField(null=True, help_text="Their median.")
    gap_spread_ms = models.PositiveIntegerField(null=True, help_text="The distance between their quartiles.")
    typed = models.PositiveIntegerField(null=True, help_text="Characters in text fields.")
    keyless = models.PositiveIntegerField(null=True, help_text="Of these, neither with a key nor pasted.")
    untrusted = models.PositiveIntegerField(null=True, help_text="Events that a script made.")
    automated = models.BooleanField(default=False, help_text="navigator.webdriver")
    decoy = models.BooleanField(default=False, help_text="The field that people don't see was filled in.")

    class Meta:
        verbose_name_plural = "answer signals"

    def __str__(self) -> str:
        return f"signals of assignment {self.assignment_id}"
