/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface of a network driver. Its functions return MAD_OK or a code of error.h; they may
 * explain a failure with mad_driver_note. "NULL ok" entries may be left out. The library calls
 * entries of one connection direction from one thread at a time, and holds no lock meanwhile.
 */
#ifndef JACQUARD_MADELEINE_DRIVER_H
#define JACQUARD_MADELEINE_DRIVER_H

#include "objects.h"
#include "wait.h"

enum { MAD_DRIVER_ABI = 1 };

struct s_mad_driver_interface {
    int abi_version; /* MAD_DRIVER_ABI */

    /* ---- session: driver->name and adapter->name, ->parameter come from calloc, strdup ---- */
    int (*driver_init)(p_mad_driver_t driver);
    int (*adapter_init)(p_mad_adapter_t adapter); /* sets name, parameter; place if needed */
    int (*adapter_configuration_init)(p_mad_adapter_t adapter); /* NULL ok; ranks are known */

    /* ---- opening a channel ---- */
    int (*channel_init)(p_mad_channel_t channel); /* NULL ok */
    int (*before_open_channel)(p_mad_channel_t channel); /* NULL ok */
    /* Sets nb_link in both directions; NULL: one link. Also called for the own rank. */
    int (*connection_init)(p_mad_connection_t in, p_mad_connection_t out);
    int (*link_init)(p_mad_link_t link); /* sets the three modes */
    int (*accept)(p_mad_channel_t channel); /* accepts one connection; NULL ok */
    int (*connect)(p_mad_connection_t out); /* NULL ok */
    int (*after_open_channel)(p_mad_channel_t channel); /* NULL ok */

    /* ---- closing it: all NULL ok; the default of the _exit entries frees `specific` ---- */
    int (*before_close_channel)(p_mad_channel_t channel);
    int (*disconnect)(p_mad_connection_t connection);
    int (*after_close_channel)(p_mad_channel_t channel);
    int (*link_exit)(p_mad_link_t link);
    int (*connection_exit)(p_mad_connection_t in, p_mad_connection_t out);
    int (*channel_exit)(p_mad_channel_t channel);
    int (*adapter_exit)(p_mad_adapter_t adapter);
    int (*driver_exit)(p_mad_driver_t driver);

    /* ---- messages ---- */
    /* The transfer method of a block: the same link id on both sides. NULL: link 0. */
    p_mad_link_t (*choice)(p_mad_connection_t connection, size_t length, mad_send_mode_t send_mode,
                           mad_receive_mode_t receive_mode);
    /*
     * A new empty buffer; its structure comes from mad_buffer_alloc. It may wait for one in buffer
     * mode only. NULL: out of memory. Needed by static links.
     */
    p_mad_buffer_t (*get_static_buffer)(p_mad_link_t link);
    /* Takes back the memory of a received buffer, or of one that is not sent after all. */
    int (*return_static_buffer)(p_mad_link_t link, p_mad_buffer_t buffer);
    int (*new_message)(p_mad_connection_t out); /* announces a message; NULL ok */
    /* Waits for a message; NULL: failed, see mad_channel_fail. Consumes no data of the user. */
    p_mad_connection_t (*receive_message)(p_mad_channel_t channel);
    p_mad_connection_t (*poll_message)(p_mad_channel_t channel); /* the same without waiting */
    /*
     * Sends bytes_read to bytes_written. When it returns, the memory of a dynamic buffer may be
     * reused, and that of a static one is the driver's.
     */
    int (*send_buffer)(p_mad_link_t link, p_mad_buffer_t buffer);
    /* Dynamic: fills *buffer. Static: stores a received buffer. */
    int (*receive_buffer)(p_mad_link_t link, p_mad_buffer_t *buffer);
    int (*send_buffer_group)(p_mad_link_t link, p_mad_buffer_group_t group);
    int (*receive_sub_buffer_group)(p_mad_link_t link, tbx_bool_t first,
                                    p_mad_buffer_group_t group);

    /* ---- networks that start the processes; NULL ok ---- */
    int (*external_spawn_init)(p_mad_adapter_t adapter, int *argc, char **argv);
    int (*configuration_init)(p_mad_adapter_t adapter, p_mad_configuration_t configuration);
    int (*send_adapter_parameter)(p_mad_adapter_t adapter, ntbx_host_id_t rank, char *parameter);
    int (*receive_adapter_parameter)(p_mad_adapter_t adapter, char **parameter);

    /* ---- later additions; NULL ok ---- */
    int (*finalize_message)(p_mad_connection_t out); /* after the last group */
    int (*message_received)(p_mad_connection_t in);
    p_mad_channel_t (*get_sub_channel)(p_mad_channel_t channel, unsigned sub);
    int (*progress)(p_mad_adapter_t adapter);
    int (*wait_event)(p_mad_adapter_t adapter, int64_t timeout_ns);
    /* Returns when nothing that was sent on the channel needs the help of this process any more. */
    int (*quiesce)(p_mad_channel_t channel);
    /* The receiver's blocks are not the sender's: a sender that waits for it has to learn it. */
    void (*give_up)(p_mad_connection_t in);
    /*
     * Of drivers that use mad_entry_…: link 0 has static buffers, which send_static takes over, and
     * the other links send lists of the user's blocks.
     */
    int (*send_static)(p_mad_link_t link, p_mad_buffer_t buffer);
    int (*receive_static)(p_mad_link_t link, p_mad_buffer_t *buffer);
    int (*send_list)(p_mad_link_t link, p_mad_buffer_t first);
    int (*receive_list)(p_mad_link_t link, p_mad_buffer_t first);
};

#pragma GCC visibility push(default)

/* ---- what the library offers to drivers ---- */

/* Entries of the table, over its last four. */
int mad_entry_send_buffer(p_mad_link_t link, p_mad_buffer_t buffer);
int mad_entry_receive_buffer(p_mad_link_t link, p_mad_buffer_t *buffer);
int mad_entry_send_group(p_mad_link_t link, p_mad_buffer_group_t group);
int mad_entry_receive_group(p_mad_link_t link, tbx_bool_t first, p_mad_buffer_group_t group);
/* A structure for a buffer of the connection, all zero; no memory for data. NULL: out of memory. */
p_mad_buffer_t mad_buffer_alloc(p_mad_connection_t connection);
void mad_buffer_free(p_mad_connection_t connection, p_mad_buffer_t buffer);
/* Explains a failure that the driver is about to return: a static text, and its own code. */
void mad_driver_note(p_mad_connection_t connection, const char *text, int driver_code);
/* The connection is broken from now on, in this direction. The first code counts. */
void mad_connection_break(p_mad_connection_t connection, int code);
/* Why receive_message returns NULL. */
void mad_channel_fail(p_mad_channel_t channel, int code, const char *text);
/* The code of mad_channel_fail since receive_message or poll_message began. */
int mad_channel_error(p_mad_channel_t channel);
/* Whether a rank has connections in the channel; drivers connect to those ranks only. */
tbx_bool_t mad_channel_has(p_mad_channel_t channel, ntbx_host_id_t rank);
/* The parameter of a rank's adapter with the same id; MAD_EBOOT: not known. */
int mad_adapter_parameter(p_mad_adapter_t adapter, ntbx_host_id_t rank, char *text, size_t size);
/*
 * In before_open_channel: a text of this process for the channel, of at most 1000 characters
 * without blank, `;` and `=`. Afterwards: that of a rank; MAD_EBOOT: not known.
 */
int mad_channel_publish(p_mad_channel_t channel, const char *text);
int mad_channel_parameter(p_mad_channel_t channel, ntbx_host_id_t rank, char *text, size_t size);
/* The name of the host where a rank runs, whatever a configuration file says. MAD_EBOOT: unknown.
 */
int mad_host_of(p_mad_madeleine_t madeleine, ntbx_host_id_t rank, char *text, size_t size);
/* A hash of the job's name: what one job sends is not taken for another's. */
uint64_t mad_job_hash(p_mad_madeleine_t madeleine);
/* A number of the environment or the configuration, "MAD_TCP_EAGER". */
long mad_parameter(const char *name, long otherwise);
/* Waits as mad_set_wait_ops says. */
int mad_wait(mad_event_t *event, int64_t timeout_ns);
/*
 * One fruitless pass of a loop that polls the network, which has no descriptors: sleeps for a short
 * while after some passes, or yields, as mad_set_wait_ops says. `timer` runs.
 */
struct port_timer;
void mad_wait_idle(struct port_timer *timer);

#pragma GCC visibility pop

/* `driver` gets the interface, connection type and alignment. */
void mad_tcp_register(p_mad_driver_t driver);
int mad_tcp_usable(void); /* whether the host has an Ethernet */
void mad_shm_register(p_mad_driver_t driver);
void mad_loop_register(p_mad_driver_t driver);
void mad_sisci_register(p_mad_driver_t driver);
int mad_sisci_usable(void); /* whether the host has an SCI card */
void mad_gni_register(p_mad_driver_t driver);
/* Whether a process can have an adapter of them without a list of adapters. */
void mad_via_register(p_mad_driver_t driver);
int mad_via_usable(void);
void mad_sbp_register(p_mad_driver_t driver);
int mad_sbp_usable(void);
int mad_gni_usable(void); /* whether the process has credentials of uGNI */
void mad_lnet_register(p_mad_driver_t driver); /* an interface of NULL: there is no LNet */
int mad_lnet_usable(void); /* 0: it is no adapter by default, only in a list */

#endif
