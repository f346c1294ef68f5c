"""One verdict on a rater from all rules of the campaign: the worst decides, and with it the completion code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.services.campaigns.quality_settings import QualitySettings
from app.stats.quality.report import RaterQuality

Outcome = Literal["pass", "fail", "untested"]
TUTORIAL = "tutorial"


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What a rule says of a rater. rule: a check of quality control, or `tutorial`. untested: nothing to judge by."""

    rule: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class OverallVerdict:
    """fail where any rule says so, else pass: whoever cannot be tested is given the benefit of the doubt."""

    rules: tuple[RuleOutcome, ...]

    @property
    def verdict(self) -> Literal["pass", "fail"]:
        """The worst that a rule says."""
        return "fail" if any(one.outcome == "fail" for one in self.rules) else "pass"


def decide_overall_verdict(asked: QualitySettings, quality: RaterQuality | None, right: float | None) -> OverallVerdict:
    """The verdict by the rules for completion codes. right: share of right first answers in the tutorial, if any.

    quality: None where nothing is known of the rater's work, or nothing fails.
    """
    rules = [RuleOutcome(check, _outcome(check, quality)) for check in asked.code_checks]
    if asked.code_tutorial is not None:
        share: Outcome = "untested" if right is None else "pass" if right >= asked.code_tutorial else "fail"
        rules.append(RuleOutcome(TUTORIAL, share))
    return OverallVerdict(tuple(rules))


def _outcome(check: str, quality: RaterQuality | None) -> Outcome:
    if quality is None or (check == "controls" and quality.verdict == "not_testable"):
        return "untested"
    return "fail" if check in quality.beyond else "pass"
