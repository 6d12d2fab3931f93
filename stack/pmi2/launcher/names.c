/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "names.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tcp.h"

/*
 * IDLE ─ a request ─▶ CONNECTING ─ proven ─▶ CONNECTED
 *   ◀─ not reached, not proven ──┘             │
 *   ◀─ lost ───────────────────────────────────┘
 */
enum state { IDLE, CONNECTING, CONNECTED, CLOSED };

struct pmrun_names {
    struct pmrun_names_config config;
    char *where;
    uint8_t key[PMRUN_PROOF_BYTES];
    enum state state;
    GHashTable *asked; /* numbers that wait for an answer */
    GPtrArray *waiting; /* messages for when it is connected */
    GByteArray *in;
    uv_pipe_t *result; /* of the thread that connects */
    uv_tcp_t *stream;
    int handles; /* that are not closed yet */
    gboolean failed; /* printed, and no request has succeeded since */
    char bytes[4096];
};

static void names_free(struct pmrun_names *names)
{
    assert(names->state == CLOSED && names->handles == 0);
    g_hash_table_unref(names->asked);
    g_ptr_array_unref(names->waiting);
    g_byte_array_unref(names->in);
    explicit_bzero(names->key, sizeof(names->key));
    g_free(names->where);
    g_free(names);
}

static void handle_closed(uv_handle_t *handle)
{
    struct pmrun_names *names = handle->data;

    g_free(handle);
    if (--names->handles == 0 && names->state == CLOSED)
        names_free(names);
}

static void handle_new(struct pmrun_names *names, void *handle)
{
    ((uv_handle_t *)handle)->data = names;
    names->handles++;
}

static void handle_close(void *handle)
{
    uv_close(handle, handle_closed);
}

static void say(struct pmrun_names *names, const char *what)
{
    char *text = g_strdup_printf("name server %s: %s", names->where, what);

    names->config.say(names->config.owner, text);
    g_free(text);
}

/* Fails all requests that wait for an answer. */
static void fail_all(struct pmrun_names *names)
{
    GHashTableIter at;
    gpointer number;
    GArray *all = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    guint i;

    g_hash_table_iter_init(&at, names->asked);
    while (g_hash_table_iter_next(&at, &number, NULL))
        g_array_append_val(all, *(uint64_t *)number);
    g_hash_table_remove_all(names->asked);
    g_ptr_array_set_size(names->waiting, 0);
    for (i = 0; i < all->len; i++)
        pmi2_server_name_done(names->config.server, g_array_index(all, uint64_t, i),
                              PMI2_NAME_UNREACHABLE, "");
    g_array_unref(all);
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static gboolean received(void *owner, GVariant *message)
{
    struct pmrun_names *names = owner;
    const char *port;
    guint64 number;
    guchar result;

    g_variant_get(message, "(ty^&ay)", &number, &result, &port);
    if (result > PMI2_NAME_TOO_MANY || strlen(port) > PMRUN_NAMES_TEXT_MAX ||
        !g_hash_table_remove(names->asked, &number))
        return FALSE;
    pmi2_server_name_done(names->config.server, number, (enum pmi2_name_result)result, port);
    return TRUE;
}

static void lost(struct pmrun_names *names, const char *why)
{
    assert(names->state == CONNECTED);
    names->state = IDLE;
    handle_close(names->stream);
    names->stream = NULL;
    g_byte_array_set_size(names->in, 0);
    say(names, why);
    fail_all(names);
}

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct pmrun_names *names = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(names->bytes, sizeof(names->bytes));
}

static void came(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct pmrun_names *names = stream->data;

    if (length < 0) {
        lost(names, "the connection is lost; the names published by it are gone");
        return;
    }
    g_byte_array_append(names->in, (const guint8 *)buffer->base, (guint)length);
    if (!pmrun_names_read(names->in, PMRUN_NAMES_ANSWER_TYPE, received, names))
        lost(names, "its answer is malformed");
}

/* ---- the connection ---------------------------------------------------------------------------
 */

struct connecting { /* by a thread of its own: it may take long, and pmrun may end meanwhile */
    char *where;
    uint8_t key[PMRUN_PROOF_BYTES];
    int result; /* a pipe: the descriptor, or an errno as a negative number */
};

static void *connect_thread(void *data)
{
    struct connecting *connecting = data;
    int fd = pmrun_tcp_connect(connecting->where),
        result = fd >= 0 ? fd : -(errno != 0 ? errno : EIO);

    if (fd >= 0 && !pmrun_proof_send(fd, &pmrun_proof_names, connecting->key, 0, 0)) {
        close(fd);
        result = -EACCES;
    }
    if (write(connecting->result, &result, sizeof(result)) != (ssize_t)sizeof(result) &&
        result >= 0)
        close(result);
    close(connecting->result);
    explicit_bzero(connecting->key, sizeof(connecting->key));
    g_free(connecting->where);
    g_free(connecting);
    return NULL;
}

static void connected(struct pmrun_names *names, int fd)
{
    guint i;

    names->stream = g_new0(uv_tcp_t, 1);
    uv_tcp_init(names->config.loop, names->stream);
    handle_new(names, names->stream);
    names->state = CONNECTED;
    names->failed = FALSE;
    if (uv_tcp_open(names->stream, fd) != 0 ||
        uv_read_start((uv_stream_t *)names->stream, room, came) != 0) {
        lost(names, "the connection cannot be used");
        return;
    }
    for (i = 0; i < names->waiting->len; i++)
        pmrun_names_send((uv_stream_t *)names->stream, g_ptr_array_index(names->waiting, i));
    g_ptr_array_set_size(names->waiting, 0);
}

static void not_connected(struct pmrun_names *names, int error)
{
    names->state = IDLE;
    if (!names->failed)
        say(names, error == EACCES ? "it does not have the same key (see PMNAMESERVER_KEY)"
                                   : g_strerror(error));
    names->failed = TRUE;
    fail_all(names);
}

static void thread_done(uv_stream_t *pipe, ssize_t length, const uv_buf_t *buffer)
{
    struct pmrun_names *names = pipe->data;
    int result = -EIO;

    assert(names->state == CONNECTING);
    if (length == 0)
        return;
    if (length == (ssize_t)sizeof(result)) /* a pipe does not divide so few bytes */
        memcpy(&result, buffer->base, sizeof(result));
    handle_close(names->result);
    names->result = NULL;
    if (result >= 0)
        connected(names, result);
    else
        not_connected(names, -result);
}

static void begin(struct pmrun_names *names)
{
    struct connecting *connecting = g_new0(struct connecting, 1);
    sigset_t all, before;
    pthread_t thread;
    int ends[2];

    assert(names->state == IDLE && names->result == NULL);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        g_free(connecting);
        not_connected(names, errno);
        return;
    }
    connecting->where = g_strdup(names->where);
    memcpy(connecting->key, names->key, sizeof(names->key));
    connecting->result = ends[1];
    names->result = g_new0(uv_pipe_t, 1);
    uv_pipe_init(names->config.loop, names->result, 0);
    uv_pipe_open(names->result, ends[0]);
    handle_new(names, names->result);
    names->state = CONNECTING;
    sigfillset(&all); /* pmrun's signals are for its loop */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, connect_thread, connecting) == 0)
        pthread_detach(thread);
    else
        connect_thread(connecting);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    uv_read_start((uv_stream_t *)names->result, room, thread_done);
}

/* ---- requests ---------------------------------------------------------------------------------
 */

void pmrun_names_request(struct pmrun_names *names, const struct pmi2_name_request *request)
{
    GVariant *message =
        g_variant_new(PMRUN_NAMES_REQUEST_FORMAT, request->id, (guchar)request->kind, request->job,
                      request->service, request->port);

    assert(names->state != CLOSED);
    g_hash_table_add(names->asked, g_memdup2(&request->id, sizeof(request->id)));
    if (names->state == CONNECTED) {
        if (!pmrun_names_send((uv_stream_t *)names->stream, message))
            lost(names, "it does not read what is asked");
        return;
    }
    g_ptr_array_add(names->waiting, g_variant_ref_sink(message));
    if (names->state == IDLE)
        begin(names);
}

void pmrun_names_job_end(struct pmrun_names *names, const char *job)
{
    if (names != NULL && names->state == CONNECTED)
        pmrun_names_send((uv_stream_t *)names->stream,
                         g_variant_new(PMRUN_NAMES_REQUEST_FORMAT, UINT64_C(0),
                                       (guchar)PMRUN_NAMES_JOB_END, job, "", ""));
}

struct pmrun_names *pmrun_names_new(const struct pmrun_names_config *config)
{
    struct pmrun_names *names;
    unsigned port = PMRUN_NAMES_PORT;
    char *host;

    if (!pmrun_tcp_parse(config->where, &host, &port))
        return NULL;
    names = g_new0(struct pmrun_names, 1);
    names->config = *config;
    names->where = pmrun_tcp_name(host, port);
    memcpy(names->key, config->key, sizeof(names->key));
    names->asked = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    names->waiting = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
    names->in = g_byte_array_new();
    g_free(host);
    return names;
}

void pmrun_names_close(struct pmrun_names *names)
{
    if (names == NULL)
        return;
    assert(names->state != CLOSED);
    names->state = CLOSED;
    if (names->result != NULL)
        handle_close(names->result);
    if (names->stream != NULL)
        handle_close(names->stream);
    if (names->handles == 0)
        names_free(names);
}
