# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The style of all pictures: units, axes, fonts, colours, and how a picture is written.

The same data give the same bytes: no dates, no random ids.
"""

from __future__ import annotations

import logging
import math
from pathlib import Path

from .command import BadInput

try:
    import matplotlib

    matplotlib.use("Agg")  # no display is needed

    from matplotlib import font_manager, pyplot, ticker
except ImportError as error:
    raise BadInput(f"pictures need matplotlib (Debian: python3-matplotlib): {error}") from None

FORMATS = ("png", "svg", "pdf")
COLOURS = ("#1f4e79", "#d9822b", "#2a8f6d", "#7b4ea3", "#a05a2c", "#3a9fbf", "#8a8d2f", "#5c5c5c")
MARKERS = ("o", "s", "^", "D", "v", "P", "*", "X")
REFERENCE = "#d1491b"  # published values
FAILED = "#c0182b"
# Fonts with signs that DejaVu Sans lacks, for the names of jobs and scenarios. Those that exist are used.
FALLBACKS = ("Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "IPAexGothic", "Noto Sans")
TIMES = ((1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns"), (1, "ps"))
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def setup(font: str | None = None) -> None:
    """Sets what holds for all pictures. `font`: a family that has to exist."""
    # A missing font is an error of ours, or has a substitute; matplotlib's warnings would say it once more for each text.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.CRITICAL)
    there = {entry.name for entry in font_manager.fontManager.ttflist}
    if font is not None and font not in there:
        raise BadInput(f"no font {font}; there are: {', '.join(sorted(there))}")
    families = [*([font] if font else []), "sans-serif", *(name for name in FALLBACKS if name in there)]
    matplotlib.rcParams.update({
        "svg.hashsalt": "jacquard", "svg.fonttype": "none", "font.family": families,
        "savefig.dpi": 120, "figure.titlesize": 11, "axes.titlesize": 11})


def pages(width: float = 8, height: float = 5):
    """A figure and its only axes."""
    return pyplot.subplots(figsize=(width, height), layout="constrained")


def save(figure, path: Path) -> Path:
    """Writes the figure in the format of the file's ending, and closes it."""
    path = Path(path)
    kind = path.suffix[1:].lower()
    if kind not in FORMATS:
        raise BadInput(f"{path}: the name of a picture ends with {', '.join('.' + name for name in FORMATS)}")
    try:
        figure.savefig(path, metadata={"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from None
    except (ValueError, RuntimeError) as error:  # matplotlib finds no font at all, or cannot read it
        raise BadInput(f"{path}: {str(error).splitlines()[0]}") from None
    finally:
        pyplot.close(figure)
    return path


def unit_of(unit: str, values) -> tuple[float, str]:
    """The divisor and the name of the unit in which these values of a metric are easy to read."""
    top = max((abs(value) for value in values), default=0)
    if unit == "ps":
        return next(((divisor, name) for divisor, name in TIMES if top >= divisor), TIMES[-1])
    if unit in ("bytes/s", "1/s"):
        names = {"bytes/s": ("GB/s", "MB/s", "kB/s", "B/s"), "1/s": ("G/s", "M/s", "k/s", "1/s")}[unit]
        return next((pair for pair in zip((1e9, 1e6, 1e3, 1), names) if top >= pair[0]), (1, names[-1]))
    if unit == "bytes":
        names = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
        return next((pair for pair in names if top >= 2 * pair[0]), (1, "B"))
    return 1, "" if unit in ("count", "ratio") else unit


def labelled(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def size_text(size: float) -> str:
    """A size as people write it: 512, 4Ki, 1Mi."""
    for unit, name in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
        if size >= unit and size % (unit / 4) == 0:
            return f"{size / unit:g}{name}"
    return f"{size:g}"


def size_axis(axes, sizes, label: str = "bytes") -> None:
    """A logarithmic x axis of sizes: powers of two are marked."""
    axes.set_xscale("log", base=2)
    low, high = int(min(sizes)), int(max(sizes))
    step = 1 if high / low <= 1 << 10 else 2
    ticks = [1 << power for power in range(low.bit_length() - 1, high.bit_length(), step)]
    axes.set_xticks(ticks, [size_text(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(label)


def value_text(value: float, unit: str) -> str:
    """A value of a metric with its unit, for people."""
    value *= 1 + 1e-9  # 1 is not 999.99 of the smaller unit
    divisor, name = unit_of(unit, [value])
    value /= divisor
    return f"{value:,.0f}{' ' if name else ''}{name}" if abs(value) >= 999.5 else f"{value:.3g}{' ' if name else ''}{name}"


def logarithmic(axis, label: str, unit: str, divisor: float, name: str, values) -> None:
    """A logarithmic axis for these values: 0.5, 20 and 3000 instead of powers of ten. Each mark has its own unit if they span much."""
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    low, high = min(values), max(values)
    own_units = unit in ("ps", "bytes/s", "1/s") and high / low > 2000
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: value_text(value * divisor, unit) if own_units else f"{value:g}"))
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high / low < 300 else (1,), numticks=9))
    axis.set_minor_formatter(ticker.NullFormatter())
    axis.set_label_text(labelled(label, "" if own_units else name))


def grid(axes, axis: str = "both") -> None:
    axes.grid(True, axis=axis, alpha=0.3)
    axes.set_axisbelow(True)


def legend(axes) -> None:
    """A legend where it covers least; beside the axes if it has many lines, below them if the lines are long, too."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    longest = max(len(label) for label in labels)
    if len(labels) <= 5 and longest <= 50:
        axes.legend(handles, labels, framealpha=0.85, fontsize=9)
    elif longest <= 30:
        axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, frameon=False, fontsize=9)
    else:
        columns = 2 if longest <= 55 else 1
        axes.figure.set_figheight(axes.figure.get_figheight() + 0.2 * len(labels) / columns)
        axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, -0.18), borderaxespad=0, frameon=False, fontsize=8, ncols=columns)


def spaced(positions, least: float) -> list[int]:
    """Indices of those of the rising positions that are at least this far apart; the last one is always among them."""
    kept: list[int] = []
    for index in reversed(range(len(positions))):
        if not kept or positions[kept[-1]] - positions[index] >= least:
            kept.append(index)
    return kept[::-1]


def shortened(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[:length - 1].rstrip() + "…"


def logarithms(values) -> list[float]:
    return [math.log(value) for value in values]
