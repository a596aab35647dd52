"""The type stubs agree with what there is, and a program that uses the package is checked."""

import subprocess
import sys

PROGRAM = """
import goodqueue

result = goodqueue.run("rrul", queues=["codel", goodqueue.Queue("cake")], seeds=range(3))
reveal_type(result)
reveal_type(result.summary["rise_p95_ms"])
reveal_type(goodqueue.Queue("codel").dequeue(0))
goodqueue.run(rates="5mbit")
goodqueue.Packet("x")
"""


def mypy(*arguments, module="mypy", **options):
    return subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, **options)


def test_the_stubs_are_true(tmp_path):
    done = mypy("goodqueue", "--concise", module="mypy.stubtest", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_is_checked(tmp_path):
    done = mypy("--strict", "-p", "goodqueue", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_is_checked(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = mypy("--strict", "program.py", cwd=tmp_path)
    for words in ['"goodqueue._result.Result"', 'list[Any]', 'Packet | None', '"rates"', '"Packet" has incompatible type "str"']:
        assert words in done.stdout, f"{words}\n{done.stdout}"
