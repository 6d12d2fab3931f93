# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Runs the same traffic in Jacquard and in the programs that a user could take instead, in turn, so that both meet the same load of
the machine, and prints medians and ratios. Run by `./dev bench peers`.

Simulated: 8-byte SMSG messages between ranks with NICs on a dragonfly (bench-smsg), against 8-byte messages between SimGrid's actors
over mailboxes, and between MPI ranks in SimGrid's SMPI, on a star. Figures are messages per second of processor time; setting up is
subtracted by a short run. It needs libsimgrid-dev.

Live: MPI's ping-pong of 8 bytes over the gni provider (pmrun --fabric --ompi), against Open MPI's own shared memory (vader), and the
tagged ping-pong of ucx_perftest over UCX's shared memory (posix). Open MPI and ucx-utils are needed. `./dev bench live` compares with
libfabric's shm and tcp."""

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import jacquard

SOURCES = Path(__file__).resolve().parent.parent / "bench" / "peers"
ROUNDS = 5
NODES = 64
LIVE_MESSAGES = 20000
STAR = f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="star" prefix="node-" suffix="" radical="0-{NODES - 1}" speed="1Gf" bw="10GBps" lat="1us"/>
</platform>
"""
# Pattern: ranks; messages of each rank in Jacquard, between actors, and in SMPI.
PATTERNS = {"pingpong": (2, 200000, 50000, 20000), "random": (NODES, 4000, 1500, 400)}


class PeerError(Exception):
    pass


def run(*command, **more):
    """What the command printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise PeerError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def processor_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rate(command, ranks, messages):
    """Messages per second of processor time, from two runs: command(number of messages of each rank)."""
    short = messages // 10
    seconds = processor_seconds(*command(messages)) - processor_seconds(*command(short))
    return ranks * (messages - short) / seconds


def simulators(folder):
    """Name → (column of PATTERNS, command of a pattern and a number of messages)."""
    bench = jacquard.build_directory() / "bin" / "bench-smsg"
    star, actors, smpi, hosts = (folder / name for name in ("star.xml", "actors", "smpi", "hosts"))
    star.write_text(STAR)
    hosts.write_text("".join(f"node-{node}\n" for node in range(NODES)))
    run("cc", "-O2", "-o", actors, SOURCES / "actors.c", "-lsimgrid")
    run("smpicc", "-O2", "-o", smpi, SOURCES / "ranks.c")
    return {
        "Jacquard, SMSG": (1, lambda pattern, messages: (bench, "--once", pattern, messages)),
        "SimGrid, actors": (2, lambda pattern, messages: (actors, star, pattern, messages)),
        "SimGrid, SMPI": (3, lambda pattern, messages: ("smpirun", "-np", PATTERNS[pattern][0], "-platform", star, "-hostfile", hosts,
                                                        "--cfg=smpi/simulate-computation:no", smpi, pattern, messages)),
    }


def simulated(folder, rounds):
    subjects = simulators(folder)
    rows = []
    for pattern, lengths in PATTERNS.items():
        rates = {name: [] for name in subjects}
        for _ in range(rounds):
            for name, (column, command) in subjects.items():
                rates[name].append(rate(lambda messages: command(pattern, messages), lengths[0], lengths[column]))
        rows.append(row(f"simulated {pattern}, {lengths[0]} ranks, 8 B", "M messages/s of processor time", rates, 1e-6, True))
    return rows


def free_port():
    with contextlib.closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ucx_latency():
    port = free_port()
    environment = dict(os.environ, UCX_TLS="posix,self")
    test = ["ucx_perftest", "-t", "tag_lat", "-s", "8", "-n", str(LIVE_MESSAGES), "-p", str(port)]
    server = subprocess.Popen(test, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                output = run(*test, "127.0.0.1", env=environment)
                break
            except PeerError:  # the server does not listen yet, or has failed
                if server.poll() is not None:
                    raise
    finally:
        server.kill()
        server.wait()
    # Final: messages, median, average, overall latency in us, …
    return float(re.search(r"^Final:\s+\d+\s+([\d.]+)", output, re.M).group(1))


def live(folder, rounds):
    bin_folder = jacquard.build_directory() / "bin"
    ranks = folder / "ranks"
    run("mpicc.openmpi", "-O2", "-o", ranks, SOURCES / "ranks.c")
    pingpong = (ranks, "pingpong", LIVE_MESSAGES)
    subjects = {
        "Open MPI over gni": lambda: 1e6 * float(run(bin_folder / "pmrun", "--fabric", "--fabric-report", "none", "--ompi", "-n", 2,
                                                     *pingpong).split()[-1]),
        "Open MPI, vader": lambda: 1e6 * float(run("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "pml", "ob1",
                                                   "--mca", "btl", "self,vader", "-n", 2, *pingpong).split()[-1]),
        "UCX, posix": ucx_latency,
    }
    figures = {name: [] for name in subjects}
    for _ in range(rounds):
        for name, measure in subjects.items():
            figures[name].append(measure())
    return [row("live ping-pong of two processes, 8 B", "us one way", figures, 1, False)]


def row(name, unit, figures, scale, more_is_better):
    """Medians of all subjects, and how many times better the first is than each of the others: the median of the rounds' ratios."""
    first, *others = figures
    ratios = {other: statistics.median(a / b if more_is_better else b / a for a, b in zip(figures[first], figures[other])) for other in others}
    return {"name": name, "unit": unit, "medians": {subject: statistics.median(values) * scale for subject, values in figures.items()},
            "better_than": ratios}


def show(rows):
    for entry in rows:
        print(f"{entry['name']}: {entry['unit']}")
        for subject, median in entry["medians"].items():
            ratio = entry["better_than"].get(subject)
            print(f"  {subject:24}{median:12.3f}" + (f"   Jacquard is {ratio:.2f} times as fast" if ratio is not None else ""))


NEEDS = {"simulated": (simulated, ("smpicc", "smpirun"), "libsimgrid-dev"),
         "live": (live, ("mpicc.openmpi", "mpirun.openmpi", "ucx_perftest"), "openmpi-bin, libopenmpi-dev and ucx-utils")}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object with the same figures")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"measure each subject so many times ({ROUNDS})")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: all of {', '.join(NEEDS)}")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in NEEDS]
    if unknown:
        parser.error(f"no such part: {unknown[0]}; there are {', '.join(NEEDS)}")
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for part in arguments.parts or NEEDS:
            measure, programs, packages = NEEDS[part]
            missing = [program for program in programs if shutil.which(program) is None]
            if missing:
                print(f"peers: {part}: there is no {missing[0]}: install {packages}", file=sys.stderr)
                failed = 1
                continue
            try:
                rows += measure(Path(folder), arguments.rounds)
            except PeerError as error:
                print(f"peers: {part}: {error}", file=sys.stderr)
                failed = 1
    if arguments.json:
        print(json.dumps({"bench": "peers", "rows": rows}, indent=2))
    else:
        show(rows)
    return failed


if __name__ == "__main__":
    sys.exit(main())
