"""Date styles: the usual ways to write a date, found for a whole column."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

__all__ = ["ISO", "compact_dates", "dates_in", "find_date_style", "words_of"]

ISO = ""  # the code of ISO 8601
QUARTERS = "quarters"  # 2021Q3, 2021 Q3, 2021-Q3, Q32021, Q3 2021
QUARTER_FIRST, YEAR_FIRST = r"^[Qq]([1-4])[ -/]?(\d{4})$", r"^(\d{4})[ -/]?[Qq]([1-4])$"
COMPACT = r"(?:1[5-9]|20|21)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
MOSTLY = 0.95  # share of cells that must fit a style
MANY = 2_000  # cells that are looked at to find a style
# A time after the date is not used; weekdays are computed from the date.
TIME = r"[T ,]+\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:[AaPp]\.?[Mm]\.?)?$"
WEEKDAY = r"(?i)^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[., ]+"
TIME_WITH_ZONE = r"\d[Tt ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"
# Of two that can be read either way (05/04/2021), the first is the likelier.
STYLES = {
    "%d.%m.%Y": "day.month.year",
    "%d.%m.%y": "day.month.year",
    "%m/%d/%Y": "month/day/year",
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%y": "month/day/year",
    "%d/%m/%y": "day/month/year",
    "%Y/%m/%d": "year/month/day",
    "%Y.%m.%d": "year.month.day",
    "%d-%m-%Y": "day-month-year",
    "%m-%d-%Y": "month-day-year",
    "%d %b %Y": "day month year",
    "%d %B %Y": "day month year",
    "%d-%b-%Y": "day-month-year",
    "%d-%b-%y": "day-month-year",
    "%b %d %Y": "month day year",
    "%B %d %Y": "month day year",
    "%b %d, %Y": "month day, year",
    "%B %d, %Y": "month day, year",
    "%b-%d-%Y": "month-day-year",
    "%b %Y": "month year",
    "%B %Y": "month year",
    "%Y %b": "year month",
    "%b-%Y": "month-year",
    "%b-%y": "month-year",
    "%m/%Y": "month/year",
    "%Y%m%d": "yearmonthday",
    QUARTERS: "quarters",
}


def dates_in(values: pd.Series, style: str = ISO) -> pd.Series:
    """Cells as dates; NaT where a cell is not a date of this style. Times with a zone become UTC.

    Examples
    --------
    >>> dates_in(pd.Series(["31.01.2021", "1.2.2021 14:30"]), "%d.%m.%Y").dt.day.tolist()
    [31, 1]
    """
    if style != ISO and values.dtype.kind != "M":
        return _in_style(_bare(values), style)
    # parsed apart: pandas gives a date without a zone the zone of the date before it
    has_zone = values.astype(str).str.contains(TIME_WITH_ZONE)
    plain, zoned = (
        pd.to_datetime(values.where(chosen), errors="coerce", format="ISO8601", utc=True)
        for chosen in (~has_zone, has_zone)
    )
    return plain.fillna(zoned).dt.tz_localize(None)


def find_date_style(present: pd.Series) -> str | None:
    """The style that reads most cells of a column; None if it holds no dates.

    Parameters
    ----------
    present : Series
        Cells that are not missing.

    Examples
    --------
    >>> find_date_style(pd.Series(["01/02/2021", "01/31/2021"]))
    '%m/%d/%Y'
    """
    some = present.iloc[:: -(-len(present) // MANY) or 1]
    if dates_in(some).notna().mean() >= MOSTLY:
        return ISO
    fitting = list(_fitting(some))
    if not fitting:
        return None
    best = max(share for _, share, _ in fitting)
    equal = [(style, dates) for style, share, dates in fitting if share == best]
    in_order = [style for style, dates in equal if dates.dropna().is_monotonic_increasing]
    # files are often sorted by date: of two readings, one in order is the likelier
    return in_order[0] if len(in_order) == 1 else equal[0][0]


def words_of(style: str) -> str:
    """The style in words for the user; empty for ISO 8601."""
    return f"read as {STYLES[style]}" if style in STYLES else ""


def _fitting(some: pd.Series) -> Iterator[tuple[str, float, pd.Series]]:
    """Styles that read most cells, with the share that they read and the dates."""
    text = _bare(some)
    if not text.str.contains(r"\d").mean() >= MOSTLY:
        return
    for style in STYLES:
        dates = _in_style(text, style)
        share = float(dates.notna().mean())
        if share >= MOSTLY:
            yield style, share, dates


def compact_dates(present: pd.Series) -> bool:
    """Whether numbers are dates such as 20210131: eight digits each, and all of them possible.

    Examples
    --------
    >>> compact_dates(pd.Series(["20210131", "20211201"])), compact_dates(pd.Series([20219999]))
    (True, False)
    """
    if present.dtype.kind in "fM" or not present.astype(str).str.fullmatch(COMPACT).all():
        return False
    return bool(_in_style(present.astype(str), "%Y%m%d").notna().all())


def _in_style(text: pd.Series, style: str) -> pd.Series:
    """Texts as dates; NaT where one is written in another way."""
    if style == QUARTERS:
        in_order = text.str.replace(QUARTER_FIRST, r"\2Q\1", regex=True)
        parts = in_order.str.extract(YEAR_FIRST).astype(float)
        month = pd.Series(3 * parts[1] - 2, text.index)
        text = (100 * parts[0] + month).map("{:.0f}".format, na_action="ignore")
        style = "%Y%m"
    return pd.to_datetime(text, errors="coerce", format=style)


def _bare(values: pd.Series) -> pd.Series:
    """Dates without times and names of weekdays."""
    text = values.where(values.notna(), "").astype(str).str.strip()
    return text.str.replace(TIME, "", regex=True).str.replace(WEEKDAY, "", regex=True)
