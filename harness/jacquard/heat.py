# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""jacquard plot heat: the load of a network's links, as a part of the time in which the network was used.

A dragonfly has a panel of its groups (optical links from group to group) and one of its routers (their links inside the group);
a switched network has a panel for each direction."""

from __future__ import annotations

from typing import Any

from . import style
from .command import BadInput
from .results import Results

TEXTS_MAX = 9  # rows and columns of a panel with its values as texts
MAP = "inferno"


class Panel:
    """Cells of a grid: the loads of the links that share each of them."""

    def __init__(self, title: str, ylabel: str, xlabel: str):
        self.title, self.ylabel, self.xlabel = title, ylabel, xlabel
        self.loads: dict[tuple[int, int], list[float]] = {}
        self.marked: set[tuple[int, int]] = set()
        self.row_names: dict[int, str] = {}

    def add(self, row: int, column: int, link: dict[str, Any]) -> None:
        self.loads.setdefault((row, column), []).append(link["load"])
        if link["alive"] != "1" or link["dropped"] != "0" or link["dead"] != "0":
            self.marked.add((row, column))

    @property
    def rows(self) -> int:
        return 1 + max(row for row, _ in self.loads)

    @property
    def columns(self) -> int:
        return 1 + max(column for _, column in self.loads)


def dragonfly(links: list[dict[str, Any]]) -> list[Panel]:
    groups = Panel("between groups", "from group", "to group")
    local = Panel("inside groups, by router", "group, chassis", "slot")
    chassis = 1 + max(int(link["chassis"]) for link in links)
    for link in links:
        if link["colour"] == "blue":
            groups.add(int(link["group"]), int(link["peer_group"]), link)
        else:
            row = int(link["group"]) * chassis + int(link["chassis"])
            local.add(row, int(link["slot"]), link)
            local.row_names[row] = f"{link['group']}, {link['chassis']}"
    return [panel for panel in (groups, local) if panel.loads]


def switched(links: list[dict[str, Any]]) -> list[Panel]:
    """Rows are switches, columns their neighbours in the order of their numbers."""
    peers: dict[int, set[int]] = {}
    for link in links:
        peers.setdefault(int(link["router"]), set()).add(int(link["peer"]))
    switches = sorted(one for one, others in peers.items() if len(others) > 1) or sorted(peers)
    column = {one: {other: at for at, other in enumerate(sorted(peers[one]))} for one in switches}
    what = "node" if len(switches) == 1 else "neighbour"
    out, back = Panel("from the switches", "switch", what), Panel("to the switches", "switch", what)
    for link in links:
        start, end = int(link["router"]), int(link["peer"])
        if start in column:
            out.add(switches.index(start), column[start][end], link)
        if end in column and start in column[end]:
            back.add(switches.index(end), column[end][start], link)
    return [panel for panel in (out, back) if panel.loads]


def ticks(count: int, most: int) -> list[int]:
    step = next(step for step in (1, 2, 4, 5, 8, 10, 16, 20, 50, 100, 500, 10**9) if count / step <= most)
    return list(range(0, count, step))


def image(axes, panel: Panel, top: float, of: str):
    def value(cell: tuple[int, int]) -> float:
        loads = panel.loads.get(cell)
        return float("nan") if not loads else max(loads) if of == "busiest" else sum(loads) / len(loads)

    picture = axes.imshow([[value((row, column)) for column in range(panel.columns)] for row in range(panel.rows)], vmin=0, vmax=top,
                          cmap=MAP, aspect="auto", interpolation="nearest")
    axes.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel)
    axes.set_facecolor("lightgrey")
    axes.set_xticks(ticks(panel.columns, 16))
    rows = ticks(panel.rows, 18)
    axes.set_yticks(rows, [panel.row_names.get(row, str(row)) for row in rows])
    texts = panel.rows <= TEXTS_MAX and panel.columns <= TEXTS_MAX + 7
    for cell in panel.loads:
        if texts and cell not in panel.marked:
            axes.text(cell[1], cell[0], percent(value(cell), top), ha="center", va="center", fontsize=7,
                      color="black" if value(cell) > 0.6 * top else "white")
        elif cell in panel.marked:
            axes.text(cell[1], cell[0], "✕", ha="center", va="center", fontsize=9, color="#30e0f0", weight="bold")
    return picture


def percent(part: float, top: float) -> str:
    return f"{part * 100:.0f}" if top > 0.05 else f"{part * 100:.2g}"


def figure(loaded: list[Results], asked: str | None, of: str):
    """The figure, and what its title says."""
    if len(loaded) != 1 or len(loaded[0].runs) != 1:
        raise BadInput("heat shows one run: give one folder or scenario, without seeds and sweeps")
    found, run = loaded[0], loaded[0].runs[0]
    if not found.links:
        raise BadInput(f"{found.label}: no links.csv: heat needs a folder written by sim-run --out, or a scenario")
    if asked is not None and asked not in found.links:
        raise BadInput(f"no network {asked}; there are: {', '.join(name or '(the first)' for name in found.links)}")
    networks = {name: links for name, links in found.links.items() if asked in (None, name) and any(link["load"] > 0 for link in links)}
    if not networks:
        raise BadInput(f"{found.label}: no link carried anything{'' if run.ok else f'; the run failed: {run.why}'}")
    panels = {name: (dragonfly if links[0]["group"] != "" else switched)(links) for name, links in networks.items()}
    tall = [max(min(2.3 + 0.085 * max(panel.rows for panel in row), 9), 2.6) for row in panels.values()]
    drawn = style.pyplot.figure(figsize=(9, sum(tall) + 0.4), layout="constrained")
    drawn.get_layout_engine().set(w_pad=0.1, h_pad=0.06)
    parts = drawn.subfigures(len(panels), 1, squeeze=False, height_ratios=tall)[:, 0]
    for part, (name, row) in zip(parts, panels.items()):
        links = networks[name]
        top = max(max(loads) if of == "busiest" else sum(loads) / len(loads) for panel in row for loads in panel.loads.values())
        cells = part.subplots(1, len(row), squeeze=False, gridspec_kw={"width_ratios": [1 if panel.columns < 13 else 1.35 for panel in row]})[0]
        for axes, panel in zip(cells, row):
            picture = image(axes, panel, top, of)
        bar = part.colorbar(picture, ax=list(cells), format=style.ticker.FuncFormatter(lambda part, _, top=top: percent(part, top) + " %"))
        bar.set_label(f"busy, {'busiest link' if of == 'busiest' else 'mean of the links'}")
        busiest = max(links, key=lambda link: link["load"])
        used = style.value_text(busiest["busy_ps"] / busiest["load"], "ps")
        marks = "; ✕: dead, or lost something" if any(panel.marked for panel in row) else ""
        part.suptitle(f"{name + ': ' if name else ''}part of the {used} in which the network was used{marks}", fontsize=9, color="dimgrey")
    if not run.ok:
        drawn.text(0.995, 0.005, style.shortened(f"✕ run failed: {run.why}", 110), ha="right", va="bottom", fontsize=8, color=style.FAILED)
    return drawn, "how busy the links are"
