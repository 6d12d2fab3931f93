/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The remains of a session (mad-83): objects of the devices and threads are counted by the
 * calls that make and end them. After mad_exit none is left, also after a second session.
 */
#include "rank_programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <gni_pub.h>
#include <lnet/api.h>
#include <madeleine.h>
#include <sisci_api.h>
#include <vipl.h>

#include "pmi2.h"
#include "port/port.h"

enum kind {
    NICS,
    QUEUES,
    ENDPOINTS, /* of GNI, with their mailboxes */
    REGIONS,
    VIS,
    TAGS,
    SEGMENTS,
    CONNECTIONS, /* to segments */
    SEQUENCES,
    DESCRIPTORS, /* of LNet */
    THREADS,
    KINDS
};
static const char *const names[KINDS] = {"NICs",      "queues",      "endpoints", "regions",
                                         "VIs",       "tags",        "segments",  "connections",
                                         "sequences", "descriptors", "threads"};

enum { RANKS = 3 };
static int left[RANKS][KINDS], made[KINDS];

static void count_of(int *mine, enum kind kind, int change)
{
    mine[kind] += change;
    made[kind] += change > 0;
    if (kind == NICS && change < 0) /* it takes them with it */
        mine[QUEUES] = mine[REGIONS] = mine[TAGS] = 0;
}

/* Threads and fibers that belong to no rank are not Madeleine's. */
static void count(enum kind kind, int change)
{
    const struct rank *self = rank_self();

    if (self != NULL)
        count_of(left[rank_id(self)], kind, change);
}

/* LNet ends descriptors on fibers of its own. */
static struct {
    const void *user; /* NULL: ended */
    int *mine;
} descriptors[1 << 14];
static unsigned descriptor_count;

static void note_descriptor(const void *user)
{
    if (descriptor_count < sizeof(descriptors) / sizeof(descriptors[0])) {
        descriptors[descriptor_count].user = user;
        descriptors[descriptor_count++].mine = left[rank_id(rank_self())];
    }
    count(DESCRIPTORS, 1);
}

static void forget_descriptor(const void *user)
{
    for (unsigned i = 0; i < descriptor_count; i++)
        if (descriptors[i].user == user) {
            descriptors[i].user = NULL;
            count_of(descriptors[i].mine, DESCRIPTORS, -1);
            return;
        }
}

#define COUNTED(returns, good, kind, change, name, parameters, arguments) \
    returns __real_##name parameters;                                     \
    returns __wrap_##name parameters;                                     \
    returns __wrap_##name parameters                                      \
    {                                                                     \
        returns rc = __real_##name arguments;                             \
                                                                          \
        if (rc == good)                                                   \
            count(kind, change);                                          \
        return rc;                                                        \
    }
#define COUNTED_SCI(kind, change, name, parameters, arguments) \
    void __real_##name parameters;                             \
    void __wrap_##name parameters;                             \
    void __wrap_##name parameters                              \
    {                                                          \
        __real_##name arguments;                               \
        if (*error == SCI_ERR_OK)                              \
            count(kind, change);                               \
    }
#define COUNTED_GNI(kind, change, name, parameters, arguments) \
    COUNTED(gni_return_t, GNI_RC_SUCCESS, kind, change, name, parameters, arguments)
#define COUNTED_VIA(kind, change, name, parameters, arguments) \
    COUNTED(VIP_RETURN, VIP_SUCCESS, kind, change, name, parameters, arguments)

#pragma GCC visibility push(default)
COUNTED_GNI(NICS, 1, GNI_CdmCreate,
            (uint32_t id, uint8_t ptag, uint32_t cookie, uint32_t modes, gni_cdm_handle_t *cdm),
            (id, ptag, cookie, modes, cdm))
COUNTED_GNI(NICS, -1, GNI_CdmDestroy, (gni_cdm_handle_t cdm), (cdm))
COUNTED_GNI(QUEUES, 1, GNI_CqCreate,
            (gni_nic_handle_t nic, uint32_t entries, uint32_t delay, gni_cq_mode_t mode,
             void (*handler)(gni_cq_entry_t *, void *), void *context, gni_cq_handle_t *cq),
            (nic, entries, delay, mode, handler, context, cq))
COUNTED_GNI(QUEUES, -1, GNI_CqDestroy, (gni_cq_handle_t cq), (cq))
COUNTED_GNI(ENDPOINTS, 1, GNI_EpCreate,
            (gni_nic_handle_t nic, gni_cq_handle_t cq, gni_ep_handle_t *ep), (nic, cq, ep))
COUNTED_GNI(ENDPOINTS, -1, GNI_EpDestroy, (gni_ep_handle_t ep), (ep))
COUNTED_GNI(REGIONS, 1, GNI_MemRegister,
            (gni_nic_handle_t nic, uint64_t address, uint64_t length, gni_cq_handle_t cq,
             uint32_t flags, uint32_t index, gni_mem_handle_t *handle),
            (nic, address, length, cq, flags, index, handle))
COUNTED_GNI(REGIONS, -1, GNI_MemDeregister, (gni_nic_handle_t nic, gni_mem_handle_t *handle),
            (nic, handle))
COUNTED_VIA(NICS, 1, VipOpenNic, (const VIP_CHAR *name, VIP_NIC_HANDLE *nic), (name, nic))
COUNTED_VIA(NICS, -1, VipCloseNic, (VIP_NIC_HANDLE nic), (nic))
COUNTED_VIA(VIS, 1, VipCreateVi,
            (VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *attributes, VIP_CQ_HANDLE send,
             VIP_CQ_HANDLE receive, VIP_VI_HANDLE *vi),
            (nic, attributes, send, receive, vi))
COUNTED_VIA(VIS, -1, VipDestroyVi, (VIP_VI_HANDLE vi), (vi))
COUNTED_VIA(TAGS, 1, VipCreatePtag, (VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE *tag), (nic, tag))
COUNTED_VIA(TAGS, -1, VipDestroyPtag, (VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE tag), (nic, tag))
COUNTED_VIA(QUEUES, 1, VipCreateCQ, (VIP_NIC_HANDLE nic, VIP_ULONG entries, VIP_CQ_HANDLE *cq),
            (nic, entries, cq))
COUNTED_VIA(QUEUES, -1, VipDestroyCQ, (VIP_CQ_HANDLE cq), (cq))
COUNTED_VIA(REGIONS, 1, VipRegisterMem,
            (VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
             VIP_MEM_ATTRIBUTES *attributes, VIP_MEM_HANDLE *handle),
            (nic, address, length, attributes, handle))
COUNTED_VIA(REGIONS, -1, VipDeregisterMem,
            (VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle), (nic, address, handle))
COUNTED_SCI(NICS, 1, SCIOpen, (sci_desc_t * desc, unsigned flags, sci_error_t *error),
            (desc, flags, error))
COUNTED_SCI(NICS, -1, SCIClose, (sci_desc_t desc, unsigned flags, sci_error_t *error),
            (desc, flags, error))
COUNTED_SCI(SEGMENTS, 1, SCICreateSegment,
            (sci_desc_t desc, sci_local_segment_t *segment, unsigned id, size_t size,
             sci_cb_local_segment_t callback, void *arg, unsigned flags, sci_error_t *error),
            (desc, segment, id, size, callback, arg, flags, error))
COUNTED_SCI(SEGMENTS, -1, SCIRemoveSegment,
            (sci_local_segment_t segment, unsigned flags, sci_error_t *error),
            (segment, flags, error))
COUNTED_SCI(CONNECTIONS, 1, SCIConnectSegment,
            (sci_desc_t desc, sci_remote_segment_t *segment, unsigned node, unsigned id,
             unsigned adapter, sci_cb_remote_segment_t callback, void *arg, unsigned timeout,
             unsigned flags, sci_error_t *error),
            (desc, segment, node, id, adapter, callback, arg, timeout, flags, error))
COUNTED_SCI(CONNECTIONS, -1, SCIDisconnectSegment,
            (sci_remote_segment_t segment, unsigned flags, sci_error_t *error),
            (segment, flags, error))
COUNTED_SCI(SEQUENCES, 1, SCICreateMapSequence,
            (sci_map_t map, sci_sequence_t *sequence, unsigned flags, sci_error_t *error),
            (map, sequence, flags, error))
COUNTED_SCI(SEQUENCES, -1, SCIRemoveSequence,
            (sci_sequence_t sequence, unsigned flags, sci_error_t *error), (sequence, flags, error))
int __real_LNetMDAttach(struct lnet_handle_me entry, struct lnet_md md, enum lnet_unlink unlink,
                        struct lnet_handle_md *handle);
int __wrap_LNetMDAttach(struct lnet_handle_me entry, struct lnet_md md, enum lnet_unlink unlink,
                        struct lnet_handle_md *handle);
int __real_LNetMDBind(struct lnet_md md, enum lnet_unlink unlink, struct lnet_handle_md *handle);
int __wrap_LNetMDBind(struct lnet_md md, enum lnet_unlink unlink, struct lnet_handle_md *handle);

int __wrap_LNetMDAttach(struct lnet_handle_me entry, struct lnet_md md, enum lnet_unlink unlink,
                        struct lnet_handle_md *handle)
{
    int rc = __real_LNetMDAttach(entry, md, unlink, handle);

    if (rc == 0)
        note_descriptor(md.user_ptr);
    return rc;
}

int __wrap_LNetMDBind(struct lnet_md md, enum lnet_unlink unlink, struct lnet_handle_md *handle)
{
    int rc = __real_LNetMDBind(md, unlink, handle);

    if (rc == 0)
        note_descriptor(md.user_ptr);
    return rc;
}

void __real_mad_lnet_callback(struct lnet_event *event);
void __wrap_mad_lnet_callback(struct lnet_event *event);
struct port_thread *__real_port_thread_start(const char *name, void (*run)(void *), void *arg);
struct port_thread *__wrap_port_thread_start(const char *name, void (*run)(void *), void *arg);
void __real_port_thread_join(struct port_thread *thread);
void __wrap_port_thread_join(struct port_thread *thread);

void __wrap_mad_lnet_callback(struct lnet_event *event)
{
    if (event->unlinked)
        forget_descriptor(event->md.user_ptr);
    __real_mad_lnet_callback(event);
}

struct port_thread *__wrap_port_thread_start(const char *name, void (*run)(void *), void *arg)
{
    struct port_thread *thread = __real_port_thread_start(name, run, arg);

    if (thread != NULL)
        count(THREADS, 1);
    return thread;
}

void __wrap_port_thread_join(struct port_thread *thread)
{
    __real_port_thread_join(thread);
    count(THREADS, -1);
}
#pragma GCC visibility pop

/* ---- sessions -------------------------------------------------------------------------------- */

static void ring(struct rank *rank, p_mad_channel_t channel, char *block, size_t bytes)
{
    int own = (int)rank_id(rank), next = (own + 1) % RANKS;
    p_mad_connection_t in, out;

    for (int turn = 0; turn < RANKS; turn++) {
        if (turn == own) {
            out = mad_begin_packing(channel, next);
            mad_pack(out, block, bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
            mad_end_packing(out);
        }
        if (turn == (own + RANKS - 1) % RANKS) {
            in = mad_begin_unpacking(channel);
            mad_unpack(in, block, bytes, mad_send_CHEAPER, mad_receive_CHEAPER);
            mad_end_unpacking(in);
        }
    }
}

static int sessions_main(struct rank *rank)
{
    static const size_t lengths[] = {8, 5000, 300000};
    char *block = calloc(1, 300000);
    int failures = 0, spawned, size, number, job;

    /* A process is in touch with its process manager once, so this is not left to the sessions. */
    failures += SAYS(rank, PMI2_Init(&spawned, &size, &number, &job) == PMI2_SUCCESS);
    for (int session = 0; session < 2; session++) {
        p_mad_madeleine_t own = mad_init(NULL, NULL, NULL, NULL);
        p_mad_channel_t first = mad_open_channel(own, 0), second = mad_open_channel(own, 0);

        for (int i = 0; i < 3; i++) {
            ring(rank, first, block, lengths[i]);
            ring(rank, second, block, lengths[i]);
        }
        mad_exit(own);
        for (int kind = 0; kind < KINDS; kind++)
            if (left[rank_id(rank)][kind] != 0)
                failures += rank_fail(rank, "session %d leaves %d %s", session,
                                      left[rank_id(rank)][kind], names[kind]);
    }
    PMI2_Finalize();
    free(block);
    return failures;
}

static void run(const char *networks, const char *adapters)
{
    program_main *const mains[] = {sessions_main};
    char scenario[500];

    memset(left, 0, sizeof(left));
    memset(made, 0, sizeof(made));
    descriptor_count = 0;
    snprintf(scenario, sizeof(scenario),
             "%sjobs: [{name: a, nodes: 0-2, workload: mad_ping, env: {MAD_ADAPTERS: '%s'}}]\n"
             "expect: [{ledger: balanced}]\n",
             networks, adapters);
    assert_int_equal(programs_exit(programs_result(scenario, mains, 1)), EXIT_HOLDS);
}

static void mad_83_gni(void **state)
{
    (void)state;
    run(FABRIC, "gni");
    assert_true(made[NICS] >= 2 * RANKS && made[QUEUES] != 0 && made[REGIONS] != 0);
    assert_true(made[ENDPOINTS] >= 2 * RANKS * 2 * (RANKS - 1));
}

static void mad_83_via(void **state)
{
    (void)state;
    run("networks: [{name: net, kind: via, nodes: 3}]\n", "via:/dev/via_eth0");
    assert_true(made[VIS] != 0 && made[REGIONS] != 0 && made[TAGS] != 0 && made[NICS] != 0);
}

static void mad_83_sisci(void **state)
{
    (void)state;
    run("networks: [{name: net, kind: sci, nodes: 3}]\n", "sisci");
    assert_true(made[SEGMENTS] != 0 && made[CONNECTIONS] != 0 && made[SEQUENCES] != 0);
}

static void mad_83_lnet(void **state)
{
    (void)state;
    run("limits: {no_progress: 1000s}\n"
        "networks: [{name: net, topology: single-switch, nodes: 64}]\n"
        "lnet: {nodes: [{nodes: 0-2, networks: tcp(net)}]}\n",
        "lnet");
    assert_true(made[DESCRIPTORS] != 0);
}

static void mad_83_mpi(void **state)
{
    (void)state;
    run(FABRIC, "mpi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mad_83_gni),  cmocka_unit_test(mad_83_via), cmocka_unit_test(mad_83_sisci),
        cmocka_unit_test(mad_83_lnet), cmocka_unit_test(mad_83_mpi),
    };

    return cmocka_run_group_tests_name("what sessions leave", tests, NULL, NULL);
}
