"""Common verbal labels for κ; they are always shown with the figure."""

from __future__ import annotations

_WORDS = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


def landis_koch_label(kappa: float) -> str:
    """Return the label of Landis & Koch 1977 for a κ.

    >>> [landis_koch_label(k) for k in (-0.1, 0.0, 0.2, 0.35, 0.81)]
    ['poor', 'slight', 'slight', 'fair', 'almost perfect']
    """
    if kappa < 0:
        return "poor"
    return next((word for bound, word in _WORDS[1:] if kappa <= bound), "almost perfect")
