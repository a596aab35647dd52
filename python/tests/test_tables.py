"""Tables: what is in them, and that pandas and polars share their memory."""

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import goodqueue


def test_the_summary_has_a_row_for_each_queue_and_seed(result):
    table = result.summary
    assert table.num_rows == 9 and len(table) == 9
    assert table["queue"] == ["pfifo:1000"] * 3 + ["fq_codel"] * 3 + ["cake"] * 3
    assert table["seed"] == [0, 1, 2] * 3
    assert table["state"] == ["complete"] * 9
    assert table["grade"][0] in "CDF" and table["grade"][3] == "A+" and table["grade"][1] is None
    assert all(17e6 < bps < 20e6 for bps in table["goodput_up_bps"])
    assert min(table["rise_p95_ms"][:3]) > 100 and max(table["rise_p95_ms"][3:6]) < 5


def test_the_summary_is_the_commands_runs_csv(result, tmp_path):
    result.save(tmp_path / "out")
    csv = pandas.read_csv(tmp_path / "out" / "csv" / "runs.csv")
    assert list(csv.columns) == result.summary.column_names
    first = result.summary.to_pandas().groupby("run").head(1).reset_index(drop=True)
    for column in csv.columns:
        ours, theirs = first[column], csv[column]
        if theirs.dtype.kind == "f":
            # The file has six digits behind the point.
            assert (ours.isna() == theirs.isna()).all(), column
            assert (ours.astype("float64").fillna(0) - theirs.fillna(0)).abs().max() < 1e-6, column
        else:
            assert list(ours) == list(theirs), column


def test_the_series_are_the_commands_parquet(result, tmp_path):
    result.save(tmp_path / "all.parquet")
    ours, theirs = result.series.to_pydict(), pyarrow.parquet.read_table(tmp_path / "all.parquet").to_pydict()
    assert ours == theirs
    assert {"run", "flow", "probe", "queue", "path", "call"} == set(ours["kind"])


def test_pyarrow_shares_the_memory(result):
    for table in (result.summary, result.series):
        one, two = pyarrow.table(table), table.to_pyarrow()
        assert one.num_rows == table.num_rows
        for name in table.column_names:
            [chunk], [again] = one[name].chunks, two[name].chunks
            # Two exports of one table: the same addresses, so neither was copied.
            assert addresses(chunk) == addresses(again), name
            assert table[name] == one[name].to_pylist(), name


def test_polars_shares_the_memory(result):
    frame = result.series.to_polars()
    arrow = pyarrow.table(result.series)
    for name in ("t_s", "value", "seed", "run"):
        [chunk] = arrow[name].chunks
        assert (
            pyarrow.chunked_array(frame[name]).chunk(0).buffers()[1].address == chunk.buffers()[1].address
        ), name
    means = frame.filter(kind="probe", metric="round_trip").group_by("queue").agg(polars.col("value").mean())
    assert dict(means.iter_rows())["pfifo:1000"] > 100


def test_pandas_shares_the_memory(result):
    frame = result.series.to_pandas()
    arrow = pyarrow.table(result.series)
    for name in result.series.column_names:
        [chunk], [again] = arrow[name].chunks, frame[name].array._pa_array.chunks
        assert addresses(chunk) == addresses(again), name
    probes = frame[(frame.kind == "probe") & (frame.metric == "round_trip") & (frame.t_s >= 2)]
    p95 = probes.groupby("queue").value.quantile(0.95)
    assert p95["pfifo:1000"] > 100 > p95["fq_codel"]
    # Without a missing value, NumPy shares it too.
    assert result.summary.to_pandas()["rise_p95_ms"].to_numpy(copy=False).dtype == "float64"


def test_pandas_reads_the_table_itself(result):
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip(f"pandas {pandas.__version__} has no DataFrame.from_arrow")
    assert pandas.DataFrame.from_arrow(result.summary).shape == (9, 22)


def addresses(chunk):
    buffers = list(chunk.buffers())
    if isinstance(chunk, pyarrow.DictionaryArray):
        buffers += chunk.dictionary.buffers()
    return [buffer and buffer.address for buffer in buffers]


def test_a_table_outlives_its_result_and_its_frames():
    frame = goodqueue.run("tcp_1up", queues=["codel"], length="2s").series.to_polars()
    import gc

    gc.collect()
    assert frame.height > 500 and frame["value"].drop_nulls().is_finite().all()


def test_a_queue_that_was_not_measured_has_a_row(tmp_path):
    import gzip
    import json

    goodqueue.run("tcp_1up", queues=["codel"], length="2s").save(tmp_path / "a.gqz")
    record = json.loads(gzip.decompress((tmp_path / "a.gqz").read_bytes()))
    record["planned"].append("cake")
    (tmp_path / "b.json").write_text(json.dumps(record))
    again = goodqueue.read(tmp_path / "b.json")
    assert again.missing == ["cake"]
    assert again.summary["state"] == ["complete", "missing"] and again.summary["run"] == [0, None]
    assert "cake was planned and not measured" in again._repr_html_()


def test_lists_of_what_there_is():
    assert "fq_codel" in goodqueue.queues()["queue"] and "rrul" in goodqueue.tests()["test"]
    lines = goodqueue.lines()
    assert lines["down_bps"][lines["line"].index("dsl-50-10")] == 50_000_000


def test_a_notebook_shows_the_first_rows(result):
    assert result.summary._repr_html_().count("<tr>") == 10
    page = result.series._repr_html_()
    assert page.count("<tr>") == 21 and f"20 of {len(result.series)} rows" in page


def test_a_column_that_there_is_not(result):
    with pytest.raises(KeyError, match="no column ques; there are run, queue.*did you mean queue"):
        result.summary["ques"]
