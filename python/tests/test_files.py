"""Files: every form that the command writes, and what was written is read again."""

import gzip
import json

import pandas
import pytest

import goodqueue

FORMS = [".json", ".json.gz", ".gqz", ".html", ".svg", ".png", ".csv", ".parquet", ".md"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form(result, tmp_path, form):
    path = result.save(tmp_path / f"a{form}")
    assert path == tmp_path / f"a{form}" and path.stat().st_size > 500
    start = path.read_bytes()[:8]
    if form == ".png":
        assert start == b"\x89PNG\r\n\x1a\n"
    if form == ".html":
        assert path.read_text() == result.html()


def test_a_folder_has_all(result, tmp_path):
    page = result.save(tmp_path / "out")
    assert page == tmp_path / "out" / "report.html" and page.read_text() == result.html()
    names = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {"record.gqz", "data.parquet", "overview.png", "overview.svg", "runs.csv", "calls.csv"} <= names
    assert sum(name.endswith(".flent.gz") for name in names) == 3


@pytest.mark.parametrize("form", ["out", "a.gqz", "a.json", "a.json.gz"])
def test_a_record_is_read_again(result, tmp_path, form):
    result.save(tmp_path / form)
    again = goodqueue.read(tmp_path / form)
    assert again.series.to_pydict() == result.series.to_pydict()
    assert again.summary.to_pydict() == result.summary.to_pydict()
    assert str(again) == str(result) and again.headline == result.headline


def test_a_file_of_flents_is_read(result, tmp_path):
    result.save(tmp_path / "out")
    file = next((tmp_path / "out").glob("*fq_codel*.flent.gz"))
    again = goodqueue.read(file)
    assert len(again.queues) == 1
    ours = result.summaries[1]["rtt"]["p50_ns"]
    assert abs(again.summaries[0]["rtt"]["p50_ns"] - ours) < 0.02 * ours
    assert {"flow", "probe"} <= set(again.series["kind"])
    again.plot("overview")


def test_one_queue_is_one_file_of_flents(result, tmp_path):
    alone = goodqueue.run("rrul", queues=["fq_codel"], length="3s")
    path = alone.save(tmp_path / "one.flent.gz")
    assert len(goodqueue.read(path).queues) == 1
    with pytest.raises(goodqueue.UsageError, match="flent"):
        result.save(tmp_path / "three.flent.gz")
    assert not (tmp_path / "three.flent.gz").exists()


def test_two_records_become_one(tmp_path):
    for name, queue in (("before", "pfifo:1000"), ("after", "fq_codel")):
        goodqueue.run("rrul", queues=[queue], length="3s").save(tmp_path / name)
    both = goodqueue.read(tmp_path / "before", tmp_path / "after")
    assert len(both.queues) == 2 and "before" in both.queues[0] and "after" in both.queues[1]


def test_vectors_are_a_table(root):
    vectors = goodqueue.read_vectors(root / "vectors" / "codel" / "aimd4_ecnmix_20m.txt.gz")
    assert vectors.header["qdisc"] == "codel" and "records" in repr(vectors)
    table = vectors.table.to_pandas()
    text = gzip.open(root / "vectors" / "codel" / "aimd4_ecnmix_20m.txt.gz", "rt").read().splitlines()
    records = [line for line in text if not line.startswith("#")]
    assert len(table) == len(records)
    assert [f"{kind} {fields}".strip() for kind, fields in zip(table.record, table.fields)] == records
    assert set(table[table.record == "X"].reason) <= {"codel", "limit"}
    arrived = table[table.record == "E"]
    assert arrived.packet.is_monotonic_increasing and arrived.length_bytes.between(1, 1514).all()


def test_every_kind_of_vector_is_read(root):
    folders = [
        folder for folder in (root / "vectors").iterdir() if folder.is_dir() and any(folder.glob("*.gz"))
    ]
    assert len(folders) >= 9
    for folder in folders:
        vectors = goodqueue.read_vectors(min(folder.glob("*.gz"), key=lambda path: path.stat().st_size))
        assert vectors.table.num_rows > 10 and isinstance(vectors.table.to_pandas(), pandas.DataFrame)


def test_results_and_experiments_go_to_other_processes(result):
    import pickle

    again = pickle.loads(pickle.dumps(result))
    assert again.series.to_pydict() == result.series.to_pydict() and str(again) == str(result)
    experiment = goodqueue.Experiment(test="tcp_1up", queues=["codel"]).set("test.length", "2s")
    other = pickle.loads(pickle.dumps(experiment))
    assert other.run().summary.to_pydict() == experiment.run().summary.to_pydict()


def test_the_record_says_what_was_run(result, tmp_path):
    result.save(tmp_path / "a.json")
    record = json.loads((tmp_path / "a.json").read_text())
    assert record["command"][:3] == ["goodqueue", "run", "rrul"]
    assert "--seeds=0,1,2" in record["command"] and "--with=voip" in record["command"]
    assert record["version"] == goodqueue.__version__
