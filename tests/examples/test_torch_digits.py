"""The example of a convolutional network; its picture is drawn, and says what the example says."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch_digits


def test_draws_disagree_more_about_turned_digits(capsys, tmp_path):
    picture = tmp_path / "digits.png"
    found = torch_digits.main(n_draws=8, n_jobs=1, picture=picture)
    assert found["p"].shape == (8, len(torch_digits.ANGLES), 200, 10)
    assert found["accuracy"][0] > 0.85  # upright
    upright, turned = found["uncertainty"][0], found["uncertainty"][1:]
    # mean difference over 200 digits, in standard errors, at every angle
    gap = turned - upright
    assert (gap.mean(axis=1) > 4 * gap.std(axis=1) / np.sqrt(200)).all()
    assert picture.stat().st_size > 20_000
    assert f"turned by   0 degrees: {found['accuracy'][0]:.0%} right" in capsys.readouterr().out
