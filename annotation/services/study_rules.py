"""What the rules of a study have to fit, field by field and together. Refusals name the field."""

import re
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError

from annotation.domain.eligibility import eligibility_read
from annotation.domain.errors import StudyRuleError
from annotation.kinds import kind_of
from annotation.kinds.dimensions import dimensions_read
from annotation.kinds.reasons import reasons_read
from annotation.models import (
    Criterion,
    EvidenceRule,
    Item,
    ItemSampling,
    QualificationRule,
    Response,
    Study,
    StudyState,
    TiePolicy,
)
from annotation.selectors.datasets import datasets_of_criteria, scales_of
from annotation.selectors.slices import study_slice

# What a study is, rather than a rule of it.
NOT_RULES = frozenset(
    ["id", "dataset", "owner", "slug", "kind", "state", "guidelines_version", "created_at", "closed_at"]
)
RULES = frozenset(field.name for field in Study._meta.concrete_fields) - NOT_RULES
# Changed later, labels before and after would not mean the same, or items are made from it already.
FIXED_ONCE_OPEN = frozenset(
    [
        "kind",
        "categories",
        "subset",
        "sampling",
        "sample_size",
        "sample_seed",
        "sampling_baseline",
        "balance_categories",
        "criteria",
        "tie_policy",
        "preference_points",
        "response_sets",
        "dimensions",
        "reasons",
        "require_reason",
        "evidence",
        "collect_signals",
        "allow_cannot_tell",
        "training_size",
        "training_dataset",
        "qualification_size",
        "qualification_rule",
        "qualification_tolerance",
        "qualification_dataset",
        "qualification_from",
        "check_size",
        "check_dataset",
    ]
)
PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}\Z")
CURRENCY = re.compile(r"[A-Z]{3}\Z")
MAX_PARAMETERS = 20


def study_check(study: Study) -> Study:
    """Full validation of the row and of what its rules say together; `StudyRuleError` names the field."""
    try:
        study.full_clean()
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise StudyRuleError(field, " ".join(messages)) from error
    for check in CHECKS:
        check(study)
    return study


def study_check_opening(study: Study, *, now: datetime) -> None:
    """What has to be so when people come in."""
    if study.closes_at is not None and study.closes_at <= now:
        raise StudyRuleError("closes_at", "the deadline has passed")
    if study.state == StudyState.DRAFT:
        if _has(study, "criteria") and not Criterion.objects.filter(dataset=study.dataset_id).exists():
            raise StudyRuleError("criteria", "the dataset has no criteria yet")
        shared = study.qualification_from
        if shared is not None and not shared.qualification_questions.exists():
            raise StudyRuleError(
                "qualification_from", f"“{shared}” has no test yet: it is sampled when that study opens"
            )


def _has(study: Study, rule: str) -> bool:
    """Whether the rule has a meaning for what the study asks."""
    return rule in kind_of(study.kind).study_rules


def _texts(study: Study, field: str) -> list[str]:
    value: Any = getattr(study, field)
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise StudyRuleError(field, "expected a list of texts")
    if len(set(value)) < len(value):
        raise StudyRuleError(field, "names something twice")
    return value


def _check_slice(study: Study) -> None:
    categories = _texts(study, "categories")
    items = Item.objects.current().filter(dataset=study.dataset_id)
    if not items.filter(kind=study.kind).exists() and items.exists():
        raise StudyRuleError("kind", f"the dataset has no items of the kind {study.get_kind_display()}")
    if (categories or study.subset) and not study_slice(study).exists():
        field = "categories" if categories else "subset"
        raise StudyRuleError(field, "no item of the dataset matches this selection")


def _check_sampling(study: Study) -> None:
    if study.sampling == ItemSampling.RANDOM and study.sample_size is None:
        raise StudyRuleError("sample_size", "enter the number of items in the sample")
    if study.sampling != ItemSampling.LENGTH_BALANCED:
        return
    if not _has(study, "sampling_baseline"):
        raise StudyRuleError("sampling", "only pairs can be balanced by length")
    if not study.sampling_baseline:
        raise StudyRuleError("sampling_baseline", "choose the baseline system")
    written = Response.objects.filter(instruction__dataset=study.dataset_id, system=study.sampling_baseline)
    if not written.exists():
        raise StudyRuleError("sampling_baseline", f"no response is by {study.sampling_baseline!r}")
    if study.sample_size == 1:
        raise StudyRuleError(
            "sample_size",
            "balanced sampling needs two items or more: one with a longer response, one with a shorter one",
        )


def _check_answers(study: Study) -> None:
    if study.tie_policy == TiePolicy.BOTH_BAD and not _has(study, "both_bad"):
        raise StudyRuleError("tie_policy", "“both bad” is only for pairs")
    if study.strengths and not _has(study, "preference_points"):
        raise StudyRuleError("preference_points", "only pairs have a strength of preference")
    criteria = _texts(study, "criteria")
    if criteria and not _has(study, "criteria"):
        raise StudyRuleError("criteria", "only rubrics have criteria")
    known = set(Criterion.objects.filter(dataset=study.dataset_id).values_list("key", flat=True))
    if unknown := [key for key in criteria if key not in known]:
        raise StudyRuleError("criteria", f"the dataset has no criterion {unknown[0]!r}")
    if study.response_sets:
        asked = {
            key: scale for key, scale in scales_of(study.dataset_id).items() if key in (criteria or known)
        }
        if why := kind_of(study.kind).sets_refused(asked, several=study.dataset.category_scheme.several):
            raise StudyRuleError("response_sets", why)


def _check_dimensions(study: Study) -> None:
    if not dimensions_read(study.dimensions):
        return
    if not _has(study, "dimensions"):
        raise StudyRuleError("dimensions", "only pairs are compared on several dimensions")
    if study.response_sets:
        raise StudyRuleError(
            "response_sets",
            "a response set is of one question; leave out the dimensions or the response sets",
        )


def _check_reasons(study: Study) -> None:
    if study.require_reason and not reasons_read(study.reasons):
        raise StudyRuleError("require_reason", "list the reasons first")
    reasons_read(study.reasons)


def _check_page(study: Study) -> None:
    """Rules of the page on which items are answered."""
    for rule in ("submit_on_choice", "show_differences"):
        if getattr(study, rule) and not _has(study, rule):
            raise StudyRuleError(rule, "is only for pairs")
    if study.evidence != EvidenceRule.OFF and not _has(study, "evidence"):
        raise StudyRuleError("evidence", f"passages of {kind_of(study.kind).noun[1]} can't be marked")
    if study.require_comment and not study.ask_comment:
        raise StudyRuleError("require_comment", "turn on the comment first")
    if not study.submit_on_choice:
        return
    needs = {
        "answers on other dimensions": study.dimensions,
        "response sets": study.response_sets,
        "reasons": study.reasons,
        "a comment": study.require_comment,
        "evidence": study.evidence == EvidenceRule.REQUIRED,
    }
    if more := next((words for words, asked in needs.items() if asked), ""):
        raise StudyRuleError("submit_on_choice", f"a choice can't submit an answer that also asks for {more}")
    if not study.allow_changes:
        raise StudyRuleError(
            "submit_on_choice", "allow annotators to change answers, so that they can undo one"
        )


def _check_test(study: Study) -> None:
    if study.qualification_rule == QualificationRule.TOLERANT and study.qualification_size:
        if not _has(study, "qualification_rule"):
            raise StudyRuleError(
                "qualification_rule",
                "answers of this kind are either right or wrong, so there is no tolerance",
            )
        if study.qualification_threshold >= 1:
            raise StudyRuleError("qualification_threshold", "expected less than 100%")
    shared = study.qualification_from
    if shared is None:
        return
    if shared.pk == study.pk:
        raise StudyRuleError("qualification_from", "is the study itself")
    if shared.kind != study.kind:
        raise StudyRuleError("qualification_from", "is a study of another kind")
    if shared.qualification_from_id is not None:
        raise StudyRuleError("qualification_from", "has no test of its own")
    if not shared.qualification_size:
        raise StudyRuleError("qualification_from", "has no test")


def _check_sources(study: Study) -> None:
    """Questions from another dataset are of the study's kind, and ask what its own items ask."""
    for purpose in ("training", "qualification", "check"):
        field = f"{purpose}_dataset"
        source = getattr(study, field)
        if source is None or source.pk == study.dataset_id or not getattr(study, f"{purpose}_size"):
            continue
        items = Item.objects.current().filter(dataset=source, kind=study.kind)
        if not items.filter(gold__isnull=False).exists():
            what = study.get_kind_display().lower()
            raise StudyRuleError(field, f"“{source.title}” has no {what} item with gold")
        if _has(study, "criteria") and not datasets_of_criteria(study.dataset_id, [source.pk]):
            raise StudyRuleError(field, f"“{source.title}” has other criteria than the study's dataset")


def _check_checks(study: Study) -> None:
    if study.check_rate and not study.check_size:
        raise StudyRuleError("check_size", "enter the number of gold items reserved for checks")
    if study.check_size and not study.check_rate:
        raise StudyRuleError("check_rate", "with a rate of 0, there would be no checks")
    if study.check_rate + study.repeat_rate >= 1:
        raise StudyRuleError("check_rate", "checks and repeats together leave no items to label")
    if study.check_minimum > study.check_window:
        raise StudyRuleError("check_minimum", "is more than the number of checks considered")
    warn, suspend = study.check_warn_below, study.check_suspend_below
    if warn is not None and suspend is not None and suspend > warn:
        raise StudyRuleError("check_suspend_below", "is above the warning threshold")


def _check_entry(study: Study) -> None:
    names = _texts(study, "passthrough")
    if len(names) > MAX_PARAMETERS:
        raise StudyRuleError("passthrough", f"expected at most {MAX_PARAMETERS} names")
    for name in names:
        if not PARAMETER.match(name):
            raise StudyRuleError("passthrough", f"{name[:64]!r} isn't a valid parameter name")
    if not CURRENCY.match(study.pay_currency):
        raise StudyRuleError("pay_currency", "expected three capital letters: USD")


def _check_eligibility(study: Study) -> None:
    eligibility_read(study.eligibility)


CHECKS = (
    _check_slice,
    _check_sampling,
    _check_answers,
    _check_dimensions,
    _check_reasons,
    _check_page,
    _check_test,
    _check_sources,
    _check_checks,
    _check_entry,
    _check_eligibility,
)
