# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""One run of sim-run and its result."""

import json
import os
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Exit codes of sim-run.
OK, FAILED, BAD_INPUT, STUCK = 0, 1, 2, 3
MEANING = {OK: "all expectations and the ledger hold", FAILED: "an expectation or the ledger does not hold",
           BAD_INPUT: "bad input", STUCK: "deadlock, or a limit was reached"}


def build_directory():
    """The build folder of the programs under test; ./dev test passes it in JACQUARD_BUILD."""
    return Path(os.environ.get("JACQUARD_BUILD") or ROOT / "build").resolve()


def sim_run():
    return build_directory() / "bin" / "sim-run"


@dataclass
class Result:
    command: list
    exit_code: int
    stdout: str
    stderr: str
    data: dict = field(default_factory=dict)  # what --json printed; {} when nothing was run (exit code 2)

    @property
    def ok(self):
        return self.exit_code == OK

    @property
    def digest(self):
        """The digest of the run; for a sweep, the digest of all its runs. None when nothing ran."""
        if "runs" in self.data:
            return " ".join(run.get("digest", "none") for run in self.data["runs"])
        return self.data.get("digest")

    @property
    def ledger(self):
        return self.data["ledger"]

    @property
    def metrics(self):
        return self.data["metrics"]

    @property
    def faults(self):
        return self.data["faults"]

    @property
    def expectations(self):
        return self.data["expectations"]

    @property
    def problems(self):
        """One message for each failure."""
        return self.data.get("problems", [])

    def metric(self, name):
        return self.metrics[name]

    def report(self):
        """A report for people: the command, its outcome, and the reasons."""
        lines = [shlex.join(map(str, self.command)),
                 f"exit code {self.exit_code}: {MEANING.get(self.exit_code, 'killed, or a crash')}"]
        lines += [f"  {problem}" for problem in self.problems]
        if self.stderr:
            lines += ["--- stderr", self.stderr.rstrip()[-6000:]]
        if not self.data and self.stdout:
            lines += ["--- stdout", self.stdout.rstrip()[-6000:]]
        return "\n".join(lines)


def run(scenario, seed=None, set=None, randomise=True, program=None, options=(), timeout=600, environment=None, cwd=ROOT):
    """Runs one scenario. `set`: {"a.b": value}, as --set; `randomise`: False switches address-space randomisation off;
    `program`: another sim-run than the build's; `environment`: variables to add; `cwd`: the working directory."""
    command = [] if randomise else ["setarch", "-R"]
    command += [str(program or sim_run()), str(scenario), "--json"]
    if seed is not None:
        command += ["--seed", str(seed)]
    for name, value in (set or {}).items():
        command += ["--set", f"{name}={value}"]
    command += options
    done = subprocess.run(command, cwd=cwd, env=dict(os.environ, **(environment or {})), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    data = {}
    if done.stdout.lstrip().startswith("{"):
        data = json.loads(done.stdout)
    return Result(command, done.returncode, done.stdout, done.stderr, data)


# What the results must not depend on: how run() is called differently.
SURROUNDINGS = {
    "again": {},
    "no ASLR": {"randomise": False},
    # Every block from mmap(2), and free memory that is not zero.
    "another heap": {"environment": {"MALLOC_MMAP_THRESHOLD_": "1024", "MALLOC_TOP_PAD_": "999424", "MALLOC_ARENA_MAX": "1",
                                     "MALLOC_PERTURB_": "165"}},
    # An old CPU, as the C library sees it.
    "no AVX2": {"environment": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-FMA,-FMA_Usable,-ERMS,-BMI2"}},
    "large environment": {"environment": {"JACQUARD_NOTHING": "x" * 100_003}},
    "another folder": {"cwd": "/"},
}


def elsewhere():
    """All of SURROUNDINGS at once."""
    environment = {name: value for how in SURROUNDINGS.values() for name, value in how.get("environment", {}).items()}
    return {"randomise": False, "environment": environment, "cwd": "/"}


def of_the_run(data):
    """The part of a result that two runs must have in common: all but the member `host`."""
    rest = {key: value for key, value in data.items() if key != "host"}
    if "runs" in rest:  # a sweep or a campaign
        rest["runs"] = [of_the_run(run) for run in rest["runs"]]
    return rest


def differences(left, right, path=""):
    """Where two results differ, apart from the host's part: a list of texts, empty when they are the same."""
    if isinstance(left, Result):
        found = [] if left.exit_code == right.exit_code else [f"exit code: {left.exit_code} / {right.exit_code}"]
        return found + differences(of_the_run(left.data), of_the_run(right.data))
    if isinstance(left, dict) and isinstance(right, dict):
        found = []
        for key in [*left, *(key for key in right if key not in left)]:
            where = f"{path}.{key}" if path else str(key)
            if key in left and key in right:
                found += differences(left[key], right[key], where)
            else:
                found.append(f"{where}: only in one")
        return found
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        found = []
        for index, (one, other) in enumerate(zip(left, right)):
            found += differences(one, other, f"{path}[{index}]")
        return found
    return [] if left == right else [f"{path}: {left!r:.200} / {right!r:.200}"]
