/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Failures: who is told, and what they do to a connection. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "madeleine/toolbox.h"
#include "mux.h"
#include "virtual.h"

struct mad_process *mad_process(void)
{
    void **slot = port_slot(PORT_SLOT_MADELEINE);
    const char *threads, *wait;

    if (*slot == NULL) {
        struct mad_process *process = calloc(1, sizeof(*process));

        if (process == NULL)
            port_panic("FAILURE: not enough memory");
        threads = port_getenv("MAD_THREADS");
        process->threads = threads != NULL && strcmp(threads, "1") == 0;
        wait = port_getenv("MAD_WAIT");
        process->wait_ops =
            wait != NULL && strcmp(wait, "busy") == 0 ? &mad_wait_busy : &mad_wait_sleeping;
        *slot = process;
    }
    return *slot;
}

void mad_set_threads(int threads)
{
    mad_process()->threads = threads != 0;
}

const char *mad_error_text(int code)
{
    static const char *const texts[] = {
        [MAD_OK] = "no error",
        [MAD_EINVAL] = "invalid argument",
        [MAD_ENOMEM] = "not enough memory",
        [MAD_EDEADLK] = "connection dead lock",
        [MAD_ESTATE] = "invalid connection object",
        [MAD_ESYMM] = "the blocks received are not those sent",
        [MAD_EWIRE] = "unexpected data from the peer",
        [MAD_EPEER] = "the peer has gone",
        [MAD_EDRIVER] = "the network failed",
        [MAD_ENOTSUP] = "not supported",
        [MAD_EBOOT] = "the session cannot start",
        [MAD_ECONFIG] = "the processes have different configurations",
        [MAD_EEMPTY] = "empty message",
        [MAD_EOVERLAP] = "areas of CHEAPER blocks overlap",
    };

    if (code == MAD_WCHEAPER)
        return "a CHEAPER block was changed before it was sent";
    if (code < 0 || code >= (int)(sizeof(texts) / sizeof(texts[0])))
        return "unknown error";
    return texts[code];
}

static void report_by_default(const mad_failure_t *failure)
{
    char lines[MAD_TEXT_MAX + 160];

    snprintf(lines, sizeof(lines), "FAILURE: %s\nFILE: %s\nLINE: %d", failure->text, failure->file,
             failure->line);
    if (failure->code < MAD_WCHEAPER)
        port_panic(lines);
    fprintf(stderr, "%s\n", lines); /* the default handler of a warning */
}

void mad_report(const mad_failure_t *failure)
{
    struct mad_process *process = mad_process();

    if (failure->channel != NULL && (mad_channel_full(failure->channel)->part_of != NULL ||
                                     mad_channel_full(failure->channel)->rail_of != NULL))
        return; /* the channel above reports what its user notices */
    if (process->handler != NULL)
        process->handler(failure, process->handler_arg);
    else
        report_by_default(failure);
}

mad_failure_handler_t mad_set_failure_handler(mad_failure_handler_t handler, void *arg)
{
    struct mad_process *process = mad_process();
    mad_failure_handler_t old = process->handler;

    process->handler = handler;
    process->handler_arg = arg;
    return old;
}

int mad_connection_error(p_mad_connection_t connection)
{
    return connection != NULL ? __atomic_load_n(&mad_full(connection)->error, __ATOMIC_ACQUIRE)
                              : MAD_EINVAL;
}

void mad_connection_break(p_mad_connection_t connection, int code)
{
    const struct mad_channel_full *channel = mad_channel_full(connection->channel);
    int none = MAD_OK;

    if (!__atomic_compare_exchange_n(&mad_full(connection)->error, &none, code, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    if (channel->part_of != NULL)
        mad_virtual_broken(connection);
    if (channel->rail_of != NULL)
        mad_mux_broken(connection);
}

void mad_connection_leave(p_mad_connection_t in)
{
    mad_full(in)->left = true;
    mad_connection_break(in, MAD_EPEER);
}

void mad_channel_reuse(p_mad_channel_t channel)
{
    int size = channel->adapter->driver->madeleine->configuration.size;

    for (int rank = 0; rank < size && channel->input_connection != NULL; rank++) {
        struct mad_connection_full *full = mad_full(channel->input_connection[rank]);

        if (full->left)
            __atomic_store_n(&full->error, MAD_OK, __ATOMIC_RELEASE);
        full->left = false;
    }
}

void mad_driver_note(p_mad_connection_t connection, const char *text, int driver_code)
{
    mad_full(connection)->note = text;
    mad_full(connection)->driver_code = driver_code;
}

void mad_channel_fail(p_mad_channel_t channel, int code, const char *text)
{
    mad_channel_full(channel)->error = code;
    mad_channel_full(channel)->note = text;
}

int mad_channel_error(p_mad_channel_t channel)
{
    return mad_channel_full(channel)->error;
}

void mad_connection_fail(p_mad_connection_t connection, int code, const char *file, int line)
{
    struct mad_connection_full *full = mad_full(connection);
    char text[MAD_TEXT_MAX];

    mad_connection_break(connection, code);
    /* A copy: the handler may use the connection. */
    if (full->text[0] != '\0')
        memcpy(text, full->text, sizeof(text));
    else
        snprintf(text, sizeof(text), "%s", full->note != NULL ? full->note : mad_error_text(code));
    mad_report(&(const mad_failure_t){.code = code,
                                      .text = text,
                                      .file = file,
                                      .line = line,
                                      .channel = connection->channel,
                                      .peer = connection->remote_host_id,
                                      .driver_code = full->driver_code});
}

void tbx_failure(const char *text, const char *file, int line)
{
    mad_report(&(const mad_failure_t){
        .code = MAD_EINVAL, .text = text, .file = file, .line = line, .peer = -1});
}

void tbx_failure_format(const char *file, int line, const char *format, ...)
{
    char text[MAD_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    tbx_failure(text, file, line);
}
