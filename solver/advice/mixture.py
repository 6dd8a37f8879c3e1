"""What the opponent may hold if its setup comes from one of two sources: a strategy or a list.

The probability of either source is weighted by the evidence it gives, Bayes' rule.  So the mixture
is as exact as the two posteriors of :mod:`solver.advice.posterior` that it is made of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.advice.posterior import Holdings, Remainders

__all__ = ["Mixture", "Posterior", "mix_posteriors", "tile_probs"]


class Mixture(NamedTuple):
    """The posterior over a setup that was drawn slot by slot or else taken from a list.

    Attributes
    ----------
    remainders : Remainders
        What may be left if it was drawn slot by slot.
    holdings : Holdings
        What may be held if it is from the list.
    weights : ndarray of float64, shape (states + holdings,)
        Probability of each, remainders first; they sum to 1.
    """

    remainders: Remainders
    holdings: Holdings
    weights: NDArray[np.float64]


Posterior = Holdings | Remainders | Mixture


def mix_posteriors(
    drawn: Holdings | Remainders, listed: Holdings, share: float
) -> tuple[Posterior, float]:
    """Return the posterior over a setup from one of two sources, and the share of the second.

    Parameters
    ----------
    drawn : Holdings or Remainders
        The posterior if the setup is from the first source, with its evidence.
    listed : Holdings
        The posterior if it is from the second.
    share : float
        Probability, before anything was seen, that it is from the second; below 1.

    Returns
    -------
    posterior : Holdings, Remainders or Mixture
        A list where both are.  Empty if neither source can have led here.
    share : float
        Probability that the setup is from the second source.

    Examples
    --------
    >>> one = Holdings(np.array([[0, 1]]), np.array([[1, 2]]), np.ones(1), 0.2)
    >>> other = one._replace(tiles=np.array([[1, 0]]), evidence=0.6)
    >>> posterior, share = mix_posteriors(one, other, 0.5)
    >>> posterior.weights.round(12).tolist(), round(share, 12)
    ([0.25, 0.75], 0.75)
    """
    first, second = (1.0 - share) * drawn.evidence, share * listed.evidence
    if second == 0.0:
        return drawn, 0.0
    if first == 0.0:
        return listed, 1.0
    share = second / (first + second)
    weights = np.concatenate([(1.0 - share) * drawn.weights, share * listed.weights])
    if isinstance(drawn, Remainders):
        return Mixture(drawn, listed, weights), share
    tiles = np.concatenate([drawn.tiles, listed.tiles])
    chips = np.concatenate([drawn.chips, listed.chips])
    return Holdings(tiles, chips, weights, first + second), share


def tile_probs(posterior: Posterior, slot: int, num_tiles: int) -> NDArray[np.float64]:
    """Return the probability of each tile in ``slot``, the current one; shape (N,)."""
    if isinstance(posterior, Mixture):
        drawn, listed = posterior.remainders.tiles, posterior.holdings.tiles[:, slot]
        tiles = np.concatenate([drawn, listed])
    else:
        is_list = isinstance(posterior, Holdings)
        tiles = posterior.tiles[:, slot] if is_list else posterior.tiles
    return np.bincount(tiles, posterior.weights, num_tiles).astype(np.float64)
