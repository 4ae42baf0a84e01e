"""Make docs/report.png, the README's picture of the report that ``make demo`` writes.

Run: ``make demo``, then ``.venv/bin/python docs/screenshot.py`` (needs the system's chromium).
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import sync_playwright

REPORT, PICTURE = Path("nearbayes_demo.html"), Path(__file__).parent / "report.png"


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1180, "height": 760})
        page.goto(REPORT.resolve().as_uri())
        page.wait_for_selector("#table tbody tr")
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
