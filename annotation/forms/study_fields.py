"""Form fields of a study's rules that Django does not have, and the words beside the fields."""

import re
from typing import Any

from django import forms

from annotation.kinds import KINDS

PERCENT = 100


def noun(kind: str, n: int | None = None) -> str:
    """What items of a kind are called: "12 pairs"."""
    one, many = KINDS[kind].noun if kind in KINDS else ("item", "items")
    return many if n is None else f"{n:,} {one if n == 1 else many}"


class PercentField(forms.FloatField):
    """A share that is typed in percent: 10 is 0.1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**({"min_value": 0, "max_value": PERCENT, "step_size": None} | kwargs))
        self.widget.attrs |= {"step": "any", "inputmode": "decimal"}

    def prepare_value(self, value: Any) -> Any:
        # A number comes from the study; what was typed comes as text.
        return f"{value * PERCENT:.6g}" if isinstance(value, int | float) else value

    def clean(self, value: Any) -> float | None:
        typed = super().clean(value)
        return None if typed is None else round(typed / PERCENT, 8)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


class NamesField(forms.CharField):
    """Names in one line, with commas or spaces between them."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        return list(dict.fromkeys(part for part in re.split(r"[\s,;]+", super().clean(value)) if part))


def usual_seconds(kind: str) -> int:
    """What a label of the kind takes where nothing better is known."""
    return KINDS[kind].seconds if kind in KINDS else 60


def seconds_or(value: Any, kind: str) -> float:
    """A typed number of seconds, or what is usual of the kind."""
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    return seconds if 0 < seconds <= 86_400 else float(usual_seconds(kind))


LABELS = {
    "kind": "Kind of work",
    "question": "Question above each item",
    "language": "Language of the annotators' pages",
    "categories": "Categories",
    "subset": "Subset",
    "sampling": "Which items",
    "sample_size": "Items in the sample",
    "sample_seed": "Seed",
    "sampling_baseline": "Baseline system",
    "balance_categories": "Keep category proportions",
    "criteria": "Criteria",
    "tie_policy": "Ties",
    "preference_points": "Scale of preference",
    "response_sets": "Ask for response sets",
    "reasons": "Reasons to pick from",
    "require_reason": "Require a reason",
    "evidence": "Evidence",
    "ask_comment": "Offer a comment with every answer",
    "require_comment": "Require the comment",
    "submit_on_choice": "Submit when an answer is chosen",
    "show_differences": "Let annotators mark the words that differ",
    "show_word_counts": "Show word counts",
    "collect_signals": "Collect signals of how answers are given",
    "machine_text": "Add hidden text for automated readers",
    "allow_cannot_tell": "Allow “cannot tell”",
    "allow_changes": "Annotators can change earlier answers",
    "overlap": "Labels per item",
    "items_per_annotator": "Maximum items per annotator",
    "lease_minutes": "Time to answer (minutes)",
    "fetch_ahead": "Items fetched ahead",
    "idle_seconds": "Idle limit (s)",
    "closes_at": "Deadline (UTC)",
    "training_size": "Training items",
    "training_dataset": "Training items come from",
    "qualification_size": "Questions in the test",
    "qualification_rule": "To pass",
    "qualification_pass": "Right answers to pass",
    "qualification_threshold": "Accuracy to exceed (%)",
    "qualification_tolerance": "Tolerance",
    "qualification_attempts": "Attempts",
    "qualification_cooldown_minutes": "Minutes between attempts",
    "qualification_valid_days": "Days that a passed test is valid",
    "qualification_from": "Share the test of another study",
    "check_rate": "Hidden checks (% of items)",
    "check_size": "Gold items reserved for checks",
    "check_dataset": "Checks come from",
    "repeat_rate": "Repeats (% of items)",
    "check_window": "Latest checks considered",
    "check_minimum": "Checks before the first warning",
    "check_warn_below": "Warn below (% right)",
    "check_suspend_below": "Suspend below (% right)",
    "set_aside_on_suspend": "Exclude a suspended annotator's doubtful labels",
    "open_signup": "Open sign-up",
    "one_per_device": "One person per browser",
    "max_annotators": "Maximum annotators",
    "passthrough": "Other URL parameters to keep",
    "completion_code": "Completion code",
    "pay_basis": "Paid",
    "pay_per_item": "Pay per item",
    "pay_per_hour": "Pay per hour",
    "pay_for_test": "Pay for the test",
    "pay_floor_per_hour": "Minimum hourly rate",
    "pay_currency": "Currency",
    "labels_kept": "Keep labels after a deletion",
    "texts_kept": "Keep comments and marked passages too",
    "erase_at_once": "Carry out deletions at once",
    "retention_days": "Days until people are erased",
    "retention_action": "What happens then",
}

# Instead of what the column says to researchers who read the admin; without one here, nothing.
HELP_TEXTS = dict.fromkeys(LABELS, "") | {
    "title": "Shown to annotators.",
    "sample_seed": "The same seed draws the same items.",
    "sampling_baseline": "Its response is compared in length with the other one of the pair.",
    "balance_categories": "The labeled items have the category proportions of all items at any time.",
    "language": "Of buttons, steps and messages. Your own texts stay as you write them. Annotators can choose another.",
    "preference_points": "Without ties, one point fewer. From 5 points on, reports have figures of graded preferences.",
    "response_sets": "Annotators also mark every other answer that they find reasonable. Reports then score judges "
    "against these sets.",
    "dimensions": "Ask the same comparison on several dimensions, each on the scale above. The overall one is the "
    "label's choice, which gold answers, hidden checks and all figures use; the study page and reports also show the "
    "others, one at a time. Leave all rows empty to ask one question.",
    "reasons": "Short reasons that annotators can pick beside an answer, one per line, up to 12. If empty, none are "
    "offered.",
    "require_reason": "Nobody can submit without picking at least one.",
    "evidence": "Annotators select the passages of an answer that are their reasons, and say what each shows. This "
    "takes time, so plan for it in the pay.",
    "ask_comment": "A short text that says why.",
    "require_comment": "Nobody can submit without one.",
    "submit_on_choice": "One key or tap an item. Annotators can undo it.",
    "show_differences": "Each annotator turns it on or off. It draws the eye to wording, so leave it off if you study "
    "how people read unaided.",
    "show_word_counts": "Counts bias people: many prefer the longer answer. Turn it on only if length is a criterion.",
    "collect_signals": "With each answer the browser sends counts and medians: hidden tab, mouse, touch and keys, "
    "scrolling, paste, typing rhythm. Never which keys. The consent and the guidelines tell annotators; a study with "
    "neither collects nothing.",
    "machine_text": "Each item has a sentence and a field that people neither see nor hear. They ask programs that "
    "read the page to write a word of this study. A copy of the whole page has the sentence, too.",
    "allow_cannot_tell": "In addition to yes and no.",
    "allow_changes": "The later answer counts; the earlier one is kept.",
    "guidelines": "Markdown. What makes an answer better, with examples. If empty, there is no guidelines page.",
    "consent": "Markdown. What annotators agree to before they start. If empty, there is no consent page.",
    "overlap": "How many annotators label each item. Agreement needs two; four is usual.",
    "items_per_annotator": "If empty, no limit.",
    "lease_minutes": "An open item that isn't answered goes to someone else after this time.",
    "fetch_ahead": "0 to 5. The next items are there at once, and annotators can work without a connection. Each item "
    "fetched ahead takes a label's slot until it's answered or its time to answer ends, and is kept in the annotator's "
    "browser meanwhile. 3 is usual; 0: none.",
    "idle_seconds": "Time without input that still counts as active.",
    "closes_at": "After the deadline, nobody gets new items. If empty, there is no deadline.",
    "training_size": "Answered with feedback and explanation before the test; 0: none.",
    "training_dataset": "Items with a known right answer and, ideally, an explanation.",
    "qualification_size": "Items with a known right answer, asked before the work; 0: no test.",
    "qualification_pass": "People with fewer can't take part, and read why. 9 of 10 is usual.",
    "qualification_threshold": "HELM Instruct asks for more than 85% within one point of 1 to 5.",
    "qualification_tolerance": "How far from the right answer still counts as right, in ranks or steps of the scale. "
    "1 is one point of 1 to 5, and a tenth of the range of 0 to 100.",
    "qualification_valid_days": "If empty, it doesn't expire.",
    "qualification_from": "Use the questions, rules and results of that test. This study then has no test of its own.",
    "qualification_dataset": (
        "Items with a known right answer. If they are from the study's own dataset, they aren't offered for labeling."
    ),
    "check_rate": "Items with a known right answer, mixed in unseen. 0: none.",
    "check_size": "Not offered for labeling. Each annotator gets each of them at most once.",
    "repeat_rate": "Items that the annotator has answered before, to measure self-consistency.",
    "check_warn_below": "If empty, nobody is warned.",
    "check_suspend_below": "If empty, nobody is suspended.",
    "set_aside_on_suspend": "The labels since the first failed check considered. Nothing is deleted; others label the "
    "items.",
    "open_signup": "People with an account can join, in addition to links and platforms.",
    "one_per_device": "Turn off if people share a computer.",
    "max_annotators": "Over all entry points. If empty, no limit.",
    "passthrough": "Such as age, country. Separate names with commas.",
    "completion_code": "Shown at the end, for a crowdsourcing platform. If empty, each annotator gets their own.",
    "pay_per_item": "Shown to annotators. If 0, pay isn't mentioned.",
    "pay_per_hour": "For active time: the tab is visible and there was recent input.",
    "pay_for_test": "Paid to everyone who finished the test, passed or not.",
    "pay_floor_per_hour": "Warns you when someone earns less. If empty, no warning.",
    "pay_currency": "Three letters: USD, EUR.",
    "labels_kept": "Without a link to the person; the consent page says so. Otherwise labels are deleted with their "
    "annotator. People who were promised otherwise keep what they were promised.",
    "texts_kept": "Comments can say who wrote them. If off, they are removed when an annotator is anonymized.",
    "erase_at_once": "When an annotator asks for it on their page. If off, you decide on the Privacy page.",
    "retention_days": "Counted from when the study closes; the consent page says so. If empty, nobody is "
    "erased automatically.",
}
