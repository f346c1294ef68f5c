"""Comparison of conditions: how long judging takes, how it changes with practice, how scores are distributed."""
