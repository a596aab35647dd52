"""The rules for queues, and classes that break them."""

import collections
import os
import pathlib
import subprocess
import sys

import pytest

import goodqueue

#: Where this package is.
ROOT = pathlib.Path(goodqueue.__file__).parents[1]


class Fifo:
    """At most 100 packets."""

    def __init__(self):
        self.packets = collections.deque()

    def enqueue(self, now, packet):
        if len(self.packets) == 100:
            packet.drop("limit")
        else:
            self.packets.append(packet)

    def dequeue(self, now):
        return self.packets.popleft() if self.packets else None


class Twice(Fifo):
    """Gives a packet twice."""

    last = None

    def dequeue(self, now):
        if self.last is not None:
            packet, self.last = self.last, None
            return packet
        self.last = super().dequeue(now)
        return self.last


class Loses(Fifo):
    """Forgets every 50th packet."""

    arrived = 0

    def enqueue(self, now, packet):
        self.arrived += 1
        if self.arrived % 50:
            super().enqueue(now, packet)


class Withholds(Fifo):
    """Keeps the last three, and does not say until when."""

    def dequeue(self, now):
        return super().dequeue(now) if len(self.packets) > 3 else None


class Lies(Fifo):
    """Says that packets may leave later than they do."""

    def next_wake(self, now):
        return now + 1_000_000


class Endless(Fifo):
    """Has no limit."""

    def enqueue(self, now, packet):
        self.packets.append(packet)


class Shared(Fifo):
    """Decides by what all its queues did."""

    calls = 0

    def enqueue(self, now, packet):
        Shared.calls += 1
        if Shared.calls % 7 == 0:
            packet.drop("red")
        else:
            super().enqueue(now, packet)


class Raises(Fifo):
    """Counts to ten at most."""

    def enqueue(self, now, packet):
        if len(self.packets) == 10:
            raise ValueError("ten is the most")
        super().enqueue(now, packet)


def test_a_right_queue_keeps_all_rules():
    check = goodqueue.check_queue(Fifo)
    assert check and not check.violations and check.most_held == 100 and check.calls > 400_000
    assert set(check.rules.values()) == {"kept"}
    assert str(check).startswith("Fifo: ") and "  kept         once    every packet" in str(check)
    assert goodqueue.check_queue("codel limit=100").most_held == 100


@pytest.mark.parametrize(
    ("queue", "rule", "words"),
    [
        (Twice, "once", "dequeue returned a packet that the queue does not hold"),
        (Loses, "once", "it lost a packet of "),
        (Withholds, "wake", "dequeue returned None while it holds packets"),
        (Lies, "wake", "dequeue gave a packet, and next_wake had said that none may leave before"),
        (Endless, "memory", "it holds all of 300000 packets"),
        (Shared, "repeat", "keep all state in the queue"),
        (Raises, "able", "ten is the most"),
    ],
)
def test_a_queue_that_breaks_a_rule_is_named(queue, rule, words):
    check = goodqueue.check_queue(queue)
    assert not check and check.rules[rule] == "broken"
    assert words in check.violations[rule] and "seed" in check.violations[rule]
    assert check.violations[rule] in str(check)


def test_what_is_no_queue_is_an_error():
    with pytest.raises(goodqueue.UsageError, match="no queue `fqcodel`"):
        goodqueue.check_queue("fqcodel")
    with pytest.raises(goodqueue.UsageError, match="rate fast: "):
        goodqueue.check_queue("codel", rate="fast")
    with pytest.raises(TypeError, match="each direction needs one of its own"):
        goodqueue.check_queue(Fifo())


def test_ctrl_c_ends_a_check():
    class Stopped(Fifo):
        def enqueue(self, now, packet):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        goodqueue.check_queue(Stopped)


def test_the_template_of_the_command_works(command, tmp_path):
    """`goodqueue new queue NAME --lang python` writes a queue that keeps the rules."""
    subprocess.run([command, "new", "queue", "mine", "--lang", "python"], cwd=tmp_path, check=True)
    paths = os.pathsep.join([str(ROOT), str(tmp_path / "mine")])
    words = {
        "cwd": tmp_path / "mine",
        "env": {**os.environ, "PYTHONPATH": paths},
        "capture_output": True,
        "text": True,
    }
    shown = subprocess.run([sys.executable, "mine.py"], **words)
    assert shown.returncode == 0, shown.stderr
    assert "  kept         once" in shown.stdout and "\nmine " in shown.stdout, shown.stdout
    tested = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], **words)
    assert tested.returncode == 0, tested.stdout
    assert "2 passed" in tested.stdout
