"""What a run measured."""

from __future__ import annotations

import functools
import json
import os
import pathlib
from typing import TYPE_CHECKING, Any, Literal

from . import _goodqueue, _html
from ._errors import UsageError

if TYPE_CHECKING:
    import matplotlib.figure


class Result:
    """What was measured, in tables and pictures, and in every form of the command.

    summary  a row for each queue and seed: goodput, rise of the round trip, drops, grade
    series   a row for each value: delays, goodput, congestion windows, backlogs
    flows    a row for each flow of [[traffic]]: size, completion time, slowdown

    `print(result)` shows the command's table. A notebook shows table and picture.
    """

    def __init__(self, record: _goodqueue.Record) -> None:
        self._record = record

    @functools.cached_property
    def summary(self) -> _goodqueue.Table:
        """A row for each queue and seed; a queue that was planned and not measured has one, too.

        run, queue, seed; state: complete, cut short, not valid or missing
        grade                               A+ to F, by the mean rise; no_grade_because: why there is none
        goodput_up_bps, goodput_down_bps    of all flows to the server and to the client, bit/s
        rise_p50_ms, rise_p95_ms, rise_p99_ms, rise_mean_ms, rise_max_ms
                                            of the round trip under load over its idle median
        idle_ms                             median round trip before the load
        probes_lost_percent                 under load
        jain_goodput_up, jain_goodput_down, jain_airtime   Jain's index, 1/n to 1
        used_up_percent, used_down_percent  of the time under load in which the line was busy
        drops_packets, marks_packets        of all queues on the path, in the whole run

        Seeds after the first keep goodput, rise (but mean and largest), Jain's index, drops and marks.
        """
        return self._record.summary()

    @functools.cached_property
    def series(self) -> _goodqueue.Table:
        """A row for each value, as in data.parquet of the command (docs/data.md lists kinds and metrics).

        run, queue, seed     the run
        kind, series         what it is of: flow, probe, queue, path, call, page, video, station; and its name
        direction            up (to the server), down, or missing
        t_s                  seconds from the start of the load; missing for a figure of the whole load
        metric, value, unit  round_trip in ms, goodput in bit/s, backlog in bytes ...

        Of several seeds, the first keeps its series.
        """
        return self._record.series()

    @functools.cached_property
    def flows(self) -> _goodqueue.Table:
        """A row for each flow of [[traffic]] (docs/experiments.md) that began, in the order of beginnings.

        run, queue, seed, traffic, direction
        start_s   seconds from the start of the load
        bytes     its size: payload
        fct_ms    flow completion time; missing if it had not ended when the load did
        ideal_ms  the time that it would take alone, without slow start and queues
        slowdown  fct_ms / ideal_ms

        Of several seeds, the first keeps its flows.
        """
        return self._record.flows()

    @functools.cached_property
    def summaries(self) -> list[dict[str, Any]]:
        """Everything that is derived from each run, as in `goodqueue report --json`: percentiles, grade and
        verdicts, findings. Times are in ns, rates in bit/s."""
        summaries: list[dict[str, Any]] = json.loads(self._record.summaries())
        return summaries

    @functools.cached_property
    def head(self) -> dict[str, Any]:
        """What was planned, and where: test, link, host, seed, command, warnings."""
        head: dict[str, Any] = json.loads(self._record.head())
        return head

    @property
    def queues(self) -> list[str]:
        """The names of the queues that were measured."""
        return [summary["queue"] for summary in self.summaries]

    @property
    def missing(self) -> list[str]:
        """Queues that were planned and not measured."""
        return self._record.missing()

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        return self._record.headline()

    def text(self, *, wide: bool = False, columns: int = 80) -> str:
        """The table that the command prints, for a terminal of this many columns; with `wide` all of it."""
        return self._record.text(wide, columns)

    def html(self) -> str:
        """The page of the command, which needs no network: `report.html`."""
        return self._record.html()

    def json(self) -> str:
        """The record with its summaries, as `goodqueue run --json` prints it."""
        return self._record.json()

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the files that the command writes with `-o`, and returns the one to open.

        path: a new folder for all of them, or a new file whose suffix selects its form: .html .svg .png .csv
        .parquet .md .json .gqz .flent.gz. Nothing is ever overwritten, and no file is half-written.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path {path!r}: write the name of a new folder, or of a new file")
        return pathlib.Path(self._record.save(path))

    def plot(
        self,
        kind: Literal["overview", "cdf", "series", "box"] = "overview",
        /,
        **options: Any,
    ) -> matplotlib.figure.Figure:
        """Draws the result with matplotlib, in the style of the command's page, and returns the figure.

        kind  "overview"  goodput and round trip over time, a column for each queue
              "cdf"       share of the probes under load that came back within a time
              "series"    a metric over time, a line for each queue
              "box"       the spread of the round trip under load for each queue

        The options are those of the functions in goodqueue.plot: `help(goodqueue.plot)`.
        """
        from . import plot

        kinds = {"overview": plot.overview, "cdf": plot.cdf, "series": plot.series, "box": plot.box}
        if kind not in kinds:
            raise UsageError(f"kind {kind!r}: there are {', '.join(kinds)}")
        return kinds[kind](self, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self._record.pack(),)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<goodqueue.Result of {self.head['test']['name']}: {', '.join(self.queues)}>"

    def _repr_html_(self) -> str:
        return _html.result(self)


def _unpacked(packed: bytes) -> Result:
    """The other end of pickle: results go between processes and machines."""
    return Result(_goodqueue.Record.unpack(packed))


def read(path: str | os.PathLike[str], *more: str | os.PathLike[str]) -> Result:
    """Reads the record of an earlier run: `record.gqz`, its folder, or a data file of flent's.

    Several records of the same test become one result, for example before and after a change; their runs are
    then named after the records.
    """
    records = [(pathlib.Path(one), _goodqueue.Record.read(one)) for one in (path, *more)]
    if len(records) == 1:
        return Result(records[0][1])
    return Result(_goodqueue.Record.merge([(_name(one), record) for one, record in records]))


def _name(path: pathlib.Path) -> str:
    stem = path.name.split(".")[0]
    return path.name if path.is_dir() else path.parent.name if stem == "record" else stem


class Vectors:
    """Decision vectors: what a queue of the Linux kernel was asked, and what it decided, call by call."""

    def __init__(self, header: list[tuple[str, str]], table: _goodqueue.Table) -> None:
        #: The header: the queue, the kernel, the load, the parameters, in the order of the file.
        self.header: dict[str, str] = dict(header)
        #: A row for each record: its line, the number of its call, the kind of record, the time of the call
        #: (t_ns), the number and length of the packet, the reason of a drop, and all fields as text.
        self.table = table

    def __repr__(self) -> str:
        name = self.header.get("qdisc") or self.header.get("format", "")
        return f"<goodqueue.Vectors of {name}: {self.table.num_rows} records>"


def read_vectors(path: str | os.PathLike[str]) -> Vectors:
    """Reads a file of decision vectors (vectors/README.md), plain or packed with gzip.

    It is replayed first: a file that is cut, damaged or of an unknown queue is a UsageError.
    """
    return Vectors(*_goodqueue.read_vectors(path))
