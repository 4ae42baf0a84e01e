"""laplace-torch: the last layer of a PyTorch network of the same shape, trained as long."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearbayes as nb
from nearbayes.neural.chunks import Batches

Array = NDArray[np.float64]
LAPLACE = "laplace"
TUNING_STEPS, TUNING_RATE = 100, 0.1


@cache
def installed() -> bool:
    """Whether laplace-torch is there; says so once if it is not."""
    found = find_spec("laplace") is not None and find_spec("torch") is not None
    if not found:
        print(
            f"{LAPLACE} is skipped, as laplace-torch is not installed: pip install laplace-torch.",
            file=sys.stderr,
        )
    return found


def laplace_predictive(X: Array, y: Array, X_test: Array, seed: int) -> tuple[Array, Array]:
    """Mean and standard deviation of y at test rows; y is in standard units.

    Prior precision and noise maximise the marginal likelihood of the last layer, as the library
    advises.
    """
    import torch
    from laplace import Laplace

    torch.manual_seed(seed)
    settings = nb.neural.MLPRegressor(random_state=seed).fit(X, y)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0] = 1.0

    def rows(table: Array) -> Any:
        return torch.tensor((table - centre) / scale, dtype=torch.float32)

    data = torch.utils.data.TensorDataset(rows(X), torch.tensor(y[:, None], dtype=torch.float32))
    size = Batches.of(len(y), settings.batch_size).rows
    loader = torch.utils.data.DataLoader(data, batch_size=size, shuffle=True)
    network = _trained(X.shape[1], settings, loader)
    found = Laplace(network, "regression", subset_of_weights="last_layer", hessian_structure="full")
    found.fit(loader)
    _tune(found)
    mean, variance = found(rows(X_test))
    total = variance.squeeze() + found.sigma_noise.item() ** 2
    return (
        mean.squeeze().detach().numpy().astype(np.float64),
        np.sqrt(total.detach().numpy().astype(np.float64)),
    )


def _trained(n_inputs: int, settings: Any, loader: Any) -> Any:
    """A network with the shape, rate and number of passes of ours."""
    from torch import nn, optim

    widths, layers = (n_inputs, *settings.hidden), []
    for width, after in pairwise(widths):
        layers += [nn.Linear(width, after), nn.SiLU()]
    network = nn.Sequential(*layers, nn.Linear(widths[-1], 1))
    optimiser = optim.AdamW(network.parameters(), settings.learning_rate, weight_decay=0.0)
    for _ in range(settings.n_passes_):
        for x, y in loader:
            optimiser.zero_grad()
            nn.functional.mse_loss(network(x), y).backward()
            optimiser.step()
    return network


def _tune(found: Any) -> None:
    """Prior precision and noise by the marginal likelihood."""
    import torch

    logs = torch.zeros(2, requires_grad=True)
    optimiser = torch.optim.Adam([logs], lr=TUNING_RATE)
    for _ in range(TUNING_STEPS):
        optimiser.zero_grad()
        precision, noise = logs.exp()
        (-found.log_marginal_likelihood(precision.reshape(1), noise.reshape(1))).backward()
        optimiser.step()
