/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the self-test share. */
#ifndef JACQUARD_M0_NETTEST_PVT_H
#define JACQUARD_M0_NETTEST_PVT_H

#include "lib/thread.h"
#include "m0/nettest.h"
#include "net/net.h"

enum { M0_NETTEST_ADDRESS = 80, M0_NETTEST_SEGMENT = 4096, M0_NETTEST_COMMAND_BYTES = 16384 };

/* ---- a transfer machine and its buffers: machine.c ------------------------------------------- */

struct m0_nettest_machine;
struct m0_nettest_buffer {
    struct m0_net_buffer nb; /* first */
    struct m0_nettest_machine *machine;
    uint32_t index; /* in its array */
};
/* The end of an operation, on the machine's thread, with its lock held. */
typedef void (*m0_nettest_end_t)(void *owner, struct m0_nettest_buffer *buffer,
                                 const struct m0_net_buffer_event *event);

struct m0_nettest_machine {
    struct m0_net_transfer_mc tm; /* first */
    struct m0_net_domain dom;
    struct m0_mutex lock; /* of all below, and of what the owner keeps */
    struct m0_cond changed;
    enum m0_net_tm_state state;
    int status, lost; /* lost: why it failed after it had started */
    bool closing; /* cancelled operations are not reported to the owner */
    m0_nettest_end_t end;
    void *owner;
};

struct m0_nettest_prepare { /* called before a machine starts; NULL: nothing is */
    void (*call)(struct m0_net_domain *dom, void *arg);
    void *arg;
};
/* 0 or a negative errno, and then nothing is left. */
int m0_nettest_machine_open(struct m0_nettest_machine *machine, const struct m0_net_xprt *xprt,
                            const char *address, const struct m0_nettest_prepare *prepare,
                            m0_nettest_end_t end, void *owner);
/* Cancels all operations and waits for their ends; the buffers remain, to be freed before: */
void m0_nettest_machine_stop(struct m0_nettest_machine *machine);
void m0_nettest_machine_fini(struct m0_nettest_machine *machine);
/* Registered buffers of `bytes`; 0 or a negative errno, and then none is left and *buffers NULL. */
int m0_nettest_buffers_make(struct m0_nettest_machine *machine, uint32_t count, uint64_t bytes,
                            struct m0_nettest_buffer **buffers);
void m0_nettest_buffers_free(struct m0_nettest_machine *machine, uint32_t count,
                             struct m0_nettest_buffer *buffers);
/* With the lock held; timeout 0: none. 0 or a negative errno; -ESHUTDOWN: the machine closes. */
int m0_nettest_add(struct m0_nettest_buffer *buffer, enum m0_net_queue_type qtype,
                   m0_time_t timeout);
/* One message of at most `bytes`. */
int m0_nettest_receive(struct m0_nettest_buffer *buffer, uint64_t bytes);
void m0_nettest_put(struct m0_nettest_buffer *buffer, const void *bytes, size_t count);
size_t m0_nettest_get(const struct m0_nettest_buffer *buffer, void *bytes, size_t count);
/* Data that depends on the seed, from byte `from` (a multiple of 8) to `bytes`. */
void m0_nettest_fill(struct m0_nettest_buffer *buffer, uint64_t from, uint64_t bytes,
                     uint64_t seed);
bool m0_nettest_is_filled(const struct m0_nettest_buffer *buffer, uint64_t from, uint64_t bytes,
                          uint64_t seed);

/* ---- statistics: stats.c --------------------------------------------------------------------- */

void m0_nettest_moments_add(struct m0_nettest_moments *moments, uint64_t value);
/* The statistics of several nodes together. */
void m0_nettest_stats_merge(struct m0_nettest_stats *all, const struct m0_nettest_stats *one);

/* ---- commands: wire.c ------------------------------------------------------------------------ */

enum m0_nettest_type {
    M0_NETTEST_INIT,
    M0_NETTEST_INIT_DONE,
    M0_NETTEST_START,
    M0_NETTEST_START_DONE,
    M0_NETTEST_STATUS,
    M0_NETTEST_STATUS_DATA,
    M0_NETTEST_STOP,
    M0_NETTEST_STOP_DONE,
    M0_NETTEST_TYPES
};

struct m0_nettest_command {
    uint64_t type;
    uint64_t id; /* the answer has it, too */
    int64_t status; /* of an answer */
    bool client; /* INIT */
    struct m0_nettest_options options; /* INIT */
    uint32_t peers; /* INIT: clients of a server, or servers of a client */
    char (*addresses)[M0_NETTEST_ADDRESS]; /* INIT of a client: of its servers */
    char address[M0_NETTEST_ADDRESS]; /* INIT_DONE: of the test machine */
    bool finished; /* STATUS_DATA, STOP_DONE */
    struct m0_nettest_stats stats; /* STATUS_DATA, STOP_DONE */
};
/* Bytes of the message; 0: it would be longer than M0_NETTEST_COMMAND_BYTES. */
size_t m0_nettest_encode(const struct m0_nettest_command *command, void *bytes);
/* 0, -ENOMEM, or -EBADMSG; m0_nettest_command_fini frees what it holds. */
int m0_nettest_decode(struct m0_nettest_command *command, const void *bytes, size_t count);
void m0_nettest_command_fini(struct m0_nettest_command *command);
/* Whether a test can have these options. */
bool m0_nettest_options_are_valid(const struct m0_nettest_options *options, uint32_t servers);

/* ---- tests ----------------------------------------------------------------------------------- */

/* The machine's lock protects it, from the start on. */
struct m0_nettest_test {
    struct m0_nettest_machine machine; /* first */
    const struct m0_nettest_test_ops *ops;
    struct m0_nettest_options options;
    uint32_t peers;
    struct m0_nettest_stats stats;
    bool running, finished;
    m0_time_t sampled; /* when messages per second were last computed */
    uint64_t sampled_sent, sampled_received; /* totals then */
};
/* Functions of one side of a kind of test. After `make`, the machine is open. */
struct m0_nettest_test_ops {
    size_t size; /* of the structure that begins with struct m0_nettest_test */
    /* Buffers; 0 or a negative errno. The addresses are those of the peers of a client. */
    int (*make)(struct m0_nettest_test *test, char (*addresses)[M0_NETTEST_ADDRESS]);
    int (*start)(struct m0_nettest_test *test); /* with the lock held */
    m0_nettest_end_t end;
    /* Ends what takes too long, with the lock held; when to call it again. NULL: nothing does. */
    m0_time_t (*expire)(struct m0_nettest_test *test, m0_time_t now);
    void (*free)(struct m0_nettest_test *test); /* of a stopped machine, also after a failed make */
};
extern const struct m0_nettest_test_ops m0_nettest_ping_client, m0_nettest_ping_server,
    m0_nettest_bulk_client, m0_nettest_bulk_server;
/* Counts the end of an operation; whether it succeeded. */
bool m0_nettest_note(struct m0_nettest_test *test, struct m0_nettest_count *count, int status);
/* With the lock held: the test's last operation has ended. */
void m0_nettest_finish(struct m0_nettest_test *test);

/* A message with descriptors. */
#define M0_NETTEST_PING_MAGIC 0x33a111edcab1a177ull
#define M0_NETTEST_DESCRIPTORS_MAGIC 0x33b01dface5e5d77ull
#define M0_NETTEST_DESCRIPTOR_MAGIC 0x3350c1a112ed1077ull
struct m0_nettest_ping_head {
    uint64_t magic, time, sequence;
};
struct m0_nettest_bulk_head {
    uint64_t magic, count; /* descriptors, two for each pair */
};
struct m0_nettest_bulk_desc { /* and `length` bytes of the descriptor */
    uint64_t magic, size, length;
};

#endif
