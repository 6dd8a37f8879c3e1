"""Confidence intervals of means, without loading SciPy's special functions for them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["mean_interval", "t_quantile"]

_LEVEL = 0.95
_LARGE = 500
"""Degrees of freedom from which the first terms of an expansion serve to nine digits."""


def mean_interval(batches: NDArray[np.float64]) -> tuple[float, float]:
    """Return a 95% confidence interval of the mean from independent numbers (Student's t).

    Examples
    --------
    >>> low, high = mean_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    half = t_quantile(len(batches) - 1) * float(batches.std(ddof=1)) / math.sqrt(len(batches))
    mean = float(batches.mean())
    return mean - half, mean + half


@lru_cache(maxsize=1024)
def t_quantile(freedom: int) -> float:
    """Return the number that Student's t stays below in size with probability .95.

    From the closed form of the distribution for whole degrees of freedom (Abramowitz and Stegun
    26.7.3 and 26.7.4), inverted by bisection; above ``_LARGE`` from Fisher's expansion (26.7.5).

    Examples
    --------
    >>> round(t_quantile(19), 6), round(t_quantile(2), 6)
    (2.093024, 4.302653)
    """
    if freedom > _LARGE:
        x = 1.959963984540054
        first = (x**3 + x) / 4
        second = (5 * x**5 + 16 * x**3 + 3 * x) / 96
        third = (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384
        return x + first / freedom + second / freedom**2 + third / freedom**3
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _share_within(middle, freedom) < _LEVEL:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _share_within(angle: float, freedom: int) -> float:
    """Return how likely Student's t is within ``sqrt(freedom) * tan(angle)`` of 0."""
    cosine = math.cos(angle)
    is_odd = freedom % 2
    term = cosine if is_odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if is_odd else 2, freedom - 1, 2):
        term *= (k - 1) / k * cosine * cosine
        total += term
    if is_odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
