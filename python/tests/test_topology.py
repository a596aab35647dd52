"""Networks of many hosts, and user-defined traffic."""

import networkx
import pytest

import goodqueue


def test_a_graph_becomes_a_network_and_flows_a_table():
    graph = networkx.Graph()
    graph.add_edge("left", "middle", rate="unlimited", delay="5ms")
    graph.add_edge("middle", "right", rate="10mbit")
    net = goodqueue.Topology.from_networkx(graph, delay="1ms", queue="fq_codel target=5ms")
    assert net.hosts == ["left", "right"]
    flows = net.run([("left", "right", 14480), ("right", "left")], length="5s")
    assert flows["path"] == ["left > middle > right", "right > middle > left"]
    assert flows["received_bytes"][0] == 14480
    # Alone: three times 6 ms one way; SYN, SYN-ACK (74 bytes), ACK (66), ten segments (1514) at 10 Mbit/s.
    alone = net.run([("left", "right", 14480)])["fct_ms"][0]
    assert alone == pytest.approx(18 + (2 * 74 + 66 + 10 * 1514) * 0.8e-3)
    assert flows["fct_ms"][0] > alone
    assert flows["fct_ms"][1] is None and flows["bytes"][1] is None
    assert 9e6 < flows["goodput_bps"][1] < 10e6


def test_parallel_paths_are_all_used():
    net = goodqueue.Topology.fat_tree(4, rate="1gbit")
    assert len(net.hosts) == 16
    flows = [(net.hosts[0], net.hosts[15], 1000) for _ in range(40)]
    table = net.run(flows, length="100ms")
    assert len(set(table["path"])) == 4 and set(table["hops"]) == {6}
    assert all(ms is not None for ms in table["fct_ms"])
    assert len(set(net.run(flows, length="100ms", ecmp=False)["path"])) == 1
    assert table.to_pydict() == net.run(flows, length="100ms").to_pydict()


def test_a_dumbbell_is_one_bottleneck():
    net = goodqueue.Topology.dumbbell(3)
    pairs = [(net.hosts[at], net.hosts[at + 1], 500_000) for at in (0, 2, 4)]
    flows = net.run(pairs, length="5s").to_pydict()
    assert flows["hops"] == [3, 3, 3]
    # 3 x 500 000 bytes, with headers, over 20 Mbit/s: 0.63 s, and round trips of 20 ms before.
    assert 620 < max(flows["fct_ms"]) < 800, flows
    alone = net.run(pairs[:1], length="5s").to_pydict()
    assert alone["fct_ms"][0] < 0.5 * flows["fct_ms"][0]


def test_a_parking_lot_is_shared_fairly():
    net = goodqueue.Topology.parking_lot(2)
    ends = [tuple(net.hosts[2 * pair : 2 * pair + 2]) for pair in range(3)]
    rates = net.run(ends, length="20s")["goodput_bps"]
    assert all(0.8 * 10e6 * 1448 / 1514 < rate < 10e6 for rate in rates), rates


def test_flows_run_between_any_two_nodes():
    graph = networkx.path_graph(["a", "b", "c", "d"])
    net = goodqueue.Topology.from_networkx(graph, rate="10mbit", delay="1ms")
    assert net.hosts == ["a", "d"]
    flows = net.run([("b", "c", 5000), ("d", "b", 5000), ("c", "a", 5000)])
    assert flows["path"] == ["b > c", "d > c > b", "c > b > a"]
    assert all(ms is not None for ms in flows["fct_ms"])
    # In an experiment, with the queues, probes and reports of one.
    experiment = goodqueue.Experiment(
        queues=["fq_codel"],
        topology={"kind": "fat-tree", "k": 4, "rate": "100mbit", "delay": "5us", "queue": "$queue"},
        test={"length": "300ms", "idle": "20ms", "probe_interval": "1ms"},
        flow=[{"from": "client", "to": "client8"}, {"from": "server3", "to": "client8"}],
    )
    flows = experiment.run().head["test"]["flows"]
    assert [flow["direction"] for flow in flows] == ["up", "down"]


def test_mistakes_are_explained():
    graph = networkx.path_graph(3)
    net = goodqueue.Topology.from_networkx(graph)
    for flows, words in [
        ([(0, 7)], "flow 0: there is no node 7"),
        ([(0, 1, 0)], "flow 0: bytes 0"),
        ([{"from": 0, "too": 1}], "flow 0: it has the keys from and to"),
        ([{"from": 0, "to": 1, "cc": "vegas2"}], "flow 0: cc vegas2"),
        ([(0, 0)], "same node"),
    ]:
        with pytest.raises(goodqueue.UsageError, match=words):
            net.run(flows)
    graph.edges[0, 1]["queue"] = "fq_kodel"
    with pytest.raises(goodqueue.UsageError, match="edge 0 to 1: queue fq_kodel"):
        goodqueue.Topology.from_networkx(graph).run([(0, 1)])
    with pytest.raises(TypeError, match="rate 1000"):
        goodqueue.Topology.from_networkx(graph, rate=1000)
    with pytest.raises(goodqueue.UsageError, match="an even number"):
        goodqueue.Topology.fat_tree(5)
    with pytest.raises(goodqueue.UsageError, match="pairs 0: a whole number from 1 to 1000"):
        goodqueue.Topology.dumbbell(0)


def test_flows_of_traffic_are_a_table():
    experiment = goodqueue.Experiment(
        queues=["pfifo:100", "fq_codel"],
        test={"length": "5s", "idle": "1s"},
        traffic=[{"name": "web", "from": "server", "load": "60%", "size": "exponential,mean=30k"}],
    )
    result = experiment.run()
    flows = result.flows
    assert flows.column_names == [
        "run", "queue", "seed", "traffic", "direction", "start_s", "bytes", "fct_ms", "ideal_ms", "slowdown",
    ]  # fmt: skip
    first = [row for row in range(flows.num_rows) if flows["run"][row] == 0]
    assert {flows["queue"][row] for row in first} == {"pfifo:100"}
    for row in first:
        if flows["fct_ms"][row] is not None:
            assert flows["slowdown"][row] == pytest.approx(
                flows["fct_ms"][row] / flows["ideal_ms"][row], rel=1e-5
            )
    # The loaded interval is without the first fifth.
    inside = [row for row in first if flows["start_s"][row] >= 1]
    summary = result.summaries[0]["traffic"][0]["all"]
    assert summary["n"] + summary["unfinished"] == len(inside)
