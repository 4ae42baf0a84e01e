"""What would happen if? Effects, distributions and counterfactuals on a causal graph, with bands.

Run: ``python examples/causal_questions.py``. The data are simulated, so the truth is known: the
dose raises the marker, the marker lowers the outcome, and age does both.
"""

import numpy as np
import pandas as pd

import nearbayes as nb


def made(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Rows from the known truth; older people get higher doses."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n)
    dose = 2 + 0.1 * (age - 50) + rng.normal(size=n)
    marker = np.sqrt(np.maximum(dose, 0)) + 0.02 * age + 0.2 * rng.normal(size=n)
    outcome = 10 - 2 * marker + 0.05 * age + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"age": age, "dose": dose, "marker": marker, "outcome": outcome})


EDGES = [
    *(("age", "dose"), ("age", "marker"), ("age", "outcome")),
    *(("dose", "marker"), ("marker", "outcome")),
]


def main(n_draws: int = 20) -> nb.causal.SCM:
    """Fit a model and ask four questions."""
    frame = made()
    model = nb.causal.SCM(EDGES, n_draws=n_draws, random_state=0, progress=False).fit(frame)
    effect = model.effect("outcome", do={"dose": 3.0}, versus={"dose": 1.0})
    low, high = effect.interval()
    truth = -2 * (np.sqrt(3) - 1)
    print(f"dose 3 instead of 1 changes the outcome by {effect.mean:.2f} [{low:.2f}, {high:.2f}]")
    print(f"the truth is {truth:.2f}; comparing people as they are would say", end=" ")
    rough = frame.groupby(frame["dose"] > 2)["outcome"].mean().diff().iloc[-1]
    print(f"{rough:.2f} between high and low doses")
    old = model.effect("outcome", {"dose": 3.0}, {"dose": 1.0}, given={"age": (60, 90)})
    print(f"among those over 60: {old.mean:.2f}")
    more = model.interventional_mean("outcome", do={"dose": lambda dose: dose + 1})
    print(f"mean outcome if everyone had one unit more: {more.mean:.2f}")
    without = model.counterfactual(frame[:3], do={"dose": 0.0})
    print("the first three people, had they had no dose:", without["outcome"].mean(0).round(2))
    return model


if __name__ == "__main__":
    main()
