/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * SISCI, the API of Dolphin's SCI cards, as far as Madeleine and its tests use it: names, arguments
 * and error codes are those of the public header of 2001 (with SCIMemCopy of 2000). All calls
 * belong to the calling process's node; those that wait suspend the calling thread only.
 *
 * Memory. A remote segment is written by SCI_STORE32, SCIMemCopy, SCIMemCpy, SCITransferBlock or
 * DMA; the address of SCIMapRemoteSegment is good for reading. Stores are collected in lines of 64
 * bytes. A line leaves the card when its last word is stored, at a barrier, or some time later.
 * Lines that left since the last barrier become visible in any order. What is stored after
 * SCIStoreBarrier has returned is seen after all that was stored before it. The card repeats lost
 * lines; SCICheckSequence says whether it gave up on some.
 *
 * Pointers: every call stores SCI_ERR_OK or the reason of its failure in *error, which must not be
 * NULL. Callbacks run outside of the threads of the process and must not block nor call SISCI.
 *
 * Also here, for programs of later years: interrupts with data, events of segments, transfers that
 * are started with one call, and some queries.
 */
#ifndef SISCI_API_H
#define SISCI_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    SCI_ERR_OK = 0,
    SCI_ERR_BUSY = 0x40000900,
    SCI_ERR_FLAG_NOT_IMPLEMENTED,
    SCI_ERR_ILLEGAL_FLAG,
    SCI_ERR_NOSPC = 0x40000904,
    SCI_ERR_API_NOSPC,
    SCI_ERR_HW_NOSPC,
    SCI_ERR_NOT_IMPLEMENTED,
    SCI_ERR_ILLEGAL_ADAPTERNO,
    SCI_ERR_NO_SUCH_ADAPTERNO,
    SCI_ERR_TIMEOUT,
    SCI_ERR_OUT_OF_RANGE,
    SCI_ERR_NO_SUCH_SEGMENT,
    SCI_ERR_NO_SUCH_INTNO = SCI_ERR_NO_SUCH_SEGMENT,
    SCI_ERR_ILLEGAL_NODEID,
    SCI_ERR_CONNECTION_REFUSED,
    SCI_ERR_SEGMENT_NOT_CONNECTED,
    SCI_ERR_SIZE_ALIGNMENT,
    SCI_ERR_OFFSET_ALIGNMENT,
    SCI_ERR_ILLEGAL_PARAMETER,
    SCI_ERR_MAX_ENTRIES,
    SCI_ERR_SEGMENT_NOT_PREPARED,
    SCI_ERR_ILLEGAL_ADDRESS,
    SCI_ERR_ILLEGAL_OPERATION,
    SCI_ERR_ILLEGAL_QUERY,
    SCI_ERR_SEGMENTID_USED,
    SCI_ERR_SYSTEM,
    SCI_ERR_CANCELLED,
    SCI_ERR_NOT_CONNECTED,
    SCI_ERR_NOT_AVAILABLE,
    SCI_ERR_INCONSISTENT_VERSIONS,
    SCI_ERR_COND_INT_RACE_PROBLEM,
    SCI_ERR_OVERFLOW,
    SCI_ERR_NOT_INITIALIZED,
    SCI_ERR_ACCESS,
    SCI_ERR_NO_SUCH_NODEID = 0x40000a00,
    SCI_ERR_NODE_NOT_RESPONDING = 0x40000a02,
    SCI_ERR_NO_REMOTE_LINK_ACCESS = 0x40000a04,
    SCI_ERR_NO_LINK_ACCESS,
    SCI_ERR_TRANSFER_FAILED
} sci_error_t;

typedef struct sci_desc *sci_desc_t;
typedef struct sci_local_segment *sci_local_segment_t;
typedef struct sci_remote_segment *sci_remote_segment_t;
typedef struct sci_map *sci_map_t;
typedef struct sci_sequence *sci_sequence_t;
typedef struct sci_dma_queue *sci_dma_queue_t;
typedef struct sci_local_interrupt *sci_local_interrupt_t;
typedef struct sci_remote_interrupt *sci_remote_interrupt_t;
typedef struct sci_local_data_interrupt *sci_local_data_interrupt_t;
typedef struct sci_remote_data_interrupt *sci_remote_data_interrupt_t;
typedef struct sci_block_transfer *sci_block_transfer_t;

#define SCI_INFINITE_TIMEOUT 0xffffffffu /* other timeouts are milliseconds */

/* Flags of the calls. */
enum {
    SCI_FLAG_USE_CALLBACK = 1 << 0,
    SCI_FLAG_FIXED_INTNO = 1 << 1,
    SCI_FLAG_PRIVATE = 1 << 2,
    SCI_FLAG_EMPTY = 1 << 3,
    SCI_FLAG_BLOCK_READ = 1 << 4,
    SCI_FLAG_ERROR_CHECK = 1 << 5,
    SCI_FLAG_DMA_READ = 1 << 6,
    SCI_FLAG_DMA_POST = 1 << 7,
    SCI_FLAG_DMA_WAIT = 1 << 8,
    SCI_FLAG_DMA_RESET = 1 << 9,
    /* Accepted where the original accepts them, without effect: */
    SCI_FLAG_THREAD_SAFE = 1 << 10, /* SCIOpen: all calls are */
    SCI_FLAG_DMA_GLOBAL = 1 << 11, /* segments, DMA: each segment can be reached by DMA */
    SCI_FLAG_DMA_SOURCE_ONLY = 1 << 12, /* SCIPrepareSegment */
    SCI_FLAG_READONLY_MAP = 1 << 13, /* maps */
    SCI_FLAG_IO_MAP_IOSPACE = 1 << 14, /* maps */
    SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY = 1 << 15, /* SCIFlush */
    SCI_FLAG_AUTO_ID = 1 << 16, /* SCICreateSegment: the library chooses the id */
    /* SCI_ERR_FLAG_NOT_IMPLEMENTED: */
    SCI_FLAG_FIXED_MAP_ADDR = 1 << 17, /* maps at an address of the program */
    SCI_FLAG_ASYNCHRONOUS_CONNECT = 1 << 18, /* SCIConnectSegment */
    SCI_FLAG_SHARED_INT = 1 << 19, /* SCICreateInterrupt: several of one number */
    SCI_FLAG_NOTIFY = 1 << 20, /* SCISetSegmentUnavailable */
    SCI_FLAG_FORCE_DISCONNECT = 1 << 21, /* SCISetSegmentUnavailable */
    SCI_FLAG_LOCK_OPERATION = 1 << 22, /* maps for atomic operations */
    SCI_FLAG_FAST_BARRIER = 1 << 23, /* SCICreateMapSequence: accepted without effect */
    /* SCICheckSequence: lines that are not full stay; it does not wait */
    SCI_FLAG_NO_FLUSH = 1 << 24,
    SCI_FLAG_NO_STORE_BARRIER = 1 << 25,
    SCI_FLAG_LAST = SCI_FLAG_NO_STORE_BARRIER
};

typedef enum {
    SCI_CB_CONNECT = 1,
    SCI_CB_DISCONNECT,
    SCI_CB_NOT_OPERATIONAL,
    SCI_CB_OPERATIONAL,
    SCI_CB_LOST
} sci_segment_cb_reason_t;
typedef enum { SCI_CALLBACK_CANCEL = 1, SCI_CALLBACK_CONTINUE } sci_callback_action_t;

typedef sci_callback_action_t (*sci_cb_local_segment_t)(void *arg, sci_local_segment_t segment,
                                                        sci_segment_cb_reason_t reason,
                                                        unsigned node, unsigned adapter,
                                                        sci_error_t status);
typedef sci_callback_action_t (*sci_cb_remote_segment_t)(void *arg, sci_remote_segment_t segment,
                                                         sci_segment_cb_reason_t reason,
                                                         sci_error_t status);
typedef sci_callback_action_t (*sci_cb_dma_t)(void *arg, sci_dma_queue_t queue, sci_error_t status);
typedef sci_callback_action_t (*sci_cb_interrupt_t)(void *arg, sci_local_interrupt_t interrupt,
                                                    sci_error_t status);
/* `data` is valid during the call. */
typedef sci_callback_action_t (*sci_cb_data_interrupt_t)(void *arg,
                                                         sci_local_data_interrupt_t interrupt,
                                                         void *data, unsigned length,
                                                         sci_error_t status);
typedef sci_callback_action_t (*sci_cb_block_transfer_t)(void *arg, sci_block_transfer_t block,
                                                         sci_error_t status);

typedef enum {
    SCI_SEQ_OK,
    SCI_SEQ_RETRIABLE,
    SCI_SEQ_NOT_RETRIABLE,
    SCI_SEQ_PENDING
} sci_sequence_status_t;

typedef enum {
    SCI_DMAQUEUE_IDLE,
    SCI_DMAQUEUE_GATHER,
    SCI_DMAQUEUE_POSTED,
    SCI_DMAQUEUE_DONE,
    SCI_DMAQUEUE_ABORTED,
    SCI_DMAQUEUE_ERROR
} sci_dma_queue_state_t;

enum { SCI_Q_ADAPTER = 1, SCI_Q_API = 3, SCI_Q_VENDORID = 4 };
enum {
    SCI_Q_ADAPTER_SERIAL_NUMBER = 1,
    SCI_Q_ADAPTER_CARD_TYPE,
    SCI_Q_ADAPTER_NUMBER_OF_LINKS,
    SCI_Q_ADAPTER_NODEID,
    SCI_Q_ADAPTER_LINK_OPERATIONAL /* not 0: the cable is good */
};
struct sci_query_adapter { /* of SCI_Q_ADAPTER */
    unsigned localAdapterNo, portNo, subcommand;
    void *data; /* unsigned * */
};
typedef struct sci_query_adapter sci_query_adapter_t;
struct sci_query_string { /* of SCI_Q_API, the version, and of SCI_Q_VENDORID */
    char *str;
    unsigned length; /* the room there; afterwards that of the text, with its zero byte */
};
typedef struct sci_query_string sci_query_string_t;

/* A part of SCIStartDmaTransferVec. */
typedef struct {
    unsigned size, local_offset, remote_offset, flags; /* flags: 0 */
} dis_dma_vec_t;
#define DIS_DMA_MAX_VECLEN 256

#pragma GCC visibility push(default)

void SCIInitialize(unsigned flags, sci_error_t *error);
void SCITerminate(void);
void SCIOpen(sci_desc_t *desc, unsigned flags, sci_error_t *error);
void SCIClose(sci_desc_t desc, unsigned flags, sci_error_t *error);
void SCIQuery(unsigned command, void *data, unsigned flags, sci_error_t *error);
/* Not 0: the node answers. */
int SCIProbeNode(sci_desc_t desc, unsigned adapter, unsigned node, unsigned flags,
                 sci_error_t *error);

/* The node id of a card, and a text for an error. */
void SCIGetLocalNodeId(unsigned adapter, unsigned *node, unsigned flags, sci_error_t *error);
const char *SCIGetErrorString(sci_error_t error);

/* ---- local segments -------------------------------------------------------------------------- */

/* `size` must be a multiple of 8. The memory is zero. */
void SCICreateSegment(sci_desc_t desc, sci_local_segment_t *segment, unsigned id, size_t size,
                      sci_cb_local_segment_t callback, void *arg, unsigned flags,
                      sci_error_t *error);
void SCIPrepareSegment(sci_local_segment_t segment, unsigned adapter, unsigned flags,
                       sci_error_t *error);
void SCISetSegmentAvailable(sci_local_segment_t segment, unsigned adapter, unsigned flags,
                            sci_error_t *error);
void SCISetSegmentUnavailable(sci_local_segment_t segment, unsigned adapter, unsigned flags,
                              sci_error_t *error);
void SCIRemoveSegment(sci_local_segment_t segment, unsigned flags, sci_error_t *error);
unsigned SCIGetLocalSegmentId(sci_local_segment_t segment);
/* Waits for the next event of a segment without callback, and says who caused it. */
sci_segment_cb_reason_t SCIWaitForLocalSegmentEvent(sci_local_segment_t segment, unsigned *node,
                                                    unsigned *adapter, unsigned timeout,
                                                    unsigned flags, sci_error_t *error);
void *SCIMapLocalSegment(sci_local_segment_t segment, sci_map_t *map, size_t offset, size_t size,
                         void *hint, unsigned flags, sci_error_t *error);

/* ---- remote segments ------------------------------------------------------------------------- */

void SCIConnectSegment(sci_desc_t desc, sci_remote_segment_t *segment, unsigned node, unsigned id,
                       unsigned adapter, sci_cb_remote_segment_t callback, void *arg,
                       unsigned timeout, unsigned flags, sci_error_t *error);
void SCIDisconnectSegment(sci_remote_segment_t segment, unsigned flags, sci_error_t *error);
size_t SCIGetRemoteSegmentSize(sci_remote_segment_t segment);
unsigned SCIGetRemoteSegmentId(sci_remote_segment_t segment);
/* The same; *status is what a callback would be given. */
sci_segment_cb_reason_t SCIWaitForRemoteSegmentEvent(sci_remote_segment_t segment,
                                                     sci_error_t *status, unsigned timeout,
                                                     unsigned flags, sci_error_t *error);
volatile void *SCIMapRemoteSegment(sci_remote_segment_t segment, sci_map_t *map, size_t offset,
                                   size_t size, void *hint, unsigned flags, sci_error_t *error);
void SCIUnmapSegment(sci_map_t map, unsigned flags, sci_error_t *error);

/* ---- transfers by the processor -------------------------------------------------------------- */

void SCICreateMapSequence(sci_map_t map, sci_sequence_t *sequence, unsigned flags,
                          sci_error_t *error);
void SCIRemoveSequence(sci_sequence_t sequence, unsigned flags, sci_error_t *error);
/* Forgets the errors so far. */
sci_sequence_status_t SCIStartSequence(sci_sequence_t sequence, unsigned flags, sci_error_t *error);
/*
 * Whether all that was stored has arrived. It begins with SCIStoreBarrier; with
 * SCI_FLAG_NO_STORE_BARRIER it does not wait, and may return SCI_SEQ_PENDING.
 */
sci_sequence_status_t SCICheckSequence(sci_sequence_t sequence, unsigned flags, sci_error_t *error);
void SCIStoreBarrier(sci_sequence_t sequence, unsigned flags, sci_error_t *error);
void SCIFlush(sci_sequence_t sequence, unsigned flags); /* lines that are not full leave, too */
void SCIFlushReadBuffers(sci_sequence_t sequence); /* none are kept: no effect */
void SCIMemCopy(const void *source, sci_map_t map, size_t offset, size_t size, unsigned flags,
                sci_error_t *error);
void SCIMemCpy(sci_sequence_t sequence, const void *source, sci_map_t map, size_t offset,
               size_t size, unsigned flags, sci_error_t *error);
void SCITransferBlock(sci_map_t source, size_t source_offset, sci_map_t target,
                      size_t target_offset, size_t size, unsigned flags, sci_error_t *error);

/*
 * The same with a callback or SCIWaitForBlockTransfer. The processor does it here, so that it is
 * over when the call returns; *error tells whether it could begin, the callback how it ended.
 */
void SCITransferBlockAsync(sci_map_t source, size_t source_offset, sci_map_t target,
                           size_t target_offset, size_t size, sci_block_transfer_t *block,
                           sci_cb_block_transfer_t callback, void *arg, unsigned flags,
                           sci_error_t *error);
void SCIWaitForBlockTransfer(sci_block_transfer_t block, unsigned timeout, unsigned flags,
                             sci_error_t *error);
/* SCI_ERR_ILLEGAL_OPERATION: it is over already. */
void SCIAbortBlockTransfer(sci_block_transfer_t block, unsigned flags, sci_error_t *error);

/* ---- DMA ------------------------------------------------------------------------------------- */

void SCICreateDMAQueue(sci_desc_t desc, sci_dma_queue_t *queue, unsigned adapter, unsigned entries,
                       unsigned flags, sci_error_t *error);
void SCIRemoveDMAQueue(sci_dma_queue_t queue, unsigned flags, sci_error_t *error);
/* Offsets and size must be multiples of 8. */
sci_dma_queue_state_t SCIEnqueueDMATransfer(sci_dma_queue_t queue, sci_local_segment_t local,
                                            sci_remote_segment_t remote, size_t local_offset,
                                            size_t remote_offset, size_t size, unsigned flags,
                                            sci_error_t *error);
void SCIPostDMAQueue(sci_dma_queue_t queue, sci_cb_dma_t callback, void *arg, unsigned flags,
                     sci_error_t *error);
sci_dma_queue_state_t SCIWaitForDMAQueue(sci_dma_queue_t queue, unsigned timeout, unsigned flags,
                                         sci_error_t *error);
void SCIAbortDMAQueue(sci_dma_queue_t queue, unsigned flags, sci_error_t *error);
void SCIResetDMAQueue(sci_dma_queue_t queue, unsigned flags, sci_error_t *error);
sci_dma_queue_state_t SCIDMAQueueState(sci_dma_queue_t queue);
/*
 * One transfer, and one of several parts, each without an own reset, enqueue and post. They take
 * any offset and size, and wait while an earlier one of the queue is on its way. Flags:
 * SCI_FLAG_DMA_READ, SCI_FLAG_DMA_WAIT, SCI_FLAG_USE_CALLBACK.
 */
void SCIStartDmaTransfer(sci_dma_queue_t queue, sci_local_segment_t local,
                         sci_remote_segment_t remote, size_t local_offset, size_t size,
                         size_t remote_offset, sci_cb_dma_t callback, void *arg, unsigned flags,
                         sci_error_t *error);
void SCIStartDmaTransferVec(sci_dma_queue_t queue, sci_local_segment_t local,
                            sci_remote_segment_t remote, size_t count, dis_dma_vec_t *parts,
                            sci_cb_dma_t callback, void *arg, unsigned flags, sci_error_t *error);

/* ---- interrupts ------------------------------------------------------------------------------ */

void SCICreateInterrupt(sci_desc_t desc, sci_local_interrupt_t *interrupt, unsigned adapter,
                        unsigned *number, sci_cb_interrupt_t callback, void *arg, unsigned flags,
                        sci_error_t *error);
void SCIRemoveInterrupt(sci_local_interrupt_t interrupt, unsigned flags, sci_error_t *error);
void SCIWaitForInterrupt(sci_local_interrupt_t interrupt, unsigned timeout, unsigned flags,
                         sci_error_t *error);
void SCIConnectInterrupt(sci_desc_t desc, sci_remote_interrupt_t *interrupt, unsigned node,
                         unsigned adapter, unsigned number, unsigned timeout, unsigned flags,
                         sci_error_t *error);
void SCIDisconnectInterrupt(sci_remote_interrupt_t interrupt, unsigned flags, sci_error_t *error);
void SCITriggerInterrupt(sci_remote_interrupt_t interrupt, unsigned flags, sci_error_t *error);

/*
 * Interrupts that carry up to 4096 bytes. They do not coalesce, and arrive in order; their numbers
 * are independent of the others. SCIWaitForDataInterrupt: *length is the room, then what came.
 * SCI_ERR_NOSPC: there is not enough room, and the data stays.
 */
void SCICreateDataInterrupt(sci_desc_t desc, sci_local_data_interrupt_t *interrupt,
                            unsigned adapter, unsigned *number, sci_cb_data_interrupt_t callback,
                            void *arg, unsigned flags, sci_error_t *error);
void SCIRemoveDataInterrupt(sci_local_data_interrupt_t interrupt, unsigned flags,
                            sci_error_t *error);
void SCIWaitForDataInterrupt(sci_local_data_interrupt_t interrupt, void *data, unsigned *length,
                             unsigned timeout, unsigned flags, sci_error_t *error);
void SCIConnectDataInterrupt(sci_desc_t desc, sci_remote_data_interrupt_t *interrupt, unsigned node,
                             unsigned adapter, unsigned number, unsigned timeout, unsigned flags,
                             sci_error_t *error);
void SCIDisconnectDataInterrupt(sci_remote_data_interrupt_t interrupt, unsigned flags,
                                sci_error_t *error);
void SCITriggerDataInterrupt(sci_remote_data_interrupt_t interrupt, const void *data,
                             unsigned length, unsigned flags, sci_error_t *error);

/* ---- in place of instructions ---------------------------------------------------------------- */

/*
 * On a real card these two are a store and a pause of the processor, and a program defines them
 * where the header does not. Stores a word at a byte offset, a multiple of 4, of a remote map.
 */
void sisci_store32(sci_map_t map, size_t offset, uint32_t value);
#define SCI_STORE32(map, offset, value) sisci_store32((map), (offset), (value))
/*
 * One fruitless pass of a loop that reads a local segment: returns when the card has written into
 * segments of the node since the last call with this `seen`, which is 0 at first, or after
 * `nanoseconds`.
 */
void sisci_pause(uint64_t *seen, uint64_t nanoseconds);
#define SCI_PAUSE(seen, nanoseconds) sisci_pause((seen), (nanoseconds))

#pragma GCC visibility pop

/* The header of 2001 has no argument for the error of SCIStoreBarrier: both forms compile. */
static __inline__ void sisci_barrier(sci_sequence_t sequence, unsigned flags)
{
    sci_error_t error;

    SCIStoreBarrier(sequence, flags, &error);
}
#define SISCI_FOURTH(first, second, third, fourth, ...) fourth
#define SCIStoreBarrier(...) \
    SISCI_FOURTH(__VA_ARGS__, SCIStoreBarrier, sisci_barrier, )(__VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
