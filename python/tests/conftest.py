"""What the tests share. A test that cannot run prints a line `SKIPPED: why`, which ./check counts."""

import os
import pathlib
import shutil

import matplotlib
import pytest

import goodqueue

matplotlib.use("Agg")

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(f"SKIPPED: python: {report.nodeid}: {report.longrepr[2]}")


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def command():
    """The command `goodqueue`, to compare with: $GOODQUEUE_COMMAND, or as cargo built it last."""
    built = [ROOT / "target" / profile / "goodqueue" for profile in ("release", "debug")]
    found = os.environ.get("GOODQUEUE_COMMAND") or shutil.which("goodqueue")
    found = found or next((str(path) for path in built if path.exists()), None)
    if found is None:
        pytest.skip("no command `goodqueue` to compare with: cargo build")
    return found


@pytest.fixture(scope="session")
def result():
    """Three queues with three seeds, and a call beside them."""
    return goodqueue.run(
        "rrul",
        rate="20mbit",
        rtt="20ms",
        queues=["pfifo:1000", "fq_codel", "cake"],
        seeds=range(3),
        length="8s",
        idle="2s",
        with_="voip",
    )
