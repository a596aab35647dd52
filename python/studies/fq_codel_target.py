"""How FQ-CoDel's target and interval should follow the rate and the round trip.

    python3 python/studies/fq_codel_target.py

writes docs/studies/fq-codel-target.csv, .svg, and the tables of .md. It takes some 25 minutes of processor
time, of which 10 Gbit/s are nearly all.
"""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
from study import FOLDER, Point, Row, mean, measured, ms, put, table

NAME = "fq-codel-target"
#: Mbit/s, with the number of seeds.
RATES = {1: 3, 10: 3, 100: 3, 1000: 2, 10_000: 1}
RTTS = [1, 10, 50, 200, 600]
#: Target and interval, in round trips; `None` is Linux's default.
Setting = tuple[float, float] | None
SETTINGS: list[Setting] = [None]
SETTINGS += [(0.025, 1), (0.05, 1), (0.1, 1), (0.2, 1), (0.4, 1), (0.1, 0.5), (0.1, 2), (0.1, 4)]
PACKET = 12_112


#: Bytes in flight of a flow: half of what Linux's receive buffer of 6 MB lets it have (`tcp_rmem`).
WINDOW = 1.5e6


def flows(mbit: float, rtt: float) -> int:
    """As many as fill the line without being limited by their receivers."""
    return max(1, math.ceil(mbit * 1e6 * rtt / 8e3 / WINDOW))


def length(mbit: float, rtt: float) -> int:
    """Seconds: 20, and three cycles of CUBIC, K = (W (1 - beta) / C)^(1/3) (RFC 9438 section 4.1)."""
    window = mbit * 1e6 * rtt / 1e3 / PACKET / flows(mbit, rtt)
    return round(20 + 3 * math.cbrt(window * 0.3 / 0.4))


def queue(setting: Setting, rtt: float) -> str:
    if setting is None:
        return "fq_codel"
    target, interval = (share * rtt for share in setting)
    # Room for the target at 10 Gbit/s.
    room = "limit=1000000,memory_limit=2g"
    return f"fq_codel,target={target * 1000:.0f}us,interval={interval * 1000:.0f}us,{room}"


def points() -> list[Point]:
    out = []
    for mbit, seeds in RATES.items():
        for rtt in RTTS:
            for setting in SETTINGS:
                for seed in range(1, seeds + 1):
                    target, interval = setting or (5 / rtt, 100 / rtt)
                    values: Row = {
                        "mbit": mbit,
                        "rtt_ms": rtt,
                        "flows": flows(mbit, rtt),
                        "is_default": int(setting is None),
                    }
                    values |= {"target_rtt": target, "interval_rtt": interval, "seed": seed}
                    keys = {
                        "seeds": [seed],
                        "queues": [queue(setting, rtt)],
                        "test": {"length": f"{length(mbit, rtt)}s", "idle": "1s"},
                        "link": {"rate": f"{mbit}mbit", "rtt": f"{rtt}ms"},
                        "flow": [{"to": "server", "count": flows(mbit, rtt)}],
                    }
                    out.append(Point(values, keys))
    return out


def figures(summary: Row) -> Row:
    """The goodput, Mbit/s, and how long the flow's own packets waited in the queue, ms."""
    waits = summary["sojourn_up"]
    used = round(summary["queue_up"]["utilisation"], 4)
    return {
        "goodput_mbit": round(summary["goodput_up_bps"] / 1e6, 3),
        "used": used,
        "wait_p50_ms": ms(waits["p50_ns"]),
        "wait_p95_ms": ms(waits["p95_ns"]),
    }


def of(rows: list[Row], mbit: float, rtt: float, setting: Setting) -> list[Row]:
    def is_it(row: Row) -> bool:
        if (row["mbit"], row["rtt_ms"]) != (mbit, rtt):
            return False
        if setting is None:
            return bool(row["is_default"])
        return not row["is_default"] and (row["target_rtt"], row["interval_rtt"]) == setting

    return [row for row in rows if is_it(row)]


def cell(rows: list[Row]) -> str:
    wait = mean(rows, "wait_p95_ms")
    return f"{mean(rows, 'used') * 100:.1f} %, {f'{wait:.0f}' if wait >= 100 else f'{wait:.3g}'} ms"


def head(setting: Setting) -> str:
    return "5 ms, 100 ms" if setting is None else f"{setting[0]:g}, {setting[1]:g} RTT"


def lines(rows: list[Row], settings: list[Setting]) -> str:
    out = []
    for mbit in RATES:
        for rtt in RTTS:
            cells = [cell(of(rows, mbit, rtt, setting)) for setting in settings]
            out.append([f"{mbit} Mbit/s, {rtt} ms", *cells])
    return table(["line", *map(head, settings)], out)


def picture(rows: list[Row]) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for color, mbit in enumerate(RATES):
        for axis, name, scale in ((axes[0], "used", 100), (axes[1], "wait_p95_ms", 1)):
            for setting, style in ((None, "--"), ((0.1, 1), "-")):
                values = [mean(of(rows, mbit, rtt, setting), name) * scale for rtt in RTTS]
                label = f"{mbit} Mbit/s" if setting else None
                axis.plot(RTTS, values, style, marker="o", color=f"C{color}", label=label)
    axes[0].set(xscale="log", xlabel="round trip, ms", ylabel="line used, % (higher is better)")
    axes[1].set(xscale="log", yscale="log", xlabel="round trip, ms")
    axes[1].set(ylabel="wait of 95 % of packets, ms (lower is better)")
    axes[0].legend(fontsize=8)
    headline = "FQ-CoDel: a target of 0.1 and an interval of 1 round trip (solid), or 5 and 100 ms (dashed)"
    figure.suptitle(headline, fontsize=10)
    figure.savefig(FOLDER / f"{NAME}.svg", metadata={"Date": None})


def main() -> None:
    plt.rcParams["svg.hashsalt"] = NAME
    rows = measured(NAME, points(), figures)
    of_target: list[Setting] = [None, (0.025, 1), (0.05, 1), (0.1, 1), (0.2, 1), (0.4, 1)]
    of_interval: list[Setting] = [(0.1, 0.5), (0.1, 1), (0.1, 2), (0.1, 4)]
    put(NAME, {"targets": lines(rows, of_target), "intervals": lines(rows, of_interval)})
    picture(rows)


if __name__ == "__main__":
    main()
