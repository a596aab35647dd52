"""The notebooks run, and print what they printed when they were written.

`GOODQUEUE_BLESS=1` keeps what they print and draw now. A cell with the tag `time` prints what differs from
machine to machine.
"""

import os
import pathlib

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


def outputs(cell):
    """What a cell prints as text, and the kinds of pictures that it shows."""
    if "time" in cell.metadata.get("tags", []):
        return [output.output_type for output in cell.outputs]
    found = []
    for output in cell.outputs:
        if output.output_type == "stream":
            found.append(output.text)
        elif output.output_type == "error":
            found.append(output.ename)
        else:
            kinds = sorted(set(output.data) - {"text/plain"})
            found.append(kinds if "image/png" in kinds else [*kinds, output.data.get("text/plain")])
    return found


def test_there_are_five():
    assert len(NOTEBOOKS) == 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook(path, tmp_path, monkeypatch):
    # Pictures belong into the notebook.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    kept = nbformat.read(path, as_version=4)
    nbformat.validate(kept)
    ran = nbformat.from_dict(kept)
    for cell in ran.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(ran, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    if os.environ.get("GOODQUEUE_BLESS") == "1":
        for cell in ran.cells:
            cell.metadata.pop("execution", None)
        ran.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        nbformat.write(ran, path)
        return
    for number, (before, now) in enumerate(zip(kept.cells, ran.cells), 1):
        if now.cell_type == "code":
            assert outputs(before) == outputs(now), f"cell {number}:\n{now.source}"
    assert any(
        "image/png" in output.get("data", {}) for cell in ran.cells for output in cell.get("outputs", [])
    )
