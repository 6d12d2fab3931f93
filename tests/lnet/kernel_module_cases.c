/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of kernel_cases.h that are about modules and their parameters. */
#define KBUILD_MODNAME "first-module"
#include "kernel_cases.h"

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/stat.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

static char reported[64];
static int fails;

static void report(const char *what)
{
    snprintf(reported + strlen(reported), sizeof(reported) - strlen(reported), "%s ", what);
}

/* ---- two modules ----------------------------------------------------------------------------- */

static int __init first_late(void)
{
    report("late");
    return fails;
}
static int __init first_begin(void)
{
    report("first");
    return 0;
}
static void __exit first_end(void)
{
    report("-first");
}
late_initcall(first_late); /* linked before, called behind the others */
module_init(first_begin);
module_exit(first_end);
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("pre: libcfs");

#undef KBUILD_MODNAME
#define KBUILD_MODNAME "second"
static int __init second_begin(void)
{
    report("second");
    return 0;
}
static void __exit second_end(void)
{
    report("-second");
}
cfs_module(second, "1.0", second_begin, second_end);

int lnet_99_modules_begin_and_end(void)
{
    reported[0] = '\0';
    EXPECT(libcfs_modules_init() == 0 && libcfs_modules_init() == 0);
    EXPECT(strcmp(reported, "first second late ") == 0);
    libcfs_modules_exit();
    libcfs_modules_exit();
    EXPECT(strcmp(reported, "first second late -second -first ") == 0);
    reported[0] = '\0';
    fails = -ENODEV;
    EXPECT(libcfs_modules_init() == -ENODEV);
    fails = 0;
    EXPECT(strcmp(reported, "first second late -second -first ") == 0);
    EXPECT(request_module("lnet_%s", "selftest") == 0 && symbol_get(fails) == &fails);
    return 0;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static int timeout = 64, limits[4] = {1, 2, 3, 4};
static unsigned limit_count;
static bool on, off = true;
static char none[] = "none", *list = none;
static char text[8] = "text";
static unsigned long size;
static short little;
static unsigned char small;
static int called;
static int set_called(const char *value, const struct kernel_param *param)
{
    int rc = param_set_int(value, param);

    if (rc == 0)
        *(int *)param->arg += 1000;
    return rc;
}
module_param(timeout, int, S_IRUGO | S_IWUSR);
MODULE_PARM_DESC(timeout, "seconds");
module_param_named(limit, size, ulong, 0444);
module_param(on, bool, 0);
module_param_named(not_off, off, invbool, 0);
module_param(list, charp, 0444);
module_param_string(text, text, sizeof(text), 0644);
module_param_array(limits, int, &limit_count, 0644);
module_param(little, short, 0);
module_param(small, byte, 0);
module_param_call(called, set_called, param_get_int, &called, 0644);

static int set(struct libcfs_param *param, const char *value)
{
    return param->param.ops->set(value, &param->param);
}

static bool is(struct libcfs_param *param, const char *expected)
{
    static char buffer[PAGE_SIZE];
    int length = param->param.ops->get(buffer, &param->param);

    return length == (int)strlen(expected) && strcmp(buffer, expected) == 0;
}

int lnet_99_parameters_have_types(void)
{
    EXPECT(set(&libcfs_param_timeout, "-0x10") == 0 && timeout == -16);
    EXPECT(is(&libcfs_param_timeout, "-16\n"));
    EXPECT(set(&libcfs_param_timeout, "7\n") == 0 && timeout == 7);
    EXPECT(set(&libcfs_param_timeout, "7s") == -EINVAL &&
           set(&libcfs_param_timeout, "") == -EINVAL);
    EXPECT(set(&libcfs_param_timeout, " 7") == -EINVAL &&
           set(&libcfs_param_timeout, NULL) == -EINVAL);
    EXPECT(set(&libcfs_param_timeout, "2147483648") == -ERANGE && timeout == 7);
    EXPECT(set(&libcfs_param_timeout, "-2147483648") == 0 && timeout == INT_MIN);
    EXPECT(set(&libcfs_param_limit, "18446744073709551615") == 0 && size == ULONG_MAX);
    EXPECT(is(&libcfs_param_limit, "18446744073709551615\n"));
    EXPECT(set(&libcfs_param_limit, "18446744073709551616") == -ERANGE);
    EXPECT(set(&libcfs_param_limit, "-1") == -EINVAL);
    EXPECT(set(&libcfs_param_little, "-32768") == 0 && little == -32768);
    EXPECT(is(&libcfs_param_little, "-32768\n") && set(&libcfs_param_little, "32768") == -ERANGE);
    EXPECT(set(&libcfs_param_small, "255") == 0 && small == 255);
    EXPECT(set(&libcfs_param_small, "256") == -ERANGE);

    EXPECT(set(&libcfs_param_on, "Y") == 0 && on && set(&libcfs_param_on, "off") == 0 && !on);
    EXPECT(set(&libcfs_param_on, NULL) == 0 && on && set(&libcfs_param_on, "0") == 0 && !on);
    EXPECT(set(&libcfs_param_on, "on") == 0 && on && is(&libcfs_param_on, "Y\n"));
    EXPECT(set(&libcfs_param_on, "2") == -EINVAL && set(&libcfs_param_on, "") == -EINVAL && on);
    EXPECT(set(&libcfs_param_not_off, "1") == 0 && !off && is(&libcfs_param_not_off, "Y\n"));

    EXPECT(set(&libcfs_param_list, "tcp(eth0)") == 0 && strcmp(list, "tcp(eth0)") == 0);
    EXPECT(is(&libcfs_param_list, "tcp(eth0)\n"));
    EXPECT(set(&libcfs_param_text, "1234567") == 0 && strcmp(text, "1234567") == 0);
    EXPECT(set(&libcfs_param_text, "12345678") == -ENOSPC && is(&libcfs_param_text, "1234567\n"));

    EXPECT(set(&libcfs_param_limits, "5,6") == 0 && limit_count == 2);
    EXPECT(limits[0] == 5 && limits[1] == 6 && limits[2] == 3 && is(&libcfs_param_limits, "5,6\n"));
    EXPECT(set(&libcfs_param_limits, "1,2,3,4,5") == -EINVAL);
    EXPECT(set(&libcfs_param_limits, "1,x") == -EINVAL && limit_count == 2);
    EXPECT(set(&libcfs_param_called, "5") == 0 && called == 1005);
    free(list);
    list = none;
    return 0;
}
