"""Inference where documents, raters or both are what is sampled: errors, degrees of freedom, quantiles, flips.

Intervals, tests, rank sets, the gate, smallest detectable differences and planning all take theirs from here.
"""
