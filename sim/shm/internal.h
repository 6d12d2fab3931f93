/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One membership as the files of this folder share it. The daemon does not use it. */
#ifndef JACQUARD_SHM_INTERNAL_H
#define JACQUARD_SHM_INTERNAL_H

#include <pthread.h>
#include "common.h"
#include "layout.h"
#include "wire.h"

#define shm_container(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define shm_likely(x) __builtin_expect(!!(x), 1)
#define shm_unlikely(x) __builtin_expect(!!(x), 0)
/* For what a short message does not come by: a call, for what is rare a call of code that is small
 * instead of fast. */
#define shm_cold __attribute__((cold))
#define shm_noinline __attribute__((noinline))

#define SHM_STAMP_US 4u /* how often a process that looks says so */
#define SHM_CLOCK_SKIPS 3u /* looks without reading the clock, where they come that fast */
#define SHM_STALE_US 20u /* without a look for so long: ring */
#define SHM_STALE_CROWDED_US 200u /* the same where processes wait for a processor */
#define SHM_CROWDED 16u /* times in SHM_POLL_US that another one has taken this one's */
#define SHM_CROWDED_POLL_US 4000u /* instead of SHM_POLL_US, there */
#define SHM_TICK_US 50u /* how often bells are looked after, see shm_tick */
#define SHM_POLL_US 1000u /* daemon's socket without a helper; rounds of the helper */
#define SHM_RERING_US 20000u /* who still has something to execute is rung again */
#define SHM_OVERDUE                                                               \
    1000u /* milliseconds in which a peer has looked and executed nothing of ours \
           */
#define SHM_BATCH 16u /* records of one ring in a row, and told to their sender at once */
#define SHM_HOT_MIN 16u /* so many rings are always looked at */
#define SHM_HOT_IDLE 4096u /* looks without a record until a ring counts as cold */
#define SHM_COLD_POLLS 4u /* cold rings looked at per look at all hot ones */
#define SHM_AWAKE_POLLS                                                      \
    16u /* looks in a row after which a process does not want bells any more \
         */

/* A ring to one slot. It goes on where it was when the slot gets another process. */
struct ring_out {
    uint8_t *slots;
    uint64_t tail; /* next position */
    uint64_t acked; /* what the peer says that it has executed: room */
    uint64_t executed; /* the same once the replies before it were taken; what callers see */
    uint32_t reserved; /* bytes */
    uint8_t dirty[SHM_RING_SLOTS]; /* its word may be anything */
};

struct ring_in {
    const uint8_t *slots;
    uint64_t position; /* next to read */
    uint64_t acked; /* the producer knows */
    uint64_t end; /* of a peer that is gone: not further */
    struct peer *peer;
    _Atomic uint64_t *executed; /* where the producer is told */
    uint32_t idle; /* looks without a record */
    uint32_t index; /* in live->rings */
    uint8_t channel;
    bool open; /* the producer has begun with it */
    bool aside; /* not before the next round */
};

struct peer {
    struct shm_peer to;
    struct shm *shm;
    struct ring_out *out; /* [SHM_CHANNELS] */
    struct ring_in in[SHM_CHANNELS];
    const struct segment_head *head;
    const struct consumer_indices *indices; /* what it says about my rings */
    const struct ring_starts *start; /* where its rings for me begin */
    uint32_t rung_sleep_flag; /* value of doze for which the bell was rung */
    uint64_t seen_last_poll; /* its stamp when it was last looked at */
    uint64_t rung_last_poll; /* value of looked for which the bell was rung */
    uint64_t rung_at; /* ticks: when it was rung because of an old stamp */
    struct { /* of what it has not executed: see shm_tick */
        uint64_t executed, last_poll, counted; /* as it was seen last; ticks */
        uint32_t aside, empty_polls;
    } overdue;
    int doorbell; /* -1: the own one */
    int pidfd; /* of its process; -1: the own one, or the kernel has none */
    _Atomic int memory; /* /proc/PID/mem of its process, opened by the first write; or -1 */
    void *mapping;
    size_t mapping_bytes;
    struct peer *next; /* in live->peers */
    /* Of a peer that is gone; what it said last that it had executed, and what was made of that: */
    uint64_t last_sent[SHM_CHANNELS], last_acked[SHM_CHANNELS], last_executed[SHM_CHANNELS];
    bool listed; /* in live->rings; the own ones once they are used */
    bool gone_reported; /* the caller was told, its rings are closed */
};

struct deferred { /* a message that came while something else was waited for */
    struct deferred *next;
    struct wire_packet packet;
    char text[];
};

struct shm {
    /* hot */
    struct ring_in **rings; /* hot ones first */
    uint32_t rings_count, rings_room, hot_count, cursor, in_row, cold_cursor;
    uint32_t empty_polls; /* in a row without sleep */
    uint32_t clock_skips; /* looks until the clock is read */
    uint64_t clock_read;
    struct ring_in *current; /* of the record that was returned last */
    uint64_t current_word;
    uint64_t last_poll, ticked, stamp_ticks, stale_ticks, tick_ticks, poll_ticks, read_at;
    uint64_t rering_ticks;
    uint64_t ring_ticks; /* stale_ticks, or more where it is crowded */
    uint64_t counted; /* when `switches` were */
    long switches; /* of all threads, against their will */
    struct segment_head *head; /* own */
    uint32_t sleep_flag; /* own, as published */
    bool fences; /* I have to fence for everybody */
    bool helper_untimed; /* the helper sleeps without a limit */
    bool doorbell_used; /* the doorbell was silenced since `doze` got its value, or there was
                       something: who sleeps may not hear it */
    bool asides,
        ends_pending; /* some ring is set aside; some peer's end, or the fabric's, was not told */
    const volatile uint32_t *not_forked; /* reads 0 in a forked child */

    _Alignas(SHM_LINE) _Atomic bool attention; /* the daemon has said something */
    _Atomic bool crowded; /* processes wait for a processor */
    _Atomic uint64_t rounds; /* moves while somebody looks; read by the helper */
    _Atomic uint32_t sleepers; /* threads between shm_sleep_begin and _end, but for the helper */
    _Atomic bool stopping;

    /* cold */
    struct peer **slots; /* the present peer of each slot */
    struct ring_out **outs;
    uint32_t *ended; /* the last generation of each slot that is gone */
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
    bool helper_drained; /* it has silenced the doorbell; this and the next are its own */
    uint8_t helper_ignores; /* rests without listening to the doorbell */
    struct shm_helper helper;
    struct shm *next_shm; /* of this process: fork.c */
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
/* The daemon is writing what is to be read: it may have lost the processor in the middle of that.
 * False: it is dead, and never ends. `looks` counts them, from 0. */
bool shm_wait_for_writer(const struct shm *shm, uint32_t *empty_polls);

/* start.c: puts a daemon behind the path. */
int shm_start_daemon(const char *path, bool remove_folder, char *why);

/* peer.c */
/* `fds` as in a packet of WIRE_PEER: doorbell and pidfd become the peer's (-1 is left there); NULL:
 * this process itself. */
struct peer *shm_peer_add(struct shm *shm, const struct wire *what, int *fds, int *error);
void shm_peer_lost(struct shm *shm, struct peer *peer); /* it will be told as gone */
void shm_report_gone(struct shm *shm); /* those who are drained */
void shm_peer_free(struct shm *shm, struct peer *peer);

/* receive.c */
int shm_rings_reserve(struct shm *shm); /* room for those of one more peer, and the own */
void shm_rings_add(struct shm *shm, struct peer *peer);
void shm_rings_remove(struct shm *shm, struct peer *peer);
bool shm_rings_have(struct shm *shm);
bool shm_ring_ready(struct ring_in *ring);
void shm_peer_break(struct peer *peer); /* it writes what nobody may write: as if it were dead */

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
bool shm_sleep_flag_set(struct shm *shm); /* bells are wanted; false: there is something already */
void shm_sleep_flag_clear(struct shm *shm); /* they are not: somebody looks all the time */

/* fork.c */
void shm_peer_close(struct peer *peer); /* its descriptors */
void shm_close_all(struct shm *shm);
void shm_fork_hold(void); /* around changes of live->peers: no fork meanwhile */
void shm_fork_release(void);
int shm_fork_watch(struct shm *shm);
void shm_fork_forget(struct shm *shm);

#endif
