# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""-DBACKEND=real, without a Cray system: against a prefix that holds only headers and libraries of empty functions. What
comes out must not know anything but the documented API, and nothing of sim/ may take part. The prefix exists for both
releases of uGNI whose headers are public: 0x5d, and 0x5c without chains and completion channels. The one of 0x5d has the header
of kdreg, too."""

import csv
import fcntl
import json
import os
import re
import shutil
import subprocess

import jacquard
import pytest
from jacquard.installed import command

PMI = ("PMI_Init PMI_Initialized PMI_Finalize PMI_Get_size PMI_Get_rank PMI_Barrier PMI_Abort PMI_Allgather PMI_Get_nid "
       "PMI_Get_clique_size PMI_Get_clique_ranks PMI_Bcast").split()
# What m0_net's core in the kernel needs of LNet and of the kernel's string functions; and the headers with these names.
LNET = ("LNetEQAlloc LNetEQFree LNetGet LNetGetId LNetMDAttach LNetMDBind LNetMDUnlink LNetMEAttach LNetMEUnlink LNetNIFini LNetNIInit "
        "LNetPut libcfs_nid2str_r libcfs_str2nid").split()
KERNEL = "memchr memcmp memcpy memset snprintf strchr strcmp strlen".split()
LNET_HEADERS = "libcfs/shims.h lnet/api.h lnet/lib-types.h lnet/nidstr.h lustre/lustre_ver.h".split()
DATA = {"gni_err_str": "const char *gni_err_str[64];", "gni_statistic_str": "const char *gni_statistic_str[64];"}


# What release 0x5d has added to 0x5c (and the spelling of a name).
NEW_FUNCTIONS = re.compile(r"GNI_Ct\w+|GNI_\w*CompChan\w*|GNI_SetJobResInfo|gni_(?:dev|job)_res_(?:valid|to_str)")
NEW_CONSTANTS = (r"GNI_VERSION_FMA_CHAIN_TRANSACTIONS|GNI_CQ_NOAUTOFILL|GNI_MEM_PRIV_(?:RESERVED_[1-4]|MASK)|GNI_DEV_RES_(?:TCR|DVA)|"
                 r"GNI_JOB_RES_(?:RDMA|DIRECT|PCI_IOMMU|NONVMDH)|GNI_STAT_(?:FMA_LAUNCH_COUNT|MR_MULTI_PAGESIZE)")


def as_release_5c(header):
    """gni_pub.h without what came later."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    header = re.sub(r"typedef struct gni_ct_\w+ \{.*?\n\} gni_ct_\w+;", "", header, flags=re.DOTALL)
    header = re.sub(r"typedef struct gni_comp_chan \*\w+;", "", header)
    header = re.sub(rf"^[a-z][^;{{}}#]*\b(?:{NEW_FUNCTIONS.pattern})\([^;]*;", "", header, flags=re.MULTILINE)
    header = header.replace("GNI_JOB_RES_RMDA = GNI_JOB_RES_RDMA", "GNI_JOB_RES_RMDA = 7")
    header = re.sub(rf"^ +(?:{NEW_CONSTANTS})\b(?! *\)).*,?$", "", header, flags=re.MULTILINE)
    header = re.sub(rf"^#define (?:{NEW_CONSTANTS})\b.*$", "", header, flags=re.MULTILINE)
    header = re.sub(r"(GNI_DEV_RES_LAST =) 9", r"\1 7", header)
    header = re.sub(r"(GNI_JOB_RES_LAST =) 14", r"\1 11", header)
    header = re.sub(r"(#define GNI_MINOR_REV) 0x5d", r"\1 0x5c", header)
    header = re.sub(r"(#define GNI_MSGQ_NODE_INSTS_MAX) 128", r"\1 48", header)
    assert not re.search(rf"{NEW_FUNCTIONS.pattern}|{NEW_CONSTANTS}|gni_ct_|comp_chan", header)
    assert header.count("0x5c") == 1 and "GNI_MSGQ_NODE_INSTS_MAX 48" in header
    return header


def documented():
    """The 102 functions; and every other symbol that gni_pub.h declares."""
    with (jacquard.ROOT / "docs" / "ugni-functions.csv").open() as lines:
        functions = [row[0] for row in csv.reader(lines) if row and re.fullmatch(r"GNI_\w+", row[0])]
    assert len(functions) == 102
    header = (jacquard.ROOT / "sim/aries/include/gni_pub.h").read_text()
    helpers = sorted(set(re.findall(r"\b(gni_(?:cq|ce|dev|job)_\w+)\(", header)))
    return functions, helpers


class Prefix:
    """Headers and libraries of symbols, as small as a cross-compiling user might have them."""

    def __init__(self, root, release="0x5d"):
        self.root, self.include, self.lib, self.release = root, root / "include", root / "lib", release
        self.lustre = root / "lustre"
        self.environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.lib / "pkgconfig"))
        self.environment.pop("PKG_CONFIG_PATH", None)
        functions, helpers = documented()
        header = (jacquard.ROOT / "sim/aries/include/gni_pub.h").read_text()
        if release == "0x5c":
            functions, helpers = ([name for name in names if not NEW_FUNCTIONS.fullmatch(name)] for names in (functions, helpers))
            header = as_release_5c(header)
            assert len(functions) == 93
        self.symbols = set(functions) | set(helpers) | set(PMI) | set(DATA)
        if not root.exists():
            self.write(header, functions + helpers)

    def write(self, header, functions):
        (self.include / "aries/misc").mkdir(parents=True)
        (self.lib / "pkgconfig").mkdir(parents=True)
        (self.include / "gni_pub.h").write_text(header)
        shutil.copy(jacquard.ROOT / "sim/aries/include/aries/misc/exceptions.h", self.include / "aries/misc")
        shutil.copy(jacquard.ROOT / "stack/pmi2/include/pmi.h", self.include)
        self.library("ugni", functions, list(DATA.values()))
        self.library("pmi", PMI, [])
        for module, libs in [("cray-ugni", "-lugni"), ("cray-gni-headers", ""), ("cray-pmi", "-lpmi")]:
            (self.lib / "pkgconfig" / f"{module}.pc").write_text(
                f"prefix={self.root}\nName: {module}\nDescription: symbols only\nVersion: 1\nCflags: -I${{prefix}}/include\n"
                f"Libs: -L${{prefix}}/lib {libs}\n")
        if self.release == "0x5d":
            (self.include / "kdreg").mkdir()
            shutil.copy(jacquard.ROOT / "sim/cray/include/kdreg_pub.h", self.include / "kdreg")
            (self.lib / "pkgconfig/cray-kdreg.pc").write_text(
                f"prefix={self.root}\nName: cray-kdreg\nDescription: a header\nVersion: 1\nCflags: -I${{prefix}}/include/kdreg\n")
        (self.lib / "pkgconfig/libfabric.pc").symlink_to(libfabric())
        for header in LNET_HEADERS:
            (self.lustre / header).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(jacquard.ROOT / "sim/lnet/include" / header, self.lustre / header)

    def library(self, name, functions, data):
        source = self.root / f"{name}.c"
        source.write_text("".join(f"int {function}(void) {{ return 1; }}\n" for function in functions) + "\n".join(data) + "\n")
        command(["gcc", "-w", "-shared", "-fPIC", f"-Wl,-soname,lib{name}.so.0", source, "-o", self.lib / f"lib{name}.so.0"])
        (self.lib / f"lib{name}.so").symlink_to(f"lib{name}.so.0")


def libfabric():
    """The .pc file of the system's libfabric, with which the provider is built, too."""
    folder = command(["pkg-config", "--variable=pcfiledir", "libfabric"]).strip()
    return f"{folder}/libfabric.pc"


def configure(folder, environment, *more):
    return subprocess.run(["cmake", "-S", jacquard.ROOT, "-B", folder, "-G", "Ninja", "-DBACKEND=real",
                           "-DCMAKE_BUILD_TYPE=None", *more], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


@pytest.fixture(scope="module", params=[pytest.param("0x5c", marks=pytest.mark.full), "0x5d"])
def prefix(request, tmp_path_factory):
    return built_once(tmp_path_factory, request.param)[0]


@pytest.fixture(scope="module")
def built(prefix, tmp_path_factory):
    return built_once(tmp_path_factory, prefix.release)[1]


def built_once(tmp_path_factory, release="0x5d"):
    """The prefix, and the folder of everything that is built against it: once for all files of tests, and all processes of pytest."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / f"real-{release}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        prefix = Prefix(folder / f"cray-{release}", release)
        built, complete = folder / f"real-{release}", folder / f"real-{release}.complete"
        if not complete.exists():
            build(prefix, built)
            complete.touch()
    return prefix, built


def build(prefix, folder):
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    done = configure(folder, prefix.environment, f"-DLNET_INCLUDE_DIR={prefix.lustre}", *launcher)
    assert done.returncode == 0, done.stdout
    for probe in ["UGNI_HAS_CHAINS", "UGNI_HAS_COMPLETION_CHANNELS"]:
        assert f"{probe} - {'Success' if prefix.release == '0x5d' else 'Failed'}" in done.stdout
    assert f"Looking for kdreg_pub.h - {'found' if prefix.release == '0x5d' else 'not found'}" in done.stdout
    assert ("posix_kdreg.c" in (folder / "build.ninja").read_text()) == (prefix.release == "0x5d")
    command(["ninja", "-C", folder], env=prefix.environment, timeout=1800)


def programs(built):
    """Workloads; Madeleine and m0_net have programs of their own."""
    return sorted(path for path in (built / "bin").iterdir() if os.access(path, os.X_OK) and not path.name.startswith(("mad_", "m0_")))


def test_every_workload_is_a_program(built):
    sources = (jacquard.ROOT / "workloads").glob("*.c")
    workloads = {path.stem for path in sources if re.search(r"^WORKLOAD\(", path.read_text(), re.MULTILINE)
                 and not path.stem.startswith(("pmi_", "fi_", "lnet_", "m0_", "mad_", "sisci_", "tcp_", "sbp_", "via_", "mistakes"))}  # our own PMI, libfabric, LNet, m0_net, Madeleine and its networks; mistakes
    assert {path.name for path in programs(built)} == workloads
    assert len(workloads) > 10


def test_nothing_of_the_simulator_takes_part(built):
    for entry in json.loads((built / "compile_commands.json").read_text()):
        assert "/sim/" not in entry["command"].replace(str(built), ""), entry["command"]
    ninja = (built / "build.ninja").read_text()
    assert not re.search(rf"{re.escape(str(jacquard.ROOT))}/sim/", ninja)
    headers = command(["ninja", "-C", built, "-t", "deps"])
    assert f"{jacquard.ROOT}/sim/" not in headers
    for folder in ["hw", "workloads"]:
        for file in (jacquard.ROOT / folder).rglob("*.[ch]"):
            assert not re.search(r'#include\s+["<](?:engine/|net/|aries/aries|cray/)', file.read_text()), file


def test_ugni_137_only_the_documented_api_is_used(built, prefix):
    for program in [*programs(built), built / "lib/libfabric/libgni-fi.so", built / "lib/libmadeleine.so"]:
        for line in command(["nm", "-D", "--undefined-only", "--with-symbol-versions", program]).splitlines():
            symbol = line.split()[-1]
            if "@" not in symbol and line.split()[0] == "U":
                assert symbol in prefix.symbols, f"{program.name}: {symbol}"
    for program in programs(built):
        copied = command(["nm", "-D", "--defined-only", program])  # variables of libraries that the linker copies
        for line in copied.splitlines():
            symbol = line.split()[-1]
            assert "@" in symbol or symbol in prefix.symbols or symbol.startswith("_"), f"{program.name}: {symbol}"


def test_mad_73_the_driver_is_built_against_either_release(built, prefix):
    symbols = command(["nm", "-D", "--undefined-only", built / "lib/libmadeleine.so"])
    assert {"GNI_SmsgSendWTag", "GNI_PostFma", "GNI_PostRdma"} <= {line.split()[-1] for line in symbols.splitlines()}
    assert {"mad_ping", "mad_test"} <= {path.name for path in (built / "bin").iterdir()}


def test_every_program_explains_itself(built, prefix):
    environment = dict(prefix.environment, LD_LIBRARY_PATH=str(prefix.lib))
    for program in programs(built):
        assert f"usage: {program.name}" in command([program, "--help"], env=environment)
        done = subprocess.run([program, "nonsense=1"], env=environment, text=True, capture_output=True, timeout=60)
        assert done.returncode == 2 and "nonsense=1: no such argument" in done.stderr


def test_bad_values_are_refused(built, prefix):
    environment = dict(prefix.environment, LD_LIBRARY_PATH=str(prefix.lib))
    for word, said in [("bytes=1parsec", "a size such as 4KiB"), ("operation=steal", "put|get"),
                       ("iterations=0", "at least 1"), ("give_up=5", "a time such as 10us")]:
        done = subprocess.run([built / "bin/put_latency", word], env=environment, text=True, capture_output=True, timeout=60)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def test_without_the_packages_configure_says_which(tmp_path, prefix):
    empty = tmp_path / "none"
    empty.mkdir()
    done = configure(tmp_path / "build", dict(prefix.environment, PKG_CONFIG_LIBDIR=str(empty)))
    text = " ".join(done.stdout.split())
    assert done.returncode != 0
    assert "cray-ugni, cray-gni-headers, cray-pmi" in text and "PKG_CONFIG_PATH" in text
    assert text.count("CMake Error") == 1


def test_programs_run_where_the_real_libraries_are(prefix, tmp_path):
    """The same programs, linked to the installed libugni and libpmi, on simulated nodes: hw/ does what it says."""
    from jacquard.installed import Installed

    installed = Installed(tmp_path / "destination")
    folder = tmp_path / "build"
    environment = dict(prefix.environment, PKG_CONFIG_LIBDIR=str(installed.pkgconfig))
    done = configure(folder, environment, "-DCMAKE_C_FLAGS=-fPIE", "-DCMAKE_EXE_LINKER_FLAGS=-pie")
    assert done.returncode == 0, done.stdout
    command(["cmake", "--build", folder, "--target", "put_latency", "smsg_pingpong", "amo_rate"], env=environment)
    for workload, argv in [("put_latency", ["bytes=64", "iterations=20"]), ("smsg_pingpong", []), ("amo_rate", [])]:
        scenario = tmp_path / f"{workload}.yaml"
        scenario.write_text(json.dumps({"fabric": {"topology": "dragonfly", "groups": 1}, "jobs": [
            {"name": "hw", "program": str(folder / "bin" / workload), "nodes": "0-1", "argv": argv}]}))
        done = subprocess.run([installed.sim_run, scenario, "--json"], text=True, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads(done.stderr)  # what the program printed
        assert result["workload"] == workload and result["ranks"] == 2 and result["failures"] == 0
        if workload == "put_latency":
            assert result["metrics"]["latency"]["count"] == 20
            assert 500_000 < result["metrics"]["latency"]["p50"] < 5_000_000  # ps: of the simulated clock
