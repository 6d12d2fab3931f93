# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The folders of the product and the arrows between them. Prints which folder includes headers of which other one, and
fails on an arrow that the table below does not allow, on a circle, on a header that another library keeps to itself, on a
target that compiles the sources of another folder, on a symbol without the prefix of its library, on a file that is too
long, on a name that contains a home-made term, and on a path in a comment or page that does not exist. Run by
`./dev lint tree`. `house.py --record-terms` writes how many home-made terms are left in each folder."""

import io
import json
import posixpath
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

from generated import LICENCE, read_csv, without_comments

ROOT = Path(__file__).resolve().parent.parent
LISTS = ROOT / "tests" / "lint"
LINES_MAX = 600

# Folder → the folders whose headers it may include. A folder that is not listed belongs to the one above it.
ENGINE = ["sim/engine"]
NET = ["sim/net", *ENGINE]
NIC = ["sim/aries", *NET]
SCENARIO = ["sim/aries", "sim/lnet", "sim/legacy", "sim/cray", "workloads", *NET]
CLUSTER = ["sim/run/scenario", *SCENARIO]
ARROWS = {
    "sim/engine": [],
    "sim/engine/wall": ENGINE,
    "sim/net": ENGINE,
    "sim/shm": [],
    "sim/aries": NET,  # its public headers
    "sim/aries/nic": NIC,
    "sim/aries/api": ["sim/aries/nic", *NIC],
    "sim/aries/sim": ["sim/aries/nic", *NIC],
    "sim/aries/live": ["sim/aries/nic", "sim/aries/api", "sim/shm", *NIC],
    "sim/lnet": NIC,  # drivers on the networks and on the NIC
    "sim/legacy": NET,
    "sim/cray": [],
    "sim/top": ["sim/aries", "sim/shm"],
    "sim/run": ["sim/lnet", "sim/run/scenario", "sim/run/cluster", "sim/run/verdict", "sim/run/report", "sim/run/campaign", "sim/run/live"],
    "sim/run/scenario": SCENARIO,
    "sim/run/cluster": [*CLUSTER, "stack/port", "stack/pmi2", "stack/gni_prov"],
    "sim/run/pmi": ["sim/run/cluster", *CLUSTER, "stack/port", "stack/pmi2"],
    "sim/run/foreign": ["sim/run/cluster", *CLUSTER],
    "sim/run/programs": ["sim/run/foreign", *CLUSTER],
    "sim/run/verdict": ["sim/run/cluster", *CLUSTER],
    "sim/run/report": ["sim/run/verdict", "sim/run/cluster", *CLUSTER],
    "sim/run/campaign": ["sim/run/report", "sim/run/verdict", "sim/run/cluster", *CLUSTER],
    "sim/run/live": ["sim/run/verdict", "sim/run/cluster", "sim/shm", *CLUSTER],
    "stack/port": ["sim/cray"],  # the header of kdreg
    "stack/gni_prov": ["sim/aries", "stack/port", "stack/pmi2"],  # of sim/aries: the emulated API's own header
    "stack/pmi2": ["stack/port"],
    "stack/madeleine": ["sim/aries", "sim/legacy", "sim/lnet", "stack/port", "stack/pmi2"],  # of sim/: the emulated APIs' own headers
    "stack/libcfs": ["sim/lnet", "stack/port"],  # of sim/lnet: the headers of Lustre
    "stack/lst": ["sim/lnet", "stack/port"],  # of sim/lnet: the headers of Lustre
    "stack/lnet_xprt": ["sim/lnet", "stack/port"],  # of sim/lnet: the headers of Lustre; lnetd/ its tools
    "workloads": ["sim/aries", "sim/lnet", "sim/legacy", "stack/lst", "stack/lnet_xprt", "stack/madeleine", "stack/pmi2", "stack/gni_prov",
                  "sim/cray"],
}
# Headers there are named from that folder; a bare <string.h> is not the one of lib/ there, nor of linux/.
ROOTED = ("stack/lnet_xprt/", "sim/lnet/include/")
# Headers of the emulated systems, which code for real hardware includes, too.
API_HEADERS = {"gni_pub.h", "aries/misc/exceptions.h", "kdreg_pub.h", "sisci_api.h", "vipl.h", "sbp_messages.h", "mad_sock.h"}

# Library (first two folders) → prefixes of the symbols that its files share or that it offers.
RUN_FOLDERS = {
    "scenario": ("scenario_",),
    # rank_: the interface of workloads; port_: of the stacks; fi_ and the allocator: those of libraries that the cluster replaces
    "cluster": ("cluster_", "rank_", "port_", "fi_", "malloc", "calloc", "realloc", "free", "aligned_alloc", "memalign",
                "posix_memalign", "pvalloc", "valloc"),
    "pmi": ("pmi_", "oob_", "pmi2_transport_"),  # the last is stack/pmi2's seam for a client's connection
    "foreign": ("foreign_",),
    "programs": ("program_",),
    "verdict": ("verdict_",),
    "report": ("report_",),
    "campaign": ("campaign_",),
    "live": ("live_fabric_",),
}
PREFIXES = {
    "sim/engine": ("sim_", "perfetto_"),  # perfetto_: generated from perfetto_trace.proto
    # sim_…: live/wait.c implements what the engine's wall-clock half waits by
    "sim/aries": ("aries_", "GNI_", "gni_", "sim_wait_until", "sim_wall_poll"),
    "sim/net": ("net_",),
    # libcfs_, cfs_: of Lustre's headers
    "sim/lnet": ("lnet_", "LNet", "libcfs_", "cfs_"),
    "sim/shm": ("shm_",),
    # sci_, tcp_, ethernet_: of one kind of network; the others: of the APIs of its devices
    "sim/legacy": ("legacy_", "sci_", "tcp_", "ethernet_", "SCI", "sisci_", "mad_sock_", "via_", "Vip", "sbp_", "pickup", "return"),
    # The libraries of a Cray system have the names of their own headers.
    "sim/cray": ("cray_", "alps_", "udreg_", "UDREG_", "xpmem_", "rca_", "wlm_detect_",
                 "hugetlbfs_", "gethugepage", "getpagesizes", "get_hugepage_region", "free_hugepage_region", "get_huge_pages",
                 "free_huge_pages",
                 # functions of libc that they replace
                 "access", "faccessat", "fopen", "open", "fstatat", "lstat", "stat", "mmap"),
    **{f"sim/run/{folder}": prefixes for folder, prefixes in RUN_FOLDERS.items()},
    "sim/top": ("top_",),
    "stack/port": ("port_",),
    "stack/gni_prov": ("gnip_", "gni_", "fi_"),
    "stack/pmi2": ("pmi2_", "pmrun_", "PMI_", "PMI2_", "PMI2X_", "PMIX_"),
    "stack/madeleine": ("mad_", "tbx_", "ntbx_", "MPI_"),
    "stack/libcfs": ("libcfs_", "cfs_"),
    "stack/lst": ("lst_",),
    "stack/lnet_xprt": ("m0_", "M0_", "nlx_", "default_xo_rpc_"),
    "workloads": ("wl_", "rank_"),
    "bench": ("bench_",),
}

# Headers that another library may include although they are not in include/, and why.
SHARED_HEADERS = {
    "stack/pmi2/client/client.h",  # the transport under the PMI-2 client, which sim-run puts below it in a simulation
}
# Targets that compile sources of another folder, and why.
COMPILES_OTHERS = {
    "sim_run_programs",  # gives each workload a name of its own and lists them; workloads/ has no target for simulation
    "broken_vc_cm",  # a provider with a planted mistake, which the tests have to find
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\s*["<]([^">]+)[">]', re.MULTILINE)
IDENTIFIER = re.compile(r"(?<![0-9A-Za-z_])[A-Za-z_]\w*")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
PATH = re.compile(r"(?<![\w./*<{$~-])(?:[\w.-]+/)*[\w-]+\.(?:c|h|py|md|yaml|cmake)(?![\w/*-])")


def tracked():
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def room(name):
    """The folder of the table to which a file belongs, or None."""
    folder = name.rsplit("/", 1)[0]
    while folder:
        if folder in ARROWS:
            return folder
        folder = folder.rpartition("/")[0]
    return None


def library(name):
    return "/".join(name.split("/")[:2])


class Headers:
    """Which file of the tree an include means: one of the same folder, else the nearest one with that path."""

    def __init__(self, names):
        self.by_base = defaultdict(list)
        for name in names:
            if name.endswith(".h"):
                self.by_base[name.rsplit("/", 1)[-1]].append(name)

    def find(self, includer, header):
        found = [name for name in self.by_base[header.rsplit("/", 1)[-1]] if (name == header or name.endswith("/" + header))
                 and all(not name.startswith(folder) or name.removeprefix(folder).removeprefix("include/") == header for folder in ROOTED)]
        ahead = includer.split("/")

        def nearness(name):
            return sum(1 for _ in iter_common(ahead, name.split("/")))
        return max(found, key=lambda name: (nearness(name), "/include/" in name), default=None)


def iter_common(left, right):
    for one, other in zip(left, right):
        if one != other:
            return
        yield one


def arrows(names):
    """(includer's folder, header's folder) → number of includes; and what is wrong with single ones."""
    headers = Headers(names)
    found, problems = Counter(), []
    for name in names:
        here = room(name)
        if here is None or not name.endswith((".c", ".h")):
            continue
        text = read(name)
        for match in INCLUDE.finditer(text):
            header = match.group(1)
            target = headers.find(name, header)
            there = room(target) if target else None
            if there is None or there == here:
                continue
            line = text.count("\n", 0, match.start()) + 1
            found[here, there] += 1
            if there not in ARROWS[here]:
                problems.append(f"{name}:{line}: {header}: {here} may not use {there} (harness/house.py, ARROWS)")
            elif library(target) != library(name) and "/include/" not in target and target not in SHARED_HEADERS:
                problems.append(f"{name}:{line}: {header}: {library(target)} keeps this header to itself")
            elif here.startswith(("stack/", "workloads")) and there.startswith(("sim/aries", "sim/cray")) and header not in API_HEADERS:
                problems.append(f"{name}:{line}: {header}: what is built for hardware never knows the simulator")
    return found, problems


def circles(found):
    """Folders that reach themselves along the arrows."""
    graph = defaultdict(set)
    for here, there in found:
        graph[here].add(there)

    def reached(start):
        seen, todo = set(), list(graph.get(start, ()))
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += graph.get(at, ())
        return seen
    inside = sorted(here for here in list(graph) if here in reached(here))
    return [f"a circle of folders: {', '.join(inside)}"] if inside else []


def foreign_sources(build):
    """Targets that compile sources of a folder other than that of their CMakeLists.txt."""
    commands = build / "compile_commands.json"
    if not commands.exists():
        return [f"{commands.name}: configure the release build first (./dev build)"]
    problems = []
    for entry in json.loads(commands.read_text()):
        source = Path(entry["file"])
        output = re.search(r" -o (\S+)", entry["command"]).group(1)
        if not source.is_relative_to(ROOT) or source.is_relative_to(build):
            continue
        name = source.relative_to(ROOT).as_posix()
        owner, _, rest = output.partition("CMakeFiles/")
        owner = owner.strip("/")
        target = rest.split(".dir/")[0]
        if not room(name) or name.startswith(owner + "/") or target in COMPILES_OTHERS:
            continue
        if not owner.startswith("tests"):  # a test may compile single sources
            problems.append(f"{owner or '.'}: target {target} compiles {name}")
    return sorted(set(problems))


def source_of(target):
    """The source of an object file; CMake writes .. as __ in the path of the object."""
    owner, _, rest = target.as_posix().partition("CMakeFiles/")
    inside = rest.partition(".dir/")[2].replace("__/", "../")
    return posixpath.normpath(posixpath.join(owner, inside)) if inside else target.as_posix()


def symbols(build):
    """Symbols that cross a file and do not carry the prefix of their library."""
    problems = set()
    compiled = {}
    for path in build.rglob("*.o"):
        source = source_of(path.relative_to(build)).removesuffix(".o")
        if (ROOT / source).is_file() or (build / source).is_file():  # else it is left from before its source was renamed
            compiled[str(path)] = source
    for folder, prefixes in PREFIXES.items():
        objects = [path for path, source in compiled.items() if source.startswith(folder + "/")]
        if not objects:
            continue
        shown = subprocess.run(["gcc-nm", "-A", "--defined-only", "-g", *objects], capture_output=True, text=True).stdout
        for line in shown.splitlines():
            path, _, rest = line.partition(":")
            kind, name = rest.split()[-2:]
            if kind in "TDBRCV" and name != "main" and not name.startswith((*prefixes, "_", "jacquard_")):
                source = Path(path).name.removesuffix(".o")
                problems.add(f"{folder}: {name} ({source}) lacks a prefix of its library: {', '.join(prefixes)}")
    return sorted(problems)


def lengths(names, allowed):
    for name in names:
        if name.endswith((".c", ".h", ".py", ".sh")):
            lines = read(name).count("\n")
            if lines > LINES_MAX and name not in allowed:
                yield f"{name}: {lines} lines; more than {LINES_MAX} (tests/lint/long_files.csv has the exceptions)"
    for name in allowed:
        if name not in names or read(name).count("\n") <= LINES_MAX:
            yield f"tests/lint/long_files.csv: {name} needs no exception"


def paths(names, allowed):
    """Paths in comments and pages that name no file of the tree."""
    ends = {"/".join(name.split("/")[start:]) for name in names for start in range(name.count("/") + 1)}
    for name in names:
        if name.endswith((".c", ".h")):
            pieces = [(match.start(), match.group()) for match in COMMENT.finditer(read(name))]
        elif name.endswith(".md"):
            pieces = [(0, read(name))]
        else:
            continue
        text = read(name)
        for start, piece in pieces:
            for match in PATH.finditer(piece):
                path = re.sub(r"^(?:\.\./)+", "", match.group())
                if path not in ends and path not in allowed:
                    line = text.count("\n", 0, start + match.start()) + 1
                    yield f"{name}:{line}: {path} is no file of the tree (tests/lint/other_files.csv has those of others)"


class Terms:
    """The home-made terms of tests/lint/terms.csv. A term is one part of a name, or several parts joined by an underscore."""

    def __init__(self, rows):
        self.instead = {row["term"]: row["instead"] for row in rows if not row["left_out"]}
        self.allowed = {row["term"]: row["allowed"].split() for row in rows}

    def find(self, name):
        """The first home-made term in an identifier or a file name, or None."""
        parts = "_" + re.sub(r"[^0-9a-z]+", "_", name.lower()) + "_"
        for term in self.instead:
            if f"_{term}_" in parts:
                rest = parts
                for compound in self.allowed[term]:
                    rest = rest.replace(f"_{compound}_", "_")
                if f"_{term}_" in rest:
                    return term
        return None


def identifiers(name):
    """Identifier → line of its first use, in a source file."""
    text, found = read(name), {}
    if name.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                found.setdefault(token.string, token.start[0])
        return found
    text = without_comments(text, keep_lines=True)
    for match in IDENTIFIER.finditer(text):
        if match.group() not in found:
            found[match.group()] = text.count("\n", 0, match.start()) + 1
    return found


def terms(names, table):
    """Folder → messages about file names and identifiers in which a home-made term stands for the field's word."""
    found = defaultdict(list)
    for name in names:
        folder = room(name) or "/".join(name.split("/")[:-1][:2]) or "."
        base = name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        term = table.find(base)
        if term:
            found[folder].append(f"{name}: the name of the file has “{term}”; the field says: {table.instead[term]}")
        if name.endswith((".c", ".h", ".py")):
            for identifier, line in identifiers(name).items():
                term = table.find(identifier)
                if term:
                    found[folder].append(f"{name}:{line}: {identifier} has “{term}”; the field says: {table.instead[term]}")
    return dict(found)


def terms_left(found, counts):
    """Problems of the folders that have more or fewer home-made terms than tests/lint/terms_left.csv says."""
    for folder in sorted(found.keys() | counts.keys()):
        places, count = found.get(folder, []), counts.get(folder, 0)
        if len(places) > count:
            yield from places
        if len(places) != count:
            yield (f"{folder}: {len(places)} names with home-made terms; tests/lint/terms_left.csv says {count}" +
                   (", lower it (harness/house.py --record-terms)" if len(places) < count else ""))


def record_terms(found):
    lines = [f"# {LICENCE}",
             "# How many names with home-made terms (terms.csv) each folder still has. The number may only fall.",
             "folder,count", *(f"{folder},{len(found[folder])}" for folder in sorted(found))]
    (LISTS / "terms_left.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


# Functions of libm whose results are not the same with every version and CPU.
INEXACT = re.compile(r"(?<![\w.>])(?:log|log2|log10|log1p|exp|exp2|exp10|expm1|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|"
                     r"cbrt|hypot|lgamma|tgamma|erf|erfc|j0|j1|fma)[fl]?\(")


def inexact(names):
    """Calls of libm in the model and in what ranks execute. sim/engine/real.c has functions with one result."""
    for name in names:
        if not name.startswith(("sim/", "workloads/")) or not name.endswith((".c", ".h")):
            continue
        text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda comment: "\n" * comment.group().count("\n"), read(name), flags=re.S)
        for number, line in enumerate(text.split("\n"), 1):
            for call in INEXACT.findall(line):
                yield f"{name}:{number}: {call}...) differs between CPUs and versions of libm; use engine/real.h"


def main():
    if sys.argv[1:] == ["--record-terms"]:
        record_terms(terms(tracked(), Terms(read_csv(LISTS / "terms.csv"))))
        return 0
    build = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build"
    names = tracked()
    found, problems = arrows(names)
    for here in ARROWS:
        uses = ", ".join(f"{there} {found[here, there]}" for there in ARROWS if (here, there) in found)
        print(f"{here:22} → {uses or 'nothing'}")
    problems += circles(found)
    problems += foreign_sources(build) + symbols(build)
    problems += lengths(names, {row["file"] for row in read_csv(LISTS / "long_files.csv")})
    problems += inexact(names)
    problems += paths(names, {row["path"] for row in read_csv(LISTS / "other_files.csv")})
    problems += terms_left(terms(names, Terms(read_csv(LISTS / "terms.csv"))),
                           {row["folder"]: int(row["count"]) for row in read_csv(LISTS / "terms_left.csv")})
    print(*problems, f"{len(ARROWS)} folders, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
