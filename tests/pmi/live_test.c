/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Client libraries, each in a process of its own, against our server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "live.h"
#include "pmi.h"
#include "pmi2.h"

/* In a client's process: says where it went wrong; the test sees the exit status. */
#define WANT(condition)                                                     \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #condition); \
            return 1;                                                       \
        }                                                                   \
    } while (0)

static int spawned, size, rank, appnum;

static int join(void)
{
    return PMI2_Init(&spawned, &size, &rank, &appnum);
}

static void expect_done(const pid_t *processes, size_t count)
{
    int status;
    size_t i;

    for (i = 0; i < count; i++) {
        assert_int_equal(waitpid(processes[i], &status, 0), processes[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* One server, its first ranks all run `client`. */
static void run_live(struct live *live, uint32_t clients, int (*client)(void *))
{
    pid_t processes[16];
    uint32_t i;

    for (i = 0; i < clients; i++)
        processes[i] = live_fork(&live, 1, live, i, client, NULL);
    live_leave(live);
    live_serve(&live, 1);
    live_free(live);
    expect_done(processes, clients);
}

static void run(uint32_t ranks, uint32_t clients, int (*client)(void *))
{
    run_live(live_new("1.0", ranks, clients), clients, client);
}

/* ---- two launchers ----------------------------------------------------------------------------
 */

struct side {
    const char *own, *other;
    int fd, master;
    int written, got; /* bytes through the program's own connection */
};

static int read_other(void *bytes, int length, void *context)
{
    struct side *side = context;

    side->got += length;
    return recv(side->fd, bytes, (size_t)length, MSG_WAITALL) == length ? 0 : 1;
}

static int write_other(const void *bytes, int length, void *context)
{
    struct side *side = context;

    side->written += length;
    return send(side->fd, bytes, (size_t)length, MSG_NOSIGNAL) == length ? 0 : 1;
}

static int cross(void *context)
{
    struct side *side = context;
    PMI2_Connect_comm_t conn = {
        .read = read_other, .write = write_other, .ctx = side, .isMaster = side->master};
    char value[64], wanted[64], key[32];
    int length, i;

    WANT(join() == PMI2_SUCCESS);
    for (i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        snprintf(value, sizeof(value), "%d; of =%s", i, side->own);
        WANT(PMI2_KVS_Put(key, value) == PMI2_SUCCESS);
    }
    WANT(PMI2_KVS_Fence() == PMI2_SUCCESS);
    /* Without a way to the other side, it is a job that nobody knows. */
    WANT(PMI2_Job_Connect(side->other, NULL) != PMI2_SUCCESS);
    WANT(PMI2_Job_Connect(side->other, &conn) == PMI2_SUCCESS);
    WANT(side->written > 0 && side->got == side->written);
    for (i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        snprintf(wanted, sizeof(wanted), "%d; of =%s", i, side->other);
        WANT(PMI2_KVS_Get(side->other, -1, key, value, sizeof(value), &length) == PMI2_SUCCESS);
        WANT(strcmp(value, wanted) == 0);
        snprintf(wanted, sizeof(wanted), "%d; of =%s", i, side->own);
        WANT(PMI2_KVS_Get(NULL, -1, key, value, sizeof(value), &length) == PMI2_SUCCESS);
        WANT(strcmp(value, wanted) == 0);
    }
    WANT(PMI2_Job_Disconnect(side->other) == PMI2_SUCCESS);
    WANT(PMI2_KVS_Get(side->other, -1, "key-1", value, sizeof(value), &length) != PMI2_SUCCESS);
    WANT(PMI2_Finalize() == PMI2_SUCCESS);
    return 0;
}

static void two_launchers(int left, int right)
{
    struct live *launchers[2] = {live_new("7.0", 1, 1), live_new("8.0", 1, 1)};
    struct side sides[2] = {{.own = "7.0", .other = "8.0", .master = left},
                            {.own = "8.0", .other = "7.0", .master = right}};
    pid_t processes[2];
    int ends[2], i;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    for (i = 0; i < 2; i++) {
        sides[i].fd = ends[i];
        processes[i] = live_fork(launchers, 2, launchers[i], 0, cross, &sides[i]);
    }
    for (i = 0; i < 2; i++) {
        close(ends[i]);
        live_leave(launchers[i]);
    }
    live_serve(launchers, 2);
    for (i = 0; i < 2; i++)
        live_free(launchers[i]);
    expect_done(processes, 2);
}

static void pmi2_73_pairs_cross(void **state)
{
    two_launchers(1, 0);
    two_launchers(0, 1);
}

static void pmi2_73_pairs_cross_without_a_master(void **state)
{
    two_launchers(-1, -1);
}

/* ---- all pairs --------------------------------------------------------------------------------
 */

static int iterate(void *context)
{
    char name[PMI2_MAX_KEYLEN * 4], key[65], value[1025], wanted[32];
    int seen[64] = {0}, ranks, me, i, number;

    WANT(PMI_Init(&spawned) == PMI_SUCCESS);
    WANT(PMI_Get_size(&ranks) == PMI_SUCCESS && PMI_Get_rank(&me) == PMI_SUCCESS);
    WANT(PMI_KVS_Get_my_name(name, sizeof(name)) == PMI_SUCCESS);
    /* None yet: an empty key. */
    WANT(PMI_KVS_Iter_first(name, key, sizeof(key), value, sizeof(value)) == PMI_SUCCESS);
    WANT(key[0] == '\0');
    for (i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "k%d", 20 * me + i);
        snprintf(value, sizeof(value), "v %d;", 20 * me + i);
        WANT(PMI_KVS_Put(name, key, value) == PMI_SUCCESS);
    }
    WANT(PMI_KVS_Commit(name) == PMI_SUCCESS && PMI_Barrier() == PMI_SUCCESS);
    WANT(PMI_KVS_Iter_first("no such space", key, sizeof(key), value, sizeof(value)) ==
         PMI_ERR_INVALID_KVS);
    WANT(PMI_KVS_Iter_first(name, NULL, 0, value, sizeof(value)) == PMI_ERR_INVALID_ARG);
    WANT(PMI_KVS_Iter_first(name, key, 1, value, sizeof(value)) == PMI_ERR_INVALID_LENGTH);
    for (i = PMI_KVS_Iter_first(name, key, sizeof(key), value, sizeof(value));
         i == PMI_SUCCESS && key[0] != '\0';
         i = PMI_KVS_Iter_next(name, key, sizeof(key), value, sizeof(value))) {
        WANT(sscanf(key, "k%d", &number) == 1 && number >= 0 && number < 20 * ranks);
        snprintf(wanted, sizeof(wanted), "v %d;", number);
        WANT(strcmp(value, wanted) == 0);
        seen[number]++;
    }
    WANT(i == PMI_SUCCESS);
    for (number = 0; number < 20 * ranks; number++)
        WANT(seen[number] == 1);
    WANT(PMI_KVS_Iter_next(name, key, sizeof(key), value, sizeof(value)) == PMI_SUCCESS);
    WANT(key[0] == '\0');
    WANT(PMI_Finalize() == PMI_SUCCESS);
    return 0;
}

static void pairs_are_listed(void **state)
{
    run(2, 2, iterate);
}

/* ---- a large node -----------------------------------------------------------------------------
 */

static int many_local_ranks(void *context)
{
    static int local[6000];
    char text[1025];
    int count, found, i;

    WANT(join() == PMI2_SUCCESS && size == 5000);
    WANT(PMI2_Info_GetNodeAttrIntArray("localRanks", local, 6000, &count, &found) == PMI2_SUCCESS);
    WANT(found && count == 5000);
    for (i = 0; i < count; i++)
        WANT(local[i] == i);
    WANT(PMI2_Info_GetNodeAttrIntArray("localRanks", local, 3000, &count, &found) == PMI2_SUCCESS);
    WANT(found && count == 3000 && local[2999] == 2999);
    WANT(PMI2_Info_GetNodeAttr("localRanks", text, sizeof(text), &found, 0) == PMI2_ERR_NOMEM);
    WANT(found && strncmp(text, "0,1,2,3,", 8) == 0 && strlen(text) == 1024);
    WANT(PMI2_Info_GetNodeAttr("localRanksCount", text, sizeof(text), &found, 0) == PMI2_SUCCESS);
    WANT(strcmp(text, "5000") == 0);
    return PMI2_Finalize();
}

static void pmi2_50_large_node(void **state)
{
    run(5000, 1, many_local_ranks);
}

/* More than a frame holds: it comes in pieces. */
static int ranks_beyond_a_frame(void *context)
{
    static int local[20000];
    char text[1025];
    int count, found, i;

    WANT(join() == PMI2_SUCCESS && size == 20000);
    WANT(PMI2_Info_GetNodeAttrIntArray("localRanks", local, 20000, &count, &found) == PMI2_SUCCESS);
    WANT(found && count == 20000);
    for (i = 0; i < count; i++)
        WANT(local[i] == i);
    WANT(PMI2_Info_GetNodeAttr("localRanks", text, sizeof(text), &found, 0) == PMI2_ERR_NOMEM);
    WANT(found && strncmp(text, "0,1,2,3,", 8) == 0 && strlen(text) == 1024);
    return PMI2_Finalize();
}

static void pmi2_50_node_beyond_a_frame(void **state)
{
    run(20000, 1, ranks_beyond_a_frame);
}

/* ---- a mapping that is no attribute -----------------------------------------------------------
 */

#define SCATTERED 20000

/* Nodes without any pattern; the first rank is on node 0. */
static uint32_t scattered(uint32_t of)
{
    return of * 2654435761u >> 30;
}

static int find_nodes(void *context)
{
    static int clique[SCATTERED];
    char text[1025];
    int count, found, nid, i, here = 0, *nids;

    WANT(PMI_Init(&spawned) == PMI_SUCCESS);
    WANT(PMI2_Info_GetJobAttr("PMI_process_mapping", text, sizeof(text), &found) == 0 && !found);
    for (i = 0; i < SCATTERED; i++) {
        WANT(PMI_Get_nid(i, &nid) == PMI_SUCCESS && nid == (int)scattered((uint32_t)i));
        here += nid == 0;
    }
    WANT(PMI_Get_clique_size(&count) == PMI_SUCCESS && count == here);
    WANT(PMI_Get_clique_ranks(clique, count) == PMI_SUCCESS && clique[0] == 0);
    for (i = 0; i < count; i++)
        WANT(scattered((uint32_t)clique[i]) == 0);
    WANT(PMI_Get_nidlist_ptr((void **)&nids) == PMI_SUCCESS);
    for (i = 0; i < SCATTERED; i++)
        WANT(nids[i] == (int)scattered((uint32_t)i));
    WANT(PMI_Get_pes_on_smp(clique, count - 1) == PMI_ERR_INVALID_LENGTH);
    memset(clique, 0xff, sizeof(clique));
    WANT(PMI_Get_pes_on_smp(clique, count) == PMI_SUCCESS);
    for (i = 0; i < count; i++)
        WANT(scattered((uint32_t)clique[i]) == 0 && clique[i] > (i == 0 ? -1 : clique[i - 1]));
    WANT(PMI_Get_app_size(&count) == PMI_SUCCESS && count == SCATTERED);
    WANT(PMI_Get_rank_in_app(&count) == PMI_SUCCESS && count == 0);
    WANT(PMI_Get_nidlist_ptr(NULL) == PMI_ERR_INVALID_ARG);
    return PMI_Finalize();
}

static void pmi2_109_node_of_a_rank_by_a_long_mapping(void **state)
{
    static uint32_t node_of[SCATTERED];
    uint32_t i;

    for (i = 0; i < SCATTERED; i++)
        node_of[i] = scattered(i);
    run_live(live_new_on("1.0", SCATTERED, node_of, 4, 1), 1, find_nodes);
}

/* ---- those that are left ----------------------------------------------------------------------
 */

static int survive(void *context)
{
    char value[16];
    int length;

    WANT(join() == PMI2_SUCCESS);
    if (rank == 3)
        return 0; /* as if it had crashed */
    snprintf(value, sizeof(value), "%d", rank);
    WANT(PMI2_KVS_Put(value, value) == PMI2_SUCCESS);
    if (rank == 2)
        return PMI2_Finalize();
    WANT(PMI2_KVS_Fence() != PMI2_SUCCESS);
    WANT(PMI2X_KVS_Fence_survivors() == PMI2_SUCCESS);
    WANT(PMI2_KVS_Get(NULL, -1, rank == 0 ? "1" : "0", value, 16, &length) == PMI2_SUCCESS);
    WANT(PMI2_KVS_Put("again", "and again") == PMI2_SUCCESS);
    WANT(PMI2X_Get_api(1)->kvs_fence_survivors() == PMI2_SUCCESS);
    WANT(PMI2_KVS_Get(NULL, -1, "again", value, 16, &length) == PMI2_SUCCESS && length == 9);
    return PMI2_Finalize();
}

static void fence_of_survivors(void **state)
{
    run(4, 4, survive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pmi2_73_pairs_cross),
        cmocka_unit_test(pmi2_73_pairs_cross_without_a_master),
        cmocka_unit_test(pairs_are_listed),
        cmocka_unit_test(pmi2_50_large_node),
        cmocka_unit_test(pmi2_50_node_beyond_a_frame),
        cmocka_unit_test(pmi2_109_node_of_a_rank_by_a_long_mapping),
        cmocka_unit_test(fence_of_survivors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
