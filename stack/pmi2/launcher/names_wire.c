/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE
#include "names_wire.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch.h"

#define LONGEST \
    (2 * PMRUN_NAMES_TEXT_MAX + 256) /* numbers, a job's name, the GVariant's own bytes */
#define UNREAD_MAX (1u << 20) /* bytes that the other side does not read */

/* ---- the key ----------------------------------------------------------------------------------
 */

static gboolean bad(GError **error, const char *path, const char *what)
{
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "key of the name server %s: %s", path,
                what);
    return FALSE;
}

/* Whole, under another name, before it is there: others may be reading it. */
static gboolean make_key(const char *path, GError **error)
{
    char *folder = g_path_get_dirname(path), *other = g_strdup_printf("%s.XXXXXX", path);
    uint8_t key[PMRUN_PROOF_BYTES];
    int fd = -1;
    gboolean good;

    pmrun_proof_random(key, sizeof(key));
    good = g_mkdir_with_parents(folder, 0700) == 0 &&
           (fd = g_mkstemp_full(other, O_WRONLY, 0600)) >= 0 &&
           write(fd, key, sizeof(key)) == (ssize_t)sizeof(key) &&
           (link(other, path) == 0 || errno == EEXIST);
    if (!good)
        bad(error, path, g_strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(other);
    }
    explicit_bzero(key, sizeof(key));
    g_free(folder);
    g_free(other);
    return good;
}

static gboolean read_key(const char *path, int fd, uint8_t key[PMRUN_PROOF_BYTES], GError **error)
{
    struct stat status;
    uint8_t bytes[PMRUN_PROOF_BYTES + 1];
    ssize_t got;

    if (fstat(fd, &status) != 0)
        return bad(error, path, g_strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return bad(error, path, "it must be a file of yours");
    if ((status.st_mode & 077) != 0)
        return bad(error, path, "others must not have access (chmod 600)");
    got = read(fd, bytes, sizeof(bytes));
    if (got == PMRUN_PROOF_BYTES)
        memcpy(key, bytes, PMRUN_PROOF_BYTES);
    explicit_bzero(bytes, sizeof(bytes));
    return got == PMRUN_PROOF_BYTES || bad(error, path, "it must have 32 bytes");
}

gboolean pmrun_names_key(const char *path, gboolean create, uint8_t key[PMRUN_PROOF_BYTES],
                         char **used, GError **error)
{
    char *name;
    gboolean good;
    int fd;

    if (path == NULL)
        path = g_getenv("PMNAMESERVER_KEY");
    name = path != NULL
               ? g_strdup(path)
               : g_build_filename(g_get_user_config_dir(), "jacquard", "nameserver.key", NULL);
    if (create && access(name, F_OK) != 0 && !make_key(name, error)) {
        g_free(name);
        return FALSE;
    }
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) {
        good = read_key(name, fd, key, error);
        close(fd);
    } else {
        good = bad(error, name,
                   errno == ENOENT ? "no such file; pmnameserver makes it, all hosts need the same"
                                   : g_strerror(errno));
    }
    if (good && used != NULL)
        *used = g_steal_pointer(&name);
    g_free(name);
    return good;
}

/* ---- messages ---------------------------------------------------------------------------------
 */

struct sending {
    uv_write_t request;
    char bytes[];
};

static void sent(uv_write_t *request, int status)
{
    (void)status; /* a broken stream is seen by its reader */
    g_free(request->data);
}

gboolean pmrun_names_send(uv_stream_t *stream, GVariant *message)
{
    GVariant *all = g_variant_ref_sink(message);
    gsize length = g_variant_get_size(all);
    struct sending *sending = g_malloc(sizeof(*sending) + sizeof(uint32_t) + length);
    uint32_t head = htonl((uint32_t)length);
    uv_buf_t buffer = uv_buf_init(sending->bytes, (unsigned)(sizeof(head) + length));

    assert(length <= LONGEST);
    memcpy(sending->bytes, &head, sizeof(head));
    memcpy(sending->bytes + sizeof(head), g_variant_get_data(all), length);
    g_variant_unref(all);
    sending->request.data = sending;
    if (uv_stream_get_write_queue_size(stream) <= UNREAD_MAX &&
        uv_write(&sending->request, stream, &buffer, 1, sent) == 0)
        return TRUE;
    g_free(sending);
    return FALSE;
}

gboolean pmrun_names_read(GByteArray *in, const char *type,
                          gboolean (*received)(void *owner, GVariant *message), void *owner)
{
    guint at = 0;
    gboolean good = TRUE;
    uint32_t length;

    while (good && in->len - at >= sizeof(length)) {
        GVariant *message;

        memcpy(&length, in->data + at, sizeof(length));
        length = ntohl(length);
        if (length > LONGEST) {
            good = FALSE;
            break;
        }
        if (in->len - at - sizeof(length) < length)
            break;
        message = pmrun_message_read(type, in->data + at + sizeof(length), length);
        good = message != NULL && received(owner, message);
        if (message != NULL)
            g_variant_unref(message);
        at += (guint)sizeof(length) + length;
        assert(at <= in->len);
    }
    if (good)
        g_byte_array_remove_range(in, 0, at);
    return good;
}
