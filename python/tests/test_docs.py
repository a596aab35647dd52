"""The examples of the documentation run: a page's blocks one after the other, and what a block prints is
the block `text` behind it. `GOODQUEUE_BLESS=1` writes these blocks."""

import contextlib
import io
import os
import re

import pytest

import goodqueue

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_a_page(root, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (root / page).read_text()
    names, printed, outputs = {"__name__": "page"}, "", []
    for kind, block in BLOCK.findall(text):
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, page, "exec"), names)
            printed = "".join(line.rstrip() + "\n" for line in out.getvalue().rstrip().splitlines())
        elif kind == "text":
            outputs.append((block, printed))
    assert names.keys() > {"goodqueue", "result"}
    if os.environ.get("GOODQUEUE_BLESS") == "1":
        new = iter(printed for _, printed in outputs)
        fill = lambda found: f"```text\n{next(new)}```" if found[1] == "text" else found[0]  # noqa: E731
        (root / page).write_text(BLOCK.sub(fill, text))
        return
    for kept, now in outputs:
        assert kept == now, f"{page} prints:\n{now}"


def test_the_example_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = re.search(r"\n\n((?:    .*\n|\n)+)", goodqueue.__doc__)[1]
    exec("\n".join(line[4:] for line in example.splitlines()), {})
    assert (tmp_path / "out" / "report.html").exists()
