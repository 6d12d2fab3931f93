/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HIGH (4u << 20) /* bytes that wait: the ranks are held up */
#define LOW (1u << 20)

struct sink {
    struct pmrun_output *output;
    int fd;
    gboolean own, polled, polling, broken;
    GByteArray *waiting;
    guint done; /* of waiting */
    uv_poll_t poll;
};

struct pmrun_output {
    struct pmrun_output_patterns patterns;
    struct sink sinks[2];
    GHashTable *files; /* name → FILE */
    void (*waits)(void *owner, gboolean waits);
    void (*broken)(void *owner);
    void *owner;
    gboolean held;
    uint64_t begin;
};

/* ---- pmrun's own streams ----------------------------------------------------------------------
 */

/* The descriptor is shared with other processes, which do not expect it to become non-blocking, so
 * the same file is opened again. A socket cannot be opened again, and is written to as it is. */
static void sink_init(struct sink *sink, struct pmrun_output *output, uv_loop_t *loop, int fd)
{
    char name[32];

    sink->output = output;
    sink->waiting = g_byte_array_new();
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    sink->fd = lseek(fd, 0, SEEK_CUR) < 0 && errno == ESPIPE
                   ? open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                   : -1;
    sink->own = sink->fd >= 0;
    if (!sink->own) {
        sink->fd = fd;
        return;
    }
    sink->polled = uv_poll_init(loop, &sink->poll, sink->fd) == 0;
    sink->poll.data = sink;
}

static gsize unwritten(const struct sink *sink)
{
    return sink->waiting->len - sink->done;
}

static void update_held(struct pmrun_output *output)
{
    gsize bytes = MAX(unwritten(&output->sinks[0]), unwritten(&output->sinks[1]));
    gboolean held = bytes > (output->held ? LOW : HIGH);

    if (held == output->held)
        return;
    output->held = held;
    output->waits(output->owner, held);
}

static void sink_break(struct sink *sink)
{
    sink->broken = TRUE;
    g_byte_array_set_size(sink->waiting, 0);
    sink->done = 0;
    if (sink == &sink->output->sinks[0])
        sink->output->broken(sink->output->owner);
}

static void writable(uv_poll_t *poll, int status, int events);

static void sink_flush(struct sink *sink)
{
    while (unwritten(sink) > 0 && !sink->broken) {
        ssize_t written = write(sink->fd, sink->waiting->data + sink->done, unwritten(sink));

        if (written >= 0)
            sink->done += (guint)written;
        else if (errno == EAGAIN && sink->polled)
            break;
        else if (errno != EINTR && errno != EAGAIN)
            sink_break(sink);
    }
    if (sink->done == sink->waiting->len) {
        g_byte_array_set_size(sink->waiting, 0);
        sink->done = 0;
    } else if (sink->done > sink->waiting->len / 2) {
        g_byte_array_remove_range(sink->waiting, 0, sink->done);
        sink->done = 0;
    }
    if (sink->polled && sink->polling != (unwritten(sink) > 0)) {
        sink->polling = !sink->polling;
        if (sink->polling)
            uv_poll_start(&sink->poll, UV_WRITABLE, writable);
        else
            uv_poll_stop(&sink->poll);
    }
    update_held(sink->output);
}

static void writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    sink_flush(poll->data);
}

/* ---- lines ------------------------------------------------------------------------------------
 */

char *pmrun_output_expand(const char *pattern, const struct pmrun_output_origin *origin,
                          double seconds)
{
    GString *text = g_string_new(NULL);

    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '%') {
            g_string_append_c(text, *pattern);
            continue;
        }
        switch (*++pattern) {
        case 'r':
            g_string_append_printf(text, "%u", origin->rank);
            break;
        case 'g':
            g_string_append(text, origin->job);
            break;
        case 'p':
            g_string_append_printf(text, "%u", origin->node);
            break;
        case 'h':
            g_string_append(text, origin->host);
            break;
        case 't':
            g_string_append_printf(text, "%.3f", seconds);
            break;
        case '\0':
            g_string_append_c(text, '%');
            return g_string_free(text, FALSE);
        default:
            if (*pattern != '%')
                g_string_append_c(text, '%');
            g_string_append_c(text, *pattern);
        }
    }
    return g_string_free(text, FALSE);
}

static double seconds_since(const struct pmrun_output *output)
{
    return (double)(uv_hrtime() - output->begin) / 1e9;
}

static gboolean to_file(struct pmrun_output *output, const char *pattern,
                        const struct pmrun_output_origin *origin, const char *bytes, gsize length)
{
    char *name = pmrun_output_expand(pattern, origin, seconds_since(output));
    FILE *file = g_hash_table_lookup(output->files, name);

    if (file == NULL) {
        file = fopen(name, "we");
        if (file == NULL) {
            char *text = g_strdup_printf("%s: %s", name, g_strerror(errno));

            pmrun_output_message(output, text);
            g_free(text);
            file = fopen("/dev/null", "we");
        }
        g_hash_table_insert(output->files, name, file);
        name = NULL;
    }
    g_free(name);
    return file != NULL && fwrite(bytes, 1, length, file) == length;
}

static void label_lines(struct pmrun_output *output, const struct pmrun_output_origin *origin,
                        const char *bytes, gsize length, GByteArray *to)
{
    char *label = pmrun_output_expand(output->patterns.label, origin, seconds_since(output));
    guint label_length = (guint)strlen(label);
    const char *end = bytes + length;

    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const char *next = newline != NULL ? newline + 1 : end;

        g_byte_array_append(to, (const guint8 *)label, label_length);
        g_byte_array_append(to, (const guint8 *)bytes, (guint)(next - bytes));
        bytes = next;
    }
    g_free(label);
}

void pmrun_output_write(struct pmrun_output *output, const struct pmrun_output_origin *origin,
                        int stream, const char *bytes, gsize length, gboolean several)
{
    const char *pattern = stream == 0 ? output->patterns.file : output->patterns.error_file;
    struct sink *sink = &output->sinks[stream];

    if (length == 0)
        return;
    if (pattern != NULL) {
        to_file(output, pattern, origin, bytes, length);
        return;
    }
    if (sink->broken)
        return;
    if (output->patterns.label != NULL)
        label_lines(output, origin, bytes, length, sink->waiting);
    else
        g_byte_array_append(sink->waiting, (const guint8 *)bytes, (guint)length);
    if (bytes[length - 1] != '\n' && (several || output->patterns.label != NULL))
        g_byte_array_append(sink->waiting, (const guint8 *)"\n", 1);
    sink_flush(sink);
}

void pmrun_output_message(struct pmrun_output *output, const char *text)
{
    struct sink *sink = &output->sinks[1];
    char *line = g_strdup_printf("pmrun: %s\n", text);

    if (!sink->broken)
        g_byte_array_append(sink->waiting, (const guint8 *)line, (guint)strlen(line));
    g_free(line);
    sink_flush(sink);
}

gboolean pmrun_output_is_empty(const struct pmrun_output *output)
{
    return unwritten(&output->sinks[0]) == 0 && unwritten(&output->sinks[1]) == 0;
}

static void close_file(gpointer file)
{
    if (file != NULL)
        fclose(file);
}

static void ignore_waits(void *owner, gboolean waits)
{
    (void)owner;
    (void)waits;
}

static void ignore_broken(void *owner)
{
    (void)owner;
}

struct pmrun_output *pmrun_output_new(uv_loop_t *loop, const struct pmrun_output_patterns *patterns,
                                      void (*waits)(void *owner, gboolean waits),
                                      void (*broken)(void *owner), void *owner)
{
    struct pmrun_output *output = g_new0(struct pmrun_output, 1);

    output->patterns = *patterns;
    output->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, close_file);
    output->waits = waits;
    output->broken = broken;
    output->owner = owner;
    output->begin = uv_hrtime();
    sink_init(&output->sinks[0], output, loop, 1);
    sink_init(&output->sinks[1], output, loop, 2);
    return output;
}

void pmrun_output_finish(struct pmrun_output *output, int milliseconds)
{
    gint64 until = g_get_monotonic_time() + milliseconds * G_TIME_SPAN_MILLISECOND;
    int i;

    output->waits = ignore_waits;
    output->broken = ignore_broken;
    for (i = 0; i < 2; i++) {
        struct sink *sink = &output->sinks[i];

        while (unwritten(sink) > 0 && !sink->broken) {
            struct pollfd ready = {.fd = sink->fd, .events = POLLOUT};
            gint64 left = (until - g_get_monotonic_time()) / G_TIME_SPAN_MILLISECOND;

            if (poll(&ready, 1, milliseconds < 0 ? -1 : (int)MAX(left, 0)) == 0)
                sink->broken = TRUE; /* nobody reads it */
            else
                sink_flush(sink);
        }
    }
    g_clear_pointer(&output->files, g_hash_table_unref);
}

void pmrun_output_close(struct pmrun_output *output, int milliseconds)
{
    int i;

    pmrun_output_finish(output, milliseconds);
    for (i = 0; i < 2; i++)
        if (output->sinks[i].polled)
            uv_close((uv_handle_t *)&output->sinks[i].poll, NULL);
}

void pmrun_output_free(struct pmrun_output *output)
{
    int i;

    for (i = 0; i < 2; i++) {
        g_byte_array_unref(output->sinks[i].waiting);
        if (output->sinks[i].own)
            close(output->sinks[i].fd);
    }
    g_free(output);
}
