/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls. Errors are reported as error.h says. Any thread may call, but a message belongs to one
 * thread at a time; another thread may continue it. Ranks are 0 to size - 1, lengths are bytes.
 */
#ifndef JACQUARD_MADELEINE_API_H
#define JACQUARD_MADELEINE_API_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- session --------------------------------------------------------------------------------- */

/*
 * A list of adapters: `nb_adapter` pairs of mad_driver_id_t and char *, the selector, NULL for the
 * default adapter. The position in the list is the adapter's id. The caller frees the set with
 * mad_adapter_set_free or leaves it to the end of the process. NULL: MAD_EINVAL, MAD_ENOMEM.
 */
p_mad_adapter_set_t mad_adapter_set_init(int nb_adapter, ...);
void mad_adapter_set_free(p_mad_adapter_set_t set);

/*
 * Starts the session of all processes that the PMI-2 process manager (pmrun) started; without one,
 * of this process alone. Collective. Removes the library's options from argc and argv: -master,
 * -slave, -rank N, -conf DIR, -device PARAMETER, -cwd DIR.
 *
 * configuration_file: number of hosts and their names, checked against the session, or a file in
 * the configuration language, which gives adapters and channels instead of `adapter_set`. NULL: the
 * file of the environment variable MAD_CONF, or .mad2_conf in the directory that -conf names, if
 * any. adapter_set: NULL: the list of the environment variable MAD_ADAPTERS ("tcp,tcp:10.0.0.1"),
 * or one default adapter for each driver.
 *
 * NULL: MAD_EBOOT, MAD_ECONFIG (the processes have different adapters or parameters), MAD_ENOTSUP
 * (there is no such driver), MAD_ESTATE (the process has a session), MAD_ENOMEM.
 */
p_mad_madeleine_t mad_init(int *argc, char **argv, char *configuration_file,
                           p_mad_adapter_set_t adapter_set);
/*
 * The start of programs whose processes start each other, with APPLICATION_SPAWN defined: pmrun
 * starts them here. mad_pre_init keeps the list of adapters, and returns a text that names this
 * host and is the caller's. rank: the own one, or -1. `url` is not read.
 */
char *mad_pre_init(p_mad_adapter_set_t adapter_set);
p_mad_madeleine_t mad_init_application(ntbx_host_id_t rank, char *configuration_file, char *url);
/* The session of the calling process, or NULL. */
p_mad_madeleine_t mad_get_madeleine(void);
/* The id of the driver with this name ("tcp"), or -1. */
int mad_protocol_available(p_mad_madeleine_t madeleine, char *name);
/* Closes all channels and ends the session. Collective. The object is gone then. */
void mad_exit(p_mad_madeleine_t madeleine);

/*
 * Not 0: begin calls on an object that is in use wait, first come first served, until another
 * thread ends its message. 0, the default: they report MAD_EDEADLK. For the calling process, before
 * it makes threads; the environment variable MAD_THREADS=1 does the same.
 */
void mad_set_threads(int threads);

/* ---- channels -------------------------------------------------------------------------------- */

/*
 * Opens a channel on an adapter. Collective: all processes open the same channels in the same
 * order. Returns when all connections are up. NULL: MAD_EINVAL, MAD_ECONFIG (the processes opened
 * different channels, or check levels differ), MAD_EWIRE, MAD_EPEER, MAD_EDRIVER, MAD_ENOMEM.
 */
p_mad_channel_t mad_open_channel(p_mad_madeleine_t madeleine, mad_adapter_id_t adapter);
/* The same under a name of at most 24 characters of [A-Za-z0-9_-] in place of "ch<id>". */
p_mad_channel_t mad_open_named_channel(p_mad_madeleine_t madeleine, const char *name,
                                       mad_adapter_id_t adapter);
/* The same with some of the ranks. The others take part in opening and closing it only. */
p_mad_channel_t mad_open_channel_of(p_mad_madeleine_t madeleine, const char *name,
                                    mad_adapter_id_t adapter, int count,
                                    const ntbx_host_id_t *ranks);
/*
 * A channel over open channels of several networks. Messages between two ranks that have a channel
 * in common go through it; others go through ranks that are in two of them (gateways), packet by
 * packet. The channels belong to it until it is closed. Collective, with the same channels on all
 * processes. NULL: MAD_EINVAL (also a name of more than 23 characters of a part), MAD_ECONFIG (no
 * gateway joins the parts), and the errors of mad_open_channel.
 */
p_mad_channel_t mad_open_virtual_channel(p_mad_madeleine_t madeleine, const char *name, int count,
                                         const p_mad_channel_t *channels);
/*
 * Several channels over one: the multiplexed channel, which has the name, and `sub_count` others,
 * with names of their own. They are independent of each other. `count` channels of the same
 * processes, over different networks, carry it (its rails): the first one all short blocks, and all
 * of them blocks of more than MAD_MUX_SPLIT bytes, in proportion to the rates that these had.
 *
 * strategy: mad_strategy_t. With mad_strategy_aggregate a message need not leave when it ends:
 * messages to one rank on all sub-channels leave together, when a packet is full, a long block
 * follows, this process waits or polls for a message on one of the sub-channels, or mad_flush.
 *
 * The channels belong to it until it is closed, and its other sub-channels are closed with it.
 * Collective, with the same arguments on all processes. At most 8 rails and 255 names. NULL:
 * MAD_EINVAL, and the errors of mad_open_channel.
 */
p_mad_channel_t mad_open_multiplexed_channel(p_mad_madeleine_t madeleine, const char *name,
                                             int count, const p_mad_channel_t *channels,
                                             int sub_count, const char *const *sub_names,
                                             int strategy);
/* The sub-channel with this number, in the order of their names from 1; 0: `channel` itself. NULL:
 * MAD_EINVAL, it is no multiplexed channel, or has no such one. */
p_mad_channel_t mad_get_sub_channel(p_mad_channel_t channel, unsigned sub);
/* What a multiplexed channel has collected leaves; the others collect nothing. May wait. */
void mad_flush(p_mad_channel_t channel);
/* An open channel, or one that the configuration file describes. NULL: MAD_EINVAL, no such one. */
p_mad_channel_t mad_get_channel(p_mad_madeleine_t madeleine, char *name);
/* Closes a channel without open messages. Collective. Returns MAD_OK or the code reported. */
int mad_close_channel(p_mad_channel_t channel);
/* Closes all channels in the order of opening. Collective. */
void mad_close_channels(p_mad_madeleine_t madeleine);

/* ---- messages -------------------------------------------------------------------------------- */

/*
 * Opens a message to a rank; returns the channel's connection to it, the same each time. NULL:
 * MAD_EINVAL (no such rank, or the own one on a driver without loopback), MAD_EDEADLK, or the code
 * of a broken connection.
 */
p_mad_connection_t mad_begin_packing(p_mad_channel_t channel, ntbx_host_id_t remote_host_id);
/*
 * Adds a block. Length 0 has no effect. May wait for the network. MAD_ESTATE, MAD_EINVAL (NULL
 * buffer, unknown mode) have no effect; MAD_ENOMEM, MAD_EPEER, MAD_EDRIVER break the connection.
 */
void mad_pack(p_mad_connection_t connection, void *buffer, size_t buffer_length,
              mad_send_mode_t send_mode, mad_receive_mode_t receive_mode);
/*
 * Ends the message: afterwards all memory of its blocks is the caller's. The receiver need not have
 * the data. MAD_EEMPTY: no block had any bytes; nothing is sent.
 */
void mad_end_packing(p_mad_connection_t connection);
/*
 * Waits for a message of any sender, opens it and returns its connection; senders are served in
 * turn. NULL: MAD_EDEADLK (a message is open on the channel), MAD_EPEER (no peer is left).
 */
p_mad_connection_t mad_begin_unpacking(p_mad_channel_t channel);
/* Receives the next block: same length and modes as in mad_pack. Errors as there. */
void mad_unpack(p_mad_connection_t connection, void *buffer, size_t buffer_length,
                mad_send_mode_t send_mode, mad_receive_mode_t receive_mode);
/* Ends the message: afterwards all blocks are valid. */
void mad_end_unpacking(p_mad_connection_t connection);
/* As mad_begin_unpacking if a message waits and none is open, else NULL at once. */
p_mad_connection_t mad_message_ready(p_mad_channel_t channel);

#pragma GCC visibility pop

/* These macros chose the form of the call in the original. */
#if defined(APPLICATION_SPAWN)
#define mad_init(rank, file, url) mad_init_application((rank), (file), (url))
#elif defined(LEONIE_SPAWN)
#define mad_init(argc, argv) (mad_init)((argc), (argv), NULL, NULL)
#endif

#ifdef __cplusplus
}
#endif
#endif
