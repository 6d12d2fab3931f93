# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""sim-run executes programs that were not written for it (docs/foreign-programs.md)."""

import json
import subprocess

import pytest
from jacquard.installed import Installed, command

PROGRAM = r"""
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <pmi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int counter = 5, constructed, rank, size;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static sem_t semaphore;
static int go;
static char order[8];

__attribute__((constructor)) static void construct(void)
{
    constructed = 1 + atoi(getenv("PMI_FORK_RANK"));
}

__attribute__((destructor)) static void destruct(void)
{
    fprintf(stderr, "destructed %d %d\n", rank, counter);
}

static void bye(void)
{
    fprintf(stderr, "bye %d\n", rank);
}

static void destroy_value(void *value)
{
    *(int *)value = 99;
}

static void *thread(void *arg)
{
    pthread_setspecific(key, arg);
    pthread_mutex_lock(&mutex);
    while (!go)
        pthread_cond_wait(&condition, &mutex);
    strcat(order, "t");
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    usleep(100);
    return (char *)arg + 1;
}

static void *for_ever(void *arg)
{
    (void)arg;
    for (;;)
        sleep(1000000);
    return NULL;
}

static void environment(void)
{
    char *devices = getenv("PMI_GNI_LOC_ADDR"), **each;
    int found = 0;

    assert(getenv("SECRET_OF_THE_HOST") == NULL && strcmp(getenv("COLOR"), "green") == 0);
    assert(setenv("COLOR", "red", 0) == 0 && strcmp(getenv("COLOR"), "green") == 0);
    assert(setenv("COLOR", rank == 0 ? "red" : "blue", 1) == 0);
    PMI_Barrier();
    assert(strcmp(getenv("COLOR"), rank == 0 ? "red" : "blue") == 0);
    for (each = environ; *each != NULL; each++)
        found += strncmp(*each, "COLOR=", 6) == 0;
    assert(found == 1 && unsetenv("COLOR") == 0 && getenv("COLOR") == NULL);
    assert(devices != NULL && putenv(strdup("A=b")) == 0 && strcmp(getenv("A"), "b") == 0);
    assert(atoi(getenv("ALPS_APP_PE")) == rank);
}

static void clocks(void)
{
    struct timespec before, after;
    struct timeval day;

    clock_gettime(CLOCK_MONOTONIC, &before);
    usleep(1500);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert((after.tv_sec - before.tv_sec) * 1000000000l + after.tv_nsec - before.tv_nsec >= 1500000);
    assert((after.tv_sec - before.tv_sec) * 1000000000l + after.tv_nsec - before.tv_nsec < 1600000);
    sleep(3600); /* of virtual time */
    assert(gettimeofday(&day, NULL) == 0 && day.tv_sec == 1600000000 + 3600 && time(NULL) == day.tv_sec);
}

static void threads(void)
{
    int value = 7;
    pthread_t one, two;
    void *result;
    struct timespec soon;

    assert(pthread_key_create(&key, destroy_value) == 0 && sem_init(&semaphore, 0, 0) == 0);
    assert(pthread_create(&one, NULL, thread, &value) == 0 && pthread_create(&two, NULL, for_ever, NULL) == 0);
    assert(!pthread_equal(one, pthread_self()) && pthread_getspecific(key) == NULL);
    usleep(10);
    pthread_mutex_lock(&mutex);
    strcat(order, "m");
    go = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    sem_wait(&semaphore);
    assert(pthread_join(one, &result) == 0 && result == (char *)&value + 1 && value == 99);
    assert(strcmp(order, "mt") == 0);
    assert(pthread_cancel(two) == 0 && pthread_join(two, &result) == 0 && result == PTHREAD_CANCELED);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 1000;
    pthread_mutex_lock(&mutex);
    assert(pthread_cond_timedwait(&condition, &mutex, &soon) == ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
    char host[64], wanted[64], *how = NULL;
    int option, spawned, nid, first, cookies = 0;
    char *cookie;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    PMI_Get_size(&size);
    atexit(bye);
    assert(constructed == rank + 1);
    while ((option = getopt(argc, argv, "x:")) != -1) {
        assert(option == 'x');
        how = optarg;
        PMI_Barrier(); /* all ranks are in the middle of their arguments */
    }
    assert(optind == argc - 1 && strcmp(argv[optind], "plain") == 0);
    counter += rank;
    environment();
    clocks();
    threads();
    srand(1);
    first = rand();
    PMI_Barrier();
    srand(1);
    assert(rand() == first && counter == 5 + rank);
    PMI_Get_nid(rank, &nid);
    snprintf(wanted, sizeof(wanted), "nid%05d", nid);
    assert(gethostname(host, sizeof(host)) == 0 && strcmp(host, wanted) == 0 && getpid() == 1000 + rank);
    assert(fork() == -1 && access("/proc/job", F_OK) == 0);
    for (cookie = strtok(getenv("PMI_GNI_COOKIE"), ":"); cookie != NULL; cookie = strtok(NULL, ":"))
        cookies++;
    assert(cookies == 2);
    PMI_Barrier();
    if (rank == 1) {
        if (strcmp(how, "exit") == 0)
            exit(3);
        if (strcmp(how, "quit") == 0)
            _exit(4);
        if (strcmp(how, "abort") == 0)
            abort();
        if (strcmp(how, "assert") == 0)
            assert(!"possible");
        if (strcmp(how, "pmi") == 0)
            PMI_Abort(9, "no more");
    }
    PMI_Barrier();
    PMI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("destination"))


def build(installed, folder, *flags):
    (folder / "program.c").write_text(PROGRAM)
    program = folder / "program"
    command(["gcc", "-O1", "-g", folder / "program.c", "-o", program, *flags,
             *installed.pkg_config("--cflags", "--libs", "cray-pmi"), "-lpthread"])
    return program


def run(installed, folder, how, **job):
    job = {"name": "p", "program": str(folder / "program"), "nodes": "0,9", "ranks_per_node": 2,
           "argv": ["-x", how, "plain"], "env": {"COLOR": "green"}, **job}
    file = folder / "scenario.yaml"
    file.write_text(json.dumps({"fabric": {"topology": "dragonfly", "groups": 1}, "limits": {"no_progress": "0"},  # the program sleeps for an hour
                                "jobs": [job]}))
    return subprocess.run([installed.sim_run, file, "--json"], text=True, capture_output=True, timeout=60,
                          env=dict(installed.environment, SECRET_OF_THE_HOST="1"))


@pytest.mark.parametrize("flags", [["-fPIE", "-pie"], ["-fPIE", "-pie", "-s"], ["-fPIC", "-shared"],
                                   ["-fPIC", "-shared", "-Wl,-z,now,-z,relro"], ["-fPIE", "-pie", "-rdynamic", "-Wl,-z,lazy"]])
def test_program_believes_that_it_is_alone(installed, tmp_path, flags):
    build(installed, tmp_path, *flags)
    done = run(installed, tmp_path, "none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["ledger"]["balanced"]  # what programs print is not in the report
    for rank in range(4):
        assert f"bye {rank}\n" in done.stderr and f"destructed {rank} {5 + rank}\n" in done.stderr


@pytest.mark.parametrize("how, exit_code, said", [("exit", 3, None), ("quit", 4, None), ("abort", 134, "rank 1: called abort()"),
                                                  ("assert", 134, "Assertion `!\"possible\"' failed"),
                                                  ("pmi", 9, "aborted the job: no more")])
def test_exit_codes_of_programs(installed, tmp_path, how, exit_code, said):
    build(installed, tmp_path)
    done = run(installed, tmp_path, how)
    result = json.loads(done.stdout)
    assert done.returncode == 1
    assert result["jobs"][0]["exit"] == exit_code
    assert said is None or said in done.stdout.replace('\\"', '"')
    assert ("bye 1\n" in done.stderr) == (how == "exit")
    assert ("bye 0\n" in done.stderr) == (how != "pmi")


@pytest.mark.parametrize("flags, said", [(["-no-pie"], "is bound to one address"), (["-static"], "is linked statically"),
                                         (["-DTLS=70000"], "has too many thread-local variables; allowed: 65536 bytes")])
def test_refusals(installed, tmp_path, flags, said):
    (tmp_path / "program.c").write_text("#ifdef TLS\n__thread char own[TLS];\n#else\nchar own[1];\n#endif\n"
                                        "int main(void) { return own[0]; }\n")
    command(["gcc", *flags, tmp_path / "program.c", "-o", tmp_path / "program"])
    done = run(installed, tmp_path, "none")
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_fields_are_checked(installed, tmp_path):
    build(installed, tmp_path)
    assert "jobs.0.argv: not a list of texts" in run(installed, tmp_path, "none", argv="x").stderr
    assert "jobs.0.env: not a mapping" in run(installed, tmp_path, "none", env=["x"]).stderr
    file = tmp_path / "workload.yaml"
    file.write_text("jobs: [{name: a, nodes: 0-1, workload: barrier, argv: [x]}]\n")
    done = subprocess.run([installed.sim_run, file], text=True, capture_output=True, timeout=60)
    assert done.returncode == 2 and "is for a program with main()" in done.stderr


def test_many_ranks(installed, tmp_path):
    """Runs one copy per rank, on all nodes of a group."""
    build(installed, tmp_path)
    done = run(installed, tmp_path, "none", nodes="0-31", ranks_per_node=8)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("bye ") == 256


LOCALS = r"""
#include <assert.h>
#include <errno.h>
#include <pmi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int target = 17, rank, ended;
static __thread int number = 42, *pointer = &target, zero;
static __thread char text[5000] = "initial";
__thread long exported __attribute__((aligned(64))) = 7;
static __thread char large[40000];

static void own(int value)
{
    int i;

    assert(number == 42 && zero == 0 && pointer == &target && *pointer == 17 && exported == 7);
    assert(strcmp(text, "initial") == 0 && text[4999] == 0 && large[0] == 0 && large[39999] == 0);
    assert(((uintptr_t)&exported & 63) == 0);
    number = zero = value;
    exported = -value;
    memset(large, value, sizeof(large));
    snprintf(text, sizeof(text), "rank %d thread %d", rank, value);
    for (i = 0; i < 5; i++) {
        errno = value;
        usleep(1 + value % 7); /* others run */
        assert(errno == value && number == value && zero == value && exported == -value);
        assert(large[0] == (char)value && large[39999] == (char)value);
    }
}

static void *run(void *arg)
{
    char wanted[64];
    int value = (int)(intptr_t)arg;

    own(value);
    snprintf(wanted, sizeof(wanted), "rank %d thread %d", rank, value);
    assert(strcmp(wanted, text) == 0);
    ended++;
    return &number;
}

int main(int argc, char **argv)
{
    int spawned, i, threads = atoi(argv[argc - 1]);
    pthread_t *ids = calloc((size_t)threads, sizeof(*ids));
    void *result;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    own(1000 + rank);
    for (i = 0; i < threads; i++)
        assert(pthread_create(&ids[i], NULL, run, (void *)(intptr_t)(i + 1)) == 0);
    PMI_Barrier();
    for (i = 0; i < threads; i++)
        assert(pthread_join(ids[i], &result) == 0 && result != &number);
    assert(ended == threads && number == 1000 + rank);
    for (i = 0; i < 100; i++) { /* one after the other */
        assert(pthread_create(&ids[0], NULL, run, (void *)(intptr_t)(i + 1)) == 0);
        assert(pthread_join(ids[0], &result) == 0);
    }
    assert(number == 1000 + rank && exported == -1000 - rank);
    PMI_Barrier();
    PMI_Finalize();
    return 0;
}
"""


def run_source(installed, folder, source, *, compiler="gcc", flags=(), limits=None, **job):
    file = folder / ("program.cc" if compiler == "g++" else "program.c")
    file.write_text(source)
    command([compiler, "-O1", "-g", *flags, file, "-o", folder / "program", *installed.pkg_config("--cflags", "--libs", "cray-pmi", "cray-ugni"),
             "-lpthread"])
    scenario = folder / "scenario.yaml"
    scenario.write_text(json.dumps({"limits": limits or {},
                                    "jobs": [{"name": "p", "program": str(folder / "program"), "nodes": "0-3", "ranks_per_node": 2,
                                              **job}]}))
    return subprocess.run([installed.sim_run, scenario, "--json"], text=True, capture_output=True, timeout=120,
                          env=installed.environment)


@pytest.mark.parametrize("flags", [["-fPIE", "-pie"], ["-fPIE", "-pie", "-O2", "-s"], ["-fPIC", "-shared"],
                                   ["-fPIE", "-pie", "-ftls-model=initial-exec", "-rdynamic"]])
def test_thread_local_variables(installed, tmp_path, flags):
    """Eight ranks with 30 threads each: every thread has its own variables with their initial values, and its own errno."""
    runs = [run_source(installed, tmp_path, LOCALS, flags=flags, argv=["30"]) for _ in range(2)]
    assert runs[0].returncode == 0, runs[0].stdout + runs[0].stderr
    assert json.loads(runs[0].stdout)["digest"] == json.loads(runs[1].stdout)["digest"]


IDLE = r"""
#include <gni_pub.h>
#include <stdint.h>
#include <stdlib.h>

static int passes; /* that found nothing */

int main(void)
{
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    gni_cq_handle_t cq;
    gni_cq_entry_t entry;
    uint32_t address;

    if (GNI_CdmCreate(atoi(getenv("PMI_FORK_RANK")), atoi(getenv("PMI_GNI_PTAG")), (uint32_t)strtoul(getenv("PMI_GNI_COOKIE"), NULL, 10), 0, &cdm) ||
        GNI_CdmAttach(cdm, 0, &address, &nic) || GNI_CqCreate(nic, 16, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq))
        return 1;
    while (GNI_CqGetEvent(cq, &entry) == GNI_RC_NOT_DONE)
        if (++passes == 1000)
            return 0;
    return 2;
}
"""


def test_a_program_may_count_its_idle_passes(installed, tmp_path):
    """No message arrives, and after a thousand empty polls the program does something else: at the same virtual time with parking and without."""
    runs = [run_source(installed, tmp_path, IDLE, limits=limits) for limits in ({}, {"parking": "off"})]
    for done in runs:
        assert done.returncode == 0, done.stdout + done.stderr
    times, digests = zip(*((data["virtual_time_ps"], data["digest"]) for data in (json.loads(done.stdout) for done in runs)))
    assert times[0] == times[1] and digests[0] == digests[1]


def test_a_thousand_threads_in_a_rank(installed, tmp_path):
    done = run_source(installed, tmp_path, LOCALS, argv=["1000"], nodes="0", ranks_per_node=1)
    assert done.returncode == 0, done.stdout + done.stderr


def test_limit_of_threads(installed, tmp_path):
    """limits.threads counts the first thread, too; a thread that has ended no longer counts."""
    source = r"""
    #include <assert.h>
    #include <errno.h>
    #include <pthread.h>
    #include <unistd.h>
    static void *wait(void *arg) { usleep(100); return arg; }
    int main(void)
    {
        pthread_t ids[20];
        int i, round;
        for (round = 0; round < 3; round++) {
            for (i = 0; i < 19; i++)
                assert(pthread_create(&ids[i], NULL, wait, NULL) == 0);
            assert(pthread_create(&ids[19], NULL, wait, NULL) == EAGAIN);
            for (i = 0; i < 19; i++)
                assert(pthread_join(ids[i], NULL) == 0);
        }
        return 0;
    }"""
    done = run_source(installed, tmp_path, source, limits={"threads": 20})
    assert done.returncode == 0, done.stdout + done.stderr


CXX = r"""
#include <cassert>
#include <cstdlib>
#include <iostream>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>

static int made, gone;
struct Own {
    int value = 5;
    Own() { made++; }
    ~Own() { gone++; }
};
static thread_local Own own;

static void *run(void *arg)
{
    own.value = (int)(long)arg;
    try {
        usleep(5);
        throw std::runtime_error("first");
    } catch (std::exception &) {
        usleep(10); /* other threads throw meanwhile */
        try {
            throw 3;
        } catch (int) {
            usleep(10);
        }
    }
    assert(own.value == (int)(long)arg);
    return nullptr;
}

int main()
{
    pthread_t ids[3];

    for (long i = 0; i < 3; i++)
        pthread_create(&ids[i], nullptr, run, (void *)(i + 1));
    for (auto id : ids)
        pthread_join(id, nullptr);
    assert(made == 3 && gone == 3);
    std::cerr << "half of seven: " << 3.5 << std::endl;
    return 0;
}
"""


def test_cxx(installed, tmp_path):
    """Exceptions, streams and thread_local objects with destructors: they need variables of the C++ library."""
    done = run_source(installed, tmp_path, CXX, compiler="g++")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("half of seven: 3.5\n") == 8


CHILDREN = r"""
#include <assert.h>
#include <pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *texts[] = {"a b", "c=d;e", "two\nlines", "", NULL};

static void spawn(int rank)
{
    const char *commands[] = {"children", "children"}, **arguments[] = {(const char **)texts, NULL};
    int counts[] = {4, 0}, processes[] = {2, 1}, none[] = {0, 0}, errors[3] = {9, 9, 9}, found;
    char job[64], own[64], value[64], key[] = "given", text[] = "before";
    struct MPID_Info info = {.key = key, .value = text};
    const struct MPID_Info *given[] = {&info};

    if (rank == 0) {
        assert(PMI2_Job_Spawn(2, commands, counts, arguments, processes, none, NULL, 1, given, job, sizeof(job), errors) == 0);
        assert(errors[0] == 0 && errors[1] == 0 && errors[2] == 0);
        assert(PMI2_Job_GetId(own, sizeof(own)) == 0 && strcmp(own, job) != 0);
        assert(PMI2_KVS_Get(job, PMI2_ID_NULL, "given", value, sizeof(value), &found) == 0 && strcmp(value, "before") == 0);
    }
    assert(PMI2_KVS_Fence() == 0);
}

int main(int argc, char **argv)
{
    int spawned, size, rank, appnum, i, found;
    char value[64];

    assert(PMI2_Init(&spawned, &size, &rank, &appnum) == 0);
    if (!spawned) {
        assert(getenv("PMI_SPAWNED") == NULL && argc == 2 && strcmp(argv[1], "first") == 0);
        spawn(rank);
    } else {
        assert(strcmp(getenv("PMI_SPAWNED"), "1") == 0 && strcmp(getenv("COLOR"), "green") == 0);
        assert(size == 3 && appnum == (rank == 2) && argc == (rank == 2 ? 2 : 5));
        for (i = 0; rank < 2 && i < 4; i++)
            assert(strcmp(argv[1 + i], texts[i]) == 0);
        assert(rank != 2 || strcmp(argv[1], "of the scenario") == 0);
        assert(PMI2_KVS_Get(NULL, PMI2_ID_NULL, "given", value, sizeof(value), &found) == 0 && strcmp(value, "before") == 0);
        fprintf(stderr, "child %d\n", rank);
        usleep(100000); /* its pairs are there as long as it is */
    }
    PMI2_Finalize();
    return spawned ? 3 : 0;
}
"""


def test_pmi2_65_pmi2_66_a_program_spawns_itself(installed, tmp_path):
    """Spawned programs get arguments of any bytes; without arguments they get those of the scenario."""
    (tmp_path / "program.c").write_text(CHILDREN)
    program = tmp_path / "program"
    command(["gcc", "-O1", "-g", tmp_path / "program.c", "-o", program, *installed.pkg_config("--cflags", "--libs", "cray-pmi"),
             "-lpmi2"])
    file = tmp_path / "scenario.yaml"
    file.write_text(json.dumps({"jobs": [
        {"name": "first", "program": str(program), "nodes": "0-3", "argv": ["first"]},
        {"name": "children", "program": str(program), "nodes": "0-1", "ranks_per_node": 2, "spawnable": True,
         "argv": ["of the scenario"], "env": {"COLOR": "green"}}],
        "expect": [{"job": "children", "exit": 3}, {"job": "first", "exit": 0}, {"ledger": "balanced"}]}))
    done = subprocess.run([installed.sim_run, file], text=True, capture_output=True, timeout=60, env=installed.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(line for line in done.stderr.splitlines()) == ["child 0", "child 1", "child 2"]
