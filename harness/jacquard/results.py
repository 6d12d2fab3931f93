# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Reads results: what `sim-run --json` printed for one run or many, folders written by `sim-run --out`, the results of
`jacquard sweep`, and the SQLite file of a campaign. A scenario is run first.

    for run in results.read("out/campaign.sqlite").runs:
        print(run.settings, run.seed, run.ok, run.metrics)
"""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import runner, trace
from .command import BadInput

SCHEMA = 1  # of the JSON: docs/json-output.md
CAMPAIGN_VERSION = 1  # PRAGMA user_version: docs/campaigns.md
SQLITE = b"SQLite format 3\0"
TRACE = 0x0A  # a trace's first byte: field 1 of the file, of variable length
MODEL = ("aries", "engine", "lnet", "net", "pmi")  # first parts of the model's metrics
MESSAGES = "messages"  # the metric of a trace


@dataclass
class Run:
    """One run. Metrics have the form of docs/json-output.md."""
    settings: dict[str, str]
    seed: int | None
    ok: bool
    why: str  # the first problem of a run that failed
    metrics: dict[str, dict[str, Any]]
    scenario: str = ""
    jobs: list[str] = field(default_factory=list)
    buckets: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # by metric: values and how often


@dataclass
class Results:
    label: str
    runs: list[Run]
    links: dict[str, list[dict[str, str]]] = field(default_factory=dict)  # by network ("" is the first): rows of links.csv


def of_result(path: str, data: Any, settings: dict[str, Any], seed: int | None) -> Run:
    """The run that an object of sim-run --json describes."""
    if not isinstance(data, dict):
        raise BadInput(f"{path}: not a result of sim-run --json")
    settings = {name: str(value) for name, value in settings.items()}
    if "metrics" not in data:  # it was refused
        return Run(settings, seed, False, str(data.get("error") or "the run was refused"), {})
    if data.get("schema", SCHEMA) != SCHEMA:
        raise BadInput(f"{path}: results of schema {data['schema']}; this version reads schema {SCHEMA}")
    try:
        scenario, problems = data.get("scenario", {}), data.get("problems", [])
        failed = data.get("exit", 0) != 0
        return Run(settings, seed if seed is not None else scenario.get("seed"), not failed,
                   (problems or [data.get("outcome", "failed")])[0] if failed else "", checked(path, data["metrics"]),
                   scenario.get("name", ""), [job["name"] for job in data.get("jobs", [])])
    except (AttributeError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: not a result of sim-run --json: {error}") from None


def checked(path: str, metrics: Any) -> dict[str, dict[str, Any]]:
    """The metrics, if they have the members that a picture needs."""
    if not isinstance(metrics, dict) or not all(isinstance(metric, dict) for metric in metrics.values()):
        raise BadInput(f"{path}: not a result: its metrics are not an object of objects")
    for name, metric in metrics.items():
        members = ("count", "min", "mean", "p50", "p90", "p99", "p999", "max") if metric.get("type") == "histogram" else ("value",)
        missing = [member for member in ("unit", *members) if member not in metric]
        if missing:
            raise BadInput(f"{path}: metric {name} has no {', '.join(missing)}")
        wrong = [member for member in members if not (metric[member] is None or type(metric[member]) in (int, float))]
        if wrong:
            raise BadInput(f"{path}: metric {name}: {', '.join(wrong)}: not a number")
    return metrics


def json_of(text: str | bytes) -> Any:
    """What a JSON text says. Raises ValueError, also for numbers that JSON does not have."""
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not a number of JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError:
        raise ValueError("arrays or objects are nested too deeply") from None


def of_json(path: str, text: str) -> list[Run]:
    try:
        data = json_of(text)
    except ValueError as error:
        raise BadInput(f"{path}: no complete JSON: {error}") from None
    if isinstance(data, list):  # of jacquard sweep
        if not all(isinstance(row, dict) and isinstance(row.get("set"), dict) and "result" in row for row in data):
            raise BadInput(f"{path}: not a result of jacquard sweep")
        return [of_result(path, row["result"], row["set"], row.get("seed")) for row in data]
    if isinstance(data, dict) and isinstance(data.get("runs"), list):
        if data.get("schema") != SCHEMA:
            raise BadInput(f"{path}: results of schema {data.get('schema')}; this version reads schema {SCHEMA}")
        return [of_result(path, run, run.get("set", {}) if isinstance(run, dict) else {}, run.get("seed") if isinstance(run, dict) else None)
                for run in data["runs"]]
    if not isinstance(data, dict) or "metrics" not in data:
        raise BadInput(f"{path}: not a result of sim-run --json: it has no metrics")
    return [of_result(path, data, {}, None)]


def of_campaign(path: Path) -> list[Run]:
    try:
        # A campaign that still runs may be read; a file that cannot be written, too.
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)
        try:
            version = database.execute("PRAGMA user_version").fetchone()[0]
            tables = {name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {"campaign", "runs"} <= tables:
                raise BadInput(f"{path}: not the results of a campaign")
            if version != CAMPAIGN_VERSION:
                raise BadInput(f"{path}: results of version {version}; this version reads {CAMPAIGN_VERSION}")
            rows = database.execute("SELECT scenario, seed, settings, verdict, problem, metrics FROM runs ORDER BY number").fetchall()
        finally:
            database.close()
        return [of_row(str(path), row, len({row[0] for row in rows}) > 1) for row in rows]
    except (sqlite3.Error, ValueError) as error:
        raise BadInput(f"{path}: no complete results of a campaign: {error}") from None


def of_row(path: str, row: tuple[Any, ...], several: bool) -> Run:
    """The run of a row of a campaign's table. `several`: the campaign has more than one scenario."""
    scenario, seed, settings, verdict, problem, metrics = row
    settings = json_of(settings or "")
    if not isinstance(scenario, str) or not isinstance(settings, dict):
        raise ValueError("a run has no scenario, or no settings")
    stem = Path(scenario).stem
    shown = {**({"scenario": stem} if several else {}), **{name: str(value) for name, value in settings.items()}}
    return Run(shown, seed, verdict == "holds", "" if verdict == "holds" else str(problem or verdict), checked(path, json_of(metrics or "")), stem)


def table(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    missing = [column for column in columns if rows and column not in rows[0]]
    if missing:
        raise BadInput(f"{path}: no column {', '.join(missing)}: written by another version of sim-run")
    if any(None in row or None in row.values() for row in rows):
        raise BadInput(f"{path}: its last line is not complete")
    return rows


def of_folder(path: Path, links: bool) -> Results:
    """What `sim-run --out` wrote."""
    found = Results(path.resolve().name, of_json(str(path / "metrics.json"), (path / "metrics.json").read_text(encoding="utf-8")))
    try:
        if len(found.runs) == 1 and (path / "histograms.csv").exists():
            for row in table(path / "histograms.csv", ("metric", "value", "count")):
                found.runs[0].buckets.setdefault(row["metric"], []).append((int(row["value"]), int(row["count"])))
        for file in sorted(path.glob("links*.csv")) if links else ():
            rows = table(file, ("router", "group", "chassis", "slot", "peer", "peer_group", "colour", "alive", "busy_ps", "load", "dropped", "dead"))
            for row in rows:
                row["load"], row["busy_ps"] = float(row["load"]), float(row["busy_ps"])
            found.links[file.stem[len("links."):]] = rows
    except ValueError as error:
        raise BadInput(f"{path}: a table is not complete: {error}") from None
    return found


def of_trace(path: Path) -> Run:
    """The times of the messages in a trace, from the first event of each to its last. Messages that were lost have none."""
    first: dict[int, Any] = {}
    last: dict[int, int] = {}
    lost: set[int] = set()
    for event in trace.read(path):
        for flow in event.flows:
            first.setdefault(flow, event)
            last[flow] = max(last.get(flow, 0), event.time + (event.duration or 0))
            if event.name == "lost":
                lost.add(flow)
    buckets: dict[str, dict[int, int]] = {}
    for flow, event in first.items():
        if flow not in lost:
            for name in (MESSAGES, f"{MESSAGES}.{event.name}"):
                counts, time = buckets.setdefault(name, {}), (last[flow] - event.time) * 1000
                counts[time] = counts.get(time, 0) + 1
    if not buckets:
        raise BadInput(f"{path}: no messages")
    listed = {name: sorted(counts.items()) for name, counts in buckets.items()}
    return Run({}, None, True, "", {name: summary(counts) for name, counts in listed.items()}, path.stem, [], listed)


def summary(buckets: list[tuple[int, int]]) -> dict[str, Any]:
    """The metric that has these values."""
    count = sum(number for _, number in buckets)

    def quantile(part: float) -> int:
        seen = 0
        for value, number in buckets:
            seen += number
            if seen >= part * count:
                return value
        return buckets[-1][0]

    return {"type": "histogram", "unit": "ps", "count": count, "min": buckets[0][0], "max": buckets[-1][0],
            "mean": sum(value * number for value, number in buckets) / count, "p50": quantile(0.5), "p90": quantile(0.9),
            "p99": quantile(0.99), "p999": quantile(0.999)}


def of_scenario(path: Path, settings: dict[str, str], seed: int | None, links: bool) -> Results:
    with tempfile.TemporaryDirectory() as folder:
        done = runner.run(path.resolve(), seed=seed, set=settings, options=["--out", f"{folder}/out"])
        if not done.data:
            raise BadInput((done.stderr.strip() or f"{path}: sim-run ended with {done.exit_code}").splitlines()[-1])
        if "runs" in done.data:
            return Results(path.stem, of_json(str(path), done.stdout))
        found = of_folder(Path(folder) / "out", links)
    found.label = path.stem
    return found


def read(name: str | Path, settings: dict[str, str] | None = None, seed: int | None = None, links: bool = False) -> Results:
    """The results at a path; "-" is standard input. A scenario is run with these settings and this seed. `links`: with the tables
    of links. Raises BadInput."""
    path = Path(name)
    try:
        if str(name) == "-":
            return Results("standard input", of_json("standard input", sys.stdin.read()))
        if path.is_dir():
            if not (path / "metrics.json").exists():
                raise BadInput(f"{path}: no metrics.json: not a folder written by sim-run --out")
            return of_folder(path, links)
        if path.suffix in (".yaml", ".yml"):
            if not path.exists():
                raise BadInput(f"{path}: No such file or directory")
            return of_scenario(path, settings or {}, seed, links)
        with path.open("rb") as file:
            head = file.read(len(SQLITE))
        if not head:
            raise BadInput(f"{path}: empty")
        if head == SQLITE:
            return Results(path.stem, of_campaign(path))
        if path.suffix == ".pftrace" or head[0] == TRACE:
            return Results(path.stem, [of_trace(path)])
        if path.name == "metrics.json":
            return of_folder(path.resolve().parent, links)
        return Results(path.stem, of_json(str(path), path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: neither JSON, nor a campaign's results, nor a trace") from None


def of_job(name: str, runs: list[Run]) -> bool:
    """Whether a metric is one of a job, and not of the model. A campaign's file does not name the jobs."""
    jobs = {job for run in runs for job in run.jobs}
    prefix = name.partition(".")[0]
    return prefix in jobs if jobs else prefix not in MODEL


def known(runs: list[Run]) -> list[str]:
    """The names of all metrics; those of jobs come first."""
    return sorted({name for run in runs for name in run.metrics}, key=lambda name: (not of_job(name, runs), name))


def field_of(run: Run, path: str) -> tuple[float, dict[str, Any]] | None:
    """The value of METRIC (the median of a histogram) or METRIC.FIELD, and the metric. None: the run has none."""
    name, _, member = path.rpartition(".")
    metric = run.metrics.get(path)
    if metric is not None:
        member = "p50" if metric["type"] == "histogram" else "value"
    else:
        metric = run.metrics.get(name)
    if metric is None or not isinstance(metric.get(member), (int, float)) or metric.get("count") == 0:
        return None
    return metric[member], metric


def demand(runs: list[Run], path: str) -> None:
    """Refuses a metric that no run has a value of."""
    if not runs:
        raise BadInput("no runs in these results")
    if any(field_of(run, path) for run in runs):
        return
    for name in (path, path.rpartition(".")[0]):
        if any(name in run.metrics and run.metrics[name].get("count") == 0 for run in runs):
            raise BadInput(f"{name} has no values: 0 were recorded")
    names = known(runs)
    failed = [run for run in runs if not run.ok]
    if not names and failed:
        raise BadInput(f"no metric {path}: {len(failed)} of {len(runs)} runs failed; the first: {failed[0].why}")
    raise BadInput(f"no metric {path}; there are: {', '.join(names)}")
