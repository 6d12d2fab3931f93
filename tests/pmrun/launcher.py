# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Running pmrun, and looking at what it leaves."""

import os
import signal
import subprocess
import time
from pathlib import Path

import jacquard

BUILD = jacquard.build_directory()
PMRUN = Path(os.environ.get("JACQUARD_PMRUN", BUILD / "bin/pmrun"))  # ./dev sanitize: another build's
OUTER = ("PMI", "HYDI", "MPI", "FLUX", "SLURM")


def environment(**more):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OUTER)}
    clean["LD_LIBRARY_PATH"] = str(BUILD / "lib/pmi")
    clean.update(more)
    return clean


def default_signals():
    """pmrun leaves alone what its caller ignores, and a shell ignores interrupts for what it runs in the background."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def run(*arguments, stdin=subprocess.DEVNULL, timeout=60, env=None, **options):
    """The finished process, with stdout and stderr as text."""
    if isinstance(stdin, str):
        options["input"] = stdin
    else:
        options["stdin"] = stdin
    return subprocess.run([PMRUN, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, env=env or environment(), preexec_fn=default_signals, **options)


def start(*arguments, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([PMRUN, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(), preexec_fn=default_signals, **options)


def output(*arguments, **options):
    """Lines of a run that must go well, sorted: ranks do not wait for each other."""
    done = run(*arguments, **options)
    assert (done.returncode, done.stderr) == (0, ""), done
    return sorted(done.stdout.splitlines())


def processes_with(mark):
    """Processes (not zombies) whose command line begins with the text."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if (folder / "cmdline").read_bytes().startswith(mark.encode()) and "\nState:\tZ" not in (folder / "status").read_text():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def states(probe, what):
    """The scheduler's letters of the probes that do this: R, S (waiting), T (stopped)."""
    found = []
    for pid in processes_with(f"{probe}\0{what}"):
        try:
            found.append(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0])
        except OSError:  # it has ended since
            continue
    return found


def children(pid):
    """Of all its threads."""
    return [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]


def descendants(pid):
    return [each for child in children(pid) for each in (child, *descendants(child))]


def until(condition, seconds=60):
    """Waits for something that must come; how long is for slow machines, not what is tested."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
