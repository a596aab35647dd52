"""The examples of the documentation run: a page's blocks one after the other, and what a block prints is
the block `text` behind it."""

import contextlib
import io
import re

import pytest

import goodqueue

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_a_page(root, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((root / page).read_text())
    names, printed, ran = {"__name__": "page"}, "", 0
    for kind, text in blocks:
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, page, "exec"), names)
            printed, ran = out.getvalue(), ran + 1
        elif kind == "text":
            assert printed.rstrip() == text.rstrip(), f"{page} prints:\n{printed}"
    assert ran > 0


def test_the_example_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = re.search(r"\n\n((?:    .*\n|\n)+)", goodqueue.__doc__)[1]
    exec("\n".join(line[4:] for line in example.splitlines()), {})
    assert (tmp_path / "out" / "report.html").exists()
