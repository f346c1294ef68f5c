"""A request: study designs, document counts, and how studies are drawn and tested."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, Self

from app.design.design_choices import Grouping
from app.domain.errors import Invalid, Place
from app.stats.normalize import Method

Pairs = Literal["same_documents", "all"]
Signs = Literal["study", "document_set"]

STUDIES, STUDIES_PER_SET, PERMUTATIONS, ALPHA = 250, 50, 500, 0.05
MOST_STUDIES, MOST_PERMUTATIONS, MOST_DESIGNS, MOST_COUNTS = 10_000, 100_000, 64, 200
MOST_VERDICTS = 20_000_000
"""Limit on studies of a point × pairs of systems: what is held of a point at once."""
FEW_DOCUMENTS = 60
ENTROPIES: Final = (0.55, 0.7, 0.85)
METHODS: Final[tuple[Method, ...]] = ("none", "mean", "error", "z")
GROUPINGS: Final[tuple[Grouping, ...]] = ("psxs", "system_balanced", "none")


@dataclass(frozen=True, slots=True)
class RaterAssignmentScheme:
    """Who rates what in a study.

    entropy: of the work over raters, None for as even as possible. ratings: per item.
    """

    grouping: Grouping = "psxs"
    entropy: float | None = None
    ratings: int = 1


@dataclass(frozen=True, slots=True)
class StudyDesign:
    """A way to run a study: an assignment, and the normalization of its ratings."""

    assignment: RaterAssignmentScheme = RaterAssignmentScheme()
    normalize: Method = "none"


@dataclass(frozen=True, slots=True)
class StabilityRequest:
    """Curves over document counts for several designs; the defaults are the paper's.

    documents: numbers of documents per study, over all buckets; None for steps of 20 up to all available, of 5 below
    60. studies: per point. per_set: studies per draw of documents; 1 draws new documents for every study. pairs: which
    studies are compared, those of the same documents or all. signs: whether every study draws its own signs for the
    permutation test, or all studies of a document set share them. lenient: designs that do not fit the data are left
    out with the reason, instead of refused. open_counts: the document counts were left open (set by `resolve`): counts
    that are impossible for a design are left out with the reason, and a design is refused only if all of them are.

    Sources: Riley et al. 2024, §5, §6.1.4, §7.4 and appendix 10.3.
    """

    designs: tuple[StudyDesign, ...]
    documents: tuple[int, ...] | None = None
    studies: int = STUDIES
    per_set: int = STUDIES_PER_SET
    pairs: Pairs = "same_documents"
    permutations: int = PERMUTATIONS
    alpha: float = ALPHA
    two_sided: bool = True
    plus_one: bool = True
    signs: Signs = "study"
    seed: int = 0
    lenient: bool = False
    open_counts: bool = False

    def resolve(self, available: int, systems: int) -> Self:
        """Return the request with document counts and set sizes as they will be used.

        available : number of multiply-rated documents. systems : number of systems rated on them. Raises Invalid for
        what cannot be simulated.
        """
        counts = (
            choose_default_document_counts(available) if self.documents is None else tuple(sorted(set(self.documents)))
        )
        per_set = min(self.per_set, self.studies)
        _check(not self.designs, "designs", "name at least one design")
        _check(len(self.designs) > MOST_DESIGNS, "designs", f"at most {MOST_DESIGNS} designs at a time")
        _check(not counts, "documents", "name at least one number of documents")
        _check(len(counts) > MOST_COUNTS, "documents", f"at most {MOST_COUNTS} numbers of documents at a time")
        for count in counts:
            _check(not 1 <= count <= available, "documents", f"{count} is not between 1 and {available} multiply rated")
        _check(not 2 <= self.studies <= MOST_STUDIES, "studies", f"must be from 2 to {MOST_STUDIES}")
        fitting = MOST_VERDICTS // max(1, systems * (systems - 1) // 2)
        _check(self.studies > fitting, "studies", f"at most {fitting} with {systems} systems")
        _check(not 1 <= self.permutations <= MOST_PERMUTATIONS, "permutations", f"must be 1 to {MOST_PERMUTATIONS}")
        _check(not 0 < self.alpha < 1, "alpha", "must be between 0 and 1")
        if self.pairs == "same_documents":
            what = "must be 2 or more where only studies of the same documents are compared; else ask for pairs: all"
            _check(per_set < 2, "studies_per_document_set", what)
            _check(self.studies % per_set != 0, "studies", f"must be a multiple of {per_set}, the studies of a set")
        designs = tuple(dict.fromkeys(self.designs))
        left_open = self.open_counts or self.documents is None
        return replace(self, designs=designs, documents=counts, per_set=max(1, per_set), open_counts=left_open)

    @property
    def document_counts(self) -> tuple[int, ...]:
        """The document counts of a resolved request."""
        if self.documents is None:
            raise ValueError("resolve the request first")
        return self.documents

    @property
    def n_document_sets(self) -> int:
        """Number of document sets of a point."""
        return -(-self.studies // self.per_set)

    def normalizations_by_assignment(self) -> dict[RaterAssignmentScheme, tuple[Method, ...]]:
        """Return each assignment with its normalizations: designs that differ only in those are simulated once."""
        by_assignment: dict[RaterAssignmentScheme, tuple[Method, ...]] = {}
        for design in self.designs:
            by_assignment[design.assignment] = (*by_assignment.get(design.assignment, ()), design.normalize)
        return by_assignment


def _check(wrong: bool, field: str, message: str) -> None:
    if wrong:
        what = "the stability request does not fit"
        raise Invalid(what, places=(Place(("body", field), message),))


def choose_default_document_counts(available: int) -> tuple[int, ...]:
    """Steps of 20 up to all available documents, of 5 below 60; all of them if there are fewer than 5.

    There are no more counts than a request may have: studies of more than 4,000 documents must be requested explicitly.

    >>> choose_default_document_counts(181)[-1], choose_default_document_counts(30), choose_default_document_counts(3)
    (180, (5, 10, 15, 20, 25, 30), (3,))
    >>> choose_default_document_counts(20_000)[-1]
    4000
    """
    step = 20 if available >= FEW_DOCUMENTS else 5
    available = min(available, step * MOST_COUNTS)
    return tuple(range(step, available + 1, step)) or (available,)


def make_riley_2024_designs() -> tuple[StudyDesign, ...]:
    """Return the 36 designs of Figures 3–8 of Riley et al. 2024 as one set of curves.

    Every grouping with even work, and the entropies .55, .7 and .85 with and without grouping; each under every
    normalization of the paper.
    """
    even = [RaterAssignmentScheme(grouping) for grouping in GROUPINGS]
    uneven = [RaterAssignmentScheme(grouping, entropy) for grouping in ("psxs", "none") for entropy in ENTROPIES]
    return tuple(StudyDesign(assignment, method) for assignment in (*even, *uneven) for method in METHODS)
