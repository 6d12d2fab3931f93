/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of libcfs on a node, its parameters, and what stops the node. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct libcfs_host *host;
static void (*last_bug)(const char *text);
static struct libcfs_node **(*last_slot)(void);

#define DEFAULT_DEBUG \
    (D_CANTMASK | D_NETERROR | D_HA | D_CONFIG | D_IOCTL | D_LFSCK) /* of the kernel's module */
#define DEFAULTS \
    .debug = DEFAULT_DEBUG, .subsystem_debug = ~0u, .printk = D_CANTMASK, .console_ratelimit = 1

static struct libcfs_node process = {DEFAULTS, .ioctls = LIST_HEAD_INIT(process.ioctls)};

/* ---- parameters ------------------------------------------------------------------------------ */

static const struct parameter {
    const char *name;
    size_t offset;
    bool subsystem; /* the names of its bits are those of subsystems */
} parameters[] = {
    {"libcfs_debug", offsetof(struct libcfs_node, debug), false},
    {"libcfs_subsystem_debug", offsetof(struct libcfs_node, subsystem_debug), true},
    {"libcfs_printk", offsetof(struct libcfs_node, printk), false},
    {"libcfs_console_ratelimit", offsetof(struct libcfs_node, console_ratelimit), false},
    {"cfs_fail_loc", offsetof(struct libcfs_node, fail_loc), false},
    {"cfs_fail_val", offsetof(struct libcfs_node, fail_val), false},
};
enum { PARAMETERS = sizeof(parameters) / sizeof(parameters[0]) };

bool libcfs_parameter_check(const char *name, const char *value)
{
    int mask = 0;
    size_t i;

    for (i = 0; i < PARAMETERS; i++)
        if (strcmp(name, parameters[i].name) == 0)
            return libcfs_debug_str2mask(&mask, value, parameters[i].subsystem) == 0;
    return false;
}

static void read_parameters(struct libcfs_node *node)
{
    size_t i;

    for (i = 0; host != NULL && host->parameter != NULL && i < PARAMETERS; i++) {
        int *at = (int *)(void *)((char *)node + parameters[i].offset);
        const char *text = host->parameter(parameters[i].name);

        if (text != NULL)
            (void)libcfs_debug_str2mask(at, text, parameters[i].subsystem);
    }
    node->printk |= D_CANTMASK;
}

void libcfs_parameters_read(void)
{
    read_parameters(libcfs_node());
}

/* ---- the state ------------------------------------------------------------------------------- */

static struct libcfs_node *node_make(void)
{
    struct libcfs_node *node = malloc(sizeof(*node));

    if (node == NULL)
        abort();
    *node = (struct libcfs_node){DEFAULTS};
    INIT_LIST_HEAD(&node->ioctls);
    read_parameters(node);
    return node;
}

struct libcfs_node *libcfs_node(void)
{
    struct libcfs_node **slot = host != NULL && host->slot != NULL ? host->slot() : NULL;

    if (slot == NULL && last_slot != NULL)
        slot = last_slot();
    if (slot == NULL)
        return &process;
    if (*slot == NULL)
        *slot = node_make();
    return *slot;
}

static void forget(struct libcfs_node *node)
{
    libcfs_ioctls_free(node);
    free(node->log);
    free(node->faults);
}

void libcfs_node_free(struct libcfs_node *node)
{
    if (node == NULL)
        return;
    forget(node);
    free(node);
}

void libcfs_host_set(const struct libcfs_host *wanted)
{
    host = wanted;
    if (host == NULL || host->slot == NULL)
        return;
    forget(&process); /* a simulation begins: what an earlier one has left does not count */
    process = (struct libcfs_node){DEFAULTS};
    INIT_LIST_HEAD(&process.ioctls);
}

void libcfs_host_simulate(void (*bug)(const char *text), struct libcfs_node **(*slot)(void))
{
    last_bug = bug;
    last_slot = slot;
}

uint64_t libcfs_host_epoch(void)
{
    const uint64_t year_2019 = 1546300800u;

    /* Only a simulation sets last_bug. */
    return last_bug != NULL ? year_2019 * 1000000000u : 0;
}

uint64_t libcfs_host_now(void)
{
    struct timespec now;

    if (host != NULL && host->now != NULL)
        return host->now();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

unsigned libcfs_host_thread(void)
{
    return host != NULL && host->thread != NULL ? host->thread() : 0;
}

int libcfs_host_node_number(void)
{
    return host != NULL && host->number != NULL ? host->number() : -1;
}

int libcfs_host_control(unsigned command, void *argument)
{
    return host != NULL && host->control != NULL ? host->control(command, argument) : -EINVAL;
}

/* ---- assertions ------------------------------------------------------------------------------ */

static _Noreturn void stop_node(const char *text)
{
    if (host != NULL && host->bug != NULL)
        host->bug(text);
    if (last_bug != NULL)
        last_bug(text);
    abort();
}

static _Noreturn void stop_for(const struct libcfs_debug_msg_data *data, const char *text)
{
    struct libcfs_debug_msg_data message = *data;
    const char *file = strrchr(data->msg_file, '/');
    char all[MESSAGE_MAX];
    int length;

    message.msg_mask = D_EMERG;
    message.msg_cdls = NULL;
    (void)libcfs_debug_msg(&message, "%s\n", text);
    libcfs_node()->catastrophe = 1;
    length = snprintf(all, sizeof(all), "%s:%d: %s(): %s", file != NULL ? file + 1 : data->msg_file,
                      data->msg_line, data->msg_fn, text);
    (void)length;
    stop_node(all);
}

void libcfs_lbug(struct libcfs_debug_msg_data *data)
{
    stop_for(data, "LBUG");
}

void libcfs_assertion_failed(const struct libcfs_debug_msg_data *data, const char *condition,
                             const char *format, ...)
{
    char text[MESSAGE_MAX - 256], own[MESSAGE_MAX / 2];
    va_list arguments;

    va_start(arguments, format);
    (void)libcfs_vsnprintf(own, sizeof(own), format, arguments);
    va_end(arguments);
    own[strcspn(own, "\n")] = '\0';
    if (condition == NULL)
        snprintf(text, sizeof(text), "%s", own);
    else
        snprintf(text, sizeof(text), "ASSERTION( %s ) failed%s%s", condition,
                 own[0] != '\0' ? ": " : "", own);
    stop_for(data, text);
}
