/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An ordinary program with a main() for test_findings_programs.py: a ring over uGNI that passes
 * blocks on with PUTs, or makes the mistake that its argument names.
 */
#include <gni_pub.h>
#include <pmi2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 8192, STEPS = 6 };

struct place {
    gni_mem_handle_t memory;
    uint64_t address;
    uint32_t nic;
};

static int rank, size;
static uint8_t out[BLOCK], in[STEPS][BLOCK];
static int *volatile nowhere;
static volatile int never;

static void publish(const struct place *mine)
{
    char key[24], value[2 * sizeof(*mine) + 1];
    size_t i;

    for (i = 0; i < sizeof(*mine); i++)
        snprintf(value + 2 * i, 3, "%02x", ((const uint8_t *)mine)[i]);
    snprintf(key, sizeof(key), "place%d", rank);
    PMI2_KVS_Put(key, value);
    PMI2_KVS_Fence();
}

static struct place look_up(int other)
{
    char key[24], value[PMI2_MAX_VALLEN];
    struct place place;
    size_t i;
    int length;

    snprintf(key, sizeof(key), "place%d", other);
    PMI2_KVS_Get(NULL, PMI2_ID_NULL, key, value, sizeof(value), &length);
    for (i = 0; i < sizeof(place); i++) {
        unsigned byte = 0;

        sscanf(value + 2 * i, "%2x", &byte);
        ((uint8_t *)&place)[i] = (uint8_t)byte;
    }
    return place;
}

static gni_cq_entry_t event(gni_cq_handle_t cq)
{
    gni_cq_entry_t entry;

    while (GNI_CqGetEvent(cq, &entry) == GNI_RC_NOT_DONE)
        ;
    return entry;
}

static int ring(int collects, int overwrites)
{
    gni_post_descriptor_t put[STEPS] = {0}, *done;
    gni_cq_handle_t posts, arrivals;
    gni_mem_handle_t source;
    gni_cdm_handle_t cdm;
    gni_nic_handle_t nic;
    struct place mine, right;
    gni_ep_handle_t ep;
    int step, bad = 0;

    bad |= GNI_CdmCreate(rank, (uint8_t)atoi(getenv("PMI_GNI_PTAG")),
                         (uint32_t)strtoul(getenv("PMI_GNI_COOKIE"), NULL, 0), 0, &cdm);
    bad |= GNI_CdmAttach(cdm, 0, &mine.nic, &nic);
    bad |= GNI_CqCreate(nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &posts);
    bad |= GNI_CqCreate(nic, 64, 0, GNI_CQ_NOBLOCK, NULL, NULL, &arrivals);
    mine.address = (uint64_t)(uintptr_t)in;
    bad |= GNI_MemRegister(nic, mine.address, sizeof(in), arrivals, GNI_MEM_READWRITE, -1,
                           &mine.memory);
    bad |= GNI_MemRegister(nic, (uint64_t)(uintptr_t)out, sizeof(out), NULL, GNI_MEM_READWRITE, -1,
                           &source);
    publish(&mine);
    right = look_up((rank + 1) % size);
    bad |= GNI_EpCreate(nic, posts, &ep);
    bad |= GNI_EpBind(ep, right.nic, (uint32_t)((rank + 1) % size));
    for (step = 0; step < STEPS && bad == 0; step++) {
        memset(out, step + 1, sizeof(out));
        put[step].type = overwrites ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT;
        put[step].cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT;
        put[step].local_addr = (uint64_t)(uintptr_t)out;
        put[step].local_mem_hndl = source;
        put[step].remote_addr = right.address + (uint64_t)step * BLOCK;
        put[step].remote_mem_hndl = right.memory;
        put[step].length = BLOCK;
        bad |= overwrites ? GNI_PostRdma(ep, &put[step]) : GNI_PostFma(ep, &put[step]);
        if (overwrites && rank == 2)
            memset(out + 128, 255, 8);
        if (collects)
            bad |= GNI_GetCompleted(posts, event(posts), &done);
        event(arrivals);
        PMI2_KVS_Fence();
    }
    return bad;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "right";
    int spawned, number, bad = 0;

    PMI2_Init(&spawned, &size, &rank, &number);
    if (rank == 2 && strcmp(how, "crash") == 0)
        *nowhere = 1;
    if (rank == 2 && strcmp(how, "spin") == 0)
        while (!never)
            ;
    if (strcmp(how, "crash") != 0 && strcmp(how, "spin") != 0)
        bad = ring(strcmp(how, "unread") != 0, strcmp(how, "overwrite") == 0);
    PMI2_Finalize();
    return bad != 0;
}
