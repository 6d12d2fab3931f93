/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two processes with a segment each: programmed copies, DMA and interrupts. argv: the SCI nodes of
 * ranks 0 and 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "sisci_types.h"
#include "sisci_error.h"
#include "sisci_api.h"

#define NO_FLAGS 0
#define NO_CALLBACK NULL
#define ADAPTER 0
#define INTERRUPT 7
#define BYTES 65536
#define WORDS (BYTES / (int)sizeof(int))

sci_error_t error;
sci_desc_t sd;
sci_local_segment_t local;
sci_remote_segment_t remote;
sci_map_t local_map, remote_map;
sci_sequence_t sequence;
sci_local_interrupt_t own_interrupt;
sci_remote_interrupt_t peer_interrupt;
volatile int *received;
int words[WORDS];

static void check(const char *what)
{
    if (error != SCI_ERR_OK) {
        fprintf(stderr, "%s: 0x%x\n", what, error);
        exit(1);
    }
}

static void open_card(unsigned *node)
{
    sci_query_adapter_t query;

    SCIInitialize(NO_FLAGS, &error);
    check("SCIInitialize");
    SCIOpen(&sd, NO_FLAGS, &error);
    check("SCIOpen");
    query.localAdapterNo = ADAPTER;
    query.portNo = 0;
    query.subcommand = SCI_Q_ADAPTER_NODEID;
    query.data = node;
    SCIQuery(SCI_Q_ADAPTER, &query, NO_FLAGS, &error);
    check("SCIQuery");
}

static void create()
{
    unsigned number = INTERRUPT;

    SCICreateSegment(sd, &local, 100, BYTES, NO_CALLBACK, NULL, NO_FLAGS, &error);
    check("SCICreateSegment");
    SCIPrepareSegment(local, ADAPTER, NO_FLAGS, &error);
    check("SCIPrepareSegment");
    received =
        (volatile int *)SCIMapLocalSegment(local, &local_map, 0, BYTES, NULL, NO_FLAGS, &error);
    check("SCIMapLocalSegment");
    SCICreateInterrupt(sd, &own_interrupt, ADAPTER, &number, NO_CALLBACK, NULL,
                       SCI_FLAG_FIXED_INTNO, &error);
    check("SCICreateInterrupt");
    SCISetSegmentAvailable(local, ADAPTER, NO_FLAGS, &error);
    check("SCISetSegmentAvailable");
}

static void connect_peer(unsigned peer)
{
    do {
        SCIConnectSegment(sd, &remote, peer, 100, ADAPTER, NO_CALLBACK, NULL, SCI_INFINITE_TIMEOUT,
                          NO_FLAGS, &error);
    } while (error == SCI_ERR_NO_SUCH_SEGMENT && usleep(1000) == 0);
    check("SCIConnectSegment");
    SCIMapRemoteSegment(remote, &remote_map, 0, BYTES, NULL, NO_FLAGS, &error);
    check("SCIMapRemoteSegment");
    SCICreateMapSequence(remote_map, &sequence, NO_FLAGS, &error);
    check("SCICreateMapSequence");
    SCIConnectInterrupt(sd, &peer_interrupt, peer, ADAPTER, INTERRUPT, SCI_INFINITE_TIMEOUT,
                        NO_FLAGS, &error);
    check("SCIConnectInterrupt");
}

static void trigger()
{
    SCITriggerInterrupt(peer_interrupt, NO_FLAGS, &error);
    check("SCITriggerInterrupt");
}

static void wait_for_peer()
{
    SCIWaitForInterrupt(own_interrupt, SCI_INFINITE_TIMEOUT, NO_FLAGS, &error);
    check("SCIWaitForInterrupt");
}

/* The first half by the processor, the second one by DMA. */
static void send_words()
{
    sci_dma_queue_t queue;

    do {
        SCIStartSequence(sequence, NO_FLAGS, &error);
        SCIMemCpy(sequence, words, remote_map, 0, BYTES / 2, SCI_FLAG_ERROR_CHECK, &error);
        check("SCIMemCpy");
        SCIStoreBarrier(sequence, NO_FLAGS, &error);
    } while (SCICheckSequence(sequence, NO_FLAGS, &error) != SCI_SEQ_OK);
    SCICreateDMAQueue(sd, &queue, ADAPTER, 4, NO_FLAGS, &error);
    check("SCICreateDMAQueue");
    memcpy((void *)(received + WORDS / 2), words + WORDS / 2, BYTES / 2);
    SCIEnqueueDMATransfer(queue, local, remote, BYTES / 2, BYTES / 2, BYTES / 2, NO_FLAGS, &error);
    check("SCIEnqueueDMATransfer");
    SCIPostDMAQueue(queue, NO_CALLBACK, NULL, NO_FLAGS, &error);
    check("SCIPostDMAQueue");
    if (SCIWaitForDMAQueue(queue, SCI_INFINITE_TIMEOUT, NO_FLAGS, &error) != SCI_DMAQUEUE_DONE)
        fprintf(stderr, "the DMA is not done\n");
    SCIRemoveDMAQueue(queue, NO_FLAGS, &error);
    check("SCIRemoveDMAQueue");
    trigger();
}

static int count_bad()
{
    int i, bad = 0;

    wait_for_peer();
    for (i = 0; i < WORDS; i++)
        bad += received[i] != 3 * i + 1;
    return bad;
}

int main(int argc, char *argv[])
{
    unsigned own, first = atoi(argv[1]), second = atoi(argv[2]);
    int i;

    open_card(&own);
    create();
    connect_peer(own == first ? second : first);
    for (i = 0; i < WORDS; i++)
        words[i] = 3 * i + 1;
    if (own == first) {
        send_words();
        wait_for_peer();
    } else {
        fprintf(stderr, "%d bad\n", count_bad());
        trigger();
    }
    SCIRemoveSequence(sequence, NO_FLAGS, &error);
    SCIUnmapSegment(remote_map, NO_FLAGS, &error);
    SCIDisconnectSegment(remote, NO_FLAGS, &error);
    check("SCIDisconnectSegment");
    SCITerminate();
    return argc != 3;
}
