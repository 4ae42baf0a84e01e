"""An algorithm whose verbs go wrong; in a file of its own, as worker processes import it."""

import os
from dataclasses import dataclass, replace

import numpy as np

from nearbayes.core.protocols import ChunkAlgorithm, DrawsFailedError

FAULTY = {1, 6}  # draws that go wrong, in chunks of one, four or all


@dataclass(frozen=True)
class Faulty(ChunkAlgorithm):
    """A real algorithm whose verbs go wrong, in some way, for some draws at their second refit."""

    chunks: ChunkAlgorithm
    fault: str
    parent: int

    @property
    def traits(self):
        return self.chunks.traits

    def prepare(self, data, rng):
        chunks, prepared = self.chunks.prepare(data, rng)
        return replace(self, chunks=chunks), prepared

    def fit(self, data, streams):
        return self.chunks.fit(data, streams)

    def sample(self, models, x, streams):
        y, bad = self.chunks.sample(models, x, streams), self.bad(streams)
        if self.fault == "nan" and bad:
            y = [np.array(each, dtype=float) for each in y]
            for place in bad:
                y[place][:] = np.nan
            return np.stack(y)
        return y

    def refit(self, data, new, models, streams):
        bad = self.bad(streams)
        if bad and self.fault == "error":
            raise ArithmeticError("somewhere in this chunk")
        if bad and self.fault == "named":
            raise DrawsFailedError({place: ArithmeticError("named") for place in bad})
        if bad and self.fault == "killed" and os.getpid() != self.parent:
            os._exit(1)
        return self.chunks.refit(data, new, models, streams)

    def bad(self, streams):
        second = streams._step == 2
        return [k for k, number in enumerate(streams.draws) if second and number in FAULTY]

    def finish(self, models):
        return self.chunks.finish(models)

    def predict(self, models, x):
        return self.chunks.predict(models, x)
