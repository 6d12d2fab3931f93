/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random but type-correct sequences of uGNI calls by several processes, made of arbitrary bytes.
 *
 *   api_world.c   a small cluster from the first 16 bytes: processes, threads, faults, how it ends
 *   api_calls.c   calls on domains, queues, endpoints, memory; the table of all calls
 *   api_posts.c   transactions and their completions
 *   api_talk.c    datagrams, short messages, and the other services
 *   api_model.c   what is known without asking the library: who owns which handle, and which bytes
 *                 of memory any call may have written
 *   api_fuzz.c    entry for libFuzzer;  api_main.c: fixed seeds and files, for ctest and valgrind
 *
 * After the head each record of 8 bytes is one call: whose, which, and with what. Handles are taken
 * from slots that keep what they held, so calls meet handles that are stale, of another domain or
 * NULL. What a program could not do without breaking itself is not done: buffers that the CPU reads
 * or writes exist, a descriptor in use is not posted again, threads lock as the header asks.
 *
 * A violation of what gni_pub.h promises ends the process by abort(), after a line that says what.
 * API_FUZZ_TRACE=1 prints each call.
 */
#ifndef JACQUARD_TESTS_FUZZ_API_H
#define JACQUARD_TESTS_FUZZ_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "aries/aries.h"
#include "engine/sim.h"
#include "gni_pub.h"

#define RANKS 4u
#define THREADS 2u
#define DOMAINS 2u
#define SLOTS 8u /* of each other kind of handle */
#define POSTS 16u
#define PAGE 4096u
#define HEAD_BYTES 16u
#define RECORD_BYTES 8u
#define RECORDS_MAX 512u
#define SERVICES 0x5e /* byte 14 of the head: services are set up first */

/*
 * A process's memory, between pages that nobody may touch: DATA_PAGES of data, one of mailboxes,
 * one of datagrams, two whose protection changes.
 */
#define DATA_PAGES 8u
#define MAILBOX_PAGE 8u
#define DATAGRAM_PAGE 9u
#define FLAKY_PAGE 10u
#define ARENA_PAGES 12u
#define ARENA_BYTES (ARENA_PAGES * PAGE)
#define MAILBOX_BYTES 1024u

enum kind { CDM, NIC, CQ, EP, MSGQ, CE, CHANNEL, ERRORS, KINDS };

/* The library's until it is collected, or its domain is gone. */
struct posted {
    gni_post_descriptor_t descr, copy;
    gni_ct_uni_post_descriptor_t chain[3];
    bool busy;
    uint16_t events; /* those that it still has to deliver */
    uint32_t domain; /* number of the domain that it was posted in */
};

struct process {
    uint32_t id, node;
    struct aries_process *process;
    struct thread {
        struct process *process;
        struct sim_fiber *fiber;
        const uint8_t *next, *end; /* records */
        uint32_t id;
        bool ended;
    } thread[THREADS];
    uint32_t threads;
    bool dead, reaped;
    struct sim_event reap;
    struct thread *lock; /* who holds the lock of this process */
    uint8_t *arena;
    void *slot[KINDS][SLOTS];
    gni_mem_handle_t memory[SLOTS];
    uint64_t memory_address[SLOTS]; /* as registered: 0 for offsets */
    uint64_t memory_bytes[SLOTS];
    gni_cq_entry_t event[SLOTS]; /* last of each queue */
    struct posted post[POSTS];
    gni_smsg_attr_t mailbox[RANKS]; /* for each peer */
    gni_msgq_ep_attr_t msgq[RANKS]; /* what it told the node of each peer */
    uint64_t handled; /* calls of queue handlers */
};

struct world {
    uint8_t head[HEAD_BYTES];
    struct net *net;
    struct aries_fabric *fabric;
    struct process process[RANKS];
    uint32_t processes, nodes, threads_running;
    uint64_t digest; /* of what calls returned */
    bool trampled; /* somebody wrote where mailboxes are: messages may be damaged */
};
extern struct world world;

/* Runs the sequence; the digest is of everything that is simulated and returned. */
uint64_t world_run(const uint8_t *bytes, size_t length);

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void note(uint64_t value); /* into the digest */

/* ---- model ----------------------------------------------------------------------------------- */

void model_begin(void);
void model_end(void); /* memory that nobody may have written is as it was */

/* A handle was given out; `domain`: number of its domain (for CDM: what is returned). */
uint32_t model_made(enum kind kind, void *handle, uint32_t process, uint32_t domain);
void model_gone(enum kind kind, void *handle); /* with all that was made from it, if it is a CDM */
void model_process_gone(uint32_t process);
/* NULL instead of a handle that is alive in another process: there, it would not be that pointer.
 */
void *model_visible(enum kind kind, void *handle, uint32_t process);
void *model_any(enum kind kind, uint32_t process); /* one that is alive; NULL: none */
uint32_t model_domain(enum kind kind, const void *handle); /* 0: not alive */
void model_bound(const void *ep, uint32_t node); /* UINT32_MAX: nowhere */
uint32_t model_peer(const void *ep); /* node */
uint8_t model_ptag(uint32_t domain);
void model_attached(uint32_t domain, uint8_t ptag);

/* The network may write to this registration: pieces in the order of their offsets. */
void model_registered(uint32_t node, uint8_t ptag, const gni_mem_handle_t *handle, uint64_t base,
                      const gni_mem_segment_t *pieces, uint32_t count, bool read_only);
/*
 * Something that writes so many bytes at this address through this handle was started; `message`:
 * to a mailbox, as its rules say.
 */
void model_writes(uint32_t node, uint8_t ptag, const gni_mem_handle_t *handle, uint64_t address,
                  uint64_t bytes, bool message);
/* A call may write here itself. */
void model_stores(uint32_t process, const void *address, uint64_t bytes);

/* ---- calls ----------------------------------------------------------------------------------- */

struct call {
    struct thread *thread;
    struct process *process;
    const uint8_t *b; /* the record; 2 … 7 are arguments */
};

typedef void call_fn(struct call *call);
call_fn call_cdm_create, call_cdm_destroy, call_cdm_attach, call_cq_create, call_cq_destroy,
    call_ep_create, call_ep_bind, call_ep_unbind, call_ep_destroy, call_ep_misc, call_mem_register,
    call_mem_segments, call_mem_deregister, call_mem_misc, call_cq_get, call_cq_wait,
    call_cq_vector_wait, call_cq_vector_monitor, call_cq_mask, call_cq_misc, call_device,
    call_sleep, call_protect, call_leave;
call_fn call_rdma, call_put, call_get, call_amo, call_chain, call_cqwrite, call_cqwrite_chain,
    call_completed, call_collect;
call_fn call_post_data, call_data_test, call_data_wait, call_data_probe, call_data_probe_wait,
    call_data_cancel, call_smsg_init, call_smsg_send, call_smsg_next, call_smsg_release,
    call_smsg_misc, call_msgq_make, call_msgq_connect, call_msgq_send, call_msgq_progress,
    call_ce_make, call_ce_configure, call_ce_post, call_channel, call_channel_event, call_errors,
    call_error_events, call_job, call_injection;

void calls_prepare(struct thread *thread); /* a start that most sequences would not find */
void calls_run(struct thread *thread);
void calls_destroy_all(struct process *process);

/* Codes that the header documents; INVALID_PARAM and SUCCESS always. */
#define RC(code) (1u << GNI_RC_##code)
/* Checks a code, notes it, and gives it back. */
gni_return_t told(const struct call *call, const char *name, gni_return_t rc, uint32_t documented);
#define TOLD(call, name, arguments, documented) told(call, #name, name arguments, documented)

uint32_t b16(const struct call *call, unsigned index);
void *pick(const struct call *call, enum kind kind, unsigned selector); /* selector & 7; 7: NULL */
uint64_t length_of(uint8_t selector);
void post_forget(struct process *process,
                 uint32_t domain); /* descriptors of a domain that is gone */
void take_event(struct call *call, unsigned queue, gni_return_t rc, gni_cq_entry_t event);

/* Where results go: a byte too many is seen. */
#define GUARD 0x6a617175617264ull
#define OUT_VALUE(type, name) \
    struct {                  \
        uint64_t before;      \
        type value;           \
        uint64_t after;       \
    } name = {.before = GUARD, .after = GUARD}
#define OUT_CHECK(name)                                              \
    do {                                                             \
        if ((name).before != GUARD || (name).after != GUARD)         \
            die("%s: bytes beside a result were written", __func__); \
    } while (0)

#endif
