/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Modules: what begins and ends them, and their parameters.
 *
 * All files with one KBUILD_MODNAME (a text, as the kernel's build defines it; else the file's name
 * without its suffix) are one module. A program starts its modules by libcfs_modules_init(), in the
 * order in which they were linked; first each gets its parameters: `module.name=value` among the
 * parameters of LNet, that is in LNET_OPTIONS, or in `parameters:` of a scenario.
 */
#ifndef JACQUARD_LIBCFS_KERNEL_MODULE_H
#define JACQUARD_LIBCFS_KERNEL_MODULE_H

#include "libcfs/kernel/base.h"

#ifndef KBUILD_MODNAME
#define KBUILD_MODNAME __FILE__
#endif

#pragma GCC visibility push(default)
/*
 * Sets the parameters of the modules and calls their functions of module_init(), once in a process.
 * 0; a negative errno: a value is wrong, or what a function of module_init() has returned. Then
 * those modules that have begun end again.
 */
int libcfs_modules_init(void);
/* Calls the functions of module_exit(), those of the last module first. */
void libcfs_modules_exit(void);
#pragma GCC visibility pop

/* ---- begin and end --------------------------------------------------------------------------- */

typedef int (*initcall_t)(void);
typedef void (*exitcall_t)(void);
struct libcfs_module_call {
    const char *module;
    initcall_t init; /* or: */
    exitcall_t exit;
    int level; /* those of a lower one are called before */
    struct libcfs_module_call *next;
};

#pragma GCC visibility push(default)
void libcfs_module_call_add(struct libcfs_module_call *call) __attribute__((weak));
#pragma GCC visibility pop

/* The programs that do not start their modules need no code for that. */
#define LIBCFS_MODULE_CALL(name, ...)                                                \
    static struct libcfs_module_call name = {.module = KBUILD_MODNAME, __VA_ARGS__}; \
    static void __attribute__((constructor, used)) name##_add(void)                  \
    {                                                                                \
        if (libcfs_module_call_add != NULL)                                          \
            libcfs_module_call_add(&name);                                           \
    }                                                                                \
    _Static_assert(1, "")
#define LIBCFS_INITCALL(function, at) \
    LIBCFS_MODULE_CALL(libcfs_init_##function, .init = (function), .level = (at))
#define core_initcall(function) LIBCFS_INITCALL(function, 1)
#define postcore_initcall(function) LIBCFS_INITCALL(function, 2)
#define arch_initcall(function) LIBCFS_INITCALL(function, 3)
#define subsys_initcall(function) LIBCFS_INITCALL(function, 4)
#define fs_initcall(function) LIBCFS_INITCALL(function, 5)
#define device_initcall(function) LIBCFS_INITCALL(function, 6)
#define late_initcall(function) LIBCFS_INITCALL(function, 7)
#define late_initcall_sync(function) LIBCFS_INITCALL(function, 8)
#define module_init(function) device_initcall(function)
#define module_exit(function) LIBCFS_MODULE_CALL(libcfs_exit_##function, .exit = (function))
#define cfs_module(name, version, begin, end) \
    module_init(begin);                       \
    module_exit(end)

/* ---- parameters ------------------------------------------------------------------------------ */

struct module;
struct kernel_param;
struct kernel_param_ops {
    unsigned flags;
    int (*set)(const char *value, const struct kernel_param *param);
    int (*get)(char *buffer, const struct kernel_param *param);
    void (*free)(void *argument);
};
#define KERNEL_PARAM_OPS_FL_NOARG 1u /* `set` may be called with NULL, for a name without value */
struct kparam_string {
    unsigned maxlen;
    char *string;
};
struct kparam_array {
    unsigned max, elemsize;
    unsigned *num; /* how many there are; NULL: nobody wants to know */
    const struct kernel_param_ops *ops;
    void *elem;
};
struct kernel_param {
    const char *name;
    struct module *mod;
    const struct kernel_param_ops *ops;
    u16 perm;
    union {
        void *arg;
        const struct kparam_string *str;
        const struct kparam_array *arr;
    };
};
struct libcfs_param {
    struct kernel_param param;
    const char *module;
    struct libcfs_param *next;
};
enum libcfs_number {
    LIBCFS_BYTE,
    LIBCFS_SHORT,
    LIBCFS_USHORT,
    LIBCFS_INT,
    LIBCFS_UINT,
    LIBCFS_LONG,
    LIBCFS_ULONG,
    LIBCFS_ULLONG,
    LIBCFS_BOOL,
    LIBCFS_INVBOOL,
};

/* Weak, as the code below is in each file, and only libcfs_modules_init() calls it. */
#define LIBCFS_WEAK __attribute__((weak))
#pragma GCC visibility push(default)
void libcfs_param_add(struct libcfs_param *param) LIBCFS_WEAK;
int libcfs_param_set(const char *value, void *place, enum libcfs_number type) LIBCFS_WEAK;
int libcfs_param_get(char *buffer, const void *place, enum libcfs_number type) LIBCFS_WEAK;
int libcfs_param_set_charp(const char *value, const struct kernel_param *param) LIBCFS_WEAK;
int libcfs_param_set_string(const char *value, const struct kernel_param *param) LIBCFS_WEAK;
int libcfs_param_set_array(const char *value, const struct kernel_param *param) LIBCFS_WEAK;
int libcfs_param_get_array(char *buffer, const struct kernel_param *param) LIBCFS_WEAK;
#pragma GCC visibility pop

/* The variable has the type that is said. */
#define __param_check(name, place, type)                                    \
    static inline __attribute__((unused)) type *param_check_of_##name(void) \
    {                                                                       \
        return (place);                                                     \
    }
#define LIBCFS_PARAM_TYPE(name, number)                                                     \
    static inline int param_set_##name(const char *value, const struct kernel_param *param) \
    {                                                                                       \
        return libcfs_param_set(value, param->arg, number);                                 \
    }                                                                                       \
    static inline int param_get_##name(char *buffer, const struct kernel_param *param)      \
    {                                                                                       \
        return libcfs_param_get(buffer, param->arg, number);                                \
    }                                                                                       \
    static const struct kernel_param_ops param_ops_##name __attribute__((unused)) = {       \
        .flags = (number) >= LIBCFS_BOOL ? KERNEL_PARAM_OPS_FL_NOARG : 0,                   \
        .set = param_set_##name,                                                            \
        .get = param_get_##name}
LIBCFS_PARAM_TYPE(byte, LIBCFS_BYTE);
LIBCFS_PARAM_TYPE(short, LIBCFS_SHORT);
LIBCFS_PARAM_TYPE(ushort, LIBCFS_USHORT);
LIBCFS_PARAM_TYPE(int, LIBCFS_INT);
LIBCFS_PARAM_TYPE(uint, LIBCFS_UINT);
LIBCFS_PARAM_TYPE(long, LIBCFS_LONG);
LIBCFS_PARAM_TYPE(ulong, LIBCFS_ULONG);
LIBCFS_PARAM_TYPE(ullong, LIBCFS_ULLONG);
LIBCFS_PARAM_TYPE(bool, LIBCFS_BOOL);
LIBCFS_PARAM_TYPE(invbool, LIBCFS_INVBOOL);
#define param_check_byte(name, place) __param_check(name, place, unsigned char)
#define param_check_short(name, place) __param_check(name, place, short)
#define param_check_ushort(name, place) __param_check(name, place, unsigned short)
#define param_check_int(name, place) __param_check(name, place, int)
#define param_check_uint(name, place) __param_check(name, place, unsigned)
#define param_check_long(name, place) __param_check(name, place, long)
#define param_check_ulong(name, place) __param_check(name, place, unsigned long)
#define param_check_ullong(name, place) __param_check(name, place, unsigned long long)
#define param_check_bool(name, place) __param_check(name, place, bool)
#define param_check_invbool(name, place) __param_check(name, place, bool)
#define param_check_charp(name, place) __param_check(name, place, char *)

/* A copy of the text, which lives as long as the program. */
static inline int param_set_charp(const char *value, const struct kernel_param *param)
{
    return libcfs_param_set_charp(value, param);
}
static inline int param_get_charp(char *buffer, const struct kernel_param *param)
{
    return snprintf(buffer, PAGE_SIZE, "%s\n", *(char **)param->arg);
}
static const struct kernel_param_ops param_ops_charp
    __attribute__((unused)) = {.set = param_set_charp, .get = param_get_charp};
static inline int param_set_copystring(const char *value, const struct kernel_param *param)
{
    return libcfs_param_set_string(value, param);
}
static inline int param_get_string(char *buffer, const struct kernel_param *param)
{
    return snprintf(buffer, PAGE_SIZE, "%s\n", param->str->string);
}
static const struct kernel_param_ops param_ops_string
    __attribute__((unused)) = {.set = param_set_copystring, .get = param_get_string};
/* Values between commas. */
static inline int libcfs_array_set(const char *value, const struct kernel_param *param)
{
    return libcfs_param_set_array(value, param);
}
static inline int libcfs_array_get(char *buffer, const struct kernel_param *param)
{
    return libcfs_param_get_array(buffer, param);
}
static const struct kernel_param_ops param_array_ops
    __attribute__((unused)) = {.set = libcfs_array_set, .get = libcfs_array_get};

#define LIBCFS_PARAM(id, operations, mode, ...)                                     \
    static struct libcfs_param libcfs_param_##id = {                                \
        .param = {.name = #id, .ops = (operations), .perm = (mode), {__VA_ARGS__}}, \
        .module = KBUILD_MODNAME};                                                  \
    static void __attribute__((constructor, used)) libcfs_param_##id##_add(void)    \
    {                                                                               \
        if (libcfs_param_add != NULL)                                               \
            libcfs_param_add(&libcfs_param_##id);                                   \
    }                                                                               \
    _Static_assert(1, "")
#define module_param_cb(name, operations, argument, mode) \
    LIBCFS_PARAM(name, operations, mode, .arg = (void *)(argument))
#define module_param_call(name, setter, getter, argument, mode)                       \
    static const struct kernel_param_ops libcfs_param_ops_##name = {.set = (setter),  \
                                                                    .get = (getter)}; \
    module_param_cb(name, &libcfs_param_ops_##name, argument, mode)
/* The type is joined here already: `bool` is a macro, too. */
#define LIBCFS_PARAM_OF(name, variable, check, operations, mode) \
    check(name, &(variable)) module_param_cb(name, operations, &(variable), mode)
#define module_param_named(name, variable, type, mode) \
    LIBCFS_PARAM_OF(name, variable, param_check_##type, &param_ops_##type, mode)
#define module_param(name, type, mode) \
    LIBCFS_PARAM_OF(name, name, param_check_##type, &param_ops_##type, mode)
#define module_param_named_unsafe(name, variable, type, mode) \
    LIBCFS_PARAM_OF(name, variable, param_check_##type, &param_ops_##type, mode)
#define module_param_unsafe(name, type, mode) \
    LIBCFS_PARAM_OF(name, name, param_check_##type, &param_ops_##type, mode)
#define LIBCFS_PARAM_ARRAY(name, array, check, operations, count, mode)                     \
    check(name, &(array)[0]) static const struct kparam_array libcfs_param_array_##name = { \
        .max = ARRAY_SIZE(array),                                                           \
        .elemsize = sizeof((array)[0]),                                                     \
        .num = (count),                                                                     \
        .ops = (operations),                                                                \
        .elem = (array)};                                                                   \
    LIBCFS_PARAM(name, &param_array_ops, mode, .arr = &libcfs_param_array_##name)
#define module_param_array_named(name, array, type, count, mode) \
    LIBCFS_PARAM_ARRAY(name, array, param_check_##type, &param_ops_##type, count, mode)
#define module_param_array(name, type, count, mode) \
    LIBCFS_PARAM_ARRAY(name, name, param_check_##type, &param_ops_##type, count, mode)
#define module_param_string(name, text, length, mode)                                   \
    static const struct kparam_string libcfs_param_string_##name = {.maxlen = (length), \
                                                                    .string = (text)};  \
    LIBCFS_PARAM(name, &param_ops_string, mode, .str = &libcfs_param_string_##name)
#define CFS_MODULE_PARM(name, type_letter, type, mode, text)                  \
    LIBCFS_PARAM_OF(name, name, param_check_##type, &param_ops_##type, mode); \
    MODULE_PARM_DESC(name, text)

/* ---- the rest -------------------------------------------------------------------------------- */

#define MODULE_LICENSE(text) _Static_assert(1, "")
#define MODULE_AUTHOR(text) _Static_assert(1, "")
#define MODULE_DESCRIPTION(text) _Static_assert(1, "")
#define MODULE_PARM_DESC(name, text) _Static_assert(1, "")
#define MODULE_VERSION(text) _Static_assert(1, "")
#define MODULE_ALIAS(text) _Static_assert(1, "")
#define MODULE_ALIAS_MISCDEV(minor) _Static_assert(1, "")
#define MODULE_INFO(tag, text) _Static_assert(1, "")
#define MODULE_SOFTDEP(text) _Static_assert(1, "")
#define MODULE_FIRMWARE(text) _Static_assert(1, "")
#define MODULE_DEVICE_TABLE(type, name) _Static_assert(1, "")
#define EXPORT_SYMBOL(name) _Static_assert(1, "")
#define EXPORT_SYMBOL_GPL(name) _Static_assert(1, "")

/* A module is part of the program: nobody removes it, and all its symbols are there. */
#define THIS_MODULE ((struct module *)NULL)
static inline bool try_module_get(struct module *module)
{
    (void)module;
    return true;
}
static inline void __module_get(struct module *module)
{
    (void)module;
}
static inline void module_put(struct module *module)
{
    (void)module;
}
#define PORTAL_MODULE_USE __module_get(THIS_MODULE)
#define PORTAL_MODULE_UNUSE module_put(THIS_MODULE)
#define request_module(...) ((void)sizeof(printf(__VA_ARGS__)), 0)
#define request_module_nowait(...) request_module(__VA_ARGS__)
#define symbol_get(name) (&(name))
#define symbol_request(name) symbol_get(name)
#define symbol_put(name) ((void)&(name))

#endif
