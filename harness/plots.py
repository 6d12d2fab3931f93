# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Pictures of results, as SVG or PNG.

    plots.py latency RESULT.json... --metric JOB.METRIC -o x.svg    quantiles of latencies, a line per result
    plots.py curve SWEEP.json --x NAME --metric JOB.METRIC.FIELD -o x.svg    a metric over what harness/sweep.py varied

RESULT.json is what `sim-run --json` printed, or metrics.json of a folder written by --out.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # no display is needed

import matplotlib.pyplot as plt  # noqa: E402: the back end has to be chosen before

QUANTILES = [("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("max", 0.9999)]
# The divisor of a metric's unit and its name on an axis.
SCALES = {"ps": (1e6, "µs"), "bytes/s": (1e9, "GB/s"), "bytes": (1024, "KiB"), "1/s": (1e6, "million/s")}
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def scaled(metric, value):
    divisor, _ = SCALES.get(metric["unit"], (1, ""))
    return value / divisor


def axis_label(name, metric):
    _, unit = SCALES.get(metric["unit"], (1, metric["unit"]))
    return f"{name} ({unit})"


def field_of(result, path):
    """The value of JOB.METRIC or JOB.METRIC.FIELD, with the metric that it belongs to."""
    metrics = result["metrics"]
    if path in metrics:
        return metrics[path].get("value", metrics[path].get("p50")), metrics[path]
    name, _, field = path.rpartition(".")
    if name not in metrics or field not in metrics[name]:
        raise SystemExit(f"no metric {path}; there are: {', '.join(sorted(metrics))}")
    return metrics[name][field], metrics[name]


def latency(results, metric_name, axes):
    """results: [(label, result)]. Draws quantiles; on the scale each further nine takes the same space."""
    for label, result in results:
        if metric_name not in result["metrics"] or result["metrics"][metric_name]["type"] != "histogram":
            raise SystemExit(f"{label}: no histogram {metric_name}")
        metric = result["metrics"][metric_name]
        values = [scaled(metric, metric[field]) for field, _ in QUANTILES]
        axes.plot(values, [1 / (1 - q) for _, q in QUANTILES], marker="o", label=label)
        axes.set_xlabel(axis_label(metric_name, metric))
    axes.set_yscale("log")
    axes.set_yticks([1 / (1 - q) for _, q in QUANTILES], [field for field, _ in QUANTILES])
    axes.minorticks_off()
    axes.set_ylabel("quantile")
    axes.legend()
    axes.grid(True, alpha=0.3)


def setting(text):
    """A value of the sweep as a number, if it is one."""
    match = re.fullmatch(r"([0-9.]+)(\w*)", text)
    if match and match.group(2) in ("", *SIZES):
        return float(match.group(1)) * SIZES.get(match.group(2), 1)
    return text


def curve(rows, x_name, metric_name, axes):
    """Draws a line for each combination of the other settings, averaged over the seeds."""
    lines = {}
    for row in rows:
        others = ", ".join(f"{name.split('.')[-1]}={value}" for name, value in row["set"].items() if name != x_name)
        value, metric = field_of(row["result"], metric_name)
        lines.setdefault(others, {}).setdefault(setting(row["set"][x_name]), []).append(scaled(metric, value))
        axes.set_ylabel(axis_label(metric_name, metric))
    for label, points in lines.items():
        axes.plot(list(points), [sum(values) / len(values) for values in points.values()], marker="o", label=label or None)
    xs = [x for points in lines.values() for x in points]
    if all(isinstance(x, float) and x > 0 for x in xs) and max(xs) / min(xs) > 20:
        axes.set_xscale("log", base=2)
        texts = {setting(row["set"][x_name]): row["set"][x_name] for row in rows}
        axes.set_xticks(list(texts), list(texts.values()))
    axes.set_xlabel(x_name)
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=0.3)
    if len(lines) > 1:
        axes.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("latency")
    command.add_argument("results", nargs="+", type=Path)
    command.add_argument("--metric", required=True)
    command.add_argument("-o", "--output", type=Path, required=True)
    command = commands.add_parser("curve")
    command.add_argument("sweep", type=Path)
    command.add_argument("--x", required=True)
    command.add_argument("--metric", required=True)
    command.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    if arguments.command == "latency":
        # Folders written by --out all hold a metrics.json.
        latency([(path.parent.name if path.stem == "metrics" else path.stem, json.loads(path.read_text()))
                 for path in arguments.results], arguments.metric, axes)
    else:
        curve(json.loads(arguments.sweep.read_text()), arguments.x, arguments.metric, axes)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    # Without dates and random ids, the same result gives the same file.
    matplotlib.rcParams["svg.hashsalt"] = "jacquard"
    figure.savefig(arguments.output, metadata={"Date": None} if arguments.output.suffix == ".svg" else None)
    print(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
