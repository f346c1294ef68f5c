"""What a recipe promises, tried on a campaign's own design: how often it errs, how often its intervals hold the truth.

Sources: Efron & Tibshirani 1993, ch. 13 (the sample as the population);
docs/reports/validation.md.
"""
