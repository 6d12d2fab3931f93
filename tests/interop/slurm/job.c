/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tests of Slurm's PMI-2 that tests/pmi/peer.c does not have: limits, missing keys, the source
 * argument of a get, attributes of two nodes, published names. It compiles with our header or
 * Slurm's and links with either library.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <slurm/pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int size, rank, finalized;

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) {                                               \
            printf("rank %d: line %d: %s\n", rank, __LINE__, #condition); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

/*
 * The environment of the node daemon names the host. pmrun does not pass it on; then it is read
 * from the proxy, which is the parent process.
 */
static const char *node_name(void)
{
    static const char variable[] = "SLURMD_NODENAME=";
    static char text[1 << 16];
    const char *name = getenv("SLURMD_NODENAME"), *at;
    char path[32];
    size_t length;
    FILE *file;

    if (name != NULL)
        return name;
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
    file = fopen(path, "r");
    CHECK(file != NULL);
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    for (at = text; at < text + length; at += strlen(at) + 1)
        if (strncmp(at, variable, sizeof(variable) - 1) == 0)
            return at + sizeof(variable) - 1;
    return "?";
}

static void fill(char *text, int length, int of)
{
    memset(text, 'a' + of % 26, (size_t)length);
    text[length] = '\0';
    text[0] = (char)('0' + of / 26 % 10);
}

/* The longest key and value arrive unchanged (25). */
static void limits(void)
{
    char key[PMI2_MAX_KEYLEN + 1], value[PMI2_MAX_VALLEN + 1], back[PMI2_MAX_VALLEN + 1];
    int r, length;

    fill(key, PMI2_MAX_KEYLEN, rank);
    fill(value, PMI2_MAX_VALLEN, rank + 7);
    CHECK(PMI2_KVS_Put(key, value) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    for (r = 0; r < size; r++) {
        fill(key, PMI2_MAX_KEYLEN, r);
        fill(value, PMI2_MAX_VALLEN, r + 7);
        CHECK(PMI2_KVS_Get(NULL, r, key, back, sizeof(back), &length) == 0);
        CHECK(length == PMI2_MAX_VALLEN && strcmp(back, value) == 0);
        key[PMI2_MAX_KEYLEN - 1] = '\0';
        CHECK(PMI2_KVS_Get(NULL, r, key, back, sizeof(back), &length) != 0);
    }
}

/* Our library refuses one byte more, and the connection stays usable (26). */
static void refused(void)
{
    char key[PMI2_MAX_KEYLEN + 2], value[PMI2_MAX_VALLEN + 2];
    int length;

    fill(key, PMI2_MAX_KEYLEN + 1, rank);
    fill(value, PMI2_MAX_VALLEN + 1, rank);
    CHECK(PMI2_KVS_Put(key, "value") == PMI2_ERR_INVALID_KEY_LENGTH);
    CHECK(PMI2_KVS_Put("key", value) == PMI2_ERR_INVALID_VAL_LENGTH);
    CHECK(PMI2_KVS_Get(NULL, PMI2_ID_NULL, key, value, PMI2_MAX_VALLEN, &length) ==
          PMI2_ERR_INVALID_KEY_LENGTH);
    limits();
}

/* A key that does not exist is reported at once, before the first fence (29) and after it (30). */
static void missing(void)
{
    char value[PMI2_MAX_VALLEN];
    int length, i;

    for (i = 0; i < 2; i++) {
        CHECK(PMI2_KVS_Get(NULL, PMI2_ID_NULL, "nowhere", value, sizeof(value), &length) != 0);
        CHECK(PMI2_KVS_Get(NULL, rank, "nowhere", value, sizeof(value), &length) != 0);
        CHECK(PMI2_KVS_Fence() == 0);
    }
}

/* The source argument of a get does not change its result (38). */
static void sources(void)
{
    char value[64], expected[32], key[32];
    int r, i, length;

    snprintf(key, sizeof(key), "source-%d", rank);
    snprintf(expected, sizeof(expected), "of %d", rank);
    CHECK(PMI2_KVS_Put(key, expected) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    for (r = 0; r < size; r++) {
        const int source[] = {PMI2_ID_NULL, rank, r, (r + 1) % size, size, 1000000};

        snprintf(key, sizeof(key), "source-%d", r);
        snprintf(expected, sizeof(expected), "of %d", r);
        for (i = 0; i < (int)(sizeof(source) / sizeof(source[0])); i++) {
            CHECK(PMI2_KVS_Get(NULL, source[i], key, value, sizeof(value), &length) == 0);
            CHECK(strcmp(value, expected) == 0 && length == (int)strlen(expected));
        }
    }
}

/* Each rank puts one pair and reads all (31). */
static void all(void)
{
    char key[32], value[64];
    int r, length;

    snprintf(key, sizeof(key), "of-%d", rank);
    snprintf(value, sizeof(value), "%d", rank * 7);
    CHECK(PMI2_KVS_Put(key, value) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    for (r = 0; r < size; r++) {
        snprintf(key, sizeof(key), "of-%d", r);
        CHECK(PMI2_KVS_Get(NULL, r, key, value, sizeof(value), &length) == 0);
        CHECK(atoi(value) == r * 7);
    }
}

/* Prints the nodes of the ranks, which the test compares (46). */
static void mapping(void)
{
    char value[PMI2_MAX_ATTRVALUE + 1];
    int found = 0;

    CHECK(PMI2_Info_GetJobAttr("PMI_process_mapping", value, sizeof(value), &found) == 0 && found);
    printf("placed %d %s %s\n", rank, node_name(), value);
}

/*
 * Unknown names (56); names of nodes (54). Slurm answers any name that sorts after
 * `PMI_netinfo_of_task` with network data, so the unknown names here sort before it.
 */
static void attributes(void)
{
    char value[PMI2_MAX_ATTRVALUE + 1], key[32];
    int found = -1, list[4], count;

    CHECK(PMI2_Info_GetJobAttr("ABSENT", value, sizeof(value), &found) == 0 && found == 0);
    found = -1;
    CHECK(PMI2_Info_GetNodeAttr("ABSENT", value, sizeof(value), &found, 0) == 0 && found == 0);
    CHECK(PMI2_Info_GetJobAttrIntArray("universeSize", list, 4, &count, &found) == 0);
    CHECK(found && count == 1 && list[0] == size);

    snprintf(key, sizeof(key), "own-%d", rank);
    CHECK(PMI2_Info_PutNodeAttr(key, node_name()) == 0);
    CHECK(PMI2_Info_GetNodeAttr(key, value, sizeof(value), &found, 1) == 0);
    CHECK(found && strcmp(value, node_name()) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    for (int r = 0; r < size; r++) { /* block placement: the first half is on one node */
        snprintf(key, sizeof(key), "own-%d", r);
        CHECK(PMI2_Info_GetNodeAttr(key, value, sizeof(value), &found, 0) == 0);
        CHECK((found != 0) == (r / (size / 2) == rank / (size / 2)));
    }
}

/* Across nodes; Slurm lets a name be published again, with the new port, and unpublished when it is
 * not there. */
static void names(void)
{
    char name[32], other[32], port[64], expected[64];

    snprintf(name, sizeof(name), "service %d", rank);
    snprintf(port, sizeof(port), "port=%d at %s", rank, "a:1");
    CHECK(PMI2_Nameserv_lookup(name, NULL, expected, sizeof(expected)) != 0);
    CHECK(PMI2_Nameserv_publish(name, NULL, "old") == 0);
    CHECK(PMI2_Nameserv_publish(name, NULL, port) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    snprintf(other, sizeof(other), "service %d", (rank + size / 2) % size);
    snprintf(expected, sizeof(expected), "port=%d at %s", (rank + size / 2) % size, "a:1");
    CHECK(PMI2_Nameserv_lookup(other, NULL, port, sizeof(port)) == 0);
    CHECK(strcmp(port, expected) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    CHECK(PMI2_Nameserv_unpublish(name, NULL) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    CHECK(PMI2_Nameserv_lookup(other, NULL, port, sizeof(port)) != 0);
    CHECK(PMI2_Nameserv_unpublish(name, NULL) == 0);
}

/* Each rank finds its neighbours; the order of the ring is not defined. */
static void ring(void)
{
    char own[32], left[64], right[64], key[32], value[64];
    int at, ranks, length;

    snprintf(own, sizeof(own), "address of %d", rank);
    CHECK(PMIX_Ring(own, &at, &ranks, left, right, sizeof(left)) == 0);
    CHECK(ranks == size && at >= 0 && at < size);
    snprintf(key, sizeof(key), "ring-%d", at);
    CHECK(PMI2_KVS_Put(key, own) == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    snprintf(key, sizeof(key), "ring-%d", (at + size - 1) % size);
    CHECK(PMI2_KVS_Get(NULL, -1, key, value, sizeof(value), &length) == 0 &&
          strcmp(value, left) == 0);
    snprintf(key, sizeof(key), "ring-%d", (at + 1) % size);
    CHECK(PMI2_KVS_Get(NULL, -1, key, value, sizeof(value), &length) == 0 &&
          strcmp(value, right) == 0);
}

/* The first rank leaves while the others work; they go on once they know that it has left (15). */
static void leave(void)
{
    const char *file = getenv("JOB_FILE");
    char value[64];
    int length;
    FILE *left;

    CHECK(file != NULL);
    if (rank == 0)
        CHECK(PMI2_KVS_Put("legacy", "of the first") == 0);
    CHECK(PMI2_KVS_Fence() == 0);
    if (rank == 0) {
        CHECK(PMI2_Finalize() == 0);
        finalized = 1;
        left = fopen(file, "w");
        CHECK(left != NULL && fclose(left) == 0);
        return;
    }
    while (access(file, F_OK) != 0)
        usleep(1000);
    CHECK(PMI2_KVS_Put("late", "still possible") == 0);
    CHECK(PMI2_KVS_Get(NULL, 0, "legacy", value, sizeof(value), &length) == 0);
    CHECK(strcmp(value, "of the first") == 0);
}

/* ---- calls that overlap (82) ------------------------------------------------------------------*/

enum { THREADS = 4, ROUNDS = 50 };

static int outcome[THREADS];
static pthread_barrier_t together;

static void *put_and_miss(void *argument)
{
    int thread = (int)(size_t)argument, i, length;
    char key[64], value[64];

    pthread_barrier_wait(&together);
    for (i = 0; i < ROUNDS; i++) {
        snprintf(key, sizeof(key), "k-%d-%d-%d", rank, thread, i);
        snprintf(value, sizeof(value), "v %d", thread * ROUNDS + i);
        outcome[thread] |= PMI2_KVS_Put(key, value) != 0;
        outcome[thread] |= PMI2_KVS_Get(NULL, -1, "nowhere", value, sizeof(value), &length) == 0;
    }
    return NULL;
}

static void *read_other(void *argument)
{
    int thread = (int)(size_t)argument, i, length, other = (rank + 1) % size;
    char key[64], value[64], expected[64];

    pthread_barrier_wait(&together);
    for (i = 0; i < ROUNDS; i++) {
        snprintf(key, sizeof(key), "k-%d-%d-%d", other, thread, i);
        snprintf(expected, sizeof(expected), "v %d", thread * ROUNDS + i);
        outcome[thread] |= PMI2_KVS_Get(NULL, other, key, value, sizeof(value), &length) != 0 ||
                           strcmp(value, expected) != 0;
    }
    return NULL;
}

static void in_threads(void *(*function)(void *))
{
    pthread_t threads[THREADS];
    size_t i;

    pthread_barrier_init(&together, NULL, THREADS);
    for (i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, function, (void *)i) == 0);
    for (i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0 && outcome[i] == 0);
    pthread_barrier_destroy(&together);
}

static _Atomic int waiter; /* the thread's number */

static void *wait_for_attribute(void *argument)
{
    char value[64];
    int found = 0;

    (void)argument;
    waiter = (int)syscall(SYS_gettid);
    outcome[0] = PMI2_Info_GetNodeAttr("late", value, sizeof(value), &found, 1) != 0 || !found ||
                 strcmp(value, "after ready") != 0;
    return NULL;
}

/* Whether that thread sleeps in a call; it does nothing but make requests. */
static int sleeps(int thread)
{
    char name[64], state = '?';
    FILE *file;

    if (thread == 0)
        return 0;
    snprintf(name, sizeof(name), "/proc/self/task/%d/stat", thread);
    file = fopen(name, "r");
    CHECK(file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && fclose(file) == 0);
    return state == 'S';
}

/*
 * A call waits until another thread of the same process makes a call: the requests carry `thrid`,
 * the replies do not.
 */
static void threads(void)
{
    char value[64];
    pthread_t waiting;
    int found;

    if (rank % 2 == 0) { /* two of a node */
        CHECK(pthread_create(&waiting, NULL, wait_for_attribute, NULL) == 0);
        while (!sleeps(waiter)) /* for the answer */
            sched_yield();
        CHECK(PMI2_Info_PutNodeAttr("ready", "yes") == 0);
        CHECK(pthread_join(waiting, NULL) == 0 && outcome[0] == 0);
    } else {
        CHECK(PMI2_Info_GetNodeAttr("ready", value, sizeof(value), &found, 1) == 0 && found);
        CHECK(PMI2_Info_PutNodeAttr("late", "after ready") == 0);
    }
    in_threads(put_and_miss);
    CHECK(PMI2_KVS_Fence() == 0);
    in_threads(read_other);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } modes[] = {
        {"limits", limits},   {"refused", refused}, {"missing", missing},
        {"sources", sources}, {"all", all},         {"attributes", attributes},
        {"names", names},     {"ring", ring},       {"mapping", mapping},
        {"leave", leave},     {"threads", threads},
    };
    int spawned, appnum;
    size_t i;

    CHECK(PMI2_Init(&spawned, &size, &rank, &appnum) == 0);
    CHECK(!spawned && rank >= 0 && rank < size);
    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (argc == 2 && strcmp(argv[1], modes[i].name) == 0)
            break;
    CHECK(i < sizeof(modes) / sizeof(modes[0]));
    modes[i].function();
    if (!finalized)
        CHECK(PMI2_Finalize() == 0);
    printf("rank %d of %d, app %d: ok\n", rank, size, appnum);
    return 0;
}
