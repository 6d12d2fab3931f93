# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""One run of sim-run and its result."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, Mapping

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parents[1]  # the source tree; of an installed package, no folder of interest
IN_TREE = (ROOT / "CMakePresets.json").exists()

# Exit codes of sim-run.
OK, FAILED, BAD_INPUT, STUCK = 0, 1, 2, 3
MEANING = {OK: "all expectations and the ledger hold", FAILED: "an expectation or the ledger does not hold",
           BAD_INPUT: "bad input", STUCK: "deadlock, or a limit was reached"}


def build_directory() -> Path:
    """The build folder of the programs under test; ./dev test passes it in JACQUARD_BUILD."""
    return Path(os.environ.get("JACQUARD_BUILD") or ROOT / "build").resolve()


def program(name: str) -> Path:
    """The path of sim-run or another program: of JACQUARD_BUILD; of the tree's build; of the prefix in which this package is
    installed; or of the PATH."""
    if os.environ.get("JACQUARD_BUILD") or IN_TREE:
        return build_directory() / "bin" / name
    beside = PACKAGE.parents[3] / "bin" / name  # PREFIX/lib/python3/dist-packages/jacquard
    return beside if beside.exists() else Path(shutil.which(name) or beside)


def sim_run() -> Path:
    return program("sim-run")


@dataclass
class Result:
    command: list[str]
    exit_code: int
    stdout: str
    stderr: str
    data: dict[str, Any] = field(default_factory=dict)  # what --json printed; {} when nothing was run (exit code 2)
    surroundings: dict[str, Any] = field(default_factory=dict)  # of the process: cwd, env, timeout

    @property
    def ok(self) -> bool:
        return self.exit_code == OK

    @property
    def digest(self) -> str | None:
        """The digest of the run; for a sweep, the digest of all its runs. None when nothing ran."""
        if "runs" in self.data:
            return " ".join(run.get("digest", "none") for run in self.data["runs"])
        return self.data.get("digest")

    @property
    def ledger(self) -> dict[str, Any]:
        return self.data["ledger"]

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        return self.data["metrics"]

    @property
    def faults(self) -> list[dict[str, Any]]:
        return self.data["faults"]

    @property
    def expectations(self) -> list[dict[str, Any]]:
        return self.data["expectations"]

    @property
    def problems(self) -> list[str]:
        """One message for each failure."""
        return self.data.get("problems", [])

    def metric(self, name: str) -> dict[str, Any]:
        return self.metrics[name]

    def report(self) -> str:
        """A report for people: the command, its outcome, and the reasons."""
        lines = [shlex.join(map(str, self.command)),
                 f"exit code {self.exit_code}: {MEANING.get(self.exit_code, 'killed, or a crash')}"]
        lines += [f"  {problem}" for problem in self.problems]
        if self.stderr:
            lines += ["--- stderr", self.stderr.rstrip()[-6000:]]
        if not self.data and self.stdout:
            lines += ["--- stdout", self.stdout.rstrip()[-6000:]]
        return "\n".join(lines)


    def write_report(self, path: Path) -> str:
        """Runs the same again and writes its report page. Returns "", or why there is none."""
        try:
            done = subprocess.run([*self.command, "--report", str(path)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  **self.surroundings)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return "" if path.exists() else (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def run(scenario: str | Path, seed: int | None = None, set: Mapping[str, Any] | None = None, randomise: bool = True,
        program: str | Path | None = None, options: Iterable[str] = (), timeout: float = 600,
        environment: Mapping[str, str] | None = None, cwd: str | Path | None = ROOT if IN_TREE else None) -> Result:
    """Runs one scenario. `set`: {"a.b": value}, as --set; `randomise`: False switches address-space randomisation off;
    `program`: another sim-run than the build's; `environment`: variables to add; `timeout`: seconds; `cwd`: the working directory."""
    command = [] if randomise else ["setarch", "-R"]
    command += [str(program or sim_run()), str(scenario), "--json"]
    if seed is not None:
        command += ["--seed", str(seed)]
    for name, value in (set or {}).items():
        command += ["--set", f"{name}={value}"]
    command += options
    surroundings = {"cwd": cwd, "env": dict(os.environ, **(environment or {})), "timeout": timeout}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **surroundings)
    data = {}
    if done.stdout.lstrip().startswith("{"):
        data = json.loads(done.stdout)
    return Result(command, done.returncode, done.stdout, done.stderr, data, surroundings)


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


def elsewhere() -> dict[str, Any]:
    """All of SURROUNDINGS at once."""
    environment = {name: value for how in SURROUNDINGS.values() for name, value in how.get("environment", {}).items()}
    return {"randomise": False, "environment": environment, "cwd": "/"}


def of_the_run(data: dict[str, Any]) -> dict[str, Any]:
    """The part of a result that two runs must have in common: all but the member `host`."""
    rest = {key: value for key, value in data.items() if key != "host"}
    if "runs" in rest:  # a sweep or a campaign
        rest["runs"] = [of_the_run(run) for run in rest["runs"]]
    return rest


def differences(left: Any, right: Any, path: str = "") -> list[str]:
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
