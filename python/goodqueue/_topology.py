"""Networks of many hosts, and flows between any two of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from . import _goodqueue
from ._errors import UsageError

#: A flow: (from, to), (from, to, bytes), or a dict with from, to and, where wanted, bytes, start, cc, dscp.
FlowLike = tuple[Hashable, Hashable] | tuple[Hashable, Hashable, int] | Mapping[str, Any]


class Topology:
    """A network of hosts and switches, for flows between any two nodes.

        net = goodqueue.Topology.fat_tree(4, rate="1gbit", delay="5us")
        flows = net.run([(net.hosts[0], net.hosts[15], 1_000_000)], length="1s")
        flows.to_pandas()                 # a row for each flow

    From a graph of NetworkX, whose edges may have the attributes rate, delay and queue:

        graph = networkx.random_regular_graph(3, 20, seed=1)
        net = goodqueue.Topology.from_networkx(graph, rate="1gbit", delay="10us", queue="fq_codel")

    nodes  names of all nodes, as they were given
    hosts  the nodes that flows are meant to run between: of a graph, those with one edge; all, if none has

    Each link has a queue in front of its line, in each direction. Flows take one of all paths with the fewest
    links, by their flow hash (ECMP).
    """

    def __init__(
        self,
        nodes: Iterable[Hashable],
        links: Iterable[tuple[Hashable, Hashable, str, str, str]],
        hosts: Iterable[Hashable] | None = None,
    ) -> None:
        """nodes; directed links, each (from, to, rate, delay, queue), with the rate "unlimited" for none"""
        self.nodes = list(nodes)
        self._numbers = {node: number for number, node in enumerate(self.nodes)}
        if len(self._numbers) < len(self.nodes):
            raise UsageError("nodes: one is named twice")
        self._links = [
            (self._number("link", one), self._number("link", other), rate, delay, queue)
            for one, other, rate, delay, queue in links
        ]
        self.hosts = list(self.nodes if hosts is None else hosts)

    @classmethod
    def from_networkx(
        cls, graph: Any, *, rate: str = "1gbit", delay: str = "10us", queue: str = "pfifo:1000"
    ) -> Topology:
        """The network of a graph of NetworkX. An edge of an undirected graph is a link each way.

        rate, delay, queue: of edges without an attribute of this name. In tc's words: "10gbit", "5us",
        "fq_codel target=100us"
        """
        links = []
        for one, other, given in graph.edges(data=True):
            words = (
                _word("rate", given.get("rate", rate)),
                _word("delay", given.get("delay", delay)),
                _word("queue", given.get("queue", queue)).replace(" ", ","),
            )
            links.append((one, other, *words))
            if not graph.is_directed():
                links.append((other, one, *words))
        hosts = [node for node in graph.nodes if graph.degree(node) == (2 if graph.is_directed() else 1)]
        return cls(graph.nodes, links, hosts or None)

    @classmethod
    def fat_tree(
        cls, k: int, *, rate: str = "10gbit", delay: str = "1us", queue: str = "pfifo:1000"
    ) -> Topology:
        """The fat tree of k pods (Al-Fares et al., 2008): k³/4 hosts, and switches of k ports."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 2 or k % 2 or k > 48:
            raise UsageError(f"k {k!r}: an even number from 2 to 48")
        return cls._shape("fat_tree", k, ("host", "edge", "aggregation", "core"), (rate, delay, queue))

    @classmethod
    def dumbbell(
        cls, pairs: int, *, rate: str = "20mbit", delay: str = "10ms", queue: str = "fq_codel"
    ) -> Topology:
        """Pairs of hosts whose two sides share one bottleneck: hosts[0] and hosts[1], hosts[2] and hosts[3],
        and so on. Links of hosts have no rate.
        """
        if isinstance(pairs, bool) or not isinstance(pairs, int) or not 1 <= pairs <= 1000:
            raise UsageError(f"pairs {pairs!r}: a whole number from 1 to 1000")
        return cls._shape("dumbbell", pairs, ("left", "right"), (rate, delay, queue))

    @classmethod
    def parking_lot(
        cls, hops: int, *, rate: str = "20mbit", delay: str = "5ms", queue: str = "fq_codel"
    ) -> Topology:
        """A chain of bottlenecks. hosts[0] and hosts[1] are at its ends; hosts[2] and hosts[3] at those of
        the first bottleneck, hosts[4] and hosts[5] at those of the second, and so on. Links of hosts have no
        rate.
        """
        if isinstance(hops, bool) or not isinstance(hops, int) or not 1 <= hops <= 1000:
            raise UsageError(f"hops {hops!r}: a whole number from 1 to 1000")
        return cls._shape("parking_lot", hops, ("router",), (rate, delay, queue))

    @classmethod
    def _shape(cls, kind: str, size: int, lines: tuple[str, ...], words: tuple[str, str, str]) -> Topology:
        """`lines`: how the names of nodes begin that have links with a rate."""
        nodes, links, hosts = _goodqueue.shape(kind, size)
        rate, delay, queue = (
            _word(key, word) for key, word in zip(("rate", "delay", "queue"), words, strict=True)
        )
        has_line = [all(nodes[end].startswith(lines) for end in link) for link in links]
        of = {True: (rate, delay, queue.replace(" ", ",")), False: ("unlimited", "0s", "")}
        ends = [
            (nodes[one], nodes[other], *of[has]) for (one, other), has in zip(links, has_line, strict=True)
        ]
        return cls(nodes, ends, [nodes[host] for host in hosts])

    def run(
        self,
        flows: Iterable[FlowLike],
        *,
        length: str = "1s",
        seed: int = 1,
        ecmp: bool = True,
        ecn: bool = False,
    ) -> _goodqueue.Table:
        """Simulates TCP flows, and returns a row for each.

        flows: each (from, to), (from, to, bytes), or a dict with the keys from, to, bytes (default: without
            end), start ("0s"), cc ("cubic", or its name), dscp (0 to 63)
        length: virtual time of the whole
        ecmp: whether flows take all paths with the fewest links, by flow hash; otherwise all take the first
        ecn: let TCP negotiate ECN

        flow, from, to, start_s, bytes
        received_bytes  what the receiver got
        fct_ms          flow completion time: from the start until the receiver had all bytes; missing if it
                        had not
        goodput_bps     received bytes over that time, or over the time until the end
        hops, path      number of links, and the nodes on the way
        retransmits     segments sent again
        """
        words = [self._flow(number, flow) for number, flow in enumerate(flows)]
        names = [str(node) for node in self.nodes]
        return _goodqueue.simulate_network(names, self._links, words, length, seed, ecmp, ecn)

    def _flow(self, number: int, flow: FlowLike) -> tuple[int, int, int | None, str, str, int]:
        if not isinstance(flow, Mapping):
            if not isinstance(flow, tuple) or len(flow) not in (2, 3):
                raise UsageError(f"flow {number}: write (from, to), (from, to, bytes), or a dict")
            flow = dict(zip(("from", "to", "bytes"), flow, strict=False))
        unknown = [key for key in flow if key not in ("from", "to", "bytes", "start", "cc", "dscp")]
        if unknown or "from" not in flow or "to" not in flow:
            raise UsageError(
                f"flow {number}: it has the keys from and to, and where wanted bytes, start, cc and dscp"
            )
        size = flow.get("bytes")
        if size is not None and (isinstance(size, bool) or int(size) != size or size < 1):
            raise UsageError(f"flow {number}: bytes {size!r}: a whole number, at least 1")
        ends = (self._number(f"flow {number}", flow["from"]), self._number(f"flow {number}", flow["to"]))
        start, cc = (
            _word(key, flow.get(key, default)) for key, default in (("start", "0s"), ("cc", "cubic"))
        )
        return (*ends, None if size is None else int(size), start, cc, int(flow.get("dscp", 0)))

    def _number(self, what: str, node: Hashable) -> int:
        if node not in self._numbers:
            raise UsageError(f"{what}: there is no node {node!r}")
        return self._numbers[node]

    def __repr__(self) -> str:
        return f"<goodqueue.Topology of {len(self.nodes)} nodes and {len(self._links)} links>"


def _word(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{key} {value!r}: write text with its unit, as in tc: rate 10gbit, delay 5us")
    return value
