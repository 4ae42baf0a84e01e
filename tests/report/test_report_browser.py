"""The page in a browser: controls, numbers, keyboard, phone, dark, print, no script, no network.

NEARBAYES_SCREENSHOTS=folder keeps the screenshots.
"""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from report_cases import CASES, HOSTILE, contents_of, hostile_contents, large_contents

from nearbayes import report
from nearbayes.report.rounding import likely

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens contents as a page; fails if the page asked for anything or complained."""
    pages, complaints, asked = [], [], []

    def open_page(contents, width=1280, closed=False, **settings):
        path = report.write(contents, tmp_path / f"{len(pages)}.html")
        context = chromium.new_context(viewport={"width": width, "height": 900}, **settings)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        pages.append((page, path.as_uri()))
        if closed is False:
            page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
            page.wait_for_function("document.querySelector('#uncertainty-chart svg')")
        return page

    yield open_page
    allowed = {address for _, address in pages} | {"data:,"}
    for page, _ in pages:
        page.context.close()
    assert complaints == []
    assert {url.partition("#")[0] for url in asked} <= allowed


def cells(page, key):
    """Texts of one column of the table of predictions."""
    return page.evaluate(
        """key => {
            const heads = [...document.querySelectorAll("#table thead th")];
            const place = heads.findIndex(head => head.dataset.key === key);
            const rows = [...document.querySelectorAll("#table tbody tr")];
            return rows.map(row => row.cells[place].innerText);
        }""",
        key,
    )


def numbers(texts):
    return [[float(word) for word in text.split() if word != "to"] for text in texts]


def shares(values):
    """Probabilities as the table shows them."""
    words = {"less than": "<", "more than": ">"}
    texts = [likely(value) for value in values]
    for long, short in words.items():
        texts = [text.replace(long, short) for text in texts]
    return texts


def choose_coverage(page, name, level):
    page.locator(f'input[name="coverage-{name}"]').nth(level).check(force=True)


def tip(page):
    return page.locator("#tip").inner_text().splitlines()


def test_the_table_shows_the_contents(opened):
    found = contents_of("diabetes")["predictions"]
    page = opened(contents_of("diabetes"))
    assert numbers(cells(page, "mean")) == [[value] for value in found["mean"][:15]]
    for level in range(4):
        choose_coverage(page, "table", level)
        for kind in ("credible", "predictive"):
            bounds = found[kind][level]
            expected = [list(pair) for pair in zip(bounds["lower"], bounds["upper"], strict=True)]
            assert numbers(cells(page, kind)) == expected[:15]


def test_sorting_searching_and_turning_pages(opened):
    found = contents_of("diabetes")["predictions"]
    page = opened(contents_of("diabetes"))
    head = page.locator('#table th[data-key="mean"]')
    assert head.get_attribute("aria-sort") == "none"
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert numbers(cells(page, "mean")) == [[v] for v in sorted(found["mean"])[:15]]
    page.keyboard.press("Enter")  # the focus stays on the header
    assert head.get_attribute("aria-sort") == "descending"
    assert numbers(cells(page, "mean")) == [[v] for v in sorted(found["mean"])[:-16:-1]]
    page.locator("#table-next").click()
    assert page.locator("#table-where").inner_text() == f"16–30 of {found['rows']}"
    page.locator("#table-last").click()
    assert page.locator("#table-next").is_disabled()
    page.locator("#table-previous").click()
    page.locator("#table-first").click()
    assert page.locator("#table-first").is_disabled()
    page.locator("#table-search").fill(str(found["row"][40]))
    assert str(found["row"][40]) in cells(page, "row")
    page.locator("#table-search").fill("nobody has this name")
    assert page.locator("#table-where").inner_text() == "No row matches"


def test_several_classes_can_be_chosen(opened):
    contents = contents_of("flowers")
    found = contents["predictions"]
    page = opened(contents)
    likeliest = [found["views"][code]["mean"][k] for k, code in enumerate(found["predicted"])]
    assert cells(page, "mean") == shares(likeliest[:15])
    page.locator("#table-view").select_option(label="virginica")
    assert cells(page, "mean") == shares(found["views"][2]["mean"][:15])
    names = [contents["classes"][code] for code in found["predicted"]]
    assert cells(page, "predicted") == names[:15]
    page.locator("#reliability-view").select_option("3")
    group = contents["reliability"]["views"][3]["groups"][0]
    page.locator("#reliability-chart svg").focus()
    page.keyboard.press("ArrowRight")
    assert tip(page)[0] == f"{group['rows']} rows"
    page.locator("#effect-view").select_option("1")
    assert "versicolor" in page.locator("#effects-chart").inner_text()


def test_pictures_tell_their_numbers(opened):
    contents = contents_of("diabetes")
    page = opened(contents)
    choose_coverage(page, "effects", 1)
    assert page.locator('input[name="coverage-table"]').nth(1).is_checked()
    page.locator("#effect-feature").select_option("2")
    feature = contents["effects"]["features"][2]
    page.locator("#effects-chart svg").focus()
    page.keyboard.press("ArrowRight")
    name, mean, band = tip(page)
    assert name == f"{feature['name']} = {feature['at'][0]:g}"
    assert float(mean.split()[-1]) == feature["curves"][0]["mean"][0]
    bounds = feature["curves"][0]["intervals"][1]
    assert band.startswith("80\u00a0% band")
    assert float(band.split()[-1]) == bounds["upper"][0]
    page.locator("#importance-chart svg").focus()
    page.keyboard.press("ArrowDown")
    assert tip(page)[:2] == [
        contents["importance"]["name"][0],
        f"mean {contents['importance']['mean'][0]:g}",
    ]
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_pointing_at_a_picture_shows_the_nearest_mark(opened):
    page = opened(contents_of("diabetes"))
    dots = page.locator("#coverage-chart .dot")
    assert dots.count() == len(contents_of("diabetes")["coverage"]["levels"])
    dots.nth(2).scroll_into_view_if_needed()
    dots.nth(2).hover(force=True)
    assert tip(page)[0] == "50\u00a0% intervals"
    assert page.locator("#uncertainty-chart .point, #uncertainty-chart .miss").count() == 221


@pytest.mark.parametrize("name", CASES)
def test_every_control_does_something(opened, name):
    page = opened(contents_of(name))
    page.locator("#table-search").fill("1")
    page.locator("#table-search").fill("")
    for control in page.locator("#table thead button").all():
        before = cells(page, "row")
        control.click()
        assert control.evaluate("it => it.closest('th').ariaSort") == "ascending"
        assert len(cells(page, "row")) == len(before)
    for control in page.locator(".pager button").all():
        where = page.locator("#table-where").inner_text()
        if control.is_enabled():
            control.click()
            assert page.locator("#table-where").inner_text() != where
    for control in page.locator("select").all():
        for option in control.locator("option").all():
            control.select_option(option.get_attribute("value"))
    for control in page.locator("input[type=radio]").all():
        control.check(force=True)
        assert control.is_checked()
    for control in page.locator("summary").all():
        control.click()
        assert not control.evaluate("it => it.parentElement.open")
        control.click()
        assert control.evaluate("it => it.parentElement.open")
    for control in page.locator(".toc a").all():
        control.click()
        assert page.url.endswith(control.get_attribute("href"))


def test_names_stay_text_in_the_browser(opened):
    page = opened(hostile_contents())
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE[1]
    assert set(cells(page, "predicted")) <= set(hostile_contents()["classes"])
    options = page.locator("#effect-feature option").all_inner_texts()
    assert sorted(options) == sorted(HOSTILE[:2])
    for option in range(2):
        page.locator("#effect-feature").select_option(str(option))
        page.locator("#effects-chart svg").focus()
        page.keyboard.press("ArrowRight")
        assert tip(page)[0].startswith(options[option])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("look", "width", "scheme"),
    [("light", 1280, "light"), ("dark", 1024, "dark"), ("phone", 390, "light")],
)
def test_every_look_fits_its_screen(opened, tmp_path, name, look, width, scheme):
    page = opened(contents_of(name), width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wider = "it => it.scrollWidth > it.clientWidth + 1"
    regions = page.locator(".scroll").all()
    cut = [each.get_attribute("aria-label") for each in regions if each.evaluate(wider)]
    assert cut == [], "tables that do not fit"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == (scheme == "dark")
    folder = Path(os.environ.get("NEARBAYES_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"report_{name}_{look}.png", full_page=True)


def test_contents_stay_beside_the_text(opened):
    page = opened(contents_of("flowers"))
    page.locator("#cautions").scroll_into_view_if_needed()
    box = page.locator(".toc ol").bounding_box()
    assert 0 <= box["y"] < 200
    page.locator('.toc a[href="#drivers"]').click()
    page.locator('.toc a[href="#drivers"][aria-current]').wait_for()


def test_a_link_opens_the_part_it_leads_to(opened):
    page = opened(contents_of("flowers"), closed=True)
    assert not page.locator("#effects").evaluate("it => it.open")
    page.evaluate("location.hash = '#effects'")
    page.locator("#effects-chart svg").wait_for()
    assert page.locator("#effects").evaluate("it => it.open")


def test_print_shows_the_findings_and_open_parts(opened, tmp_path):
    page = opened(contents_of("flowers"), closed=True)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = false)")
    page.emulate_media(media="print")
    for part in (".toc", ".controls", ".pager", "#predictions", "#details-title"):
        assert page.locator(part).first.is_hidden()
    for part in (".findings", "#check-rows", "#doubt svg.rows"):
        assert page.locator(part).is_visible()
    page.locator("#predictions").evaluate("it => it.open = true")
    assert page.locator("#table").is_visible()


def test_text_and_tables_need_no_script(opened):
    contents = contents_of("patients")
    page = opened(contents, java_script_enabled=False, closed=True)
    for finding in contents["findings"]:
        shown = page.locator(f'.findings [data-key="{finding["key"]}"] dd')
        assert shown.inner_text().replace("\xa0", " ") == (
            f"{finding['short']} {finding['long']}".replace("\xa0", " ")
        )
    assert page.locator("#check-rows tbody tr").count() == 10
    marks = contents["doubt"]["picture"]["marks"]
    assert page.locator("#doubt .mark").count() == len(marks)
    assert page.locator("#scores table").first.locator("tbody tr").count() == 3
    assert page.locator(".controls").first.is_hidden()


def test_a_large_report_opens_at_once(opened):
    page = opened(large_contents("regression"))
    page.wait_for_timeout(100)  # the load event has to end before its time is known
    milliseconds = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert 0 < milliseconds < 2_000
    assert page.locator("#table tbody tr").count() == 15
    assert "3,000 of 50,000" in page.locator("#predictions").inner_text()
