/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libsisci.so: what a program for SISCI is linked with. sim-run has the functions themselves, and a
 * program there finds those. Here is a machine without a card: each call fails.
 */
#include <sisci_api.h>

#define UNUSED __attribute__((unused))

void SCIInitialize(UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCITerminate(void)
{
}

void SCIOpen(UNUSED sci_desc_t *desc, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIClose(UNUSED sci_desc_t desc, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIQuery(UNUSED unsigned command, UNUSED void *data, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

int SCIProbeNode(UNUSED sci_desc_t desc, UNUSED unsigned adapter, UNUSED unsigned node,
                 UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return 0;
}

void SCICreateSegment(UNUSED sci_desc_t desc, UNUSED sci_local_segment_t *segment,
                      UNUSED unsigned id, UNUSED size_t size,
                      UNUSED sci_cb_local_segment_t callback, UNUSED void *arg,
                      UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIPrepareSegment(UNUSED sci_local_segment_t segment, UNUSED unsigned adapter,
                       UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCISetSegmentAvailable(UNUSED sci_local_segment_t segment, UNUSED unsigned adapter,
                            UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCISetSegmentUnavailable(UNUSED sci_local_segment_t segment, UNUSED unsigned adapter,
                              UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIRemoveSegment(UNUSED sci_local_segment_t segment, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void *SCIMapLocalSegment(UNUSED sci_local_segment_t segment, UNUSED sci_map_t *map,
                         UNUSED size_t offset, UNUSED size_t size, UNUSED void *hint,
                         UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return NULL;
}

void SCIConnectSegment(UNUSED sci_desc_t desc, UNUSED sci_remote_segment_t *segment,
                       UNUSED unsigned node, UNUSED unsigned id, UNUSED unsigned adapter,
                       UNUSED sci_cb_remote_segment_t callback, UNUSED void *arg,
                       UNUSED unsigned timeout, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIDisconnectSegment(UNUSED sci_remote_segment_t segment, UNUSED unsigned flags,
                          sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

size_t SCIGetRemoteSegmentSize(UNUSED sci_remote_segment_t segment)
{
    return 0;
}

volatile void *SCIMapRemoteSegment(UNUSED sci_remote_segment_t segment, UNUSED sci_map_t *map,
                                   UNUSED size_t offset, UNUSED size_t size, UNUSED void *hint,
                                   UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return NULL;
}

void SCIUnmapSegment(UNUSED sci_map_t map, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCICreateMapSequence(UNUSED sci_map_t map, UNUSED sci_sequence_t *sequence,
                          UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIRemoveSequence(UNUSED sci_sequence_t sequence, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

sci_sequence_status_t SCIStartSequence(UNUSED sci_sequence_t sequence, UNUSED unsigned flags,
                                       sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return SCI_SEQ_NOT_RETRIABLE;
}

sci_sequence_status_t SCICheckSequence(UNUSED sci_sequence_t sequence, UNUSED unsigned flags,
                                       sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return SCI_SEQ_NOT_RETRIABLE;
}

void(SCIStoreBarrier)(UNUSED sci_sequence_t sequence, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIFlush(UNUSED sci_sequence_t sequence, UNUSED unsigned flags)
{
}

void SCIMemCopy(UNUSED const void *source, UNUSED sci_map_t map, UNUSED size_t offset,
                UNUSED size_t size, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIMemCpy(UNUSED sci_sequence_t sequence, UNUSED const void *source, UNUSED sci_map_t map,
               UNUSED size_t offset, UNUSED size_t size, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCITransferBlock(UNUSED sci_map_t source, UNUSED size_t source_offset, UNUSED sci_map_t target,
                      UNUSED size_t target_offset, UNUSED size_t size, UNUSED unsigned flags,
                      sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCICreateDMAQueue(UNUSED sci_desc_t desc, UNUSED sci_dma_queue_t *queue,
                       UNUSED unsigned adapter, UNUSED unsigned entries, UNUSED unsigned flags,
                       sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIRemoveDMAQueue(UNUSED sci_dma_queue_t queue, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

sci_dma_queue_state_t SCIEnqueueDMATransfer(UNUSED sci_dma_queue_t queue,
                                            UNUSED sci_local_segment_t local,
                                            UNUSED sci_remote_segment_t remote,
                                            UNUSED size_t local_offset, UNUSED size_t remote_offset,
                                            UNUSED size_t size, UNUSED unsigned flags,
                                            sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return SCI_DMAQUEUE_ERROR;
}

void SCIPostDMAQueue(UNUSED sci_dma_queue_t queue, UNUSED sci_cb_dma_t callback, UNUSED void *arg,
                     UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

sci_dma_queue_state_t SCIWaitForDMAQueue(UNUSED sci_dma_queue_t queue, UNUSED unsigned timeout,
                                         UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return SCI_DMAQUEUE_ERROR;
}

void SCIAbortDMAQueue(UNUSED sci_dma_queue_t queue, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIResetDMAQueue(UNUSED sci_dma_queue_t queue, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

sci_dma_queue_state_t SCIDMAQueueState(UNUSED sci_dma_queue_t queue)
{
    return SCI_DMAQUEUE_ERROR;
}

void SCICreateInterrupt(UNUSED sci_desc_t desc, UNUSED sci_local_interrupt_t *interrupt,
                        UNUSED unsigned adapter, UNUSED unsigned *number,
                        UNUSED sci_cb_interrupt_t callback, UNUSED void *arg, UNUSED unsigned flags,
                        sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIRemoveInterrupt(UNUSED sci_local_interrupt_t interrupt, UNUSED unsigned flags,
                        sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIWaitForInterrupt(UNUSED sci_local_interrupt_t interrupt, UNUSED unsigned timeout,
                         UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIConnectInterrupt(UNUSED sci_desc_t desc, UNUSED sci_remote_interrupt_t *interrupt,
                         UNUSED unsigned node, UNUSED unsigned adapter, UNUSED unsigned number,
                         UNUSED unsigned timeout, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIDisconnectInterrupt(UNUSED sci_remote_interrupt_t interrupt, UNUSED unsigned flags,
                            sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCITriggerInterrupt(UNUSED sci_remote_interrupt_t interrupt, UNUSED unsigned flags,
                         sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIGetLocalNodeId(UNUSED unsigned adapter, UNUSED unsigned *node, UNUSED unsigned flags,
                       sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

const char *SCIGetErrorString(UNUSED sci_error_t error)
{
    return "there is no SCI card outside of a simulation";
}

unsigned SCIGetLocalSegmentId(UNUSED sci_local_segment_t segment)
{
    return 0;
}

sci_segment_cb_reason_t SCIWaitForLocalSegmentEvent(UNUSED sci_local_segment_t segment,
                                                    UNUSED unsigned *node, UNUSED unsigned *adapter,
                                                    UNUSED unsigned timeout, UNUSED unsigned flags,
                                                    sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return SCI_CB_LOST;
}

unsigned SCIGetRemoteSegmentId(UNUSED sci_remote_segment_t segment)
{
    return 0;
}

sci_segment_cb_reason_t SCIWaitForRemoteSegmentEvent(UNUSED sci_remote_segment_t segment,
                                                     UNUSED sci_error_t *status,
                                                     UNUSED unsigned timeout, UNUSED unsigned flags,
                                                     sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
    return SCI_CB_LOST;
}

void SCIFlushReadBuffers(UNUSED sci_sequence_t sequence)
{
}

void SCITransferBlockAsync(UNUSED sci_map_t source, UNUSED size_t source_offset,
                           UNUSED sci_map_t target, UNUSED size_t target_offset, UNUSED size_t size,
                           UNUSED sci_block_transfer_t *block,
                           UNUSED sci_cb_block_transfer_t callback, UNUSED void *arg,
                           UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIWaitForBlockTransfer(UNUSED sci_block_transfer_t block, UNUSED unsigned timeout,
                             UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIAbortBlockTransfer(UNUSED sci_block_transfer_t block, UNUSED unsigned flags,
                           sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIStartDmaTransfer(UNUSED sci_dma_queue_t queue, UNUSED sci_local_segment_t local,
                         UNUSED sci_remote_segment_t remote, UNUSED size_t local_offset,
                         UNUSED size_t size, UNUSED size_t remote_offset,
                         UNUSED sci_cb_dma_t callback, UNUSED void *arg, UNUSED unsigned flags,
                         sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIStartDmaTransferVec(UNUSED sci_dma_queue_t queue, UNUSED sci_local_segment_t local,
                            UNUSED sci_remote_segment_t remote, UNUSED size_t count,
                            UNUSED dis_dma_vec_t *parts, UNUSED sci_cb_dma_t callback,
                            UNUSED void *arg, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCICreateDataInterrupt(UNUSED sci_desc_t desc, UNUSED sci_local_data_interrupt_t *interrupt,
                            UNUSED unsigned adapter, UNUSED unsigned *number,
                            UNUSED sci_cb_data_interrupt_t callback, UNUSED void *arg,
                            UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIRemoveDataInterrupt(UNUSED sci_local_data_interrupt_t interrupt, UNUSED unsigned flags,
                            sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIWaitForDataInterrupt(UNUSED sci_local_data_interrupt_t interrupt, UNUSED void *data,
                             UNUSED unsigned *length, UNUSED unsigned timeout,
                             UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIConnectDataInterrupt(UNUSED sci_desc_t desc, UNUSED sci_remote_data_interrupt_t *interrupt,
                             UNUSED unsigned node, UNUSED unsigned adapter, UNUSED unsigned number,
                             UNUSED unsigned timeout, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCIDisconnectDataInterrupt(UNUSED sci_remote_data_interrupt_t interrupt, UNUSED unsigned flags,
                                sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void SCITriggerDataInterrupt(UNUSED sci_remote_data_interrupt_t interrupt, UNUSED const void *data,
                             UNUSED unsigned length, UNUSED unsigned flags, sci_error_t *error)
{
    *error = SCI_ERR_NO_SUCH_ADAPTERNO;
}

void sisci_store32(UNUSED sci_map_t map, UNUSED size_t offset, UNUSED uint32_t value)
{
}

void sisci_pause(UNUSED uint64_t *seen, UNUSED uint64_t nanoseconds)
{
}
