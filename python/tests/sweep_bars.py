"""What a sweep costs, measured in one place: prints the table of docs/sweep.md.

    target/tools/wheel/bin/python python/tests/sweep_bars.py target/release/goodqueue

It takes some minutes, and needs a machine that does nothing else. The tests use its parts, for ratios and bytes.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import goodqueue

#: A sweep on a cluster in a process of its own, which says how much memory it needed at most, kB.
PARENT = """
import json, resource, sys
import goodqueue
goodqueue.sweep(json.loads(sys.argv[1]), directory=sys.argv[2], client=sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def grid(points, length, idle="500ms", rate="20mbit"):
    """A sweep of this many points, each `length` of four uploads and four downloads through FQ-CoDel."""
    axes = [
        {"key": "variant.ours.queue", "text": "fq_codel,target={}", "name": "target", "from": "1ms", "to": "50ms"},
        {"key": "link.rtt", "from": "10ms", "to": "109ms"},
    ]
    return {
        "test": {"name": "rrul_be", "length": length, "idle": idle},
        "link": {"rate": rate},
        "variant": [{"name": "ours", "queue": "fq_codel"}],
        "sweep": {"design": "latin", "points": points, "verify": 0, "axis": axes},
    }


def tiny(points):
    """Points of 10 ms, in most of which no flow connects: what remains is what each point costs by itself."""
    return grid(points, "10ms", "0s")


def write(folder, sweep):
    """The file of a sweep."""
    file = pathlib.Path(folder) / "grid.toml"
    file.write_text(goodqueue._toml.text(sweep)[0])
    return file


def run(words):
    """Runs a program to its end: seconds, seconds of processor time, and its most memory in bytes."""
    since = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (words, process.returncode)
    return time.perf_counter() - since, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def of_command(command, sweep, *words):
    """Runs a sweep with the command, into a new folder: as `run`."""
    with tempfile.TemporaryDirectory() as folder:
        file = write(folder, sweep)
        return run([command, "sweep", file, "--quiet", "-o", f"{folder}/out", *words])


@contextlib.contextmanager
def scheduler(workers):
    """The address of a Dask scheduler with workers of one thread, all of them processes of their own."""
    import distributed

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    words = [
        ["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
        *[["dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]] * workers,
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [
        subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *rest], **quiet)
        for name, *rest in words
    ]
    try:
        for _ in range(60):
            with contextlib.suppress(OSError, TimeoutError), distributed.Client(address, timeout="1s") as client:
                client.wait_for_workers(workers, timeout=60)
                break
            time.sleep(0.5)
        yield address
    finally:
        for process in running:
            process.kill()
            process.wait()


def of_dask(address, sweep):
    """Runs a sweep on a cluster, into a new folder: seconds, and the most memory of the parent in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        since = time.perf_counter()
        words = [sys.executable, "-c", PARENT, json.dumps(sweep), f"{folder}/out", address]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return time.perf_counter() - since, int(done.stdout) * 1024


def main(command):
    def row(bar, measured, verdict):
        print(f"| {bar} | {measured} | {verdict} |", flush=True)

    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}\n")
    print("| Bar | Measured | |\n| --- | --- | --- |")

    # The difference of two sweeps leaves out what a sweep costs by itself.
    few, many = (of_command(command, tiny(points), "-j", "1") for points in (500, 3000))
    ms = 1e3 * (many[1] - few[1]) / 2500
    with scheduler(1) as address:
        of_dask(address, tiny(10))
        few, many = (of_dask(address, tiny(points)) for points in (500, 3000))
    of_worker = 1e3 * (many[0] - few[0]) / 2500
    row(
        "overhead of a unit below 5 ms",
        f"with its simulation of 10 ms, {ms:.2f} ms of processor time with threads; {of_worker:.2f} ms of time with a "
        "worker of Dask",
        "held" if max(ms, of_worker) < 5 else "missed",
    )

    def threads(workers):
        return of_command(command, grid(600, "10s"), "-j", str(workers))[0]

    def dask(workers):
        with scheduler(workers) as address:
            of_dask(address, tiny(10))
            return of_dask(address, grid(600, "10s"))[0]

    words, worst = [], 2.0
    for name, takes in (("threads", threads), ("Dask", dask)):
        ratios = [takes(1) / takes(2) for _ in range(3)]
        words.append(f"{name}: {min(ratios):.2f} to {max(ratios):.2f} times")
        worst = min(worst, *ratios)
    measured = f"{'; '.join(words)} (three pairs, 600 points)"
    row("two workers 1.9 times one", measured, "held" if worst >= 1.9 else "missed")

    few, many = (of_command(command, grid(points, "10s"), "-j", "0") for points in (100, 600))
    wall, cpu = ((many[at] - few[at]) / 500 for at in (0, 1))
    row(
        "10 000 points of 10 s at 20 Mbit/s in less than 6 minutes",
        f"{1e4 * wall:.0f} s, {1e4 * cpu:.0f} s of processor time: extrapolated from 500 points",
        "held" if 1e4 * wall < 360 else "missed",
    )

    mib = 1 << 20
    few, many = (of_command(command, tiny(points), "-j", "2")[2] for points in (1000, 10_000))
    with scheduler(2) as address:
        dask_few, dask_many = (of_dask(address, tiny(points))[1] for points in (1000, 10_000))
    row(
        "memory of the parent flat",
        f"the command: {few / mib:.0f} MiB at 1000 points, {many / mib:.0f} MiB at 10 000, {(many - few) / 9000:.0f} bytes a "
        f"point; Python with Dask: {dask_few / mib:.0f} MiB, {dask_many / mib:.0f} MiB, {(dask_many - dask_few) / 9000:.0f} "
        "bytes a point",
        "held" if many < 1.05 * few and dask_many < 1.05 * dask_few else "missed",
    )


if __name__ == "__main__":
    main(sys.argv[1])
