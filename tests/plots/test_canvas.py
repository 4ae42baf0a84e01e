import builtins
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

import nearbayes as nb
from nearbayes.draws.functional import Functional
from nearbayes.plots.canvas import MOST_COLOURS, colours


def test_nearbayes_does_not_import_matplotlib():
    code = "import sys, nearbayes.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_missing_matplotlib_is_named_with_its_install_command(monkeypatch):
    plain_import = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"pip install 'nearbayes\[plot\]'"):
        nb.plots.posterior(Functional(np.arange(5.0)))


def test_several_axes_are_refused():
    axes = plt.subplots(1, 2)[1]
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes, got ndarray"):
        nb.plots.posterior(Functional(np.arange(5.0)), ax=axes)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_colours_stand_out_from_the_paper(style):
    def luminance(colour):
        rgb = np.array(to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    with plt.style.context(style):
        axes = plt.figure().add_subplot()
        paper = luminance(axes.get_facecolor())
        used = [luminance(colour) for colour in colours(axes)]
    assert len(used) == MOST_COLOURS
    # W3C's contrast ratio for graphics
    ratios = [(max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) for ink in used]
    assert min(ratios) > 2.9


def test_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *a, **k: pytest.fail("a picture was shown"))
    nb.plots.posterior(Functional(np.arange(5.0)))
