"""Inference with documents, or documents and raters, as sampled units: standard errors and degrees of freedom.

Intervals, tests, rank sets, the gate, minimum detectable differences and planning all use them.
"""
