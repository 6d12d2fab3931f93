/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Modules. Constructors of the program list what begins and ends them and their parameters. Those
 * of a program whose ranks have copies of it run in the ranks, and each rank has the list of its
 * copy; others run before any process, and the list is that of all. Whether the modules have begun
 * is a matter of each process.
 */
#include "kernel.h"

static struct libcfs_modules common;

/* The list of the calling rank's copy of its program, or that of all. */
static struct libcfs_modules *modules(void)
{
    if (port_in_rank != NULL && port_in_rank() && libcfs_kernel()->modules.calls != NULL)
        return &libcfs_kernel()->modules;
    return &common;
}

static struct libcfs_modules *modules_to_add(void)
{
    return port_in_rank != NULL && port_in_rank() ? &libcfs_kernel()->modules : &common;
}

void libcfs_module_call_add(struct libcfs_module_call *call)
{
    struct libcfs_module_call **end = &modules_to_add()->calls;

    while (*end != NULL)
        end = &(*end)->next;
    *end = call;
}

void libcfs_param_add(struct libcfs_param *param)
{
    struct libcfs_param **end = &modules_to_add()->params;

    while (*end != NULL)
        end = &(*end)->next;
    *end = param;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Of a file it is the name without folders and suffix; names of modules have '_' for '-'. */
static void module_name(const char *text, char *name, size_t size)
{
    const char *from = strrchr(text, '/');
    size_t length;
    char *at;

    from = from != NULL ? from + 1 : text;
    length = strcspn(from, ".");
    snprintf(name, size, "%.*s", (int)length, from);
    for (at = name; (at = strchr(at, '-')) != NULL;)
        *at = '_';
}

static bool same_module(const char *a, const char *b)
{
    char names[2][64];

    module_name(a, names[0], sizeof(names[0]));
    module_name(b, names[1], sizeof(names[1]));
    return strcmp(names[0], names[1]) == 0;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int params_set(const char *module)
{
    struct libcfs_param *param;
    char name[64];
    const char *value;
    int rc;

    module_name(module, name, sizeof(name));
    for (param = modules()->params; param != NULL; param = param->next) {
        if (!same_module(param->module, module))
            continue;
        value =
            libcfs_module_setting != NULL ? libcfs_module_setting(name, param->param.name) : NULL;
        if (value == NULL || param->param.ops->set == NULL)
            continue;
        rc = param->param.ops->set(value, &param->param);
        if (rc != 0) {
            CERROR("%s: '%s' is no value of the parameter %s: error %d\n", name, value,
                   param->param.name, rc);
            return rc;
        }
    }
    return 0;
}

/* The next one in the order of beginning, or (previous NULL) the first one. */
static struct libcfs_module_call *next_init(const struct libcfs_module_call *previous)
{
    struct libcfs_module_call *call, *next = NULL;
    bool behind = previous == NULL;

    for (call = modules()->calls; call != NULL; call = call->next) {
        if (call == previous)
            behind = true;
        else if (call->init != NULL &&
                 (previous == NULL || call->level > previous->level ||
                  (behind && call->level == previous->level)) &&
                 (next == NULL || call->level < next->level))
            next = call;
    }
    return next;
}

/* Whether an initialising function before `call` belongs to the same module. */
static bool begun_before(const struct libcfs_module_call *call)
{
    struct libcfs_module_call *other;

    for (other = next_init(NULL); other != call; other = next_init(other))
        if (same_module(other->module, call->module))
            return true;
    return false;
}

static void module_end(const char *module)
{
    struct libcfs_module_call *call;

    for (call = modules()->calls; call != NULL; call = call->next)
        if (call->exit != NULL && same_module(call->module, module))
            call->exit();
}

/* Ends those modules, the last one first, whose functions were called before `stop` (NULL: all). */
static void modules_end(const struct libcfs_module_call *stop)
{
    struct libcfs_module_call *call, *last;

    for (;;) {
        last = NULL;
        for (call = next_init(NULL); call != stop; call = next_init(call))
            if (!begun_before(call))
                last = call;
        if (last == NULL)
            return;
        module_end(last->module);
        stop = last;
    }
}

int libcfs_modules_init(void)
{
    struct libcfs_kernel *kernel = libcfs_kernel();
    struct libcfs_module_call *call;
    int rc = 0;

    if (__atomic_exchange_n(&kernel->modules_begun, true, __ATOMIC_SEQ_CST))
        return 0;
    for (call = next_init(NULL); call != NULL; call = next_init(call)) {
        if (!begun_before(call))
            rc = params_set(call->module);
        if (rc == 0)
            rc = call->init();
        if (rc < 0)
            break;
    }
    if (rc >= 0)
        return 0;
    modules_end(call);
    __atomic_store_n(&kernel->modules_begun, false, __ATOMIC_SEQ_CST);
    return rc;
}

void libcfs_modules_exit(void)
{
    if (__atomic_exchange_n(&libcfs_kernel()->modules_begun, false, __ATOMIC_SEQ_CST))
        modules_end(NULL);
}

/* ---- values ---------------------------------------------------------------------------------- */

static int set_bool(const char *value, bool *place, bool inverse)
{
    char first = value != NULL ? value[0] : 'y';
    bool on = first == 'y' || first == 'Y' || first == '1';

    if (first == 'o' || first == 'O')
        on = value[1] == 'n' || value[1] == 'N';
    if (!on && strchr("nN0", first) == NULL &&
        !((first == 'o' || first == 'O') && (value[1] == 'f' || value[1] == 'F')))
        return -EINVAL;
    if (first == '\0')
        return -EINVAL;
    *place = on != inverse;
    return 0;
}

static const struct {
    long long least;
    unsigned long long most;
} limits[] = {
    [LIBCFS_BYTE] = {0, UINT8_MAX},    [LIBCFS_SHORT] = {INT16_MIN, INT16_MAX},
    [LIBCFS_USHORT] = {0, UINT16_MAX}, [LIBCFS_INT] = {INT32_MIN, INT32_MAX},
    [LIBCFS_UINT] = {0, UINT32_MAX},   [LIBCFS_LONG] = {INT64_MIN, INT64_MAX},
    [LIBCFS_ULONG] = {0, UINT64_MAX},  [LIBCFS_ULLONG] = {0, UINT64_MAX},
};
static const unsigned char sizes[] = {
    [LIBCFS_BYTE] = 1, [LIBCFS_SHORT] = 2, [LIBCFS_USHORT] = 2, [LIBCFS_INT] = 4,
    [LIBCFS_UINT] = 4, [LIBCFS_LONG] = 8,  [LIBCFS_ULONG] = 8,  [LIBCFS_ULLONG] = 8,
};

/* 0x1f, 017 or 15, perhaps with a sign, and with a line feed behind; nothing else. */
int libcfs_param_set(const char *value, void *place, enum libcfs_number type)
{
    unsigned long long magnitude;
    const char *digits = value;
    char *end;
    bool negative;

    if (type >= LIBCFS_BOOL)
        return set_bool(value, place, type == LIBCFS_INVBOOL);
    if (value == NULL)
        return -EINVAL;
    negative = *digits == '-';
    digits += *digits == '-' || *digits == '+';
    if (*digits < '0' || *digits > '9')
        return -EINVAL;
    errno = 0;
    magnitude = strtoull(digits, &end, 0);
    if (*end != '\0' && strcmp(end, "\n") != 0)
        return -EINVAL;
    if (negative && limits[type].least == 0)
        return -EINVAL;
    if (errno != 0 || magnitude > (negative ? (unsigned long long)-(limits[type].least + 1) + 1
                                            : limits[type].most))
        return -ERANGE;
    if (negative)
        magnitude = -magnitude;
    memcpy(place, &magnitude, sizes[type]); /* little-endian: its low bytes */
    return 0;
}

int libcfs_param_get(char *buffer, const void *place, enum libcfs_number type)
{
    unsigned long long bits = 0;
    long long number;

    if (type >= LIBCFS_BOOL)
        return snprintf(buffer, PAGE_SIZE, "%c\n",
                        *(const bool *)place != (type == LIBCFS_INVBOOL) ? 'Y' : 'N');
    memcpy(&bits, place, sizes[type]);
    if (limits[type].least == 0)
        return snprintf(buffer, PAGE_SIZE, "%llu\n", bits);
    bits <<= 64 - 8 * sizes[type];
    memcpy(&number, &bits, sizeof(number));
    return snprintf(buffer, PAGE_SIZE, "%lld\n", number >> (64 - 8 * sizes[type]));
}

/* The text that it had before may be one that no allocation gave. */
int libcfs_param_set_charp(const char *value, const struct kernel_param *param)
{
    char *copy;

    if (value == NULL)
        return -EINVAL;
    if (strlen(value) > 1024)
        return -ENOSPC;
    copy = strdup(value);
    if (copy == NULL)
        return -ENOMEM;
    *(char **)param->arg = copy;
    return 0;
}

int libcfs_param_set_string(const char *value, const struct kernel_param *param)
{
    if (value == NULL)
        return -EINVAL;
    if (strlen(value) + 1 > param->str->maxlen)
        return -ENOSPC;
    strcpy(param->str->string, value);
    return 0;
}

int libcfs_param_set_array(const char *value, const struct kernel_param *param)
{
    const struct kparam_array *array = param->arr;
    struct kernel_param one = {.name = param->name, .ops = array->ops, .perm = param->perm};
    char *copy = value != NULL ? strdup(value) : NULL, *at = copy, *item;
    unsigned count = 0;
    int rc = copy != NULL ? 0 : value != NULL ? -ENOMEM : -EINVAL;

    while (rc == 0 && (item = strsep(&at, ",")) != NULL) {
        if (count == array->max) {
            rc = -EINVAL;
            break;
        }
        one.arg = (char *)array->elem + (size_t)count++ * array->elemsize;
        rc = array->ops->set(item, &one);
    }
    free(copy);
    if (rc == 0 && array->num != NULL)
        *array->num = count;
    return rc;
}

int libcfs_param_get_array(char *buffer, const struct kernel_param *param)
{
    const struct kparam_array *array = param->arr;
    struct kernel_param one = {.name = param->name, .ops = array->ops, .perm = param->perm};
    unsigned i, count = array->num != NULL ? *array->num : array->max;
    int at = 0, length;

    for (i = 0; i < count; i++) {
        one.arg = (char *)array->elem + (size_t)i * array->elemsize;
        if (i > 0)
            buffer[at - 1] = ','; /* in place of the line feed */
        length = array->ops->get(buffer + at, &one);
        if (length < 0)
            return length;
        at += length;
    }
    buffer[at] = '\0';
    return at;
}
