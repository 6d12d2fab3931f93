/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages: which are written, which are kept in the log of the node, which come too often. */
#include "libcfs/libcfs_ioctl.h"
#include "internal.h"

#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- the log and the limits of a node -------------------------------------------------------- */

enum { LOG_BYTES = 64 << 10, PLACES = 64 };

/* A place in the text that has had its message: in a simulation the statics of the place belong to
 * all nodes. Two places with one hash take the entry from each other, and are not limited then. */
struct place {
    const void *of; /* NULL: free */
    cfs_debug_limit_state_t limit;
};
struct libcfs_debug_log {
    struct place places[PLACES];
    size_t begin, bytes; /* of the ring */
    char text[LOG_BYTES];
};

static struct libcfs_debug_log *log_of(struct libcfs_node *node)
{
    if (node->log == NULL)
        node->log = calloc(1, sizeof(*node->log));
    return node->log;
}

/* Whole lines at the begin are given up for the new one. */
static void keep(struct libcfs_node *node, const char *text, size_t bytes)
{
    struct libcfs_debug_log *log;
    size_t i;

    spin_lock(&node->lock);
    log = log_of(node);
    while (log != NULL && LOG_BYTES - log->bytes < bytes) {
        char lost = log->text[log->begin];

        log->begin = (log->begin + 1) % LOG_BYTES;
        log->bytes--;
        while (lost != '\n' && log->bytes > 0) {
            lost = log->text[log->begin];
            log->begin = (log->begin + 1) % LOG_BYTES;
            log->bytes--;
        }
    }
    for (i = 0; log != NULL && i < bytes; i++)
        log->text[(log->begin + log->bytes++) % LOG_BYTES] = text[i];
    spin_unlock(&node->lock);
}

void libcfs_debug_dumplog(void)
{
    struct libcfs_node *node = libcfs_node();
    char *copy = malloc(LOG_BYTES);
    size_t i, bytes = 0;

    if (copy == NULL)
        return;
    spin_lock(&node->lock);
    if (node->log != NULL) {
        bytes = node->log->bytes;
        for (i = 0; i < bytes; i++)
            copy[i] = node->log->text[(node->log->begin + i) % LOG_BYTES];
        node->log->begin = node->log->bytes = 0;
    }
    spin_unlock(&node->lock);
    fwrite(copy, 1, bytes, stderr);
    free(copy);
}

void libcfs_debug_clear(void)
{
    struct libcfs_node *node = libcfs_node();

    spin_lock(&node->lock);
    if (node->log != NULL)
        node->log->begin = node->log->bytes = 0;
    spin_unlock(&node->lock);
}

void libcfs_debug_mark_buffer(const char *text)
{
    char line[MESSAGE_MAX];
    int length = snprintf(line, sizeof(line), "DEBUG MARKER: %s\n", text);

    keep(libcfs_node(), line, length < MESSAGE_MAX ? (size_t)length : MESSAGE_MAX - 1);
}

void libcfs_debug_dumpstack(void *task)
{
    void *frames[32];
    int count = backtrace(frames, 32);

    (void)task;
    fflush(stderr);
    backtrace_symbols_fd(frames, count, STDERR_FILENO);
}

/* ---- limits ---------------------------------------------------------------------------------- */

#define JIFFY_NS (1000000000u / (uint64_t)HZ)
enum { DELAY_MIN = 500, DELAY_MAX = 600 * 1000, BACKOFF = 2 }; /* jiffies */

/* false: it comes too soon. *skipped: so many did before this one. */
static bool may_pass(cfs_debug_limit_state_t *limit, int *skipped)
{
    unsigned long now = (unsigned long)(libcfs_host_now() / JIFFY_NS);

    if (limit->cdls_next != 0 && (long)(now - limit->cdls_next) < 0) {
        limit->cdls_count++;
        return false;
    }
    if ((long)(now - (limit->cdls_next + DELAY_MAX + 10 * HZ)) > 0)
        limit->cdls_delay /= BACKOFF * 4;
    else
        limit->cdls_delay *= BACKOFF;
    if (limit->cdls_delay < DELAY_MIN)
        limit->cdls_delay = DELAY_MIN;
    if (limit->cdls_delay > DELAY_MAX)
        limit->cdls_delay = DELAY_MAX;
    limit->cdls_next = (now + limit->cdls_delay) | 1;
    *skipped = limit->cdls_count;
    limit->cdls_count = 0;
    return true;
}

static bool place_may_pass(struct libcfs_node *node, const void *of, int *skipped)
{
    struct libcfs_debug_log *log;
    struct place *place;
    bool passes = true;

    spin_lock(&node->lock);
    log = log_of(node);
    if (log != NULL) {
        place = &log->places[((uintptr_t)of * 0x9e3779b97f4a7c15u) >> 58];
        if (place->of != of)
            *place = (struct place){.of = of};
        passes = may_pass(&place->limit, skipped);
    }
    spin_unlock(&node->lock);
    return passes;
}
_Static_assert(PLACES == 1 << (64 - 58), "six bits of a hash");

/* ---- messages -------------------------------------------------------------------------------- */

static const char *name_of(unsigned mask, unsigned subsystem)
{
    bool lnet = (subsystem & (S_LNET | S_LND)) != 0;

    if ((mask & (D_EMERG | D_ERROR)) != 0)
        return lnet ? "LNetError" : "LustreError";
    return lnet ? "LNet" : "Lustre";
}

static size_t begin_of(char *text, size_t size, const struct libcfs_debug_msg_data *data,
                       bool console)
{
    const char *file = strrchr(data->msg_file, '/');
    int number = libcfs_host_node_number();
    size_t at = 0;

    if (number >= 0)
        at += (size_t)snprintf(text, size, "node %d: ", number);
    at += (size_t)snprintf(text + at, size - at,
                           "%s: ", name_of((unsigned)data->msg_mask, (unsigned)data->msg_subsys));
    if (console && ((unsigned)data->msg_mask & D_CONSOLE) != 0)
        return at;
    at += (size_t)snprintf(text + at, size - at, "%u:0:(%.64s:%d:%.64s()) ", libcfs_host_thread(),
                           file != NULL ? file + 1 : data->msg_file, data->msg_line, data->msg_fn);
    return at;
}

static void say(struct libcfs_node *node, const struct libcfs_debug_msg_data *data,
                const char *text)
{
    unsigned mask = (unsigned)data->msg_mask;
    char line[MESSAGE_MAX + 256];
    int skipped = 0;
    size_t at;

    if ((node->debug & mask) != 0) {
        at = begin_of(line, sizeof(line), data, false);
        at += (size_t)snprintf(line + at, sizeof(line) - at, "%s", text);
        keep(node, line, at < sizeof(line) ? at : sizeof(line) - 1);
    }
    if ((mask & (node->printk | D_CANTMASK)) == 0)
        return;
    if (data->msg_cdls != NULL && node->console_ratelimit != 0 &&
        !place_may_pass(node, data->msg_cdls, &skipped))
        return;
    at = begin_of(line, sizeof(line), data, true);
    fprintf(stderr, "%.*s%s", (int)at, line, text);
    if (skipped > 0)
        fprintf(stderr, "%.*sSkipped %d previous similar message%s\n", (int)at, line, skipped,
                skipped == 1 ? "" : "s");
}

int libcfs_debug_vmsg2(struct libcfs_debug_msg_data *data, const char *format, va_list arguments,
                       const char *format2, ...)
{
    char text[MESSAGE_MAX];
    size_t used = 0;
    int length;

    text[0] = '\0';
    if (format != NULL) {
        length = libcfs_vsnprintf(text, sizeof(text), format, arguments);
        used = length < (int)sizeof(text) ? (size_t)length : sizeof(text) - 1;
    }
    if (format2 != NULL) {
        va_list more;

        va_start(more, format2);
        (void)libcfs_vsnprintf(text + used, sizeof(text) - used, format2, more);
        va_end(more);
    }
    say(libcfs_node(), data, text);
    return 0;
}

int libcfs_debug_msg(struct libcfs_debug_msg_data *data, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)libcfs_debug_vmsg2(data, format, arguments, NULL);
    va_end(arguments);
    return 0;
}

int libcfs_printk_text(const char *format, ...)
{
    char text[MESSAGE_MAX];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = libcfs_vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fputs(text, stderr);
    return length;
}

/* ---- masks ----------------------------------------------------------------------------------- */

static const char *const mask_names[32] = {
    "trace",    "inode",   "super",   "iotrace", "malloc",   "cache",    "info",     "ioctl",
    "neterror", "net",     "warning", "buffs",   "other",    "dentry",   "nettrace", "page",
    "dlmtrace", "error",   "emerg",   "ha",      "rpctrace", "vfstrace", "reada",    "mmap",
    "config",   "console", "quota",   "sec",     "lfsck",    "hsm",      "snapshot", "layout",
};
static const char *const subsystem_names[32] = {
    "undefined", "mdc",  "mds",    "osc", "ost",    "class",    "log",    "llite",
    "rpc",       "mgmt", "lnet",   "lnd", "pinger", "filter",   "libcfs", "echo",
    "ldlm",      "lov",  "lquota", "osd", "lfsck",  "snapshot", "",       "lmv",
    "",          "sec",  "gss",    "",    "mgc",    "mgs",      "fid",    "fld",
};

static bool bits_of(const char *word, size_t length, const char *const *names, unsigned *bits)
{
    char copy[32], *end;
    unsigned long number;
    unsigned i;

    if (length == 0 || length >= sizeof(copy))
        return false;
    memcpy(copy, word, length);
    copy[length] = '\0';
    number = strtoul(copy, &end, 0);
    *bits = (unsigned)number;
    if (*end == '\0')
        return true;
    *bits = ~0u;
    if (strcasecmp(copy, "all") == 0)
        return true;
    for (i = 0; i < 32; i++) {
        *bits = 1u << i;
        if (names[i][0] != '\0' && strcasecmp(copy, names[i]) == 0)
            return true;
    }
    return false;
}

/* A number, or names. The first one without a sign clears what was there; "+name" adds, and "-name"
 * removes. */
int libcfs_debug_str2mask(int *mask, const char *text, int is_subsystem)
{
    const char *const *names = is_subsystem ? subsystem_names : mask_names;
    unsigned result = (unsigned)*mask;
    bool first = true;

    for (text += strspn(text, " \t\n|,"); *text != '\0'; text += strspn(text, " \t\n|,")) {
        char sign = *text == '+' || *text == '-' || *text == '~' ? *text++ : '\0';
        size_t length = strcspn(text, " \t\n|,+~");
        unsigned bits;

        if (sign == '-' && strspn(text, "0123456789") == length)
            bits = 0u - (unsigned)strtoul(text, NULL, 10), sign = '\0';
        else if (!bits_of(text, length, names, &bits))
            return -EINVAL;
        if (sign == '\0' && first)
            result = 0;
        first = false;
        if (sign == '-' || sign == '~')
            result &= ~bits;
        else
            result |= bits;
        text += length;
    }
    *mask = (int)result;
    return 0;
}

int libcfs_debug_mask2str(char *text, int size, int mask, int is_subsystem)
{
    const char *const *names = is_subsystem ? subsystem_names : mask_names;
    unsigned i;
    int length = 0;

    if (size > 0)
        text[0] = '\0';
    for (i = 0; i < 32; i++) {
        if (((unsigned)mask >> i & 1) == 0 || names[i][0] == '\0')
            continue;
        length += snprintf(length < size ? text + length : NULL,
                           length < size ? (size_t)(size - length) : 0, "%s%s",
                           length > 0 ? " " : "", names[i]);
    }
    if (mask == 0)
        length = snprintf(text, size > 0 ? (size_t)size : 0, "0");
    return length;
}
