/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scalar types, enumerations and the names of the structures. */
#ifndef JACQUARD_MADELEINE_TYPES_H
#define JACQUARD_MADELEINE_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef enum { tbx_false = 0, tbx_true = 1 } tbx_bool_t;

typedef long mad_link_id_t, *p_mad_link_id_t;
typedef long mad_channel_id_t, *p_mad_channel_id_t;
typedef int mad_adapter_id_t, *p_mad_adapter_id_t;
typedef long mad_cluster_id_t, *p_mad_cluster_id_t;
typedef int mad_configuration_size_t, *p_mad_configuration_size_t;
typedef int mad_buffer_alignment_t, *p_mad_buffer_alignment_t;
typedef int ntbx_host_id_t, *p_ntbx_host_id_t; /* a rank of the session */
typedef int ntbx_process_grank_t, *p_ntbx_process_grank_t; /* the same */
typedef int ntbx_process_lrank_t, *p_ntbx_process_lrank_t; /* the same: of a channel's process */
typedef void *p_mad_driver_specific_t;

/* When the library reads the memory of a block, and which value travels. 0 is no mode. */
typedef enum {
    mad_send_unknown,
    mad_send_SAFER, /* the value at mad_pack; the memory is the caller's when mad_pack returns */
    mad_send_LATER, /* the value at mad_end_packing; not read before */
    mad_send_CHEAPER /* the caller does not change the memory before mad_end_packing returns */
} mad_send_mode_t,
    *p_mad_send_mode_t;

/* When a received block is valid. 0 is no mode. */
typedef enum {
    mad_receive_unknown,
    mad_receive_EXPRESS, /* when mad_unpack returns */
    mad_receive_CHEAPER /* when mad_end_unpacking returns; the memory is the library's until then */
} mad_receive_mode_t,
    *p_mad_receive_mode_t;

/* The three properties of a transfer method select its buffer management. */
typedef enum {
    mad_link_mode_unknown,
    mad_link_mode_buffer, /* each buffer goes to the driver at once */
    mad_link_mode_buffer_group, /* buffers are collected until the commit of the stream */
    mad_link_mode_link_group /* buffers are collected per link until the end of the message */
} mad_link_mode_t,
    *p_mad_link_mode_t;

typedef enum {
    mad_buffer_mode_unknown,
    mad_buffer_mode_dynamic, /* the user's memory is the buffer */
    mad_buffer_mode_static /* the driver supplies buffers and the library copies */
} mad_buffer_mode_t,
    *p_mad_buffer_mode_t;

typedef enum {
    mad_group_mode_unknown,
    mad_group_mode_aggregate, /* an EXPRESS block does not end its group */
    mad_group_mode_split /* an EXPRESS block ends its group */
} mad_group_mode_t,
    *p_mad_group_mode_t;

typedef enum {
    mad_user_buffer,
    mad_static_buffer,
    mad_dynamic_buffer,
    mad_internal_buffer
} mad_buffer_type_t;

/* What a multiplexed channel does with short messages. */
typedef enum {
    mad_strategy_default, /* each leaves when it ends */
    mad_strategy_aggregate /* those to one rank are collected, see mad_open_multiplexed_channel */
} mad_strategy_t;

typedef enum { mad_unidirectional_connection, mad_bidirectional_connection } mad_connection_type_t;

typedef enum {
    mad_unknown_connection,
    mad_incoming_connection,
    mad_outgoing_connection
} mad_connection_way_t;

/* The values do not depend on which drivers exist: mad_protocol_available tells that. */
typedef enum {
    mad_TCP,
    mad_VIA,
    mad_SISCI,
    mad_SBP,
    mad_MPI,
    mad_BIP,
    mad_GNI,
    mad_LNET,
    mad_SHM,
    mad_LOOP,
    mad_driver_number
} mad_driver_id_t,
    *p_mad_driver_id_t;
/* The first driver that can be used, or that MAD_ADAPTERS names first. */
#define mad_DRIVER_DEFAULT mad_driver_number

typedef struct s_mad_madeleine mad_madeleine_t, *p_mad_madeleine_t;
typedef struct s_mad_configuration mad_configuration_t, *p_mad_configuration_t;
typedef struct s_mad_driver mad_driver_t, *p_mad_driver_t;
typedef struct s_mad_driver_interface mad_driver_interface_t, *p_mad_driver_interface_t;
typedef struct s_mad_adapter mad_adapter_t, *p_mad_adapter_t;
typedef struct s_mad_adapter_description mad_adapter_description_t, *p_mad_adapter_description_t;
typedef struct s_mad_adapter_set mad_adapter_set_t, *p_mad_adapter_set_t;
typedef struct s_mad_channel mad_channel_t, *p_mad_channel_t;
typedef struct s_mad_connection mad_connection_t, *p_mad_connection_t;
typedef struct s_mad_link mad_link_t, *p_mad_link_t;
typedef struct s_mad_buffer mad_buffer_t, *p_mad_buffer_t;
typedef struct s_mad_buffer_pair mad_buffer_pair_t, *p_mad_buffer_pair_t;
typedef struct s_mad_buffer_group mad_buffer_group_t, *p_mad_buffer_group_t;

/* What the session has, as programs of Madeleine III ask for it: directory.h. */
typedef struct s_mad_session mad_session_t, *p_mad_session_t;
typedef struct s_mad_directory mad_directory_t, *p_mad_directory_t;
typedef struct s_ntbx_process ntbx_process_t, *p_ntbx_process_t;
typedef struct s_ntbx_process_container ntbx_process_container_t, *p_ntbx_process_container_t;
struct s_tbx_slist;
struct s_tbx_htable;
struct s_tbx_darray;

#endif
