"""Tables that unpack to far more than they are."""

import gzip
import resource
import time

import pytest

from nearbayes.cli.errors import UsageError
from nearbayes.cli.table_files import read_table


def test_a_gzipped_csv_of_zeros_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "zeros.csv.gz"
    line = b"0,0,0,0,0,0,0,0\n" * 65_536
    with gzip.open(path, "wb") as file:
        file.write(b"a,b,c,d,e,f,g,h\n")
        for _ in range(120):
            file.write(line)
    assert path.stat().st_size < 500_000
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(UsageError, match="unpacks to more than 100 MB"):
        read_table(path)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime - before.ru_utime < 2
    assert after.ru_maxrss - before.ru_maxrss < 50_000  # kB


def test_a_gzipped_csv_that_compresses_well_is_read(tmp_path):
    path = tmp_path / "zeros.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n" + b"0,0\n" * 100_000)
    start = time.process_time()
    assert read_table(path).shape == (100_000, 2)
    assert time.process_time() - start < 20
