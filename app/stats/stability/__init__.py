"""Whether a ranking would hold if the study were run again: simulated studies and Stable Ranking Probability.

Source: Riley et al. 2024, *Finding Replicable Human Evaluations via Stable Ranking Probability*.
"""
