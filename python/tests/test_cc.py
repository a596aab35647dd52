"""Congestion controls in Python: they do what the same ones in C do, and what is wrong with one is named."""

import math
import os
import pathlib
import runpy
import subprocess
import sys
import threading

import pytest

import goodqueue

#: Where this package is.
ROOT = pathlib.Path(goodqueue.__file__).parents[1]
LINE = {"rate": "20mbit", "rtt": "20ms", "queues": "pfifo:1000", "length": "3s", "idle": "0.5s"}


#: The congestion control of `goodqueue new cc`: it grows by a segment a round trip, and halves after a loss.
TEMPLATE = pathlib.Path(__file__).resolve().parents[2] / "crates/cli/templates/aimd.py"
Aimd = runpy.run_path(os.fspath(TEMPLATE), run_name="aimd")["Mine"]
Aimd.__name__ = Aimd.__qualname__ = "Aimd"


def test_it_is_in_every_table_and_does_what_the_same_in_c_does(command, tmp_path):
    result = goodqueue.run("rrul_var", flows=2, cc=[Aimd, "cubic"], **LINE)
    assert [flow["cc"] for flow in result.head["test"]["flows"]] == ["Aimd", "cubic"] * 2
    result = goodqueue.run("tcp_1up", cc=Aimd, **LINE)
    assert not result.head.get("command")
    subprocess.run([command, "new", "cc", "aimd"], cwd=tmp_path, check=True)
    subprocess.run(["make", "-s"], cwd=tmp_path / "aimd", check=True)
    compiled = goodqueue.run("tcp_1up", cc=str(tmp_path / "aimd/aimd.so"), **LINE)
    assert compiled.series["value"] == result.series["value"]


def test_a_file_and_a_dict_name_it():
    keys = {"queues": ["codel"], "link": {"rate": "20mbit"}, "test": {"length": "3s"}}
    flow = {"to": "server", "cc": Aimd}
    experiment = goodqueue.Experiment({**keys, "flow": [flow]})
    assert 'cc = "Aimd"' in experiment.toml
    first = experiment.run().summary["goodput_up_bps"][0]
    assert first > 10e6
    other = goodqueue.Experiment({**keys, "flow": [{**flow, "cc": "cubic"}]}).set("flow.1.cc", ("mine", Aimd))
    assert other.run().summary["goodput_up_bps"][0] == first
    with pytest.raises(goodqueue.UsageError, match="no congestion control `Aimd`"):
        goodqueue.Experiment.from_toml(experiment.toml)


def test_the_timer_expires_when_it_said():
    times = []

    class Timed:
        def ack(self, now, ack, window):
            assert window.timer is None or window.timer > now

        def event(self, now, event, window):
            if event == "start":
                window.cwnd, window.pacing_bps = 100, 5e6
                window.timer = self.due = now + 50_000_000
            if event == "timer":
                assert window.timer is None and now == self.due
                times.append(now)
                window.timer = self.due = now + 50_000_000

    result = goodqueue.run("tcp_1up", cc=Timed, **LINE)
    assert len(times) in (58, 59, 60)
    assert 4.7e6 < result.summary["goodput_up_bps"][0] < 5.1e6


class Raises(Aimd):
    def ack(self, now, ack, window):
        if now > 1_000_000_000:
            raise ValueError("no more")
        super().ack(now, ack, window)


def sets(name, value):
    class Sets(Aimd):
        def event(self, now, event, window):
            setattr(window, name, value)

    return Sets


def test_an_exception_ends_the_run_with_its_traceback():
    with pytest.raises(ValueError, match="no more") as raised:
        goodqueue.run("tcp_nup", flows=4, cc=Raises, **LINE)
    assert raised.traceback[-1].name == "ack"
    [note] = raised.value.__notes__
    assert note.startswith("in ack of the congestion control Raises, at 1.0"), note
    # The next run of the same class is another.
    assert goodqueue.run("tcp_1up", cc=("Raises", Aimd), **LINE).summary["goodput_up_bps"][0] > 15e6


@pytest.mark.parametrize(
    ("control", "error", "words"),
    [
        (sets("cwnd", math.nan), TypeError, "cwnd nan: whole segments from 1"),
        (sets("cwnd", 10.5), TypeError, r"cwnd 10.5: whole segments .* int\(0.7"),
        (sets("cwnd", -1), ValueError, "cwnd -1: whole segments from 1"),
        (sets("cwnd", 0), ValueError, "cwnd 0: whole segments"),
        (sets("cwnd", 1 << 40), ValueError, "cwnd 1099511627776: "),
        (sets("cwnd", True), TypeError, "cwnd True: "),
        (sets("cwnd", "10"), TypeError, "cwnd '10': "),
        (sets("pacing_bps", math.nan), ValueError, "pacing_bps nan: bit/s from 1 on"),
        (sets("pacing_bps", math.inf), ValueError, "pacing_bps inf: "),
        (sets("pacing_bps", -5e6), ValueError, "pacing_bps -5000000.0: "),
        (sets("pacing_bps", "5mbit"), TypeError, "pacing_bps '5mbit': "),
        (sets("timer", 1.5), TypeError, "timer 1.5: whole nanoseconds"),
        (sets("timer", -1), ValueError, "timer -1: whole nanoseconds"),
        (sets("srtt", 1), AttributeError, "srtt"),
        (
            type("Returns", (Aimd,), {"ack": lambda *_: 7}),
            goodqueue.UsageError,
            "ack returned 7: it returns nothing",
        ),
        (("needs", lambda: Aimd(1, 2, 3)), TypeError, "positional arguments"),
        (("none", lambda: object()), goodqueue.UsageError, "it has no method ack"),
    ],
)
def test_what_is_wrong_is_named(control, error, words):
    with pytest.raises(error, match=words) as raised:
        goodqueue.run("tcp_1up", cc=control, **LINE)
    assert "of the congestion control " in raised.value.__notes__[0]
    check = goodqueue.check_cc(control)
    assert not check and len(check.violations) == 6 and "broken" in str(check)


@pytest.mark.parametrize(
    ("control", "error", "words"),
    [
        (Aimd(), TypeError, "give its class"),
        (7j, TypeError, "a congestion control is a name"),
        (dict, TypeError, "has the methods ack"),
        (("cubic", Aimd), goodqueue.UsageError, "cc cubic: this is the name of one of ours"),
        ([("one", Aimd), ("one", Raises)], goodqueue.UsageError, "cc one: two have this name"),
        (("a,b", Aimd), goodqueue.UsageError, "begins with a letter"),
        ("cubik", goodqueue.UsageError, "no congestion control `cubik`"),
    ],
)
def test_what_is_none_is_an_error(control, error, words):
    with pytest.raises(error, match=words):
        goodqueue.run("rrul_var", flows=2, cc=control, **LINE)


def test_a_check_agrees_with_the_command(command):
    shown = subprocess.run([command, "check-cc", "reno"], capture_output=True, text=True, check=True)
    check = goodqueue.check_cc("reno")
    assert check and str(check) == shown.stdout.rstrip("\n")
    assert goodqueue.check_cc(Aimd)

    class Shared(Aimd):
        calls = 0

        def ack(self, now, ack, window):
            Shared.calls += 1
            window.cwnd = 20 if Shared.calls > 100 else 10

    assert "behaved differently" in str(goodqueue.check_cc(Shared))

    class Stopped(Aimd):
        def ack(self, now, ack, window):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        goodqueue.check_cc(Stopped)


def test_two_runs_at_a_time_do_not_meet():
    ends = []

    def run(control):
        try:
            ends.append(goodqueue.run("tcp_1up", cc=("same", control), **LINE).summary["goodput_up_bps"][0])
        except ValueError as error:
            ends.append(error)

    threads = [threading.Thread(target=run, args=[control]) for control in (Aimd, Raises, Aimd)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sum(isinstance(end, ValueError) for end in ends) == 1
    first, second = (end for end in ends if not isinstance(end, ValueError))
    assert first == second > 15e6


@pytest.mark.parametrize("like", ["aimd", "vegas", "ledbat"])
def test_the_template_of_the_command_works(command, tmp_path, like):
    words = ["new", "cc", "mine", "--lang", "python", "--like", like]
    subprocess.run([command, *words], cwd=tmp_path, check=True)
    paths = os.pathsep.join([str(ROOT), str(tmp_path / "mine")])
    words = {
        "cwd": tmp_path / "mine",
        "env": {**os.environ, "PYTHONPATH": paths},
        "capture_output": True,
        "text": True,
    }
    shown = subprocess.run([sys.executable, "mine.py"], **words)
    assert shown.returncode == 0, shown.stderr
    assert "  kept    a deep buffer" in shown.stdout and "pfifo:1000" in shown.stdout, shown.stdout
    tested = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], **words)
    assert tested.returncode == 0, tested.stdout
    assert "2 passed" in tested.stdout


@pytest.fixture
def example(command, tmp_path):
    """The class of a template in Python, and the library of the same template in C."""

    def make(like):
        for language in ("python", "c"):
            words = ["new", "cc", f"{like}_{language}", "--lang", language, "--like", like]
            subprocess.run([command, *words], cwd=tmp_path, check=True)
        subprocess.run(["make", "-s"], cwd=tmp_path / f"{like}_c", check=True)
        python = runpy.run_path(str(tmp_path / f"{like}_python" / f"{like}_python.py"))["Mine"]
        return python, str(tmp_path / f"{like}_c" / f"{like}_c.so")

    return make


@pytest.mark.parametrize("like", ["aimd", "vegas", "ledbat"])
def test_an_example_in_python_and_the_same_in_c_decide_the_same(example, like):
    python, compiled = example(like)
    for queue in ("pfifo:1000", "pfifo:20", "fq_codel"):
        line = {**LINE, "queues": queue, "length": "10s"}
        ours, theirs = (goodqueue.run("tcp_1up", cc=cc, **line) for cc in ((f"my_{like}", python), compiled))
        assert ours.series["value"] == theirs.series["value"], queue


def test_vegas_in_python_keeps_two_to_four_packets_in_the_queue(example):
    python, _ = example("vegas")
    result = goodqueue.run("tcp_1up", cc=("my_vegas", python), **LINE)
    # A packet of 1514 bytes takes 0.6056 ms. It counts whole packets, fewer than five, one on the line.
    assert 1 <= result.summary["rise_p50_ms"][0] / 0.6056 < 5


def test_ledbat_in_python_holds_its_target_and_yields_to_cubic(example):
    python, _ = example("ledbat")
    line = {**LINE, "length": "60s"}
    for target in (30, 60):
        alone = goodqueue.run(
            "tcp_1up", cc=("my_ledbat", lambda target=target: python(target * 1_000_000)), **line
        )
        assert alone.summary["rise_p50_ms"][0] == pytest.approx(target, abs=2)
        assert alone.summary["goodput_up_bps"][0] > 18e6
    beside = goodqueue.run("rrul_var", flows=2, cc=[("my_ledbat", python), "cubic"], **line)
    ledbat, cubic, *_ = (flow["goodput_bps"] for flow in beside.summaries[0]["flows"])
    assert ledbat < 0.05 * cubic
