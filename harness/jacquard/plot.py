# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Draws the results of any run or campaign.

    jacquard plot curve RESULT... --metric M [--x NAME] -o FILE     a metric over a setting that varies
    jacquard plot cdf RESULT... [--metric M] -o FILE                how the values of a metric are distributed
    jacquard plot heat RESULT [--network NAME] -o FILE              the load of the links
    jacquard plot compare RESULT... [--metric M]... -o FILE         metrics side by side

RESULT is what `sim-run --json` printed (- is standard input), a folder written by `sim-run --out`, what `jacquard sweep`
wrote, the SQLite file of a campaign, a trace (cdf), or a scenario, which is run first. M is METRIC or METRIC.FIELD, such as
pingpong.latency.p99. FILE ends with .png, .svg or .pdf. Exit code: 0 drawn, 2 bad input."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from . import results, style
from .command import BadInput, Parser, execute, writable
from .results import Results, Run

QUANTILES = (("min", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999))
TIMES = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
COMPARED_MAX, BARS_MAX, METRICS_MAX, LINES_MAX = 40, 36, 6, 16


def number_of(text: str) -> float | None:
    """A setting such as 4KiB, 10us or 0.5 as a number."""
    match = re.fullmatch(r"(-?[0-9.]+)(\w*)", text)
    scale = {"": 1, **style.SIZES, **TIMES}.get(match[2]) if match else None
    try:
        return float(match[1]) * scale if match and scale else None
    except ValueError:
        return None


def all_runs(loaded: list[Results]) -> list[tuple[str, Run]]:
    """The runs with the label of their results, which is empty if there are no others."""
    return [("" if len(loaded) == 1 else one.label, run) for one in loaded for run in one.runs]


def names_of(settings: dict[str, str]) -> str:
    """Settings as a label, each by the last part of its path."""
    return ", ".join(f"{name.rpartition('.')[2]}={style.shortened(value, 18)}" for name, value in settings.items())


def part_of(run: Run, names: list[str]) -> dict[str, str]:
    return {name: run.settings[name] for name in names if name in run.settings}


def varying(runs: list[Run]) -> list[str]:
    """The settings that differ between the runs, in the order in which they were given."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    return [name for name in names if len({run.settings.get(name) for run in runs}) > 1]


def chosen_x(runs: list[Run], asked: str | None) -> str:
    candidates = varying(runs)
    if asked is not None:
        matches = [name for name in {**dict.fromkeys(name for run in runs for name in run.settings), "seed": None}
                   if name == asked or name.rpartition(".")[2] == asked]
        if len(matches) == 1:
            return matches[0]
        raise BadInput(f"{asked}: {'several settings end so' if matches else 'no such setting'}; there are: "
                       f"{', '.join([*dict.fromkeys(name for run in runs for name in run.settings), 'seed'])}")
    if len(candidates) == 1:
        return candidates[0]
    if not candidates and len({run.seed for run in runs}) > 1:
        return "seed"
    raise BadInput(f"choose the x axis by --x: {', '.join(candidates)} vary" if candidates else
                   "nothing varies in these results: a curve needs runs with different settings or seeds")


# ---- curve -------------------------------------------------------------------------------------------------------------


def x_axis(axes, texts: list[str], name: str) -> dict[str, float]:
    """Sets up the axis of a setting with these values. Returns the position of each."""
    numbers = [number_of(text) for text in texts]
    job = re.fullmatch(r"jobs\.(.+)\.args\.([^.]+)", name)
    if job:
        axes.set_xlabel(job[2] if job[1].isdigit() else f"{job[2]} of {job[1]}")
    else:
        axes.set_xlabel(name.removeprefix("jobs."))
    if any(number is None for number in numbers):
        axes.set_xticks(range(len(texts)), [style.shortened(text, 20) for text in texts], rotation=30 if len("".join(texts)) > 70 else 0,
                        ha="right" if len("".join(texts)) > 70 else "center")
        axes.set_xlim(-0.5, len(texts) - 0.5)
        return {text: float(at) for at, text in enumerate(texts)}
    at: dict[str, float] = dict(zip(texts, numbers))  # type: ignore[arg-type]
    ordered = sorted(at, key=lambda text: at[text])
    low, high = at[ordered[0]], at[ordered[-1]]
    if low > 0 and high / low > 20:
        axes.set_xscale("log", base=2)
        scaled = style.logarithms([at[text] for text in ordered])
    else:
        scaled = [at[text] for text in ordered]
    span = scaled[-1] - scaled[0] or 1
    shown = style.spaced([one / span for one in scaled], max(len(text) for text in ordered) * 0.011 + 0.015)
    axes.set_xticks([at[ordered[index]] for index in shown], [ordered[index] for index in shown])
    axes.minorticks_off()
    return at


def curve(axes, runs: list[tuple[str, Run]], x_name: str, metric: str, scale: str = "auto") -> None:
    """A line for each combination of the other settings: the mean over the runs that hold, and a band from the smallest to the
    largest. Runs that failed are marked and do not count."""
    others = [name for name in varying([run for _, run in runs]) if name != x_name]
    texts: list[str] = []
    lines: dict[str, dict[str, list[float]]] = {}
    failed: list[tuple[str, str, float | None]] = []
    unit, total = "", {}
    for label, run in runs:
        x = str(run.seed) if x_name == "seed" else run.settings.get(x_name)
        if x is None:
            raise BadInput(f"{label or 'a run'}: no setting {x_name}")
        texts += [x] if x not in texts else []
        total[x] = total.get(x, 0) + 1
        key = ", ".join(part for part in (label, names_of(part_of(run, others))) if part)
        found = results.field_of(run, metric)
        line = lines.setdefault(key, {})
        if found:
            unit = found[1]["unit"]
        if not run.ok:
            failed.append((key, x, found[0] if found else None))
        elif found:
            line.setdefault(x, []).append(found[0])
    if len(lines) > LINES_MAX:
        raise BadInput(f"{len(lines)} lines are too many for a picture; {', '.join(others)} vary besides {x_name}: give fewer results")
    values = [value for line in lines.values() for each in line.values() for value in each] + \
             [value for _, _, value in failed if value is not None]
    divisor, name = style.unit_of(unit, values)
    at = x_axis(axes, texts, x_name)
    styles = dict(zip(lines, zip(style.COLOURS * 2, style.MARKERS * 2)))
    for key, line in lines.items():
        points = sorted((at[x], each) for x, each in line.items())
        colour, marker = styles[key]
        axes.plot([x for x, _ in points], [sum(each) / len(each) / divisor for _, each in points], marker=marker, markersize=5,
                  color=colour, label=key or None)
        if any(len(each) > 1 for _, each in points):
            axes.fill_between([x for x, _ in points], [min(each) / divisor for _, each in points],
                              [max(each) / divisor for _, each in points], color=colour, alpha=0.15, linewidth=0)
    positive = [value for value in values if value > 0]
    if scale == "log" or scale == "auto" and len(positive) == len(values) > 0 and max(values) / min(values) > 50:
        if len(positive) < len(values):
            raise BadInput(f"{metric}: a logarithmic axis has no place for {min(values):g}")
        style.logarithmic(axes.yaxis, metric, unit, divisor, name, values)
    else:
        axes.set_ylabel(style.labelled(metric, name))
        if min(values) >= 0:
            axes.set_ylim(0, max(values) / divisor * 1.08 or 1)
    mark_failed(axes, failed, at, total, divisor, values)
    style.grid(axes)
    style.legend(axes)


def mark_failed(axes, failed, at: dict[str, float], total: dict[str, int], divisor: float, values: list[float]) -> None:
    """A red cross for each run that failed: at its value, or on the x axis if it has none. Above the axis: how many failed."""
    label: str | None = f"failed: {len(failed)} of {sum(total.values())} runs"
    for _, x, value in failed:
        axes.plot(at[x], 0 if value is None else value / divisor, "x", color=style.FAILED, markersize=8, markeredgewidth=2, zorder=4,
                  label=label, clip_on=False, transform=axes.get_xaxis_transform() if value is None else axes.transData)
        label = None
    where = sorted({at[x] for _, x, _ in failed})
    if not where or max(total.values()) == 1:
        return
    left, right = axes.transData.transform([(x, 1) for x in (min(at.values()), max(at.values()))])[:, 0]
    pixels = axes.transData.transform([(x, 1) for x in where])[:, 0]
    text_of = {at[x]: f"{sum(1 for _, other, _ in failed if other == x)}/{total[x]}" for _, x, _ in failed}
    for index in style.spaced([pixel / (right - left or 1) for pixel in pixels], 0.07):
        axes.annotate(text_of[where[index]], (where[index], 1), xycoords=axes.get_xaxis_transform(), xytext=(0, 3),
                      textcoords="offset points", ha="center", fontsize=8, color=style.FAILED)


# ---- cdf ---------------------------------------------------------------------------------------------------------------


def distribution(run: Run, metric: str) -> list[tuple[float, float]]:
    """(value, part of the values that are not above it): by the buckets where they are known, else by the quantiles."""
    data = run.metrics[metric]
    if metric in run.buckets:
        points, seen = [(run.buckets[metric][0][0], 0.0)], 0
        for value, count in run.buckets[metric]:
            seen += count
            points.append((value, seen / data["count"]))
        return points
    # A quantile beyond the number of values says no more than the largest one.
    points = [(data[name], part) for name, part in QUANTILES if (1 - part) * data["count"] >= 1 or part == 0.5]
    return [*points, (data["max"], 1)]


def histograms(runs: list[Run]) -> list[str]:
    return [name for name in results.known(runs)
            if any(run.metrics.get(name, {}).get("type") == "histogram" and run.metrics[name]["count"] > 0 for run in runs)]


def chosen_histogram(runs: list[Run], asked: str | None) -> str:
    names = histograms(runs)
    if asked is not None and asked in names:
        return asked
    if asked is None and (len(names) == 1 or results.MESSAGES in names):
        return results.MESSAGES if results.MESSAGES in names else names[0]
    if asked is not None and any(asked in run.metrics and run.metrics[asked].get("count") == 0 for run in runs):
        raise BadInput(f"{asked} has no values: 0 were recorded")
    if not names:
        raise BadInput("no histogram with values in these results" + next((f": {run.why}" for run in runs if not run.ok), ""))
    raise BadInput(f"{f'no histogram {asked} with values' if asked else 'choose a histogram by --metric'}; there are: {', '.join(names)}")


def cdf(axes, runs: list[tuple[str, Run]], metric: str) -> None:
    """The part of values up to each value; on the scale each further nine takes the same space."""
    others = varying([run for _, run in runs])
    seeds = len({run.seed for _, run in runs}) > 1
    if len(runs) > COMPARED_MAX:
        raise BadInput(f"{len(runs)} distributions are too many for a picture: at most {COMPARED_MAX}")
    have = [(label, run) for label, run in runs if run.metrics.get(metric, {}).get("count", 0) > 0]
    unit = have[0][1].metrics[metric]["unit"]
    divisor, name = style.unit_of(unit, [run.metrics[metric]["p50"] * 5 for _, run in have])
    deepest = max(run.metrics[metric]["count"] for _, run in have)
    bottom, nothing = 0.5 / deepest, 0
    for index, (label, run) in enumerate(runs):
        text = ", ".join(part for part in (label, names_of(part_of(run, others)),
                                           f"seed {run.seed}" if seeds and len(runs) > 1 and run.seed is not None else "") if part)
        text += "" if run.ok else " ✕ failed"
        if run.metrics.get(metric, {}).get("count", 0) == 0:
            nothing += 1
            axes.plot([], [], " ", label=f"{text or 'run'}: no values")
            continue
        count = run.metrics[metric]["count"]
        points = distribution(run, metric)
        xs = [value / divisor for value, _ in points]
        ys = [1 / max(1 - part, 0.5 / count) for _, part in points]
        colour = style.COLOURS[index % len(style.COLOURS)]
        steps = {"drawstyle": "steps-post"} if metric in run.buckets else {"marker": style.MARKERS[index % len(style.MARKERS)], "markersize": 5}
        axes.plot(xs, ys, color=colour, linestyle="-" if run.ok else ":", label=f"{text} ({count:,} values)" if text else f"{count:,} values", **steps)
        if not run.ok:
            axes.plot(xs[-1], ys[-1], "x", color=style.FAILED, markersize=8, markeredgewidth=2, zorder=4)
    axes.set_yscale("log")
    ticks = [(1, "0"), (2, "50 %"), (10, "90 %"), (100, "99 %"), (1e3, "99.9 %"), (1e4, "99.99 %"), (1e5, "99.999 %"), (1e6, "99.9999 %")]
    top = 1 / bottom
    kept = [tick for tick in ticks if tick[0] <= top]
    axes.set_yticks([tick for tick, _ in kept], [text for _, text in kept])
    axes.minorticks_off()
    axes.set_ylim(0.95, top * 1.2)
    values = [value for _, run in have for value, _ in distribution(run, metric)]
    if min(values) > 0 and max(values) / min(values) > 8:
        style.logarithmic(axes.xaxis, metric, unit, divisor, name, values)
    else:
        axes.set_xlabel(style.labelled(metric, name))
    axes.set_ylabel("part of the values")
    style.grid(axes)
    style.legend(axes)


# ---- compare -----------------------------------------------------------------------------------------------------------


def compared_metrics(runs: list[Run], asked: list[str] | None, bars: int) -> list[str]:
    """The metrics of the picture. If none is asked for: metrics of jobs, as many as a page of bars has room for."""
    if asked:
        for metric in asked:
            results.demand(runs, metric)
        return asked
    names = [name for name in results.known(runs) if results.of_job(name, runs) and
             any(found and found[0] != 0 for found in (results.field_of(run, name) for run in runs))]
    if not names:
        results.demand(runs, "of a job with a value")
    # First those that most runs have.
    return sorted(names, key=lambda name: -sum(name in run.metrics for run in runs))[:max(1, min(METRICS_MAX, BARS_MAX // bars))]


QUANTILES_OF = ("p99", "p999", "p90", "p50", "min", "max", "mean", "count")


def compare(figure, groups: dict[str, list[Run]], metrics: list[str]) -> None:
    """For each metric a panel with a bar for each group of runs."""
    panels = figure.subplots(len(metrics), 1, squeeze=False)[:, 0]
    for axes, metric in zip(panels, metrics):
        compare_metric(axes, groups, metric)


def compare_metric(axes, groups: dict[str, list[Run]], metric: str) -> None:
    """A bar is the mean over the runs of a group that hold, with a line from the smallest to the largest value; the median of a
    histogram of one run has a line to its 99th percentile. If all runs of a group failed, the bar is hatched."""
    values_of = {label: [(run, found[0], found[1]) for run in runs if (found := results.field_of(run, metric))] for label, runs in groups.items()}
    kind = next(metric for values in values_of.values() for _, _, metric in values)
    unit, medians = kind["unit"], kind["type"] == "histogram" and metric.rpartition(".")[2] not in QUANTILES_OF
    several = any(len(runs) > 1 for runs in groups.values())
    # Values of failed runs are drawn for those groups only that have no others.
    values_of = {label: [one for one in values if one[0].ok] or values for label, values in values_of.items()}
    longest = max(sum(value for _, value, _ in values) / len(values) for values in values_of.values() if values)
    divisor, name = style.unit_of(unit, [longest])
    right = longest
    for at, (label, runs) in enumerate(groups.items()):
        good = any(run.ok for run, _, _ in values_of[label])
        values = [value for _, value, _ in values_of[label]]
        mean = sum(values) / len(values) if values else 0
        ends = (min(values), max(values)) if len(values) > 1 else (mean, values_of[label][0][2]["p99"]) if values and medians else (mean, mean)
        text = style.value_text(mean, unit) if values else "no value"
        if len(values) == 1 and ends[1] > mean:
            text += f", p99 {style.value_text(ends[1], unit)}"
        filling = {"color": style.COLOURS[0]} if good else {"facecolor": "none", "edgecolor": style.FAILED, "hatch": "///"}
        axes.barh(at, mean / divisor, height=0.62, zorder=2, **filling)
        reach = mean
        if mean < ends[1] <= 4 * longest:  # a line that is much longer than the bars says less than the text
            axes.errorbar(mean / divisor, at, xerr=[[(mean - ends[0]) / divisor], [(ends[1] - mean) / divisor]], color="black", capsize=3,
                          linewidth=1, zorder=3)
            reach = ends[1]
        right = max(right, reach)
        failed = sum(not run.ok for run in runs)
        if failed:
            text += "  ✕ failed" if len(runs) == 1 else f"  ✕ {failed} of {len(runs)} failed"
        axes.annotate(text, (reach / divisor, at), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9,
                      color=style.FAILED if failed else "black" if values else "dimgrey")
    axes.set_xlim(0, right / divisor * 1.5 or 1)
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.set_yticks(range(len(groups)), [style.shortened(label, 40) for label in groups])
    what = "mean, smallest to largest" if several else "median, line to p99" if medians else ""
    axes.set_xlabel(style.labelled(metric, "; ".join(part for part in (name, what) if part)))
    style.grid(axes, "x")


def grouped(loaded: list[Results]) -> dict[str, list[Run]]:
    """The runs that differ only by their seed stand together."""
    runs = all_runs(loaded)
    names = varying([run for _, run in runs])
    groups: dict[str, list[Run]] = {}
    for label, run in runs:
        text = ", ".join(part for part in (label, names_of(part_of(run, names))) if part)
        groups.setdefault(text or run.scenario or loaded[0].label, []).append(run)
    if len(groups) > COMPARED_MAX:
        raise BadInput(f"{len(groups)} bars are too many for a picture: at most {COMPARED_MAX}")
    return groups


# ---- the command -------------------------------------------------------------------------------------------------------


def assignment(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text}: not NAME=VALUE")
    return name, value


def title_of(loaded: list[Results], what: str) -> str:
    """The scenario, if there is only one, and how many runs."""
    runs = [run for one in loaded for run in one.runs]
    names = list(dict.fromkeys(run.scenario for run in runs if run.scenario)) or [one.label for one in loaded]
    head = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    counted = f", {len(runs)} runs" if len(runs) > len(loaded) else f", seed {runs[0].seed}" if len(runs) == 1 and runs[0].seed is not None else ""
    return style.shortened(f"{head}: {what}{counted}", 90)


def labels_must_differ(loaded: list[Results]) -> None:
    for at, one in enumerate(loaded):
        if any(other.label == one.label for other in loaded[:at]):
            one.label += f" ({at + 1})"


def draw(arguments) -> int:
    if arguments.output.suffix[1:].lower() not in style.FORMATS:
        raise BadInput(f"{arguments.output}: the name of a picture ends with {', '.join('.' + name for name in style.FORMATS)}")
    writable(arguments.output)
    style.setup(arguments.font)
    loaded: list[Results] = [results.read(name, dict(arguments.set), arguments.seed, arguments.kind == "heat") for name in arguments.results]
    labels_must_differ(loaded)
    every = [run for one in loaded for run in one.runs]
    if not every:
        raise BadInput(f"{arguments.results[0]}: no runs")
    what, height = arguments.kind, 5.0
    if arguments.kind == "curve":
        results.demand(every, arguments.metric)
        x_name = chosen_x(every, arguments.x)
        figure, axes = style.pages()
        curve(axes, all_runs(loaded), x_name, arguments.metric, arguments.scale)
        what = arguments.metric
    elif arguments.kind == "cdf":
        metric = chosen_histogram(every, arguments.metric)
        figure, axes = style.pages()
        cdf(axes, all_runs(loaded), metric)
        what = metric
    elif arguments.kind == "compare":
        groups = grouped(loaded)
        metrics = compared_metrics(every, arguments.metric, len(groups))
        height = 0.9 + len(metrics) * (0.75 + 0.33 * len(groups))
        figure = style.pyplot.figure(figsize=(8, height), layout="constrained")
        compare(figure, groups, metrics)
        what = "compared"
    else:
        from . import heat

        figure, what = heat.figure(loaded, arguments.network, arguments.of)
    figure.suptitle(arguments.title if arguments.title is not None else title_of(loaded, what))
    print(style.save(figure, arguments.output))
    return 0


def main(words: list[str] | None = None) -> int:
    parser = Parser(prog="jacquard plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="kind", required=True, metavar="curve|cdf|heat|compare")
    kinds: dict[str, Any] = {}
    for kind, meaning in (("curve", "a metric over a setting or the seed"), ("cdf", "the distribution of a histogram, or of the messages of a trace"),
                          ("heat", "how much of the time links were busy"), ("compare", "bars of metrics, one for each result or setting")):
        kinds[kind] = command = commands.add_parser(kind, help=meaning, description=meaning)
        command.add_argument("results", nargs="+", metavar="RESULT")
        command.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="picture: .png, .svg or .pdf")
        command.add_argument("--title", help="instead of the scenario's name")
        command.add_argument("--font", metavar="FAMILY", help="font of all texts (DejaVu Sans)")
        command.add_argument("--set", type=assignment, action="append", default=[], metavar="NAME=VALUE", help="for RESULTs that are scenarios")
        command.add_argument("--seed", type=int, metavar="N", help="for RESULTs that are scenarios")
    kinds["curve"].add_argument("--metric", required=True, metavar="M")
    kinds["curve"].add_argument("--x", metavar="NAME", help="setting (its path or the last part of it), or seed; default: the only one that varies")
    kinds["curve"].add_argument("--scale", choices=("auto", "log", "linear"), default="auto", help="of the y axis")
    kinds["cdf"].add_argument("--metric", metavar="M", help="default: the only histogram; messages, messages.put and so on of a trace")
    kinds["compare"].add_argument("--metric", action="append", metavar="M", help=f"may be repeated; default: up to {METRICS_MAX} metrics of the jobs")
    kinds["heat"].add_argument("--network", metavar="NAME", help="of a scenario with several networks; default: all")
    kinds["heat"].add_argument("--of", choices=("busiest", "mean"), default="busiest", help="of links that share a field")
    arguments = parser.parse_args(words)
    return execute("jacquard plot", lambda: draw(arguments))
