/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Words of a text, and expressions of numbers: "*", "7", "[1-9/2,12]". */
#include "libcfs/libcfs_string.h"

/* ---- words ----------------------------------------------------------------------------------- */

char *cfs_trimwhite(char *text)
{
    return strim(text);
}

char *cfs_firststr(char *text, size_t size)
{
    size_t begin = 0, end;

    while (begin < size && text[begin] != '\0' && isspace((unsigned char)text[begin]))
        begin++;
    for (end = begin; end < size && text[end] != '\0' && !isspace((unsigned char)text[end]);)
        end++;
    if (end == size)
        return text + begin;
    text[end] = '\0';
    return text + begin;
}

int cfs_gettok(struct cfs_lstr *next, char delimiter, struct cfs_lstr *piece)
{
    char *end;

    if (next->ls_str == NULL)
        return 0;
    while (next->ls_len > 0 && isspace((unsigned char)*next->ls_str)) {
        next->ls_str++;
        next->ls_len--;
    }
    if (next->ls_len == 0 || *next->ls_str == delimiter)
        return 0;
    piece->ls_str = next->ls_str;
    end = (char *)memchr(next->ls_str, delimiter, (size_t)next->ls_len);
    if (end == NULL) {
        end = next->ls_str + next->ls_len;
        next->ls_str = NULL;
        next->ls_len = 0;
    } else {
        next->ls_len -= (int)(end + 1 - next->ls_str);
        next->ls_str = end + 1;
    }
    while (end > piece->ls_str && isspace((unsigned char)end[-1]))
        end--;
    piece->ls_len = (int)(end - piece->ls_str);
    return 1;
}

/* A number at the begin; its end, or NULL. */
static const char *read_number(const char *at, const char *end, unsigned most, unsigned *number)
{
    unsigned long long value = 0;
    int base = 10;
    const char *begin;

    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    }
    for (begin = at; at < end; at++) {
        int digit = libcfs_hex_to_bin(*at);

        if (digit < 0 || digit >= base)
            break;
        value = value * (unsigned)base + (unsigned)digit;
        if (value > most)
            return NULL;
    }
    *number = (unsigned)value;
    return at > begin ? at : NULL;
}

int cfs_str2num_check(char *text, int count, unsigned *number, unsigned least, unsigned most)
{
    const char *end = text + count, *at = read_number(text, end, most, number);

    while (at != NULL && at < end && isspace((unsigned char)*at))
        at++;
    return at == end && *number >= least;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* "*", "7", and inside of brackets "1-9/2": what follows it, or NULL. */
static const char *parse_range(struct cfs_range_expr *range, const char *at, const char *end,
                               unsigned least, unsigned most, bool brackets)
{
    *range = (struct cfs_range_expr){.re_lo = least, .re_hi = most, .re_stride = 1};
    if (at < end && *at == '*')
        return at + 1;
    at = read_number(at, end, most, &range->re_lo);
    if (at == NULL || range->re_lo < least)
        return NULL;
    range->re_hi = range->re_lo;
    if (!brackets || at == end || *at != '-')
        return at;
    at = read_number(at + 1, end, most, &range->re_hi);
    if (at == NULL || range->re_hi < range->re_lo)
        return NULL;
    if (at == end || *at != '/')
        return at;
    at = read_number(at + 1, end, most, &range->re_stride);
    return at != NULL && range->re_stride > 0 ? at : NULL;
}

static const char *skip(const char *at, const char *end)
{
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

/* 0, -EINVAL or -ENOMEM. */
static int parse_list(struct cfs_expr_list *list, const char *at, const char *end, unsigned least,
                      unsigned most)
{
    bool brackets = at < end && *at == '[';

    if (brackets)
        at++;
    for (;;) {
        struct cfs_range_expr *range = (struct cfs_range_expr *)malloc(sizeof(*range));

        if (range == NULL)
            return -ENOMEM;
        at = parse_range(range, skip(at, end), end, least, most, brackets);
        list_add_tail(&range->re_link, &list->el_exprs);
        if (at == NULL)
            return -EINVAL;
        at = skip(at, end);
        if (!brackets)
            return at == end ? 0 : -EINVAL;
        if (at == end)
            return -EINVAL;
        if (*at == ']')
            return at + 1 == end ? 0 : -EINVAL;
        if (*at++ != ',')
            return -EINVAL;
    }
}

int cfs_expr_list_parse(char *text, int length, unsigned least, unsigned most,
                        struct cfs_expr_list **result)
{
    struct cfs_expr_list *list = (struct cfs_expr_list *)malloc(sizeof(*list));
    int rc;

    if (list == NULL)
        return -ENOMEM;
    INIT_LIST_HEAD(&list->el_link);
    INIT_LIST_HEAD(&list->el_exprs);
    rc = parse_list(list, text, text + length, least, most);
    if (rc == 0)
        *result = list;
    else
        cfs_expr_list_free(list);
    return rc;
}

void cfs_expr_list_free(struct cfs_expr_list *list)
{
    struct cfs_range_expr *range, *next;

    list_for_each_entry_safe (range, next, &list->el_exprs, re_link)
        free(range);
    free(list);
}

void cfs_expr_list_free_list(struct list_head *lists)
{
    while (!list_empty(lists)) {
        struct cfs_expr_list *list = list_first_entry(lists, struct cfs_expr_list, el_link);

        list_del(&list->el_link);
        cfs_expr_list_free(list);
    }
}

int cfs_expr_list_match(__u32 value, struct cfs_expr_list *list)
{
    const struct cfs_range_expr *range;

    list_for_each_entry (range, &list->el_exprs, re_link)
        if (value >= range->re_lo && value <= range->re_hi &&
            (value - range->re_lo) % range->re_stride == 0)
            return 1;
    return 0;
}

static void print_range(char *text, size_t size, const struct cfs_range_expr *range)
{
    if (range->re_lo == range->re_hi)
        snprintf(text, size, "%u", range->re_lo);
    else if (range->re_stride == 1)
        snprintf(text, size, "%u-%u", range->re_lo, range->re_hi);
    else
        snprintf(text, size, "%u-%u/%u", range->re_lo, range->re_hi, range->re_stride);
}

int cfs_expr_list_print(char *text, int size, struct cfs_expr_list *list)
{
    const struct cfs_range_expr *range =
        list_first_entry(&list->el_exprs, struct cfs_range_expr, re_link);
    bool number = range->re_link.next == &list->el_exprs && range->re_lo == range->re_hi;
    int length = 0;
    char one[48];

    if (size <= 0)
        return 0;
    text[0] = '\0';
    list_for_each_entry (range, &list->el_exprs, re_link) {
        const char *before = range->re_link.prev != &list->el_exprs ? "," : number ? "" : "[";

        print_range(one, sizeof(one), range);
        length += snprintf(text + length, (size_t)(size - length), "%s%s", before, one);
        if (length >= size)
            return size - 1;
    }
    if (!number)
        length += snprintf(text + length, (size_t)(size - length), "]");
    return length < size ? length : size - 1;
}

int cfs_expr_list_values(struct cfs_expr_list *list, int most, __u32 **values)
{
    const struct cfs_range_expr *range;
    __u32 *all = NULL;
    int count = 0, pass;

    for (pass = 0; pass < 2; pass++) {
        count = 0;
        list_for_each_entry (range, &list->el_exprs, re_link) {
            unsigned long long value;

            for (value = range->re_lo; value <= range->re_hi; value += range->re_stride) {
                if (count == most)
                    return -EINVAL; /* only the first time */
                if (pass == 1)
                    all[count] = (__u32)value;
                count++;
            }
        }
        if (count == 0)
            return -EINVAL;
        if (pass == 0)
            all = (__u32 *)calloc((size_t)count, sizeof(*all));
        if (all == NULL)
            return -ENOMEM;
    }
    *values = all;
    return count;
}

int cfs_ip_addr_print(char *text, int size, struct list_head *lists)
{
    struct cfs_expr_list *list;
    int length = 0;

    if (size <= 0)
        return 0;
    text[0] = '\0';
    list_for_each_entry (list, lists, el_link) {
        if (list->el_link.prev != lists && length + 1 < size) {
            text[length++] = '.';
            text[length] = '\0';
        }
        length += cfs_expr_list_print(text + length, size - length, list);
    }
    return length;
}
