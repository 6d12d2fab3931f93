/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of a session. Programs read `configuration`, `name`, `adapter`, `channel` and
 * `remote_host_id`; drivers fill what their table (driver.h) says; all else belongs to the library.
 * The library allocates and frees every object.
 */
#ifndef JACQUARD_MADELEINE_OBJECTS_H
#define JACQUARD_MADELEINE_OBJECTS_H

#include "types.h"

struct s_mad_configuration {
    mad_configuration_size_t size; /* processes of the session */
    ntbx_host_id_t local_host_id; /* the own rank */
    char **host_name; /* by rank; an empty text until the name was needed */
    char *program_name;
};

/*
 * Programs of 2000 read `configuration` as a structure, programs of 2008 as a pointer. The object
 * has both, and the header that a program includes names one of them so.
 */
struct s_mad_madeleine {
#ifdef JACQUARD_MADELEINE_2008
    mad_configuration_t configuration_structure;
#else
    mad_configuration_t configuration;
#endif
    int nb_driver;
    p_mad_driver_t driver; /* array */
    int nb_adapter;
    p_mad_adapter_t adapter; /* array; the position is the adapter's id */
    mad_channel_id_t nb_channel; /* handed out so far */
    p_mad_channel_t channel; /* the open ones, in the order of opening */
#ifdef JACQUARD_MADELEINE_2008
    p_mad_configuration_t configuration;
#else
    p_mad_configuration_t configuration_pointer;
#endif
    /* Of programs of Madeleine III, otherwise NULL: directory.h. */
    p_mad_session_t session;
    p_mad_directory_t dir;
    struct s_tbx_slist *public_channel_slist; /* names of the channels of the configuration */
    struct s_tbx_htable *channel_htable; /* those that this process is in, by name */
};

struct s_mad_driver {
    char *name; /* "tcp" */
    p_mad_madeleine_t madeleine;
    mad_driver_id_t id;
    const mad_driver_interface_t *interface;
    mad_buffer_alignment_t buffer_alignment; /* bytes */
    mad_connection_type_t connection_type;
    tbx_bool_t loopback; /* a process may send to itself */
    p_mad_driver_specific_t specific;
};

struct s_mad_adapter {
    p_mad_driver_t driver;
    mad_adapter_id_t id;
    char *name; /* "TCP0" */
    char *selector; /* NULL: the default adapter */
    char *master_parameter; /* the parameter of rank 0's adapter */
    char *parameter; /* lets other processes reach this adapter */
    char *place; /* all processes must have the same one to open a channel; NULL: any */
    p_mad_driver_specific_t specific;
};

struct s_mad_adapter_description {
    mad_driver_id_t driver_id;
    char *adapter_selector;
};

struct s_mad_adapter_set {
    int size;
    p_mad_adapter_description_t description; /* array */
};

struct s_mad_channel {
    mad_channel_id_t id;
    char *name;
    p_mad_adapter_t adapter;
    tbx_bool_t reception_lock; /* a message is open for unpacking */
    p_mad_connection_t *input_connection; /* by rank */
    p_mad_connection_t *output_connection;
    p_mad_channel_t next;
    p_mad_driver_specific_t specific;
    /* Of a channel of the configuration; NULL and 0 otherwise: directory.h. */
    p_ntbx_process_container_t pc;
    unsigned max_sub; /* sub-channels, of a multiplexed channel */
    struct s_tbx_darray *in_connection_darray, *out_connection_darray; /* by rank */
};

/*
 * A piece of memory on its way. bytes_read <= bytes_written <= length. `next` links it into the
 * list that it is in.
 */
struct s_mad_buffer {
    void *buffer;
    size_t length; /* capacity in bytes */
    size_t bytes_written, bytes_read;
    mad_buffer_type_t type;
    p_mad_buffer_t next;
    uint64_t digest; /* of a CHEAPER block, at check levels from 1 */
    tbx_bool_t digested;
    p_mad_driver_specific_t specific;
};

typedef struct s_mad_buffer_list {
    p_mad_buffer_t first, last;
    size_t count;
} mad_buffer_list_t;

/* A LATER piece and the place that is reserved for it in a static buffer. */
struct s_mad_buffer_pair {
    const void *dynamic_buffer;
    void *static_buffer;
    size_t length;
    p_mad_buffer_pair_t next;
};

struct s_mad_buffer_group {
    mad_buffer_list_t buffer_list;
    p_mad_link_t link;
    p_mad_buffer_group_t next;
};

/* One transfer method ("TM") of one connection. */
struct s_mad_link {
    p_mad_connection_t connection;
    mad_link_id_t id;
    mad_link_mode_t link_mode;
    mad_buffer_mode_t buffer_mode;
    mad_group_mode_t group_mode;
    mad_buffer_list_t buffer_list; /* link_group: buffers until the end of the message */
    mad_buffer_list_t user_buffer_list; /* the same of a static link that receives */
    uint64_t passed; /* static buffers, for a simulation's ledger */
    p_mad_driver_specific_t specific;
};

/* One direction between the local process and a peer in a channel. */
struct s_mad_connection {
    union {
        ntbx_host_id_t remote_host_id;
        ntbx_process_lrank_t remote_rank; /* the name in Madeleine III */
    };
    p_mad_channel_t channel;
    p_mad_connection_t reverse; /* the other direction */
    mad_connection_way_t way;
    int nb_link;
    p_mad_link_t link; /* array */
    mad_buffer_list_t user_buffer_list; /* user blocks that wait for static buffers */
    mad_buffer_list_t buffer_list; /* the stream */
    p_mad_buffer_t static_buffer; /* the received one that is being read */
    p_mad_buffer_group_t buffer_group_first, buffer_group_last; /* held back until the end */
    p_mad_buffer_pair_t pair_first, pair_last;
    p_mad_link_t last_link; /* of the stream; NULL at first */
    mad_link_mode_t last_link_mode;
    tbx_bool_t lock; /* a message is open */
    tbx_bool_t send; /* it is outgoing */
    tbx_bool_t delayed_send; /* a LATER/EXPRESS block has occurred in it */
    tbx_bool_t flushed; /* nothing of the stream is pending */
    tbx_bool_t pair_list_used;
    tbx_bool_t first_sub_buffer_group; /* the next group of the stream starts on the wire */
    tbx_bool_t more_data; /* static_buffer has unread bytes */
    p_mad_driver_specific_t specific;
};

#endif
