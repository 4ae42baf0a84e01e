"""A command-line program as the algorithm: nearbayes only needs to fit it and to sample from it.

The program here is awk, which fits a straight line with normal noise. Any program that reads and
writes rows can replace it.
"""

from __future__ import annotations

import subprocess
from typing import Any

import numpy as np

import nearbayes as nb

FIT = """
{ n++; sx += $1; sy += $2; sxx += $1 * $1; sxy += $1 * $2; syy += $2 * $2 }
END {
    slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
    intercept = (sy - slope * sx) / n
    left = syy - intercept * sy - slope * sxy
    printf "%.17g %.17g %.17g", intercept, slope, sqrt(left / (n - 2))
}
"""
SAMPLE = """
BEGIN { srand(seed); pi = atan2(0, -1) }
{
    normal = sqrt(-2 * log(1 - rand())) * cos(2 * pi * rand())
    printf "%.17g\\n", intercept + slope * $1 + sd * normal
}
"""


def fit(x: Any, y: Any) -> tuple[str, ...]:
    """Run the program on rows "x y"; its model is the line it prints."""
    rows = "\n".join(f"{a:.17g} {b:.17g}" for a, b in zip(x[:, 0], y, strict=True))
    return tuple(awk(FIT, rows).split())


def sample(model: tuple[str, ...], x: Any, rng: np.random.Generator) -> Any:
    """Run the program on rows "x"; all its randomness comes from the seed."""
    settings = dict(zip(("intercept", "slope", "sd"), model, strict=True))
    settings["seed"] = str(rng.integers(2**31))
    rows = "\n".join(f"{a:.17g}" for a in x[:, 0])
    return np.array(awk(SAMPLE, rows, settings).split(), dtype=float)


def awk(program: str, rows: str, settings: dict[str, str] | None = None) -> str:
    flags = [part for pair in (settings or {}).items() for part in ("-v", "=".join(pair))]
    done = subprocess.run(
        ["awk", *flags, program], input=rows, capture_output=True, text=True, check=True
    )
    return done.stdout


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 1))
    y = 1 + 2 * X[:, 0] + 0.5 * rng.normal(size=80)
    posterior = nb.martingale_posterior(
        nb.algorithm(fit, sample), (X, y), n_draws=100, random_state=0, n_jobs=2
    )
    slope = posterior.apply(lambda model: float(model[1]))
    low, high = slope.interval(0.9)
    print(posterior.summary())
    print(f"slope {slope.mean:.2f} ± {slope.std:.2f}, 90 % between {low:.2f} and {high:.2f}")


if __name__ == "__main__":
    main()
