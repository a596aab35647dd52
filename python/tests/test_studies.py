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
