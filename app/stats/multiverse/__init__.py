"""All defensible analyses of the same judgments: which claims hold in all of them, and which depend on a choice.

Source: Steegen et al. 2016, *Increasing Transparency Through a Multiverse Analysis*.
"""
