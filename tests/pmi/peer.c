/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program for real process managers: does what a test names and prints `rank N: ok`, or what went
 * wrong. Compiled against our header or Slurm's, linked with either library.
 */
#include <fcntl.h>
#include <sched.h>
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int size, rank, spawned, appnum;

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) {                                               \
            printf("rank %d: line %d: %s\n", rank, __LINE__, #condition); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

/* Every rank sees what each has put, also values that need care (28). */
static void exchange(void)
{
    static const char *const hard[] = {
        "", "=", "a=b c", " x ", "tab\tx", "line\nline", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"};
    char key[32], value[PMI2_MAX_VALLEN + 1], expected[64];
    int r, length, i, n = (int)(sizeof(hard) / sizeof(hard[0]));

    snprintf(key, sizeof(key), "key-%d", rank);
    snprintf(value, sizeof(value), "value of %d", rank);
    CHECK(PMI2_KVS_Put(key, value) == 0);
    for (i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "hard-%d-%d", rank, i);
        CHECK(PMI2_KVS_Put(key, hard[i]) == 0);
    }
    CHECK(PMI2_KVS_Fence() == 0);
    for (r = 0; r < size; r++) {
        snprintf(key, sizeof(key), "key-%d", r);
        snprintf(expected, sizeof(expected), "value of %d", r);
        CHECK(PMI2_KVS_Get(NULL, r, key, value, sizeof(value), &length) == 0);
        CHECK(strcmp(value, expected) == 0 && length == (int)strlen(expected));
        CHECK(PMI2_KVS_Get(NULL, PMI2_ID_NULL, key, value, sizeof(value), &length) == 0); /* 38 */
        for (i = 0; i < n; i++) {
            snprintf(key, sizeof(key), "hard-%d-%d", r, i);
            CHECK(PMI2_KVS_Get(NULL, r, key, value, sizeof(value), &length) == 0);
            CHECK(strcmp(value, hard[i]) == 0);
        }
    }
    CHECK(PMI2_KVS_Get(NULL, PMI2_ID_NULL, "nowhere", value, sizeof(value), &length) != 0); /* 30 */
    CHECK(PMI2_KVS_Fence() == 0);
}

/* The fence is a barrier (44): none returns before the last has entered. Each rank writes the round
 * into its place of a file before it fences, and finds all the others' there afterwards. */
static void barrier(void)
{
    int fd = open(getenv("PEER_FILE"), O_RDWR | O_CREAT, 0600), round, r;
    _Atomic int *entered;

    CHECK(fd >= 0 && ftruncate(fd, (off_t)((size_t)size * sizeof(int))) == 0);
    entered = mmap(NULL, (size_t)size * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(entered != MAP_FAILED);
    for (round = 1; round <= 200; round++) {
        entered[rank] = round;
        CHECK(PMI2_KVS_Fence() == 0);
        for (r = 0; r < size; r++)
            CHECK(entered[r] >= round);
    }
    munmap((void *)entered, (size_t)size * sizeof(int));
    close(fd);
}

static void attributes(void)
{
    char value[PMI2_MAX_ATTRVALUE + 1], name[16];
    int found = -1, i;

    CHECK(PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof(value), &found) == 0);
    CHECK(found && strncmp(value, "(vector,(", 9) == 0);
    CHECK(PMI2_Info_GetJobAttr("no-such-thing", value, sizeof(value), &found) == 0 && !found);
    for (i = 0; i < 26; i++) { /* those who come before rank 0 wait, the others need not */
        snprintf(name, sizeof(name), "shared-%c", 'a' + i);
        if (rank == 0)
            CHECK(PMI2_Info_PutNodeAttr(name, "segment 7") == 0);
        CHECK(PMI2_Info_GetNodeAttr(name, value, sizeof(value), &found, 1) == 0); /* 52, 54 */
        CHECK(found && strcmp(value, "segment 7") == 0);
        value[0] = '\0';
    }
    CHECK(PMI2_KVS_Fence() == 0);
}

static void names(void)
{
    char port[64];

    if (rank == 0) {
        CHECK(PMI2_Nameserv_publish("service", NULL, "port 1") == 0); /* 58 */
        CHECK(PMI2_Nameserv_publish("service", NULL, "port 2") != 0); /* 59 */
        CHECK(PMI2_Nameserv_lookup("service", NULL, port, sizeof(port)) == 0);
        CHECK(strcmp(port, "port 1") == 0);
        CHECK(PMI2_Nameserv_unpublish("service", NULL) == 0);
        CHECK(PMI2_Nameserv_lookup("service", NULL, port, sizeof(port)) != 0);
        CHECK(PMI2_Nameserv_unpublish("service", NULL) != 0); /* 60 */
    }
    CHECK(PMI2_KVS_Fence() == 0);
}

/* Finalize does not wait for others (15): rank 0 works until all others have left. */
static void leave(void)
{
    int fd = open(getenv("PEER_FILE"), O_RDWR | O_CREAT | O_APPEND, 0600);

    CHECK(fd >= 0);
    CHECK(PMI2_KVS_Fence() == 0);
    if (rank != 0) {
        CHECK(PMI2_Finalize() == 0);
        CHECK(write(fd, "x", 1) == 1);
    } else {
        while (lseek(fd, 0, SEEK_END) < size - 1)
            sched_yield();
        CHECK(PMI2_KVS_Put("late", "works") == 0);
        CHECK(PMI2_Finalize() == 0);
    }
    close(fd);
}

/* A value and a list that do not fit (35, 51), and a list that is none; the libraries differ in the
 * length that they give. */
static void cut(int expected)
{
    char value[4];
    int list[3] = {9, 9, 9}, length = 0, found = -1;

    CHECK(PMI2_KVS_Put("cut", "1234567") == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    CHECK(PMI2_KVS_Get(NULL, PMI2_ID_NULL, "cut", value, sizeof(value), &length) == 0);
    CHECK(length == expected && strcmp(value, "123") == 0);
    CHECK(PMI2_Info_PutNodeAttr("broken", "4,5,x") == 0);
    CHECK(PMI2_Info_GetNodeAttrIntArray("broken", list, 3, &length, &found) != 0);
    CHECK(list[0] == 4 && list[1] == 5 && list[2] == 9);
    CHECK(PMI2_Info_PutNodeAttr("long", "1,2,3") == 0);
    CHECK(PMI2_Info_GetNodeAttrIntArray("long", list, 2, &length, &found) == 0);
    CHECK(found && length == 2 && list[0] == 1 && list[1] == 2 && list[2] == 9);
}

/* Charm++'s way: the own id in Get, the fence as barrier (108). */
static void charm(void)
{
    char id[256], key[32], value[PMI2_MAX_VALLEN];
    int length;

    CHECK(PMI2_Job_GetId(id, sizeof(id)) == 0 && id[0] != '\0');
    snprintf(key, sizeof(key), "charm-%d", rank);
    CHECK(PMI2_KVS_Put(key, "00ff") == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    snprintf(key, sizeof(key), "charm-%d", (rank + 1) % size);
    CHECK(PMI2_KVS_Get(id, PMI2_ID_NULL, key, value, PMI2_MAX_VALLEN, &length) == 0);
    CHECK(strcmp(value, "00ff") == 0);
    CHECK(PMI2_KVS_Fence() == 0);
}

/* Two programs, one and two processes (63 to 66). No fences: Hydra counts those of all jobs
 * together. */
static void spawn(const char *self)
{
    const char *commands[] = {self, self}, *first[] = {"child", "with space=x\ny", NULL},
               *second[] = {"child", NULL}, **arguments[] = {first, second};
    int counts[] = {2, 1}, processes[] = {1, 2}, infos[] = {0, 0}, errors[3] = {1, 1, 1}, i;
    struct MPID_Info pair = {.key = (char *)"PARENT", .value = (char *)"tag#0$d"};
    const struct MPID_Info *none[] = {NULL, NULL}, *preput[] = {&pair};
    char id[256], own[256];

    CHECK(PMI2_Job_GetId(own, sizeof(own)) == 0);
    if (rank == 0) {
        CHECK(PMI2_Job_Spawn(2, commands, counts, arguments, processes, infos, none, 1, preput, id,
                             sizeof(id), errors) == 0);
        for (i = 0; i < 3; i++)
            CHECK(errors[i] == 0);
        CHECK(id[0] != '\0' && strcmp(id, own) != 0);
    }
}

static void child(int argc, char **argv)
{
    char value[64];
    int length;

    CHECK(spawned && size == 3 && appnum == (rank != 0));
    CHECK(rank != 0 || (argc == 3 && strcmp(argv[2], "with space=x\ny") == 0));
    CHECK(PMI2_KVS_Get(NULL, PMI2_ID_NULL, "PARENT", value, sizeof(value), &length) == 0);
    CHECK(strcmp(value, "tag#0$d") == 0);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "exchange";

    CHECK(PMI2_Initialized() == 0);
    CHECK(PMI2_Init(&spawned, &size, &rank, &appnum) == 0);
    CHECK(PMI2_Initialized() != 0);
    if (strcmp(what, "exchange") == 0)
        exchange();
    else if (strcmp(what, "barrier") == 0)
        barrier();
    else if (strcmp(what, "attributes") == 0)
        attributes();
    else if (strcmp(what, "names") == 0)
        names();
    else if (strcmp(what, "charm") == 0)
        charm();
    else if (strcmp(what, "spawn") == 0)
        spawn(argv[0]);
    else if (strcmp(what, "child") == 0)
        child(argc, argv);
    else if (strcmp(what, "abort") == 0 && rank == 1)
        PMI2_Abort(1, "enough");
    else if (strcmp(what, "abort") == 0)
        PMI2_KVS_Fence();
    else if (strcmp(what, "leave") == 0)
        leave();
    else if (strcmp(what, "cut") == 0 && argc > 2)
        cut(atoi(argv[2]));
    else
        CHECK(strcmp(what, "init") == 0);
    CHECK(strcmp(what, "leave") == 0 || PMI2_Finalize() == 0);
    printf("rank %d of %d, app %d, spawned %d: ok\n", rank, size, appnum, spawned != 0);
    return 0;
}
