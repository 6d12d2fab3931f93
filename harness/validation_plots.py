# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Pictures of docs/validation.md: curves over the size of a transfer with published points on them, all deviations, and the
networks of the Madeleine II paper.

Drawn by `harness/validation.py --docs`.
"""

import re

import jacquard
from jacquard import style
from jacquard.style import size_axis, size_text

SCENARIOS = jacquard.ROOT / "scenarios" / "validation"
SIMULATED = tuple(style.COLOURS[at] for at in (0, 2, 3, 4))
# Published unit in the unit of metrics: ps, B/s, 1/s.
UNITS = {"us": 1e6, "ns": 1e3, "MB/s": 1e6, "GB/s": 1e9, "Mop/s": 1e6, "Mmsg/s": 1e6}
CONFIDENCES = {"published": "o", "derived": "s", "recalled": "^"}

# Name, heading, axis, divisor of the metric, both scales, curves (prefix in the scenario, metric, label), published rows.
CURVES = [
    ("validation-mpi-latency", "cray-mpich ping-pong, XC50, same blade", "latency (µs)", 1e6, "log", "xc40-series",
     [("eager", "latency", "eager, by SMSG"), ("rendezvous", "latency", "rendezvous, by BTE GET")],
     ["V10", "V11", "V13", "V14", "V16", "V17", "V19", "V20", "V21", "V23", "V25"]),
    ("validation-rma-latency", "libfabric RMA write by FMA, XC40, same blade", "latency (µs)", 1e6, "linear", "xc40-series",
     [("rma", "latency", "simulated")], ["V26", "V28", "V29", "V30"]),
    ("validation-put-bandwidth", "UCX PUTs, 64 in flight, XC40", "bandwidth (GB/s)", 1e9, "log", "xc40-series",
     [("fma", "bandwidth", "FMA"), ("bte", "bandwidth", "BTE")],
     ["V32", "V33", "V35", "V37", "V38", "V39", "V40", "V41", "V42", "V43", "V44", "V45"]),
    ("validation-blocking-bandwidth", "one thread, one transfer at a time, XC40", "bandwidth (GB/s)", 1e9, "linear",
     "xc40-blocking", [("fma-put", "bandwidth", "FMA PUT"), ("fma-get", "bandwidth", "FMA GET"),
                       ("bte-put", "bandwidth", "BTE PUT"), ("bte-get", "bandwidth", "BTE GET")], ["V59", "V60", "V61"]),
]


def points(metrics, prefix, metric):
    """[(size, median)] of the jobs that are called <prefix>-<size>."""
    pattern = re.compile(rf"{prefix}-(\d+)\.{metric}")
    return sorted((int(match.group(1)), metrics[name]["p50"]) for name in metrics if (match := pattern.fullmatch(name)))


def draw_curves(axes, metrics, curves, divisor, rows):
    for color, (prefix, metric, label) in zip(SIMULATED, curves):
        xs, ys = zip(*points(metrics, prefix, metric))
        axes.plot(xs, [y / divisor for y in ys], color=color, marker=".", markersize=4, linewidth=1.5, label=label, zorder=2,
                  linestyle="--" if prefix.endswith("-get") else "-")  # the curves of GET and PUT coincide for the BTE
    values = [row.published * UNITS[row.unit] / divisor for row in rows]
    axes.errorbar([int(row.size) for row in rows], values, fmt="o", markersize=5, color=style.REFERENCE, capsize=4, linewidth=1.2,
                  yerr=[value * row.tolerance / 100 for value, row in zip(values, rows)], zorder=3,
                  label="published, with tolerance")


def curve(name, heading, label, divisor, scale, scenario, curves, ids, by_id):
    result = jacquard.run(SCENARIOS / f"{scenario}.yaml")
    if not result.ok:
        raise SystemExit(result.report())
    figure, axes = style.pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    draw_curves(axes, result.metrics, curves, divisor, [by_id[id] for id in ids])
    axes.set_yscale(scale)
    if scale == "log":
        axes.yaxis.set_major_formatter(style.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_ylim(bottom=0)
    size_axis(axes, [size for prefix, metric, _ in curves for size, _ in points(result.metrics, prefix, metric)])
    axes.set_ylabel(label)
    axes.set_title(heading, fontsize=11)
    axes.grid(True, alpha=0.3)
    axes.legend(frameon=False)
    return name, figure


# The networks of the Madeleine II paper. Heading, scenario, curves (prefix of the jobs, label), and the paper's Table 2: us for
# 4 bytes and MB/s for 1 MiB, of which it has no raw one for SISCI.
TABLE_2 = [
    ("TCP on Fast Ethernet", "tcp_times", [("raw", "raw TCP"), ("mad", "Madeleine II")],
     [("raw", "o", 59.8, 11.1), ("Madeleine II", "s", 67.2, 11.0), ("Madeleine I", "^", 77.4, 10.5)]),
    ("SISCI on SCI", "sci_times", [("raw", "raw stores"), ("one", "Madeleine II"), ("two", "Madeleine II, two segments")],
     [("raw", "o", 2.3, None), ("Madeleine II", "s", 7.9, 57.0), ("Madeleine I", "^", 5.9, 70.0)]),
]


def rates(scenario):
    """{prefix of the jobs: [(size, MB/s)]} by the median one-way times of a scenario of Madeleine."""
    result = jacquard.run(jacquard.ROOT / "scenarios" / "madeleine" / f"{scenario}.yaml")
    if not result.ok:
        raise SystemExit(result.report())
    found = {}
    for name, metric in result.metrics.items():
        if match := re.fullmatch(r"([a-z]+)(\d+)\.latency", name):
            size = int(match.group(2))
            found.setdefault(match.group(1), []).append((size, size * 1e6 / metric["p50"]))
    return {prefix: sorted(curve) for prefix, curve in found.items()}


def rate_axes(axes, heading, curves):
    for color, dashes, (label, curve) in zip(SIMULATED, ("-", "-", "--"), curves):
        axes.plot(*zip(*curve), dashes, color=color, marker=".", markersize=4, linewidth=1.5, label=label, zorder=2)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(style.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    sizes = [size for _, curve in curves for size, _ in curve]
    size_axis(axes, [4, *sizes])
    axes.set_ylabel("bytes per median one-way time (MB/s)")
    axes.set_title(heading, fontsize=11)
    axes.grid(True, alpha=0.3)


def table_2():
    figure, panels = style.pyplot.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    for axes, (heading, scenario, curves, paper) in zip(panels, TABLE_2):
        found = rates(scenario)
        rate_axes(axes, heading, [(label, found[prefix]) for prefix, label in curves])
        for label, marker, latency, bandwidth in paper:
            known = [(4, 4 / latency), (1 << 20, bandwidth)]
            axes.plot(*zip(*[point for point in known if point[1]]), marker, color=style.REFERENCE, markersize=6, markerfacecolor="none",
                      label=f"paper: {label}", zorder=3)
        axes.legend(frameon=False, fontsize=8)
    return "validation-madeleine-table-2", figure


def figure_4():
    found = {**rates("via_methods"), **rates("via_times")}
    figure, axes = style.pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    rate_axes(axes, "Madeleine II over VIA on Fast Ethernet",
              [("copies (static)", found["static"]), ("registered memory (dynamic)", found["dynamic"]), ("the library's choice", found["multi"])])
    axes.axvline(5120, color="#888888", linewidth=0.8, linestyle=":", label="5120 bytes: longest copy", zorder=1)
    axes.legend(frameon=False)
    return "validation-madeleine-via", figure


def deviations(rows):
    """Draws the deviation of each judged row over a bar of its tolerance. Rows that must be exact are left out."""
    rows = [row for row in rows if row.judged and row.use != "bound" and row.tolerance >= 1]
    figure, axes = style.pyplot.subplots(figsize=(7.5, 0.17 * len(rows) + 1), layout="constrained")
    for at, row in enumerate(rows):
        axes.barh(at, 2 * row.tolerance, left=-row.tolerance, height=0.7, color="#dfe6ec", zorder=1)
        axes.plot(row.deviation, at, CONFIDENCES[row.confidence], color=SIMULATED[0] if row.use == "check" else "white",
                  markeredgecolor=SIMULATED[0], markersize=5, zorder=3)
    axes.axvline(0, color="#888888", linewidth=0.8, zorder=2)
    axes.set_yticks(range(len(rows)), [f"{row.id}  {row.layer}" + (f", {size_text(int(row.size))}B" if row.size else "")
                                       for row in rows], fontsize=6.5)
    axes.set_ylim(len(rows), -1)
    axes.set_xlabel("simulated against published (%); grey: tolerance")
    for label, marker, face in (("check", "o", SIMULATED[0]), ("fitted to it", "o", "white"),
                                ("derived", "s", "white"), ("recalled", "^", "white")):
        axes.plot([], [], marker, color=face, markeredgecolor=SIMULATED[0], markersize=5, label=label)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    axes.grid(True, axis="x", alpha=0.3)
    return "validation-deviations", figure


def draw(rows, folder):
    """All pictures as SVG; the same results give the same files."""
    style.setup()
    folder.mkdir(parents=True, exist_ok=True)
    by_id = {row.id: row for row in rows}
    written = []
    for name, figure in [*(curve(*what, by_id) for what in CURVES), deviations(rows), table_2(), figure_4()]:
        written.append(style.save(figure, folder / f"{name}.svg"))
    return written
