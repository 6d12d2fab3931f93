/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "plan.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define VERSION 2

/* One group of the key file. Its keys are optional unless the reader asks has(). */
struct section {
    GKeyFile *file;
    const char *name;
    char *unknown; /* the first key that the group cannot have; NULL: none */
};

/* The keys that a group may have. Those of a timed fault depend on its key `what`. */
static const char *const fabric_keys[] = {"version", "groups",  "chassis", "slots",
                                          "cables",  "latency", NULL};
static const char *const rule_keys[] = {
    "point",  "action", "label", "from",  "until",       "probability", "skip",   "count",
    "source", "target", "kind",  "group", "other_group", "delay",       "status", NULL};
static const struct timed_keys {
    const char *what;
    const char *keys[7];
} timed_keys[] = {
    {"link", {"time", "what", "router", "peer", "which", "state", NULL}},
    {"router", {"time", "what", "router", "state", NULL}},
    {"node", {"time", "what", "node", "action", NULL}},
    {"fabric", {"time", "what", "node", "action", NULL}},
    {"cq_overrun", {"time", "what", "node", "queue", NULL}},
    {"memory", {"time", "what", "node", "region", NULL}},
    {"error", {"time", "what", "node", "category", "code", NULL}},
};

/* ---- values ---------------------------------------------------------------------------------- */

static bool number(const char *word, uint64_t most, uint64_t *value)
{
    uint64_t sum = 0;
    const char *at;

    for (at = word; *at >= '0' && *at <= '9' && at < word + 20; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = 10 * sum + digit;
    }
    *value = sum;
    return at > word && *at == '\0' && sum <= most;
}

static bool number32(const char *word, uint32_t *value)
{
    uint64_t wide;

    if (!number(word, UINT32_MAX - 1, &wide))
        return false;
    *value = (uint32_t)wide;
    return true;
}

static bool real(const char *word, double *value)
{
    char *end;

    *value = g_ascii_strtod(word, &end);
    return end > word && *end == '\0' && isfinite(*value);
}

static bool has(const struct section *section, const char *key)
{
    return g_key_file_has_key(section->file, section->name, key, NULL);
}

static bool is(const struct section *section, const char *key, const char *word)
{
    char *value = g_key_file_get_value(section->file, section->name, key, NULL);
    bool same = value != NULL && strcmp(value, word) == 0;

    g_free(value);
    return same;
}

/* False: the group has another key, which section->unknown names then. */
static bool has_only(struct section *section, const char *const *known)
{
    char **keys = g_key_file_get_keys(section->file, section->name, NULL, NULL);
    size_t i;

    for (i = 0; section->unknown == NULL && keys != NULL && keys[i] != NULL; i++)
        if (!g_strv_contains(known, keys[i]))
            section->unknown = g_strdup(keys[i]);
    g_strfreev(keys);
    return section->unknown == NULL;
}

/* These leave *value as it is when the key is missing. False: the key is no such number. */
static bool get_number(const struct section *section, const char *key, uint64_t most,
                       uint64_t *value)
{
    char *text = g_key_file_get_value(section->file, section->name, key, NULL);
    bool good = text == NULL || number(text, most, value);

    g_free(text);
    return good;
}

static bool get_number32(const struct section *section, const char *key, uint32_t *value)
{
    char *text = g_key_file_get_value(section->file, section->name, key, NULL);
    bool good = text == NULL || number32(text, value);

    g_free(text);
    return good;
}

static bool get_real(const struct section *section, const char *key, double *value)
{
    char *text = g_key_file_get_value(section->file, section->name, key, NULL);
    bool good = text == NULL || real(text, value);

    g_free(text);
    return good;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool read_fabric(struct aries_live_plan *plan, struct section *section)
{
    static const char *const shape[] = {"groups", "chassis", "slots", "cables"};
    size_t i, given = 0;

    for (i = 0; i < G_N_ELEMENTS(shape); i++)
        given += has(section, shape[i]);
    if (!has_only(section, fabric_keys))
        return false;
    plan->profile = g_key_file_get_string(section->file, section->name, "latency", NULL);
    return (given == 0 || given == G_N_ELEMENTS(shape)) &&
           get_number32(section, "groups", &plan->groups) &&
           get_number32(section, "chassis", &plan->chassis) &&
           get_number32(section, "slots", &plan->slots) &&
           get_number32(section, "cables", &plan->cables) && (given == 0 || plan->groups > 0);
}

static bool read_params(struct aries_live_plan *plan, const struct section *section)
{
    char **keys = g_key_file_get_keys(section->file, section->name, NULL, NULL);
    bool good = true;
    size_t i;

    for (i = 0; good && keys[i] != NULL; i++) {
        double value = 0;

        good = get_real(section, keys[i], &value);
        plan->params =
            g_renew(struct aries_live_param, plan->params, (size_t)plan->params_count + 1);
        plan->params[plan->params_count++] = (struct aries_live_param){g_strdup(keys[i]), value};
    }
    g_strfreev(keys);
    return good;
}

static bool read_rule(struct aries_live_plan *plan, struct section *section)
{
    struct sim_fault_rule rule = {.until = SIM_NEVER,
                                  .probability = 1,
                                  .source = SIM_FAULT_ANY,
                                  .target = SIM_FAULT_ANY,
                                  .kind = SIM_FAULT_ANY,
                                  .between = {SIM_FAULT_ANY, SIM_FAULT_ANY}};
    char *action = g_key_file_get_value(section->file, section->name, "action", NULL), *point,
         *label;
    bool good = has_only(section, rule_keys) && action != NULL &&
                sim_fault_action_find(action, &rule.action) &&
                get_number(section, "from", SIM_NEVER - 1, &rule.from) &&
                get_number(section, "until", SIM_NEVER - 1, &rule.until) &&
                get_real(section, "probability", &rule.probability) && rule.probability >= 0 &&
                rule.probability <= 1 && get_number(section, "skip", UINT64_MAX, &rule.skip) &&
                get_number(section, "count", UINT64_MAX, &rule.count_max) &&
                get_number32(section, "source", &rule.source) &&
                get_number32(section, "target", &rule.target) &&
                get_number32(section, "kind", &rule.kind) &&
                get_number32(section, "group", &rule.between[0]) &&
                get_number32(section, "other_group", &rule.between[1]) &&
                get_number(section, "delay", SIM_NEVER / 2, &rule.delay) &&
                get_number32(section, "status", &rule.status);

    g_free(action);
    if (!good)
        return false;
    point = g_key_file_get_string(section->file, section->name, "point", NULL);
    label = g_key_file_get_string(section->file, section->name, "label", NULL);
    if (point != NULL && label != NULL) {
        plan->rules = g_renew(struct aries_live_rule, plan->rules, (size_t)plan->rules_count + 1);
        plan->rules[plan->rules_count] = (struct aries_live_rule){g_strdup(point), rule};
        /* The fault table frees it. */
        plan->rules[plan->rules_count++].rule.label = strdup(label);
    }
    good = point != NULL && label != NULL;
    g_free(point);
    g_free(label);
    return good;
}

static bool read_change(struct aries_live_plan *plan, const struct section *section,
                        sim_time_t time)
{
    struct aries_live_change change = {.time = time, .is_router = is(section, "what", "router")};

    change.alive = is(section, "state", "up");
    if ((!change.alive && !is(section, "state", "down")) || !has(section, "router") ||
        !get_number32(section, "router", &change.a))
        return false;
    if (!change.is_router && (!has(section, "peer") || !has(section, "which") ||
                              !get_number32(section, "peer", &change.b) ||
                              !get_number32(section, "which", &change.which)))
        return false;
    plan->changes =
        g_renew(struct aries_live_change, plan->changes, (size_t)plan->changes_count + 1);
    plan->changes[plan->changes_count++] = change;
    return true;
}

/* *known is false for faults that exist in simulation only: the fabric as a whole, stalls. */
static bool read_node_fault(struct aries_live_timed *timed, const struct section *section,
                            bool *known)
{
    uint32_t code = 0;

    *known = true;
    timed->which = ARIES_EVERY;
    if (is(section, "what", "node") && is(section, "action", "crash")) {
        timed->fault = ARIES_LIVE_CRASH;
    } else if (is(section, "what", "cq_overrun")) {
        timed->fault = ARIES_LIVE_OVERRUN;
        if (!get_number32(section, "queue", &timed->which))
            return false;
    } else if (is(section, "what", "memory")) {
        timed->fault = ARIES_LIVE_CORRUPT;
        if (!get_number32(section, "region", &timed->which))
            return false;
    } else if (is(section, "what", "error")) {
        timed->fault = ARIES_LIVE_ERROR;
        if (!has(section, "category") || !has(section, "code") ||
            !get_number32(section, "category", &timed->which) ||
            !get_number32(section, "code", &code) || timed->which > UINT8_MAX || code > UINT16_MAX)
            return false;
        timed->code = (uint16_t)code;
    } else {
        *known = false;
        return is(section, "what", "fabric") || is(section, "what", "node");
    }
    return has(section, "node") && get_number32(section, "node", &timed->node);
}

static bool read_timed(struct aries_live_plan *plan, struct section *section)
{
    struct aries_live_timed timed = {.time = 0};
    bool known = false;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(timed_keys); i++)
        if (is(section, "what", timed_keys[i].what) && !has_only(section, timed_keys[i].keys))
            return false;

    if (!has(section, "time") || !get_number(section, "time", SIM_NEVER / 2, &timed.time))
        return false;
    if (is(section, "what", "link") || is(section, "what", "router"))
        return read_change(plan, section, timed.time);
    if (!read_node_fault(&timed, section, &known))
        return false;
    if (!known)
        return true;
    plan->timed = g_renew(struct aries_live_timed, plan->timed, (size_t)plan->timed_count + 1);
    plan->timed[plan->timed_count++] = timed;
    return true;
}

static bool read_group(struct aries_live_plan *plan, struct section *section)
{
    if (strcmp(section->name, "fabric") == 0)
        return read_fabric(plan, section);
    if (strcmp(section->name, "params") == 0)
        return read_params(plan, section);
    if (g_str_has_prefix(section->name, "rule "))
        return read_rule(plan, section);
    return g_str_has_prefix(section->name, "timed ") && read_timed(plan, section);
}

bool aries_live_plan_read(struct aries_live_plan *plan, const char *text, size_t bytes, char *why,
                          size_t room)
{
    struct section section = {.file = g_key_file_new(), .name = "fabric"};
    uint64_t version = 0;
    char **groups = NULL;
    size_t i;
    bool good;

    memset(plan, 0, sizeof(*plan));
    good = bytes == 0 ||
           (g_key_file_load_from_data(section.file, text, bytes, G_KEY_FILE_NONE, NULL) &&
            get_number(&section, "version", UINT32_MAX, &version) && version == VERSION);
    if (good && bytes != 0)
        groups = g_key_file_get_groups(section.file, NULL);
    for (i = 0; good && groups != NULL && groups[i] != NULL; i++) {
        section.name = groups[i];
        good = read_group(plan, &section);
    }
    if (section.unknown != NULL)
        snprintf(why, room, "the fabric's scenario has an unknown key \"%.60s\" in group [%.60s]",
                 section.unknown, section.name);
    else if (!good)
        snprintf(why, room,
                 "the fabric's scenario is not understood in group [%s]: another version?",
                 section.name);
    if (!good)
        aries_live_plan_free(plan);
    g_free(section.unknown);
    g_strfreev(groups);
    g_key_file_free(section.file);
    return good;
}

void aries_live_plan_free(struct aries_live_plan *plan)
{
    uint32_t i;

    for (i = 0; i < plan->params_count; i++)
        g_free(plan->params[i].name);
    for (i = 0; i < plan->rules_count; i++) {
        g_free(plan->rules[i].point);
        free(plan->rules[i].rule.label);
    }
    g_free(plan->params);
    g_free(plan->rules);
    g_free(plan->timed);
    g_free(plan->changes);
    g_free(plan->profile);
    memset(plan, 0, sizeof(*plan));
}
