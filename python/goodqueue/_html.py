"""Results in notebooks."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._result import Result

#: Background of each grade, as on the command's page, from good to bad.
GRADES = {"A+": "#005f4b", "A": "#2b7a2f", "B": "#626c00", "C": "#8f5600", "D": "#b5460f", "F": "#930f35"}

STYLE = """<style>
.goodqueue{font-family:system-ui,sans-serif;max-width:60em}
.goodqueue p{margin:.4em 0}
.goodqueue table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.goodqueue th,.goodqueue td{padding:.25em .8em;text-align:right;border-bottom:1px solid #8885}
.goodqueue th:first-child,.goodqueue td:first-child{text-align:left}
.goodqueue .grade{color:#fff;border-radius:.3em;padding:.05em .5em;font-weight:600}
.goodqueue .note{opacity:.75;font-size:90%}
.goodqueue img{background:#fff;max-width:100%}
</style>"""


def result(one: Result) -> str:
    """Headline, table and picture of a result."""
    head, rows = one.head, [_row(summary) for summary in one.summaries]
    names = (
        "queue",
        "grade",
        "Mbit/s up",
        "Mbit/s down",
        "rise p50 ms",
        "rise p95 ms",
        "rise p99 ms",
        "drops",
        "marks",
    )
    used = [at for at in range(len(names)) if at < 2 or any(row[at] for row in rows)]
    heads = "".join(f"<th>{names[at]}</th>" for at in used)
    body = "".join("<tr>" + "".join(f"<td>{row[at]}</td>" for at in used) + "</tr>" for row in rows)
    notes = [f"{queue} was planned and not measured." for queue in one.missing]
    notes += [
        f"{summary['queue']}: {why}" for summary in one.summaries for why in summary.get("findings", [])
    ]
    notes += [
        f"{summary['queue']}: no grade: {summary['no_grade']}"
        for summary in one.summaries
        if summary.get("no_grade")
    ]
    notes += head["warnings"]
    seeds = max((summary["repeated"]["n"] for summary in one.summaries if summary.get("repeated")), default=1)
    if seeds > 1:
        notes.append(f"Figures with ± are means of {seeds} seeds and half their 95 % confidence interval.")
    picture = base64.b64encode(one._record.overview_svg().encode()).decode()
    return (
        f'{STYLE}<div class="goodqueue"><p><strong>{escape(one.headline)}</strong></p>'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        + "".join(f'<p class="note">{escape(note)}</p>' for note in notes)
        + f"<details open><summary>{escape(head['test']['name'])} over time</summary>"
        f'<img alt="goodput and round trip over time" src="data:image/svg+xml;base64,{picture}">'
        "</details></div>"
    )


def _row(summary: dict[str, Any]) -> list[str]:
    repeated = summary.get("repeated") or {}

    def figure(key: str, once: Any, unit: float, digits: int) -> str:
        many = repeated.get(key)
        if many:
            return f"{many['mean'] / unit:.{digits}f} ± {many['half'] / unit:.{digits}f}"
        return "" if once is None else f"{once / unit:.{digits}f}"

    grade = (summary.get("grade") or {}).get("letter", "")
    rtt = summary["rtt"]
    drops, marks = summary.get("path_drops_and_marks") or (
        sum(summary[queue][what] for queue in ("queue_up", "queue_down")) for what in ("drops", "marks")
    )
    return [
        escape(summary["queue"]),
        f'<span class="grade" style="background:{GRADES[grade]}">{grade}</span>' if grade else "–",
        figure("goodput_up_bps", summary["goodput_up_bps"], 1e6, 2),
        figure("goodput_down_bps", summary["goodput_down_bps"], 1e6, 2),
        figure("rise_p50_ns", rtt["added_p50_ns"], 1e6, 1),
        figure("rise_p95_ns", rtt["added_p95_ns"], 1e6, 1),
        figure("rise_p99_ns", rtt["added_p99_ns"], 1e6, 1),
        figure("drops", drops, 1, 0),
        str(marks) if marks else "",
    ]
