"""Sweeps: an experiment many times, while its keys vary."""

from __future__ import annotations

import io
import json
import math
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _goodqueue, _toml
from ._errors import MachineError, UsageError
from ._store import Place, open_place

if TYPE_CHECKING:
    import polars

#: The folder of the parts.
_PARTS = "parts"


class SweepResult:
    """What a sweep showed.

    findings  a dict: main effects with intervals, response surface, Pareto front, best point, failed runs
    parquet   all runs as Parquet, in bytes, made when asked for; `to_pandas()` and `to_polars()` read them

    `print(result)` shows the text of the command `goodqueue sweep`.
    """

    def __init__(self, study: _goodqueue.Study, warnings: list[str]) -> None:
        self._json, self._text, self._page = study.findings()
        self._study = study
        self.findings: dict[str, Any] = json.loads(self._json)
        self.warnings = warnings

    @property
    def parquet(self) -> bytes:
        """All runs as Parquet: a row for each point, queue and seed."""
        with tempfile.TemporaryDirectory(prefix="goodqueue-") as folder:
            file = pathlib.Path(folder) / "points.parquet"
            self._study.write_table(os.fspath(file))
            return file.read_bytes()

    def to_pandas(self) -> Any:
        """All runs: a row for each point, queue and seed. It needs pandas and pyarrow."""
        import pandas  # type: ignore[import-untyped,unused-ignore]

        return pandas.read_parquet(io.BytesIO(self.parquet))

    def to_polars(self) -> polars.DataFrame:
        """All runs: a row for each point, queue and seed. It needs polars."""
        import polars

        return polars.read_parquet(io.BytesIO(self.parquet))

    def html(self) -> str:
        """The page of the command."""
        return self._page

    def crossed(self, *limits: str) -> list[tuple[str, str, str, bool]]:
        """The points whose mean over seeds does not meet limits such as "rise_p95 > 30ms".

        Each is (limit, queue, point, whether it is known: it is not where a run failed).
        """
        return self._study.crossed(list(limits))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        found = self.findings
        runs = f"{found['runs']} runs, {len(found['failed'])} failed"
        return f"<goodqueue.SweepResult: {found['design']}, {runs}>"

    def _write(self, place: Place) -> None:
        place.put("findings.json", self._json.encode())
        # It may be larger than memory.
        place.fill("points.parquet", self._study.write_table)
        place.put("report.html", self._page.encode())


def sweep(
    grid: str | os.PathLike[str] | Mapping[str, Any],
    *,
    directory: str | os.PathLike[str] | None = None,
    client: Any = None,
    threads: int = 0,
    progress: Callable[[float], object] | None = None,
) -> SweepResult:
    """Runs an experiment many times while keys of it vary, and returns what that shows.

        result = goodqueue.sweep({
            "test": {"name": "rrul", "length": "10s"},
            "queues": ["codel", "fq_codel"],
            "repetitions": 3,
            "sweep": {"axis": [
                {"key": "link.rate", "from": "5mbit", "to": "80mbit", "steps": 5, "scale": "log"},
                {"key": "link.rtt", "values": ["10ms", "40ms", "160ms"]},
            ]},
        }, directory="results")
        print(result)
        result.to_pandas()

    grid: an experiment file with a table [sweep] (docs/sweep.md), or the same as a dict
    directory: where the results go, part by part, with page and findings; what is there is not run again.
        A path, or a URL that fsspec knows ("s3://bucket/results")
    client: a `distributed.Client`, or the address of a Dask scheduler ("tcp://scheduler:8786"): the workers
        run the points and write the parts. They need this package in the same version, and must reach
        `directory`
    threads: runs at a time without a client; 0: one for each processor
    progress: called some times a second with the share that is done, from 0 to 1

    With `design = "bayes"` Optuna chooses the points, one after the other; it must be installed.

    A run that fails or panics is in `findings["failed"]`, and the others go on. Raises UsageError if the grid
    is wrong, before anything is written; MachineError if results cannot be written. Ctrl-C keeps what was
    run.
    """
    text, name, folder = _text(grid)
    study = _study(text, name, folder)
    is_search, *_ = study.search()
    if client is not None and directory is None:
        raise UsageError("client: its workers write the results: name a directory that they all reach")
    if is_search:
        if client is not None:
            raise UsageError('client: with design = "bayes" each point needs those before it; leave one out')
        place = None if directory is None else open_place(directory)
        said = _search(study, place, progress)
    elif client is not None:
        from . import _cluster

        assert directory is not None
        place = open_place(directory)
        said = _read(study, place)
        study.plan(threads)
        said += _cluster.run(study, (text, name, folder), place, client, progress)
    elif directory is not None and "://" in os.fspath(directory):
        place = open_place(directory)
        said = _read(study, place)
        study.plan(threads)
        _in_parts(study, _study(text, name, folder), place, progress)
    else:
        study.plan(threads)
        said = study.run_here(None if directory is None else os.fspath(directory), threads, progress)
        place = None if directory is None else open_place(directory)
    result = SweepResult(study, [*study.warnings(), *said])
    if place is not None:
        result._write(place)
    return result


def _text(grid: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[str, str, str]:
    """The text of a grid, its name in errors, and the folder of files that it names."""
    if isinstance(grid, Mapping):
        return _toml.text(grid)[0], "sweep", ""
    path = pathlib.Path(grid)
    try:
        return path.read_text(encoding="utf-8"), str(path), str(path.parent)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _study(text: str, name: str, folder: str) -> _goodqueue.Study:
    return _goodqueue.Study(text, name, folder)


def _read(study: _goodqueue.Study, place: Place) -> list[str]:
    """Takes in the parts of a place; says which cannot be read."""
    said = []
    for name in place.names(_PARTS):
        why = study.read(place.get(f"{_PARTS}/{name}"))
        if why is not None:
            said.append(f"{name}: {why}; its points run again")
    return said


def _in_parts(
    study: _goodqueue.Study,
    runner: _goodqueue.Study,
    place: Place,
    progress: Callable[[float], object] | None,
) -> None:
    """Runs all on threads, and writes the parts to a place that is no folder. `runner` is a study like the
    other: the threads hold it while this one takes in their rows."""
    from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

    threads = os.cpu_count() or 1
    while (todo := study.todo())[0]:
        speed = _goodqueue.sweep_speed()
        left, done = todo[1], 0.0
        running: dict[Future[tuple[str, bytes, int]], float] = {}
        with ThreadPoolExecutor(threads) as pool:
            try:
                while True:
                    while len(running) < 2 * threads:
                        chunk = study.chunk(chunk_cost(left, todo[1], threads, speed))
                        if not chunk:
                            break
                        future = pool.submit(runner.run, chunk)
                        running[future] = sum(unit[5] for unit in chunk)
                        left -= running[future]
                    if not running:
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        name, part, _ = future.result()
                        place.put(f"{_PARTS}/{name}", part)
                        study.read(part)
                        done += running.pop(future)
                        if progress is not None:
                            progress(min(done / todo[1], 1.0))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


#: The longest chunk, and one that is long against its own cost (messages, its part: some 10 ms), s.
MOST_S, LEAST_S = 4.0, 0.2


def chunk_cost(left: float, cost: float, workers: int, speed: float) -> float:
    """The cost of the next chunk of a round that costs `cost`, of which `left` is not given out yet.

    It is a third of a worker's share of what is left, so chunks become smaller, and the workers end
    together even where the prediction is wrong (guided self-scheduling: Polychronopoulos and Kuck, IEEE
    Transactions on Computers 36, 1987). It is at least LEAST_S of predicted time, but for a round so short
    that a worker would have less than 16 of these, and at most MOST_S. `speed`: seconds for a unit of cost.
    """
    workers = max(workers, 1)
    least = min(LEAST_S / speed, cost / (16 * workers))
    return min(max(left / (3 * workers), least), MOST_S / speed)


def _search(
    study: _goodqueue.Study, place: Place | None, progress: Callable[[float], object] | None
) -> list[str]:
    """Optuna chooses the points."""
    try:
        import optuna
    except ImportError:
        words = 'design = "bayes": it needs Optuna: pip install optuna, or goodqueue[optuna]'
        raise MachineError(words) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    said = [] if place is None else _read(study, place)
    _, points, seed, is_most = study.search()
    sampler = optuna.samplers.TPESampler(seed=seed % 2**32)
    search = optuna.create_study(direction="maximize" if is_most else "minimize", sampler=sampler)
    axes = study.axes()
    for number in range(points):
        trial = search.ask()
        shares = []
        for name, length in axes:
            if length is None:
                shares.append(trial.suggest_float(name, 0.0, 1.0))
            else:
                shares.append((trial.suggest_categorical(name, list(range(length))) + 0.5) / length)
        first, last = study.choose(shares)
        part = study.run_range(first, last)
        if part is not None and place is not None:
            place.put(f"{_PARTS}/{part[0]}", part[1])
        value = study.value(first, last)
        if value is None:
            search.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            search.tell(trial, value)
        if progress is not None:
            progress((number + 1) / points)
    # Fresh seeds of the best.
    while study.todo()[0]:
        name, content, _ = study.run(study.chunk(math.inf))
        study.read(content)
        if place is not None:
            place.put(f"{_PARTS}/{name}", content)
    return said


def limits_kept(result: SweepResult, limits: Iterable[str]) -> list[str]:
    """A line for each limit that a point does not keep."""
    return [
        f"{queue}, {words}: {limit}? {'YES' if is_known else 'not known'}"
        for limit, queue, words, is_known in result.crossed(*limits)
    ]
