/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of one membership, shared by the files of this folder. The daemon does not use it. */
#ifndef JACQUARD_SHM_INTERNAL_H
#define JACQUARD_SHM_INTERNAL_H

#include <pthread.h>
#include "common.h"
#include "layout.h"
#include "wire.h"

#define shm_container(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define shm_likely(x) __builtin_expect(!!(x), 1)
#define shm_unlikely(x) __builtin_expect(!!(x), 0)
/* Code off the short-message path: it is called, not inlined, and rare code is optimised for size.
 */
#define shm_cold __attribute__((cold))
#define shm_noinline __attribute__((noinline))

#define SHM_STAMP_US 4u /* how often a polling process updates its time stamp */
#define SHM_CLOCK_SKIPS 3u /* polls without reading the clock, where they are that frequent */
#define SHM_STALE_US 20u /* ring a process that has not polled for so long */
#define SHM_STALE_CROWDED_US 200u /* the same while processes wait for a processor */
#define SHM_CROWDED \
    16u /* involuntary switches in SHM_POLL_US that mean that processes wait for a processor */
#define SHM_CROWDED_POLL_US 4000u /* instead of SHM_POLL_US then */
#define SHM_TICK_US 50u /* interval of shm_tick */
#define SHM_POLL_US \
    1000u /* interval for the daemon's socket without a helper, and for the helper */
#define SHM_RERING_US 20000u /* interval for ringing a peer that has not executed our records */
#define SHM_OVERDUE                                                               \
    1000u /* milliseconds in which a peer has polled and executed nothing of ours \
           */
#define SHM_BATCH 16u /* most records of one ring in a row, and between two acknowledgements */
#define SHM_HOT_MIN 16u /* so many rings are always hot */
#define SHM_HOT_IDLE 4096u /* polls without a record until a ring is cold */
#define SHM_COLD_POLLS 4u /* cold rings polled with each poll of all hot ones */
#define SHM_AWAKE_POLLS 16u /* polls in a row after which a process clears its sleep flag */

/* A ring to one slot. Its position continues when another process gets the slot. */
struct ring_out {
    uint8_t *slots;
    uint64_t tail; /* next position */
    uint64_t acked; /* the peer has executed the records before this one: room */
    uint64_t executed; /* the same, after the replies before it were returned; callers see this */
    uint32_t reserved; /* bytes */
    uint8_t dirty[SHM_RING_SLOTS]; /* per slot: its first word may have any value */
};

struct ring_in {
    const uint8_t *slots;
    uint64_t position; /* next to read */
    uint64_t acked; /* published as executed */
    uint64_t end; /* of a peer that is gone: read no further */
    struct peer *peer;
    _Atomic uint64_t *executed; /* where the acknowledgement is published */
    uint32_t idle; /* polls without a record */
    uint32_t index; /* in shm->rings */
    uint8_t channel;
    bool open; /* the producer has initialised it */
    bool aside; /* set aside until the next round */
};

struct peer {
    struct shm_peer to;
    struct shm *shm;
    struct ring_out *out; /* [SHM_CHANNELS] */
    struct ring_in in[SHM_CHANNELS];
    const struct segment_head *head;
    const struct consumer_indices *indices; /* how far it has executed our rings */
    const struct ring_starts *start; /* where its rings for this process begin */
    uint32_t rung_sleep_flag; /* sleep flag for which the doorbell was rung */
    uint64_t seen_last_poll; /* its time stamp when it was read last */
    uint64_t rung_last_poll; /* time stamp for which the doorbell was rung */
    uint64_t rung_at; /* ticks when it was rung because of an old time stamp */
    struct { /* records that it has not executed: see shm_tick */
        uint64_t executed, last_poll, counted; /* values at the last check; ticks */
        uint32_t aside, empty_polls;
    } overdue;
    int doorbell; /* -1: the own one */
    int pidfd; /* of its process; -1: the own one, or the kernel has none */
    _Atomic int memory; /* /proc/PID/mem of its process, opened by the first write; or -1 */
    void *mapping;
    size_t mapping_bytes;
    struct peer *next; /* in shm->peers */
    /* Of a peer that is gone: its last acknowledgements, and what callers see of them. */
    uint64_t last_sent[SHM_CHANNELS], last_acked[SHM_CHANNELS], last_executed[SHM_CHANNELS];
    bool listed; /* its rings are in shm->rings; the own ones after their first use */
    bool gone_reported; /* the event was reported and its rings are closed */
};

struct deferred { /* a message that arrived while a request waited for its answer */
    struct deferred *next;
    struct wire_packet packet;
    char text[];
};

struct shm {
    /* hot */
    struct ring_in **rings; /* hot ones first */
    uint32_t rings_count, rings_room, hot_count, cursor, in_row, cold_cursor;
    uint32_t empty_polls; /* in a row, without sleep */
    uint32_t clock_skips; /* polls until the clock is read */
    uint64_t clock_read;
    struct ring_in *current; /* ring of the record that was returned last */
    uint64_t current_word;
    uint64_t last_poll, ticked, stamp_ticks, stale_ticks, tick_ticks, poll_ticks, read_at;
    uint64_t rering_ticks;
    uint64_t ring_ticks; /* stale_ticks, or more while processes wait for a processor */
    uint64_t counted; /* when `switches` was read */
    long switches; /* involuntary switches of all threads */
    struct segment_head *head; /* own */
    uint32_t sleep_flag; /* own, as published */
    bool fences; /* this kernel has no membarrier: execute fences for all peers */
    bool helper_untimed; /* the helper sleeps without a timeout */
    bool doorbell_used; /* the doorbell was drained since the sleep flag got its value, or there was
                           something to do: sleeping threads may miss it */
    bool asides,
        ends_pending; /* a ring is set aside; the end of a peer or of the fabric was not reported */
    const volatile uint32_t *not_forked; /* reads 0 in a forked child */

    _Alignas(SHM_LINE) _Atomic bool attention; /* there are messages of the daemon */
    _Atomic bool crowded; /* processes wait for a processor */
    _Atomic uint64_t rounds; /* is incremented while a thread polls; the helper reads it */
    _Atomic uint32_t
        sleepers; /* threads between shm_sleep_begin and shm_sleep_end, without the helper */
    _Atomic bool stopping;

    /* cold */
    struct peer **slots; /* the present peer of each slot */
    struct ring_out **outs;
    uint32_t *ended; /* per slot: the last generation that is gone */
    struct peer *peers;
    struct peer *self;
    uint8_t *segment;
    struct segment_layout at;
    size_t segment_bytes;
    const struct fabric_segment *fabric;
    size_t fabric_bytes;
    struct shm_facts facts;
    char *path;
    int socket, doorbell, helper_event, wake_event;
    struct shm_events events;
    void *arg;
    struct deferred *deferred, **deferred_end;
    void *buffer; /* WIRE_BYTES_MAX */
    uint32_t ids;
    bool lost, lost_reported, reporting;
    pthread_t helper_thread;
    bool helper_runs;
    bool helper_drained; /* the helper has drained the doorbell */
    uint8_t helper_ignores; /* periods in which the helper ignores the doorbell */
    struct shm_helper helper;
    struct shm *next_shm; /* next membership of this process: fork.c */
};

static inline void shm_count_poll(struct shm *shm)
{
    atomic_store_explicit(&shm->rounds,
                          atomic_load_explicit(&shm->rounds, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static inline struct peer *peer_of(const struct shm_peer *to)
{
    return shm_container(to, struct peer, to);
}

/* segment.c */
int shm_map_segment(struct shm *shm, size_t segment_bytes);
int shm_map_fabric(struct shm *shm, int file, char *why);

/* socket.c */
int shm_connect(const char *path);
int shm_request(struct shm *shm, struct wire *request, struct wire_packet *answer);
int shm_receive_within(int socket, void *buffer, struct wire_packet *packet, int timeout_ms);
/* Waits while the daemon changes the data that the caller reads: it may have lost its processor in
 * the middle of that. False: the daemon is dead, and the change never ends. `retries` counts the
 * calls, from 0. */
bool shm_wait_for_writer(const struct shm *shm, uint32_t *empty_polls);

/* start.c: starts a daemon for the path */
int shm_start_daemon(const char *path, bool remove_folder, char *why);

/* peer.c */
/* `fds` as in a packet of WIRE_PEER. The peer takes over the doorbell and the pidfd (-1 is left
 * there). NULL: this process itself. */
struct peer *shm_peer_add(struct shm *shm, const struct wire *what, int *fds, int *error);
void shm_peer_lost(struct shm *shm, struct peer *peer); /* its end will be reported */
void shm_report_gone(struct shm *shm); /* peers whose records have all been returned */
void shm_peer_free(struct shm *shm, struct peer *peer);

/* receive.c */
int shm_rings_reserve(struct shm *shm); /* room for the rings of one more peer and the own ones */
void shm_rings_add(struct shm *shm, struct peer *peer);
void shm_rings_remove(struct shm *shm, struct peer *peer);
bool shm_rings_have(struct shm *shm);
bool shm_ring_ready(struct ring_in *ring);
void shm_peer_break(struct peer *peer); /* it has broken the rules of its rings: treated as dead */

/* send.c */
bool shm_read_executed(const struct peer *peer, unsigned channel);

/* doorbell.c */
void shm_ring_doorbell(const struct peer *peer);
void shm_check_stamp(struct peer *peer, uint64_t now);
void shm_tick(struct shm *shm, uint64_t now);
bool shm_read_executed_all(struct shm *shm);
bool shm_outstanding(const struct shm *shm);

/* daemon_messages.c */
void shm_defer_message(struct shm *shm, struct wire_packet *packet);

/* sleep.c */
void shm_fences_begin(struct shm *shm);
bool shm_sleep_flag_set(
    struct shm *shm); /* asks for doorbells; false: there is something to do already */
void shm_sleep_flag_clear(
    struct shm *shm); /* no doorbells are needed: a thread polls without a pause */

/* fork.c */
void shm_peer_close(struct peer *peer); /* closes its descriptors */
void shm_close_all(struct shm *shm);
void shm_fork_hold(void); /* no fork happens while this is held: for changes of shm->peers */
void shm_fork_release(void);
int shm_fork_watch(struct shm *shm);
void shm_fork_forget(struct shm *shm);

#endif
