"""One verdict on a rater from all rules of the campaign. The worst outcome decides, also on the completion code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.services.campaigns.quality_settings import RaterQualitySettings
from app.stats.quality.report import RaterQuality

Outcome = Literal["pass", "fail", "untested"]
TUTORIAL = "tutorial"
ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class RaterRuleOutcome:
    """The outcome of a rule for a rater. rule: a check of quality control, `tutorial` or `attention`.

    The outcome is `untested` if there was nothing to judge by.
    """

    rule: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class OverallRaterVerdict:
    """`fail` if any rule fails, else `pass`: a rater who cannot be tested is given the benefit of the doubt."""

    rules: tuple[RaterRuleOutcome, ...]

    @property
    def verdict(self) -> Literal["pass", "fail"]:
        """The worst outcome of all rules."""
        return "fail" if any(one.outcome == "fail" for one in self.rules) else "pass"


def decide_overall_rater_verdict(
    asked: RaterQualitySettings,
    quality: RaterQuality | None,
    tutorial_share: float | None,
    attention_share: float | None,
) -> OverallRaterVerdict:
    """Decide the verdict by the rules for completion codes.

    tutorial_share: share of first answers in the tutorial that were right, if any. attention_share: share of the
    rater's attention checks that were passed at the first attempt, if any. quality: None if nothing is known about the
    rater's work, or nothing fails.
    """
    rules = [RaterRuleOutcome(check, _outcome(check, quality)) for check in asked.code_checks]
    shares = ((TUTORIAL, asked.code_tutorial, tutorial_share), (ATTENTION, asked.code_attention, attention_share))
    rules += [RaterRuleOutcome(rule, _reaches(share, least)) for rule, least, share in shares if least is not None]
    return OverallRaterVerdict(tuple(rules))


def _reaches(share: float | None, least: float) -> Outcome:
    return "untested" if share is None else "pass" if share >= least else "fail"


def _outcome(check: str, quality: RaterQuality | None) -> Outcome:
    if quality is None or (check == "controls" and quality.verdict == "not_testable"):
        return "untested"
    return "fail" if check in quality.beyond else "pass"
