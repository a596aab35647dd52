"""Experiments from TOML, from a dict, and key by key."""

import tomllib

import goodqueue
from goodqueue import Experiment

TEXT = """
about = "A star"
test = "rrul"
queues = ["codel", "fq_codel"]
seeds = [1, 2]

[link]
rate = "5mbit"
rtt = "40ms"
"""


def test_three_ways_give_the_same():
    text = Experiment.from_toml(TEXT)
    table = Experiment(tomllib.loads(TEXT))
    keys = Experiment(about="A star", test="rrul").set("queues", ["codel", "fq_codel"]).set("seeds", [1, 2])
    keys = keys.set("link.rate", "5mbit").set("link.rtt", "40ms")
    assert text.plan == table.plan == keys.plan
    short = [one.set("test.length", "2s").run() for one in (text, table, keys)]
    assert short[0].series.to_pydict() == short[1].series.to_pydict() == short[2].series.to_pydict()
    assert short[0].queues == ["codel", "fq_codel"] and "A star" in short[0].head["title"]


def test_a_dict_becomes_the_same_toml():
    tables = {
        "test": {"name": "rrul", "length": "2s", "with": ["voip"]},
        "queues": ["codel"],
        "variant": [
            {"name": 'a "b" é', "queue": "codel", "link": {"rate": "5mbit"}},
            {"name": "c", "queue": "pie"},
        ],
        "wifi": {"airtime": True, "station": [{"name": "x", "mcs": 15}]},
        "odd key": {"x.y": 1.5},
    }
    from goodqueue import _toml

    text, paths = _toml.text(tables)
    assert tomllib.loads(text) == tables
    assert len(paths) == len(text.splitlines()) and "variant.1.link.rate" in paths


def test_set_changes_no_other():
    one = Experiment.from_toml(TEXT)
    two = one.set("seeds", [7]).set("link.rate", "8mbit")
    assert one.plan["seeds"] == [1, 2] and two.plan["seeds"] == [7]
    assert one.toml == TEXT


def test_files_are_looked_for_beside_the_file(tmp_path):
    (tmp_path / "lte.trace").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    (tmp_path / "e.toml").write_text(
        'test = "tcp_1down"\n[link]\ndown = { trace = "lte.trace" }\nup = "5mbit"\n'
    )
    result = Experiment.read(tmp_path / "e.toml").set("test.length", "3s").run()
    assert 9e6 < result.summary["goodput_down_bps"][0] < 12e6


def test_every_scenario_is_read(root):
    scenarios = list((root / "scenarios").glob("*.toml"))
    assert len(scenarios) > 30
    for scenario in scenarios:
        assert Experiment.read(scenario).plan["variants"]


def test_an_experiment_with_a_queue_of_ones_own():
    class Stack(list):
        def enqueue(self, now, packet):
            self.append(packet)

        def dequeue(self, now):
            return self.pop() if self else None

    result = Experiment.from_toml(TEXT).set("test.length", "2s").run(queues=["codel", Stack])
    assert result.queues == ["codel", "Stack"]


def test_the_schema_is_the_commands(root):
    import json

    assert Experiment.schema() == json.loads((root / "docs" / "experiment.schema.json").read_text())


def test_the_warnings_of_a_plan():
    assert goodqueue.Experiment(test="rrul").warnings == []


def test_requests_go_over_kept_connections():
    """With `requests` each request but the first of a connection saves the round trip of its handshake."""
    traffic = {"name": "api", "from": "server", "users": 1, "think": "100ms", "size": "1448", "requests": 10}
    keys = {"queues": ["fq_codel"], "test": {"length": "10s"}, "link": {"rate": "100mbit", "rtt": "50ms"}}
    flows = Experiment(keys, traffic=[traffic]).run().flows.to_pandas()
    fresh, kept = (flows["fct_ms"][flows["ideal_ms"].between(*span)] for span in ((100, 101), (50, 51)))
    assert len(fresh) + len(kept) == len(flows) and abs(len(kept) - 9 * len(fresh)) < 10
    assert fresh.min() >= 100 and kept.min() >= 50 and kept.max() < 52


def test_a_topology_is_a_table():
    shape = {"kind": "fat-tree", "k": 4, "rate": "100mbit", "delay": "10us", "queue": "$queue"}
    experiment = Experiment(
        queues=["pfifo:100", "fq_codel"],
        test={"length": "1s", "idle": "100ms"},
        topology=shape,
        flow=[{"to": "servers", "bytes": 50_000}],
    )
    result = experiment.run()
    assert result.queues == ["pfifo:100", "fq_codel"]
    assert len(result.head["test"]["flows"]) == 8
    assert len(experiment.plan["variants"][0]["links"]) == 96
