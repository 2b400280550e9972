"""Items with gold that are asked before the work, and what people answered."""

from django.db import models

from annotation.models.datasets import Item
from annotation.models.people import Enrollment
from annotation.models.studies import Study


class QuestionPart(models.TextChoices):
    TRAINING = "training", "Training"
    TEST = "test", "Test"


class QualificationQuestion(models.Model):
    """An item with gold that a study asks before work begins."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="qualification_questions")
    part = models.CharField(max_length=8, choices=QuestionPart.choices, default=QuestionPart.TEST)
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="qualification_questions")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["study", "item"], name="qualification_question_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.item_id}"


class QualificationAttempt(models.Model):
    """One time that a person took the test. A pass holds in every study that shares the test."""

    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="attempts")
    test = models.ForeignKey(
        Study, on_delete=models.CASCADE, related_name="attempts", help_text="The study whose test it is."
    )
    number = models.PositiveSmallIntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    n_right = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Exactly right answers.")
    accuracy = models.FloatField(null=True, blank=True, help_text="Tolerant accuracy, 0 to 1.")
    passed = models.BooleanField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["enrollment", "number"], name="qualification_attempt_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.enrollment_id} attempt {self.number}"


class QualificationAnswer(models.Model):
    """An answer to a question; given once in training and once an attempt."""

    enrollment = models.ForeignKey(Enrollment, on_delete=models.CASCADE, related_name="qualification_answers")
    question = models.ForeignKey(QualificationQuestion, on_delete=models.PROTECT, related_name="answers")
    attempt = models.ForeignKey(
        QualificationAttempt,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="answers",
        help_text="Empty in training.",
    )
    value = models.JSONField()
    shown_order = models.JSONField()
    is_correct = models.BooleanField(help_text="Exactly right.")
    n_judgments = models.PositiveSmallIntegerField(default=1, help_text="Parts of the answer with a gold.")
    n_within = models.PositiveSmallIntegerField(default=0, help_text="Of these, within the tolerance.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["enrollment", "question", "attempt"], name="qualification_answer_unique"
            ),
            models.UniqueConstraint(
                fields=["enrollment", "question"],
                condition=models.Q(attempt=None),
                name="qualification_training_answer_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.enrollment_id}/{self.question_id}"
