/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of NID ranges: "10.0.0.[1-9/2,12]@tcp *@gni". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/nidstr.h"
#include "lnet/api.h"

struct range {
    struct list_head on_expression;
    uint32_t low, high, step;
};

/* One number of an address: a list of ranges. */
struct expression {
    struct list_head on_list;
    struct list_head ranges;
};

struct nid_range {
    struct list_head on_list;
    const struct lnet_net_type *type;
    uint32_t number; /* of the network */
    bool all;
    struct list_head expressions; /* 4 of an IPv4 address, 1 of a number */
};

static bool parse_u32(const char **text, const char *end, uint32_t maximum, uint32_t *value)
{
    uint64_t number = 0;
    const char *at = *text;

    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
        if (number > maximum)
            return false;
    }
    if (at == *text)
        return false;

    *text = at;
    *value = (uint32_t)number;
    return true;
}

static bool add_range(struct expression *expression, uint32_t low, uint32_t high, uint32_t step)
{
    struct range *range = malloc(sizeof(*range));

    if (range == NULL)
        return false;

    range->low = low;
    range->high = high;
    range->step = step;
    list_add_tail(&range->on_expression, &expression->ranges);
    return true;
}

/* "*", "7", or inside brackets: "1-9/2". */
static bool parse_range(struct expression *expression, const char **text, const char *end,
                        uint32_t maximum, bool brackets)
{
    uint32_t low, high, step = 1;

    if (*text < end && **text == '*') {
        ++*text;
        return add_range(expression, 0, maximum, 1);
    }
    if (!parse_u32(text, end, maximum, &low))
        return false;
    high = low;
    if (brackets && *text < end && **text == '-') {
        ++*text;
        if (!parse_u32(text, end, maximum, &high) || high < low)
            return false;
        if (*text < end && **text == '/') {
            ++*text;
            if (!parse_u32(text, end, maximum, &step) || step == 0)
                return false;
        }
    }
    return add_range(expression, low, high, step);
}

static bool parse_expression(struct list_head *list, const char *text, const char *end,
                             uint32_t maximum)
{
    struct expression *expression = malloc(sizeof(*expression));

    if (expression == NULL)
        return false;
    INIT_LIST_HEAD(&expression->ranges);
    list_add_tail(&expression->on_list, list);
    if (text == end || *text != '[')
        return parse_range(expression, &text, end, maximum, false) && text == end;

    for (;;) {
        text++;
        if (!parse_range(expression, &text, end, maximum, true) || text == end)
            return false;
        if (*text == ']')
            return text + 1 == end;
        if (*text != ',')
            return false;
    }
}

static void free_expressions(struct list_head *list)
{
    while (!list_empty(list)) {
        struct expression *expression = list_first_entry(list, struct expression, on_list);

        while (!list_empty(&expression->ranges)) {
            struct range *range =
                list_first_entry(&expression->ranges, struct range, on_expression);

            list_del(&range->on_expression);
            free(range);
        }
        list_del(&expression->on_list);
        free(expression);
    }
}

static bool match_expression(const struct expression *expression, uint32_t value)
{
    const struct range *range;

    list_for_each_entry (range, &expression->ranges, on_expression) {
        if (value >= range->low && value <= range->high && (value - range->low) % range->step == 0)
            return true;
    }
    return false;
}

/* ---- IPv4 ---------------------------------------------------------------------------------- */

int cfs_ip_addr_parse(char *str, int len, struct list_head *list)
{
    const char *text = str, *end = str + len;
    unsigned field;

    for (field = 0; field < 4; field++) {
        const char *dot = field < 3 ? memchr(text, '.', (size_t)(end - text)) : end;

        if (dot == NULL || !parse_expression(list, text, dot, 255)) {
            free_expressions(list);
            return -EINVAL;
        }
        text = dot + 1;
    }
    return 0;
}

int cfs_ip_addr_match(__u32 addr, struct list_head *list)
{
    const struct expression *expression;
    int shift = 24;

    list_for_each_entry (expression, list, on_list) {
        if (shift < 0 || !match_expression(expression, addr >> shift & 0xff))
            return 0;
        shift -= 8;
    }
    return shift < 0;
}

void cfs_ip_addr_free(struct list_head *list)
{
    free_expressions(list);
}

/* ---- NIDs ---------------------------------------------------------------------------------- */

void cfs_free_nidlist(struct list_head *nidlist)
{
    while (!list_empty(nidlist)) {
        struct nid_range *range = list_first_entry(nidlist, struct nid_range, on_list);

        free_expressions(&range->expressions);
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
                : match_expression(
                      list_first_entry(&range->expressions, struct expression, on_list),
                      LNET_NIDADDR(nid)))
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

static void print_expression(struct printer *printer, const struct expression *expression,
                             uint32_t maximum)
{
    const struct range *range;
    bool single = expression->ranges.next->next == &expression->ranges;
    const char *separator = "";

    range = list_first_entry(&expression->ranges, struct range, on_expression);
    if (single && range->low == 0 && range->high == maximum && range->step == 1) {
        print(printer, "*");
        return;
    }
    single = single && range->low == range->high;
    print(printer, single ? "" : "[");
    list_for_each_entry (range, &expression->ranges, on_expression) {
        char text[48];

        if (range->low == range->high)
            snprintf(text, sizeof(text), "%s%u", separator, range->low);
        else if (range->step == 1)
            snprintf(text, sizeof(text), "%s%u-%u", separator, range->low, range->high);
        else
            snprintf(text, sizeof(text), "%s%u-%u/%u", separator, range->low, range->high,
                     range->step);
        print(printer, text);
        separator = ",";
    }
    print(printer, single ? "" : "]");
}

int cfs_print_nidlist(char *buffer, int count, struct list_head *nidlist)
{
    struct printer printer = {buffer, count, 0};
    const struct nid_range *range;

    if (count <= 0)
        return 0;
    buffer[0] = '\0';
    list_for_each_entry (range, nidlist, on_list) {
        const struct expression *expression;
        const char *dot = "";
        char net[LNET_NIDSTR_SIZE];

        if (range->on_list.prev != nidlist)
            print(&printer, " ");
        if (range->all)
            print(&printer, "*");
        list_for_each_entry (expression, &range->expressions, on_list) {
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
static void bounds(const struct expression *expression, uint32_t *low, uint32_t *high)
{
    const struct range *range;

    *low = UINT32_MAX;
    *high = 0;
    list_for_each_entry (range, &expression->ranges, on_expression) {
        uint32_t last = range->high - (range->high - range->low) % range->step;

        *low = range->low < *low ? range->low : *low;
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
        const struct expression *expression;
        uint32_t low = 0, high = range->all ? UINT32_MAX : 0;
        uint32_t id = LNET_MKNET(range->type->type, range->number);

        if (!first && id != net)
            return -EINVAL;
        net = id;
        first = false;
        list_for_each_entry (expression, &range->expressions, on_list) {
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
