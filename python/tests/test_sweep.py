"""Sweeps: here, and on a cluster whose workers and scheduler die."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import goodqueue
from goodqueue import _cluster, _sweep

distributed = pytest.importorskip("distributed", reason="goodqueue[dask] is not installed")


def grid(**other):
    """Four points with two queues and two seeds."""
    axes = [
        {"key": "link.rate", "values": ["2mbit", "8mbit"]},
        {"key": "link.rtt", "values": ["10ms", "40ms"]},
    ]
    return {
        "queues": ["pfifo:100", "fq_codel"],
        "seeds": [1, 2],
        "test": {"name": "tcp_1up", "length": "3s", "idle": "500ms"},
        "sweep": {"verify": 2, "axis": axes, **other},
    }


def many(points, length="20s", queue="fq_codel"):
    """Points that take some seconds together."""
    return {
        "queues": [queue],
        "test": {"name": "rrul_be", "length": length, "idle": "500ms"},
        "sweep": {
            "design": "latin",
            "points": points,
            "verify": 0,
            "axis": [{"key": "link.rate", "from": "20mbit", "to": "50mbit"}],
        },
    }


def parts(directory):
    return sorted(path.name for path in (directory / "parts").glob("*.parquet"))


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def test_it_is_that_of_the_command(tmp_path, command):
    text, _ = goodqueue._toml.text(grid())
    file = tmp_path / "grid.toml"
    file.write_text(text)
    here = goodqueue.sweep(file, directory=tmp_path / "here")
    done = subprocess.run(
        [command, "sweep", file, "-o", tmp_path / "there"], capture_output=True, text=True, check=True
    )
    assert str(here) == done.stdout
    for name in ("findings.json", "points.parquet", "report.html"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    # What one left, the other takes over.
    before = parts(tmp_path / "there")
    assert str(goodqueue.sweep(file, directory=tmp_path / "there")) == done.stdout
    assert parts(tmp_path / "there") == before


def test_tables():
    result = goodqueue.sweep(grid())
    table = result.to_pandas()
    assert len(table) == 4 * 2 * 2 + 2 and table["fresh"].sum() == 2
    assert set(table["link.rate_bps"]) == {2e6, 8e6} and set(table["link.rtt_ms"]) == {10.0, 40.0}
    assert result.to_polars().height == len(table)
    assert result.findings["best"]["queue"] == "fq_codel"
    assert len(result.crossed("rise_p95 > 10s")) == 0
    assert "<svg" in result.html() and "SweepResult" in repr(result)


def test_wrong_grids_are_told_before_anything_is_written(tmp_path):
    for change, part in (
        ({"axis": [{"key": "link.rt", "values": ["1ms"]}]}, "link.rt"),
        ({"axis": [{"key": "link.rtt", "values": ["10"]}]}, "a number without a unit"),
        ({"design": "latin"}, "needs `points`"),
    ):
        with pytest.raises(goodqueue.UsageError, match=part):
            goodqueue.sweep(grid(**change), directory=tmp_path / "out")
        assert not (tmp_path / "out").exists()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "letter.txt").write_text("dear")
    with pytest.raises(goodqueue.UsageError, match="other files"):
        goodqueue.sweep(grid(), directory=tmp_path / "taken")


def test_two_workers_find_what_one_machine_finds(tmp_path, client):
    here = goodqueue.sweep(grid())
    shares = []
    there = goodqueue.sweep(grid(), directory=tmp_path / "out", client=client, progress=shares.append)
    assert str(there) == str(here)
    assert there.parquet == here.parquet
    assert shares[-1] == 1.0
    assert (tmp_path / "out" / "report.html").exists()
    # A second run sends nothing.
    before = parts(tmp_path / "out")
    stamps = [(tmp_path / "out" / "parts" / name).stat().st_mtime_ns for name in before]
    assert str(goodqueue.sweep(grid(), directory=tmp_path / "out", client=client)) == str(here)
    assert parts(tmp_path / "out") == before
    assert [(tmp_path / "out" / "parts" / name).stat().st_mtime_ns for name in before] == stamps


def test_a_store_of_fsspec(tmp_path, client):
    url = f"file://{tmp_path}/store"
    here = goodqueue.sweep(grid())
    assert str(goodqueue.sweep(grid(), directory=url, client=client)) == str(here)
    assert parts(tmp_path / "store")
    assert str(goodqueue.sweep(grid(), directory=url)) == str(here)
    assert str(goodqueue.sweep(grid(), directory="memory://sweep")) == str(here)


def chunks(points, workers, speed):
    """The chunks of a round, with the study's cost of each unit."""
    text, name, folder = _sweep._text(many(points))
    study = _sweep._study(text, name, folder)
    study.plan(1)
    count, cost = study.todo()
    left, found = cost, []
    while chunk := study.chunk(_sweep.chunk_cost(left, cost, workers, speed)):
        found.append(chunk)
        left -= sum(unit[5] for unit in chunk)
    assert len({unit[4] for chunk in found for unit in chunk}) == sum(map(len, found)) == count
    assert left == pytest.approx(0, abs=1e-6 * cost)
    return cost, found


def test_chunks_become_smaller_and_the_workers_end_together():
    workers, speed = 2, 10.0 / chunks(1000, 2, 1e-9)[0]
    cost, found = chunks(1000, workers, speed)
    costs = [sum(unit[5] for unit in chunk) for chunk in found]
    largest = max(unit[5] for chunk in found for unit in chunk)
    assert costs[0] <= cost / (3 * workers) + largest
    # The last ones are short, and there are few of them, although all is 10 s of predicted time.
    assert max(costs[-4:]) <= _sweep.LEAST_S / speed + largest and len(found) < 30
    # Units take a third to three times as long as predicted, by the point, and one worker is half as fast.
    ends = [0.0] * workers
    for chunk in found:
        one = ends.index(min(ends))
        seconds = sum(unit[5] * speed * 3 ** (unit[0] % 3 - 1) for unit in chunk)
        ends[one] += seconds * (1 + one)
    # So they end within one of the last chunks, at the slower worker: not within a sixteenth of all.
    longest = 2 * (1 / 3 + 1 + 3) / 3 * (_sweep.LEAST_S + largest * speed)
    assert max(ends) - min(ends) <= longest < sum(ends) / 16, ends


def test_a_short_round_has_work_for_all_and_a_chunk_is_never_long():
    # All of it would be shorter than the shortest chunk of a long round.
    cost, found = chunks(200, 2, 1e-12)
    costs = [sum(unit[5] for unit in chunk) for chunk in found]
    largest = max(unit[5] for chunk in found for unit in chunk)
    assert len(found) >= 4 * 2 and max(costs[-2:]) <= cost / 32 + largest
    assert _sweep.chunk_cost(1e6, 1e6, 2, 1.0) == _sweep.MOST_S


def test_a_killed_worker_loses_nothing(tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = []

        def kill():
            while not parts(tmp_path / "out"):
                time.sleep(0.02)
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

        (tmp_path / "out" / "parts").mkdir(parents=True)
        killer = threading.Thread(target=kill)
        killer.start()
        result = goodqueue.sweep(many(300), directory=tmp_path / "out", client=client)
        killer.join()
    assert killed
    assert (result.findings["runs"], result.findings["missing"]) == (300, 0)
    assert result.findings["failed"] == []


def test_a_point_that_kills_its_workers_is_named(tmp_path, client, monkeypatch):
    """What a simulation that aborts its process does, a patched worker does here."""
    result = goodqueue.sweep(grid(), directory=tmp_path / "whole", client=client)
    assert result.findings["failed"] == []
    real = _cluster.work
    monkeypatch.setattr(_cluster, "work", deadly(real))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as own,
    ):
        result = goodqueue.sweep(grid(), directory=tmp_path / "out", client=own)
    failed = result.findings["failed"]
    assert [(one["words"], one["seed"]) for one in failed] == [("link.rate = 8mbit, link.rtt = 40ms", 2)]
    assert failed[0]["why"] == "its worker was killed each time that it ran"
    assert result.findings["missing"] == 0


def test_an_answer_that_never_comes_is_asked_for_again(tmp_path, client, monkeypatch):
    """Dask may wait for ever for what a worker had when it was killed."""
    lost, real = [], distributed.Future.result

    def result(self, timeout=None):
        if not lost:
            lost.append(timeout)
            raise TimeoutError
        return real(self, timeout)

    monkeypatch.setattr(distributed.Future, "result", result)
    found = goodqueue.sweep(grid(), directory=tmp_path / "out", client=client)
    assert lost == [_cluster.ANSWER_S]
    assert (found.findings["failed"], found.findings["missing"]) == ([], 0)


def test_a_cluster_without_workers_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "WORKERS_S", 1.0)
    with (
        distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as own,
        pytest.raises(goodqueue.MachineError, match="has had no worker for 1 s: start one"),
    ):
        goodqueue.sweep(grid(), directory=tmp_path / "out", client=own)


def deadly(real):
    def work(version, text, url, units):
        if any((unit[0], unit[1]) == (3, 2) for unit in units):
            import os
            import signal

            os.kill(os.getpid(), signal.SIGKILL)
        return real(version, text, url, units)

    return work


def start(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def free_port():
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_a_scheduler_that_starts_again_loses_nothing(tmp_path):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"

    def scheduler():
        return start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")

    def worker():
        return start("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    running = [scheduler(), worker(), worker()]
    again = []

    def restart():
        while not parts(tmp_path / "out"):
            time.sleep(0.02)
        for process in running:
            process.kill()
            process.wait()
        time.sleep(1)
        again.extend([scheduler(), worker(), worker()])

    (tmp_path / "out" / "parts").mkdir(parents=True)
    restarter = threading.Thread(target=restart)
    restarter.start()
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                result = goodqueue.sweep(many(300), directory=tmp_path / "out", client=address)
                break
            except goodqueue.MachineError:
                # Not up yet.
                assert time.monotonic() < deadline and not again
    finally:
        restarter.join()
        for process in running + again:
            process.kill()
            process.wait()
    assert any("went away" in line for line in result.warnings)
    assert (result.findings["runs"], result.findings["missing"]) == (300, 0)


def test_a_worker_of_another_version_is_named(tmp_path, client, monkeypatch):
    real = _cluster._Cluster._submit

    def submit(self, chunk):
        with monkeypatch.context() as other:
            other.setattr(goodqueue._goodqueue, "__version__", "9.9.9")
            return real(self, chunk)

    monkeypatch.setattr(_cluster._Cluster, "_submit", submit)
    words = f"has goodqueue {goodqueue.__version__}, and this sweep is of 9.9.9.*in the same version"
    with pytest.raises(goodqueue.MachineError, match=words):
        goodqueue.sweep(grid(), directory=tmp_path / "out", client=client)
    # No point counts as failed: with right workers the sweep is whole.
    assert parts(tmp_path / "out") == []
    monkeypatch.undo()
    result = goodqueue.sweep(grid(), directory=tmp_path / "out", client=client)
    assert (result.findings["failed"], result.findings["missing"]) == ([], 0)


def test_a_worker_without_the_package_is_named(tmp_path, client, monkeypatch):
    def submit(self, chunk):
        def work(*_):
            import a_package_that_is_not_there  # noqa: F401

        return self.client.submit(work, chunk, pure=False)

    monkeypatch.setattr(_cluster._Cluster, "_submit", submit)
    with pytest.raises(goodqueue.MachineError, match="a_package_that_is_not_there.*workers need"):
        goodqueue.sweep(grid(), directory=tmp_path / "out", client=client)
    assert parts(tmp_path / "out") == []


def test_the_command_sweeps_on_a_cluster(tmp_path, command, client):
    text, _ = goodqueue._toml.text(grid())
    file = tmp_path / "grid.toml"
    file.write_text(text)
    # The command calls `python3`: that of this environment.
    folder = pathlib.Path(sys.executable).parent
    env = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    words = [command, "sweep", file, "--dask", client.scheduler.address]
    done = subprocess.run([*words, "-o", tmp_path / "out"], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout == str(goodqueue.sweep(file)) + "\n" or done.stdout == str(goodqueue.sweep(file))
    assert parts(tmp_path / "out")
    words += ["-o", tmp_path / "out", "--fail-if", "rise_p95 > 100ms", "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, env=env)
    assert done.returncode == 1 and "rise_p95 > 100ms? YES" in done.stderr, done.stderr


def test_a_full_disk_loses_nothing(tmp_path, cluster):
    """Parts fit into a small tmpfs until it is full."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "none", disk], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("a small tmpfs needs root")
    try:
        with distributed.Client(cluster) as client:
            with pytest.raises(goodqueue.MachineError, match="No space left") as error:
                goodqueue.sweep(many(200, "1s"), directory=disk / "out", client=client)
        kept = pathlib.Path(str(error.value).split("parts are kept in ")[1].split(": make room")[0])
        room = tmp_path / "room"
        (room / "parts").mkdir(parents=True)
        for folder in (disk / "out" / "parts", kept):
            for path in folder.glob("*.parquet"):
                (room / "parts" / path.name).write_bytes(path.read_bytes())
        before = parts(room)
        result = goodqueue.sweep(many(200, "1s"), directory=room)
        assert (result.findings["runs"], parts(room)) == (200, before)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_optuna_chooses_the_points_and_repeats(tmp_path):
    pytest.importorskip("optuna", reason="goodqueue[optuna] is not installed")
    space = {
        "test": {"name": "tcp_1up", "length": "2s", "idle": "500ms"},
        "variant": [{"name": "ours", "queue": "codel"}],
        "sweep": {
            "design": "bayes",
            "points": 12,
            "verify": 2,
            "minimise": "rise_mean",
            "axis": [
                {
                    "key": "variant.ours.queue",
                    "name": "target",
                    "text": "codel,target={}",
                    "from": "1ms",
                    "to": "100ms",
                    "scale": "log",
                },
                {"key": "link.rtt", "values": ["10ms", "40ms"]},
            ],
        },
    }
    first = goodqueue.sweep(space, directory=tmp_path / "out")
    assert first.findings["points"] == 12 and len(first.findings["best"]["fresh"]) == 2
    before = parts(tmp_path / "out")
    again = goodqueue.sweep(space, directory=tmp_path / "out")
    assert str(again) == str(first) and parts(tmp_path / "out") == before


def test_the_command_of_the_module(tmp_path):
    text, _ = goodqueue._toml.text(grid())
    file = tmp_path / "grid.toml"
    file.write_text(text)
    words = [sys.executable, "-m", "goodqueue", "sweep", file, "-o", tmp_path / "out"]
    done = subprocess.run([*words, "--fail-if", "rise_p95 > 100ms"], capture_output=True, text=True)
    assert done.returncode == 1 and "rise_p95 > 100ms? YES" in done.stderr, done.stderr
    assert done.stdout.startswith("grid of 4 points: 18 runs")
    file.write_text(text.replace("40ms", "40"))
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2 and "a number without a unit" in done.stderr
