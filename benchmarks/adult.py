"""The command line on the adult data (48,842 rows, XGBoost, 50 draws) within five minutes.

Run: ``.venv/bin/python benchmarks/adult.py`` (about 5 minutes; ``--data-dir`` as in experiments).
Also measures how long the report takes to open, in the system's Chromium through Playwright.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from playwright.sync_api import sync_playwright

BUDGET = 300
FIT = ("--model", "xgboost", "--draws", "50", "--time-budget", f"{BUDGET}s", "--jobs", "2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("../shared/data"))
    adult = pd.read_parquet(parser.parse_args().data_dir / "adult" / "adult.parquet")
    with TemporaryDirectory() as name:
        folder = Path(name)
        adult.drop(columns="split").to_csv(folder / "adult.csv", index=False)
        fitted, seconds = nearbayes("fit", "adult.csv", "--target", "income", *FIT, folder=folder)
        print(f"fit: {seconds:.0f} s of {BUDGET} s ({seconds / BUDGET:.2f}; goal .8 to 1.2)")
        print(f"draws {fitted['draws']}, file {fitted['bytes'] / 1e6:.1f} MB")
        print(f"calibration: {fitted['calibration']}")
        print(f"held out: {fitted['held_out']}")
        written, seconds = nearbayes("report", "model.nearbayes", folder=folder)
        print(f"report: {written['bytes'] / 1e6:.2f} MB (goal < 3), made in {seconds:.0f} s")
        print(f"opens in {opening(folder / 'report.html'):.2f} s (goal < 2)")


def nearbayes(*arguments: str, folder: Path) -> tuple[dict[str, Any], float]:
    """Run the program as a user would; return its result, and the seconds including start-up."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "nearbayes.cli", *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), time.perf_counter() - started


def opening(page: Path) -> float:
    """Seconds until a browser has loaded and drawn the page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        tab = browser.new_page()
        tab.goto(page.resolve().as_uri())
        tab.wait_for_selector("#table tbody tr")
        loaded = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        milliseconds = tab.wait_for_function(f"{loaded} > 0 && {loaded}").json_value()
        browser.close()
    return float(milliseconds) / 1000


if __name__ == "__main__":
    main()
