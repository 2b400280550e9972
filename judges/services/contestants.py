"""From what contestants answered to responses, and to pairs that people and judges compare.

A contestant is a judge whose strategy generates; a sweep lets it answer the instructions of a dataset, and its
answers are rows of `Generation`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotation.domain.sampling import seeded_hash
from annotation.importers.build import content_key
from annotation.selectors.instructions import InstructionFacts, instruction_facts, system_responses
from annotation.services.dataset_parts import count
from annotation.services.datasets import DatasetImportError
from annotation.services.generated import GeneratedPair, pairs_store
from judges.models import Generation, Judge, ParseStatus

if TYPE_CHECKING:
    from annotation.models import Dataset, User

HUMAN = "human reference"
"""The system that a human-written reference has as a response."""
MAX_ID = 200
FIRST = 0
"""The sample that stands for an instruction where one does. If it failed, no other takes its place: it may still come,
and the same making again would then add a second pair."""


class PairsError(Exception):
    """No pairs can be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What contestants are compared with: exactly one of the three.

    Attributes
    ----------
    reference : bool
        The human-written reference of each instruction. The instruction keeps it, so a judge that reads the
        reference sees one of the two responses a second time; such judges say little about these pairs.
    system : str
        The responses of this system that the dataset has.
    contestant : Judge or None
        Another contestant: sample k against its sample k; against its first where it has but one of everything.
    """

    reference: bool = False
    system: str = ""
    contestant: Judge | None = None

    def __post_init__(self) -> None:
        if [self.reference, bool(self.system), self.contestant is not None].count(True) != 1:
            raise ValueError("a baseline is the reference, a system or a contestant")

    @property
    def name(self) -> str:
        """The system of its responses."""
        if self.contestant is not None:
            return self.contestant.name
        return self.system or HUMAN

    @property
    def identity(self) -> str:
        """Tells it from other baselines, in a few characters."""
        if self.contestant is not None:
            return self.contestant.fingerprint
        return f"system {content_key(self.system)}" if self.system else "reference"


@dataclass(frozen=True, slots=True)
class PairsResult:
    """What came of making pairs. The counts are of (instruction, contestant), none is left out in silence.

    Attributes
    ----------
    created : bool
        The dataset was not there before.
    n_pairs, n_added : int
        Items of this making, and those of them that are new.
    n_without_generation : int
        Instructions that a contestant has not answered, or whose answer failed.
    n_without_baseline : int
        Answered instructions that lack the baseline's response.
    n_identical : int
        Pairs of two equal texts: kept, and worth knowing of.
    """

    dataset: Dataset
    created: bool
    n_pairs: int
    n_added: int
    n_without_generation: int
    n_without_baseline: int
    n_identical: int

    def summary(self) -> str:
        """What to tell whoever made them, in a line."""
        parts = [f"{self.dataset.name}: {count(self.n_pairs, 'pair')}"]
        if not self.n_added:
            parts.append("all there already")
        elif self.n_added < self.n_pairs:
            parts.append(f"{self.n_added:,} of them new")
        if self.n_without_generation:
            parts.append(f"{count(self.n_without_generation, 'instruction')} without a finished generation")
        if self.n_without_baseline:
            parts.append(f"{count(self.n_without_baseline, 'instruction')} without the baseline")
        if self.n_identical:
            parts.append(f"{count(self.n_identical, 'pair')} of two equal texts")
        return "; ".join(parts) + "."


def pairs_make(
    *,
    name: str,
    source: Dataset,
    contestants: Sequence[Judge],
    baseline: Baseline,
    title: str = "",
    all_samples: bool = False,
    seed: int = 0,
    owner: User | None = None,
) -> PairsResult:
    """Make a dataset of pairs: each contestant's response beside the baseline's, one item an instruction.

    Which of the two comes first is drawn for each item by the seed, so that the place tells nothing. The same again
    changes nothing, and adds what has been generated since.

    Parameters
    ----------
    name, title : str
        Of the dataset that is made.
    all_samples : bool
        An item for each sample of a contestant; the first alone otherwise.

    Raises
    ------
    PairsError
        No contestant, one that is its own baseline, a name that is taken, or no instruction with both responses.
    """
    if not contestants:
        raise PairsError("Choose at least one contestant.")
    if baseline.contestant is not None and baseline.contestant in contestants:
        raise PairsError(f"'{baseline.contestant}' cannot be compared with itself.")
    contestants = sorted(set(contestants), key=lambda judge: judge.name)
    facts = instruction_facts(source.pk)
    against = _baseline_texts(baseline, source, facts)
    generated = _generated(source, contestants)
    is_single = not any(sample for samples in against.values() for sample in samples)
    pairs: list[GeneratedPair] = []
    n_without_generation = n_without_baseline = 0
    for contestant in contestants:
        answers = generated[contestant.pk]
        for fact in facts:
            answered = answers.get(fact.instruction_id, {})
            samples = [each for each in sorted(answered.items()) if all_samples or each[0] == FIRST]
            if not samples:
                n_without_generation += 1
                continue
            made = [
                _pair(fact, contestant, sample, text, baseline, other, seed)
                for sample, text in samples
                if (other := against.get(fact.instruction_id, {}).get(FIRST if is_single else sample))
                is not None
            ]
            n_without_baseline += not made
            pairs += made
    if not pairs:
        raise PairsError(_why_none(source, baseline, n_without_generation, len(facts) * len(contestants)))
    try:
        stored = pairs_store(
            source=source,
            pairs=pairs,
            name=name,
            title=title,
            made_of=_made_of(source, contestants, baseline, all_samples=all_samples, seed=seed),
            description=_description(source, contestants, baseline),
            owner=owner,
        )
    except DatasetImportError as error:
        message = str(error)
        raise PairsError(message[:1].upper() + message[1:]) from None
    return PairsResult(
        dataset=stored.dataset,
        created=stored.created,
        n_pairs=len(pairs),
        n_added=stored.items_created,
        n_without_generation=n_without_generation,
        n_without_baseline=n_without_baseline,
        n_identical=sum(pair.texts[0] == pair.texts[1] for pair in pairs),
    )


Samples = Mapping[int, str]
"""Texts by the sample's number."""


def _generated(dataset: Dataset, contestants: Sequence[Judge]) -> dict[int, dict[int, dict[int, str]]]:
    """Finished generations: contestant to instruction to sample to text; one query."""
    found: dict[int, dict[int, dict[int, str]]] = {judge.pk: defaultdict(dict) for judge in contestants}
    rows = Generation.objects.filter(
        instruction__dataset=dataset, contestant__in=list(found), status=ParseStatus.PARSED
    ).values_list("contestant_id", "instruction_id", "sample", "text")
    for contestant, instruction, sample, text in rows.iterator(chunk_size=2000):
        found[contestant][instruction][sample] = text
    return found


def _baseline_texts(
    baseline: Baseline, source: Dataset, facts: Sequence[InstructionFacts]
) -> Mapping[int, Samples]:
    if baseline.contestant is not None:
        return _generated(source, [baseline.contestant])[baseline.contestant.pk]
    if baseline.system:
        return {
            instruction: {0: text}
            for instruction, text in system_responses(source.pk, baseline.system).items()
        }
    return {fact.instruction_id: {0: fact.reference} for fact in facts if fact.reference.strip()}


def _pair(
    fact: InstructionFacts,
    contestant: Judge,
    sample: int,
    text: str,
    baseline: Baseline,
    other: str,
    seed: int,
) -> GeneratedPair:
    tail = f":{contestant.fingerprint[:8]}:{sample}"
    head = fact.external_id if len(fact.external_id) + len(tail) <= MAX_ID else content_key(fact.external_id)
    external_id = f"{head}{tail}"
    systems, texts = (contestant.name, baseline.name), (text, other)
    if seeded_hash(seed, external_id, "pair")[0] & 1:
        systems, texts = systems[::-1], texts[::-1]
    return GeneratedPair(
        fact.instruction_id,
        external_id,
        systems,
        texts,
        {"contestant": contestant.name, "sample": sample, "baseline": baseline.name},
    )


def _made_of(
    source: Dataset, contestants: Sequence[Judge], baseline: Baseline, *, all_samples: bool, seed: int
) -> str:
    who = content_key(*sorted(judge.fingerprint for judge in contestants))
    samples = "all samples" if all_samples else "first samples"
    return f"pairs of {source.name}, {samples} of {who} beside {baseline.identity}, seed {seed}"


def _description(source: Dataset, contestants: Sequence[Judge], baseline: Baseline) -> str:
    names = ", ".join(judge.name for judge in contestants)
    text = f"Pairs over the instructions of {source.name}: {names} beside {baseline.name}, in an order drawn at random."
    if baseline.reference:
        text += " One of the two responses is the human-written reference itself, so judges that read the reference "
        "see it twice."
    return text


def _why_none(source: Dataset, baseline: Baseline, n_without_generation: int, n_wanted: int) -> str:
    if n_without_generation == n_wanted:
        return (
            f"None of the contestants has answered an instruction of '{source}'. Run them on it in a sweep."
        )
    return f"No answered instruction of '{source}' has a response of the baseline ({baseline.name})."
