"""Live runs: this kernel's TCP, in network namespaces, through queues by name, of a library, in Python."""

import subprocess
import sys
import threading
from collections import deque

import pytest

import goodqueue


class Fifo:
    """Of at most 50 packets. Each 100th is dropped."""

    def __init__(self):
        self.packets, self.arrived = deque(), 0

    def enqueue(self, now, packet):
        self.arrived += 1
        if len(self.packets) == 50 or self.arrived % 100 == 0:
            packet.drop("codel")
        else:
            self.packets.append(packet)

    def dequeue(self, now):
        return self.packets.popleft() if self.packets else None


class Careless(Fifo):
    """Loses its packets."""

    def enqueue(self, now, packet):
        pass


class Late(Fifo):
    """Works for a while."""

    def dequeue(self, now):
        return 1 // (self.arrived < 100) and super().dequeue(now)


def live(**arguments):
    arguments = {
        "test": "tcp_1up",
        "rate": "5mbit",
        "length": "3s",
        "idle": "500ms",
        "live": True,
        **arguments,
    }
    try:
        return goodqueue.run(arguments.pop("test"), **arguments)
    except goodqueue.MachineError as error:
        if "this machine lacks" in str(error):
            pytest.skip(f"a live run: {error}")
        raise


def test_queues_of_ones_own_stand_beside_others(command, tmp_path):
    subprocess.run([command, "new", "queue", "my_aqm"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["make", "-C", tmp_path / "my_aqm", "my_aqm.so"], check=True, capture_output=True)
    library = f"{tmp_path}/my_aqm/my_aqm.so,limit=100"
    seen = []
    result = live(queues=["pfifo:100", Fifo, library], progress=seen.append)
    rows = result.summary.to_pydict()
    assert rows["queue"] == ["pfifo:100", "Fifo", library]
    # Real TCP gets through each, on a busy machine too: 5 Mbit/s of frames are at most 4.8 Mbit/s of data.
    assert all(1e6 < bps < 5e6 for bps in rows["goodput_up_bps"]), rows
    # 1e6 bit/s for 3 s are 250 packets, of which two are dropped.
    assert rows["drops_packets"][1] >= 2, rows
    assert "Fifo" in repr(result) and seen[0] == 0 and seen[-1] == 1
    assert "Fifo" in set(result.series["queue"])
    # The same type as that of simulations, and in one result with it.
    result.save(tmp_path / "live")
    assert goodqueue.read(tmp_path / "live").series.to_pydict() == result.series.to_pydict()
    goodqueue.run("tcp_1up", rate="5mbit", queues=Fifo, length="3s", idle="500ms").save(
        tmp_path / "simulated"
    )
    both = goodqueue.read(tmp_path / "live", tmp_path / "simulated").summary.to_pydict()
    assert len(both["queue"]) == 4, both


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (Careless, "it lost a packet of"),
        (Late, "ZeroDivisionError: integer division or modulo by zero\nTraceback"),
        (("unmade", lambda: 1 / 0), "division by zero"),
    ],
)
def test_a_queue_that_breaks_a_rule_ends_the_run(queue, words):
    with pytest.raises(goodqueue.UsageError) as error:
        live(queues=["pfifo:100", queue])
    name = queue[0] if isinstance(queue, tuple) else queue.__name__
    assert str(error.value).startswith(f"{name}: ") and words in str(error.value)
    if queue is Late:
        line = Late.dequeue.__code__.co_firstlineno + 1
        assert f'test_live.py", line {line}, in dequeue' in str(error.value), error.value


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"live": "yes"}, TypeError, "live 'yes': write True or False"),
        ({"seeds": 3}, goodqueue.UsageError, "a live run is done once"),
        ({"shape": "90%"}, goodqueue.UsageError, "shape with live"),
        ({"queues": [Fifo, Fifo]}, goodqueue.UsageError, "Fifo is named twice"),
        (
            {"queues": [("held", threading.Lock().acquire)]},
            goodqueue.UsageError,
            "queues: held: live, it cannot go",
        ),
        ({"super_packets": True, "live": False}, goodqueue.UsageError, "super_packets"),
    ],
)
def test_what_cannot_be_live_is_named(arguments, kind, words):
    with pytest.raises(kind) as error:
        goodqueue.run("tcp_1up", **{"live": True, **arguments})
    assert words in str(error.value)


def test_no_congestion_control_and_no_queue_on_the_air(root):
    class Mine:
        def ack(self, now, ack, window):
            pass

        def event(self, now, event, window):
            pass

    with pytest.raises(
        goodqueue.UsageError, match="cc Mine: live, congestion control is that of this kernel's TCP"
    ):
        goodqueue.run("tcp_1up", cc=Mine, live=True)
    air = goodqueue.Experiment.read(root / "scenarios" / "wifi-anomaly.toml")
    with pytest.raises(goodqueue.UsageError, match="not on the air"):
        air.run(queues=Fifo, live=True)
    wire = goodqueue.Experiment(test="tcp_1up", queues=["codel"])
    with pytest.raises(goodqueue.UsageError, match="it runs only experiments over"):
        wire.run(live=True)


def test_a_right_that_is_missing_is_named():
    """Without CAP_SYS_ADMIN, where nobody may make a user namespace."""
    program = "import goodqueue; goodqueue.run('tcp_1up', queues='codel', length='1s', live=True)"
    without = "echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all"
    words = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        f'{without} "$@"',
        "sh",
        sys.executable,
        "-c",
        program,
    ]
    done = subprocess.run(words, capture_output=True, text=True)
    if "unshare failed" in done.stderr:
        pytest.skip(f"no user namespace to have no rights in: {done.stderr.strip()}")
    assert "MachineError: this machine lacks" in done.stderr, done.stderr
    assert "Operation not permitted" in done.stderr or "No space left" in done.stderr, done.stderr
