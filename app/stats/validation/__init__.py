"""Tests what a recipe promises on a campaign's own design: its error rates and the coverage of its intervals.

Sources: Efron & Tibshirani 1993, ch. 13 (the sample as the population);
docs/reports/validation.md.
"""
