/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random but type-correct sequences of uGNI calls by several processes, made of arbitrary bytes.
 *
 *   api_world.c   a small cluster from the first 16 bytes: processes, threads, faults, how it ends
 *   api_calls.c   calls on domains, queues, endpoints, devices
 *   api_memory.c  calls on memory
 *   api_posts.c   transactions and their completions
 *   api_talk.c    datagrams, short messages, and the other services
 *   api_sequence.c  the table of all calls; what is set up before the sequence; running it
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
#define SLOTS 8u /* slots of each other kind of handle */
#define POSTS 16u
#define PAGE 4096u
#define HEAD_BYTES 16u
#define RECORD_BYTES 8u
#define RECORDS_MAX 512u
#define SERVICES 0x5e /* byte 14 of the head: services are set up first */

/*
 * The memory of a process: DATA_PAGES pages of data, one of mailboxes, one of datagrams, and two
 * whose protection changes. Guard pages lie on both sides.
 */
#define DATA_PAGES 8u
#define MAILBOX_PAGE 8u
#define DATAGRAM_PAGE 9u
#define FLAKY_PAGE 10u
#define ARENA_PAGES 12u
#define ARENA_BYTES (ARENA_PAGES * PAGE)
#define MAILBOX_BYTES 1024u

enum kind { CDM, NIC, CQ, EP, MSGQ, CE, CHANNEL, ERRORS, KINDS };

/* A descriptor. It belongs to the library until the program collects it or destroys its domain. */
struct posted {
    gni_post_descriptor_t descr, copy;
    gni_ct_uni_post_descriptor_t chain[3];
    bool busy;
    uint16_t events; /* events that are still due */
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
    gni_msgq_ep_attr_t msgq[RANKS]; /* attributes sent to the node of each peer */
    uint64_t handled; /* calls of queue handlers */
};

struct world {
    uint8_t head[HEAD_BYTES];
    struct net *net;
    struct aries_fabric *fabric;
    struct process process[RANKS];
    uint32_t processes, nodes, threads_running;
    uint64_t digest; /* digest of the results of all calls */
    bool trampled; /* a transaction wrote into mailboxes: messages may be damaged */
};
extern struct world world;

/* Runs the sequence; the digest is of everything that is simulated and returned. */
uint64_t world_run(const uint8_t *bytes, size_t length);

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void note(uint64_t value); /* adds a value to the digest */

/* ---- model ----------------------------------------------------------------------------------- */

void model_begin(void);
void model_end(void); /* checks that memory which no call may have written is unchanged */

/*
 * Records a new handle. `domain` is the number of its domain; for a CDM it is ignored, and the new
 * number is returned.
 */
uint32_t model_made(enum kind kind, void *handle, uint32_t process, uint32_t domain);
void model_gone(enum kind kind, void *handle); /* for a CDM: and all objects made from it */
void model_process_gone(uint32_t process);
/*
 * Returns the handle, or NULL if it belongs to a living object of another process: a real process
 * could not have that pointer.
 */
void *model_visible(enum kind kind, void *handle, uint32_t process);
void *model_any(enum kind kind, uint32_t process); /* one of the living handles; NULL: none */
uint32_t model_domain(enum kind kind, const void *handle); /* 0: not alive */
void model_bound(const void *ep, uint32_t node); /* UINT32_MAX: nowhere */
uint32_t model_peer(const void *ep); /* node */
uint8_t model_ptag(uint32_t domain);
void model_attached(uint32_t domain, uint8_t ptag);

/*
 * Records a registration that the network may write to. The pieces are in the order of their
 * offsets.
 */
void model_registered(uint32_t node, uint8_t ptag, const gni_mem_handle_t *handle, uint64_t base,
                      const gni_mem_segment_t *pieces, uint32_t count, bool read_only);
/*
 * Records that a call has started to write these bytes through this handle. `message`: a message to
 * a mailbox, which stays within the mailbox.
 */
void model_writes(uint32_t node, uint8_t ptag, const gni_mem_handle_t *handle, uint64_t address,
                  uint64_t bytes, bool message);
/* Records that a call may write here itself. */
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

void calls_prepare(struct thread *thread); /* the objects that most calls need */
void calls_run(struct thread *thread);
void calls_destroy_all(struct process *process);

/* A set of return codes that the header documents. INVALID_PARAM and SUCCESS are always allowed. */
#define RC(code) (1u << GNI_RC_##code)
/*
 * Aborts if the code is not documented for the call; otherwise adds it to the digest and returns
 * it.
 */
gni_return_t checked(const struct call *call, const char *name, gni_return_t rc,
                     uint32_t documented);
#define CHECKED(call, name, arguments, documented) checked(call, #name, name arguments, documented)

/* Creation of objects, by calls and by calls_prepare. */
#define COOKIES 4u
extern const uint32_t cookies[COOKIES];
void create_domain(struct call *call, unsigned selector, uint32_t inst_id, uint8_t ptag,
                   uint32_t cookie, uint32_t modes);
gni_nic_handle_t attach(struct call *call, unsigned selector, uint32_t device);
void create_queue(struct call *call, unsigned nic, unsigned selector, uint32_t entries,
                  gni_cq_mode_t mode, bool handled);
void create_ep(struct call *call, unsigned nic, unsigned cq, unsigned selector);
void register_memory(struct call *call, unsigned nic, unsigned cq, unsigned slot, uint64_t address,
                     uint64_t length, uint32_t flags, uint32_t index);
/* Address of the NIC of a rank, or one that does not exist. */
uint32_t address_of(uint8_t selector);
uint32_t node_of(uint8_t selector); /* node with that address; UINT32_MAX: none */

uint32_t b16(const struct call *call, unsigned index);
void *pick(const struct call *call, enum kind kind, unsigned selector); /* selector & 7; 7: NULL */
uint64_t length_of(uint8_t selector);
void post_forget(struct process *process,
                 uint32_t domain); /* descriptors of a domain that is gone */
void take_event(struct call *call, unsigned queue, gni_return_t rc, gni_cq_entry_t event);

/* A result between two guard words, which show a write beyond it. */
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
