"""What an installed package does, in lines that are the same on every machine: see check-aarch64."""

import hashlib
import pathlib
import tempfile
from collections import deque

import goodqueue


class Fifo:
    def __init__(self):
        self.packets = deque()

    def enqueue(self, now, packet):
        self.packets.append(packet) if len(self.packets) < 100 else packet.drop()

    def dequeue(self, now):
        return self.packets.popleft() if self.packets else None


def show(result):
    for name, values in result.summary.to_pydict().items():
        print(name, values)
    series = repr(result.series.to_pydict())
    print("series", result.series.num_rows, hashlib.sha256(series.encode()).hexdigest())


result = goodqueue.run(
    "rrul", rate="10mbit", queues=["pfifo:1000", "fq_codel", "cake", Fifo], seeds=2, length="3s"
)
print(result)
show(result)
show(goodqueue.run("tcp_1up", rate="10mbit", cc="bbr", queues="dualpi2", length="3s"))
show(goodqueue.run("tcp_1up", rate="10mbit", transport="quic", queues="codel", length="3s"))

with tempfile.TemporaryDirectory() as folder:
    for name in ("data.csv", "data.parquet"):
        result.save(pathlib.Path(folder, name))
        print(name, hashlib.sha256(pathlib.Path(folder, name).read_bytes()).hexdigest())

queue = goodqueue.Queue("cake bandwidth=20mbit")
for flow in (1, 1, 2):
    queue.enqueue(0, goodqueue.Packet(1514, flow=flow))
print(queue.dequeue(0), queue.dequeue(0), queue.next_wake(0), queue.backlog)

for wrong in ({"rate": "20mbits"}, {"queues": "fqcodel"}, {"loss": float("nan")}):
    try:
        goodqueue.run("rrul", **wrong)
    except goodqueue.UsageError as error:
        print(error)
