# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A rank that crashes or spins is a result: the others go on, and the report says where it was (docs/findings.md)."""

import json
import signal
import subprocess
import time

import pytest
from jacquard.installed import Installed, command

PROGRAM = r"""
#include <pmi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int zero;
static volatile long counter;
static const char *how;

static __attribute__((noinline)) int deep(volatile char *above)
{
    volatile char page[1024];
    page[0] = above[0];
    return deep(page) + page[0];
}

static __attribute__((noinline)) void fail(void)
{
    fputs("fails\n", stderr);
    if (strcmp(how, "segv") == 0)
        *(volatile int *)(long)zero = 1;
    if (strcmp(how, "call") == 0)
        ((void (*)(void))(long)zero)();
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "fpe") == 0)
        counter = 7 / zero;
    if (strcmp(how, "ill") == 0)
        __builtin_trap();
    if (strcmp(how, "bus") == 0) {
        volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(tmpfile()), 0);
        counter = page[0];
    }
    if (strcmp(how, "overflow") == 0)
        counter = deep((volatile char *)&zero);
    if (strcmp(how, "spin") == 0)
        while (zero == 0)
            counter++;
    if (strcmp(how, "block") == 0) {
        int ends[2];
        if (pipe(ends) == 0)
            counter = (int)syscall(SYS_read, ends[0], &zero, 1);
    }
    if (strcmp(how, "idle") == 0)
        for (;;)
            usleep(1000);
}

static void *thread(void *arg)
{
    fail();
    return arg;
}

int main(int argc, char **argv)
{
    int spawned, rank;
    pthread_t helper;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    how = argv[1];
    usleep(10 + (unsigned)rank);
    if (rank == 1 && argc > 2) {
        pthread_create(&helper, NULL, thread, NULL);
        pthread_join(helper, NULL);
    } else if (rank == 1) {
        fail();
    }
    usleep(100);
    fprintf(stderr, "end %d\n", rank);
    return 0;
}
"""
CODES = {"segv": 139, "call": 139, "abort": 134, "fpe": 136, "ill": 132, "bus": 135, "overflow": 139, "spin": 137, "block": 137}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


@pytest.fixture(scope="module")
def program(installed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    command(["gcc", "-O1", "-g", "-shared", "-fPIC", folder / "program.c", "-o", folder / "program.so",
             *installed.pkg_config("--cflags", "--libs", "cray-pmi"), "-lpthread"])
    return folder / "program.so"


def start(installed, folder, program, argv, *options, expect=(), stderr=subprocess.PIPE, **limits):
    file = folder / "scenario.yaml"
    file.write_text(json.dumps({"fabric": {"topology": "dragonfly", "groups": 1}, "limits": limits, "expect": list(expect),
                                "jobs": [{"name": "p", "program": str(program), "nodes": "0,9", "ranks_per_node": 2, "argv": argv}]}))
    # A shell that starts commands in the background lets them ignore SIGINT, and so does what they start.
    return subprocess.Popen([installed.sim_run, file, "--json", *map(str, options)], text=True, stdout=subprocess.PIPE,
                            stderr=stderr, env=installed.environment,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))



@pytest.mark.parametrize("more", [[], ["thread"]], ids=["main", "thread"])
@pytest.mark.parametrize("how", CODES)
def test_a_rank_that_fails_is_reported_and_the_others_go_on(installed, program, tmp_path, how, more):
    trace = tmp_path / "t.pftrace"
    process = start(installed, tmp_path, program, [how, *more], "--trace", trace, compute="500ms")
    out, said = process.communicate(timeout=60)
    result = json.loads(out)
    rule = "program.spin" if how in ("spin", "block") else "program.crash"
    assert process.returncode == 1, out + said
    assert [f"end {rank}" in said for rank in range(4)] == [True, False, True, True]
    assert result["findings"][rule]["count"] == 1 and result["jobs"][0]["exit"] == CODES[how]
    (crash,) = result["crashes"]
    assert crash["rank"] == "p.1" and crash["node"] == 0 and crash["time_ps"] > 0
    own = next(frame for frame in crash["backtrace"] if "libc.so" not in frame)
    assert own.startswith("deep at program.c:" if how == "overflow" else "fail at program.c:") and (own == crash["backtrace"][0] or how == "block")
    assert ("computes without a call since" in crash["text"]) == (how == "spin")
    assert ("waits in the operating system, which stops all ranks, since" in crash["text"]) == (how == "block")
    assert trace.stat().st_size > 0


def test_a_scenario_can_expect_a_crash(installed, program, tmp_path):
    process = start(installed, tmp_path, program, ["segv"],
                    expect=[{"finding": "program.crash", "equals": 1}, {"job": "p", "exit": "139"}])
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0, out + said


def test_crashes_of_a_campaign_are_rows(installed, program, tmp_path):
    process = start(installed, tmp_path, program, ["segv"], "--seeds", "1-3")
    runs = json.loads(process.communicate(timeout=60)[0])["runs"]
    assert process.returncode == 1
    assert [run["exit"] for run in runs] == [1, 1, 1] and all("program.crash" in run["findings"] for run in runs)


@pytest.mark.parametrize("how", ["idle", "spin"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reports(installed, program, tmp_path, number, how):
    trace = tmp_path / "t.pftrace"
    said = tmp_path / "said"
    with said.open("w") as file:
        process = start(installed, tmp_path, program, [how], "--trace", trace, no_progress="0", stderr=file)
    end = time.monotonic() + 120
    while "fails" not in said.read_text():
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.01)
    process.send_signal(number)
    try:
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()  # it would write its trace until the disk is full
    assert process.returncode == 128 + number, out + said.read_text()
    assert json.loads(out)["outcome"] == "interrupted" and trace.stat().st_size > 0
