/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DMA over SISCI: local segments that the card reads, and its queue. */
#include <string.h>

#include "sisci.h"

enum { TRIES_MAX = 6 };

int mad_sisci_dma_init(struct msisci_peer *peer, unsigned id)
{
    const struct msisci_adapter *adapter = peer->channel->adapter;
    sci_error_t error = SCI_ERR_OK;

    if (adapter->dma_min == SIZE_MAX)
        return MAD_OK;
    for (unsigned i = 0; i < MSISCI_STAGINGS && error == SCI_ERR_OK; i++) {
        struct msisci_local *staging = &peer->staging[i];

        SCICreateSegment(adapter->desc, &staging->segment, id + (i << 24), MSISCI_DATA_BYTES, NULL,
                         NULL, 0, &error);
        if (error != SCI_ERR_OK) {
            staging->segment = NULL;
            break;
        }
        SCIPrepareSegment(staging->segment, adapter->number, 0, &error); /* nobody connects to it */
        if (error == SCI_ERR_OK)
            staging->memory = SCIMapLocalSegment(staging->segment, &staging->map, 0,
                                                 MSISCI_DATA_BYTES, NULL, 0, &error);
    }
    if (error == SCI_ERR_OK)
        SCICreateDMAQueue(adapter->desc, &peer->queue, adapter->number, 1, 0, &error);
    if (error == SCI_ERR_OK)
        return MAD_OK;
    mad_driver_note(peer->out, "SISCI: no memory or queue for DMA", (int)error);
    return MAD_EDRIVER;
}

void mad_sisci_dma_fini(struct msisci_peer *peer)
{
    sci_error_t error;

    if (peer->queue != NULL)
        SCIRemoveDMAQueue(peer->queue, 0, &error);
    peer->queue = NULL;
    for (unsigned i = 0; i < MSISCI_STAGINGS; i++) {
        struct msisci_local *staging = &peer->staging[i];

        if (staging->map != NULL)
            SCIUnmapSegment(staging->map, 0, &error);
        if (staging->segment != NULL)
            SCIRemoveSegment(staging->segment, 0, &error);
        *staging = (struct msisci_local){0};
    }
}

int mad_sisci_dma_post(struct msisci_peer *peer, struct msisci_remote *remote, unsigned which,
                       size_t bytes)
{
    sci_error_t error;

    SCIEnqueueDMATransfer(peer->queue, peer->staging[which].segment, remote->segment, 0,
                          MSISCI_DATA, bytes, 0, &error);
    if (error == SCI_ERR_OK)
        SCIPostDMAQueue(peer->queue, NULL, NULL, 0, &error);
    if (error == SCI_ERR_OK)
        return MAD_OK;
    mad_sisci_lost(peer, peer->gone ? MAD_EPEER : MAD_EDRIVER, error);
    return mad_connection_error(peer->out);
}

int mad_sisci_dma_wait(struct msisci_peer *peer, struct msisci_remote *remote, unsigned which,
                       size_t bytes, bool *moved)
{
    sci_dma_queue_state_t state;
    sci_error_t error, reset;
    int code;

    for (int tries = 1;; tries++) {
        state = SCIWaitForDMAQueue(peer->queue, SCI_INFINITE_TIMEOUT, 0, &error);
        SCIResetDMAQueue(peer->queue, 0, &reset);
        *moved = state == SCI_DMAQUEUE_DONE;
        if (*moved || (tries == TRIES_MAX && !peer->gone))
            return MAD_OK;
        if (peer->gone) {
            mad_sisci_lost(peer, MAD_EPEER, error);
            return mad_connection_error(peer->out);
        }
        code = mad_sisci_dma_post(peer, remote, which, bytes);
        if (code != MAD_OK)
            return code;
    }
}
