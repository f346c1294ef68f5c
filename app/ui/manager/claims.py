"""What a ranking lets its readers claim, and what it does not, in two sentences."""

from __future__ import annotations

from collections.abc import Sequence

from app.reports.ranking.view import PairLine, RankingView
from app.ui.messages import PageMessages, mark_translatable

MOST_NAMES = 6
"""The most systems that a sentence names; if there are more, it gives their number."""


def describe_ranking_claims(view: RankingView, messages: PageMessages) -> tuple[str, ...]:
    """Return what may be claimed of the best system, and how many pairs differ; empty for fewer than two systems.

    A claim is a pair whose adjusted p-value is significant under the recipe, in the order of the ranking. The best
    system is the first machine translation, because nobody asks which human translation is best. With fewer than two
    machine translations, every system counts.
    """
    tested = [pair for pair in view.pairs if pair.testable and pair.p_value is not None]
    if len(view.systems) < 2:
        return ()
    names = {line.system: line.name or line.system for line in view.systems}
    machines = [line.system for line in view.systems if line.kind != "human"]
    asked = machines if len(machines) > 1 else list(names)
    best = asked[0]
    if not tested:
        return _claims_of_untested(
            names[best], has_test=any(not pair.testable for pair in view.pairs), messages=messages
        )
    beaten = [pair.worse for pair in tested if pair.better == best and pair.significant and pair.worse in asked]
    rest = [key for key in asked[1:] if key not in beaten]
    first = _claims_of_best(best, beaten, rest, names, messages)
    if len(asked) < len(names):
        first = messages.translate(mark_translatable("Human translations aside: {claim}"), claim=first)
    return first, _claims_of_all_pairs(tested, len(view.pairs), messages)


def _claims_of_untested(best: str, *, has_test: bool, messages: PageMessages) -> tuple[str, ...]:
    """Return the claims without tested pairs. has_test: whether the recipe has a test that needs more data."""
    if not has_test:
        reason = mark_translatable("This recipe tests no differences, so you may not claim the order of the systems.")
        return (messages.translate(reason),)
    return (
        messages.translate(
            mark_translatable("{best} ranks first, but you may not claim that it is better than any other system."),
            best=best,
        ),
        messages.translate(mark_translatable("These data are too few to test any pair of systems.")),
    )


def _claims_of_best(
    best: str, beaten: Sequence[str], rest: Sequence[str], names: dict[str, str], messages: PageMessages
) -> str:
    if not rest:
        return messages.translate(
            mark_translatable("You may claim that {best} is better than every other system."), best=names[best]
        )
    if not beaten:
        return messages.translate(
            mark_translatable("{best} ranks first, but you may not claim that it is better than any other system."),
            best=names[best],
        )
    told = ", ".join(names[key] for key in rest[:MOST_NAMES])
    if len(rest) > MOST_NAMES:
        told = messages.translate(mark_translatable("{n} systems"), n=messages.format_whole_number(len(rest)))
    return messages.translate(
        mark_translatable("{best} ranks first. You may claim that it is better than all others except {rest}."),
        best=names[best],
        rest=told,
    )


def _claims_of_all_pairs(tested: Sequence[PairLine], pairs: int, messages: PageMessages) -> str:
    significant = sum(pair.significant for pair in tested)
    if significant == pairs:
        return messages.translate(
            mark_translatable("Every pair of systems differs significantly: you may claim the whole order.")
        )
    return messages.translate(
        mark_translatable("{n} of {all} pairs differ significantly. You may not claim the order within a cluster."),
        n=messages.format_whole_number(significant),
        all=messages.format_whole_number(pairs),
    )
