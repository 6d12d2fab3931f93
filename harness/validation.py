# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Published figures of the hardware beside simulated ones: runs scenarios/validation and prints a table.

    /usr/bin/python3 harness/validation.py            all rows
    /usr/bin/python3 harness/validation.py V10 V20    these rows
    /usr/bin/python3 harness/validation.py --json
    /usr/bin/python3 harness/validation.py --congestion [H007 ...]   the rows of harness/congestion.py only
    /usr/bin/python3 harness/validation.py --docs     writes the table and the pictures of docs/validation.md anew

tests/validation/aries_validation.csv holds a row for each published value: its source and tolerance, the scenario that
measures the same, and how its metrics give the value. docs/validation.md documents the settings. Exit code 1 when a judged row
is outside its tolerance or its scenario does not hold, or when too few rows of congestion are inside theirs.
"""

import argparse
import ast
import csv
import json
import operator
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import congestion
import jacquard

TABLE = jacquard.ROOT / "tests" / "validation" / "aries_validation.csv"
SCENARIOS = jacquard.ROOT / "scenarios" / "validation"
PAGE = jacquard.ROOT / "docs" / "validation.md"
PICTURES = jacquard.ROOT / "docs" / "images"
PROBE = "probe"  # in the column `scenario`: the program that prints facts about the wiring

JUDGED = ("fit", "check", "bound")  # column `use`; the others are reported only
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


@dataclass
class Row:
    id: str
    metric: str
    layer: str
    size: str
    published: float
    unit: str
    system: str
    source: str
    confidence: str
    tolerance: float  # percent
    use: str
    scenario: str  # "" if no simulated value corresponds to it
    expression: str  # over the scenario's metrics
    note: str  # why it is reported only
    simulated: float | None = None
    problem: str = ""

    @property
    def judged(self):
        return self.use in JUDGED

    @property
    def deviation(self):
        """Percent of the published value; None when there is nothing to compare."""
        if self.simulated is None:
            return None
        return 100 * (self.simulated - self.published) / self.published

    @property
    def verdict(self):
        if not self.judged:
            return "reported"
        if self.problem or self.simulated is None:
            return "FAILED"
        if self.use == "bound":
            good = self.simulated <= self.published
        else:
            good = abs(self.deviation) <= self.tolerance + 1e-9  # binary fractions: a tolerance of 0 is exact
        return "passed" if good else "FAILED"


def rows():
    with open(TABLE, encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [Row(id=line["id"], metric=line["metric"], layer=line["layer"], size=line["size_bytes"],
                published=float(line["value"]), unit=line["unit"], system=line["system"], source=line["source"],
                confidence=line["confidence"], tolerance=float(line["tolerance_pct"]), use=line["use"],
                scenario=line["scenario"], expression=line["simulated"], note=line["note"])
            for line in csv.DictReader(lines)]


# ---- running ---------------------------------------------------------------------------------------------------------


def flat(metrics):
    """{"V10.latency": {"p50": 1}, "x": {"value": 2}} as {"V10.latency.p50": 1, "x": 2}."""
    values = {}
    for name, metric in metrics.items():
        for key, value in metric.items():
            if isinstance(value, (int, float)):
                values[name if key == "value" else f"{name}.{key}"] = value
    return values


def run_probe():
    program = jacquard.build_directory() / "tests" / "validation_probe"
    if not program.exists():
        return {}, f"{program} is not there: ./dev build release validation_probe"
    done = subprocess.run([program], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return {}, f"{program} ended with exit code {done.returncode}: {done.stderr[-1000:]}"
    return json.loads(done.stdout), ""


def run(scenario):
    """The values that one scenario gives, and a message if it does not hold."""
    if scenario == PROBE:
        return run_probe()
    result = jacquard.run(SCENARIOS / scenario)
    values = flat(result.metrics) if result.data else {}
    # A value outside its tolerance fails its own row; any other failure of the scenario fails every row.
    others = [problem for problem in result.problems if not problem.startswith("expected: V")]
    bad = others or (not result.ok and not result.problems)
    return values, result.report() if bad else ""


def evaluate(expression, values):
    """Arithmetic on the names of metrics."""
    def name_of(node):
        if isinstance(node, ast.Attribute):
            return f"{name_of(node.value)}.{node.attr}"
        if isinstance(node, ast.Name):
            return node.id
        raise ValueError(f"{expression}: neither a number nor a metric")

    def value_of(node):
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        return values[name_of(node)]

    return value_of(ast.parse(expression, mode="eval").body)


def simulate(wanted):
    """Fills in the simulated values; each scenario runs once."""
    scenarios = sorted({row.scenario for row in wanted if row.scenario})
    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(scenarios, pool.map(run, scenarios)))
    for row in wanted:
        if not row.scenario:
            continue
        values, row.problem = results[row.scenario]
        try:
            row.simulated = evaluate(row.expression, values)
        except KeyError as missing:
            row.problem = row.problem or f"{row.scenario} has no metric {missing.args[0]}"
    return wanted


# ---- output ----------------------------------------------------------------------------------------------------------


def number(value):
    return "-" if value is None else f"{value:.6g}" if abs(value) >= 1000 else f"{value:.4g}"


def size_text(size):
    if not size:
        return "-"
    size = int(size)
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def cells(row):
    deviation = "-" if row.deviation is None else f"{row.deviation:+.1f}"
    tolerance = "<=" if row.use == "bound" else f"{row.tolerance:g}" if row.judged else "-"
    return [row.id, row.metric, row.layer, size_text(row.size), number(row.published), number(row.simulated), row.unit,
            deviation, tolerance, row.verdict]


def mean_deviation(wanted):
    """Of all rows that are judged by their deviation, in percent."""
    deviations = [abs(row.deviation) for row in wanted if row.judged and row.use != "bound" and row.deviation is not None]
    return sum(deviations) / len(deviations) if deviations else 0.0


def summary(wanted):
    verdicts = [row.verdict for row in wanted]
    return (f"{verdicts.count('passed')} passed, {verdicts.count('FAILED')} failed, "
            f"{verdicts.count('reported')} reported only")


def print_columns(lines, right):
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        padded = [cell.rjust(width) if column in right else cell.ljust(width)
                  for column, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(padded).rstrip())


HEADS = ["id", "metric", "layer", "size", "published", "simulated", "unit", "dev %", "tol %", "verdict"]


def print_table(wanted):
    print_columns([HEADS] + [cells(row) for row in wanted], {3, 4, 5, 7, 8})
    notes = [f"{row.id} reported only: {row.note}" for row in wanted if not row.judged]
    for text in ["\n".join(notes), *dict.fromkeys(row.problem for row in wanted)]:
        if text:
            print(f"\n{text}")


BEGIN, END = "<!-- table: harness/validation.py --docs -->", "<!-- end of table -->"


def page_table(wanted):
    """The table as Markdown, between the two comments that mark it."""
    lines = ["| " + " | ".join(HEADS) + " |", "|---|---|---|---:|---:|---:|---|---:|---:|---|"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in wanted]
    return "\n".join([BEGIN, "", *lines, "", f"{summary(wanted)}. Mean |deviation| of the judged rows: {mean_deviation(wanted):.1f} %.", "", END])


def with_table(page, wanted):
    before, rest = page.split(BEGIN)
    return before + page_table(wanted) + rest.split(END, 1)[1]


def write_docs(wanted, crowded):
    import validation_plots  # matplotlib is needed for pictures only

    page = congestion.with_table(with_table(PAGE.read_text(encoding="utf-8"), wanted), crowded, number)
    PAGE.write_text(page, encoding="utf-8")
    for path in [PAGE, *validation_plots.draw(wanted, PICTURES)]:
        print(path.relative_to(jacquard.ROOT))


def as_json(wanted):
    keys = ("id", "metric", "layer", "size", "published", "simulated", "unit", "deviation", "tolerance", "use", "verdict",
            "system", "source", "confidence", "scenario", "note", "problem")
    verdicts = [row.verdict for row in wanted]
    return {"rows": [{key: getattr(row, key) for key in keys} for row in wanted], "passed": verdicts.count("passed"),
            "failed": verdicts.count("FAILED"), "reported": verdicts.count("reported"), "summary": summary(wanted)}


def run_congestion(names=()):
    wanted = [row for row in congestion.rows() if not names or row.id in names]
    return congestion.simulate(wanted, flat, evaluate)


def print_congestion(wanted):
    print_columns([congestion.HEADS] + [congestion.cells(row, number) for row in wanted], {4, 5, 7})
    for text in dict.fromkeys(row.problem for row in wanted):
        if text:
            print(f"\n{text}")
    print(f"\n{congestion.summary(wanted)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ID", help="rows such as V10; all when none is given")
    parser.add_argument("--json", action="store_true", help="one object instead of the table; without the rows of congestion")
    parser.add_argument("--congestion", action="store_true", help="only the rows of congestion, or those that are named")
    parser.add_argument("--docs", action="store_true", help="all rows into docs/validation.md, and its pictures")
    arguments = parser.parse_args()
    if arguments.docs and arguments.rows:
        parser.error("--docs takes no rows")

    known = congestion.rows() if arguments.congestion else rows()
    unknown = set(arguments.rows) - {row.id for row in known}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    if not jacquard.sim_run().exists():
        sys.exit(f"{jacquard.sim_run()} is not there: ./dev build")
    if arguments.congestion:
        crowded = run_congestion(arguments.rows)
        print_congestion(crowded)
        return 0 if arguments.rows or congestion.holds(crowded) else 1

    wanted = simulate([row for row in known if not arguments.rows or row.id in arguments.rows])
    crowded = [] if arguments.rows or arguments.json else run_congestion()
    if arguments.docs:
        write_docs(wanted, crowded)
    elif arguments.json:
        print(json.dumps(as_json(wanted), indent=1))
    else:
        print_table(wanted)
        if crowded:
            print()
            print_congestion(crowded)
        print(f"\nmean |deviation| of the judged rows: {mean_deviation(wanted):.1f} %\n{summary(wanted)}")
    failed = any(row.verdict == "FAILED" for row in wanted) or (crowded and not congestion.holds(crowded))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
