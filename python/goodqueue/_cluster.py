"""Sweeps on the workers of a Dask scheduler.

A worker runs a chunk of units and writes its part; only the part's name goes through the scheduler. So a
worker that is killed, or a scheduler that starts again, loses the chunks that were running and nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import pathlib
import socket
import tempfile
import time
from collections.abc import Callable
from typing import Any

from . import _goodqueue
from ._errors import Error, MachineError
from ._store import Place, open_place
from ._sweep import _PARTS, chunk_cost

#: How long a scheduler may be away, s.
PATIENCE_S = 120.0
#: How long to wait for the answer of a chunk that has ended, s. The answer may be lost with its worker, and
#: made again, behind some chunks of 4 s. Dask (2026.8) sometimes never stops waiting for it.
ANSWER_S = 60.0
#: How long a scheduler may be without workers, s. Those of a queueing system take minutes to start.
WORKERS_S = 600.0
#: Chunks that wait at the scheduler for each worker thread.
AHEAD = 3

#: What a worker that cannot work lacks.
_NEEDS = "workers need this package in the same version, the files that the experiment names, and the folder"

_Text = tuple[str, str, str]
#: Name of the part, its content if it could not be written, why not, failed runs, seconds of work.
_Done = tuple[str, bytes | None, str, int, float]


@functools.lru_cache(maxsize=4)
def _study(text: str, name: str, folder: str) -> _goodqueue.Study:
    return _goodqueue.Study(text, name, folder)


@functools.lru_cache(maxsize=4)
def _place(url: str) -> Place:
    return open_place(url)


def work(version: str, text: _Text, url: str, units: list[_goodqueue._Unit]) -> _Done:
    """On a worker: runs units and writes their part."""
    since = time.perf_counter()
    if version != _goodqueue.__version__:
        words = (
            f"{socket.gethostname()} has goodqueue {_goodqueue.__version__}, and this sweep is of {version}"
        )
        raise MachineError(words)
    name, part, failed = _study(*text).run(units)
    try:
        _place(url).put(f"{_PARTS}/{name}", part)
    except MachineError as error:
        # A full disk: the part goes back, and the parent tries.
        return name, part, str(error), failed, time.perf_counter() - since
    return name, None, "", failed, time.perf_counter() - since


def run(
    study: _goodqueue.Study,
    text: _Text,
    place: Place,
    client: Any,
    progress: Callable[[float], object] | None,
) -> list[str]:
    """Runs all that is to be done; returns what is to be said."""
    try:
        import distributed
    except ImportError:
        words = "client: it needs Dask: pip install distributed, or goodqueue[dask]"
        raise MachineError(words) from None
    own = None
    if isinstance(client, str):
        address = client
        own = client = _connected(distributed, address, None)
    else:
        address = client.scheduler.address
    cluster = _Cluster(distributed, client, address, text, place)
    try:
        while (todo := study.todo())[0]:
            cluster.round(study, todo[1], progress)
        cluster.end()
    finally:
        if own is not None or cluster.client is not client:
            with contextlib.suppress(Exception):
                cluster.client.close(timeout=2)
    return cluster.said


def _connected(distributed: Any, address: str, since: float | None) -> Any:
    """A client of the scheduler at an address, within the patience if there was one before."""
    while True:
        try:
            return distributed.Client(address, timeout="5s")
        except (OSError, TimeoutError) as error:
            if since is None or time.monotonic() - since > PATIENCE_S:
                raise MachineError(f"the scheduler at {address} does not answer: {error}") from None
            time.sleep(0.5)


class _Cluster:
    """A scheduler, and what is running there."""

    def __init__(self, distributed: Any, client: Any, address: str, text: _Text, place: Place) -> None:
        self.distributed, self.client, self.address = distributed, client, address
        self.text, self.place = text, place
        self.said: list[str] = []
        self.unwritten: dict[str, bytes] = {}
        self.why = ""
        self.had_workers = time.monotonic()

    def round(
        self,
        study: _goodqueue.Study,
        cost: float,
        progress: Callable[[float], object] | None,
    ) -> None:
        left, done = cost, 0.0
        # Of this machine; of the workers as soon as one has answered.
        speed, seconds = _goodqueue.sweep_speed(), 0.0

        def following() -> list[_goodqueue._Unit]:
            nonlocal left
            chunk = study.chunk(chunk_cost(left, cost, threads, speed))
            left -= sum(unit[5] for unit in chunk)
            return chunk

        # Chunks that run again, and the next one of the round.
        waiting: list[list[_goodqueue._Unit]] = []
        running: dict[Any, list[_goodqueue._Unit]] = {}
        # Units that were at workers when these died. Each runs again alone.
        suspects: list[list[_goodqueue._Unit]] = []
        alone = None
        while True:
            threads = self._threads()
            if not waiting and (chunk := following()):
                waiting.append(chunk)
            if not (waiting or running or suspects):
                return
            is_free = not waiting and not running
            try:
                while (waiting and len(running) < AHEAD * threads) or (is_free and suspects and not running):
                    chunk = suspects.pop() if is_free else waiting.pop()
                    future = self._submit(chunk)
                    running[future] = chunk
                    alone = future if is_free else alone
                    if not waiting and not is_free and (chunk := following()):
                        waiting.append(chunk)
                with contextlib.suppress(TimeoutError, self.distributed.TimeoutError):
                    self.distributed.wait(list(running), timeout=1, return_when="FIRST_COMPLETED")
            except (OSError, RuntimeError, self.distributed.CancelledError):
                pass  # The states of the futures say what happened.
            for future in [future for future in running if future.status != "pending"]:
                chunk = running.pop(future)
                if future.status == "finished":
                    try:
                        seconds += self._take(study, future.result(ANSWER_S))
                    except (OSError, self.distributed.CancelledError):
                        # The scheduler or the worker went away first. A TimeoutError is an OSError.
                        waiting.append(chunk)
                        continue
                    done += sum(unit[5] for unit in chunk)
                    speed = seconds / done
                    if progress is not None:
                        progress(min(done / cost, 1.0))
                elif future.status == "error":
                    error = future.exception()
                    if isinstance(error, Error | ImportError):
                        raise MachineError(f"a worker cannot run the points: {error}: {_NEEDS}") from None
                    if isinstance(error, self.distributed.KilledWorker) and future is not alone:
                        suspects += [[unit] for unit in chunk]
                    else:
                        waiting += self._failed(study, error, chunk)
                else:
                    # The scheduler forgot it.
                    waiting.append(chunk)
            if self.client.status != "running" or self._is_gone():
                waiting += running.values()
                running.clear()
                self._again(study)
                waiting = self._still(study, waiting)

    def _submit(self, chunk: list[_goodqueue._Unit]) -> Any:
        version = _goodqueue.__version__
        return self.client.submit(work, version, self.text, self.place.url, chunk, pure=False)

    def _threads(self) -> int:
        """The threads of all workers, or 1 while there are none."""
        threads = 0
        with contextlib.suppress(Exception):
            threads = int(sum(self.client.nthreads().values()))
        now = time.monotonic()
        if threads > 0:
            self.had_workers = now
        elif now - self.had_workers > WORKERS_S:
            words = f"the scheduler at {self.address} has had no worker for {WORKERS_S:.0f} s"
            raise MachineError(f"{words}: start one, and run the sweep again")
        return max(threads, 1)

    def _is_gone(self) -> bool:
        """Whether the scheduler does not answer."""
        comm = getattr(self.client, "scheduler_comm", None)
        return comm is None or comm.closed()

    def _again(self, study: _goodqueue.Study) -> None:
        """Waits for the scheduler, and takes in what workers wrote meanwhile."""
        since = time.monotonic()
        self.said.append(f"the scheduler at {self.address} went away; waiting for it")
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)
        self.client = _connected(self.distributed, self.address, since)
        for name in self.place.names(_PARTS):
            study.read(self.place.get(f"{_PARTS}/{name}"))

    def _still(
        self, study: _goodqueue.Study, chunks: list[list[_goodqueue._Unit]]
    ) -> list[list[_goodqueue._Unit]]:
        """Of chunks, what is not known yet."""
        kept = (study.still(chunk) for chunk in chunks)
        return [chunk for chunk in kept if chunk]

    def _take(self, study: _goodqueue.Study, found: _Done) -> float:
        """Takes in a part; returns the seconds that its units took."""
        name, part, why, _, seconds = found
        if part is None:
            study.read(self.place.get(f"{_PARTS}/{name}"))
        else:
            study.read(part)
            self._put(name, part, why)
        return seconds

    def _put(self, name: str, part: bytes, why: str) -> None:
        try:
            self.place.put(f"{_PARTS}/{name}", part)
        except MachineError as error:
            self.unwritten[name] = part
            self.why = why or str(error)

    def _failed(
        self, study: _goodqueue.Study, error: BaseException, chunk: list[_goodqueue._Unit]
    ) -> list[list[_goodqueue._Unit]]:
        """A chunk that did not come back, whose units run one by one; or one unit, which has failed."""
        if len(chunk) > 1:
            return [[unit] for unit in chunk]
        words = str(error).strip().splitlines()
        why = f"{type(error).__name__}: {words[0] if words else 'no words'}"
        if isinstance(error, self.distributed.KilledWorker):
            why = "its worker was killed each time that it ran"
        name, part = study.failed(chunk[0], why)
        study.read(part)
        self._put(name, part, "")
        return []

    def end(self) -> None:
        """Writes what could not be written before."""
        for name, part in list(self.unwritten.items()):
            with contextlib.suppress(MachineError):
                self.place.put(f"{_PARTS}/{name}", part)
                del self.unwritten[name]
        if not self.unwritten:
            return
        folder = pathlib.Path(tempfile.mkdtemp(prefix="goodqueue-parts-"))
        for name, part in self.unwritten.items():
            (folder / name).write_bytes(part)
        cure = f"make room, move the files of {folder} into {self.place.url}/parts, and sweep again"
        raise MachineError(f"{self.why}; {len(self.unwritten)} parts are kept in {folder}: {cure}")
