"""The example scripts run, and say what their readers are told they say."""

import re

import command_line
import numpy as np
import skeleton_algorithm


def test_a_command_line_program_is_an_algorithm(capsys):
    command_line.main()
    slope, spread = map(float, re.search(r"slope (\S+) ± (\S+),", capsys.readouterr().out).groups())
    assert abs(slope - 2) < 4 * spread
    # least squares on 80 uniform inputs: 0.5 / sqrt(80 / 12)
    assert abs(spread / 0.194 - 1) < 0.35


def test_the_command_line_program_fits_the_least_squares_line():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 1)), rng.normal(size=50)
    intercept, slope, _ = map(float, command_line.fit(x, y))
    np.testing.assert_allclose([slope, intercept], np.polyfit(x[:, 0], y, 1), rtol=1e-9)


def test_the_skeleton_runs(capsys):
    skeleton_algorithm.main()
    assert "the truth is 1" in capsys.readouterr().out
