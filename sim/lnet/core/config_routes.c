/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parameter `routes`: entries "net [hops] gateway[:priority] ...". Net and gateway may contain
 * a list of ranges and words in brackets: "tcp[1-3]", "10.0.0.[1-7/2,9]@tcp", "[tcp,o2ib1]".
 */
#define _GNU_SOURCE
#include "core/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 128u
#define WORDS_MAX 4096u /* that the ranges of one word may stand for */

struct words {
    char (*word)[WORD_MAX];
    uint32_t count;
};

static bool add_word(struct words *words, const char *text)
{
    char(*more)[WORD_MAX];

    if (words->count == WORDS_MAX || strlen(text) >= WORD_MAX)
        return false;
    more = realloc(words->word, (words->count + 1) * sizeof(*more));
    if (more == NULL)
        return false;

    words->word = more;
    lnet_copy_text(more[words->count++], WORD_MAX, text);
    return true;
}

static bool expand(struct words *words, const char *text);

/* One item of a list: the numbers of a range, "1-7" or "1-6/2", or else a word. */
static bool expand_item(struct words *words, const char *head, size_t head_length, const char *item,
                        const char *tail)
{
    char text[WORD_MAX];
    int low, high, step = 1, used = 0;

    if (*item == '\0')
        return false;
    if (sscanf(item, "%9d-%9d/%9d%n", &low, &high, &step, &used) < 3) {
        step = 1;
        if (sscanf(item, "%9d-%9d%n", &low, &high, &used) < 2)
            return snprintf(text, sizeof(text), "%.*s%s%s", (int)head_length, head, item, tail) <
                       (int)sizeof(text) &&
                   expand(words, text);
    }
    if (item[used] != '\0' || low < 0 || step < 1 || high < low || (high - low) % step != 0 ||
        (high - low) / step >= (int)WORDS_MAX)
        return false;
    for (; low <= high; low += step) {
        if (snprintf(text, sizeof(text), "%.*s%d%s", (int)head_length, head, low, tail) >=
                (int)sizeof(text) ||
            !expand(words, text))
            return false;
    }
    return true;
}

/* Adds what a word with lists stands for. */
static bool expand(struct words *words, const char *text)
{
    const char *open = strchr(text, '['), *close = open != NULL ? strchr(open, ']') : NULL;
    char items[WORD_MAX], *more = items, *item;

    if (open == NULL)
        return add_word(words, text);
    if (close == NULL || (size_t)(close - open) >= sizeof(items))
        return false;

    memcpy(items, open + 1, (size_t)(close - open - 1));
    items[close - open - 1] = '\0';
    while ((item = strsep(&more, ",")) != NULL) {
        if (!expand_item(words, text, (size_t)(open - text), item, close + 1))
            return false;
    }
    return true;
}

char *lnet_config_entry(char **more)
{
    char *entry = strsep(more, ";\n\r");

    if (entry != NULL)
        entry[strcspn(entry, "#")] = '\0';
    return entry;
}

static bool is_number(const char *text)
{
    const char *at = text;

    while (isdigit((unsigned char)*at))
        at++;
    return at != text && *at == '\0';
}

struct result {
    struct lnet_config_route *routes;
    uint32_t count;
};

static bool add_route(struct result *result, uint32_t net, uint32_t hops, const char *gateway_text)
{
    struct lnet_config_route *more;
    char nid[WORD_MAX];
    char *colon;
    unsigned long priority = 0;
    char *end = NULL;

    lnet_copy_text(nid, sizeof(nid), gateway_text);
    colon = strchr(nid, ':');
    if (colon != NULL) {
        *colon = '\0';
        if (!is_number(colon + 1))
            return false;
        priority = strtoul(colon + 1, &end, 10);
    }
    more = realloc(result->routes, (result->count + 1) * sizeof(*more));
    if (more == NULL)
        return false;

    result->routes = more;
    more += result->count;
    more->net = net;
    more->hops = hops;
    more->priority = (uint32_t)priority;
    more->gateway = libcfs_str2nid(nid);
    if (more->gateway == LNET_NID_ANY || LNET_NETTYP(LNET_NIDNET(more->gateway)) == LOLND)
        return false;
    result->count++;
    return true;
}

/* False: *why says what is wrong. */
static bool parse_entry(struct result *result, char *entry, const char **why)
{
    struct words nets = {NULL, 0}, gateways = {NULL, 0};
    uint32_t hops = LNET_HOPS_UNDEFINED, i, j;
    char *word, *words = entry;
    bool first = true, good = true;

    *why = "it needs a network and a gateway";
    while (good && (word = strsep(&words, " \t\v\f")) != NULL) {
        if (*word == '\0')
            continue;
        if (first) {
            good = expand(&nets, word);
            first = false;
        } else if (gateways.count == 0 && is_number(word) && hops == LNET_HOPS_UNDEFINED) {
            hops = (uint32_t)strtoul(word, NULL, 10);
            if (strlen(word) > 3 || hops < 1 || hops > 255) {
                *why = "hops are 1 to 255";
                good = false;
            }
        } else {
            good = expand(&gateways, word);
        }
    }
    good = good && (first || gateways.count > 0);
    for (i = 0; good && i < nets.count; i++) {
        uint32_t net = libcfs_str2net(nets.word[i]);

        *why = "not a network";
        good = net != LNET_NIDNET(LNET_NID_ANY) && LNET_NETTYP(net) != LOLND;
        for (j = 0; good && j < gateways.count; j++) {
            *why = "not a gateway";
            good = add_route(result, net, hops, gateways.word[j]);
        }
    }
    free(nets.word);
    free(gateways.word);
    return good;
}

int lnet_config_routes(const struct lnet_node *node, struct lnet_config_route **routes,
                       uint32_t *count, char **error)
{
    const char *setting = lnet_setting(node->settings, node->setting_count, "lnet", "routes");
    struct result result = {NULL, 0};
    char *text = strdup(setting != NULL ? setting : ""), *more = text, *entry;
    const char *why = NULL;
    bool good = text != NULL;

    while (good && (entry = lnet_config_entry(&more)) != NULL) {
        char *whole = strdup(entry);

        good = whole != NULL && parse_entry(&result, entry, &why);
        if (!good)
            *error = lnet_text("routes: \"%s\": %s", whole, why);
        free(whole);
    }
    free(text);
    if (!good) {
        free(result.routes);
        result = (struct result){NULL, 0};
    }
    *routes = result.routes;
    *count = result.count;
    return good ? 0 : -EINVAL;
}
