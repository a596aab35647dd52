"""The Python code has one format, and no line is longer than 110 columns."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("words", [["format", "--check"], ["check"]], ids=["format", "lints"])
def test_python(root, words):
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *words, root / "python"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
