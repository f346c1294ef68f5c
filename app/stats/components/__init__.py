"""Variance components of ratings, rankings adjusted for who rated what, and the gain from a larger study.

`observations` prepares the ratings, `terms` decides which components the design identifies, `likelihood` computes the
REML criterion and its gradient, `fit` finds the optimum, and `generalizability` interprets the result.
"""
