"""Runs: the results are the command's, and Python stays responsive."""

import gzip
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

import goodqueue

# Each as arguments of Python, and as words of the command.
RUNS = [
    (
        dict(
            rate="20mbit", rtt="20ms", queues=["pfifo:1000", "fq_codel", "cake"], seeds=range(2), length="4s"
        ),
        "rrul --queue=pfifo:1000,fq_codel,cake --rate=20mbit --rtt=20ms --length=4s --seeds=0,1",
    ),
    (
        dict(
            test="tcp_nup",
            queues="codel target=10ms",
            flows=3,
            cc="reno",
            ecn=True,
            loss=0.001,
            length="3s",
            seed=7,
        ),
        "tcp_nup --queue=codel,target=10ms --loss=0.001 --ecn --length=3s --flows=3 --cc=reno --seed=7",
    ),
    (
        dict(
            test="tcp_1down",
            line="dsl-50-10",
            shape="90%",
            with_=["voip", "web"],
            length="4s",
            title="x",
            note="y z",
        ),
        "tcp_1down --line=dsl-50-10 --shape=90% --length=4s --with=voip,web --title=x '--note=y z'",
    ),
    (
        dict(test="rrul_be_nflows", flows="1,3", queues=["fq_codel"], length="3s"),
        "rrul_be_nflows --queue=fq_codel --length=3s --flows=1,3",
    ),
    (
        dict(test="tcp_1up", transport="quic", queues=["fq_codel"], length="3s"),
        "tcp_1up --queue=fq_codel --length=3s --transport=quic",
    ),
]


#: The time of the start, as files and their names write it.
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:?\d\d(:?\d\d)?(\.\d+)?Z?")


def files(folder):
    """All files of a folder by name, without the time of the start."""
    found = {}
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix in (".gz", ".gqz") else data
            if path.suffix not in (".png", ".parquet"):
                data = TIME.sub("TIME", data.decode())
            found[TIME.sub("TIME", str(path.relative_to(folder)))] = data
    return found


def without_clock(text):
    """A file of flent's, whose points have the time of day."""
    file = json.loads(text)
    del file["x_values"], file["metadata"]["X_GOODQUEUE"]["load_start"]
    file["raw_values"] = {
        name: [{key: value for key, value in point.items() if key != "t"} for point in points]
        for name, points in file["raw_values"].items()
    }
    return file


@pytest.mark.parametrize(("arguments", "words"), RUNS)
def test_every_file_equals_the_commands_to_the_byte(command, tmp_path, arguments, words):
    goodqueue.run(**arguments).save(tmp_path / "python")
    typed = ["sh", "-c", f"'{command}' run {words} -o '{tmp_path}/command'"]
    subprocess.run(typed, check=True, capture_output=True)
    python, other = files(tmp_path / "python"), files(tmp_path / "command")
    assert python.keys() == other.keys()
    assert len(python) > 12
    for name in python:
        if name.endswith(".flent.gz"):
            assert without_clock(python[name]) == without_clock(other[name]), name
        else:
            assert python[name] == other[name], name


def test_an_experiment_file_equals_the_commands(command, tmp_path, root):
    file = root / "scenarios" / "wifi-anomaly.toml"
    words = ["--length=2s", "--seeds=1", "--set=variant.FIFO.wifi.queue=pfifo:100"]
    subprocess.run(
        [command, "run", file, *words, "-o", tmp_path / "a.parquet", "--quiet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    ours = goodqueue.run(file, length="2s", seeds=1, set={"variant.FIFO.wifi.queue": "pfifo:100"})
    ours.save(tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    table = goodqueue.Experiment.read(file).set("test.length", "2s").set("repetitions", 1)
    table.set("variant.FIFO.wifi.queue", "pfifo:100").run().save(tmp_path / "c.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "c.parquet").read_bytes()


def test_the_arguments_are_those_of_the_command():
    import inspect

    from goodqueue import _goodqueue, _words

    typed = {_words.RENAMED.get(name, name) for name in inspect.signature(goodqueue.run).parameters}
    known = {name for name, _, _ in _goodqueue.keys()}
    # The simulator is the default.
    assert known - typed == {"sim"}
    assert typed - known == {"title", "note", "threads", "progress"}
    for name in inspect.signature(goodqueue.run).parameters:
        assert (
            f"{name}:" in goodqueue.run.__doc__
            or f"{name}," in goodqueue.run.__doc__
            or f", {name}" in goodqueue.run.__doc__
        ), name


def test_threads_and_repetition_change_nothing():
    one, two = (
        goodqueue.run("rrul", queues=["codel", "fq_codel"], seeds=2, length="2s", threads=threads)
        for threads in (1, 2)
    )
    assert one.series.to_pydict() == two.series.to_pydict()


def test_other_threads_run_while_it_simulates():
    turns, stop = 0, threading.Event()

    def count():
        nonlocal turns
        while not stop.wait(0.002):
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    goodqueue.run("rrul", queues=["fq_codel", "cake"], rate="200mbit", length="20s")
    lasted = time.monotonic() - began
    stop.set()
    thread.join()
    assert lasted > 0.1
    assert turns > lasted / 0.002 / 10, f"{turns} turns in {lasted} s"


def test_two_runs_at_once():
    results = [None, None]

    def work(at):
        results[at] = goodqueue.run("tcp_1up", queues=["codel"], length="3s").series.to_pydict()

    threads = [threading.Thread(target=work, args=(at,)) for at in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] is not None
    assert results[0] == results[1]


SPIN = """
class Spin:
    def enqueue(self, now, packet):
        while True:
            pass

    def dequeue(self, now):
        return None
"""


@pytest.mark.parametrize("what", ['"rrul", rate="1gbit", length="3000s"', '"rrul", queues=[Spin]'])
def test_ctrl_c_ends_a_run(what):
    program = (
        f"import goodqueue\n{SPIN}print('begun', flush=True)\ngoodqueue.run({what})\nprint('not reached')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in err and "not reached" not in out, err
    assert process.returncode in (1, -signal.SIGINT, 130)


def test_progress_rises_to_one_and_may_end_the_run():
    seen = []
    goodqueue.run("rrul", length="60s", progress=seen.append)
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] == 1

    with pytest.raises(ZeroDivisionError):
        goodqueue.run("rrul", length="600s", progress=lambda share: 1 / 0)


def test_help_teaches():
    for thing, words in [
        (goodqueue, ["goodqueue.run(", "Queue", "nanoseconds"]),
        (goodqueue.run, ["20mbit", "bits per second", "Ctrl-C", "0 to 1", "payload in bytes"]),
        (goodqueue.Queue, ["nanoseconds", "bytes"]),
        (goodqueue.Packet, ["bytes", "DSCP"]),
        (goodqueue.Table, ["without a copy"]),
        (goodqueue.Experiment, ["set(", "never changes"]),
        (goodqueue.Result.summary.func, ["bit/s", "idle median"]),
    ]:
        for word in words:
            assert word in thing.__doc__, f"{thing}: {word}"


def test_every_public_thing_has_a_docstring():
    for name in goodqueue.__all__:
        thing = getattr(goodqueue, name)
        if not isinstance(thing, str):
            assert thing.__doc__, name
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                assert member.startswith("_") or value.__doc__, f"{name}.{member}"
