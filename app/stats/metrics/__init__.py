"""Meta-evaluation: how far automatic metrics agree with human scores.

Sources: Thompson, Mathur, Deutsch & Khayrallah 2024 (soft pairwise accuracy); Deutsch, Foster & Freitag 2023 (pairwise
accuracy with ties); Kocmi et al. 2021 (pairwise accuracy).
"""
