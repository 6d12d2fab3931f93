# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Published figures of many ranks that share NICs and links, beside simulated ones: the second table of docs/validation.md.

tests/validation/aries_congestion.csv holds a row for each published value, and how it is simulated: a scenario of
scenarios/congestion, the settings (--set) that make it the row's experiment, and an expression over its metrics. The parameters
of a system are in its scenario, the same for all rows. Rows were measured under production load, where the same experiment
differs by 17 % from day to day and by 100 % at times, so no single row is judged: SHARE of them must be within the tolerance.
harness/validation.py runs and prints them.
"""

import csv
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import jacquard

TABLE = jacquard.ROOT / "tests" / "validation" / "aries_congestion.csv"
SCENARIOS = jacquard.ROOT / "scenarios" / "congestion"
SHARE = 0.8
BEGIN, END = "<!-- table: harness/validation.py --docs, congestion -->", "<!-- end of table -->"


@dataclass
class Row:
    id: str
    what: str
    system: str
    conditions: str
    published: float
    unit: str
    source: str
    confidence: str
    tolerance: float  # percent
    scenario: str
    settings: str  # PATH=VALUE, separated by blanks
    expression: str  # over the scenario's metrics
    simulated: float | None = None
    problem: str = ""

    @property
    def deviation(self):
        return None if self.simulated is None else 100 * (self.simulated - self.published) / self.published

    @property
    def inside(self):
        return not self.problem and self.simulated is not None and abs(self.deviation) <= self.tolerance

    @property
    def verdict(self):
        return "inside" if self.inside else "FAILED" if self.problem else "outside"

    @property
    def shape(self):
        """Nodes x ranks per node, and bytes where they vary: "2 x 24, 8 B"."""
        set_to = {path.split(".")[-1]: value for path, value in (item.split("=") for item in self.settings.split())}
        texts = []
        if "count" in set_to:
            texts.append(f"{set_to['count']} x {set_to.get('ranks_per_node', 36)}")
        elif self.scenario == "chapel-atomics.yaml":
            texts.append("16 x 28")
        if "bytes" in set_to:
            texts.append(f"{set_to['bytes']} B")
        return ", ".join(texts)


def rows():
    with open(TABLE, encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [Row(id=line["id"], what=line["what"], system=line["system"], conditions=line["conditions"],
                published=float(line["value"]), unit=line["unit"], source=line["source"], confidence=line["confidence"],
                tolerance=float(line["tolerance_pct"]), scenario=line["scenario"], settings=line["set"],
                expression=line["simulated"])
            for line in csv.DictReader(lines)]


def run(scenario, settings, flat):
    result = jacquard.run(SCENARIOS / scenario, set=dict(item.split("=", 1) for item in settings.split()))
    return flat(result.metrics) if result.ok else {}, "" if result.ok else result.report()


def simulate(wanted, flat, evaluate):
    """Fills in the simulated values; each experiment runs once, the longest ones first."""
    experiments = sorted({(row.scenario, row.settings) for row in wanted}, key=lambda one: (-weight(one[1]), one))
    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(experiments, pool.map(lambda one: run(*one, flat), experiments)))
    for row in wanted:
        values, row.problem = results[row.scenario, row.settings]
        if not row.problem:
            row.simulated = evaluate(row.expression, values)
    return wanted


def weight(settings):
    """About how long an experiment takes: ranks."""
    set_to = {path.split(".")[-1]: value for path, value in (item.split("=") for item in settings.split())}
    return int(set_to.get("count", 16)) * int(set_to.get("ranks_per_node", 36))


def holds(wanted):
    return sum(row.inside for row in wanted) >= SHARE * len(wanted) and not any(row.problem for row in wanted)


def summary(wanted):
    inside = sum(row.inside for row in wanted)
    deviations = sorted(abs(row.deviation) for row in wanted if row.deviation is not None)
    median = f", median |deviation| {deviations[len(deviations) // 2]:.1f} %" if deviations else ""
    return f"congestion: {inside} of {len(wanted)} rows inside ({100 * inside / max(1, len(wanted)):.0f} %){median}"


def cells(row, number):
    deviation = "-" if row.deviation is None else f"{row.deviation:+.0f}"
    return [row.id, row.what, row.system.split(" (")[0], row.shape, number(row.published), number(row.simulated),
            row.unit.replace("GB/s/rank each way", "GB/s"), deviation, row.verdict]


HEADS = ["id", "what", "system", "nodes x ranks, size", "published", "simulated", "unit", "dev %", "verdict"]


def by_kind(wanted):
    """A row for each kind of experiment and system: how many are inside."""
    kinds = Counter((row.what, row.system.split(" (")[0]) for row in wanted)
    inside = Counter((row.what, row.system.split(" (")[0]) for row in wanted if row.inside)
    lines = ["| what | system | rows | inside |", "|---|---|---:|---:|"]
    return lines + [f"| {what} | {system} | {count} | {inside[what, system]} |" for (what, system), count in kinds.items()]


def page_table(wanted, number):
    lines = ["| " + " | ".join(HEADS) + " |", "|---|---|---|---|---:|---:|---|---:|---|"]
    lines += ["| " + " | ".join(cells(row, number)) + " |" for row in wanted]
    return "\n".join([BEGIN, "", f"{summary(wanted)}.", "", *by_kind(wanted), "", *lines, "", END])


def with_table(page, wanted, number):
    before, rest = page.split(BEGIN)
    return before + page_table(wanted, number) + rest.split(END, 1)[1]
