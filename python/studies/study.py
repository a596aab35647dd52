"""What the studies share: experiments on all processors, a table of what they measured, and its texts.

A study is a list of points. A point has the values that vary, by name, and the keys of an experiment. Its row
has both those values and the figures. Rows are in the order of the points, whatever was done first.

Each row is kept in `target/studies` as soon as it is measured. A study that was stopped goes on there, as
long as the package and the experiment are the same.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import pathlib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import goodqueue

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "studies"

Row = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """The values that vary, and the experiment, whose one queue is run with one seed."""

    values: Row
    keys: dict[str, Any]


def measure(point: Point, figures: Callable[[Row], Row]) -> Row:
    """The row of a point: `figures` takes them from the summary of its run."""
    result = goodqueue.Experiment(point.keys).run(threads=1)
    return point.values | figures(result.summaries[0])


class Kept:
    """The rows that are measured, in a file of JSON: a line each, with the hash of what it is of."""

    def __init__(self, file: pathlib.Path) -> None:
        build = pathlib.Path(goodqueue._goodqueue.__file__).read_bytes()
        self._build = hashlib.sha256(build).digest()
        self._file, self._lock = file, threading.Lock()
        self._rows: dict[str, Row] = {}
        file.parent.mkdir(parents=True, exist_ok=True)
        for line in file.read_text().splitlines() if file.exists() else []:
            # A line is cut if the machine stopped while it was written.
            with contextlib.suppress(json.JSONDecodeError):
                kept = json.loads(line)
                self._rows[kept["hash"]] = kept["row"]

    def row(self, point: Point, figures: Callable[[Row], Row]) -> Row:
        """The row of a point: the one that is kept, or a new one."""
        what = json.dumps([point.values, point.keys]).encode()
        key = hashlib.sha256(self._build + what).hexdigest()
        if key not in self._rows:
            row = measure(point, figures)
            with self._lock, self._file.open("a") as file:
                # After a line that was cut this one begins anew.
                file.write("\n" + json.dumps({"hash": key, "row": row}))
            self._rows[key] = row
        return self._rows[key]


def measured(name: str, points: Sequence[Point], figures: Callable[[Row], Row]) -> list[Row]:
    """The rows of all points, with progress; they are written into `docs/studies/NAME.csv`, too."""
    rows = []
    kept = Kept(ROOT / "target" / "studies" / f"{name}.jsonl")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, row in enumerate(pool.map(lambda point: kept.row(point, figures), points), 1):
            rows.append(row)
            print(f"\r{name}: {number} of {len(points)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def mean(rows: Iterable[Row], figure: str) -> float:
    """The mean of a figure over rows that differ in their seeds only."""
    values = [float(row[figure]) for row in rows]
    return sum(values) / len(values)


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of Markdown; all columns but the first are numbers."""
    marks = [":--" if number == 0 else "--:" for number in range(len(heads))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, marks, *lines])


def put(name: str, tables: dict[str, str]) -> None:
    """Replaces the tables of `docs/studies/NAME.md`: what is between `<!-- KEY -->` and `<!-- end -->`."""
    page = FOLDER / f"{name}.md"
    text = page.read_text()
    for key, made in tables.items():
        before, _, rest = text.partition(f"<!-- {key} -->\n")
        if not rest:
            raise SystemExit(f"{page.name} has no place for {key}: <!-- {key} -->")
        text = f"{before}<!-- {key} -->\n\n{made}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    page.write_text(text)


def ms(nanoseconds: float | None) -> float:
    """Milliseconds with three digits behind the point."""
    return round((nanoseconds or 0) / 1e6, 3)
