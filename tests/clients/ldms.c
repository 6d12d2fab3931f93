/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In the style of LDMS's zap_ugni: a daemon on each node that configures its own protection tag as
 * root, finds its peers among the nodes of the machine, waits in poll() on a completion channel,
 * and has a thread for error events. Rank 0 collects from the others again and again; the node of
 * the last rank may die meanwhile (first argument: how many samples it is expected to give at
 * least).
 */
#include <pmi2.h>
#include <poll.h>
#include <pthread.h>
#include <rca_lib.h>
#include <unistd.h>
#include "client.h"

enum { NODE_GOOD = 7, SAMPLES = 8, SET_BYTES = 24 * 1024 };

struct set {
    uint64_t address;
    gni_mem_handle_t handle;
    uint32_t node, pe;
};

static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t cq;
static gni_comp_chan_handle_t channel;
static struct set mine, *sets;
static uint32_t *memory;
static uint8_t ptag;
static uint32_t cookie;
static int given_up, collected[64];

static int is_aries(void)
{
    char text[256];
    FILE *file = fopen("/proc/version", "r");
    int yes =
        file != NULL && fgets(text, sizeof(text), file) != NULL && strstr(text, "cray_ari") != NULL;

    if (file != NULL)
        fclose(file);
    return yes;
}

static void open_domain(void)
{
    gni_job_limits_t limits;
    uint32_t address;
    rs_node_t node;

    CHECK(is_aries());
    CHECK(rca_get_nodeid(&node) == 0);
    mine.node = node.rs_node_s._node_id;
    cookie = (uint32_t)strtoul(getenv("ZAP_UGNI_COOKIE"), NULL, 0);
#ifdef GNI_FIND_ALLOC_PTAG
    ptag = GNI_FIND_ALLOC_PTAG;
#else
#error "the tag must be known to be a macro"
#endif
    if (geteuid() == 0) {
        memset(&limits, GNI_JOB_INVALID_LIMIT, sizeof(limits));
        limits.ntt_ctrl = GNI_JOB_CTRL_NTT_CLEANUP;
        limits.ntt_base = 0;
        limits.ntt_size = 0;
        OK(GNI_ConfigureJob(0, 0, ptag, cookie, &limits));
    }
    OK(GNI_CdmCreate(mine.node << 8 | (uint32_t)(getpid() & 0xff), ptag, cookie,
                     GNI_CDM_MODE_FMA_SHARED, &cdm));
    OK(GNI_CdmAttach(cdm, 0, &address, &nic));
    mine.pe = address;
    OK(GNI_CqCreate(nic, 65536, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq));
    OK(GNI_CompChanCreate(nic, &channel));
    OK(GNI_CqAttachCompChan(cq, channel));
    OK(GNI_CqArmCompChan(&cq, 1));
}

/* Collects from the nodes that are up. */
static int node_is_good(uint32_t wanted)
{
    rs_node_array_t nodes;
    int i, good = 0;

    CHECK(rca_get_sysnodes(&nodes) == 0);
    for (i = 0; i < nodes.na_len; i++)
        if (nodes.na_ids[i].rs_node_s._node_id == wanted)
            good = nodes.na_ids[i].rs_node_s._node_state == NODE_GOOD;
    free(nodes.na_ids);
    return good;
}

static void *error_thread(void *arg)
{
    gni_err_handle_t errors;
    gni_error_event_t event;
    uint32_t count;
    gni_return_t status;

    (void)arg;
    OK(GNI_SubscribeErrors(nic, 0, 0, 64, &errors));
    do {
        status = GNI_WaitErrorEvents(errors, &event, 1, 1, &count);
    } while (status == GNI_RC_SUCCESS);
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The channel is armed before the queue is emptied, so that an event in between is not missed. */
static gni_return_t wait_completion(gni_post_descriptor_t *expected)
{
    gni_post_descriptor_t *completed = NULL;
    gni_cq_handle_t which;
    gni_cq_entry_t entry;
    gni_return_t status, first = GNI_RC_NOT_DONE;
    struct pollfd waiting;

    OK(GNI_CompChanFd(channel, &waiting.fd));
    waiting.events = POLLIN;
    while (completed == NULL) {
        CHECK(poll(&waiting, 1, -1) == 1 && waiting.revents == POLLIN);
        OK(GNI_CompChanGetEvent(channel, &which));
        CHECK(which == cq);
        OK(GNI_CqArmCompChan(&cq, 1));
        while ((status = GNI_CqGetEvent(cq, &entry)) != GNI_RC_NOT_DONE) {
            CHECK(!GNI_CQ_OVERRUN(entry));
            CHECK(status == GNI_RC_SUCCESS || status == GNI_RC_TRANSACTION_ERROR);
            CHECK(GNI_GetCompleted(cq, entry, &completed) == status && completed == expected);
            first = status;
        }
    }
    return first;
}

static int collect(gni_ep_handle_t ep, int peer, uint32_t sample)
{
    gni_post_descriptor_t descriptor;
    char *to = (char *)memory + SET_BYTES;
    const uint32_t *values = (const uint32_t *)(const void *)to;
    gni_return_t status;
    uint32_t i;

    memset(&descriptor, 0, sizeof(descriptor));
    descriptor.type = GNI_POST_RDMA_GET;
    descriptor.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
    descriptor.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
    descriptor.local_addr = mine.address + SET_BYTES;
    descriptor.local_mem_hndl = mine.handle;
    descriptor.remote_addr = sets[peer].address;
    descriptor.remote_mem_hndl = sets[peer].handle;
    descriptor.length = SET_BYTES;
    OK(GNI_PostRdma(ep, &descriptor));
    status = wait_completion(&descriptor);
    if (status != GNI_RC_SUCCESS)
        return 0; /* the node stays down */
    for (i = 0; i < SET_BYTES / 4; i++)
        CHECK(values[i] == (uint32_t)peer * 1000000 + i);
    (void)sample;
    return 1;
}

static void collect_all(void)
{
    gni_ep_handle_t *eps = calloc((size_t)job_size, sizeof(*eps));
    uint32_t sample;
    int i;

    for (i = 1; i < job_size; i++) {
        OK(GNI_EpCreate(nic, cq, &eps[i]));
        OK(GNI_EpBind(eps[i], sets[i].pe, 0));
    }
    for (sample = 0; sample < SAMPLES; sample++) {
        for (i = 1; i < job_size; i++) {
            if (eps[i] == NULL)
                continue;
            if (node_is_good(sets[i].node) && collect(eps[i], i, sample)) {
                collected[i]++;
                continue;
            }
            OK(GNI_EpDestroy(eps[i]));
            eps[i] = NULL;
            given_up++;
        }
        usleep(1000);
    }
    for (i = 1; i < job_size; i++)
        if (eps[i] != NULL)
            OK(GNI_EpDestroy(eps[i]));
    free(eps);
}

int main(int argc, char **argv)
{
    int i, dies = argc > 1, least = dies ? atoi(argv[1]) : SAMPLES;
    pthread_t thread;

    client_start();
    open_domain();
    memory = client_pages(2 * SET_BYTES);
    for (i = 0; i < SET_BYTES / 4; i++)
        memory[i] = (uint32_t)my_rank * 1000000 + (uint32_t)i;
    mine.address = (uint64_t)(uintptr_t)memory;
    OK(GNI_MemRegister(nic, mine.address, 2 * SET_BYTES, NULL, GNI_MEM_READWRITE, (uint32_t)-1,
                       &mine.handle));
    sets = client_allgather(&mine, sizeof(mine));
    CHECK(pthread_create(&thread, NULL, error_thread, NULL) == 0);
    PMI_Barrier();
    if (my_rank == 0) {
        collect_all();
        CHECK(given_up == dies);
        for (i = 1; i < job_size; i++)
            CHECK(collected[i] >= (i == job_size - 1 ? least : SAMPLES));
    }
    CHECK(PMI2X_KVS_Fence_survivors() ==
          PMI2_SUCCESS); /* no barrier: it fails when a rank has died */
    if (my_rank == 0)
        printf("ldms: %d daemons, %d of them lost\n", job_size, given_up);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
    OK(GNI_CdmDestroy(cdm));
    return 0;
}
