# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Measures the cost of a message in figures that do not depend on the load of the machine: instructions, cache lines that miss a
first-level cache of 48 KiB and a second-level cache of 1 MiB (simulated by Valgrind's Cachegrind), events and switches of the
engine. Each figure is the difference of two runs of different length, divided by the difference of their messages, so that
setting up and connecting do not count. Run by `./dev bench counts`. With --checks, it counts the instructions of each case
without and with the checks of docs/findings.md. With --docs, it writes the table of docs/internals/performance.md, which
tests/harness/test_counts.py compares with the tree."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jacquard

# Case: program, its argument, messages of each rank in the short run and in the long one.
CASES = {
    "smsg-pingpong": ("bench-smsg", "pingpong", 2000, 6000),
    "smsg-random": ("bench-smsg", "random", 200, 600),
    "fma-8": ("bench-smsg", "fma-8", 2000, 6000),
    "bte-4k": ("bench-smsg", "bte-4k", 1000, 3000),
    "bte-64k": ("bench-smsg", "bte-64k", 200, 600),
    "provider-pingpong": ("bench-fabric", "pingpong", 1000, 3000),
    "provider-random": ("bench-fabric", "random", 100, 300),
}

LNET = """name: counted
seed: 17
fabric: {name: ethernet, topology: single-switch, nodes: 64}
lnet: {nodes: [{name: all, nodes: 0-63, networks: tcp(ethernet)}]}
jobs: [{name: peers, nodes: 0-63, workload: WORKLOAD}]
"""
# Case: scenario of sim-run, with its LENGTH; messages of all ranks for one of the length; short and long run.
SCENARIOS = {
    "lnet-put-4k": (LNET.replace("WORKLOAD", "lnet_put, args: {bytes: 4KiB, messages: LENGTH, gets: 0, ack: false}"), 64, 200, 600),
    "lnet-get-4k": (LNET.replace("WORKLOAD", "lnet_put, args: {bytes: 4KiB, messages: LENGTH, gets: 100, ack: false}"), 64, 100, 300),
    # Four messages and two bulk transfers of each of 63 clients.
    "m0net-kernel": (LNET.replace("WORKLOAD", "m0_ping, args: {loops: LENGTH, bytes: 4KiB, buffers: 200, flavour: kernel}"), 63 * 6, 20, 60),
    "m0net-user": (LNET.replace("WORKLOAD", "m0_ping, args: {loops: LENGTH, bytes: 4KiB, buffers: 200, flavour: user}"), 63 * 6, 20, 60),
    "theta-put-4k": ("""name: counted
fabric: {preset: theta12}
jobs: [{name: t, nodes: 0-4391, workload: traffic, args: {messages: LENGTH, window: 1}}]
""", 4392, 2, 6),
}
# Case: its row of the table.
LABELS = {
    "smsg-pingpong": "SMSG ping-pong, 8 B, two ranks of a blade",
    "smsg-random": "SMSG random, 8 B, 64 ranks",
    "fma-8": "FMA PUT, 8 B",
    "bte-4k": "BTE PUT, 4 KiB",
    "bte-64k": "BTE PUT, 64 KiB",
    "provider-pingpong": "provider ping-pong, tagged 8 B, two ranks of a blade",
    "provider-random": "provider random, tagged 8 B, 64 ranks",
    "lnet-put-4k": "LNet PUT, 4 KiB, 64 nodes",
    "lnet-get-4k": "LNet GET, 4 KiB, 64 nodes",
    "m0net-kernel": "m0_net in the kernel: message or bulk transfer of 4 KiB",
    "m0net-user": "m0_net from user space: the same",
    "theta-put-4k": "PUT of 4 KiB on Theta, 4,392 ranks, light load",
}
PAGE = jacquard.ROOT / "docs" / "internals" / "performance.md"
FIGURES = ("instructions", "lines_not_in_48KiB", "lines_not_in_1MiB", "events", "switches")
CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64", "--LL=1048576,16,64")


def cachegrind(program, *arguments):
    """One run: what the program printed as JSON, and Cachegrind's counters."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "cachegrind.out"
        # -R: fixed addresses, because they determine which lines share a set of the caches.
        command = ["setarch", "-R", "valgrind", "--tool=cachegrind", *CACHES, f"--cachegrind-out-file={out}",
                   jacquard.build_directory() / "bin" / program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{program} {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        text = out.read_text()
    names = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    values = map(int, re.search(r"^summary: (.*)$", text, re.M).group(1).split())
    return json.loads(done.stdout), dict(zip(names, values))


def figures(cache, events, switches):
    return {
        "instructions": cache["Ir"],
        "lines_not_in_48KiB": cache["D1mr"] + cache["D1mw"],
        "lines_not_in_1MiB": cache["DLmr"] + cache["DLmw"] + cache["ILmr"],
        "events": events,
        "switches": switches,
    }


def counted(program, argument, length, *options):
    """One run: its messages, and the figures of the whole run."""
    engine, cache = cachegrind(program, "--once", argument, str(length), *options)
    return engine["messages"], figures(cache, engine["events"], engine["switches"])


def counted_scenario(text, messages, length):
    """One run of a scenario: its messages, and the figures of the whole run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.yaml"
        path.write_text(text.replace("LENGTH", str(length)))
        result, cache = cachegrind("sim-run", path, "--json")
    return messages * length, figures(cache, result["events"], result["metrics"]["engine.switches"]["value"])


def both_runs(pool, name):
    """The short and the long run of a case, as futures."""
    if name in SCENARIOS:
        text, messages, *lengths = SCENARIOS[name]
        return [pool.submit(counted_scenario, text, messages, length) for length in lengths]
    program, argument, *lengths = CASES[name]
    return [pool.submit(counted, program, argument, length) for length in lengths]


def per_message(short, long):
    """The figures of one message, from (messages, figures) of two runs."""
    messages = long[0] - short[0]
    return {name: (long[1][name] - short[1][name]) / messages for name in FIGURES}


def row(name, found):
    """The row of the table."""
    cells = (f"{found[figure]:,.2f}" if found[figure] < 1 else f"{found[figure]:,.1f}" if found[figure] < 10 else f"{found[figure]:,.0f}"
             for figure in FIGURES)
    return f"| {LABELS[name]} | {' | '.join(cells)} |"


def documented(name):
    """The figures of the row in the table."""
    line = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {LABELS[name]} |"))
    return dict(zip(FIGURES, (float(cell.replace(",", "")) for cell in line.split("|")[2:-1])))


def write_rows(found):
    lines = PAGE.read_text(encoding="utf-8").splitlines(keepends=True)
    for name, figures_of_one in found.items():
        place = next(i for i, line in enumerate(lines) if line.startswith(f"| {LABELS[name]} |"))
        lines[place] = row(name, figures_of_one) + "\n"
    PAGE.write_text("".join(lines), encoding="utf-8")


def measured(names):
    """{case: figures of one message}. Two runs at a time."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        runs = {name: both_runs(pool, name) for name in names}
        return {name: per_message(*(run.result() for run in runs[name])) for name in names}


def print_checks(pool, names):
    """The instructions of one message without and with the checks of docs/findings.md."""
    runs = {name: [[pool.submit(counted, *CASES[name][:2], length, *options) for length in CASES[name][2:]]
                   for options in ((), ("--checks",))] for name in names}
    print(f"{'instructions of one message':30}{'checks off':>15}{'checks on':>15}{'more':>10}")
    for name, pairs in runs.items():
        off, on = (per_message(*(run.result() for run in pair))["instructions"] for pair in pairs)
        print(f"{name:30}{off:>15,.0f}{on:>15,.0f}{100 * (on - off) / off:>9,.1f}%")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench counts", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object: case, figure, value of one message")
    parser.add_argument("--checks", action="store_true", help="instructions without and with the checks of programs")
    parser.add_argument("--docs", action="store_true", help="write the figures into the table of docs/internals/performance.md")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"default: all of {', '.join([*CASES, *SCENARIOS])}; with --checks: the first {len(CASES)}")
    arguments = parser.parse_args()
    known = list(CASES) if arguments.checks else [*CASES, *SCENARIOS]
    unknown = [name for name in arguments.cases if name not in known]
    if unknown:
        parser.error(f"no such case: {unknown[0]}; there are {', '.join(known)}")
    names = arguments.cases or known
    if arguments.checks:
        with ThreadPoolExecutor(max_workers=2) as pool:
            print_checks(pool, names)
        return 0
    found = measured(names)
    if arguments.docs:
        write_rows(found)
    if arguments.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"{'of one message':20}" + "".join(f"{name.replace('_', ' '):>20}" for name in FIGURES))
    for name, figures in found.items():
        print(f"{name:20}" + "".join(f"{figures[figure]:>20,.2f}" for figure in FIGURES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
