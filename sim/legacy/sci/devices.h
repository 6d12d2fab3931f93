/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cards of an SCI network and the objects of SISCI. An object belongs to a descriptor, that to
 * a process. All of them are found from the process, so that the system can release what a process
 * leaves behind.
 */
#ifndef JACQUARD_LEGACY_SCI_DEVICES_H
#define JACQUARD_LEGACY_SCI_DEVICES_H

#include <glib.h>

#include "engine/ledger.h"
#include "engine/random.h"
#include "model.h"
#include "sisci_api.h"

/* The numbers of the model, behind those of the library's steps. */
enum sci_param {
    SCI_LINE_US = LEGACY_STEPS, /* a line on the link of the sender's card */
    SCI_BASE_US, /* from there until the receiver's processor sees it */
    SCI_BARRIER_US, /* after the last line has left */
    SCI_HOLD_US, /* a line that is not full waits so long in the card */
    SCI_RETRY_US, /* the card repeats a lost line after so long */
    SCI_DEAD_US, /* an error that lasts so long is fatal */
    SCI_DMA_SETUP_US,
    SCI_DMA_US, /* for each byte */
    SCI_CONNECT_US,
    SCI_PARAMS
};

enum {
    SCI_LINE_BYTES = 64,
    SCI_TRIES_MAX = 16, /* of a line that is lost */
    SCI_BUFFERS = 8, /* lines of a card that are not full */
    SCI_NODE_STEP = 4 /* node ids are multiples of it, from 4 on */
};

/* Memory of a segment. It lives until nothing refers to it any more. */
struct sci_memory {
    unsigned refs;
    bool revoked; /* its segment has gone: lines that arrive are dropped */
    uint32_t endpoint;
    size_t size;
    unsigned char *bytes;
};

struct sci_line;

enum sci_interrupt_kind { SCI_INTERRUPT_PLAIN, SCI_INTERRUPT_DATA, SCI_INTERRUPT_KINDS };

/* The card of an endpoint. */
struct sci_card {
    struct sci_devices *devices;
    uint32_t endpoint;
    uint64_t random_seed, sequences; /* of the sequences' streams; how many there were */
    struct legacy_resource link; /* out of the card */
    struct legacy_resource engine; /* for DMA */
    struct sci_line *buffers[SCI_BUFFERS]; /* not full, oldest first */
    uint32_t buffer_count;
    uint64_t arrivals; /* writes into segments of the node */
    GPtrArray *waiters; /* fibers that wait for an arrival */
    uint64_t batch; /* lines that left without a pause in between, */
    sim_time_t batch_began; /* since then */
    struct sci_local_segment *segments;
    struct {
        struct sci_interrupt *first;
        unsigned next; /* number */
    } interrupts[SCI_INTERRUPT_KINDS];
    unsigned next_id;
};

/* An event of a segment, kept for the calls that wait for one. */
struct sci_event {
    sci_segment_cb_reason_t reason;
    unsigned node;
    sci_error_t status;
};
struct sci_events {
    GArray *waiting; /* of struct sci_event, oldest first; NULL: there was none */
    GPtrArray *waiters; /* fibers; NULL: there was none */
};

struct sci_process {
    struct sci_process *next;
    uint64_t number;
    unsigned initialized;
    struct sci_desc *descs;
};

struct sci_devices {
    struct legacy_network *network;
    struct sci_card *cards; /* by endpoint */
    struct sim_ledger_book book;
    char *book_name;
};

struct sci_desc {
    struct sci_desc *next;
    struct sci_process *process;
    unsigned objects; /* that belong to it */
    struct sci_local_segment *segments;
    struct sci_remote_segment *remotes;
    struct sci_map *maps;
    struct sci_dma_queue *queues;
    struct sci_interrupt *interrupts[SCI_INTERRUPT_KINDS];
    struct sci_interrupt_peer *interrupt_peers[SCI_INTERRUPT_KINDS];
    struct sci_block_transfer *blocks;
};

struct sci_local_segment {
    struct sci_local_segment *next, *on_card;
    struct sci_desc *desc;
    struct sci_card *card; /* that it is prepared for; NULL: none */
    unsigned id, maps, connections;
    bool available;
    struct sci_memory *memory;
    sci_cb_local_segment_t callback;
    void *arg;
    struct sci_events events; /* without a callback */
};

struct sci_remote_segment {
    struct sci_remote_segment *next;
    struct sci_desc *desc;
    struct sci_card *card; /* the local one */
    struct sci_local_segment *segment; /* NULL: it has gone */
    struct sci_memory *memory;
    unsigned id, maps;
    sci_cb_remote_segment_t callback;
    void *arg;
    struct sci_events events; /* without a callback */
};

struct sci_map {
    struct sci_map *next;
    struct sci_desc *desc;
    struct sci_local_segment *local; /* or */
    struct sci_remote_segment *remote;
    struct sci_sequence *sequence; /* of a remote one */
    size_t offset, size;
};

/* The state of the transfers through a map. */
struct sci_sequence {
    unsigned refs; /* lines in flight and the map */
    struct sci_map *map; /* NULL: unmapped */
    bool created; /* by SCICreateMapSequence */
    struct sim_random random; /* which of its lines overtakes another */
    GQueue in_flight; /* lines that have not become visible, oldest first */
    unsigned undecided; /* of them, those in the card or on the link */
    unsigned stored; /* lines since the last barrier */
    uint64_t epoch; /* barriers so far */
    sim_time_t
        settled_at; /* when the last line of those was decided, and the rule's delay is over */
    bool failed; /* a line was given up since SCIStartSequence */
    bool down; /* and that because nothing reaches the target, */
    sim_time_t down_since; /* since then */
    GPtrArray *waiters; /* fibers in a barrier */
};

/* ---- processes (library.c) ---- */

/* What handles are checked by. */
static inline bool sci_fails(sci_error_t *error, sci_error_t code)
{
    *error = code;
    return code != SCI_ERR_OK;
}
/* The card of the calling process; NULL: *error. */
struct sci_card *sci_card_find(unsigned adapter, sci_error_t *error);
/* NULL: not a node of the network. */
struct sci_card *sci_card_of_node(struct sci_card *from, unsigned node);
unsigned sci_node_of(const struct sci_card *card);
bool sci_flags_ok(unsigned flags, unsigned allowed, sci_error_t *error);
/* SCI_ERR_OK, or which of the links does not work. */
sci_error_t sci_access(const struct sci_card *from, const struct sci_card *to);
/* Milliseconds of a call; SIM_NEVER for SCI_INFINITE_TIMEOUT. */
sim_time_t sci_deadline(unsigned timeout);
/* The time that it takes to connect; false: that is longer than `timeout`. */
bool sci_connecting(const struct sci_card *card, unsigned timeout, sci_error_t *error);
/* Before a network's devices go: all processes leave, as the networks of a run end together. */
void sci_library_end(void);
/* The process leaves the cards of all networks at once. */
void sci_process_left(uint64_t number);
/* The segment goes: who is connected to it, and can be reached, is told. */
void sci_segment_lost(struct sci_local_segment *segment);

/* Waits for sci_wake, or the deadline. The list may keep a fiber that was killed meanwhile: it has
 * no effect. */
void sci_wait(GPtrArray *waiters, sim_time_t deadline, const struct sim_wait *why);
void sci_wake(GPtrArray *waiters);
/* Something of the node's segments has changed. */
void sci_card_arrival(struct sci_card *card);

/* ---- segments (segment.c) ---- */

void sci_memory_unref(struct sci_memory *memory);
/* What the system does when a process ends. */
void sci_segments_release(struct sci_desc *desc);

/* ---- lines (line.c) ---- */

/* Stores words; only whole lines leave at once. */
void sci_store(struct sci_map *map, size_t offset, const void *words, size_t size);
/* The lines that are not full leave. NULL: of all sequences. */
void sci_flush(struct sci_card *card, const struct sci_sequence *sequence);
void sci_sequence_unref(struct sci_sequence *sequence);
/* The card that a map stores through. */
struct sci_card *sci_map_card(const struct sci_map *map);

/* ---- events of segments (event.c) ---- */

/* `card`: whose process caused it. */
void sci_event(struct sci_events *events, sci_segment_cb_reason_t reason,
               const struct sci_card *card, sci_error_t status);
void sci_events_free(struct sci_events *events);

/* ---- DMA, blocks and interrupts ---- */

void sci_blocks_release(struct sci_desc *desc);
void sci_dma_release(struct sci_desc *desc);
void sci_data_interrupts_release(struct sci_desc *desc);
void sci_interrupts_release(struct sci_desc *desc); /* and connections to both kinds */

/* ---- both kinds of interrupts (interrupt_list.c) ---- */

struct sci_interrupt { /* begins each local one */
    struct sci_interrupt *next, *on_card;
    enum sci_interrupt_kind kind;
    struct sci_desc *desc;
    struct sci_card *card;
    unsigned number;
};

struct sci_interrupt_peer { /* begins each remote one */
    struct sci_interrupt_peer *next;
    enum sci_interrupt_kind kind;
    struct sci_desc *desc;
    struct sci_card *card, *to;
    unsigned number;
};

struct sci_interrupt_message { /* on the wire */
    struct sim_timer timer;
    struct sci_card *card, *to;
    unsigned number, length;
    char data[];
};

struct sci_interrupt *sci_interrupt_find(const struct sci_card *card, enum sci_interrupt_kind kind,
                                         unsigned number);
/* `size` zeroed bytes that begin with a struct sci_interrupt, in its lists. NULL: *error. */
void *sci_interrupt_new(sci_desc_t desc, enum sci_interrupt_kind kind, size_t size,
                        unsigned adapter, unsigned *number, unsigned flags, sci_error_t *error);
void sci_interrupt_unlink(struct sci_interrupt *interrupt);
/* The same with a struct sci_interrupt_peer. */
void *sci_interrupt_connect(sci_desc_t desc, enum sci_interrupt_kind kind, size_t size,
                            unsigned node, unsigned adapter, unsigned number, unsigned timeout,
                            unsigned flags, sci_error_t *error);
void sci_interrupt_disconnect(struct sci_interrupt_peer *peer, unsigned flags, sci_error_t *error);
void sci_interrupt_peers_release(struct sci_desc *desc);
/* A message that the event's `arrive` frees. */
void sci_interrupt_send(const struct sci_interrupt_peer *peer, const void *data, unsigned length,
                        void (*arrive)(struct sim_event *event), sci_error_t *error);
/* Whether the network has brought it. */
bool sci_interrupt_delivered(const struct sci_interrupt_message *message, const char *what);

#endif
