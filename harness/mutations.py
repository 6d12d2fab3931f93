# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Plants the bugs of tests/mutations in a copy of the tree, one at a time, and runs the tests that should notice them.

The copy and its build are in <build>-mutations. A patch is applied, what it changes is built, its tests are run, and the patch
is reverted. `./dev mutations` writes the results to tests/mutations/results.csv, `./dev generate` makes
docs/internals/mutations.md from them."""

import argparse
import csv
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import jacquard
from generated import LICENCE, finish, read_csv
from jacquard.scenario_files import EXPECTED_EXITS

FOLDER = Path("tests/mutations")
RESULTS = FOLDER / "results.csv"
PAGE = Path("docs/internals/mutations.md")
COLUMNS = ("number", "patch", "result", "by")
FIELDS = ("Kind", "Layer", "Bug", "Caught-by")
LAYERS = ("nic", "network", "smsg", "datagrams", "provider", "pmi", "live", "lnet", "m0_net", "madeleine", "legacy",
          "libcfs", "engine", "findings")
LEAST, LEAST_CAUGHT = 60, 0.95
SECONDS = 90  # of one test; a run takes a few seconds
# Optimised as little as keeps the scenarios fast. Without assertions, which users do not have either. No warnings, because a
# planted bug may leave a variable unused.
FLAGS = "-O1 -DNDEBUG -w"
# What tests of a folder run besides the programs of the tests.
PRODUCT = ("stack/all", "sim/shm/all", "sim/aries/all", "sim/cray/all", "sim/run/all", "sim/top/all")


class MutationError(Exception):
    pass


@dataclass
class Mutation:
    path: Path
    number: str
    name: str
    kind: str
    layer: str
    bug: str
    tests: list

    @property
    def digest(self):
        """Of the change and its tests, without the lines that move when the code around it does."""
        text = self.path.read_text(encoding="utf-8")
        kept = [line for line in text.splitlines() if not line.startswith(("@@", " ", "index "))]
        return hashlib.sha256("\n".join(kept).encode()).hexdigest()[:12]


def read(path):
    """A patch with its header."""
    name = re.fullmatch(r"(\d{3})-([a-z0-9-]+)", path.stem)
    if name is None:
        raise MutationError(f"{path}: a patch is called NNN-name.patch")
    head, found = path.read_text(encoding="utf-8").split("diff --git", 1)[0].splitlines(), {}
    if not head or LICENCE not in head[0]:
        raise MutationError(f"{path}: the first line is no licence line")
    for line in head[1:]:
        key, _, value = line.partition(": ")
        if key not in FIELDS or not value.strip() or key in found:
            raise MutationError(f"{path}: {line!r}: a header has one line for each of {', '.join(FIELDS)}")
        found[key] = value.strip()
    if len(found) != len(FIELDS):
        raise MutationError(f"{path}: no {', '.join(key for key in FIELDS if key not in found)}")
    if found["Layer"] not in LAYERS:
        raise MutationError(f"{path}: Layer: one of {', '.join(LAYERS)}")
    return Mutation(path, *name.groups(), found["Kind"], found["Layer"], found["Bug"], found["Caught-by"].split())


def read_all(root):
    mutations = [read(path) for path in sorted((root / FOLDER).glob("*.patch"))]
    for what in ("number", "name"):
        names = [getattr(mutation, what) for mutation in mutations]
        for name in names:
            if names.count(name) > 1:
                raise MutationError(f"{FOLDER}: two patches have the {what} {name}")
    return mutations


def git_apply(tree, path, *options):
    """What git says if it cannot apply the patch; nothing if it can."""
    # The tree may lie in a repository, whose paths the patch does not have.
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=str(tree.resolve().parent))
    if not (tree / ".git").exists():
        environment["GIT_DIR"] = "/nonexistent"
    done = subprocess.run(["git", "apply", *options, str(path.resolve())], cwd=tree, env=environment, capture_output=True,
                          text=True, check=False)
    return done.stderr.strip() or f"git apply ends with {done.returncode}" if done.returncode else ""


def problems(root, mutations):
    """Why the patches are not fit for use: one text for each."""
    found = []
    for mutation in mutations:
        said = git_apply(root, mutation.path, "--check")
        if said:
            found.append(f"{mutation.path.name} does not apply: {said}")
        for test in mutation.tests:
            kind, _, what = test.partition(":")
            path = what.split("::")[0] if kind == "pytest" else test
            if kind not in ("ctest", "pytest") and not test.startswith("scenarios/"):
                found.append(f"{mutation.path.name}: {test}: a test is scenarios/FILE, ctest:NAME or pytest:FILE::NAME")
            elif kind != "ctest" and not (root / path).exists():
                found.append(f"{mutation.path.name}: {test}: there is no such file")
    return found


# ---- the copy ----


def copy_tree(root, tree):
    """Makes the copy equal to the tree; equal files keep their times, so that they are not built again."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=root, capture_output=True, check=True).stdout.decode().split("\0")
    names = {name for name in listed if name and (root / name).is_file()}
    for path in [path for path in tree.rglob("*") if path.is_file() or path.is_symlink()] if tree.exists() else []:
        if str(path.relative_to(tree)) not in names and "__pycache__" not in path.parts:
            path.unlink()
    for name in sorted(names):
        source, target = root / name, tree / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


@dataclass
class Copy:
    tree: Path
    build: Path
    jobs: int

    def configure(self):
        if (self.build / "build.ninja").exists():
            return
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.build, "-DCMAKE_BUILD_TYPE=Debug",
                        f"-DCMAKE_C_FLAGS_DEBUG={FLAGS}", "-DBENCH=OFF", "-DTESTS=ON"], check=True, stdout=subprocess.DEVNULL)

    def make(self, tests):
        """Builds what the tests need. Returns what the compiler says if that fails."""
        targets = {"sim-run", "fi-plugin"}
        for test in tests:
            if test.startswith("ctest:"):
                targets.add(test.removeprefix("ctest:"))
                if test.startswith("ctest:live"):
                    targets.add("sim/shm/all")  # the daemon
            elif test.startswith("pytest:"):
                targets.update(PRODUCT + ("live-programs",))
        done = subprocess.run(["ninja", "-C", self.build, "-j", str(self.jobs), *sorted(targets)], capture_output=True, text=True,
                              check=False)
        return "" if done.returncode == 0 else done.stdout[-3000:] + done.stderr[-1000:]

    def command(self, test):
        kind, _, what = test.partition(":")
        if kind == "ctest":
            return ["ctest", "--test-dir", self.build, "--no-tests=error", "-R", f"^{what}$"], 0
        if kind == "pytest":
            return [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", what], 0
        expected = EXPECTED_EXITS.get(str(Path(test).relative_to("scenarios")), 0)
        return [self.build / "bin/sim-run", "--quiet", self.tree / test], expected

    def passes(self, test):
        command, expected = self.command(test)
        environment = dict(os.environ, JACQUARD_BUILD=str(self.build))
        process = subprocess.Popen([str(word) for word in command], cwd=self.tree, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(timeout=SECONDS) == expected
        except subprocess.TimeoutExpired:
            return False  # it hangs
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


# ---- running ----


def all_scenarios(root):
    return sorted(str(path.relative_to(root)) for path in (root / "scenarios").rglob("*.yaml"))


def plant(copy, mutation, tests, every):
    """One mutation: ("caught", tests that noticed it), ("survived", []), or ("broken", [what the build says])."""
    said = git_apply(copy.tree, mutation.path)
    if said:
        raise MutationError(f"{mutation.path.name} does not apply: {said}")
    try:
        said = copy.make(tests)
        if said:
            return "broken", [said]
        caught = []
        for test in tests:
            if not copy.passes(test):
                caught.append(test)
                if not every and test in mutation.tests[:1]:
                    break
                if not every and test not in mutation.tests:
                    break
        return ("caught", caught) if caught else ("survived", [])
    finally:
        said = git_apply(copy.tree, mutation.path, "-R")
        if said:
            raise MutationError(f"{mutation.path.name} cannot be taken back: {said}")


def write_results(root, rows):
    with (root / RESULTS).open("w", newline="", encoding="utf-8") as file:
        file.write(f"# {LICENCE}\n# What ./dev mutations found: `patch` is a digest of the patch; `by`: the tests that noticed it.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows[number] for number in sorted(rows))


def read_results(root):
    if not (root / RESULTS).exists():
        return {}
    return {row["number"]: tuple(row[column] for column in COLUMNS) for row in read_csv(root / RESULTS)}


def unsound(copy, mutations, tests_of):
    """Tests that fail without any bug."""
    tests = sorted({test for mutation in mutations for test in tests_of(mutation)})
    said = copy.make(tests)
    if said:
        raise MutationError(f"the tree without a bug does not build:\n{said}")
    return [test for test in tests if not copy.passes(test)]


def run(arguments, mutations):
    root = arguments.root
    folder = Path(f"{jacquard.build_directory()}-mutations")
    copy = Copy(folder / "tree", folder / "build", arguments.jobs)
    chosen = [mutation for mutation in mutations if not arguments.names or
              any(name in (mutation.number, mutation.name, mutation.path.stem) for name in arguments.names)]
    if arguments.names and len(chosen) < len(set(arguments.names)):
        known = {name for mutation in mutations for name in (mutation.number, mutation.name, mutation.path.stem)}
        raise MutationError("no such mutation: " + ", ".join(name for name in arguments.names if name not in known))
    copy_tree(root, copy.tree)
    copy.configure()
    scenarios = all_scenarios(root) if arguments.all else []

    def tests_of(mutation):
        return mutation.tests + [test for test in scenarios if test not in mutation.tests]

    failing = [] if arguments.trust else unsound(copy, chosen, tests_of)
    if failing:
        raise MutationError("these tests fail without any bug: " + ", ".join(failing))
    rows = {number: row for number, row in read_results(root).items() if number in {mutation.number for mutation in mutations}}
    missed = 0
    for mutation in chosen:
        began = time.monotonic()
        result, by = plant(copy, mutation, tests_of(mutation), arguments.all)
        if result == "broken":
            raise MutationError(f"{mutation.path.name} does not compile:\n{by[0]}")
        rows[mutation.number] = (mutation.number, mutation.digest, result, " ".join(by))
        missed += result != "caught"
        print(f"{mutation.path.stem}: {result}{' by ' + ' '.join(by) if by else ''} ({time.monotonic() - began:.0f} s)", flush=True)
        if not arguments.no_record:
            write_results(root, rows)
    print(f"{len(chosen) - missed} of {len(chosen)} bugs were noticed")
    return 1 if missed else 0


# ---- the page ----


def by_scenario(row):
    return any(test.startswith("scenarios/") for test in row[3].split())


def page(mutations, results):
    """The lines of the page, and why the results do not suffice."""
    wrong = []
    for mutation in mutations:
        row = results.get(mutation.number)
        if row is None or row[1] != mutation.digest:
            wrong.append(f"{RESULTS} has no result of {mutation.path.name} as it is now: ./dev mutations {mutation.number}")
    if wrong:
        return [], wrong
    rows = [results[mutation.number] for mutation in mutations]
    caught = [mutation for mutation, row in zip(mutations, rows) if row[2] == "caught"]
    scenario = sum(by_scenario(row) for row in rows)
    if len(mutations) < LEAST:
        wrong.append(f"{len(mutations)} mutations: at least {LEAST}")
    if len(caught) < LEAST_CAUGHT * len(mutations):
        wrong.append(f"{len(caught)} of {len(mutations)} bugs are noticed: at least {LEAST_CAUGHT:.0%}")
    lines = [
        "# Mutations",
        "",
        "Do the tests notice a bug? Each row is a bug that `./dev mutations` planted in a copy of the tree, and the tests that failed with",
        "it. Generated by `./dev generate` from the patches in `tests/mutations` and the last results; [contributing](../contributing.md#mutations)",
        "says how to add one, and which bugs were tried and are not in the list yet because nothing noticed them.",
        "",
        f"{len(caught)} of {len(mutations)} bugs of the list are noticed, {scenario} of them by a scenario.",
        "",
        "| layer | bugs | noticed | by a scenario |",
        "|---|---|---|---|",
    ]
    for layer in LAYERS:
        of = [row for mutation, row in zip(mutations, rows) if mutation.layer == layer]
        lines.append(f"| {layer} | {len(of)} | {sum(row[2] == 'caught' for row in of)} | {sum(map(by_scenario, of))} |")
    for layer in LAYERS:
        lines += ["", f"## {layer}", "", "| | kind | bug | noticed by |", "|---|---|---|---|"]
        for mutation, row in zip(mutations, rows):
            if mutation.layer != layer:
                continue
            tests = ", ".join(f"`{test.removeprefix('scenarios/').removesuffix('.yaml') if test.startswith('scenarios/') else test}`"
                              for test in row[3].split()[:3])
            lines.append(f"| {mutation.number} | {mutation.kind} | {mutation.bug} | {tests or '**nothing**'} |")
    return lines, wrong


def main():
    parser = argparse.ArgumentParser(prog="./dev mutations", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="numbers or names of mutations; none: all")
    parser.add_argument("--all", action="store_true", help="run every scenario as well, and record all that notice the bug")
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a bug first")
    parser.add_argument("--no-record", action="store_true", help=f"do not write {RESULTS}")
    parser.add_argument("--check", action="store_true", help="run nothing: do the patches apply, is the page current?")
    parser.add_argument("--page", action="store_true", help=f"run nothing: write {PAGE}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of the build")
    parser.add_argument("--root", type=Path, default=jacquard.ROOT, help="another tree")
    arguments = parser.parse_args()
    try:
        mutations = read_all(arguments.root)
        wrong = problems(arguments.root, mutations)
        if not arguments.check and not arguments.page:
            if wrong:
                raise MutationError("\n".join(wrong))
            return run(arguments, mutations)
        lines, bad = page(mutations, read_results(arguments.root))
        wrong += bad
        for text in wrong:
            print(text, file=sys.stderr)
        return (finish(arguments.root / PAGE, lines, arguments.check) if lines else 1) or (1 if wrong else 0)
    except MutationError as error:
        print(f"mutations: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
