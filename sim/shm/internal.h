/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One membership as the files of this folder share it. The daemon does not use it. */
#ifndef JACQUARD_LIVE_INTERNAL_H
#define JACQUARD_LIVE_INTERNAL_H

#include <pthread.h>
#include "common.h"
#include "layout.h"
#include "wire.h"

#define live_container(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#define live_likely(x) __builtin_expect(!!(x), 1)
#define live_unlikely(x) __builtin_expect(!!(x), 0)
/* For what a short message does not come by: a call, for what is rare a call of code that is small
 * instead of fast. */
#define live_cold __attribute__((cold))
#define live_noinline __attribute__((noinline))

#define LIVE_STAMP_US 4u /* how often a process that looks says so */
#define LIVE_CLOCK_RESTS 3u /* looks without reading the clock, where they come that fast */
#define LIVE_STALE_US 20u /* without a look for so long: ring */
#define LIVE_STALE_CROWDED_US 200u /* the same where processes wait for a processor */
#define LIVE_CROWDED 16u /* times in LIVE_LOOK_US that another one has taken this one's */
#define LIVE_CROWDED_LOOK_US 4000u /* instead of LIVE_LOOK_US, there */
#define LIVE_TICK_US 50u /* how often bells are looked after, see live_tick */
#define LIVE_LOOK_US 1000u /* daemon's socket without a helper; rounds of the helper */
#define LIVE_RERING_US 20000u /* who still has something to execute is rung again */
#define LIVE_OVERDUE \
    1000u /* milliseconds in which a peer has looked and executed nothing of ours */
#define LIVE_BATCH 16u /* records of one ring in a row, and told to their sender at once */
#define LIVE_HOT_MIN 16u /* so many rings are always looked at */
#define LIVE_HOT_IDLE 4096u /* looks without a record until a ring counts as cold */
#define LIVE_COLD_LOOKS 4u /* cold rings looked at per look at all hot ones */
#define LIVE_AWAKE_LOOKS                                                     \
    16u /* looks in a row after which a process does not want bells any more \
         */

/* A ring to one slot. It goes on where it was when the slot gets another process. */
struct ring_out {
    uint8_t *slots;
    uint64_t tail; /* next position */
    uint64_t told; /* what the peer says that it has executed: room */
    uint64_t executed; /* the same once the replies before it were taken; what callers see */
    uint32_t reserved; /* bytes */
    uint8_t dirty[LIVE_RING_SLOTS]; /* its word may be anything */
};

struct ring_in {
    const uint8_t *slots;
    uint64_t position; /* next to read */
    uint64_t told; /* the producer knows */
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
    struct live_peer to;
    struct live *live;
    struct ring_out *out; /* [LIVE_CHANNELS] */
    struct ring_in in[LIVE_CHANNELS];
    const struct board_head *head;
    const struct board_heads *heads; /* what it says about my rings */
    const struct board_start *start; /* where its rings for me begin */
    uint32_t rung_doze; /* value of doze for which the bell was rung */
    uint64_t seen_looked; /* its stamp when it was last looked at */
    uint64_t rung_looked; /* value of looked for which the bell was rung */
    uint64_t rung_at; /* ticks: when it was rung because of an old stamp */
    struct { /* of what it has not executed: see live_tick */
        uint64_t executed, looked, counted; /* as it was seen last; ticks */
        uint32_t aside, looks;
    } overdue;
    int doorbell; /* -1: the own one */
    int pidfd; /* of its process; -1: the own one, or the kernel has none */
    _Atomic int memory; /* /proc/PID/mem of its process, opened by the first write; or -1 */
    void *mapping;
    size_t mapping_bytes;
    struct peer *next; /* in live->peers */
    /* Of a peer that is gone; what it said last that it had executed, and what was made of that: */
    uint64_t last_sent[LIVE_CHANNELS], last_told[LIVE_CHANNELS], last_executed[LIVE_CHANNELS];
    bool listed; /* in live->rings; the own ones once they are used */
    bool gone_told; /* the caller was told, its rings are closed */
};

struct later { /* a message that came while something else was waited for */
    struct later *next;
    struct wire_packet packet;
    char text[];
};

struct live {
    /* hot */
    struct ring_in **rings; /* hot ones first */
    uint32_t rings_count, rings_room, hot_count, cursor, in_row, cold_cursor;
    uint32_t looks; /* in a row without sleep */
    uint32_t clock_rests; /* looks until the clock is read */
    uint64_t clock_read;
    struct ring_in *current; /* of the record that was returned last */
    uint64_t current_word;
    uint64_t looked, ticked, stamp_ticks, stale_ticks, tick_ticks, look_ticks, read_at;
    uint64_t rering_ticks;
    uint64_t ring_ticks; /* stale_ticks, or more where it is crowded */
    uint64_t counted; /* when `switches` were */
    long switches; /* of all threads, against their will */
    struct board_head *head; /* own */
    uint32_t doze; /* own, as published */
    bool fences; /* I have to fence for everybody */
    bool helper_untimed; /* the helper sleeps without a limit */
    bool bell_used; /* the doorbell was silenced since `doze` got its value, or there was something:
                       who sleeps may not hear it */
    bool asides, dying; /* some ring is set aside; some peer's end, or the fabric's, was not told */
    const volatile uint32_t *mine; /* reads 0 in a forked child */

    _Alignas(LIVE_LINE) _Atomic bool attention; /* the daemon has said something */
    _Atomic bool crowded; /* processes wait for a processor */
    _Atomic uint64_t rounds; /* moves while somebody looks; read by the helper */
    _Atomic uint32_t sleepers; /* threads between live_sleep_begin and _end, but for the helper */
    _Atomic bool stopping;

    /* cold */
    struct peer **slots; /* the present peer of each slot */
    struct ring_out **outs;
    uint32_t *ended; /* the last generation of each slot that is gone */
    struct peer *peers;
    struct peer *self;
    uint8_t *board;
    struct board_layout at;
    size_t board_bytes;
    const struct fabric_board *fabric;
    size_t fabric_bytes;
    struct live_facts facts;
    char *path;
    int socket, doorbell, helper_bell, wake_bell;
    struct live_events events;
    void *arg;
    struct later *later, **later_end;
    void *buffer; /* WIRE_BYTES_MAX */
    uint32_t ids;
    bool lost, lost_told, telling;
    pthread_t helper_thread;
    bool helper_runs;
    bool helper_heard; /* it has silenced the doorbell; this and the next are its own */
    uint8_t helper_deaf; /* rests without listening to the doorbell */
    struct live_helper helper;
    struct live *next_live; /* of this process: fork.c */
};

static inline void live_round(struct live *live)
{
    atomic_store_explicit(&live->rounds,
                          atomic_load_explicit(&live->rounds, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static inline struct peer *peer_of(const struct live_peer *to)
{
    return live_container(to, struct peer, to);
}

/* segment.c */
int live_map_board(struct live *live, size_t board_bytes);
int live_map_fabric(struct live *live, int file, char *why);

/* socket.c */
int live_connect(const char *path);
int live_request(struct live *live, struct wire *request, struct wire_packet *answer);
int live_receive_within(int socket, void *buffer, struct wire_packet *packet, int timeout_ms);
/* The daemon is writing what is to be read: it may have lost the processor in the middle of that.
 * False: it is dead, and never ends. `looks` counts them, from 0. */
bool live_written_soon(const struct live *live, uint32_t *looks);

/* start.c: puts a daemon behind the path. */
int live_start_daemon(const char *path, bool remove_folder, char *why);

/* peer.c */
/* `fds` as in a packet of WIRE_PEER: doorbell and pidfd become the peer's (-1 is left there); NULL:
 * this process itself. */
struct peer *live_peer_add(struct live *live, const struct wire *what, int *fds, int *error);
void live_peer_lost(struct live *live, struct peer *peer); /* it will be told as gone */
void live_tell_gone(struct live *live); /* those who are drained */
void live_peer_free(struct live *live, struct peer *peer);

/* receive.c */
int live_rings_reserve(struct live *live); /* room for those of one more peer, and the own */
void live_rings_add(struct live *live, struct peer *peer);
void live_rings_remove(struct live *live, struct peer *peer);
bool live_rings_have(struct live *live);
bool live_ring_ready(struct ring_in *ring);
void live_break_with(struct peer *peer); /* it writes what nobody may write: as if it were dead */

/* send.c */
bool live_hear(const struct peer *peer, unsigned channel);

/* doorbell.c */
void live_ring_bell(const struct peer *peer);
void live_check_stamp(struct peer *peer, uint64_t now);
void live_tick(struct live *live, uint64_t now);
bool live_hear_all(struct live *live);
bool live_outstanding(const struct live *live);

/* daemon_messages.c */
void live_keep(struct live *live, struct wire_packet *packet);

/* sleep.c */
void live_fences_begin(struct live *live);
bool live_doze(struct live *live); /* bells are wanted; false: there is something already */
void live_awake(struct live *live); /* they are not: somebody looks all the time */

/* fork.c */
void live_peer_close(struct peer *peer); /* its descriptors */
void live_close_all(struct live *live);
void live_fork_hold(void); /* around changes of live->peers: no fork meanwhile */
void live_fork_release(void);
int live_fork_watch(struct live *live);
void live_fork_forget(struct live *live);

#endif
