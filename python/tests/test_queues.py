"""Queues: built-in ones packet by packet, and user-defined ones in simulations."""

import collections
import time

import pytest

import goodqueue


def test_a_fifo_packet_by_packet():
    queue = goodqueue.Queue("pfifo limit=2")
    one, two, three = (goodqueue.Packet(1514, flow=flow) for flow in range(3))
    one.mine = "kept"
    assert queue.enqueue(0, one) == [] and queue.enqueue(1, two) == []
    assert queue.enqueue(2, three) == [three] and three.dropped == "limit"
    assert queue.backlog == (2, 3028) and len(queue) == 2 and queue.next_wake(3) == 3
    assert queue.dequeue(3) is one and one.mine == "kept" and one.dropped is None
    assert queue.dequeue(4) is two and queue.dequeue(5) is None
    assert queue.stats["packets"] == 2 and queue.stats["drops"] == 1
    # It may come again.
    assert queue.enqueue(6, one) == []


def test_cake_shapes_and_tells_when_to_ask_again():
    queue = goodqueue.Queue("cake bandwidth=20mbit")
    for flow in range(3):
        assert queue.enqueue(0, goodqueue.Packet(1514, flow=flow)) == []
    assert queue.dequeue(0).flow == 0
    # 1514 bytes with Ethernet's header: cake counts 1500, at 20 Mbit/s.
    assert queue.dequeue(0) is None and abs(queue.next_wake(0) - 605_600) < 6_000
    assert queue.dequeue(queue.next_wake(0)).flow == 1


def test_codel_marks_and_drops():
    queue = goodqueue.Queue("codel ecn=on")
    marked, now = 0, 0
    for _step in range(2000):
        for _ in range(2):
            queue.enqueue(now, goodqueue.Packet(1514, dsfield=2))
        packet = queue.dequeue(now)
        marked += packet.is_marked
        now += 1_000_000
    assert marked > 10 and marked == queue.stats["marks"]
    queue = goodqueue.Queue("codel")
    for _step in range(500):
        queue.enqueue(now, goodqueue.Packet(1514))
        queue.enqueue(now, goodqueue.Packet(1514))
        queue.dequeue(now)
        now += 1_000_000
    dropped = queue.take_dropped()
    assert dropped and all(packet.dropped == "codel" for packet in dropped) and queue.take_dropped() == []


@pytest.mark.parametrize("file", ["codel/aimd4_ecnmix_20m", "fq_codel/{}"])
def test_the_kernels_decisions(root, file):
    """What the queue of Linux decided, call by call, through Python's Queue."""
    folder, name = file.split("/")
    paths = sorted((root / "vectors" / folder).glob("*.txt.gz"))
    path = next((path for path in paths if path.name.startswith(name)), None) or next(
        path
        for path in paths
        if set(goodqueue.read_vectors(path).table["record"]) == set("EDPNXMSW") - set("W")
    )
    vectors = goodqueue.read_vectors(path)
    header = vectors.header
    assert header["qdisc"] == folder and header["reference"].startswith("Linux 6.1")
    given = (
        {key: value for key, value in (entry.split(" ") for entry in [header["param"]])}
        if "param" in header
        else {}
    )
    words = [
        f"{key}={'on' if value == '1' else 'off'}" if key == "ecn" else f"{key}={value}"
        for key, value in given.items()
    ]
    queue = goodqueue.Queue(
        " ".join([folder, *words]), mtu=int(header["mtu"]) + int(header["hard_header_len"])
    )
    decided = decisions(queue, vectors.table)
    table = vectors.table
    recorded = collections.defaultdict(list)
    for call, record, packet in zip(table["call"], table["record"], table["packet"]):
        if record in "PXN":
            recorded[call].append((record, packet))
    assert len(recorded) > 500
    for call, results in recorded.items():
        # Drops come before the delivery, in both.
        assert sorted(decided[call], key=str) == sorted(results, key=str), f"call {call} of {path.name}"


def decisions(queue, table):
    """What the queue does in the calls of a table."""
    decided = {}
    for call, record, now, number, length, fields in zip(
        table["call"], table["record"], table["t_ns"], table["packet"], table["length_bytes"], table["fields"]
    ):
        if record == "E":
            _, _, flow, _, _, ecn, *_ = fields.split(" ")
            packet = goodqueue.Packet(length, flow=int(flow), dsfield=int(ecn))
            packet.number = number
            decided[call] = [("X", one.number) for one in queue.enqueue(now, packet)]
        elif record == "D":
            packet = queue.dequeue(now)
            delivered = ("P", packet.number) if packet else ("N", None)
            decided[call] = [("X", one.number) for one in queue.take_dropped()] + [delivered]
    return decided


class Fifo:
    """At most 1000 packets."""

    def __init__(self):
        self.packets = collections.deque()

    def enqueue(self, now, packet):
        if len(self.packets) == 1000:
            return packet.drop("limit")
        self.packets.append(packet)

    def dequeue(self, now):
        return self.packets.popleft() if self.packets else None


@pytest.mark.parametrize("options", [{}, {"shape": "90%"}, {"ring": 64}, {"ipv6": True, "loss": 0.001}])
def test_a_fifo_of_ones_own_does_what_pfifo_does(options):
    """Every figure is equal, so no packet was lost, delayed or exchanged."""
    result = goodqueue.run("rrul", rate="10mbit", length="4s", queues=["pfifo:1000", Fifo], **options)
    table = result.summary.to_pydict()
    at, own = table["queue"].index("pfifo:1000"), table["queue"].index("Fifo")
    assert at < own
    for name, column in table.items():
        if name not in ("run", "queue"):
            assert column[at] == column[own], name
    series = result.series.to_pydict()
    rows = list(zip(series["run"], *(series[name] for name in ("kind", "series", "t_s", "metric", "value"))))
    assert [row[1:] for row in rows if row[0] == at] == [row[1:] for row in rows if row[0] == own]


class Patience:
    """While the oldest packet has waited for more than 5 ms, it is marked or dropped, one every 20 ms."""

    def __init__(self, target=5_000_000):
        self.target, self.packets, self.next_drop = target, collections.deque(), 0

    def enqueue(self, now, packet):
        packet.arrived = now
        self.packets.append(packet)

    def dequeue(self, now):
        if not self.packets:
            return None
        packet = self.packets.popleft()
        if now - packet.arrived <= self.target:
            self.next_drop = now + 20_000_000
        elif now >= self.next_drop and self.packets:
            self.next_drop = now + 20_000_000
            if not packet.mark("codel"):
                packet.drop("codel")
                return self.packets.popleft()
        return packet


def test_an_aqm_of_ones_own_is_in_every_table_and_picture():
    queues = ["pfifo:1000", Patience, ("patient", lambda: Patience(20_000_000)), "codel"]
    result = goodqueue.run("tcp_nup", queues=queues, length="8s")
    assert result.queues == ["pfifo:1000", "Patience", "patient", "codel"]
    p95 = dict(zip(result.summary["queue"], result.summary["rise_p95_ms"]))
    assert p95["Patience"] < p95["patient"] < p95["pfifo:1000"] / 2
    assert "Patience" in str(result) and "Patience" in result.html()
    assert {"Patience", "patient"} <= set(result.series["queue"])
    drops = result.summaries[1]["queue_up"]["drops"]
    assert drops > 10 and result.summaries[1]["queue_up"]["marks"] == 0
    with_ecn = goodqueue.run("tcp_nup", queues=[Patience], ecn=True, length="8s")
    assert with_ecn.summaries[0]["queue_up"]["marks"] > 10


def test_the_same_seed_gives_the_same_run():
    import random

    class Dice(Fifo):
        def seed(self, seed):
            self.random = random.Random(seed)

        def enqueue(self, now, packet):
            if self.random.random() < 0.01:
                return packet.drop("red")
            super().enqueue(now, packet)

    one, two, other = (goodqueue.run("tcp_1up", queues=[Dice], seed=seed, length="4s") for seed in (1, 1, 2))
    assert one.series.to_pydict() == two.series.to_pydict() != other.series.to_pydict()
    assert one.summary["drops_packets"][0] > 10


def test_a_shaper_of_ones_own():
    class Pacer(Fifo):
        """One packet every 2 ms."""

        free = 0

        def dequeue(self, now):
            if now < self.free or not self.packets:
                return None
            self.free = now + 2_000_000
            return self.packets.popleft()

        def next_wake(self, now):
            return max(now, self.free)

    result = goodqueue.run("tcp_1up", rate="20mbit", queues=[Pacer], length="6s")
    [(_, _, times, sent)] = result._record.curves("queue", "sent_packets", "up")
    first, last = times.index(2.0), times.index(5.0)
    assert abs((sent[last] - sent[first]) - 3 * 500) <= 1


def test_how_much_slower_python_is(capsys):
    def seconds(queue):
        began = time.perf_counter()
        goodqueue.run("tcp_nup", rate="50mbit", queues=[queue], length="10s")
        return time.perf_counter() - began

    ratio = seconds(Fifo) / seconds("pfifo:1000")
    with capsys.disabled():
        print(f"\na FIFO in Python: the run takes {ratio:.0f} times as long")
    # docs/python.md says 10 to 20.
    assert ratio < 60
