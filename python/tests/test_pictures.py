"""Pictures: what is in them, in the report's style."""

import matplotlib
import matplotlib.pyplot as pyplot
import numpy
import pytest
from matplotlib.colors import to_hex

import goodqueue
from goodqueue import plot


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def words(figure):
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text)]


def test_the_colours_are_the_reports(root):
    style = (root / "crates" / "report" / "src" / "charts" / "style.rs").read_text()
    part = style[style.index("Self::Queue(i) => match") :][:500]
    ours = [colour[1:] for colour in plot.COLOURS]
    theirs = [
        "".join(byte.strip()[2:] for byte in line.split("[")[1].split("]")[0].split(","))
        for line in part.splitlines()
        if "[0x" in line
    ]
    assert theirs == ours


def test_overview(result):
    figure = result.plot()
    assert len(figure.axes) == 9
    titles = [axis.get_title(loc="left") for axis in figure.axes[:3]]
    assert titles == ["pfifo:1000", "fq_codel", "cake"]
    assert any(text.startswith("adds ") and "grade A+" in text for text in words(figure))
    assert "round trip (ms)" in words(figure) and "goodput up (Mbit/s)" in words(figure)
    assert figure.axes[6].get_ylim() == figure.axes[7].get_ylim()
    line = figure.axes[6].lines[0]
    assert to_hex(line.get_color()) == plot.COLOURS[0]
    t, ms = line.get_data()
    assert numpy.nanmax(ms) > 100 and t[0] < 0 < t[-1]
    assert result.headline.split()[1] in " ".join(words(figure))


def test_cdf(result):
    figure = result.plot("cdf")
    fifo, fair, _ = figure.axes[0].lines
    x, y = fair.get_data()
    assert (numpy.diff(x) >= 0).all() and (numpy.diff(y) >= 0).all() and abs(y[-1] - 100) < 0.2
    p95 = x[numpy.searchsorted(y, 95)]
    expected = result.summaries[1]["rtt"]["p95_ns"] / 1e6
    assert abs(p95 - expected) < 0.05 * expected
    # What was lost never came.
    lost = result.summaries[0]["rtt"]
    assert abs(fifo.get_ydata()[-1] - 100 * lost["n"] / (lost["n"] + lost["lost"])) < 0.1
    assert "round trip (ms)" in words(figure)
    assert (
        figure.axes[0].get_xscale() == "log"
        and result.plot("cdf", log=False).axes[0].get_xscale() == "linear"
    )
    one_way = result.plot("cdf", what="one_way", direction="up", queues=["cake"])
    assert "one-way delay up (ms)" in words(one_way) and len(one_way.axes[0].lines) == 1


def test_series(result):
    figure = result.plot("series", kind="queue", metric="backlog", direction="up")
    assert "backlog up (kB)" in words(figure) and len(figure.axes[0].lines) == 3
    assert max(figure.axes[0].lines[0].get_ydata()) > 100
    flows = result.plot("series", kind="flow", metric="goodput", direction="down", queues="cake")
    assert len(flows.axes[0].lines) == 4 and "goodput down (Mbit/s)" in words(flows)


def test_box(result):
    figure = result.plot("box")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "pfifo:1000",
        "fq_codel",
        "cake",
    ]
    p99 = result.summaries[0]["rtt"]["p99_ns"] / 1e6
    assert any(f"p99 {p99:.0f} ms" in text for text in words(figure)), words(figure)
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert len(dots) == 9


def test_settings_stay(result, tmp_path):
    before = dict(matplotlib.rcParams)
    result.plot("box").savefig(tmp_path / "a.pdf")
    assert dict(matplotlib.rcParams) == before and (tmp_path / "a.pdf").stat().st_size > 5000


@pytest.mark.parametrize("kind", ["overview", "cdf", "series", "box"])
def test_one_queue_and_many(kind, tmp_path):
    for queues in (
        ["codel"],
        ["pfifo:50", "pfifo:100", "pfifo:200", "codel", "pie", "fq_codel", "sfq", "cake", "fq_pie"],
    ):
        figure = goodqueue.run("tcp_nup", queues=queues, length="2s").plot(kind)
        figure.savefig(tmp_path / f"{len(queues)}.png", dpi=50)


def test_probes_at_different_distances_show_their_rises():
    result = goodqueue.run("rtt_fair", queues=["codel", "fq_codel"], length="4s")
    for kind in ("overview", "cdf", "box"):
        assert any("rise of the round trip" in text for text in words(result.plot(kind))), kind
    # 20 to 160 ms apart, and FQ-CoDel adds nearly nothing.
    assert result.plot("cdf").axes[0].lines[1].get_xdata().max() < 15


def test_a_flow_ends_at_once():
    result = goodqueue.run("tcp_square_wave", queues=["fq_codel"], length="4s", delay="1s")
    [first, *_] = result.plot().axes[0].collections
    corners = first.get_paths()[0].vertices
    stop = max(x for x, y in corners if y > 1)
    assert min(x for x, y in corners if x > stop and y < 0.1) - stop < 0.01


def test_without_matplotlib(result, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        result.plot()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pip install polars"):
        result.summary.to_polars()


def test_a_notebook_shows_table_and_picture(result):
    page = result._repr_html_()
    assert result.headline.split(",")[0] in page
    for part in ["<table>", "fq_codel", "A+</span>", " ± ", "means of 3 seeds", "data:image/svg+xml;base64,"]:
        assert part in page, part
    assert len(page) < 300_000
    from xml.etree import ElementTree

    ElementTree.fromstring(
        f"<body>{page}</body>".replace("<details open>", "<details>")
        .replace("<img ", "<img/><i ")
        .replace('"></details>', '"/></details>')
    )
