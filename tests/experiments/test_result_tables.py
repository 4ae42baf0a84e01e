import numpy as np
import pandas as pd
import pytest
from experiments.runner.tables import against, by_data_set, markdown, n_splits, summary


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"data_set": name, "split": split, "method": method, "nll": level + gap, "seconds": 1.0}
        for name, level in zip("abcdefgh", rng.uniform(0.3, 1.0, 8), strict=True)
        for split in (0, 1)
        for method, gap in (("good", 0.0), ("bad", 0.1))
    )


def test_means_are_over_splits(frame):
    frame.loc[(frame.data_set == "a") & (frame.method == "good"), "nll"] = [0.2, 0.4]
    assert by_data_set(frame, "nll", ["good", "bad"]).loc["a", "good"] == pytest.approx(0.3)


def test_a_split_without_every_method_counts_for_none(frame):
    partial = frame[~((frame.data_set == "a") & (frame.split == 1) & (frame.method == "bad"))]
    assert n_splits(partial, ["good", "bad"])["a"] == 1
    first = frame[(frame.data_set == "a") & (frame.split == 0) & (frame.method == "good")]
    assert by_data_set(partial, "nll", ["good", "bad"]).loc["a", "good"] == first["nll"].item()


def test_the_better_method_has_the_better_rank_and_a_small_p_value(frame):
    table = summary(frame, {"nll": "less"}, ["good", "bad"])
    assert table["rank (nll)"].tolist() == ["1.00", "2.00"]
    row = against(frame, "nll", "good", ["bad"]).loc["bad"]
    assert row["better on"] == "8 of 8"
    assert float(row["p (one-sided Wilcoxon)"]) == pytest.approx(2**-8, rel=0.05)


def test_markdown_has_one_line_per_row():
    table = pd.DataFrame({"x": [1.23456, np.nan]}, index=pd.Index(["a", "b"], name="name"))
    expected = "| name | x |\n| --- | --- |\n| a | 1.235 |\n| b |  |"
    assert markdown(table) == expected
