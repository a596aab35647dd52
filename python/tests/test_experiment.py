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
