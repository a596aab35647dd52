"""What airtime queue limit (AQL) suits which number of Wi-Fi stations: a download to each.

    python3 python/studies/aql_stations.py

writes docs/studies/aql-stations.csv, .svg, and the tables of .md. It takes some 5 minutes of processor time.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from study import FOLDER, Point, Row, mean, measured, ms, put, table

NAME = "aql-stations"
STATIONS = [1, 2, 4, 8, 16, 32]
#: Milliseconds of airtime that a station may have pending; `None`: Linux's 5, or 12 while all have less than
#: 24.
LIMITS: list[float | None] = [None, 0.5, 1, 2, 5, 12, 24]
RATES = {"mcs7": 7, "mcs1": 1}
SEEDS = [1, 2, 3]


def points() -> list[Point]:
    out = []
    for rate, mcs in RATES.items():
        for stations in STATIONS:
            for limit in LIMITS:
                for seed in SEEDS:
                    wifi = {
                        "band": "5GHz",
                        "standard": "vht",
                        "width": 80,
                        "nss": 2,
                        "mcs": mcs,
                        "driver": "ath10k",
                    }
                    wifi |= {"limit": "aql", "station": [{"name": "sta", "count": stations}]}
                    if limit is not None:
                        wifi |= {"aql_low": f"{limit * 1000:.0f}us", "aql_high": f"{limit * 1000:.0f}us"}
                    values = {"rate": rate, "stations": stations, "is_default": int(limit is None)}
                    values |= {"limit_ms": 5 if limit is None else limit, "seed": seed}
                    test = {"name": "tcp_1down", "length": "8s", "idle": "1s", "probe_interval": "50ms"}
                    out.append(Point(values, {"seeds": [seed], "test": test, "wifi": wifi}))
    return out


def figures(summary: Row) -> Row:
    """The goodput of all stations, and how much longer a ping to a station takes."""
    return {
        "goodput_mbit": round(summary["goodput_down_bps"] / 1e6, 3),
        "jain": round(summary["jain_down"] or 1, 4),
        "rise_p50_ms": ms(summary["rtt"]["added_p50_ns"]),
        "rise_p95_ms": ms(summary["rtt"]["added_p95_ns"]),
    }


def of(rows: list[Row], rate: str, stations: int, limit: float | None) -> list[Row]:
    def is_it(row: Row) -> bool:
        same = (row["rate"], row["stations"], bool(row["is_default"])) == (rate, stations, limit is None)
        return same and (limit is None or row["limit_ms"] == limit)

    return [row for row in rows if is_it(row)]


def head(limit: float | None) -> str:
    return "default" if limit is None else f"{limit:g} ms"


def matrix(rows: list[Row], rate: str) -> str:
    def cell(stations: int, limit: float | None) -> str:
        its = of(rows, rate, stations, limit)
        rises = f"{mean(its, 'rise_p50_ms'):.1f}, {mean(its, 'rise_p95_ms'):.1f}"
        return f"{mean(its, 'goodput_mbit'):.0f} Mbit/s, {rises}"

    lines = [[str(number), *(cell(number, limit) for limit in LIMITS)] for number in STATIONS]
    return table(["stations", *map(head, LIMITS)], lines)


def picture(rows: list[Row]) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for axis, rate in zip(axes, RATES, strict=True):
        for color, stations in enumerate(STATIONS):
            drawn = [limit for limit in LIMITS if limit is not None]
            delays = [mean(of(rows, rate, stations, limit), "rise_p95_ms") for limit in drawn]
            goodputs = [mean(of(rows, rate, stations, limit), "goodput_mbit") for limit in drawn]
            label = f"{stations} stations" if stations > 1 else "1 station"
            axis.plot(delays, goodputs, marker="o", color=f"C{color}", label=label)
            default = of(rows, rate, stations, None)
            star = mean(default, "rise_p95_ms"), mean(default, "goodput_mbit")
            axis.plot(*star, "*", markersize=13, color=f"C{color}", markeredgecolor="black")
        axis.set(title=f"80 MHz, two streams, {rate.upper().replace('MCS', 'MCS ')}", xscale="log")
        axis.set(xlabel="rise of 95 % of pings, ms (lower is better)")
        axis.set(ylabel="goodput, Mbit/s (higher is better)")
    axes[0].legend(fontsize=8)
    headline = "AQL from 0.5 ms (left end of each line) to 24 ms; the star is Linux's default"
    figure.suptitle(headline, fontsize=11)
    figure.savefig(FOLDER / f"{NAME}.svg", metadata={"Date": None})


def main() -> None:
    plt.rcParams["svg.hashsalt"] = NAME
    rows = measured(NAME, points(), figures)
    put(NAME, {rate: matrix(rows, rate) for rate in RATES})
    picture(rows)


if __name__ == "__main__":
    main()
