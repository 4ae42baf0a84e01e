"""Fuzzing: mutated files of every kind of model that can be saved, read in another process.

``make fuzz`` runs it: no file may crash the reader, take 10 s or 1 GB. Files that do are kept.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from forging import repacked, unpacked
from fuzzed_models import KINDS, X, made, uncovered
from mutation import container_changed, json_text_changed, mutated
from reading_process import MOST_SECONDS, ReadingProcess

FAST = ("tree", "histogram boosting", "neighbours k-d", "one-hot", "support vectors", "bayes")
FAST += ("xgboost", "lightgbm")


def originals(folder, kinds=KINDS):
    """Saved models by kind."""
    found = {}
    for kind in kinds:
        path = Path(folder) / f"{kind.replace(' ', '_')}.nearbayes"
        made(kind, path)
        found[kind] = unpacked(path)
    return found


def fuzz(models, n_files, seed, seconds=float("inf"), kept_at=None):
    """Read mutated files of all models in turn.

    Returns
    -------
    counts : dict of Counter
        What became of the files, by kind.
    harm : list of (kind, number, Outcome)
        Files that did harm; they are kept in `kept_at`.
    """
    counts, harm, start = defaultdict(Counter), [], time.monotonic()
    others = list(models.values())
    with tempfile.TemporaryDirectory() as folder, ReadingProcess() as process:
        rows, path = Path(folder) / "rows.npy", Path(folder) / "mutated.nearbayes"
        np.save(rows, X)
        for kind, files in models.items():  # programs are compiled here, not on the clock
            outcome = process.read(repacked(path, files), rows, seconds=120.0)
            assert outcome.what == "model", (kind, outcome)
        for number in range(n_files):
            if time.monotonic() - start > seconds:
                break
            kind = list(models)[number % len(models)]
            _write(path, models[kind], np.random.default_rng([seed, number]), others)
            outcome = process.read(path, rows)
            if outcome.what == "hang":  # perhaps the machine was busy: its own time is what counts
                outcome = process.read(path, rows, seconds=6 * MOST_SECONDS)
            counts[kind][outcome.what] += 1
            if not outcome.harmless:
                harm.append((kind, number, outcome))
                if kept_at is not None:
                    shutil.copy(path, Path(kept_at) / f"{outcome.what}-{number}.nearbayes")
    return counts, harm


def _write(path, files, rng, others):
    """Write a mutated file: its members, the text of its manifest, or the zip file's own fields."""
    kind = rng.random()
    if kind < 0.05:
        repacked(path, files)
        path.write_bytes(container_changed(path.read_bytes(), rng))
    elif kind < 0.1:
        repacked(path, files, change=lambda text: json_text_changed(text, rng))
    else:
        repacked(path, mutated(files, rng, others))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    options = parser.parse_args()
    options.keep.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = originals(folder)
    print(f"{len(models)} kinds of model; not in any: {uncovered(models)}", flush=True)
    limits = {"seconds": 60 * options.minutes, "kept_at": options.keep}
    counts, harm = fuzz(models, options.files, options.seed, **limits)
    for kind, found in counts.items():
        print(f"{kind:26s} {json.dumps(dict(found))}")
    total = sum(counts.values(), Counter())
    print(f"{total.total()} files: {dict(total)}")
    for kind, number, outcome in harm:
        print(f"HARM {kind} {number}: {outcome}")
    sys.exit(1 if harm else 0)


if __name__ == "__main__":
    main()
