from pathlib import Path

import pandas as pd
import pytest
from experiments.runner.reports import provenance, save_report

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
NAMES = sorted(each.parts[-3] for each in EXPERIMENTS.glob("*/results/report.md"))


def stamped(commit, environment=None, data=None):
    stamp = {"commit": commit, "environment": environment, "settings": "s1", "data": data}
    return stamp if environment else {"commit": commit}


def test_reports_say_what_is_not_known_of_old_records(tmp_path):
    records = [stamped("aaa"), stamped("aaa"), stamped("bbb+"), stamped("ccc", "e1", "d1")]
    save_report(tmp_path, ["# Results"], pd.DataFrame([*records, stamped("ccc", "e1", "d2")]))
    text = (tmp_path / "report.md").read_text()
    assert text.startswith("# Results\n\n## Provenance\n\n| commit |")
    assert "| aaa | not recorded | not recorded | not recorded | 2 |" in text
    assert "| bbb+ | not recorded | not recorded | not recorded | 1 |" in text
    assert "| ccc | e1 | s1 | 2 hashes | 2 |" in text
    assert "again: 1 of 5 records." in text
    assert "were recorded: 3 of 5 records." in text
    assert "`environments.json`" in text


def test_reports_of_old_records_alone_have_no_keys_to_look_up():
    text = provenance(pd.DataFrame([stamped("aaa")]))
    assert "were recorded: 1 of 1 records." in text
    assert "environments.json" not in text


def test_reports_are_committed():
    assert len(NAMES) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_every_committed_report_says_where_it_comes_from(name):
    assert "\n## Provenance\n" in (EXPERIMENTS / name / "results" / "report.md").read_text()
