"""Wrong input: the words name what is wrong and the cure, and nothing is half-written."""

import collections
import os
import subprocess

import pytest

import goodqueue
from goodqueue import Experiment, UsageError

NAN = float("nan")

# Arguments, the exception, and words in it.
WRONG = [
    (dict(test="rrull"), UsageError, "no test is called `rrull`; `goodqueue.tests\\(\\)`.*did you mean rrul"),
    (dict(test=3), TypeError, "test 3: write the name"),
    (dict(test="--help"), UsageError, "test --help: no test"),
    (dict(test="none.toml"), UsageError, "none.toml: No such file"),
    (
        dict(queues="fqcodel"),
        UsageError,
        "queues fqcodel: no queue.*`goodqueue.queues\\(\\)`.*did you mean fq_codel",
    ),
    (dict(queues=["codel target=nan"]), UsageError, "queues codel,target=nan: codel: target=nan"),
    (dict(queues=["codel", "codel"]), UsageError, "codel is named twice"),
    (dict(queues=[]), UsageError, "queues: an empty list"),
    (dict(queues=[""]), UsageError, "queues: an empty name"),
    (dict(queues=[3]), TypeError, "queues: 3: a queue is"),
    (dict(rate="fast"), UsageError, "rate fast: not a number.*as in 20mbit"),
    (dict(rate="-5mbit"), UsageError, "rate -5mbit: not a number of at least zero"),
    (dict(rate=-5), UsageError, "rate -5: not a number of at least zero"),
    (dict(rate=NAN), UsageError, "rate nan: not a number"),
    (dict(rate=True), TypeError, "rate True: write text with its unit"),
    (dict(rate=["1mbit"]), TypeError, "rate \\['1mbit'\\]"),
    (dict(rate=0), UsageError, "rate 0: nothing ever leaves"),
    (dict(rtt=20), UsageError, "rtt 20: a number without a unit.*as in 20ms"),
    (dict(rtt="nan"), UsageError, "rtt nan: not a number"),
    (dict(loss=NAN), UsageError, "loss nan"),
    (dict(loss=2), UsageError, "loss 2: must be at least 0% and below 100%"),
    (dict(loss=-0.1), UsageError, "loss -0.1: must be"),
    (dict(ring=-3), UsageError, "ring -3: .*a whole number from 0 on"),
    (dict(ring=1.5), UsageError, "ring 1.5: .*a whole number"),
    (dict(bql=True), UsageError, "ring: another argument needs it"),
    (dict(bql="yes"), TypeError, "bql 'yes': write True or False"),
    (dict(up="3mbit", trace_up="x"), UsageError, "up and trace_up exclude each other"),
    (dict(trace_up="none"), UsageError, "trace_up .*none: No such file"),
    (dict(length="0s"), UsageError, "length 0s: must be more than zero"),
    (dict(flows=4), UsageError, "`tcp_1up` has a fixed number of flows"),
    (dict(seeds=[1, -1]), UsageError, "seeds \\[1, -1\\]: write how many"),
    (dict(seeds=2.5), TypeError, "seeds 2.5: write how many"),
    (dict(seeds=[NAN]), UsageError, "seeds \\[nan\\]"),
    (dict(seed=-1), UsageError, "seed -1: "),
    (dict(with_="void"), UsageError, "with_ void: no extra probe"),
    (dict(line="dls"), UsageError, "line: no line is called `dls`.*`goodqueue.lines\\(\\)`"),
    (dict(set={"a": 1}), UsageError, "set a=1: it changes a key of an experiment file"),
    (dict(set=3), TypeError, "set 3: write a dict"),
    (dict(threads=-1), UsageError, "threads -1"),
    (dict(progress=3), TypeError, "progress 3"),
    (dict(title=3), TypeError, "title 3: write text"),
    (dict(typo=3), TypeError, "unexpected keyword argument 'typo'"),
]


@pytest.mark.parametrize(("arguments", "kind", "words"), WRONG)
def test_wrong_arguments(arguments, kind, words):
    with pytest.raises(kind, match=words):
        goodqueue.run(**{"test": "tcp_1up", **arguments})


EXPERIMENTS = [
    (
        lambda: Experiment({"test": "rrul", "link": {"rate": "abc"}}),
        UsageError,
        '^link.rate: .*write rate = "20mbit"',
    ),
    (lambda: Experiment(test="rrul", linc={"rate": "3mbit"}), UsageError, "^linc: .*did you mean link"),
    (
        lambda: Experiment(variant=[{"name": "a"}, {"name": "b", "quue": "codel"}]),
        UsageError,
        "^variant.2.quue: .*did you mean queue",
    ),
    (lambda: Experiment(test="rrul", seeds=[NAN]), UsageError, "^seeds nan: not a number"),
    (lambda: Experiment(link={"rate": object()}), TypeError, "^link.rate <object"),
    (lambda: Experiment({3: "x"}), TypeError, "3: a key is a word"),
    (lambda: Experiment([1]), TypeError, "an experiment is a dict"),
    (
        lambda: Experiment.from_toml('test = "rrul"\n[link]\nrate = 3'),
        UsageError,
        "^experiment.toml:3:\\d+: .*without a unit",
    ),
    (lambda: Experiment.from_toml("test = "), UsageError, "^experiment.toml:1:"),
    (lambda: Experiment.from_toml(3), TypeError, "text 3: write the TOML text"),
    (lambda: Experiment.read("none.toml"), UsageError, "none.toml: No such file"),
    (
        lambda: Experiment(test="rrul").set("link.rat", "5mbit"),
        UsageError,
        "link.rat=5mbit: .*did you mean rate",
    ),
    (lambda: Experiment(test="rrul").set("link.rate", "x"), UsageError, "link.rate=x: .*not a number"),
]


@pytest.mark.parametrize(("make", "kind", "words"), EXPERIMENTS)
def test_wrong_experiments(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


class Fifo:
    """The right one, which the others break."""

    def __init__(self):
        self.packets = collections.deque()

    def enqueue(self, now, packet):
        self.packets.append(packet)

    def dequeue(self, now):
        return self.packets.popleft() if self.packets else None


class Loses(Fifo):
    def __init__(self):
        self.packets = collections.deque(maxlen=10)


class Hides(Fifo):
    def dequeue(self, now):
        return None


class WakesInThePast(Hides):
    def next_wake(self, now):
        return now - 5


class WakesAtOnce(Hides):
    def next_wake(self, now):
        return now


class WakesNever(Hides):
    def next_wake(self, now):
        return None


class WakesAtNan(Hides):
    def next_wake(self, now):
        return NAN


class Raises(Fifo):
    def dequeue(self, now):
        return super().dequeue(now) if now < 1_000_000_000 else 1 // 0


class RaisesOnArrival(Fifo):
    def enqueue(self, now, packet):
        raise LookupError("no place")


class Returns(Fifo):
    def dequeue(self, now):
        return 5


class Twice(Fifo):
    def dequeue(self, now):
        return self.packets[0] if self.packets else None


class Foreign(Fifo):
    def dequeue(self, now):
        return goodqueue.Packet(100)


class DropsAndReturns(Fifo):
    def dequeue(self, now):
        packet = super().dequeue(now)
        if packet:
            packet.drop()
        return packet


class DropsTwice(Fifo):
    def enqueue(self, now, packet):
        packet.drop()
        packet.drop()


class NoReason(Fifo):
    def enqueue(self, now, packet):
        packet.drop("boredom")


class SaysFalse(Fifo):
    def enqueue(self, now, packet):
        return False


class Half:
    def enqueue(self, now, packet):
        packet.drop()


class NeedsMore(Fifo):
    def __init__(self, target):
        super().__init__()


class WrongHands(Fifo):
    def enqueue(self, packet):
        pass


QUEUES = [
    (Loses, UsageError, "queue Loses: it lost a packet of 1514 bytes"),
    (Hides, UsageError, "queue Hides: dequeue returned None while it holds packets: it lost them"),
    (WakesInThePast, UsageError, "queue WakesInThePast: next_wake says that a packet may leave at"),
    (WakesAtOnce, UsageError, "queue WakesAtOnce: next_wake says"),
    (WakesNever, UsageError, "queue WakesNever: next_wake returned None while it holds packets"),
    (WakesAtNan, UsageError, "queue WakesAtNan: next_wake returned nan: whole nanoseconds"),
    (Raises, ZeroDivisionError, "by zero"),
    (RaisesOnArrival, LookupError, "no place"),
    (Returns, UsageError, "queue Returns: dequeue returned 5"),
    (Twice, UsageError, "queue Twice: dequeue returned a packet that the queue does not hold"),
    (Foreign, UsageError, "queue Foreign: dequeue returned a packet that the queue does not hold"),
    (DropsAndReturns, UsageError, "it was returned or dropped before"),
    (DropsTwice, ValueError, "drop: this packet was dropped before"),
    (NoReason, ValueError, "reason boredom: there are limit"),
    (SaysFalse, UsageError, "enqueue returned False: it returns nothing; packet.drop\\(\\) drops"),
    (Half, UsageError, "queue Half: it has no method dequeue\\(self, now\\)"),
    (NeedsMore, TypeError, "missing 1 required positional argument: 'target'"),
    (WrongHands, TypeError, "takes 2 positional arguments but 3 were given"),
]


@pytest.mark.parametrize(("queue", "kind", "words"), QUEUES)
def test_queues_that_break_the_rules(queue, kind, words):
    with pytest.raises(kind, match=words) as error:
        goodqueue.run("tcp_1up", queues=["codel", queue], length="2s", idle="1s")
    [note] = error.value.__notes__
    assert f"of the queue {queue.__name__}, at " in note
    # The interpreter is well, and so is the next run.
    assert goodqueue.run("tcp_1up", queues=[Fifo], length="1s", idle="1s").summary["state"] == ["complete"]


def test_libraries_that_break_the_rules(root, tmp_path):
    def compiled(name, *definitions):
        library = tmp_path / f"{name}.so"
        own = root / "crates/own"
        words = [
            "cc",
            "-shared",
            "-fPIC",
            "-I",
            own / "include",
            *definitions,
            own / "tests/c/wrong.c",
            "-o",
            library,
        ]
        subprocess.run(words, check=True)
        return library

    library = compiled("wrong")
    for queue, words in [
        (
            compiled("old", "-DTABLE_ABI=7"),
            "old.so: .*says that it is of version 7 of goodqueue_own.h, and this program has 1",
        ),
        (compiled("empty", "-Dgoodqueue_own_queue=another"), "empty.so: it exports no `goodqueue_own_queue`"),
        (tmp_path / "none.so", "none.so"),
        (f"{library} wrong=1", "wrong=1: .*it gave packet .*, which had left it before"),
        (f"{library} wrong=3", "wrong=3: .*it lost them"),
        (f"{library} wrong=4", "wrong=4: .*may leave now, and dequeue gave none"),
    ]:
        with pytest.raises(UsageError, match=words):
            goodqueue.run("tcp_4up", rate="1mbit", queues=["codel", str(queue)], length="3s")
    assert goodqueue.run("tcp_1up", queues=str(library), length="1s", idle="1s").summary["state"] == [
        "complete"
    ]


def test_an_exception_keeps_its_traceback():
    import traceback

    with pytest.raises(ZeroDivisionError) as error:
        goodqueue.run("tcp_1up", queues=[Raises], length="2s")
    assert "1 // 0" in "".join(traceback.format_exception(error.value))


def test_a_queue_and_not_its_class():
    with pytest.raises(TypeError, match="is one queue, and each direction needs one of its own"):
        goodqueue.run("tcp_1up", queues=[Fifo()])
    with pytest.raises(TypeError, match="has no name: write \\(name, function\\)"):
        goodqueue.run("tcp_1up", queues=[("", Fifo)])
    with pytest.raises(UsageError, match="Fifo is named twice"):
        goodqueue.run("tcp_1up", queues=[Fifo, Fifo])


def test_packets_and_queues():
    for wrong, kind, words in [
        (lambda: goodqueue.Packet(0), ValueError, "length 0: bytes"),
        (lambda: goodqueue.Packet(-1), ValueError, "length -1: a whole number from 0"),
        (lambda: goodqueue.Packet(NAN), TypeError, "integer"),
        (lambda: goodqueue.Packet(100, dsfield=256), ValueError, "dsfield 256"),
        (lambda: goodqueue.Queue("codl"), UsageError, "queue codl: no queue.*did you mean codel"),
        (lambda: goodqueue.Queue("codel target=x"), UsageError, "queue codel target=x: codel: target=x"),
        (lambda: goodqueue.Queue("codel", rate="x"), UsageError, "rate x: not a number"),
        (
            lambda: goodqueue.Queue("codel").enqueue(1.5, goodqueue.Packet(1)),
            TypeError,
            "now 1.5: whole nanoseconds",
        ),
        (lambda: goodqueue.Queue("codel").enqueue(NAN, goodqueue.Packet(1)), TypeError, "now nan: whole"),
        (lambda: goodqueue.Queue("codel").dequeue(-1), ValueError, "now -1: whole nanoseconds"),
        (lambda: goodqueue.Queue("codel").dequeue(True), TypeError, "now True"),
        (lambda: goodqueue.Queue("codel").enqueue(1, 3), TypeError, "Packet"),
    ]:
        with pytest.raises(kind, match=words):
            wrong()
    queue, packet = goodqueue.Queue("codel"), goodqueue.Packet(100)
    queue.enqueue(10, packet)
    with pytest.raises(ValueError, match="this packet is in a queue"):
        queue.enqueue(10, packet)
    with pytest.raises(ValueError, match="a queue of the catalogue has this packet"):
        packet.drop()
    with pytest.raises(ValueError, match="now 9: time goes back; the queue was at 10 ns"):
        queue.dequeue(9)
    assert len(queue) == 1


def test_files(result, tmp_path):
    (tmp_path / "text").write_text("no record")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("x")
    for wrong, kind, words in [
        (lambda: goodqueue.read(tmp_path / "none"), UsageError, "cannot read .*none: No such file"),
        (lambda: goodqueue.read(tmp_path / "text"), UsageError, "text is not a readable record"),
        (lambda: goodqueue.read(3), TypeError, "not int"),
        (lambda: goodqueue.read_vectors(tmp_path / "text"), UsageError, "text:1: the file is cut"),
        (
            lambda: result.save(tmp_path / "none" / "out"),
            UsageError,
            "there is no such folder as .*none: create it",
        ),
        (lambda: result.save(tmp_path / "a.pdf"), UsageError, "no form ends in .pdf; there are .json"),
        (
            lambda: result.save(tmp_path / "folder"),
            UsageError,
            "it is not empty, and nothing is ever overwritten",
        ),
        (lambda: result.save(tmp_path / "a.flent.gz"), UsageError, "a .flent.gz holds one queue"),
        (lambda: result.save(3), TypeError, "path 3: write the name"),
        (lambda: result.plot("pie"), UsageError, "kind 'pie': there are overview, cdf, series, box"),
        (
            lambda: result.plot("cdf", queues=["codel"]),
            UsageError,
            "no queue 'codel' in this result; there are pfifo",
        ),
        (lambda: result.plot("cdf", what="one_way"), UsageError, "no values of .*write direction='up'"),
        (lambda: result.plot("series", kind="flow", metric="goodput"), UsageError, "write direction='up'"),
    ]:
        with pytest.raises(kind, match=words):
            wrong()
    result.save(tmp_path / "a.csv")
    before = (tmp_path / "a.csv").read_bytes()
    with pytest.raises(UsageError, match="it exists, and nothing is ever overwritten"):
        result.save(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "folder", "text"], "nothing half-written"


def test_a_disk_that_is_full(result):
    if (
        not os.path.exists("/dev/full")
        or os.getuid() != 0
        or os.system("mount -t tmpfs -o size=64k none /mnt 2>/dev/null")
    ):
        pytest.skip("a full disk is a small tmpfs, which only root may mount")
    try:
        with pytest.raises(goodqueue.MachineError, match="No space left") as error:
            result.save("/mnt/out")
        assert os.listdir("/mnt") == [] and isinstance(error.value, OSError)
    finally:
        os.system("umount /mnt")
