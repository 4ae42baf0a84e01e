"""Checkpoints on an S3-compatible server on loopback: moto's, through obstore."""

import json
import pickle
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

import nearbayes as nb
from nearbayes.execution import lease
from nearbayes.execution.checkpoint import CheckpointWarning, opened
from nearbayes.execution.executor import Done
from nearbayes.execution.stores import InUseError, StoreError, store_of

pytest.importorskip("moto.server")
pytest.importorskip("obstore")

NOBODY = {"host": "elsewhere", "process": 7, "machine": "another", "started": "1", "token": "x"}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


SERVER = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel("ERROR")
running = None
for line in sys.stdin:
    if line == "start\\n":
        running = ThreadedMotoServer("127.0.0.1", int(sys.argv[1]), verbose=False)
        running.start()
    else:
        running.stop()
    print("done", flush=True)
"""


class Server:
    """moto's server in another process; it can go away and come back with what it holds."""

    def __init__(self):
        self.port = free_port()
        command = [sys.executable, "-c", SERVER, str(self.port)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **pipes)

    def tell(self, word):
        """Say "start" or "stop", and wait until it is done."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def ask(self, method, path, data=None):
        address = f"http://127.0.0.1:{self.port}/{path}"
        header = {"Content-Type": "text/plain"}
        with urllib.request.urlopen(urllib.request.Request(address, data, header, method=method)):
            pass


@pytest.fixture(scope="module")
def server():
    found = Server()
    found.tell("start")
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{found.port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        found.ask("PUT", "bucket")
        yield found
    found.process.kill()
    found.process.communicate()


@pytest.fixture
def place(server, request):
    return f"s3://bucket/{re.sub(r'[^a-z_]+', '-', request.node.name)}"


def kept_in(place):
    return opened(place, {"seed": "7"}, "item-{}".format)


MODULE = """
import sys
import numpy as np
import nearbayes as nb

Z = np.random.default_rng(0).normal(size=40)
LOG = sys.argv[2]


def fit(z):
    with open(LOG, "a") as file:
        file.write("fit\\n")
    return float(np.mean(z))


def sample(mean, size, rng):
    return rng.normal(mean, 1.0, size)


def run(place):
    return nb.martingale_posterior(
        nb.algorithm(fit, sample), Z, n_draws=12, schedule=nb.Schedule.optimal(3), random_state=7,
        checkpoint=place, progress=False,
    )
"""
KILLED = """
import os, signal, sys
import program
from nearbayes.execution.stores import ObjectStore
write, left = ObjectStore.write, int(sys.argv[3])
def counted(self, name, data):
    global left
    if name.startswith("chunk-"):
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
    write(self, name, data)
ObjectStore.write = counted
print(list(program.run(sys.argv[1]).models))
"""


@pytest.fixture
def program(tmp_path):
    """Runs the program in a process that is killed after so many chunks."""
    (tmp_path / "program.py").write_text(MODULE)
    (tmp_path / "killed.py").write_text(KILLED)
    log = tmp_path / "log"

    def run(place, after=99, **options):
        command = [sys.executable, str(tmp_path / "killed.py"), place, str(log), str(after)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)

    run.fits = lambda: len(log.read_text().split())
    return run


def test_a_killed_run_goes_on_to_the_same_draws(place, program):
    whole = program(f"{place}-whole").communicate()[0]
    fits = program.fits()
    killed = program(place, after=5)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    again, _ = program(place).communicate()  # at once: the lease of a dead process is taken over
    assert again == whole
    assert program.fits() == 2 * fits + 3  # of the chunk that was not written


def test_one_of_eight_racing_processes_draws_and_the_others_are_refused(place, program):
    running = [program(place, stderr=subprocess.PIPE) for _ in range(8)]
    found = [(each.communicate(), each.returncode) for each in running]
    outputs = {out for (out, _), code in found if code == 0}
    refused = [err for (_, err), code in found if code != 0]
    assert len(outputs) == 1  # one, or more that came one after the other
    assert all("is in use by process" in err for err in refused)
    assert program.fits() == 1 + 12 * 3
    assert program(place).communicate()[0] in outputs


def test_racing_writers_of_one_object_leave_a_whole_one(place, tmp_path):
    script = """
import sys
from nearbayes.execution.stores import store_of
for _ in range(20):
    store_of(sys.argv[1]).write("chunk", bytes([int(sys.argv[2])]) * 200_000)
"""
    command = [sys.executable, "-c", script, place]
    running = [subprocess.Popen([*command, str(k)]) for k in range(8)]
    seen = set()
    while any(each.poll() is None for each in running):
        found = store_of(place).read("chunk")
        if found is not None:
            assert (len(found), len(set(found))) == (200_000, 1)
            seen.add(found[0])
    assert seen


EVENTS = {}  # what happens at which fit; not in the function, which a checkpoint looks at
FITS = []


def eventful_fit(z):
    FITS.append(1)
    EVENTS.get(len(FITS), lambda: None)()
    return float(np.mean(z))


@pytest.mark.parametrize("away", ["at the end", "for a while"])
def test_a_store_that_goes_away_costs_no_draws(server, place, away, monkeypatch):
    monkeypatch.setattr(lease, "RENEWED_EVERY", 0.1)
    FITS.clear()
    EVENTS[10] = lambda: server.tell("stop")
    EVENTS[25] = lambda: away == "for a while" and server.tell("start")
    options = {"n_draws": 10, "schedule": nb.Schedule.optimal(3), "random_state": 0}
    algorithm = nb.algorithm(eventful_fit, lambda mean, size, rng: rng.normal(mean, 1.0, size))
    with pytest.warns(CheckpointWarning, match="cannot be written, and the run continues without"):
        found = nb.martingale_posterior(algorithm, np.arange(20.0), checkpoint=place, **options)
    if away == "at the end":
        server.tell("start")
    assert len(found) == 10
    names = {name for name in store_of(place).names() if name.startswith("chunk")}
    assert len(names) == 10 if away == "for a while" else 0 < len(names) < 10


def test_a_store_that_is_away_is_said_in_one_sentence(place, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    started = time.monotonic()
    with pytest.raises(StoreError, match=r"cannot be used .*: check the address") as said:
        kept_in(place).__enter__()
    assert "\n" not in str(said.value)
    assert time.monotonic() - started < 30


def test_wrong_credentials_and_buckets_are_said(server, place, monkeypatch):
    with pytest.raises(StoreError, match=r"s3://nobody/run cannot be used \(NoSuchBucket\)"):
        kept_in("s3://nobody/run").__enter__()
    server.ask("POST", "moto-api/reset-auth", b"0")  # from now on, keys are looked at
    try:
        with pytest.raises(StoreError, match=r"cannot be used \((InvalidAccessKeyId|AccessDenied)"):
            kept_in(place).__enter__()
    finally:
        server.ask("POST", "moto-api/reset-auth", b"1000000000")


def test_partial_objects_are_made_again(place):
    with kept_in(place) as kept:
        kept.save(0, Done("zero", 1.0))
        kept.save(1, Done("one", 1.0))
    store = store_of(place)
    store.write("item-0", store.read("item-0")[:-2])
    with kept_in(place) as kept:
        with pytest.warns(CheckpointWarning, match="'item-0' of the checkpoint cannot be read"):
            assert set(kept.load([0, 1])) == {1}
        kept.save(0, Done("zero", 1.0))
    with kept_in(place) as kept:
        assert kept.load([0])[0].value == "zero"


def test_another_run_is_refused(place):
    with kept_in(place):
        pass
    with pytest.raises(ValueError, match="seed was 7, is 8"):
        opened(place, {"seed": "8"}, str).__enter__()


def test_a_lease_of_another_machine_is_waited_for_and_taken_over(place, monkeypatch):
    monkeypatch.setattr(lease, "LASTS", 1.5)
    monkeypatch.setattr(lease, "LOOKS_EVERY", 0.1)
    store = store_of(place)
    store.write("lock", pickle.dumps("not ours").replace(b"not", b"{}}"))  # nobody's
    with pytest.warns(UserWarning, match="waiting up to"), kept_in(place):
        assert b"token" in store.read("lock")
    assert store.read("lock") is None


RENEWING = """
import json, sys, time
from nearbayes.execution.stores import store_of
store, k = store_of(sys.argv[1]), 0
while True:
    store.write("lock", json.dumps({**json.loads(sys.argv[2]), "renewals": k}).encode())
    print("renewed", flush=True)
    time.sleep(0.2)
    k += 1
"""


def test_a_lease_that_is_renewed_elsewhere_is_in_use(place, monkeypatch):
    monkeypatch.setattr(lease, "LOOKS_EVERY", 0.05)
    command = [sys.executable, "-c", RENEWING, place, json.dumps(NOBODY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        other.stdout.readline()
        with pytest.warns(UserWarning, match="waiting"), pytest.raises(InUseError, match="process"):
            kept_in(place).__enter__()
        other.kill()


def test_a_holder_renews_its_lease(place, monkeypatch):
    monkeypatch.setattr(lease, "RENEWED_EVERY", 0.05)
    store = store_of(place)
    with kept_in(place):
        first = store.read("lock")
        deadline = time.monotonic() + 20
        while store.read("lock") == first:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(InUseError):
            kept_in(place).__enter__()


def test_states_of_long_chunks_go_there_too(place, monkeypatch):
    from nearbayes.execution import saved_states

    monkeypatch.setattr(saved_states, "SAVED_EVERY", 0.0)
    with kept_in(place) as kept:
        kept.states.of("item-0", []).save("half")
    with kept_in(place) as kept:
        assert kept.states.of("item-0", []).load() == "half"
        kept.save(0, Done("whole", 0.1))
    assert store_of(place).names() == {"item-0", "run.json"}
    store_of(place).clear()
    assert not store_of(place).names()
