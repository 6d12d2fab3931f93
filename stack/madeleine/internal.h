/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the generic layer share. Each public object is the head of a larger one. */
#ifndef JACQUARD_MADELEINE_INTERNAL_H
#define JACQUARD_MADELEINE_INTERNAL_H

#include <stdbool.h>

#include "madeleine/api.h"
#include "madeleine/driver.h"
#include "madeleine/error.h"
#include "madeleine/extended.h"
#include "port/port.h"

enum { MAD_NAME_MAX = 24, MAD_TEXT_MAX = 320 };

/* The state of a process outside of its session. It is never freed. */
struct mad_process {
    mad_failure_handler_t handler;
    void *handler_arg;
    const struct mad_wait_ops *wait_ops;
    void *wait_arg;
    bool threads;
    struct mad_boot *pmi2; /* the connection to the process manager, or NULL */
    p_mad_madeleine_t session; /* what mad_get_madeleine returns */
    struct mad_plan *plan; /* of the session's configuration file, or NULL */
    unsigned sessions; /* that have begun */
    p_mad_adapter_set_t adapter_set; /* of mad_pre_init */
    char **parameters; /* its parameters, "MAD_TCP_EAGER=1" … NULL, or NULL */
    struct mad_smpi_process *mpi; /* of a simulation, while MPI is started (mpi/process.h) */
    struct mad_mpi_refusals *mpi_refusals; /* of a simulation (driver/builtin_mpi.c) */
};
struct mad_process *mad_process(void);

/* Who may hold an object: with threads in the order of asking. */
struct mad_gate {
    struct port_mutex mutex;
    struct port_condition changed;
    uint64_t next, serving; /* tickets */
    bool shared; /* by threads of the library, also if the program has none */
};
void mad_gate_init(struct mad_gate *gate);
void mad_gate_fini(struct mad_gate *gate);
/* Sets *held. False: it is held and `wait` is false, or nobody could release it. */
bool mad_gate_enter(struct mad_gate *gate, tbx_bool_t *held, bool wait);
void mad_gate_leave(struct mad_gate *gate, tbx_bool_t *held);

struct mad_session {
    mad_madeleine_t object;
    struct mad_boot *boot;
    int check; /* the level of new channels */
    uint64_t job_hash;
};

struct mad_channel_full {
    mad_channel_t object;
    int check; /* level 0 to 2 */
    int error; /* of receive_message */
    const char *note;
    struct mad_gate gate; /* of reception_lock */
    bool *member; /* by rank; NULL: all of them */
    struct mad_virtual *part_of; /* it carries a virtual channel: only that uses it; or NULL */
    struct mad_mux *rail_of; /* the same of a multiplexed channel */
};

/* Areas of CHEAPER blocks that are being received, at check levels from 1. */
struct mad_area {
    const char *start;
    size_t length;
};

/* A block of the open message, for a simulation's ledger. */
struct mad_note {
    const void *bytes;
    size_t length;
    uint64_t digest;
    uint32_t number;
    mad_send_mode_t send_mode;
    mad_receive_mode_t receive_mode;
};

struct mad_connection_full {
    mad_connection_t object;
    int error; /* sticky: the connection is broken */
    const char *note; /* static text about the error, or NULL */
    int driver_code;
    char text[MAD_TEXT_MAX]; /* what the check levels found */
    struct mad_gate gate; /* of `lock`, when outgoing */
    uint64_t message; /* number of the open one, from 0 */
    uint32_t blocks; /* of the user in the open message */
    uint32_t unpacked; /* CHEAPER blocks whose time has not been charged (mad_cost) */
    uint64_t bytes, hash;
    p_mad_link_t static_link; /* that static_buffer came from */
    struct mad_area *areas;
    size_t area_count, area_room;
    /* Structures for the message's buffers, pairs and groups: they are never returned before the
     * connection closes, so a steady state allocates nothing. */
    p_mad_buffer_t free_buffers;
    p_mad_buffer_pair_t free_pairs;
    p_mad_buffer_group_t free_groups;
    struct mad_slab *slabs;
    struct mad_note *notes; /* NULL: none; outside of simulation always */
    size_t note_count;
    uint32_t booked; /* blocks of the open message */
    p_tbx_slist_t slices; /* optional ones of CHEAPER blocks of the open message */
    bool left; /* incoming: the peer has closed the channel above, which ended the receiver here */
    bool direct; /* of a virtual channel: the open message goes through one network, unchanged */
};

static inline struct mad_connection_full *mad_full(p_mad_connection_t connection)
{
    return (struct mad_connection_full *)connection;
}

static inline struct mad_channel_full *mad_channel_full(p_mad_channel_t channel)
{
    return (struct mad_channel_full *)channel;
}

static inline const mad_driver_interface_t *mad_interface(p_mad_connection_t connection)
{
    return connection->channel->adapter->driver->interface;
}

/*
 * Whether the program polls without sleeping: then it is cheaper to try a system call again than to
 * wait until it succeeds. One pass of such a loop; it yields after some.
 */
bool mad_wait_spins(unsigned *passes);

/*
 * Charges the CPU time of a step of a message on the channel, for models of networks; BEGIN_PACKING
 * stands for PORT_STEP_BEGIN_PACKING. A real CPU takes the time by itself, so there it is nothing.
 */
#ifdef MAD_SIMULATED
#define mad_cost(channel, step, amount) \
    port_step_spend((channel)->adapter->driver->name, PORT_STEP_##step, (amount))
#else
#define mad_cost(channel, step, amount) ((void)(channel), (void)(amount))
#endif

/* ---- failures (failure.c) -------------------------------------------------------------------- */

void mad_report(const mad_failure_t *failure);
#define MAD_REPORT(code_, text_, channel_, peer_)            \
    mad_report(&(const mad_failure_t){.code = (code_),       \
                                      .text = (text_),       \
                                      .file = __FILE_NAME__, \
                                      .line = __LINE__,      \
                                      .channel = (channel_), \
                                      .peer = (peer_)})
/* Breaks the connection and reports why: the driver's note, else a text for the code. */
void mad_connection_fail(p_mad_connection_t connection, int code, const char *file, int line);
#define MAD_CONNECTION_FAIL(connection, code) \
    mad_connection_fail((connection), (code), __FILE_NAME__, __LINE__)
const char *mad_error_text(int code);
/* For a channel that carries another one: the peer has closed that, so nothing comes any more. */
void mad_connection_leave(p_mad_connection_t in);
/* When the channel above is closed: connections whose peers had left can be used again. */
void mad_channel_reuse(p_mad_channel_t channel);

/* ---- buffers (buffer.c) ---------------------------------------------------------------------- */

void mad_list_append(mad_buffer_list_t *list, p_mad_buffer_t buffer);
p_mad_buffer_t mad_list_pop(mad_buffer_list_t *list);
/* Copies what fits from source to destination, and advances both. */
size_t mad_buffer_copy(p_mad_buffer_t source, p_mad_buffer_t destination);
p_mad_buffer_pair_t mad_pair_alloc(p_mad_connection_t connection);
p_mad_buffer_group_t mad_group_alloc(p_mad_connection_t connection);
void mad_group_free(p_mad_connection_t connection, p_mad_buffer_group_t group);
void mad_pairs_free(p_mad_connection_t connection);
/* Frees the structures, heap copies, and by way of the driver the static buffers of a list. */
void mad_list_drop(p_mad_link_t link, mad_buffer_list_t *list);
void mad_pools_fini(p_mad_connection_t connection);

/* ---- the switch (switch.c) ------------------------------------------------------------------- */

struct mad_block {
    void *buffer;
    size_t length;
    mad_send_mode_t send_mode;
    mad_receive_mode_t receive_mode;
    /* Found by the switch: */
    p_mad_link_t link;
    mad_link_mode_t mode; /* the effective one */
    bool was_delayed;
    bool changed; /* another stream begins */
    bool commit; /* and the previous one is pending */
};
p_mad_link_t mad_choice(p_mad_connection_t connection, const struct mad_block *block);
void mad_switch(p_mad_connection_t connection, struct mad_block *block);
void mad_connection_reset(p_mad_connection_t connection);

/* Sending and receiving (send.c, receive.c) of one block, and of what is pending at the end. */
int mad_send_block(p_mad_connection_t connection, struct mad_block *block);
int mad_send_end(p_mad_connection_t connection);
void mad_send_drop(p_mad_connection_t connection);
int mad_receive_block(p_mad_connection_t connection, struct mad_block *block);
int mad_receive_end(p_mad_connection_t connection);
void mad_receive_drop(p_mad_connection_t connection);

/* ---- check levels (check.c) ------------------------------------------------------------------ */

int mad_check_pack(p_mad_connection_t connection, const struct mad_block *block);
int mad_check_end_packing(p_mad_connection_t connection);
int mad_check_unpack(p_mad_connection_t connection, const struct mad_block *block);
int mad_check_end_unpacking(p_mad_connection_t connection);
/*
 * The ledger of a simulation (book.c): a message begins; a block is packed, the end is called and
 * has returned; a block is there, and the whole message. Static buffers: one leaves, or has come.
 */
#ifdef MAD_SIMULATED
void mad_book_begin(p_mad_connection_t connection);
void mad_book_pack(p_mad_connection_t connection, const struct mad_block *block);
void mad_book_end_packing(p_mad_connection_t connection);
void mad_book_packed(p_mad_connection_t connection);
void mad_book_unpack(p_mad_connection_t connection, const struct mad_block *block);
void mad_book_end_unpacking(p_mad_connection_t connection);
void mad_book_buffer(p_mad_link_t link, const mad_buffer_t *buffer);
void mad_book_fini(p_mad_connection_t connection);
#else
#define mad_book_begin(connection) ((void)(connection))
#define mad_book_pack(connection, block) ((void)(connection), (void)(block))
#define mad_book_end_packing(connection) ((void)(connection))
#define mad_book_packed(connection) ((void)(connection))
#define mad_book_unpack(connection, block) ((void)(connection), (void)(block))
#define mad_book_end_unpacking(connection) ((void)(connection))
#define mad_book_buffer(link, buffer) ((void)(link), (void)(buffer))
#define mad_book_fini(connection) ((void)(connection))
#endif
/* The block has been given to its buffer management. */
void mad_check_count(p_mad_connection_t connection, const struct mad_block *block);
/* A CHEAPER block waits in this buffer; later: it is about to be sent. */
void mad_check_digest(p_mad_connection_t connection, p_mad_buffer_t buffer);
void mad_check_unchanged(p_mad_connection_t connection, const mad_buffer_t *buffer);

#endif
