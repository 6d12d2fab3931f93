# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""pmrun --fabric, sim-run --live and jacquard: fabrics come up, say what processes need, show what they do, and go."""

import configparser
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import jacquard
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fabric import BUILD, PMRUN, SIM_RUN, environment, fabric, run, wait_for  # noqa: E402

JACQUARD = BUILD / "bin/jacquard"
SHOW = "echo $PMI_RANK $JACQUARD_NODE $PMI_GNI_LOC_ADDR $PMI_FORK_RANK $ALPS_APP_PE $PMI_NO_FORK $PMI_LOCAL_RANK"


def lines(*arguments, **options):
    done = run(PMRUN, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines(), key=lambda line: int(line.split()[0]))


@pytest.fixture
def scenario(tmp_path):
    def write(text):
        path = tmp_path / "scenario.yaml"
        path.write_text(text)
        return path

    return write


# ---- pmrun --fabric -----------------------------------------------------------------------------


def test_ranks_are_on_the_nodes_of_the_default_machine():
    assert lines("--fabric", "-n", 3, "sh", "-c", SHOW) == [f"{i} {i} {i} {i} {i} 1 0" for i in range(3)]
    assert [line.split()[1] for line in lines("--fabric", "-n", 18, "sh", "-c", SHOW)] == [str(i % 16) for i in range(18)]
    assert [line.split()[1] for line in lines("--fabric", "--ppn", 2, "-n", 3, "sh", "-c", SHOW)] == ["0", "0", "1"]


def test_ranks_are_on_the_nodes_of_the_scenarios_jobs(scenario):
    file = scenario("fabric: {topology: dragonfly, preset: xc-2-groups}\n"
                    "jobs:\n  - {name: a, nodes: '5,400', ranks_per_node: 2, workload: smsg_pingpong}\n"
                    "  - {name: b, nodes: 7-8, workload: smsg_pingpong}\n")
    found = [line.split() for line in lines("--fabric", file, "-n", 5, "sh", "-c", SHOW)]
    assert [(words[1], words[6]) for words in found] == [("5", "0"), ("5", "1"), ("400", "0"), ("400", "1"), ("7", "0")]
    assert len({words[2] for words in found}) == 3  # addresses: each node has one of its own
    assert len(lines(f"--fabric={file}", "sh", "-c", SHOW)) == 6  # no -n: all slots


def test_the_environment_of_ugni_programs():
    done = run(PMRUN, "--fabric", "--fabric-report", "none", "-n", 1, "env",
               env=environment(LD_LIBRARY_PATH="/mine", FI_PROVIDER="tcp", OMPI_MCA_pml="ob1"))
    names = dict(line.split("=", 1) for line in done.stdout.splitlines())
    ptags, cookies = names["PMI_GNI_PTAG"].split(":"), names["PMI_GNI_COOKIE"].split(":")
    assert len(ptags) == len(cookies) == int(names["CRAY_NUM_COOKIES"]) and names["CRAY_COOKIES"] == ",".join(cookies)
    assert all(4 <= int(ptag) < 256 for ptag in ptags) and all(0 < int(cookie) < 1 << 31 for cookie in cookies)
    assert names["PMI_GNI_DEV_ID"] == "0" and names["LD_LIBRARY_PATH"].endswith(":/mine")
    assert (names["FI_PROVIDER"], names["OMPI_MCA_pml"]) == ("tcp", "ob1")  # the user's count
    assert (names["OMPI_MCA_mtl"], names["OMPI_MCA_btl"]) == ("ofi", "self")
    assert (Path(names["FI_PROVIDER_PATH"]) / "libgni-fi.so").exists() and done.stderr == ""


def test_variables_of_the_user_count_more():
    assert lines("--fabric", "--genv", "PMI_GNI_DEV_ID", "7", "-n", 1, "sh", "-c", "echo 0 $PMI_GNI_DEV_ID") == ["0 7"]


def test_the_fabric_goes_with_the_job(tmp_path):
    done = run(PMRUN, "--fabric", "--fabric-report", tmp_path / "report", "-n", 2, "sh", "-c", "echo $JACQUARD_FABRIC; exit 3")
    path, = set(done.stdout.split())
    assert done.returncode == 3 and done.stderr == "" and not Path(path).parent.exists()
    assert (tmp_path / "report").read_text() == "fabric: 0 processes on 0 of 16 nodes\n"


def test_the_fabric_goes_when_pmrun_is_killed():
    with subprocess.Popen([PMRUN, "--fabric", "-n", "1", "sh", "-c", "echo $JACQUARD_FABRIC; exec sleep 1000"], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()) as job:
        folder = Path(job.stdout.readline().strip()).parent
        assert folder.exists()
        job.kill()
    wait_for(lambda: not folder.exists())


@pytest.mark.parametrize("text, word", [
    ("fabric: {topology: single-switch, nodes: 4}\n", "fabric.topology"), ("fabric: {}\nfaults: [{at: aries.packet, do: duplicate}]\n", '"duplicate" is not allowed'),
    ("fabric: {}\nfaults: [{at: oob.message, do: drop}]\n", "oob.message"),
    ("fabric: {}\nfaults: [{at: link, do: lane_loss, routers: [0, 1], time: 1ms}]\n", "link (down, up)"),
    ("fabric: {}\nfaults: [{at: link, do: down, routers: [0, 1], which: 7}]\n", "no link 7"),
    ("fabric: {}\nfaults: [{at: node, do: hang, node: 1, time: 1ms}]\n", "node (crash)"),
    ("live: {latency: fast}\n", "live.latency"), ("live: {delay: 1us}\n", "live.delay"), ("fabric: {nosuch: 1}\n", "fabric.nosuch"), ("jobs: []\n", "jobs"), (None, "No such file"),
])
def test_bad_scenarios(scenario, text, word):
    file = scenario(text) if text is not None else "/nosuch.yaml"
    for command in [PMRUN, "--fabric", file, "-n", 1, "true"], [SIM_RUN, "--live", file]:
        done = run(*command)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1 and word in done.stderr, done
        assert str(file) in done.stderr


@pytest.mark.parametrize("arguments", [["--hosts", "a"], ["--hostfile", "/dev/null"], ["--launcher", "ssh"]])
def test_where_else_to_run_is_refused(arguments):
    done = run(PMRUN, "--fabric", *arguments, "-n", 1, "true")
    assert done.returncode == 2 and done.stderr.startswith("pmrun: --fabric: ") and done.stderr.count("\n") == 1


def test_no_program_to_run_the_fabric(tmp_path):
    (tmp_path / "pmrun").write_bytes(Path(PMRUN).read_bytes())
    (tmp_path / "pmrun").chmod(0o755)
    done = run(tmp_path / "pmrun", "--fabric", "-n", 1, "true")
    assert done.returncode == 2 and "there is no" in done.stderr and done.stderr.count("\n") == 1


# ---- sim-run --live -----------------------------------------------------------------------------


def test_a_fabric_says_what_processes_need(scenario):
    file = scenario("name: mine\nfabric: {topology: dragonfly, preset: xc-2-groups}\n")
    with fabric(file) as running:
        path = Path(running.exports["JACQUARD_FABRIC"])
        assert path.is_socket() and path.parent.stat().st_mode & 0o777 == 0o700 and running.said.startswith("# mine: 768 nodes")
        assert running.end(signal.SIGINT) == 0
    assert running.report == "fabric: 0 processes on 0 of 768 nodes\n" and running.errors == "" and not path.parent.exists()


def test_a_socket_of_ones_own(tmp_path):
    with fabric("--socket", tmp_path / "here") as running:
        assert running.exports["JACQUARD_FABRIC"] == str(tmp_path / "here")
        again = run(SIM_RUN, "--live", "--socket", tmp_path / "here")
        assert again.returncode == 2 and again.stderr.count("\n") == 1 and str(tmp_path / "here") in again.stderr
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize("arguments, word", [
    (["--socket", "x"], "--live"), (["--ready-fd", "3"], "--live"), (["--live", "--json"], "--live"), (["--live", "--ready-fd", "77"], "77"),
    (["--live", "--socket", "/nosuch/folder/x"], "/nosuch/folder/x"), (["--live", "--seeds", "1-2"], "--live"),
])
def test_bad_command_lines(arguments, word):
    done = run(SIM_RUN, *arguments)
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1, done


def test_launchers_read_lines(scenario):
    file = scenario("fabric: {topology: dragonfly, groups: 1, chassis: 1, slots: 1}\n")
    ours, its = socket.socketpair()
    with subprocess.Popen([SIM_RUN, "--live", "--ready-fd", str(its.fileno()), file], pass_fds=[its.fileno()], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment()) as running:
        its.close()
        said = b""
        while not said.endswith(b"\n\n"):
            more = ours.recv(65536)
            assert more, said
            said += more
        text = said.decode().splitlines()
        assert [line.split()[1:3] for line in text if line.startswith("node ")] == [[f"nid0000{i}", "1"] for i in range(4)]
        assert all(re.match(r"(set|default) \w+=|node nid\d{5} 1( \w+=\d+)+$|$", line) for line in text)
        ours.close()
        assert running.communicate(timeout=120)[0].startswith("fabric: ") and running.returncode == 0


# ---- jacquard -----------------------------------------------------------------------------------


def test_processes_read_the_scenario(scenario):
    file = scenario("fabric: {topology: dragonfly, groups: 1, chassis: 2, slots: 3}\n"
                    "faults:\n  - {label: loss, at: aries.packet, do: drop, probability: 0.25, from: 1us, source: 3}\n"
                    "  - {at: node, node: 5, do: crash, time: 2ms}\n  - {at: cq, do: overrun, node: 1, queue: 2, time: 1ms}\n")
    with fabric(file) as running:
        plan = configparser.ConfigParser()
        plan.read_string(run(JACQUARD, "scenario", running.exports["JACQUARD_FABRIC"]).stdout)
    assert plan.sections() == ["fabric", "rule 0", "timed 1", "timed 2"]
    assert dict(plan["fabric"]) == {"version": "2", "groups": "1", "chassis": "2", "slots": "3", "cables": plan["fabric"]["cables"]}
    rule = {"point": "aries.packet", "action": "drop", "label": "loss", "from": str(10**6), "probability": "0.25", "source": "3"}
    assert rule.items() <= dict(plan["rule 0"]).items() and not {"until", "target", "kind", "group"} & plan["rule 0"].keys()
    assert dict(plan["timed 1"]) == {"time": str(2 * 10**9), "what": "node", "action": "crash", "node": "5"}
    assert dict(plan["timed 2"]) == {"time": str(10**9), "what": "cq_overrun", "queue": "2", "node": "1"}


# ---- what a process knows before it attaches ----------------------------------------------------

KNOWN = r"""
#include <alps/libalpslli.h>
#include <alps/libalpsutil.h>
#include <gni_pub.h>
#include <hugetlbfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int maps_name(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int found = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        found |= strstr(line, name) != NULL;
    return found;
}

/* A file in huge pages without a name, as GASNet uses it. */
static int nameless(long page)
{
    int file = hugetlbfs_unlinked_fd_for_size(page);
    struct stat status = {.st_nlink = 1};
    char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (file < 0 || memory == MAP_FAILED || fstat(file, &status) != 0)
        return 0;
    memset(memory, 1, page);
    return status.st_nlink == 0 && memory[page - 1] == 1 && maps_name("hugetlbfs") && munmap(memory, page) == 0 && close(file) == 0;
}

static int huge_pages(void)
{
    void *pages = get_huge_pages(100, GHP_DEFAULT), *region = get_hugepage_region(100, GHR_DEFAULT);
    int file = hugetlbfs_unlinked_fd(), good = file >= 0 && close(file) == 0;

    for (long page = 2l << 20; page <= 512l << 20; page *= 2)
        good = good && hugetlbfs_find_path_for_size(page) != NULL;
    good = good && nameless(gethugepagesize()) && nameless(8l << 20) && hugetlbfs_unlinked_fd_for_size(3000) == -1 &&
           hugetlbfs_test_path(hugetlbfs_find_path()) == 1 && hugetlbfs_test_path("/") == 0 &&
           hugetlbfs_test_path("/there/is/no/such/path") == -1 && pages != NULL && region != NULL &&
           ((unsigned long)pages | (unsigned long)region) % gethugepagesize() == 0;
    free_huge_pages(pages);
    free_hugepage_region(region);
    return good;
}

static int ask(int what, void *answer, size_t room)
{
    size_t bytes = 0;
    int status = -1, bad = alps_app_lli_put_request(what, NULL, 0) != 0 || alps_app_lli_get_response(&status, &bytes) != 0;

    return bad || status != 0 || bytes > room ? -1 : alps_app_lli_get_response_bytes(answer, bytes);
}

/* Numbers and sizes of Cray's header. */
_Static_assert(ALPS_APP_LLI_ALPS_REQ_APID == 3 && ALPS_APP_LLI_ALPS_REQ_GNI == 7, "requests");
_Static_assert(sizeof(alpsAppGni_t) == 16 && offsetof(alpsAppGni_t, ptag) == 12, "a credential");
_Static_assert(sizeof(alpsAppLLIGni_t) == 16 && offsetof(alpsAppLLIGni_t, u) == 8, "the credentials");

static int simple_requests(void)
{
    const int32_t nothing[2] = {0, -1};

    return alps_app_lli_put_simple_request(ALPS_APP_LLI_ALPS_REQ_START, NULL, 0) == 0 &&
           alps_app_lli_put_simple_request(ALPS_APP_LLI_ALPS_REQ_SIGNAL, nothing, sizeof(nothing)) == -1 &&
           alps_app_lli_put_simple_request(99, NULL, 0) == -1 &&
           alps_app_lli_put_simple_request(ALPS_APP_LLI_ALPS_REQ_EXITING, NULL, 0) == 0;
}

int main(void)
{
    static char answer[4096];
    alpsAppLLIGni_t *head = (alpsAppLLIGni_t *)answer;
    alpsAppGni_t *first = (alpsAppGni_t *)head->u.buf;
    alpsAppLayout_t layout;
    gni_job_res_desc_t resource;
    uint64_t apid = 0;
    uint8_t ptag = 0;
    char path[256], *memory;
    int file, alps = alps_app_lli_lock() == 0 && ask(ALPS_APP_LLI_ALPS_REQ_APID, &apid, sizeof(apid)) == 0 &&
                     ask(ALPS_APP_LLI_ALPS_REQ_GNI, answer, sizeof(answer)) == 0 && alps_app_lli_unlock() == 0 &&
                     alps_get_placement_info(apid, &layout, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == 1;

    snprintf(path, sizeof(path), "%s/XXXXXX", hugetlbfs_find_path_for_size(gethugepagesize()));
    file = mkstemp(path);
    unlink(path);
    memory = mmap(NULL, gethugepagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (alps && file >= 0 && memory != MAP_FAILED)
        memset(memory, 1, gethugepagesize());
    printf("%s %d %d %u %d %d pages %d\n", getenv("PMI_RANK"), alps, head->count, first->cookie, first->ptag,
           layout.numPesHere, memory != MAP_FAILED && memory[gethugepagesize() - 1] == 1 && huge_pages() && simple_requests());
    alps = GNI_GetPtag(0, first->cookie, &ptag);
    printf("%s %d %d %d\n", getenv("PMI_RANK"), alps, ptag, GNI_GetJobResInfo(0, first->ptag, GNI_JOB_RES_FMA, &resource));
    return 0;
}
"""


def test_jobs_are_known_before_anything_attaches(tmp_path):
    """GNI_GetPtag, GNI_GetJobResInfo and ALPS say what the launcher says; files for huge pages grow."""
    (tmp_path / "known.c").write_text(KNOWN)
    includes = [f"-I{jacquard.ROOT}/sim/{folder}/include" for folder in ("aries", "cray")]
    libraries = ["-lalpslli", "-lalpsutil", "-lhugetlbfs", "-lugni"]
    subprocess.run(["gcc", tmp_path / "known.c", "-o", tmp_path / "known", "-DCRAY_CONFIG_GHAL_ARIES", *includes,
                    f"-L{BUILD}/lib", *libraries], check=True)
    done = run(PMRUN, "--fabric", "--fabric-report", "none", "--ppn", 2, "-n", 4, tmp_path / "known")
    cookie = 0x4a510001
    assert done.returncode == 0 and done.stderr == "", done
    assert sorted(done.stdout.splitlines()) == sorted(
        line for rank in range(4) for line in (f"{rank} 1 2 {cookie} 16 2 pages 1", f"{rank} 0 16 0"))


PLACED = r"""
#include <alps/libalpslli.h>
#include <alps/libalpsutil.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    int status, *nids = NULL, i;
    alpsAppLayout_t layout;
    uint64_t apid = 0;
    size_t bytes;

    if (alps_app_lli_lock() != 0 || alps_app_lli_put_request(ALPS_APP_LLI_ALPS_REQ_APID, NULL, 0) != 0 ||
        alps_app_lli_get_response(&status, &bytes) != 0 || alps_app_lli_get_response_bytes(&apid, bytes) != 0 ||
        alps_get_placement_info(apid, &layout, &nids, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) != 1)
        return 1;
    printf("%s: %d nodes, %d here from %d:", getenv("PMI_RANK"), layout.numNodes, layout.numPesHere, layout.firstPe);
    for (i = 0; i < atoi(getenv("PMI_SIZE")); i++)
        printf(" %d", nids[i]);
    puts("");
    return 0;
}
"""


@pytest.mark.parametrize("nodes, ppn, ranks, placed", [("0-1", 1, 5, [0, 1, 0, 1, 0]), ("0-1", 2, 6, [0, 0, 1, 1, 0, 0]),
                                                       ("[5, 2, 9]", 1, 4, [5, 2, 9, 5])])
def test_alps_knows_the_node_of_each_rank(tmp_path, nodes, ppn, ranks, placed):
    (tmp_path / "placed.c").write_text(PLACED)
    (tmp_path / "placed.yaml").write_text(f"jobs:\n  - {{name: it, nodes: {nodes}, ranks_per_node: {ppn}, workload: fi_random}}\n")
    subprocess.run(["gcc", tmp_path / "placed.c", "-o", tmp_path / "placed", f"-I{jacquard.ROOT}/sim/cray/include",
                    f"-L{BUILD}/lib", "-lalpslli", "-lalpsutil"], check=True)
    done = run(PMRUN, "--fabric", tmp_path / "placed.yaml", "--fabric-report", "none", "-n", ranks, tmp_path / "placed")
    assert done.returncode == 0 and done.stderr == "", done
    assert sorted(done.stdout.splitlines()) == [
        f"{rank}: {len(set(placed))} nodes, {placed.count(placed[rank])} here from {placed.index(placed[rank])}: "
        + " ".join(map(str, placed)) for rank in range(ranks)]


def attach_program(tmp_path):
    (tmp_path / "attach.c").write_text("#include <gni_pub.h>\nint main(void) { gni_cdm_handle_t cdm; gni_nic_handle_t nic; "
                                       "unsigned address; return GNI_CdmCreate(1, 16, 0x4a510001, 0, &cdm) != 0 || "
                                       "GNI_CdmAttach(cdm, 0, &address, &nic) != 0; }\n")
    subprocess.run(["gcc", tmp_path / "attach.c", "-o", tmp_path / "attach", "-DCRAY_CONFIG_GHAL_ARIES",
                    f"-I{jacquard.ROOT}/sim/aries/include", f"-L{BUILD}/lib", "-lugni"], check=True)
    return tmp_path / "attach"


@pytest.mark.parametrize("groups, named", [
    ("[params]\naries.no_such=1", "aries.no_such"), ("latency=no_such_hosts", "no_such_hosts"),
    ("[rule 0]\npoint=aries.packet\naction=duplicate\nlabel=twice", "aries.packet cannot be duplicated")])
def test_what_is_wrong_in_a_fabrics_scenario_is_named(tmp_path, groups, named):
    (tmp_path / "plan").write_text(f"[fabric]\nversion=2\n{groups}\n")
    with jacquard_fabricd(tmp_path, "--scenario", tmp_path / "plan") as path:
        done = run(attach_program(tmp_path), env=environment(JACQUARD_FABRIC=path, LD_LIBRARY_PATH=str(BUILD / "lib")))
    assert done.returncode == 1 and named in done.stderr and done.stderr.startswith("libugni: "), done


def test_the_next_fabric_removes_the_folder_of_a_killed_one(tmp_path):
    env = environment(TMPDIR=str(tmp_path))
    (tmp_path / "jacquard-others").mkdir()  # nothing of a fabric is in it
    with fabric(env=env) as alive:
        other = subprocess.Popen([SIM_RUN, "--live"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=env)
        try:
            path = Path(re.search("JACQUARD_FABRIC=['\"]?([^'\"\n]*)", other.stdout.readline() + other.stdout.readline())[1])
        finally:
            other.kill()
            other.wait()
            other.stdout.close()
        assert path.is_socket() and path.parent.parent == tmp_path
        with fabric(env=env) as successor:
            left = set(tmp_path.iterdir())
            assert left == {tmp_path / "jacquard-others", *(Path(each.exports["JACQUARD_FABRIC"]).parent for each in (alive, successor))}
    assert list(tmp_path.iterdir()) == [tmp_path / "jacquard-others"]


KILL_FABRIC = """
import os, signal, socket, struct
end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
end.connect(os.environ["JACQUARD_FABRIC"])
os.kill(struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0], signal.SIGKILL)
try:
    while end.recv(65536):
        pass
except ConnectionResetError:
    pass
print(os.path.dirname(os.environ["JACQUARD_FABRIC"]), flush=True)
"""


def test_a_fabric_that_was_killed_is_not_replaced(tmp_path):
    """By one without the scenario; and its folder goes."""
    (tmp_path / "kill.py").write_text(KILL_FABRIC)
    done = run(PMRUN, "--fabric", "-n", 1, "sh", "-c", f"{sys.executable} {tmp_path}/kill.py && {attach_program(tmp_path)}")
    assert done.returncode == 1 and "has ended" in done.stderr and "libugni: the fabric at " in done.stderr, done
    assert done.stdout.strip() and not Path(done.stdout.strip()).exists()


@contextlib.contextmanager
def jacquard_fabricd(tmp_path, *arguments):
    path = tmp_path / "here"
    daemon = subprocess.Popen([BUILD / "bin/jacquard-fabricd", *arguments, path], stdin=subprocess.DEVNULL)
    try:
        wait_for(path.exists)
        yield str(path)
    finally:
        daemon.terminate()
        daemon.wait()


def shown(*arguments):
    done = run(JACQUARD, "top", "--once", *arguments)
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout.splitlines()


@contextlib.contextmanager
def hanging(tmp_path, source, *options):
    """A program that says "hangs" and then computes for ever, on node 5 of a fabric at tmp_path/here: the process and the fabric."""
    (tmp_path / "hang.c").write_text(source)
    subprocess.run(["gcc", "-O1", tmp_path / "hang.c", "-o", tmp_path / "hang", *options], check=True)
    with fabric("--socket", tmp_path / "here") as running:
        job = subprocess.Popen([tmp_path / "hang"], env=environment(**running.exports, JACQUARD_NODE="5"), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            assert job.stdout.readline() == "hangs\n"
            yield job, running
        finally:
            job.kill()
            job.wait()


def shown_until(tmp_path, *wanted):
    """What `top` says as soon as it has a line like each of these."""
    def rows():
        found = shown("--all", tmp_path / "here")
        return found if all(any(re.search(each, row) for row in found) for each in wanted) else None

    return wait_for(rows)


def test_top_keeps_nothing_of_processes_that_ended(tmp_path):
    def shown_observers(others):
        """Its descriptors and mappings, as soon as it has the same ones at two screens in a row: while it reads, it may have more."""
        found, screens = None, seen
        for _ in range(50):
            wait_for(lambda: said.read_text().count(watching(others)) > screens)
            screens = said.read_text().count(watching(others))
            before = found
            found = len(os.listdir(f"/proc/{top.pid}/fd")), sum("jacquard-segment" in line for line in open(f"/proc/{top.pid}/maps"))
            if found == before:
                break
        return found

    def watching(others):
        return f" 0 processes, {others} more watching" if others else " 0 processes, up"

    said = tmp_path / "said"
    with fabric("--socket", tmp_path / "here"), contextlib.ExitStack() as stack:
        def start(seconds, output):
            process = subprocess.Popen([JACQUARD, "top", "--interval", str(seconds), tmp_path / "here"], stdin=subprocess.DEVNULL,
                                       stdout=output)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        top, seen, held = start(0.1, said.open("w")), 0, set()
        empty = shown_observers(0)
        for _ in range(3):
            others = [start(3600, subprocess.DEVNULL) for _ in range(4)]
            seen = said.read_text().count(watching(4))
            held.add(shown_observers(4))
            for other in others:
                other.kill()
                other.wait()
            seen = said.read_text().count(watching(0))
            assert shown_observers(0) == empty
        assert len(held) == 1 and held != {empty}


def test_top_shows_a_process_that_hangs(tmp_path):
    source = r"""
        #include <gni_pub.h>
        #include <stdio.h>
        #include <stdlib.h>

        int main(void)
        {
            gni_cdm_handle_t cdm;
            gni_nic_handle_t nic;
            gni_cq_handle_t cq;
            gni_mem_handle_t memory;
            gni_post_descriptor_t post = {.type = GNI_POST_FMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .length = 64};
            gni_ep_handle_t ep;
            unsigned address;
            void *bytes = aligned_alloc(4096, 4096);
            int i, ok;

            ok = GNI_CdmCreate(9, 16, 0x4a510001, 0, &cdm) == 0 && GNI_CdmAttach(cdm, 0, &address, &nic) == 0 &&
                 GNI_CqCreate(nic, 500, 0, 0, NULL, NULL, &cq) == 0 && GNI_EpCreate(nic, cq, &ep) == 0 &&
                 GNI_EpBind(ep, address, 9) == 0 &&
                 GNI_MemRegister(nic, (unsigned long)bytes, 4096, NULL, GNI_MEM_READWRITE, -1, &memory) == 0;
            post.local_addr = (unsigned long)bytes;
            post.remote_addr = (unsigned long)bytes + 2048;
            post.remote_mem_hndl = memory;
            for (i = 0; ok && i < 3; i++) {
                static gni_post_descriptor_t posts[3];

                posts[i] = post;
                ok = GNI_PostFma(ep, &posts[i]) == 0;
            }
            puts(ok ? "hangs" : "failed");
            fflush(stdout);
            for (;;)
                __asm__ volatile("");
        }
    """
    include = jacquard.ROOT / "sim/aries/include"
    with hanging(tmp_path, source, f"-I{include}", "-DCRAY_CONFIG_GHAL_ARIES", f"-L{BUILD}/lib", "-lugni") as (job, running):
        rows = shown_until(tmp_path, r"CQ \d+ +3 of 511 entries")
        assert " 1 processes" in rows[0]
        assert re.match(rf"hang +- +nid00005 +{job.pid} +1 +1 +192 +- +- +3 +3/511 +- +0 ", rows[2]), rows
        job.kill()
        job.wait()
        running.end()
    assert re.search(r"nid00005 +1 +3 +192 +0 +0\n", running.report), running.report  # although it was killed


def test_top_shows_connections_of_a_process_that_hangs(tmp_path):
    """libfabric over gni: one connection to itself, and one to a node where nobody is; then the program computes for ever."""
    source = r"""
        #include <rdma/fabric.h>
        #include <rdma/fi_cm.h>
        #include <rdma/fi_domain.h>
        #include <rdma/fi_endpoint.h>
        #include <stdio.h>

        int main(void)
        {
            struct fi_info *hints = fi_allocinfo(), *info;
            struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
            struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_CONTEXT};
            struct fid_fabric *fabric;
            struct fid_domain *domain;
            struct fid_ep *ep;
            struct fid_av *av;
            struct fid_cq *cq;
            fi_addr_t nobody, self;
            char name[256];
            size_t bytes = sizeof(name);
            int ok;

            hints->fabric_attr->prov_name = "gni";
            hints->ep_attr->type = FI_EP_RDM;
            hints->caps = FI_MSG;
            hints->mode = ~0ull;
            hints->domain_attr->mr_mode = FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
            ok = fi_getinfo(FI_VERSION(1, 17), "nid00007", "77", 0, hints, &info) == 0 &&
                 fi_fabric(info->fabric_attr, &fabric, NULL) == 0 && fi_domain(fabric, info, &domain, NULL) == 0 &&
                 fi_av_open(domain, &av_attr, &av, NULL) == 0 && fi_cq_open(domain, &cq_attr, &cq, NULL) == 0 &&
                 fi_endpoint(domain, info, &ep, NULL) == 0 && fi_ep_bind(ep, &av->fid, 0) == 0 &&
                 fi_ep_bind(ep, &cq->fid, FI_SEND | FI_RECV) == 0 && fi_enable(ep) == 0 && fi_getname(&ep->fid, name, &bytes) == 0 &&
                 fi_av_insert(av, name, 1, &self, 0, NULL) == 1 && fi_av_insert(av, info->dest_addr, 1, &nobody, 0, NULL) == 1 &&
                 fi_send(ep, name, 8, NULL, self, NULL) == 0 && fi_send(ep, name, 8, NULL, nobody, NULL) == 0;
            puts(ok ? "hangs" : "failed");
            fflush(stdout);
            for (;;)
                __asm__ volatile("");
        }
    """
    with hanging(tmp_path, source, "-lfabric"):
        rows = shown_until(tmp_path, "VC to nid00007 instance 77: connecting", r"VC to nid00005 instance \d+: connected")
        assert rows[1].endswith("  VCs") and re.search(r"s  1 connecting\+1$", rows[2]), rows
        assert any(re.fullmatch(r" +VC to nid00007 instance 77: connecting for \d+\.\d s", row) for row in rows), rows
        assert any(re.fullmatch(r" +VC to nid00005 instance \d+: connected for \d+\.\d s", row) for row in rows), rows


@pytest.mark.parametrize("arguments, word", [
    ([], "no command"), (["nosuch"], "nosuch"), (["top"], "give the socket of a fabric"), (["top", "/nosuch"], "/nosuch"), (["top", "--interval", "x"], "--interval"),
    (["top", "--nosuch", "x"], "--nosuch"),
])
def test_jacquard_refuses(arguments, word):
    done = run(JACQUARD, *arguments)
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_folder_without_a_fabric_is_not_given_one(tmp_path):
    assert run(JACQUARD, "top", "--once", tmp_path / "here").returncode == 2
    assert os.listdir(tmp_path) == []
