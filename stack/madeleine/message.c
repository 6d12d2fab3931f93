/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls on messages: arguments, states, locks and failures. */
#include "internal.h"
#include "virtual.h"

static bool is_open(p_mad_connection_t connection, bool send)
{
    return connection != NULL && connection->lock && (bool)connection->send == send;
}

static void report_state(p_mad_connection_t connection)
{
    MAD_REPORT(MAD_ESTATE, mad_error_text(MAD_ESTATE),
               connection != NULL ? connection->channel : NULL,
               connection != NULL ? connection->remote_host_id : -1);
}

static void report_argument(p_mad_connection_t connection, const char *text)
{
    MAD_REPORT(MAD_EINVAL, text, connection->channel, connection->remote_host_id);
}

/* Whether the call may go on; a usage error is reported and has no effect. */
static bool block_is_valid(p_mad_connection_t connection, const struct mad_block *block, bool send)
{
    if (!is_open(connection, send)) {
        report_state(connection);
        return false;
    }
    if (block->send_mode < mad_send_SAFER || block->send_mode > mad_send_CHEAPER) {
        report_argument(connection, "unknown send mode");
        return false;
    }
    if (block->receive_mode < mad_receive_EXPRESS || block->receive_mode > mad_receive_CHEAPER) {
        report_argument(connection, "unknown receive mode");
        return false;
    }
    if (block->length != 0 && block->buffer == NULL) {
        report_argument(connection, "no buffer");
        return false;
    }
    return true;
}

static int process_block(p_mad_connection_t connection, struct mad_block *block, bool outgoing)
{
    int error;

    if (mad_full(connection)->direct)
        return mad_virtual_block(connection, block, outgoing);
    error = outgoing ? mad_check_pack(connection, block) : mad_check_unpack(connection, block);
    if (error != MAD_OK)
        return error;
    return outgoing ? mad_send_block(connection, block) : mad_receive_block(connection, block);
}

static int end_message(p_mad_connection_t connection, bool outgoing)
{
    int error;

    if (mad_full(connection)->direct)
        return mad_virtual_end(connection, outgoing);
    error = outgoing ? mad_check_end_packing(connection) : mad_check_end_unpacking(connection);
    if (error != MAD_OK)
        return error;
    return outgoing ? mad_send_end(connection) : mad_receive_end(connection);
}

/* The model of the CPU's time has that of an unpack when the data is there. */
static void spend_unpack(p_mad_connection_t connection, const struct mad_block *block)
{
    if (block->receive_mode == mad_receive_EXPRESS)
        mad_cost(connection->channel, UNPACK, 1);
    else
        mad_full(connection)->unpacked++;
}

/* The connection is broken on this side: the peer must not wait for it. */
static void give_up(p_mad_connection_t in)
{
    if (mad_interface(in)->give_up != NULL)
        mad_interface(in)->give_up(in);
}

/* Of an open message, in either direction. */
static void add_block(p_mad_connection_t connection, struct mad_block *block, bool outgoing)
{
    int error;

    if (!block_is_valid(connection, block, outgoing))
        return;
    if (block->length == 0 || mad_connection_error(connection) != MAD_OK)
        return;
    if (outgoing) {
        mad_cost(connection->channel, PACK, 1);
        mad_book_pack(connection, block);
    }
    error = process_block(connection, block, outgoing);
    if (!outgoing)
        spend_unpack(connection, block);
    if (error != MAD_OK) {
        if (!outgoing)
            give_up(connection);
        MAD_CONNECTION_FAIL(connection, error);
        return;
    }
    if (!outgoing)
        mad_book_unpack(connection, block);
    if (!mad_full(connection)->direct)
        mad_check_count(connection, block);
}

/* ---- sending --------------------------------------------------------------------------------- */

p_mad_connection_t mad_begin_packing(p_mad_channel_t channel, ntbx_host_id_t remote_host_id)
{
    const mad_driver_t *driver = channel != NULL ? channel->adapter->driver : NULL;
    const mad_configuration_t *configuration;
    p_mad_connection_t connection;
    struct mad_connection_full *full;
    int error;

    if (channel == NULL) {
        MAD_REPORT(MAD_EINVAL, "no channel", NULL, -1);
        return NULL;
    }
    configuration = &driver->madeleine->configuration;
    if (remote_host_id < 0 || remote_host_id >= configuration->size ||
        channel->output_connection == NULL || !mad_channel_has(channel, remote_host_id) ||
        (remote_host_id == configuration->local_host_id && !driver->loopback)) {
        MAD_REPORT(MAD_EINVAL, "mad_begin_packing: invalid rank", channel, remote_host_id);
        return NULL;
    }
    connection = channel->output_connection[remote_host_id];
    full = mad_full(connection);
    if (!mad_gate_enter(&full->gate, &connection->lock, true)) {
        MAD_REPORT(MAD_EDEADLK, "mad_begin_packing: connection dead lock", channel, remote_host_id);
        return NULL;
    }
    connection->send = tbx_true;
    mad_cost(channel, BEGIN_PACKING, 1);
    mad_connection_reset(connection);
    error = mad_connection_error(connection);
    if (error == MAD_OK && driver->interface->new_message != NULL)
        error = driver->interface->new_message(connection);
    if (error != MAD_OK) {
        mad_gate_leave(&full->gate, &connection->lock);
        MAD_CONNECTION_FAIL(connection, error);
        return NULL;
    }
    return connection;
}

void mad_pack(p_mad_connection_t connection, void *buffer, size_t buffer_length,
              mad_send_mode_t send_mode, mad_receive_mode_t receive_mode)
{
    add_block(connection,
              &(struct mad_block){.buffer = buffer,
                                  .length = buffer_length,
                                  .send_mode = send_mode,
                                  .receive_mode = receive_mode},
              true);
}

void mad_end_packing(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);
    int error = MAD_OK;
    bool empty;

    if (!is_open(connection, true)) {
        report_state(connection);
        return;
    }
    empty = mad_connection_error(connection) == MAD_OK && full->blocks == 0;
    mad_cost(connection->channel, END_PACKING, 1);
    mad_book_end_packing(connection);
    if (mad_connection_error(connection) == MAD_OK && !empty)
        error = end_message(connection, true);
    else if (full->direct)
        mad_virtual_end(connection, true);
    if (error != MAD_OK)
        mad_connection_break(connection, error);
    mad_send_drop(connection);
    mad_book_packed(connection);
    if (!empty)
        full->message++;
    mad_gate_leave(&full->gate, &connection->lock);
    if (error != MAD_OK)
        MAD_CONNECTION_FAIL(connection, error);
    else if (empty)
        MAD_REPORT(MAD_EEMPTY, mad_error_text(MAD_EEMPTY), connection->channel,
                   connection->remote_host_id);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static p_mad_connection_t open_incoming(p_mad_connection_t connection)
{
    connection->send = tbx_false;
    connection->lock = tbx_true;
    mad_cost(connection->channel, BEGIN_UNPACKING, 1); /* the message is there */
    mad_connection_reset(connection);
    return connection;
}

p_mad_connection_t mad_begin_unpacking(p_mad_channel_t channel)
{
    struct mad_channel_full *full = mad_channel_full(channel);
    p_mad_connection_t connection;
    const char *note;
    int error;

    if (channel == NULL || channel->input_connection == NULL) {
        MAD_REPORT(MAD_EINVAL, "no channel of this process", channel, -1);
        return NULL;
    }
    if (!mad_gate_enter(&full->gate, &channel->reception_lock, true)) {
        MAD_REPORT(MAD_EDEADLK, "mad_begin_unpacking: reception dead lock", channel, -1);
        return NULL;
    }
    full->error = MAD_OK;
    full->note = NULL;
    connection = channel->adapter->driver->interface->receive_message(channel);
    if (connection != NULL)
        return open_incoming(connection);
    error = full->error != MAD_OK ? full->error : MAD_EDRIVER;
    note = full->note;
    mad_gate_leave(&full->gate, &channel->reception_lock);
    MAD_REPORT(error, note != NULL ? note : mad_error_text(error), channel, -1);
    return NULL;
}

p_mad_connection_t mad_message_ready(p_mad_channel_t channel)
{
    struct mad_channel_full *full = mad_channel_full(channel);
    p_mad_connection_t connection;

    if (channel == NULL || channel->input_connection == NULL) {
        MAD_REPORT(MAD_EINVAL, "no channel of this process", channel, -1);
        return NULL;
    }
    if (!mad_gate_enter(&full->gate, &channel->reception_lock, false))
        return NULL;
    full->error = MAD_OK;
    connection = channel->adapter->driver->interface->poll_message(channel);
    if (connection != NULL) {
        port_idle_break(); /* the message may have been here before the driver polled */
        return open_incoming(connection);
    }
    mad_gate_leave(&full->gate, &channel->reception_lock);
    return NULL;
}

void mad_unpack(p_mad_connection_t connection, void *buffer, size_t buffer_length,
                mad_send_mode_t send_mode, mad_receive_mode_t receive_mode)
{
    add_block(connection,
              &(struct mad_block){.buffer = buffer,
                                  .length = buffer_length,
                                  .send_mode = send_mode,
                                  .receive_mode = receive_mode},
              false);
}

void mad_end_unpacking(p_mad_connection_t connection)
{
    struct mad_connection_full *full = mad_full(connection);
    p_mad_channel_t channel;
    int error = MAD_OK;

    if (!is_open(connection, false)) {
        report_state(connection);
        return;
    }
    channel = connection->channel;
    if (mad_connection_error(connection) == MAD_OK)
        error = end_message(connection, false);
    else if (full->direct)
        mad_virtual_end(connection, false);
    mad_cost(channel, UNPACK, full->unpacked);
    mad_cost(channel, END_UNPACKING, 1);
    full->unpacked = 0;
    if (error != MAD_OK) {
        give_up(connection);
        mad_connection_break(connection, error);
    }
    mad_receive_drop(connection);
    if (mad_connection_error(connection) == MAD_OK)
        mad_book_end_unpacking(connection);
    if (full->slices != NULL) {
        mad_free_parameter_slist(full->slices);
        full->slices = NULL;
    }
    full->message++;
    connection->lock = tbx_false;
    mad_gate_leave(&mad_channel_full(channel)->gate, &channel->reception_lock);
    if (error != MAD_OK)
        MAD_CONNECTION_FAIL(connection, error);
}
