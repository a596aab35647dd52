"""The studies: some points of each are run again and equal the data in docs/studies, digit for digit."""

import csv
import importlib
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "studies"))


@pytest.mark.parametrize("name", ["fq_codel_target", "aqm_mixes", "aql_stations"])
def test_some_points_give_the_same_again(name):
    study = importlib.import_module(name)
    measure = importlib.import_module("study").measure
    with (ROOT / "docs" / "studies" / f"{study.NAME}.csv").open() as file:
        rows = list(csv.DictReader(file))
    points = study.points()
    assert len(rows) == len(points)
    # The cheap ones: from all over the table, and none of the last, which take a minute each.
    for place in range(0, len(points) * 3 // 5, len(points) // 8):
        again = measure(points[place], study.figures)
        assert {key: str(value) for key, value in again.items()} == rows[place]


def test_a_study_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    study = importlib.import_module("study")
    monkeypatch.setattr(study, "ROOT", tmp_path)
    monkeypatch.setattr(study, "FOLDER", tmp_path)
    run = []

    def measure(point, _):
        if point.values["n"] in stops:
            raise KeyboardInterrupt
        run.append(point.values["n"])
        return point.values | {"square": point.values["n"] ** 2}

    monkeypatch.setattr(study, "measure", measure)
    points = [study.Point({"n": n}, {"seeds": [n]}) for n in range(8)]
    stops = {5}
    with pytest.raises(KeyboardInterrupt):
        study.measured("some", points, dict)
    assert 5 not in run and not (tmp_path / "some.csv").exists()
    # The machine stopped while a line was written.
    kept = tmp_path / "target" / "studies" / "some.jsonl"
    kept.write_text(kept.read_text()[:-3])
    before, stops = set(run), set()
    run.clear()
    rows = study.measured("some", points, dict)
    assert [row["square"] for row in rows] == [n**2 for n in range(8)]
    # One was cut; all others that were there are not run again.
    assert len(before & set(run)) == 1 and {5} <= set(run)
    run.clear()
    assert study.measured("some", points, dict) == rows and run == []
    # A point with other keys is another point.
    study.measured("some", [study.Point({"n": 0}, {"seeds": [9]})], dict)
    assert run == [0]


@pytest.mark.parametrize("name", ["fq_codel_target", "aqm_mixes", "aql_stations"])
def test_the_tables_are_those_of_the_data(name, monkeypatch):
    study = importlib.import_module(name)
    with (ROOT / "docs" / "studies" / f"{study.NAME}.csv").open() as file:
        rows = [{key: number(value) for key, value in row.items()} for row in csv.DictReader(file)]
    made = {}
    monkeypatch.setattr(study, "measured", lambda *_: rows)
    monkeypatch.setattr(study, "put", lambda _, tables: made.update(tables))
    monkeypatch.setattr(study, "picture", lambda _: None)
    study.main()
    text = (ROOT / "docs" / "studies" / f"{study.NAME}.md").read_text()
    assert made
    for key, table in made.items():
        assert f"<!-- {key} -->\n\n{table}\n" in text


def number(text):
    """The value that a cell was written from."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
