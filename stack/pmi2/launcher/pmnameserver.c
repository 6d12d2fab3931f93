/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* pmnameserver: names that several pmruns publish and look up. docs/pmrun.md. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "auth_listener.h"
#include "names_wire.h"
#include "process.h"
#include "tcp.h"

#define NAMES_EACH 65536u /* of one pmrun */
#define PMRUNS_MAX 4096u

struct nameserver {
    uv_loop_t loop;
    struct pmrun_auth_listener auth;
    GHashTable *names; /* service → struct name */
    GPtrArray *clients;
    uv_signal_t signals[2];
    uint8_t key[PMRUN_PROOF_BYTES];
    gboolean closing;
};

struct client { /* a pmrun */
    uv_tcp_t stream; /* first: the listener passes this pointer */
    struct nameserver *server;
    GByteArray *in;
    guint names;
    char bytes[4096];
};

struct name {
    char *service, *port, *job;
    struct client *client;
};

static void name_free(gpointer data)
{
    struct name *name = data;

    assert(name->client->names > 0);
    name->client->names--;
    g_free(name->service);
    g_free(name->port);
    g_free(name->job);
    g_free(name);
}

/* Those of one job of a client; job NULL: all of the client's. */
static void forget_names(struct client *client, const char *job)
{
    GHashTableIter at;
    gpointer value;

    if (client->names == 0)
        return;
    g_hash_table_iter_init(&at, client->server->names);
    while (g_hash_table_iter_next(&at, NULL, &value)) {
        const struct name *name = value;

        if (name->client == client && (job == NULL || strcmp(name->job, job) == 0))
            g_hash_table_iter_remove(&at);
    }
}

/* ---- requests ---------------------------------------------------------------------------------
 */

static enum pmi2_name_result publish(struct client *client, const char *job, const char *service,
                                     const char *port)
{
    GHashTable *names = client->server->names;
    struct name *name;

    if (g_hash_table_contains(names, service))
        return PMI2_NAME_DUPLICATE;
    if (client->names == NAMES_EACH)
        return PMI2_NAME_TOO_MANY;
    name = g_new0(struct name, 1);
    name->service = g_strdup(service);
    name->port = g_strdup(port);
    name->job = g_strdup(job);
    name->client = client;
    client->names++;
    g_hash_table_insert(names, name->service, name);
    return PMI2_NAME_DONE;
}

static enum pmi2_name_result serve(struct client *client, guchar kind, const char *job,
                                   const char *service, const char **port)
{
    GHashTable *names = client->server->names;
    const struct name *name;

    if (kind == PMI2_NAME_PUBLISH)
        return publish(client, job, service, *port);
    name = g_hash_table_lookup(names, service);
    if (name == NULL)
        return PMI2_NAME_NOT_FOUND;
    if (kind == PMI2_NAME_LOOKUP)
        *port = name->port;
    else
        g_hash_table_remove(names, service);
    return PMI2_NAME_DONE;
}

static gboolean received(void *owner, GVariant *message)
{
    struct client *client = owner;
    const char *job, *service, *port;
    enum pmi2_name_result result;
    guint64 number;
    guchar kind;

    g_variant_get(message, "(ty^&ay^&ay^&ay)", &number, &kind, &job, &service, &port);
    if (kind > PMRUN_NAMES_JOB_END || strlen(service) > PMRUN_NAMES_TEXT_MAX ||
        strlen(port) > PMRUN_NAMES_TEXT_MAX)
        return FALSE;
    if (kind == PMRUN_NAMES_JOB_END) {
        forget_names(client, job);
        return TRUE;
    }
    result = serve(client, kind, job, service, &port);
    return pmrun_names_send(
        (uv_stream_t *)&client->stream,
        g_variant_new(PMRUN_NAMES_ANSWER_FORMAT, number, (guchar)result,
                      kind == PMI2_NAME_LOOKUP && result == PMI2_NAME_DONE ? port : ""));
}

/* ---- clients ----------------------------------------------------------------------------------
 */

static void client_free(struct client *client)
{
    assert(client->names == 0);
    g_byte_array_unref(client->in);
    g_free(client);
}

static void client_closed(uv_handle_t *handle)
{
    client_free(handle->data);
}

static void client_close(struct client *client)
{
    if (uv_is_closing((uv_handle_t *)&client->stream))
        return;
    forget_names(client, NULL);
    g_ptr_array_remove_fast(client->server->clients, client);
    uv_close((uv_handle_t *)&client->stream, client_closed);
}

static void room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct client *client = handle->data;

    (void)suggested;
    *buffer = uv_buf_init(client->bytes, sizeof(client->bytes));
}

static void take(struct client *client, const char *bytes, gsize length)
{
    g_byte_array_append(client->in, (const guint8 *)bytes, (guint)length);
    if (!pmrun_names_read(client->in, PMRUN_NAMES_REQUEST_TYPE, received, client))
        client_close(client);
}

static void came(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    if (length < 0)
        client_close(stream->data);
    else
        take(stream->data, buffer->base, (gsize)length);
}

static uv_tcp_t *stream_new(void *owner)
{
    struct client *client = g_new0(struct client, 1);

    client->server = owner;
    client->in = g_byte_array_new();
    return &client->stream;
}

static void stream_free(void *owner, uv_tcp_t *stream)
{
    (void)owner;
    client_free((struct client *)stream);
}

static const char *wanted(void *owner, const struct pmrun_proof_hello *hello)
{
    const struct nameserver *server = owner;

    (void)hello;
    return server->clients->len < PMRUNS_MAX ? NULL : "too many";
}

static void enters(void *owner, const struct pmrun_proof_hello *hello, uv_tcp_t *stream,
                   const char *rest, gsize length)
{
    struct nameserver *server = owner;
    struct client *client = (struct client *)stream;

    (void)hello;
    stream->data = client;
    g_ptr_array_add(server->clients, client);
    if (uv_read_start((uv_stream_t *)stream, room, came) != 0)
        client_close(client);
    else if (length > 0)
        take(client, rest, length);
}

static void refused(void *owner, const char *why)
{
    (void)owner;
    (void)why; /* not logged: anybody could fill a log with it */
}

/* ---- the program ------------------------------------------------------------------------------
 */

static void auth_closed(void *owner)
{
    (void)owner;
}

static void end(uv_signal_t *handle, int signal)
{
    struct nameserver *server = handle->data;
    size_t i;

    (void)signal;
    if (server->closing)
        return;
    server->closing = TRUE;
    for (i = 0; i < G_N_ELEMENTS(server->signals); i++)
        uv_close((uv_handle_t *)&server->signals[i], NULL);
    while (server->clients->len > 0)
        client_close(g_ptr_array_index(server->clients, 0));
    pmrun_auth_listener_close(&server->auth);
}

static gboolean begin(struct nameserver *server, int fd)
{
    static const int signals[] = {SIGINT, SIGTERM};
    const struct pmrun_auth_listener_config auth = {
        .loop = &server->loop,
        .key = server->key,
        .kind = &pmrun_proof_names,
        .stream_new = stream_new,
        .stream_free = stream_free,
        .wanted = wanted,
        .enters = enters,
        .refused = refused,
        .closed = auth_closed,
        .owner = server,
    };
    size_t i;

    uv_loop_init(&server->loop);
    server->names = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, name_free);
    server->clients = g_ptr_array_new();
    for (i = 0; i < G_N_ELEMENTS(signals); i++) {
        uv_signal_init(&server->loop, &server->signals[i]);
        server->signals[i].data = server;
        uv_signal_start(&server->signals[i], end, signals[i]);
    }
    return pmrun_auth_listener_open(&server->auth, &auth, fd) == 0;
}

static void serve_all(struct nameserver *server)
{
    uv_run(&server->loop, UV_RUN_DEFAULT);
    uv_loop_close(&server->loop);
    assert(g_hash_table_size(server->names) == 0);
    g_hash_table_unref(server->names);
    g_ptr_array_unref(server->clients);
    explicit_bzero(server->key, sizeof(server->key));
}

static int usage(int status)
{
    fputs("usage: pmnameserver [-port NUMBER] [-local] [-key FILE]\n\n"
          "Keeps the names that the programs of several pmruns publish: pmrun -nameserver "
          "HOST[:PORT].\n\n"
          "  -port NUMBER   where it listens (6392); 0: any\n"
          "  -local         on this machine only\n"
          "  -key FILE      what both sides must know (PMNAMESERVER_KEY, or the user's own, which "
          "is\n"
          "                 made if it is not there)\n",
          status == 0 ? stdout : stderr);
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'}, {"local", no_argument, NULL, 'l'},
        {"key", required_argument, NULL, 'k'},  {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},    {NULL, 0, NULL, 0}};
    struct nameserver server = {.closing = FALSE};
    const char *path = NULL;
    guint64 port = PMRUN_NAMES_PORT;
    unsigned bound = 0;
    gboolean local = FALSE;
    GError *error = NULL;
    char *used = NULL;
    int option, fd;

    while ((option = getopt_long_only(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'p':
            if (!g_ascii_string_to_unsigned(optarg, 10, 0, 65535, &port, NULL)) {
                fprintf(stderr, "pmnameserver: -port %s: a number from 0 to 65535 is needed\n",
                        optarg);
                return 2;
            }
            break;
        case 'l':
            local = TRUE;
            break;
        case 'k':
            path = optarg;
            break;
        case 'h':
            return usage(0);
        case 'v':
            puts("pmnameserver " JACQUARD_VERSION);
            return 0;
        default:
            return usage(2);
        }
    }
    if (optind < argc)
        return usage(2);
    pmrun_process_prepare();
    signal(SIGPIPE, SIG_IGN);
    if (!pmrun_names_key(path, TRUE, server.key, &used, &error)) {
        fprintf(stderr, "pmnameserver: %s\n", error->message);
        g_error_free(error);
        return 2;
    }
    fd = pmrun_tcp_listen(local ? "127.0.0.1" : "::", (unsigned)port, &bound);
    if (fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT))
        fd = pmrun_tcp_listen(local ? "::1" : "0.0.0.0", (unsigned)port, &bound);
    if (fd < 0) {
        fprintf(stderr, "pmnameserver: port %u: %s\n", (unsigned)port, g_strerror(errno));
        g_free(used);
        return 2;
    }
    /* Signals are handled and connections accepted before the address is printed. */
    if (!begin(&server, fd)) {
        fprintf(stderr, "pmnameserver: port %u cannot be listened on\n", bound);
        return 1;
    }
    printf("pmnameserver: port %u, key %s\n", bound, used);
    fflush(stdout);
    g_free(used);
    serve_all(&server);
    return 0;
}
