/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The carrier of live mode: ordinary processes of one user on one machine that form a fabric. The
 * carrier implements membership, shared segments, rings, doorbells, sleep, copies between
 * processes, and names. The meaning of the records is the caller's business. docs/internals/live.md
 * has the layout and the threat model.
 *
 * One writer per word. Each process owns one memory file, its segment, which only it can write (the
 * kernel seals it). All other processes map it read-only. There is no lock in shared memory.
 * Whatever a peer wrote may be wrong, and may change while it is read: copy first, then check the
 * copy, then use the copy.
 *
 * Threads. Nothing here locks, unless its comment says "any thread". The caller has one lock for
 * all calls on a struct shm and what belongs to it, and holds it. Event handlers (struct
 * shm_events) are called only inside shm_next and shm_poll_daemon, with the caller's lock held.
 * They may call everything but shm_next, shm_poll_daemon and shm_leave. Nothing here changes signal
 * handlers, umask or the working directory.
 *
 * Errors are negative errno values. After a fork the child must not use the membership of its
 * parent: see shm_forked.
 */
#ifndef JACQUARD_SHM_SHM_H
#define JACQUARD_SHM_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shm;

#define SHM_NODE_ANY UINT32_MAX
#define SHM_PROCESSES_MAX 4096u
#define SHM_WHY_BYTES 256 /* room for one line of explanation */

/* ---- membership ------------------------------------------------------------------------------ */

/* Another member. The fields are the library's, except `user`. */
struct shm_peer {
    uint32_t slot; /* index of the process in its fabric, < facts.processes_max */
    uint32_t generation; /* of the slot: a slot that is used again has another one; never 0 */
    uint32_t node; /* the emulated node on which it runs */
    int32_t pid; /* as the kernel reported it to the daemon */
    bool gone; /* dead, or has left; never reset: the slot's next process gets another handle */
    bool self; /* the calling process: a loop-back through its own segment */
    const void *segment; /* its extra area (shm_options.segment_bytes of that process), read-only */
    size_t segment_bytes;
    void *user; /* the caller's; NULL at first */
};

struct shm_events {
    /* A process has connected to this one (shm_peer on its side): its records may follow. Not
     * called for peers that this process asked for itself. */
    void (*met)(void *arg, struct shm_peer *peer);
    /* The peer is dead, has left, or broke the rules of its rings. The records that it had
     * published were returned by shm_next before, with from->gone set: they can be executed but not
     * answered. No other record will follow. The slot's next process, another handle, may have been
     * reported meanwhile. This handle stays valid until shm_drop. */
    void (*gone)(void *arg, struct shm_peer *peer);
    /* An order from the program that runs the fabric (shm_server_order); not terminated by NUL. */
    void (*order)(void *arg, const void *bytes, size_t count);
    /* The fabric has ended: all peers were reported as gone, and names cannot be used. */
    void (*lost)(void *arg);
};

struct shm_options {
    /* Socket of the fabric. NULL: $JACQUARD_FABRIC, and without one a private fabric, whose path is
     * put into JACQUARD_FABRIC for children. Where nobody listens, a daemon is started. */
    const char *path;
    uint32_t node; /* SHM_NODE_ANY: $JACQUARD_NODE, else node 0 */
    size_t segment_bytes; /* size of the extra area in the own segment, zeroed; at most 1 GiB; only
                             touched pages take memory */
    struct shm_events events; /* each may be NULL */
    void *arg;
};

/*
 * Becomes a member. `why` (SHM_WHY_BYTES, or NULL) gets one line on failure. -EACCES: the fabric
 * is somebody else's; -EINVAL: a variable of the environment has a bad value; -ENOENT: no
 * jacquard-fabricd found; -EUSERS: no slot is free; -ENOSYS: the kernel lacks sealed memory files
 * (Linux 5.1); -EPROTO: another version listens there; -ETIMEDOUT: it does not answer; else what
 * the system said. Starts no thread. Takes about a millisecond when it has to start a daemon.
 */
int shm_join(const struct shm_options *options, struct shm **shm, char *why);

/*
 * Ends the membership; frees everything, peers included. Peers see this process as gone. Stop the
 * helper first. In a forked child: frees the memory of the parent's membership and touches nothing
 * else. NULL is fine.
 */
void shm_leave(struct shm *shm);

/*
 * Registers the handlers that run around forks (pthread_atfork), once; shm_join does it, too. A
 * caller that has a lock of its own over the calls of this library, and takes it in a handler
 * before forks, calls this first: fork() takes locks in the reverse order of the registrations.
 */
int shm_expect_forks(void);

/* True in a process that was forked (by any means) after shm_join: the membership is its parent's.
 * Call shm_leave and join again. One load. Any thread. */
bool shm_forked(const struct shm *shm);

/* Facts that do not change while the fabric exists. Strings live as long as the membership. */
struct shm_facts {
    uint32_t nodes; /* emulated nodes, numbered from 0 */
    uint32_t processes_max; /* slots */
    uint64_t seed;
    uint64_t began_ns; /* CLOCK_MONOTONIC when the fabric started: time 0 of the fabric */
    uint64_t ticks_per_us; /* of shm_ticks(), approximately */
    const char *name; /* of the scenario, or "" */
    const char *preset; /* of the topology */
    const char *scenario; /* text of the scenario, or ""; ends with NUL */
    size_t scenario_bytes; /* without the NUL */
    const char *path; /* of the socket */
};

const struct shm_facts *shm_facts(const struct shm *shm);

/* The own entry: slot, generation, node, pid; `segment` is the own extra area. Sending to it works.
 */
struct shm_peer *shm_self(struct shm *shm);

/* The own extra area (segment_bytes, zeroed at join), which peers see as peer->segment. It starts
 * at a cache line. No other process can write it. */
void *shm_segment(struct shm *shm);

/* The process in the slot, as the daemon lists it; false: none. No system call. Any thread. */
struct shm_member {
    uint32_t slot, generation, node;
    int32_t pid;
};
bool shm_member(const struct shm *shm, uint32_t slot, struct shm_member *member);

/* ---- peers ----------------------------------------------------------------------------------- */

/*
 * Connects to the process in that slot and generation (0: any). Returns an existing handle at once.
 * The first time this asks the daemon (some 50 us) and maps the peer's segment. NULL and *error (if
 * not NULL): -ESRCH: there is no such process (any more); -ENOTCONN: no fabric; -ETIMEDOUT; -EMFILE
 * and the like: from the system.
 */
struct shm_peer *shm_peer(struct shm *shm, uint32_t slot, uint32_t generation, int *error);

/* The handle if there is one, also for a peer that is gone but not dropped; otherwise NULL. */
struct shm_peer *shm_known(struct shm *shm, uint32_t slot, uint32_t generation);

/* Iterates over the peers of this process, in no order, including those that are gone and not
 * dropped. Pass NULL to begin; NULL ends. */
struct shm_peer *shm_peer_next(struct shm *shm, const struct shm_peer *after);

/* Adds the peers that the daemon has introduced so far (events.met). Afterwards every process that
 * may already read this process's segment is known. No other event is reported. One system call. */
void shm_add_introduced(struct shm *shm);

/* Frees the handle of a peer that is gone (no effect on others) and unmaps its segment. */
void shm_drop(struct shm *shm, struct shm_peer *peer);

/* ---- records --------------------------------------------------------------------------------- */

/*
 * Each ordered pair of processes has two rings. A reply answers a request, and never causes another
 * record. So replies always drain, and a process that must answer but finds its reply ring full may
 * leave the request unreleased without the danger of a deadlock.
 */
enum shm_channel { SHM_REQUEST, SHM_REPLY, SHM_CHANNELS };

#define SHM_RING_SLOTS 512u /* 64 bytes each */
#define SHM_RECORD_SMALL 56u /* payload that fits in one cache line together with its word */
#define SHM_RECORD_MAX (SHM_RECORD_SMALL + 127u * 64u)
#define SHM_KIND_MAX 255u

/*
 * Room for a record of up to `bytes` (0 to SHM_RECORD_MAX): contiguous, aligned to 8,
 * uninitialised (write all that you publish). NULL: no room now, or the peer is gone. Nothing is
 * visible before shm_publish; a reservation that is not published is simply forgotten by the next
 * one.
 */
void *shm_reserve(struct shm_peer *peer, enum shm_channel channel, uint32_t bytes);

/*
 * Publishes the record that the last shm_reserve on that ring returned: `kind` (0 to SHM_KIND_MAX)
 * and the first `bytes` (at most those reserved). Rings the peer's doorbell if the peer sleeps or
 * has not polled for a while; otherwise there is no system call. Returns the position: the record
 * has been executed when shm_executed(peer, channel) >= it. On a peer that is gone: 0, no effect.
 */
uint64_t shm_publish(struct shm_peer *peer, enum shm_channel channel, uint32_t kind,
                     uint32_t bytes);

/* Position of the last record that was published. */
uint64_t shm_sent(const struct shm_peer *peer, enum shm_channel channel);

/*
 * How far the peer has executed the records. It has released all records up to this position. For
 * SHM_REQUEST, all replies that it published before it did so have been returned by shm_next: so a
 * record without a reply has succeeded. Never falls, and never passes shm_sent, whatever the peer
 * writes. Reads one cache line of the peer: call it while something is outstanding.
 */
uint64_t shm_executed(struct shm_peer *peer, enum shm_channel channel);

/* The peer has polled its rings within the last 20 us: it will soon find what is published now.
 * Reads one cache line of the peer. */
bool shm_peer_is_polling(const struct shm_peer *peer);

struct shm_record {
    struct shm_peer *from;
    const void *bytes; /* in the peer's memory: may change at any time; aligned to 8 */
    uint32_t count; /* checked: 0 to SHM_RECORD_MAX, readable */
    uint8_t kind; /* whatever the peer wrote */
    uint8_t channel; /* enum shm_channel */
};

/*
 * Returns the next record, from all peers in turn. False: there is none now. The cost depends on
 * the rings in use; the others are polled less often (each within some 30 calls per 100 peers).
 * Reads no socket unless there are messages. Returns the same record again until it is released or
 * set aside.
 */
bool shm_next(struct shm *shm, struct shm_record *record);

/* The record that shm_next returned last has been executed. Returns whether another one follows in
 * its ring. If not, its sender is acknowledged at once; otherwise with the next record that goes
 * back to it, after 16 records, or by shm_acknowledge. */
bool shm_release(struct shm *shm);

/* The record that shm_next returned last cannot be executed now (there is no room for its answer).
 * Other rings continue, and it is returned again after shm_next has returned false. A record of a
 * peer that is gone is released. */
void shm_set_aside(struct shm *shm);

/* Publishes to all senders now how far their records have been executed; for a caller that stops
 * taking records while there may be more. */
void shm_acknowledge(struct shm *shm);

/* Handles the daemon's messages (peers met and gone, orders): non-blocking, one system call.
 * shm_next does this itself when the helper saw messages, and without a helper every millisecond.
 */
void shm_poll_daemon(struct shm *shm);

/* ---- sleep ----------------------------------------------------------------------------------- */

/*
 * How a thread that has nothing to do sleeps:
 *     if (shm_sleep_begin(shm)) {              lock held; false: there is something, make progress
 *         unlock; shm_sleep(shm, until); lock;
 *         shm_sleep_end(shm);
 *     }
 *     make progress, check the own condition
 * Several threads may do so at once: all of them wake.
 */
bool shm_sleep_begin(struct shm *shm);
/* Called without the lock. Sleeps until a peer or shm_wake rings, the daemon sends a message, or
 * CLOCK_MONOTONIC reaches deadline_ns (UINT64_MAX: for ever). May return early. False: a signal
 * handler ended it. Any thread; a thread that is cancelled ends here, and shm_sleep_end must
 * follow. */
bool shm_sleep(struct shm *shm, uint64_t deadline_ns);
void shm_sleep_end(struct shm *shm);

/* Called with the lock held by a thread that may not poll again, after it began or changed
 * something while others sleep, or something for which the helper's `progress` would now ask for an
 * earlier time than it did. The helper makes progress within about a millisecond and sets the sleep
 * flag again. */
void shm_request_progress(struct shm *shm);

/* Wakes the sleeping threads of this process; if there are none, the next shm_sleep returns at
 * once. Any thread, also in a signal handler. */
void shm_wake(struct shm *shm);

/*
 * The helper is a thread that makes progress when no other thread of the process has done so for
 * about a millisecond, or at once when the doorbell rings while the others compute or sleep.
 * Signals are blocked in it. `progress` is called with the lock held (by lock(arg)). It takes the
 * records that shm_next returns, handles what only time brings, and returns. Its result is the
 * CLOCK_MONOTONIC time in ns at which it wants to be called again at the latest (UINT64_MAX: no
 * such time).
 */
struct shm_helper {
    void (*lock)(void *arg);
    void (*unlock)(void *arg);
    uint64_t (*progress)(void *arg);
    void *arg;
};
int shm_helper_start(struct shm *shm, const struct shm_helper *helper);
/* Called without the lock. Waits for the thread's end. Not needed in a forked child. */
void shm_helper_stop(struct shm *shm);

/* ---- copies between processes ---------------------------------------------------------------- */

/*
 * Copy between own memory and an address of the peer, without its help. 0; -EFAULT: a part of that
 * memory is not mapped (some of it may have been copied); -ESRCH: the peer is gone; -EPERM,
 * -ENOSYS: this system does not permit it, and never will for this peer: send the bytes in records
 * instead. The caller has checked the range against what the peer has published; a peer that
 * published a wrong range harms only itself. Any thread.
 */
int shm_copy_to(const struct shm_peer *peer, uint64_t address, const void *from, size_t bytes);
int shm_copy_from(const struct shm_peer *peer, uint64_t address, void *to, size_t bytes);

/* Whether the peer's process still exists, also if it is `gone` for other reasons. One system call;
 * true where the kernel has no pidfd. Any thread. */
bool shm_process_exists(const struct shm_peer *peer);

/* ---- names ----------------------------------------------------------------------------------- */

/* The fabric has one registry of names: (node, kind, key) has one owner and a value. A name ends
 * when its owner gives it back, leaves or dies. A claim asks the daemon (some 30 us), a lookup does
 * not. */
struct shm_key {
    uint32_t node;
    uint32_t kind;
    uint64_t key[2];
};

struct shm_name {
    uint32_t slot, generation; /* owner; of a shared name the first holder that still exists */
    uint64_t value;
};

/* 0; -EEXIST: a process has claimed it, possibly this one (*found says which, if not NULL);
 * -ENOSPC; -ENOTCONN, -ETIMEDOUT. */
int shm_claim(struct shm *shm, const struct shm_key *key, uint64_t value, struct shm_name *found);

/* Any number of processes hold a shared name, each any number of times. Its value is that of the
 * first claim, returned in *found. The name ends with its last claim. -EEXIST: the name is not
 * shared. */
int shm_claim_shared(struct shm *shm, const struct shm_key *key, uint64_t value,
                     struct shm_name *found);

/* Claims the first free key among key[0], key[0] + 1, ... key[0] + count - 1 (count at most 65536),
 * and stores it in key[0]. -EEXIST: none is free. */
int shm_claim_free(struct shm *shm, struct shm_key *key, uint32_t count, uint64_t value);

/* Gives one claim back. -ENOENT: this process has no claim. */
int shm_unclaim(struct shm *shm, const struct shm_key *key);

/* 0 or -ENOENT; -ENOTCONN: the daemon died. No system call, unless the daemon lost its processor in
 * the middle of a change: then this waits for it. Any thread. */
int shm_lookup(const struct shm *shm, const struct shm_key *key, struct shm_name *name);

/* ---- messages to and from the daemon ------------------------------------------------------------
 */

#define SHM_TEXT_MAX 16384u /* bytes of an order or a report */

/* Sends bytes to the program that runs the daemon (shm_server_events.report); a plain
 * jacquard-fabricd drops them. */
int shm_report(struct shm *shm, const void *bytes, size_t count);

/* ---- time ------------------------------------------------------------------------------------ */

/* The processor's time stamp counter (the same for all processes), a few ns to read;
 * facts.ticks_per_us. */
uint64_t shm_ticks(void);

#endif
