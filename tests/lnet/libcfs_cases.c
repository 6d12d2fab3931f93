/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The cases of libcfs_cases.h that are about failures, messages, texts and memory. */
#define DEBUG_SUBSYSTEM S_RPC
#include "libcfs_cases.h"

#include <netinet/in.h>
#include <unistd.h>

#include <linux/kthread.h>
#include <linux/slab.h>
#include <libcfs/libcfs.h>
#include <libcfs/libcfs_fail.h>
#include <libcfs/libcfs_private.h>
#include <libcfs/libcfs_string.h>

#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

/* ---- what is written to standard error ------------------------------------------------------- */

static struct capture {
    FILE *file;
    int before;
    char text[8192];
} capture;

#ifdef LIBCFS_FIBERS /* the other rank writes to the same place */
#define CAPTURED(condition) ((void)sizeof(condition), true)
static void capture_begin(void)
{
}
static const char *capture_end(void)
{
    return capture.text;
}
#else
#define CAPTURED(condition) (condition)
static void capture_begin(void)
{
    fflush(stderr);
    capture.file = tmpfile();
    capture.before = dup(STDERR_FILENO);
    dup2(fileno(capture.file), STDERR_FILENO);
}
static const char *capture_end(void)
{
    size_t bytes;

    fflush(stderr);
    dup2(capture.before, STDERR_FILENO);
    close(capture.before);
    rewind(capture.file);
    bytes = fread(capture.text, 1, sizeof(capture.text) - 1, capture.file);
    capture.text[bytes] = '\0';
    fclose(capture.file);
    return capture.text;
}
#endif
static bool captured(const char *what)
{
#ifdef LIBCFS_FIBERS
    (void)what;
    return true;
#else
    char text[8192];
    ssize_t bytes = pread(fileno(capture.file), text, sizeof(text) - 1, 0);

    text[bytes < 0 ? 0 : bytes] = '\0';
    return strstr(text, what) != NULL;
#endif
}

static int lines_with(const char *text, const char *what)
{
    int count = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        count++;
    return count;
}

/* ---- failures -------------------------------------------------------------------------------- */

enum { FAIL_HERE = 0x1234, FAIL_ELSEWHERE = 0x1235 };

static int fails_of(int tries)
{
    int fails = 0;

    while (tries-- > 0)
        fails += CFS_FAIL_CHECK_QUIET(FAIL_HERE);
    return fails;
}
static int returns(void)
{
    CFS_FAIL_RETURN(FAIL_HERE, -EIO);
    RETURN(0);
}

int lnet_99_failures_that_a_test_asks_for(void)
{
    int fails;

    EXPECT(cfs_fail_loc == 0 && fails_of(5) == 0 && !CFS_FAIL_PRECHECK(FAIL_HERE));
    cfs_fail_loc = FAIL_HERE;
    EXPECT(fails_of(5) == 5 && !OBD_FAIL_CHECK_QUIET(FAIL_ELSEWHERE));
    EXPECT(cfs_fail_loc == (FAIL_HERE | CFS_FAILED));

    cfs_fail_loc = FAIL_HERE | CFS_FAIL_ONCE;
    EXPECT(fails_of(1) == 1 && fails_of(5) == 0);
    EXPECT(cfs_fail_loc == (FAIL_HERE | CFS_FAIL_ONCE | CFS_FAILED));

    cfs_fail_loc = FAIL_HERE | CFS_FAIL_SKIP;
    cfs_fail_val = 3;
    EXPECT(fails_of(3) == 0 && fails_of(4) == 4);

    libcfs_faults()->count = 0;
    cfs_fail_loc = FAIL_HERE | CFS_FAIL_SOME;
    cfs_fail_val = 3;
    EXPECT(fails_of(2) == 2 && fails_of(10) == 0); /* the third one ends it, and does not fail */
    cfs_fail_loc = FAIL_HERE | CFS_FAIL_SOME;
    cfs_fail_val = 1;
    EXPECT(fails_of(10) == 1);

    cfs_fail_loc = FAIL_HERE | CFS_FAIL_RAND;
    cfs_fail_val = 4;
    fails = fails_of(4000);
    EXPECT(fails > 600 && fails < 1400);

    cfs_fail_loc = FAIL_HERE;
    cfs_fail_val = 9;
    EXPECT(!CFS_FAIL_CHECK_VALUE_QUIET(FAIL_HERE, 8) && CFS_FAIL_CHECK_VALUE_QUIET(FAIL_HERE, 9));
    cfs_fail_val = (unsigned)-1;
    EXPECT(CFS_FAIL_CHECK_VALUE_QUIET(FAIL_HERE, 8));

    cfs_fail_loc = FAIL_HERE;
    EXPECT(CFS_FAIL_CHECK_ORSET_QUIET(FAIL_HERE, CFS_FAIL_ONCE) && fails_of(3) == 0);
    cfs_fail_loc = FAIL_HERE;
    EXPECT(CFS_FAIL_CHECK_RESET_QUIET(FAIL_HERE, FAIL_ELSEWHERE));
    EXPECT(cfs_fail_loc == FAIL_ELSEWHERE && fails_of(3) == 0);

    capture_begin();
    cfs_fail_loc = CFS_FAULT | CFS_FAIL_ONCE;
    fails = CFS_FAULT_CHECK(FAIL_HERE) + CFS_FAULT_CHECK(FAIL_ELSEWHERE);
    cfs_fail_loc = FAIL_HERE | CFS_FAIL_ONCE;
    EXPECT(returns() == -EIO && returns() == 0);
    capture_end();
    EXPECT(CAPTURED(lines_with(capture.text, "*** cfs_fail_loc=2001234, val=0***") == 1));
    EXPECT(fails == 1);
    EXPECT(cfs_fail_err == 0);
    cfs_fail_loc = 0;
    cfs_fail_val = 0;
    return 0;
}

/* Once the other thread has begun to sleep. */
static int calls_off(void *data)
{
    int tries;

    for (tries = 0; tries < 60000 && !captured("sleeping for 3600000ms\n"); tries++)
        msleep(1);
    msleep(250);
    *(volatile unsigned long *)&cfs_fail_loc = 0;
    complete(data);
    return 0;
}

int lnet_99_a_failure_that_takes_time(void)
{
    DECLARE_COMPLETION_ONSTACK(over);
    unsigned long begin = jiffies;
    int rc;

    EXPECT(CFS_FAIL_TIMEOUT(FAIL_HERE, 10) == 0 && jiffies - begin < 5 * (unsigned long)HZ);
    libcfs_console_ratelimit = 0;
    capture_begin();
    cfs_fail_loc = FAIL_HERE | CFS_FAIL_ONCE;
    begin = jiffies;
    rc = OBD_FAIL_TIMEOUT_MS(FAIL_HERE, 30);
    EXPECT(rc == 1 && jiffies - begin >= 30 && CFS_FAIL_TIMEOUT(FAIL_HERE, 60) == 0);
    cfs_fail_loc = FAIL_HERE;
    begin = jiffies;
    EXPECT(!IS_ERR(kthread_run(calls_off, &over, "calls_off")));
    rc = CFS_FAIL_TIMEOUT(FAIL_HERE, 3600);
    EXPECT(rc == 1 && jiffies - begin >= 200 && jiffies - begin < 1000 * (unsigned long)HZ);
    wait_for_completion(&over);
    capture_end();
    libcfs_console_ratelimit = 1;
    EXPECT(CAPTURED(lines_with(capture.text, "cfs_fail_timeout id 1234 sleeping for 30ms\n") == 1));
    EXPECT(CAPTURED(lines_with(capture.text, "cfs_fail_timeout interrupted\n") == 1));
    return 0;
}

struct racer {
    struct completion over;
    atomic_t through;
};
static int races(void *data)
{
    struct racer *racer = data;

    CFS_RACE(FAIL_HERE);
    atomic_inc(&racer->through);
    complete(&racer->over);
    return 0;
}

int lnet_99_a_race_of_two_threads(void)
{
    struct racer racer = {.through = ATOMIC_INIT(0)};

    init_completion(&racer.over);
    capture_begin();
    CFS_RACE(FAIL_HERE);
    cfs_fail_loc = FAIL_HERE | CFS_FAIL_ONCE;
    EXPECT(!IS_ERR(kthread_run(races, &racer, "first")));
    while (cfs_fail_loc != (FAIL_HERE | CFS_FAIL_ONCE | CFS_FAILED))
        msleep(1);
    msleep(5);
    EXPECT(atomic_read(&racer.through) == 0);
    OBD_RACE(FAIL_HERE);
    wait_for_completion(&racer.over);
    EXPECT(atomic_read(&racer.through) == 1 && cfs_race_state == 1);
    cfs_fail_loc = 0;
    capture_end();
    EXPECT(CAPTURED(lines_with(capture.text, "sleeping") == 1));
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static int mask_of(int *evaluated, int mask)
{
    ++*evaluated;
    return mask;
}

int lnet_99_messages_by_their_masks(void)
{
    int status = 0, mask = 0, evaluated = 0;
    char text[200];

    EXPECT((libcfs_debug & D_ERROR) != 0 && (libcfs_debug & D_NET) == 0 &&
           DEBUG_SUBSYSTEM == S_RPC);
    libcfs_console_ratelimit = 0;
    libcfs_debug_clear();
    capture_begin();
    CDEBUG(mask_of(&evaluated, D_NET), "not to be seen\n");
    CDEBUG(mask_of(&evaluated, status ? D_WARNING : D_NET), "not to be seen\n");
    CDEBUG(mask_of(&evaluated, !status ? D_WARNING : D_NET), "warned %d\n", 5);
    CDEBUG_LIMIT(mask_of(&evaluated, D_ERROR), "failed\n");
    CNETERR("kept, and not to be seen now\n");
    CWARN("careful\n");
    CERROR("%s: rc = %d\n", "name", -EIO);
    LCONSOLE_WARN("to the console\n");
    LCONSOLE_ERROR_MSG(0x162, "with a number\n");
    LCONSOLE(0, "plain\n");
    capture_end();
    EXPECT(evaluated == 4 && CAPTURED(strstr(capture.text, "not to be seen") == NULL));
    EXPECT(CAPTURED(strstr(capture.text, "Lustre: ") == capture.text));
    EXPECT(CAPTURED(strstr(capture.text, ":(libcfs_cases.c:") != NULL));
    EXPECT(
        CAPTURED(strstr(capture.text, ":lnet_99_messages_by_their_masks()) warned 5\n") != NULL));
    EXPECT(CAPTURED(strstr(capture.text, "\nLustreError: ") != NULL));
    EXPECT(CAPTURED(strstr(capture.text, " name: rc = -5\n") != NULL));
    EXPECT(CAPTURED(strstr(capture.text, "\nLustre: to the console\n") != NULL));
    EXPECT(CAPTURED(strstr(capture.text, "\nLustreError: 162-5: with a number\n") != NULL));
    EXPECT(CAPTURED(strstr(capture.text, "\nLustre: plain\n") != NULL));

    /* The log has what libcfs_debug says, also what was not written. */
    capture_begin();
    libcfs_debug_dumplog();
    libcfs_debug |= D_TRACE;
    EXPECT(returns() == 0);
    libcfs_debug &= ~(unsigned)D_TRACE;
    libcfs_subsystem_debug = S_LND;
    CDEBUG(D_HA, "of another subsystem\n");
    libcfs_subsystem_debug = ~0u;
    libcfs_printk |= D_INFO;
    libcfs_debug |= D_INFO;
    CDEBUG(D_INFO, "wanted on the console\n");
    libcfs_printk &= ~(unsigned)D_INFO;
    libcfs_debug &= ~(unsigned)D_INFO;
    libcfs_debug_dumplog();
    capture_end();
    EXPECT(CAPTURED(strstr(capture.text, "kept, and not to be seen now\n") != NULL));
    EXPECT(CAPTURED(strstr(capture.text, "Process leaving\n") != NULL));
    EXPECT(CAPTURED(strstr(capture.text, "of another subsystem") == NULL));
    EXPECT(CAPTURED(lines_with(capture.text, "wanted on the console\n") == 2));
    libcfs_console_ratelimit = 1;

    mask = D_ERROR | D_NET;
    EXPECT(libcfs_debug_mask2str(text, sizeof(text), mask, 0) == 9 &&
           strcmp(text, "net error") == 0);
    EXPECT(libcfs_debug_str2mask(&mask, "+ha -net", 0) == 0 && mask == (D_ERROR | D_HA));
    EXPECT(libcfs_debug_str2mask(&mask, "rpctrace", 0) == 0 && mask == D_RPCTRACE);
    EXPECT(libcfs_debug_str2mask(&mask, "-1", 0) == 0 && mask == -1);
    EXPECT(libcfs_debug_str2mask(&mask, "0x600", 0) == 0 && mask == (D_NET | D_WARNING));
    EXPECT(libcfs_debug_str2mask(&mask, "lnet rpc", 1) == 0 && mask == (S_LNET | S_RPC));
    EXPECT(libcfs_debug_str2mask(&mask, "nonsense", 0) == -EINVAL);
    return 0;
}

static void complain(int n)
{
    CERROR("again %d\n", n);
}

int lnet_99_messages_that_come_too_often(void)
{
    int i;

    capture_begin();
    for (i = 0; i < 10; i++)
        complain(i);
    msleep(600); /* longer than the half second of the first pause */
    complain(10);
    capture_end();
    EXPECT(CAPTURED(strstr(capture.text, "again 0\n") != NULL &&
                    strstr(capture.text, "again 1\n") == NULL));
    EXPECT(CAPTURED(strstr(capture.text, "again 9\n") == NULL &&
                    strstr(capture.text, "again 10\n") != NULL));
    EXPECT(CAPTURED(strstr(capture.text, "Skipped 9 previous similar messages\n") != NULL));
    return 0;
}

static char *formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *formatted(const char *format, ...)
{
    static char text[256];
    va_list arguments;

    va_start(arguments, format);
    (void)libcfs_vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return text;
}
static char *nested(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *nested(const char *format, ...)
{
    struct va_format vaf;
    va_list arguments;
    char *text;

    va_start(arguments, format);
    vaf.fmt = format;
    vaf.va = &arguments;
    text = formatted("[%pV]", (void *)&vaf);
    va_end(arguments);
    return text;
}

static int measured(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = libcfs_vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}

/* Widths and precisions that no text has room for: the kernel clamps them to 2^23 - 1, 2^15 - 1. */
static bool formats_with_wide_fields(void)
{
    const int widest = (1 << 23) - 1, most_precise = (1 << 15) - 1;
    char text[16];
    bool good;

    memset(text, '#', sizeof(text));
    good = measured(text, 8, "a%*db", INT_MAX, 7) == widest + 2 && strcmp(text, "a      ") == 0;
    good = good && memcmp(text + 8, "########", 8) == 0; /* nothing is written behind the end */
    good = good && measured(text, 8, "%99999999999999999999d", 7) == widest;
    good = good && measured(text, 8, "%*d|", INT_MIN, 7) == widest + 1 && text[0] == '7';
    good = good && measured(text, 8, "%.*d", INT_MAX, 7) == most_precise && text[6] == '0';
    good = good && measured(text, 8, "%.*s|", -1, "long") == 1 && strcmp(text, "|") == 0;
    good = good && measured(text, 8, "%-----------5d|", 7) == 6 && strcmp(text, "7    |") == 0;
    good = good && measured(text, 8, "%9000p", (void *)16) == 9000 && text[6] == ' ';
    good = good && measured(NULL, 0, "%2000s", "x") == 2000;
    good = good && memcmp(text + 8, "########", 8) == 0;
    return good;
}

int lnet_99_pointers_in_messages(void)
{
    const unsigned char uuid[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(988)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(7)};
    u32 host = 0x0a000102, network = htonl(host);

    v4.sin_addr.s_addr = network;
    v6.sin6_addr.s6_addr[0] = 0xfe;
    v6.sin6_addr.s6_addr[1] = 0x80;
    v6.sin6_addr.s6_addr[15] = 1;
    EXPECT(strcmp(formatted("%pI4h and %pI4", (void *)&host, (void *)&network),
                  "10.0.1.2 and 10.0.1.2") == 0);
    EXPECT(strcmp(formatted("<%pISp>", (void *)&v4), "<10.0.1.2:988>") == 0);
    EXPECT(strcmp(formatted("%pISpc", (void *)&v6), "[fe80::1]:7") == 0);
    EXPECT(strcmp(formatted("%pI6", (void *)&v6.sin6_addr),
                  "fe80:0000:0000:0000:0000:0000:0000:0001") == 0);
    EXPECT(strcmp(formatted("%pUb", (const void *)uuid), "00010203-0405-0607-0809-0a0b0c0d0eff") ==
           0);
    EXPECT(strcmp(formatted("%pUL", (const void *)uuid), "03020100-0504-0706-0809-0A0B0C0D0EFF") ==
           0);
    EXPECT(strcmp(formatted("%pM|%*ph|", (const void *)uuid, 3, (const void *)uuid),
                  "00:01:02:03:04:05|00 01 02|") == 0);
    EXPECT(strcmp(nested("%d %s %c", 7, "text", 'x'), "[7 text x]") == 0);
    EXPECT(strcmp(formatted("%5.2f%% %-4d| %#llx %zu %*d %.2s", 1.5, 3, 1ull << 40, sizeof(int), 4,
                            9, "abc"),
                  " 1.50% 3   | 0x10000000000 4    9 ab") == 0);
    EXPECT(strcmp(formatted("%pI4", NULL), "(null)") == 0);
    if (!formats_with_wide_fields())
        return __LINE__;
    EXPECT(strcmp(formatted("%p", (void *)0x10), "0x10") == 0);
    capture_begin();
    printk(KERN_INFO "from %pI4h\n", (void *)&host);
    pr_err("at %pI4h\n", (void *)&host);
    capture_end();
    EXPECT(CAPTURED(strcmp(capture.text, "from 10.0.1.2\nat 10.0.1.2\n") == 0));
    return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

int lnet_99_texts_and_numbers_of_libcfs(void)
{
    char text[16] = "  some words  ", *copy;
    unsigned char bytes[4];
    unsigned u;
    int i;
    long l;
    u8 byte;
    bool b;

    EXPECT(strcmp(strim(text), "some words") == 0 && *skip_spaces(" \tx") == 'x');
    EXPECT(strlcpy(text, "twenty characters...", sizeof(text)) == 20 && strlen(text) == 15);
    strlcpy(text, "ab", sizeof(text));
    EXPECT(strlcat(text, "cd", sizeof(text)) == 4 && strcmp(text, "abcd") == 0);
    EXPECT(strnchr("abc", 2, 'c') == NULL && *strnchr("abc", 3, 'c') == 'c');
    EXPECT(kstrtoint("-12\n", 0, &i) == 0 && i == -12 && kstrtoint("12x", 0, &i) == -EINVAL);
    EXPECT(kstrtouint("0x10", 0, &u) == 0 && u == 16 && kstrtouint("-1", 0, &u) == -EINVAL);
    EXPECT(kstrtou8("256", 10, &byte) == -ERANGE && kstrtou8("010", 0, &byte) == 0 && byte == 8);
    EXPECT(kstrtol("9223372036854775808", 10, &l) == -ERANGE && kstrtol("", 10, &l) == -EINVAL);
    EXPECT(kstrtobool("on", &b) == 0 && b && kstrtobool("No", &b) == 0 && !b);
    EXPECT(kstrtobool("maybe", &b) == -EINVAL && simple_strtoul("12k", &copy, 10) == 12);
    EXPECT(*copy == 'k' && hex_to_bin('F') == 15 && hex_to_bin('g') == -1);
    EXPECT(hex2bin(bytes, "00ff10", 3) == 0 && bytes[1] == 255 && hex2bin(bytes, "0x", 1) != 0);
    copy = kasprintf(GFP_KERNEL, "%s-%d", "a", 5);
    EXPECT(copy != NULL && strcmp(copy, "a-5") == 0);
    kfree(copy);
    copy = memdup_user_nul("abcdef", 3);
    EXPECT(!IS_ERR(copy) && strcmp(copy, "abc") == 0);
    kfree(copy);
    capture_begin();
    print_hex_dump(KERN_INFO, "x ", DUMP_PREFIX_OFFSET, 16, 4, "0123456789abcdefgh", 18, true);
    capture_end();
    EXPECT(
        CAPTURED(strcmp(capture.text,
                        "x 00000000: 33323130 37363534 62613938 66656463  0123456789abcdef\n"
                        "x 00000010: 67 68                                            gh\n") == 0));
    EXPECT(MAX(1, 2) == 2 && MIN(1, 2) == 1);
    return 0;
}

int lnet_99_expressions_of_numbers(void)
{
    char text[64] = "[1-9/2,12]", words[] = " a , bc,,d";
    struct cfs_lstr next = {words, (int)strlen(words)}, piece;
    struct cfs_expr_list *list;
    LIST_HEAD(address);
    unsigned number;
    u32 *values;
    int count;

    EXPECT(cfs_expr_list_parse(text, (int)strlen(text), 0, 20, &list) == 0);
    EXPECT(cfs_expr_list_match(7, list) && cfs_expr_list_match(12, list));
    EXPECT(!cfs_expr_list_match(8, list) && !cfs_expr_list_match(11, list));
    count = cfs_expr_list_values(list, 10, &values);
    EXPECT(count == 6 && values[0] == 1 && values[4] == 9 && values[5] == 12);
    cfs_expr_list_values_free(values, count);
    EXPECT(cfs_expr_list_values(list, 5, &values) == -EINVAL);
    EXPECT(cfs_expr_list_print(text, sizeof(text), list) == 10 && strcmp(text, "[1-9/2,12]") == 0);
    cfs_expr_list_free(list);
    EXPECT(cfs_expr_list_parse(text, 4, 0, 20, &list) == -EINVAL); /* "[1-9" */
    EXPECT(cfs_expr_list_parse(strcpy(text, "21"), 2, 0, 20, &list) == -EINVAL);
    EXPECT(cfs_expr_list_parse(strcpy(text, "*"), 1, 3, 20, &list) == 0);
    EXPECT(!cfs_expr_list_match(2, list) && cfs_expr_list_match(20, list));
    cfs_expr_list_free(list);
    EXPECT(cfs_gettok(&next, ',', &piece) && piece.ls_len == 1 && *piece.ls_str == 'a');
    EXPECT(cfs_gettok(&next, ',', &piece) && piece.ls_len == 2 && *piece.ls_str == 'b');
    EXPECT(!cfs_gettok(&next, ',', &piece));
    EXPECT(cfs_str2num_check(strcpy(text, "0x1f "), 5, &number, 0, 40) && number == 31);
    EXPECT(!cfs_str2num_check(strcpy(text, "41"), 2, &number, 0, 40));
    EXPECT(!cfs_str2num_check(strcpy(text, "4a"), 2, &number, 0, 40));
    EXPECT(strcmp(cfs_trimwhite(strcpy(text, " x y ")), "x y") == 0);
    EXPECT(strcmp(cfs_firststr(strcpy(text, " first second"), sizeof(text)), "first") == 0);
    cfs_expr_list_free_list(&address);
    return 0;
}

/* ---- numbers, memory, dates ------------------------------------------------------------------ */

int lnet_99_arguments_are_evaluated_once(void)
{
    static char table_of_64[roundup_pow_of_two(33)];
    u64 numbers[2] = {10, 21};
    u64 *at = numbers;
    int i = 3;

    EXPECT(is_power_of_2(++i) && i == 4 && !is_power_of_2(0));
    EXPECT(fls(i++) == 3 && i == 5 && fls64(1ull << (i += 35)) == 41 && i == 40);
    EXPECT(roundup_pow_of_two(i++) == 64 && i == 41 && sizeof(table_of_64) == 64);
    EXPECT(do_div(*++at, 4) == 1 && numbers[1] == 5 && numbers[0] == 10);
    i = 1;
    EXPECT(ktime_compare(i++, 5) == -1 && i == 2 && ktime_compare(5, 5) == 0);
    EXPECT(ergo(0, 0) && !ergo(1, 0) && equi(2, 5) && !equi(1, 0));
    return 0;
}

struct object {
    int value;
};

int lnet_99_memory_and_partitions_of_libcfs(void)
{
    struct cfs_percpt_lock *lock = cfs_percpt_lock_alloc(cfs_cpt_tab);
    struct object *object, **objects;
    atomic_t five = ATOMIC_INIT(5);
    DEFINE_SPINLOCK(spin);
    nodemask_t nodes;
    mempool_t *pool;
    void *taken[3];
    char text[4096];
    char *memory;
    int i;

    CFS_ALLOC_PTR(object);
    EXPECT(object != NULL && object->value == 0 && ksize(object) >= sizeof(*object));
    CFS_FREE_PTR(object);
    OBD_ALLOC_PTR(object);
    OBD_FREE_PTR(object);
    EXPECT((uintptr_t)object == 0x5a5a5a5a5a5a5a5aUL);
    LIBCFS_ALLOC_GFP(memory, 100, GFP_NOFS);
    EXPECT(memory != NULL && memory[99] == 0);
    LIBCFS_FREE(memory, 100);
    memory = alloc_pages_exact(3 * PAGE_SIZE + 1, GFP_KERNEL | __GFP_ZERO);
    EXPECT(memory != NULL && memory[4 * PAGE_SIZE - 1] == 0 && ((uintptr_t)memory & 4095) == 0);
    free_pages_exact(memory, 3 * PAGE_SIZE + 1);
    EXPECT(get_order(1) == 0 && get_order(PAGE_SIZE + 1) == 1 && get_order(5 * PAGE_SIZE) == 3);
    memory = page_address(alloc_pages(GFP_KERNEL | __GFP_ZERO, 2));
    EXPECT(memory != NULL && memory[4 * PAGE_SIZE - 1] == 0);
    __free_pages(virt_to_page(memory), 2);
    objects = cfs_array_alloc(3, sizeof(struct object));
    EXPECT(objects != NULL && objects[2]->value == 0);
    cfs_array_free(objects);
    pool = mempool_create_kmalloc_pool(2, 64);
    EXPECT(pool != NULL && pool->curr_nr == 2);
    for (i = 0; i < 3; i++)
        EXPECT((taken[i] = mempool_alloc(pool, GFP_NOFS)) != NULL);
    for (i = 0; i < 3; i++)
        mempool_free(taken[i], pool);
    mempool_destroy(pool);
    EXPECT(cfs_size_round(9) == 16 && cfs_size_round4(5) == 8 && cfs_totalram_pages() > 1000);

    cfs_percpt_lock(lock, CFS_PERCPT_LOCK_EX);
    EXPECT(lock->pcl_locked && spin_is_locked(lock->pcl_locks[0]) &&
           cfs_percpt_lock_num(lock) == 1);
    cfs_percpt_unlock(lock, CFS_PERCPT_LOCK_EX);
    cfs_percpt_lock(lock, 0);
    cfs_percpt_unlock(lock, 0);
    cfs_percpt_lock_free(lock);
    nodes_clear(nodes);
    node_set(0, nodes);
    EXPECT(node_isset(0, nodes) && nodes_weight(nodes) == 1);
    EXPECT(cfs_cpt_table_print(cfs_cpt_tab, text, sizeof(text)) > 4 && text[0] == '0');
    EXPECT(cfs_cpt_table_print(cfs_cpt_tab, text, 3) == -E2BIG);
    EXPECT(cfs_cpt_of_node(cfs_cpt_tab, 0) == 0 && cfs_cpu_init() == 0);

    LASSERT_ATOMIC_EQ(&five, 5);
    LASSERT_ATOMIC_POS(&five);
    LASSERT_ATOMIC_GE_LT(&five, 5, 6);
    spin_lock(&spin);
    LASSERT_SPIN_LOCKED(&spin);
    spin_unlock(&spin);
    LINVRNT(five.counter == 5);
    cfs_restore_sigs(cfs_block_allsigs());
    return 0;
}
