"""Pictures of results with matplotlib, in the style of the command's page.

Each function takes a result and returns a figure: change it, or `figure.savefig("name.pdf")`. It needs
matplotlib.
"""

from __future__ import annotations

import functools
import itertools
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ._errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._result import Result

#: Colours of the queues, distinguishable with every common kind of colour vision (after Okabe and Ito).
COLOURS = ("#c2410c", "#0066a6", "#007a5a", "#a33f80", "#806000", "#525a63", "#5b3fb5", "#7a2e2e")
INK, MUTED, GRID, AXIS = "#1b1f24", "#59636e", "#e4e7eb", "#8c959f"
#: Opacities of the flows in a stack.
SHADES = (0.64, 0.36, 0.5, 0.24)
STYLE: dict[str, Any] = {
    "font.family": ["Noto Sans", "DejaVu Sans", "sans-serif"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": AXIS,
    "axes.labelcolor": MUTED,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "grid.color": GRID,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "xtick.color": AXIS,
    "ytick.color": AXIS,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "ytick.major.size": 0,
    "svg.fonttype": "none",
}
#: Units in which people read a metric, by the unit of the record: factor and name.
READ = {"bit/s": (1e-6, "Mbit/s"), "bytes": (1e-3, "kB")}
#: Of this ratio on, an axis of time is logarithmic.
WIDE = 10


P = ParamSpec("P")
T = TypeVar("T")


def _styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Draws in our style, and leaves matplotlib's settings as they are."""

    @functools.wraps(draw)
    def styled(*args: P.args, **options: P.kwargs) -> T:
        try:
            import matplotlib
        except ImportError as error:
            raise ImportError(
                "pictures need matplotlib, which is not installed: pip install matplotlib"
            ) from error
        with matplotlib.rc_context(style()):
            return draw(*args, **options)

    return styled


@_styled
def overview(result: Result, *, queues: Sequence[str] | None = None) -> Figure:
    """Goodput and round trip over time, a column for each queue.

    A band of goodput is a flow; the dashed line is the rate of the link. The line of the round trip is the
    median of 50 ms over all probes, its band the 5th to 95th percentile.

    queues: which of the queues, in this order; all by default
    """
    from matplotlib.ticker import MaxNLocator

    runs = _runs(result, queues)
    directions = [way for way in ("up", "down") if any(flow["direction"] == way for flow in _flows(result))]
    rows = len(directions) + 1
    width = max(4.2 * len(runs), 6.4)
    # Columns keep their width and letters their size, however many there are.
    figure, axes = _figure(rows, len(runs), (width, 1.3 + 1.95 * rows), sharex=True, sharey="row")
    for column, (run, colour) in enumerate(runs):
        for row, way in enumerate(directions):
            _goodput(result, axes[row][column], run, way, colour)
        _round_trip(result, axes[-1][column], run, colour)
        summary = result.summaries[run]
        axes[0][column].set_title(summary["queue"], color=colour, weight="bold", loc="left", pad=20, size=12)
        axes[0][column].text(0, 1.06, _result_words(summary), transform=axes[0][column].transAxes, size=10)
        axes[-1][column].set_xlabel("time from the start of the load (s)")
    for row, way in enumerate(directions):
        axes[row][0].set_ylabel(f"goodput {way} (Mbit/s)")
    axes[-1][0].set_ylabel(f"{_delay_words(result, 'round_trip', None)} (ms)")
    axes[-1][0].set_ylim(bottom=0)
    axes[-1][0].xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    for row in axes:
        row[0].yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    _head(figure, result)
    return figure


@_styled
def cdf(
    result: Result,
    *,
    what: str = "round_trip",
    direction: str | None = None,
    queues: Sequence[str] | None = None,
    log: bool | None = None,
) -> Figure:
    """The share of the probes under load that came back within a time, a curve for each queue.

    Lost probes never came back: a curve of a queue that lost 2 % ends at 98 %.

    what: "round_trip", or "one_way" with direction="up" or "down"
    queues: which of the queues; all by default
    log: a logarithmic axis of time; by default where the times differ by more than tenfold
    """
    import numpy

    figure, axes = _figure(1, 1, (7.2, 4.6))
    ends = []
    for run, colour in _runs(result, queues):
        values, lost = _loaded(result, run, what, direction)
        if not len(values):
            continue
        values = numpy.sort(values)
        share = numpy.arange(1, len(values) + 1) / (len(values) + lost)
        axes[0][0].step(values, share * 100, where="post", color=colour, label=result.summaries[run]["queue"])
        ends.append((values[0], values[-1]))
    if not ends:
        raise _nothing("cdf", result, "probe", what, direction)
    if log or (log is None and max(high for _, high in ends) > WIDE * min(low for low, _ in ends)):
        _logarithmic(axes[0][0].xaxis)
    else:
        axes[0][0].set_xlim(left=0)
    axes[0][0].set_xlabel(f"{_delay_words(result, what, direction)} (ms)")
    axes[0][0].set_ylabel("probes under load (%)")
    axes[0][0].set_ylim(0, 101)
    _legend(axes[0][0])
    _head(figure, result)
    return figure


@_styled
def series(
    result: Result,
    *,
    kind: str = "probe",
    metric: str = "round_trip",
    direction: str | None = None,
    queues: Sequence[str] | None = None,
) -> Figure:
    """A metric over time, a line for each queue; several flows or probes of a queue are lines of one colour.

    kind, metric: of the table `series`: "probe" and "round_trip" or "one_way"; "flow" and "goodput", "cwnd",
    "srtt"; "queue" and "backlog", "drops" ... (docs/data.md)
    direction: "up" or "down", for a metric that has one
    queues: which of the queues; all by default
    """
    import numpy

    runs = dict(_runs(result, queues))
    curves = [curve for curve in result._record.curves(kind, metric, direction) if curve[0] in runs]
    if not curves:
        raise _nothing("series", result, kind, metric, direction)
    table = result.series
    unit = next(
        unit for k, m, unit in zip(table["kind"], table["metric"], table["unit"]) if (k, m) == (kind, metric)
    )
    factor, name = READ.get(unit, (1.0, unit))
    figure, axes = _figure(1, 1, (9, 4.2))
    shown = set()
    for run, _, times, values in curves:
        queue = result.summaries[run]["queue"]
        label = "_" if queue in shown else queue
        shown.add(queue)
        thin = len([one for one in curves if one[0] == run]) > 1
        axes[0][0].plot(
            times,
            numpy.asarray(values) * factor,
            color=runs[run],
            label=label,
            lw=0.9 if thin else 1.5,
            alpha=0.7 if thin else 1,
        )
    axes[0][0].set_xlabel("time from the start of the load (s)")
    axes[0][0].set_ylabel(
        f"{_words(metric, direction)} ({name})" if name != "1" else _words(metric, direction)
    )
    axes[0][0].set_ylim(bottom=0)
    axes[0][0].margins(x=0.01)
    _legend(axes[0][0])
    _head(figure, result)
    return figure


@_styled
def box(
    result: Result,
    *,
    what: str = "round_trip",
    direction: str | None = None,
    queues: Sequence[str] | None = None,
    log: bool | None = None,
) -> Figure:
    """The spread of the delays under load, a row for each queue.

    The box has the middle half of the probes, the line in it is the median, and the whiskers end at the 5th
    and 99th percentile; the text next to it gives median and 99th. Of several seeds, a dot is the median of
    each.

    what: "round_trip", or "one_way" with direction="up" or "down"
    queues: which of the queues; all by default
    log: a logarithmic axis; by default where the times differ by more than tenfold
    """
    import numpy

    runs = _runs(result, queues)
    all_values = [_loaded(result, run, what, direction)[0] for run, _ in runs]
    runs = [run for run, values in zip(runs, all_values) if len(values)]
    all_values = [values for values in all_values if len(values)]
    if not runs:
        raise _nothing("box", result, "probe", what, direction)
    figure, axes = _figure(1, 1, (7.8, 1.9 + 0.62 * len(runs)))
    axis = axes[0][0]
    low, high = math.inf, 0.0
    for row, ((run, colour), values) in enumerate(zip(runs, all_values)):
        p5, p25, p50, p75, p99 = numpy.percentile(values, [5, 25, 50, 75, 99], method="inverted_cdf")
        axis.hlines(row, p5, p99, color=colour, lw=1.5)
        axis.vlines([p5, p99], row - 0.12, row + 0.12, color=colour, lw=1.5)
        axis.fill_betweenx([row - 0.26, row + 0.26], p25, p75, color=colour, alpha=0.3, lw=0)
        axis.vlines(p50, row - 0.26, row + 0.26, color=colour, lw=2.6)
        axis.annotate(
            f"{_ms(p50)} · p99 {_ms(p99)} ms",
            (p99, row),
            (8, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            size=9,
        )
        low, high = min(low, p5), max(high, p99)
        for idle, rise in _seeds(result, run) if what == "round_trip" and not _are_rises(result) else ():
            axis.plot(idle + rise, row - 0.38, "o", ms=3.5, color=colour, alpha=0.8)
    if log or (log is None and high > WIDE * low):
        _logarithmic(axis.xaxis)
        axis.set_xlim(low / 1.15, high * (high / low) ** 0.3)
    else:
        axis.set_xlim(0, high * 1.35)
    axis.set_yticks(range(len(runs)), [result.summaries[run]["queue"] for run, _ in runs])
    for label, (_, colour) in zip(axis.get_yticklabels(), runs):
        label.set(color=colour, weight="bold", size=11)
    axis.set_ylim(len(runs) - 0.45, -0.6)
    axis.grid(axis="y", visible=False)
    axis.set_xlabel(f"{_delay_words(result, what, direction)} under load (ms)")
    _head(figure, result)
    return figure


def _nothing(picture: str, result: Result, kind: str, metric: str, direction: str | None) -> UsageError:
    ways = [way for way in ("up", "down", None) if result._record.curves(kind, metric, way)]
    cure = f"write direction={ways[0]!r}" if ways else "docs/data.md lists kinds and metrics"
    return UsageError(
        f"{picture}: no values of kind {kind!r}, metric {metric!r}, direction {direction!r}; {cure}"
    )


def _runs(result: Result, queues: Sequence[str] | None) -> list[tuple[int, str]]:
    """Numbers of the runs and their colours."""
    all_queues = result.queues
    chosen = all_queues if queues is None else [queues] if isinstance(queues, str) else list(queues)
    for queue in chosen:
        if queue not in all_queues:
            raise UsageError(f"queues: no queue {queue!r} in this result; there are {', '.join(all_queues)}")
    places = [all_queues.index(queue) for queue in chosen]
    return [(place, COLOURS[place % len(COLOURS)]) for place in places]


def _flows(result: Result) -> Any:
    return result.head["test"]["flows"]


def _seeds(result: Result, run: int) -> list[tuple[float, float]]:
    """The idle median and the median rise of each seed, ms; the idle median is that of the first seed."""
    table = result.summary
    rows = [at for at, number in enumerate(table["run"]) if number == run]
    idle = table["idle_ms"][rows[0]]
    rises = [table["rise_p50_ms"][at] for at in rows]
    return [(idle, rise) for rise in rises if rise is not None and idle is not None] if len(rows) > 1 else []


def _delays(result: Result, run: int, what: str, direction: str | None) -> list[tuple[Any, Any]]:
    """Times and delays of each probe, ms. Of probes to hosts at different distances, the delays above their
    own idle median: together they mean nothing else."""
    import numpy

    curves = [curve for curve in result._record.curves("probe", what, direction) if curve[0] == run]
    series = [(numpy.asarray(times), numpy.asarray(values)) for _, _, times, values in curves]
    if not _are_rises(result):
        return series
    return [
        (times, values - numpy.nanmedian(values[times < 0])) for times, values in series if (times < 0).any()
    ]


def _are_rises(result: Result) -> bool:
    link, probes = result.head["link"], result.head["test"]["probes"]
    return len({link["rtt_ns"][probe["host"]] for probe in probes if probe["host"] < len(link["rtt_ns"])}) > 1


def _loaded(result: Result, run: int, what: str, direction: str | None) -> tuple[Any, int]:
    """The delays of all probes in the loaded interval, ms, and how many were lost."""
    import numpy

    summary = result.summaries[run]
    start, end = summary["loaded_from_ns"] / 1e9, summary["loaded_to_ns"] / 1e9
    delays = _delays(result, run, what, direction)
    inside = [values[(start <= times) & (times < end)] for times, values in delays]
    values = numpy.concatenate(inside) if inside else numpy.empty(0)
    is_lost = numpy.isnan(values)
    return values[~is_lost], int(is_lost.sum())


def _goodput(result: Result, axis: Axes, run: int, way: str, colour: str) -> None:
    import numpy

    curves = [curve for curve in result._record.curves("flow", "goodput", way) if curve[0] == run]
    # A flow that does not run sends nothing: it begins and ends at once.
    ends = itertools.chain.from_iterable((times[0] - 1e-3, times[-1] + 1e-3) for _, _, times, _ in curves)
    grid = sorted({*ends, *itertools.chain.from_iterable(times for _, _, times, _ in curves)})
    stack = [
        numpy.interp(grid, times, numpy.nan_to_num(values), left=0, right=0) / 1e6
        for _, _, times, values in curves
    ]
    if stack:
        bottoms = numpy.vstack([numpy.zeros(len(grid)), numpy.cumsum(stack, axis=0)])
        for at, (low, high) in enumerate(zip(bottoms, bottoms[1:])):
            axis.fill_between(
                grid, low, high, facecolor=colour, alpha=SHADES[at % len(SHADES)], edgecolor="white", lw=0.6
            )
    link = result.head["link"][way]["rate_bps"]
    if link:
        axis.axhline(link / 1e6, color=MUTED, lw=0.9, ls=(0, (3, 3)))
        # A retransmission that fills a gap releases at once what had arrived behind it.
        axis.set_ylim(0, link / 1e6 * 1.3)
    axis.set_ylim(bottom=0)


def _round_trip(result: Result, axis: Axes, run: int, colour: str) -> None:
    import numpy

    delays = _delays(result, run, "round_trip", None)
    if not delays:
        return
    times = numpy.concatenate([times for times, _ in delays])
    values = numpy.concatenate([values for _, values in delays])
    times, values = times[~numpy.isnan(values)], values[~numpy.isnan(values)]
    if not len(values):
        return
    steps = numpy.floor(times / 0.05)
    order = numpy.argsort(steps, kind="stable")
    steps, values = steps[order], values[order]
    marks, starts = numpy.unique(steps, return_index=True)
    parts = numpy.split(values, starts[1:])
    middle = (marks + 0.5) * 0.05
    low, median, high = numpy.array([numpy.percentile(part, [5, 50, 95]) for part in parts]).T
    axis.fill_between(middle, low, high, color=colour, alpha=0.2, lw=0)
    axis.plot(middle, median, color=colour)
    axis.set_xlim(min(middle[0], 0), middle[-1])


def _result_words(summary: dict[str, Any]) -> str:
    rise, grade = summary["rtt"].get("added_mean_ns"), summary.get("grade")
    words = [f"adds {_ms(rise / 1e6)} ms"] if rise is not None else []
    return ", ".join([*words, f"grade {grade['letter']}"] if grade else words)


def _ms(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _delay_words(result: Result, what: str, direction: str | None) -> str:
    words = _words(what, direction)
    return f"rise of the {words}" if _are_rises(result) else words


def _words(metric: str, direction: str | None) -> str:
    words = {
        "round_trip": "round trip",
        "one_way": "one-way delay",
        "cwnd": "congestion window",
        "srtt": "TCP's round trip",
    }
    return " ".join([words.get(metric, metric.replace("_", " ")), *([direction] if direction else [])])


def _figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        rows, columns, figsize=size, squeeze=False, layout="constrained", **options
    )
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    return figure, axes


def style() -> Any:
    """The settings of the style, for your own pictures: `pyplot.rcParams.update(goodqueue.plot.style())`."""
    from matplotlib import font_manager

    fonts_here: Any = font_manager.fontManager.ttflist
    known = {font.name for font in fonts_here}
    fonts = [font for font in STYLE["font.family"] if font in known] or ["sans-serif"]
    return {**STYLE, "font.family": fonts}


def _head(figure: Figure, result: Result) -> None:
    """The headline and what was run, over the panels."""
    columns = int(figure.get_figwidth() * 9.2)
    test, link = result.head["test"], result.head["link"]
    rates = [link[way]["rate_bps"] for way in ("up", "down")]
    rate = "/".join(dict.fromkeys(f"{one / 1e6:g}" for one in rates if one))
    rtt = "/".join(dict.fromkeys(f"{one / 1e6:g}" for one in link["rtt_ns"]))
    parts = [
        test["name"],
        f"{rate} Mbit/s" if rate else "",
        f"base RTT {rtt} ms" if rtt else "",
        result.head["arm"],
    ]
    about = " · ".join([*(part for part in parts if part), f"goodqueue {result.head['version']}"])
    # As many of its sentences as go into three lines.
    sentences = result.headline.split(". ")
    while len(textwrap.wrap(". ".join(sentences), columns)) > 3 and len(sentences) > 1:
        sentences.pop()
    headline = "\n".join(textwrap.wrap(". ".join(sentences).rstrip(".") + ".", columns))
    figure.suptitle(headline, x=0.012, ha="left", weight="bold", size=13)
    figure.supxlabel(about, x=0.012, ha="left", size=8.5, color=MUTED)


def _legend(axis: Axes) -> None:
    legend: Any = axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1), handlelength=1.2, borderaxespad=0)
    for text, line in zip(legend.get_texts(), legend.get_lines()):
        text.set(color=line.get_color(), weight="bold")


def _logarithmic(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.axes.set_xscale("log")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
