"""The type stubs agree with what there is, and a program that uses the package is checked."""

import subprocess
import sys

import pytest

PROGRAM = """
import goodqueue

result = goodqueue.run("rrul", queues=["codel", goodqueue.Queue("cake")], seeds=range(3))
reveal_type(result)
reveal_type(result.summary["rise_p95_ms"])
reveal_type(goodqueue.Queue("codel").dequeue(0))
goodqueue.run(rates="5mbit")
goodqueue.Packet("x")
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs a module of mypy's in a folder whose cache all share."""
    folder = tmp_path_factory.mktemp("mypy")
    (folder / "program.py").write_text(PROGRAM)

    def run(module, *words):
        command = [sys.executable, "-m", module, *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder)

    run.folder = folder
    return run


def test_the_package_is_checked(mypy):
    done = mypy("mypy", "--strict", "-p", "goodqueue")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_are_true(mypy):
    # A queue of your own may keep what it likes on a packet.
    allowed = mypy.folder / "allowed"
    # What a cache takes is known at run time alone.
    allowed.write_text("goodqueue._goodqueue.Packet.__[gs]etattr__\ngoodqueue._cluster._(study|place)\n")
    done = mypy("mypy.stubtest", "goodqueue", "--concise", "--allowlist", allowed)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_is_checked(mypy):
    done = mypy("mypy", "--strict", "program.py")
    for words in [
        '"goodqueue._result.Result"',
        "list[Any]",
        "Packet | None",
        '"rates"',
        '"Packet" has incompatible type "str"',
    ]:
        assert words in done.stdout, f"{words}\n{done.stdout}"
