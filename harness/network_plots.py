# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Pictures of the network under load: runs scenarios/workloads/traffic*.yaml and draws docs/images/network-*.svg.

    network_plots.py [heat] [latency] [throughput] [fidelity] [--images DIR] [--docs]    all of them without a name

heat: how busy the links between groups and inside a group are; latency: distributions; throughput: delivered over offered
load, by routing mode; fidelity: mean throughput of F1 beside F2 by pattern, mode and seed, a picture and tables on standard
output, which --docs also writes into docs/network-experiments.md. That page shows all of them. The programs are those of
JACQUARD_BUILD, or build.
"""

import argparse
import concurrent.futures
import csv
import os
import sys
import tempfile
from pathlib import Path

import jacquard
from jacquard import style

SCENARIOS = jacquard.ROOT / "scenarios" / "workloads"
IMAGES = jacquard.ROOT / "docs" / "images"
MODES = {"adaptive0": "ADAPTIVE_0", "adaptive3": "ADAPTIVE_3", "min_hash": "MIN_HASH", "nmin_hash": "NMIN_HASH"}
COLOURS = dict(zip(MODES, ("tab:blue", "tab:green", "tab:orange", "tab:red")))
PATTERNS = {"uniform": "uniform random", "neighbour": "nearest neighbour", "complement": "bit complement",
            "incast": "incast", "adversarial": "group-adversarial"}
LOADS = (0.02, 0.05, 0.08, 0.11, 0.14, 0.17, 0.2, 0.25, 0.3)
NODES, INJECTION = 160, 10e9  # of traffic.yaml: ranks, and the B/s of load 1
# 864 ranks, one on each router of theta9, the first configuration of Theta.
THETA = {"fabric": "{preset: theta9}", "jobs.t.nodes": "0-3455/4", "jobs.t.args.group": 384, "jobs.t.args.unit": "bte",
         "jobs.t.args.bytes": "16KiB", "jobs.t.args.window": 8}


def run(name, settings, options=()):
    result = jacquard.run(SCENARIOS / name, set={**settings, "expect": "[]"}, options=options)
    if not result.data or result.exit_code == jacquard.runner.BAD_INPUT:
        raise SystemExit(result.report())
    return result


def tables(name, settings):
    """links.csv and histograms.csv of a run, as lists of dicts."""
    with tempfile.TemporaryDirectory() as folder:
        run(name, settings, ["--out", f"{folder}/out"])
        return [list(csv.DictReader((Path(folder) / "out" / table).open()))
                for table in ("links.csv", "histograms.csv")]


# ---- heat --------------------------------------------------------------------------------------------------------------


def mean_by(links, key_of, full):
    sums = {}
    for link in links:
        key = key_of(link)
        total, count = sums.get(key, (0, 0))
        sums[key] = (total + float(link["busy_ps"]) / full, count + 1)
    return {key: total / count for key, (total, count) in sums.items()}


def image(axes, values, rows, columns, title, xlabel, ylabel, top):
    grid = [[values.get((row, column), float("nan")) for column in range(columns)] for row in range(rows)]
    picture = axes.imshow(grid, vmin=0, vmax=top, cmap="inferno", aspect="auto", interpolation="nearest")
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.set_xticks(range(0, columns, 1 if columns < 12 else 3))
    axes.set_yticks(range(rows))
    axes.set_facecolor("lightgrey")
    return picture


def heat(figure):
    """Rows: minimal and adaptive routing. Left: blue links, group to group. Right: green and black links of group 0."""
    cells = figure.subplots(2, 2, gridspec_kw={"width_ratios": [1, 1.35]})
    panels, full = [], None
    for routing in ("min_hash", "adaptive0"):
        links, _ = tables("traffic_adversarial.yaml", {**THETA, "jobs.t.args.routing": routing})
        full = full or max(float(link["busy_ps"]) for link in links)  # the busiest link was never idle
        blue = mean_by((link for link in links if link["colour"] == "blue"),
                       lambda link: (int(link["group"]), int(link["peer_group"])), full)
        local = mean_by((link for link in links if link["colour"] != "blue" and link["group"] == "0"),
                        lambda link: (int(link["chassis"]), int(link["slot"])), full)
        panels.append((routing, blue, local))
    tops = [max(max(panel[side].values()) for panel in panels) for side in (1, 2)]
    for (routing, blue, local), row in zip(panels, cells):
        pictures = [
            image(row[0], blue, 9, 9, f"{MODES[routing]}: between groups", "to group", "from group", tops[0]),
            image(row[1], local, 6, 16, f"{MODES[routing]}: inside group 0", "slot", "chassis", tops[1])]
        for axes, picture in zip(row, pictures):
            figure.colorbar(picture, ax=axes, format=style.ticker.PercentFormatter(1, decimals=0))
    figure.suptitle("How busy links are while every group sends to the next (Theta, 9 groups)")


# ---- latency -----------------------------------------------------------------------------------------------------------


def latency(figure):
    cells = figure.subplots(1, 2, sharey=True)
    for axes, load in zip(cells, (0.05, 0.15)):
        for routing, label in MODES.items():
            _, buckets = tables("traffic.yaml", {"jobs.t.args.routing": routing, "jobs.t.args.load": load})
            points = [(int(row["value"]), int(row["count"])) for row in buckets if row["metric"] == "t.latency"]
            total, seen, xs, ys = sum(count for _, count in points), 0, [], []
            for value, count in points:
                seen += count
                xs.append(value / 1e6)
                ys.append(seen / total)
            axes.step(xs, ys, where="post", label=label, color=COLOURS[routing])
        axes.set(title=f"offered {load * INJECTION / 1e9:g} GB/s per node", xlabel="latency of 4 KiB (µs)", xscale="log",
                 xticks=[2, 5, 10, 20, 50], xticklabels=["2", "5", "10", "20", "50"], xlim=(1.5, 60), ylim=(0, 1.01))
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    cells[0].set_ylabel("part of all messages")
    cells[0].legend()
    figure.suptitle("Uniform random traffic, 160 nodes in 5 groups")


# ---- throughput --------------------------------------------------------------------------------------------------------


def throughput(figure):
    cells = figure.subplots(1, 2, sharey=True)
    bounds = {"traffic.yaml": None, "traffic_adversarial.yaml": 8 * 2.857 / 32}
    for axes, (name, bound) in zip(cells, bounds.items()):
        for routing, label in MODES.items():
            delivered = []
            for load in LOADS:
                result = run(name, {"jobs.t.args.routing": routing, "jobs.t.args.load": load, "jobs.t.args.window": 16,
                                    "jobs.t.args.warmup": "100us", "jobs.t.args.duration": "100us"})
                delivered.append(result.metrics["t.total_bandwidth"]["mean"] / NODES / 1e9)
            axes.plot([load * INJECTION / 1e9 for load in LOADS], delivered, marker=".", label=label,
                      color=COLOURS[routing])
        axes.plot([0, 2], [0, 2], color="grey", linewidth=0.8, linestyle=":")
        if bound:
            axes.axhline(bound, color="grey", linewidth=0.8, linestyle="--")
            axes.annotate("all links of the group pair", (2.98, bound * 1.02), ha="right", fontsize="small",
                          color="dimgrey")
        axes.set(title="uniform random" if not bound else "group-adversarial", xlabel="offered (GB/s per node)",
                 xlim=(0, 3.1), ylim=(0, 2))
        axes.grid(alpha=0.3)
    cells[0].set_ylabel("delivered (GB/s per node)")
    cells[0].legend(loc="upper left")
    figure.suptitle("Puts of 4 KiB, 160 nodes in 5 groups")


# ---- F1 beside F2 ------------------------------------------------------------------------------------------------------

COMPARED = {"adaptive0": "ADAPTIVE_0", "adaptive3": "ADAPTIVE_3", "min_hash": "MIN_HASH", "in_order": "IN_ORDER"}
SEEDS = range(1, 6)
WINDOW, SHORT_WINDOWS = 8, (1, 2)
WARMUP, DURATION = "200us", {"incast": "300us"}
TOLERANCE = 0.15


def mean_throughput(pattern, routing, level, seed, window=WINDOW):
    """The throughput of all nodes together, in GB/s."""
    names = {"uniform": "traffic.yaml", "incast": "traffic_incast.yaml"}
    settings = {"jobs.t.args.load": 0} if pattern == "uniform" else {}
    return run(names.get(pattern, f"traffic_{pattern}.yaml"), {
        **settings, "seed": seed, "fabric.fidelity": level, "jobs.t.args.routing": routing, "jobs.t.args.window": window,
        "jobs.t.args.duration": DURATION.get(pattern, "100us"), "jobs.t.args.warmup": WARMUP}).metrics["t.total_bandwidth"]["mean"] / 1e9


def compared(cases, seeds):
    """{(pattern, routing, window): [(F1, F2) of each seed]}. Runs one simulator per processor."""
    wanted = [(case, seed, level) for case in cases for seed in seeds for level in ("F1", "F2")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        got = dict(zip(wanted, pool.map(lambda one: mean_throughput(one[0][0], one[0][1], one[2], one[1], one[0][2]), wanted)))
    return {case: [(got[case, seed, "F1"], got[case, seed, "F2"]) for seed in seeds] for case in cases}


def ratio_of_means(pairs):
    return sum(one for one, _ in pairs) / sum(two for _, two in pairs)


def spread(pairs):
    """The smallest and the largest ratio of a single seed."""
    ratios = [one / two for one, two in pairs]
    return min(ratios), max(ratios)


def table_of(found, patterns):
    lines = ["| pattern | mode | F1, GB/s | F2, GB/s | F1 / F2 | single seeds |", "|---|---|---:|---:|---:|---:|"]
    for pattern in patterns:
        for routing, label in COMPARED.items():
            pairs = found[pattern, routing, WINDOW]
            one, two = (sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1))
            low, high = spread(pairs)
            lines.append(f"| {PATTERNS[pattern]} | {label} | {one:.1f} | {two:.1f} | {one / two:.2f} | {low:.2f} to {high:.2f} |")
    return lines


def table_of_short(found, patterns):
    heads = [f"{label}, {window}" for label in COMPARED.values() for window in SHORT_WINDOWS]
    lines = [f"| pattern | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for pattern in patterns:
        cells = [f"{ratio_of_means(found[pattern, routing, window]):.2f}" for routing in COMPARED for window in SHORT_WINDOWS]
        lines.append(f"| {PATTERNS[pattern]} | {' | '.join(cells)} |")
    return lines


def fidelity(figure):
    cases = [(pattern, routing, WINDOW) for pattern in PATTERNS for routing in COMPARED]
    short = [(pattern, routing, window) for pattern in PATTERNS for routing in COMPARED for window in SHORT_WINDOWS]
    found = {**compared(cases, SEEDS), **compared(short, SEEDS[:1])}
    tables_of_page("fidelity", table_of(found, PATTERNS))
    tables_of_page("short windows", table_of_short(found, PATTERNS))
    axes = figure.subplots()
    axes.set_axisbelow(True)
    axes.axhspan(1 - TOLERANCE, 1 + TOLERANCE, color="tab:green", alpha=0.15, zorder=0, label="15 % around F2")
    axes.axhline(1, color="grey", linewidth=0.8, zorder=1)
    colours = dict(zip(COMPARED, ("tab:blue", "tab:cyan", "tab:orange", "tab:purple")))
    for i, (routing, label) in enumerate(COMPARED.items()):
        at = [x + (i - 1.5) * 0.2 for x in range(len(PATTERNS))]
        means = [ratio_of_means(found[pattern, routing, WINDOW]) for pattern in PATTERNS]
        ends = [spread(found[pattern, routing, WINDOW]) for pattern in PATTERNS]
        errors = [[max(0, mean - low) for mean, (low, _) in zip(means, ends)],
                  [max(0, high - mean) for mean, (_, high) in zip(means, ends)]]
        axes.bar(at, means, 0.18, yerr=errors, capsize=2, label=label, color=colours[routing], zorder=2,
                 error_kw={"elinewidth": 0.8, "ecolor": "black", "zorder": 3})
    axes.set_xticks(range(len(PATTERNS)), PATTERNS.values(), fontsize="small")
    axes.set(ylabel="mean throughput of F1, F2 = 1", ylim=(0, 1.55))
    axes.legend(ncols=3, fontsize="small", loc="upper center")
    figure.suptitle(f"As fast as {WINDOW} messages in flight allow; means and extremes of {len(SEEDS)} seeds")


PAGE = jacquard.ROOT / "docs" / "network-experiments.md"


def tables_of_page(name, lines):
    """Prints a table, and with --docs replaces it on the page."""
    print("\n".join(lines))
    if not write_docs:
        return
    begin, end = f"<!-- table: harness/network_plots.py fidelity --docs, {name} -->", "<!-- end of table -->"
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(begin)
    PAGE.write_text(before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + rest.split(end, 1)[1], encoding="utf-8")


PICTURES = {"heat": (heat, (9, 6.4)), "latency": (latency, (9, 4)), "throughput": (throughput, (9, 4.2)),
            "fidelity": (fidelity, (9, 4.2))}
write_docs = False


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="*", choices=[*PICTURES, []], help="which; all without a name")
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder of the pictures")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/network-experiments.md")
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    options = parser.parse_args(arguments)
    global write_docs
    write_docs = options.docs
    style.setup()
    options.images.mkdir(parents=True, exist_ok=True)
    for name in options.picture or PICTURES:
        draw, size = PICTURES[name]
        figure = style.pyplot.figure(figsize=size, layout="constrained")
        draw(figure)
        style.save(figure, options.images / f"network-{name}.{options.format}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
