"""The stability rows of the speed table: `python -m benchmarks.stability [--only PART …]`.

set: one set of 250 studies × 500 permutations, drawing, assigning and normalizing included, against the smallest
product that the method needs: the signs of each study with its sums by document and system. plain: the same against
plain numpy as a careful researcher writes it. loops: against pure Python that follows the definition; nobody would use
it, so it flatters, but it shows that both find the same. paper: Figures 3–8 of Riley et al. 2024 on a synthetic
campaign of their size. Linear algebra has one thread a process. All but the last are processor time.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from app.design.design_inputs import Codes
from app.reports.kit.processes import make_chunk_executor
from app.reports.kit.report import ReportComputation
from app.reports.stability.report import StudyChunkComputer
from app.stats.stability.chunks import ChunkOutcome, StabilitySimulator
from app.stats.stability.curves import compute_stability_curves
from app.stats.stability.multiply_rated_documents import MultiplyRatedDocuments
from app.stats.stability.request import RaterAssignmentScheme, StabilityRequest, StudyDesign, make_riley_2024_designs
from app.stats.stability.srp import find_better_of_pairs, mark_stable_study_pairs
from app.stats.stability.studies import compute_normalized_document_sums, gather_study_ratings
from app.stats.stability.study_significance import (
    SignificanceRule,
    compute_permutation_p_values,
    find_significant_claims,
    sample_document_signs,
)
from benchmarks import stability_plain
from tests.stats.stability import naive

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
PARTS = ("set", "plain", "loops", "paper")
MOST_TIMES, FEWEST_TIMES = 3, 3
DOCUMENTS, SEGMENTS, SYSTEMS, RATERS, STUDIES, PERMUTATIONS = 181, 1315, 15, 7, 250, 500


def campaign(seed: int = 1) -> MultiplyRatedDocuments:
    """Make a campaign with the size and layout of the paper's English–German: 7 buckets of 3 raters each.

    Errors are counts that depend on system and rater severity; their weights are 1 and 5.
    """
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, SEGMENTS), DOCUMENTS - 1, replace=False))
    document: Codes = np.searchsorted(cuts, np.arange(SEGMENTS), side="right").astype(np.int64)
    bucket: Codes = (np.arange(DOCUMENTS) % RATERS).astype(np.int64)
    pools = tuple(np.sort((np.array([0, 1, 3]) + b) % RATERS).astype(np.int64) for b in range(RATERS))
    severity = rng.uniform(0.6, 1.6, RATERS)[np.stack(pools)][bucket[document]]
    quality = 0.5 + 0.1 * np.arange(SYSTEMS) + rng.gamma(1.0, 0.3, (SEGMENTS, 1))
    errors = rng.poisson(quality[:, :, None] * severity[:, None, :]).astype(np.float64)
    score = errors + 4.0 * rng.binomial(errors.astype(np.int64), 0.3)
    return MultiplyRatedDocuments(
        systems=tuple(f"system{n:02}" for n in range(SYSTEMS)),
        documents=tuple(f"document{n:03}" for n in range(DOCUMENTS)),
        raters=tuple(f"rater{n}" for n in range(RATERS)),
        bucket=bucket,
        pools=pools,
        document=document,
        score=score,
        errors=errors,
        higher_is_better=False,
        left_out=(),
    )


def one_set(data: MultiplyRatedDocuments) -> None:
    """Print seconds of a set and of the product, for each grouping and normalization; fail if the set is too slow."""
    (piece,) = sample_document_signs(np.random.default_rng(1), 1, PERMUTATIONS, DOCUMENTS)
    signs = piece.unpack(0)
    sums = np.random.default_rng(2).normal(size=(STUDIES, DOCUMENTS, SYSTEMS))
    for grouping in ("psxs", "system_balanced", "none"):
        for method in ("none", "mean", "error", "z"):
            simulator = simulated(data, StudyDesign(RaterAssignmentScheme(grouping), method))
            simulator.run_chunk(0)
            ours, bound = [], []
            for _ in range(9):
                ours.append(seconds(lambda: simulator.run_chunk(0)))  # noqa: B023, called at once
                bound.append(seconds(lambda: [signs @ study for study in sums]))
            ratio = median(ours) / median(bound)
            taken = f"{median(ours):.3f} s, product {median(bound):.3f} s"
            print(f"{grouping} {method}: {taken}, ratio {ratio:.2f} (≤ {MOST_TIMES})")
            assert ratio <= MOST_TIMES, "slower than promised"


def simulated(data: MultiplyRatedDocuments, design: StudyDesign) -> StabilitySimulator:
    """Return a simulator for one set of a design on all documents."""
    request = StabilityRequest((design,), documents=(DOCUMENTS,), studies=STUDIES, per_set=STUDIES, seed=1)
    return StabilitySimulator(data, request.resolve(DOCUMENTS, SYSTEMS))


def against_plain(data: MultiplyRatedDocuments) -> None:
    """Print how much faster a set is than plain numpy, and check that both find the same."""
    simulator = simulated(data, StudyDesign())
    simulator.run_chunk(0)
    check_plain(data, simulator)
    ours, plain = [], []
    for seed in range(5):
        ours.append(seconds(lambda: simulator.run_chunk(0)))
        plain.append(seconds(lambda: stability_plain.one_set(data, STUDIES, PERMUTATIONS, seed)))  # noqa: B023, called at once
    times = median(plain) / median(ours)
    print(f"{STUDIES} studies: plain numpy {median(plain):.3f} s, ours {median(ours):.3f} s, {times:.1f} × (≥ 3)")
    assert times >= FEWEST_TIMES, "slower than promised"


def check_plain(data: MultiplyRatedDocuments, simulator: StabilitySimulator, studies: int = 10) -> None:
    """Assert that plain numpy gives the same means and claims for some studies with the same raters and signs."""
    documents = simulator.draw_document_set(DOCUMENTS, 0)
    raters = simulator._raters(simulator.chunks[0], 0, 0, documents, studies)
    (piece,) = sample_document_signs(np.random.default_rng(1), studies, PERMUTATIONS, DOCUMENTS)
    collected = gather_study_ratings(simulator.rater_document_sums, documents, raters)
    sums, rule = compute_normalized_document_sums(collected, "z"), SignificanceRule()
    signed = -sums.transpose(0, 2, 1)[:, None]
    made = find_significant_claims(signed, compute_permutation_p_values(signed, [piece], exact=False, rule=rule), rule)[
        :, 0
    ]
    for number in range(studies):
        means, claimed = stability_plain.study(data, raters[number, :, 0, 0], piece.unpack(number))
        assert np.allclose(means, sums[number].sum(axis=0) / collected.n_segments.sum(), atol=1e-10)
        assert (claimed == made[number]).all()


def against_loops(data: MultiplyRatedDocuments, studies: int = 4) -> None:
    """Check that pure Python finds the same in every study; how much slower it is says little."""
    request = StabilityRequest((StudyDesign(),), documents=(DOCUMENTS,), studies=studies, per_set=studies, seed=1)
    simulator = StabilitySimulator(data, request.resolve(DOCUMENTS, SYSTEMS))
    chunk, documents = simulator.chunks[0], simulator.draw_document_set(DOCUMENTS, 0)
    raters = simulator._raters(chunk, 0, 0, documents, studies)
    (piece,) = sample_document_signs(np.random.default_rng(1), 1, PERMUTATIONS, DOCUMENTS)
    signs = piece.unpack(0)

    def ours() -> tuple[np.ndarray, list[set[tuple[int, int]]], float]:
        found = gather_study_ratings(simulator.rater_document_sums, documents, raters)
        sums = compute_normalized_document_sums(found, "z")
        signed = -sums.transpose(0, 2, 1)[:, None]
        made = find_significant_claims(
            signed,
            compute_permutation_p_values(signed, [piece], exact=False, rule=SignificanceRule()),
            SignificanceRule(),
        )[:, 0]
        means = sums.sum(axis=1) / found.n_segments.sum()
        held = mark_stable_study_pairs(made, find_better_of_pairs(means, -1))
        pairs = list(itertools.combinations(range(SYSTEMS), 2))
        named = [{(a, b) if c > 0 else (b, a) for (a, b), c in zip(pairs, row, strict=True) if c} for row in made]
        return means, named, float((held.sum() - studies) / (studies * (studies - 1)))

    started = time.process_time()
    scores = [naive.study_scores(data, documents.tolist(), study.tolist(), "z") for study in raters]
    slow_means = [naive.system_means(score, SYSTEMS) for score in scores]
    slow = [naive.significant(score, documents.tolist(), SYSTEMS, signs.tolist()) for score in scores]
    slow_srp, theirs = naive.srp(slow_means, slow), time.process_time() - started
    means, named, srp = ours()
    assert np.allclose(means, slow_means, atol=1e-10)
    assert named == slow
    assert srp == slow_srp
    quick = median(seconds(ours) for _ in range(9))
    print(f"{studies} studies: loops {theirs:.2f} s, ours {quick * 1e3:.1f} ms, {theirs / quick:.0f} × (flatters)")


def paper(data: MultiplyRatedDocuments, workers: int) -> None:
    """Print the seconds of Figures 3–8, and the memory of this process and its largest child."""
    request = StabilityRequest(make_riley_2024_designs(), seed=1).resolve(DOCUMENTS, SYSTEMS)
    simulator, started = StabilitySimulator(data, request), time.perf_counter()

    def shown(done: int, total: int) -> None:
        print(f"\r{done} of {total} chunks, {time.perf_counter() - started:.0f} s", end="", file=sys.stderr)

    computed = make_chunk_executor(workers)(
        ReportComputation(len(simulator.chunks), StudyChunkComputer(simulator).compute_chunk, list)
    )
    parts = []
    for part in computed:
        parts.append(ChunkOutcome.from_bytes(part))
        shown(len(parts), len(simulator.chunks))
    curves = compute_stability_curves(simulator, enumerate(parts))
    taken = time.perf_counter() - started
    print(file=sys.stderr)
    points = [point for curve in curves for point in curve.points]
    studies = sum(point.studies for point in points)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    peaks, busy = [one.ru_maxrss / 1024 for one in used], sum(one.ru_utime + one.ru_stime for one in used)
    print(f"{len(curves)} curves, {len(points)} points, {studies:,} studies: {taken:.1f} s on {workers} processes")
    print(
        f"{busy:.1f} s of processor time, {os.getloadavg()[0]:.1f} processes wanting to run on {os.cpu_count()} cores"
    )
    print(f"peak memory: {peaks[0]:.0f} MB here, {peaks[1]:.0f} MB in the largest other process")
    print("; ".join(dict.fromkeys(curve.why for curve in curves if curve.why)))


def seconds(what: Callable[[], object]) -> float:
    """Return the processor time of a call, which other work on the machine affects less than its duration."""
    started = time.process_time()
    what()
    return time.process_time() - started


def main() -> None:
    """Take the requested measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stability", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to measure")
    parser.add_argument("--workers", type=int, default=2, help="processes for the figures of the paper")
    asked = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        # numpy reads the number of threads when it is loaded, so start again with the right number.
        one_each = {**os.environ, **dict.fromkeys(THREADS, "1")}
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.stability", *sys.argv[1:]], one_each)  # noqa: S606, this very module
    data = campaign()
    if "set" in asked.only:
        one_set(data)
    if "plain" in asked.only:
        against_plain(data)
    if "loops" in asked.only:
        against_loops(data)
    if "paper" in asked.only:
        paper(data, asked.workers)


if __name__ == "__main__":
    main()
