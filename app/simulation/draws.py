"""Random draws by name: a draw depends on the seed and its purpose, and never on when it is made.

Therefore, a rater who is stopped and restarted answers as if nothing had happened, on any machine and with any number
of workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from statistics import NormalDist

_STANDARD = NormalDist()
_STEPS = 2.0**64
Key = str | int


@dataclass(frozen=True, slots=True)
class SeededRandom:
    """Random values for one seed; the same key always gives the same value."""

    seed: int

    def uniform(self, *key: Key) -> float:
        """Draw a number between 0 and 1, both excluded.

        >>> drawn = SeededRandom(1)
        >>> drawn.uniform("a", 2) == SeededRandom(1).uniform("a", 2), drawn.uniform("a") == SeededRandom(2).uniform("a")
        (True, False)
        """
        name = "\x1f".join(map(str, (self.seed, *key)))
        drawn = int.from_bytes(blake2b(name.encode(), digest_size=8).digest())
        return (drawn + 0.5) / _STEPS if drawn < 2**64 - 2**11 else 1.0 - 2.0**-53

    def normal(self, *key: Key) -> float:
        """Draw from the standard normal distribution."""
        return _STANDARD.inv_cdf(self.uniform(*key))

    def whole_number_below(self, n: int, *key: Key) -> int:
        """Draw a whole number from 0 to n − 1, all with the same probability."""
        return int(self.uniform(*key) * n)

    def happens(self, probability: float, *key: Key) -> bool:
        """Draw whether an event of this probability happens."""
        return self.uniform(*key) < probability
