/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of NID ranges: "10.0.0.[1-9/2,12]@tcp *@gni". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/nidstr.h"
#include "libcfs/libcfs_string.h"
#include "lnet/api.h"

struct nid_range {
    struct list_head on_list;
    const struct lnet_net_type *type;
    uint32_t number; /* of the network */
    bool all;
    struct list_head expressions; /* 4 of an IPv4 address, 1 of a number */
};

static bool parse_expression(struct list_head *list, char *text, const char *end, uint32_t maximum)
{
    struct cfs_expr_list *expression;

    if (cfs_expr_list_parse(text, (int)(end - text), 0, maximum, &expression) != 0)
        return false;
    list_add_tail(&expression->el_link, list);
    return true;
}

/* ---- IPv4 ---------------------------------------------------------------------------------- */

int cfs_ip_addr_parse(char *str, int len, struct list_head *list)
{
    char *text = str;
    const char *end = str + len;
    unsigned field;

    for (field = 0; field < 4; field++) {
        char *dot = field < 3 ? memchr(text, '.', (size_t)(end - text)) : str + len;

        if (dot == NULL || !parse_expression(list, text, dot, 255)) {
            cfs_expr_list_free_list(list);
            return -EINVAL;
        }
        text = dot + 1;
    }
    return 0;
}

int cfs_ip_addr_match(__u32 addr, struct list_head *list)
{
    struct cfs_expr_list *expression;
    int shift = 24;

    list_for_each_entry (expression, list, el_link) {
        if (shift < 0 || !cfs_expr_list_match(addr >> shift & 0xff, expression))
            return 0;
        shift -= 8;
    }
    return shift < 0;
}

void cfs_ip_addr_free(struct list_head *list)
{
    cfs_expr_list_free_list(list);
}

/* ---- NIDs ---------------------------------------------------------------------------------- */

void cfs_free_nidlist(struct list_head *nidlist)
{
    while (!list_empty(nidlist)) {
        struct nid_range *range = list_first_entry(nidlist, struct nid_range, on_list);

        cfs_expr_list_free_list(&range->expressions);
        list_del(&range->on_list);
        free(range);
    }
}

static bool parse_address(struct nid_range *range, char *text, size_t length)
{
    if (length == 1 && text[0] == '*') {
        range->all = true;
        return true;
    }
    switch (range->type->address) {
    case LNET_ADDRESS_IP:
        return cfs_ip_addr_parse(text, (int)length, &range->expressions) == 0;
    case LNET_ADDRESS_NUMBER:
        return parse_expression(&range->expressions, text, text + length, UINT32_MAX);
    default:
        range->all = true;
        return true;
    }
}

/* One word: "address@net". */
static bool parse_word(struct list_head *nidlist, char *word)
{
    char *at = strchr(word, '@');
    struct nid_range *range;
    uint32_t net;

    if (at == NULL)
        return false;
    net = libcfs_str2net(at + 1);
    range = net != LNET_NIDNET(LNET_NID_ANY) ? calloc(1, sizeof(*range)) : NULL;
    if (range == NULL)
        return false;

    INIT_LIST_HEAD(&range->expressions);
    list_add_tail(&range->on_list, nidlist);
    range->type = lnet_net_type(LNET_NETTYP(net));
    range->number = LNET_NETNUM(net);
    return parse_address(range, word, (size_t)(at - word));
}

int cfs_parse_nidlist(char *str, int len, struct list_head *nidlist)
{
    char *copy = strndup(str, (size_t)len), *place, *word;
    bool good = copy != NULL;

    INIT_LIST_HEAD(nidlist);
    for (word = good ? strtok_r(copy, " \t\n", &place) : NULL; good && word != NULL;
         word = strtok_r(NULL, " \t\n", &place))
        good = parse_word(nidlist, word);
    free(copy);
    if (!good || list_empty(nidlist)) {
        cfs_free_nidlist(nidlist);
        return 0;
    }
    return 1;
}

int cfs_match_nid(lnet_nid_t nid, struct list_head *nidlist)
{
    struct nid_range *range;

    list_for_each_entry (range, nidlist, on_list) {
        if (LNET_NETTYP(LNET_NIDNET(nid)) != range->type->type ||
            LNET_NETNUM(LNET_NIDNET(nid)) != range->number)
            continue;
        if (range->all)
            return 1;
        if (range->type->address == LNET_ADDRESS_IP
                ? cfs_ip_addr_match(LNET_NIDADDR(nid), &range->expressions) != 0
                : cfs_expr_list_match(
                      LNET_NIDADDR(nid),
                      list_first_entry(&range->expressions, struct cfs_expr_list, el_link)))
            return 1;
    }
    return 0;
}

/* ---- printing ------------------------------------------------------------------------------ */

struct printer {
    char *buffer;
    int size, length;
};

static void print(struct printer *printer, const char *text)
{
    int room = printer->size - printer->length;

    if (room <= 1)
        return;
    printer->length += snprintf(printer->buffer + printer->length, (size_t)room, "%s", text) >= room
                           ? room - 1
                           : (int)strlen(text);
}

static void print_expression(struct printer *printer, struct cfs_expr_list *expression,
                             uint32_t maximum)
{
    const struct cfs_range_expr *range =
        list_first_entry(&expression->el_exprs, struct cfs_range_expr, re_link);
    char text[1024];

    if (range->re_link.next == &expression->el_exprs && range->re_lo == 0 &&
        range->re_hi == maximum && range->re_stride == 1) {
        print(printer, "*");
        return;
    }
    cfs_expr_list_print(text, sizeof(text), expression);
    print(printer, text);
}

int cfs_print_nidlist(char *buffer, int count, struct list_head *nidlist)
{
    struct printer printer = {buffer, count, 0};
    const struct nid_range *range;

    if (count <= 0)
        return 0;
    buffer[0] = '\0';
    list_for_each_entry (range, nidlist, on_list) {
        struct cfs_expr_list *expression;
        const char *dot = "";
        char net[LNET_NIDSTR_SIZE];

        if (range->on_list.prev != nidlist)
            print(&printer, " ");
        if (range->all)
            print(&printer, "*");
        list_for_each_entry (expression, &range->expressions, el_link) {
            print(&printer, dot);
            print_expression(&printer, expression,
                             range->type->address == LNET_ADDRESS_IP ? 255 : UINT32_MAX);
            dot = ".";
        }
        print(&printer, "@");
        print(&printer,
              libcfs_net2str_r(LNET_MKNET(range->type->type, range->number), net, sizeof(net)));
    }
    return printer.length;
}

/* Lowest and highest number of an expression. */
static void bounds(const struct cfs_expr_list *expression, uint32_t *low, uint32_t *high)
{
    const struct cfs_range_expr *range;

    *low = UINT32_MAX;
    *high = 0;
    list_for_each_entry (range, &expression->el_exprs, re_link) {
        uint32_t last = range->re_hi - (range->re_hi - range->re_lo) % range->re_stride;

        *low = range->re_lo < *low ? range->re_lo : *low;
        *high = last > *high ? last : *high;
    }
}

/* The lowest and highest NID of a list whose ranges are on one network. 0, or -EINVAL. */
int cfs_nidrange_find_min_max(struct list_head *nidlist, char *min_nid, char *max_nid,
                              size_t nidstr_length)
{
    const struct nid_range *range;
    uint32_t net = 0, minimum = UINT32_MAX, maximum = 0;
    bool first = true;

    list_for_each_entry (range, nidlist, on_list) {
        const struct cfs_expr_list *expression;
        uint32_t low = 0, high = range->all ? UINT32_MAX : 0;
        uint32_t id = LNET_MKNET(range->type->type, range->number);

        if (!first && id != net)
            return -EINVAL;
        net = id;
        first = false;
        list_for_each_entry (expression, &range->expressions, el_link) {
            uint32_t field_low, field_high;

            bounds(expression, &field_low, &field_high);
            low = range->type->address == LNET_ADDRESS_IP ? low << 8 | field_low : field_low;
            high = range->type->address == LNET_ADDRESS_IP ? high << 8 | field_high : field_high;
        }
        minimum = low < minimum ? low : minimum;
        maximum = high > maximum ? high : maximum;
    }
    if (first)
        return -EINVAL;

    libcfs_nid2str_r(LNET_MKNID(net, minimum), min_nid, nidstr_length);
    libcfs_nid2str_r(LNET_MKNID(net, maximum), max_nid, nidstr_length);
    return 0;
}
