"""Quality control of raters: evidence from control items, repeats, the panel, pace and habits, and a verdict.

Sources: Graham et al. 2013 and 2016 (control items), Knowles 2021 (raters compared on common items), Licht et al. 2022
(shift to a consensus); docs/quality.md. Nothing here excludes a rater: that takes a recipe or an explicit action.
"""
