import pytest

from nearbayes.execution.progress import followed_by, in_words, show_progress


def run(n_draws, estimate, wanted):
    with show_progress(n_draws, estimate, wanted) as advance:
        for _ in range(n_draws):
            advance()


@pytest.fixture
def terminal(monkeypatch):
    """Rich takes any stream for a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.parametrize("wanted", [None, False])
def test_nothing_is_written_where_nobody_looks(wanted, capsys):
    run(3, 100.0, wanted)
    assert capsys.readouterr() == ("", "")


def test_a_bar_that_is_wanted_is_written_anywhere(capsys):
    run(3, 100.0, True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "draws" in err


def test_a_terminal_shows_the_estimate(terminal, capsys):
    run(3, 100.0, None)
    out, err = capsys.readouterr()
    assert out == ""
    assert "draws (estimated 1 min 40 s)" in err


@pytest.mark.parametrize(("wanted", "estimate"), [(None, 1.0), (False, 100.0)])
def test_a_terminal_shows_no_bar_for_short_work_or_against_the_wish(
    terminal, capsys, wanted, estimate
):
    run(3, estimate, wanted)
    assert capsys.readouterr() == ("", "")


def test_a_bar_counts_draws(terminal, capsys):
    run(4, 0.1, True)
    assert "4/4" in capsys.readouterr().err


def test_errors_pass_through(terminal):
    with pytest.raises(ZeroDivisionError), show_progress(3, 1.0, True):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (10, "10 s"),
        (60, "1 min 0 s"),
        (119.6, "2 min 0 s"),
        (3599, "59 min 59 s"),
        (3599.7, "1 h 0 min"),
        (90_000, "25 h 0 min"),
    ],
)
def test_in_words(seconds, words):
    assert in_words(seconds) == words


def test_the_estimate_counts_what_follows(capsys):
    with followed_by("calibration", 1.5), show_progress(10, 60.0, True) as advance:
        advance(1)
    said = " ".join(capsys.readouterr().err.split())
    assert "draws (estimated 1 min 0 s, with calibration 2 min 30 s)" in said
    assert "left" in said
