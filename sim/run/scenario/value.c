/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "scenario/value.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

char *scenario_quoted(const char *text)
{
    GString *out = g_string_new("\"");
    size_t shown = 0;

    for (; *text != '\0' && shown < 60; text++, shown++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            g_string_append_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            g_string_append_printf(out, "\\x%02x", c);
        else
            g_string_append_c(out, (char)c);
    }
    g_string_append(out, *text != '\0' ? "...\"" : "\"");
    return g_string_free(out, FALSE);
}

const char *scenario_value_type_name(enum arg_type type)
{
    static const char *const names[] = {"count", "bytes", "time", "real", "bool", "choice"};

    return names[type];
}

char *scenario_value_allowed(enum arg_type type, const char *minimum, const char *maximum,
                             const char *choices)
{
    static const char *const what[] = {"a whole number", "a size such as 8, 4KiB or 1MB",
                                       "a time such as 250ns or 1.5ms (units ps ns us ms s)",
                                       "a number", "true or false"};
    GString *out;

    if (type == ARG_CHOICE) {
        gchar **words = g_strsplit(choices, "|", -1);
        gchar *joined = g_strjoinv(", ", words);
        g_strfreev(words);
        return joined;
    }
    out = g_string_new(what[type]);
    if (minimum != NULL && maximum != NULL)
        g_string_append_printf(out, ", from %s to %s", minimum, maximum);
    else if (minimum != NULL)
        g_string_append_printf(out, ", at least %s", minimum);
    else if (maximum != NULL)
        g_string_append_printf(out, ", at most %s", maximum);
    return g_string_free(out, FALSE);
}

bool scenario_value_parse(enum arg_type type, const char *text, const char *minimum,
                          const char *maximum, const char *choices, struct value *value,
                          char **error)
{
    char *allowed, *shown;

    if (wl_value_parse(type, text, minimum, maximum, choices, value))
        return true;
    allowed = scenario_value_allowed(type, minimum, maximum, choices);
    shown = scenario_quoted(text);
    *error = g_strdup_printf("%s is not allowed; allowed: %s", shown, allowed);
    g_free(allowed);
    g_free(shown);
    return false;
}

/* ---- node sets ------------------------------------------------------------------------------- */

static bool set_add(struct node_set *set, uint64_t first, uint64_t last, uint64_t step)
{
    uint64_t node;

    if (first > last || step == 0 || last >= NODE_SET_MAX)
        return false;
    if (set->count + (last - first) / step + 1 > NODE_SET_MAX)
        return false;
    set->nodes = g_renew(uint32_t, set->nodes, set->count + (last - first) / step + 1);
    for (node = first; node <= last; node += step)
        set->nodes[set->count++] = (uint32_t)node;
    return true;
}

static bool take_number(const char **text, uint64_t *number)
{
    const char *at = *text;

    if (!g_ascii_isdigit(*at))
        return false;
    for (*number = 0; g_ascii_isdigit(*at); at++) {
        *number = *number * 10 + (unsigned)(*at - '0');
        if (*number > UINT32_MAX)
            return false;
    }
    *text = at;
    return true;
}

/* One of "7", "0-63", "0-62/2"; moves *text behind it. */
static bool take_range(struct node_set *set, const char **text)
{
    uint64_t first, last, step = 1;

    if (!take_number(text, &first))
        return false;
    last = first;
    if (**text == '-') {
        ++*text;
        if (!take_number(text, &last))
            return false;
        if (**text == '/') {
            ++*text;
            if (!take_number(text, &step))
                return false;
        }
    }
    return set_add(set, first, last, step);
}

static bool set_has_twin(const struct node_set *set, uint32_t *twin)
{
    uint8_t *seen = g_malloc0(NODE_SET_MAX / 8);
    bool found = false;
    size_t i;

    for (i = 0; i < set->count && !found; i++) {
        uint32_t node = set->nodes[i];
        found = (seen[node / 8] >> (node % 8) & 1) != 0;
        seen[node / 8] |= (uint8_t)(1u << (node % 8));
        *twin = node;
    }
    g_free(seen);
    return found;
}

bool scenario_node_set_parse(struct node_set *set, const char *text, char **error)
{
    const char *at = text;
    uint32_t twin;
    bool ok;

    for (;;) {
        while (*at == ' ')
            at++;
        ok = take_range(set, &at);
        while (*at == ' ')
            at++;
        if (!ok || *at != ',')
            break;
        at++;
    }
    if (!ok || *at != '\0') {
        char *shown = scenario_quoted(text);
        *error = g_strdup_printf("%s is not a set of nodes; allowed: numbers and ranges such as "
                                 "0-63,128,200-210/2, below %u",
                                 shown, NODE_SET_MAX);
        g_free(shown);
        return false;
    }
    if (set_has_twin(set, &twin)) {
        *error = g_strdup_printf("node %u is there twice; allowed: each node once", twin);
        return false;
    }
    return true;
}

void scenario_node_set_clear(struct node_set *set)
{
    g_free(set->nodes);
    set->nodes = NULL;
    set->count = 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

size_t scenario_edit_distance(const char *a, const char *b)
{
    size_t rows[3][64];
    size_t *before = rows[0], *previous = rows[1], *current = rows[2], *spare;
    size_t length_a = strlen(a), length_b = strlen(b), i, j;

    if (length_a >= 64 || length_b >= 64)
        return 64;
    for (j = 0; j <= length_b; j++)
        before[j] = previous[j] = j;
    for (i = 1; i <= length_a; i++) {
        current[0] = i;
        for (j = 1; j <= length_b; j++) {
            size_t best = previous[j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN(best, MIN(previous[j], current[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, before[j - 2] + 1);
            current[j] = best;
        }
        spare = before;
        before = previous;
        previous = current;
        current = spare;
    }
    return previous[length_b];
}

/* ---- for people ------------------------------------------------------------------------------ */

static void format_scaled(char *buffer, size_t size, double value, double step,
                          const char *const *units, size_t count)
{
    size_t unit = 0;
    int decimals;

    while (unit + 1 < count && value >= step * 0.9995) {
        value /= step;
        unit++;
    }
    decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    if (unit == 0 && value == floor(value))
        decimals = 0;
    snprintf(buffer, size, "%.*f%s%s", decimals, value, units[unit][0] != '\0' ? " " : "",
             units[unit]);
}

void scenario_format_ps(char *buffer, size_t size, double ps)
{
    static const char *const units[] = {"ps", "ns", "us", "ms", "s"};

    format_scaled(buffer, size, ps, 1000, units, G_N_ELEMENTS(units));
}

void scenario_format_bytes_rate(char *buffer, size_t size, double bytes_per_s)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

    format_scaled(buffer, size, bytes_per_s, 1000, units, G_N_ELEMENTS(units));
}

void scenario_format_count(char *buffer, size_t size, double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};

    format_scaled(buffer, size, count, 1000, units, G_N_ELEMENTS(units));
}

void scenario_format_bytes(char *buffer, size_t size, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

    format_scaled(buffer, size, bytes, 1024, units, G_N_ELEMENTS(units));
}

void scenario_format_exact_ps(char *buffer, size_t size, uint64_t ps)
{
    static const struct {
        uint64_t ps;
        const char *name;
    } units[] = {{1000000000000, "s"}, {1000000000, "ms"}, {1000000, "us"}, {1000, "ns"}};
    size_t i;

    if (ps == 0) {
        g_strlcpy(buffer, "0 ns", size);
        return;
    }
    for (i = 0; i < G_N_ELEMENTS(units) - 1 && ps < units[i].ps; i++)
        ;
    g_snprintf(buffer, (gulong)size, "%.*f %s", i == 0 ? 6 : 3, (double)ps / (double)units[i].ps,
               units[i].name);
}
