"""Which queue suits which mix of CUBIC, BBR and Prague: eight uploads, half of each of two kinds.

    python3 python/studies/aqm_mixes.py

writes docs/studies/aqm-mixes.csv, .svg, and the tables of .md. It takes some 5 minutes of processor time.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from study import FOLDER, Point, Row, mean, measured, ms, put, table

NAME = "aqm-mixes"
MIXES = {
    "CUBIC": ["cubic"],
    "BBR": ["bbr"],
    "Prague": ["prague"],
    "CUBIC, BBR": ["cubic", "bbr"],
    "CUBIC, Prague": ["cubic", "prague"],
    "BBR, Prague": ["bbr", "prague"],
}
QUEUES = {
    "pfifo": "pfifo:1000",
    "codel": "codel,ecn=on",
    "pie": "pie,ecn=on",
    "fq_codel": "fq_codel",
    "fq_codel, ce_threshold": "fq_codel,ce_threshold=1ms,ce_threshold_selector=1,ce_threshold_mask=3",
    "fq_pie": "fq_pie,ecn=on",
    "cake": "cake",
    "dualpi2": "dualpi2",
}
RTTS = [10, 80]
SEEDS = range(1, 6)
RATE = "50mbit"


def points() -> list[Point]:
    out = []
    for rtt in RTTS:
        for mix, kinds in MIXES.items():
            for name, queue in QUEUES.items():
                for seed in SEEDS:
                    # Prague asks for ECN; the others go without, as Linux's do by default.
                    count = 8 // len(kinds)
                    flows = [
                        {"to": "server", "count": count, "cc": kind, "stagger": "50ms"} for kind in kinds
                    ]
                    keys = {
                        "seeds": [seed],
                        "queues": [queue],
                        "test": {"length": "30s", "idle": "1s"},
                        "link": {"rate": RATE, "rtt": f"{rtt}ms"},
                        "flow": flows,
                        "probe": [{"to": "server", "interval": "20ms"}],
                    }
                    out.append(Point({"rtt_ms": rtt, "mix": mix, "queue": name, "seed": seed}, keys))
    return out


def figures(summary: Row) -> Row:
    """The share of the first kind of the goodput, the use of the line, and two delays."""
    goodputs = [flow["goodput_bps"] for flow in summary["flows"]]
    first = sum(goodputs[: len(goodputs) // 2])
    return {
        "goodput_mbit": round(sum(goodputs) / 1e6, 3),
        "first_half": round(first / sum(goodputs), 4),
        "jain": round(summary["jain_up"], 4),
        "rise_p95_ms": ms(summary["rtt"]["added_p95_ns"]),
        "wait_p95_ms": ms(summary["sojourn_up"]["p95_ns"]),
    }


def of(rows: list[Row], rtt: float, mix: str, queue: str) -> list[Row]:
    return [row for row in rows if (row["rtt_ms"], row["mix"], row["queue"]) == (rtt, mix, queue)]


def matrix(rows: list[Row], rtt: float, words: str) -> str:
    def cell(mix: str, queue: str) -> str:
        its = of(rows, rtt, mix, queue)
        if words == "shares":
            return f"{mean(its, 'first_half') * 100:.0f} %" if "," in mix else f"Jain {mean(its, 'jain'):.2f}"
        delays = f"{mean(its, 'rise_p95_ms'):.1f}, {mean(its, 'wait_p95_ms'):.1f}"
        return f"{mean(its, 'goodput_mbit'):.1f} Mbit/s, {delays}"

    return table(["queue", *MIXES], [[queue, *(cell(mix, queue) for mix in MIXES)] for queue in QUEUES])


def picture(rows: list[Row]) -> None:
    figure, axes = plt.subplots(1, len(RTTS), figsize=(11, 4.2), layout="constrained", sharey=True)
    mixed = [mix for mix in MIXES if "," in mix]
    for axis, rtt in zip(axes, RTTS, strict=True):
        for place, mix in enumerate(mixed):
            shares = [mean(of(rows, rtt, mix, queue), "first_half") * 100 for queue in QUEUES]
            spots = [number + (place - 1) * 0.22 for number in range(len(QUEUES))]
            axis.barh(spots, shares, height=0.2, label=f"{mix}: share of {mix.split(',')[0]}")
        axis.axvline(50, color="black", linewidth=0.8)
        axis.set(
            title=f"round trip {rtt} ms", xlim=(0, 100), xlabel="share of the first kind, % (50 is fair)"
        )
        axis.set_yticks(range(len(QUEUES)), list(QUEUES))
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=8, loc="outside lower center", ncols=3)
    figure.suptitle("Four flows of each of two kinds at 50 Mbit/s: who gets the line", fontsize=11)
    figure.savefig(FOLDER / f"{NAME}.svg", metadata={"Date": None})


def main() -> None:
    plt.rcParams["svg.hashsalt"] = NAME
    rows = measured(NAME, points(), figures)
    tables = {}
    for rtt in RTTS:
        tables[f"shares {rtt} ms"] = matrix(rows, rtt, "shares")
        tables[f"delays {rtt} ms"] = matrix(rows, rtt, "delays")
    put(NAME, tables)
    picture(rows)


if __name__ == "__main__":
    main()
