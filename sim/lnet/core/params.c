/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading module parameters from the settings of a node. */
#define _GNU_SOURCE
#include "core/params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lnet_param table[] = {
#define X(name, value, minimum, maximum, meaning) {#name, value, minimum, maximum, meaning},
    LNET_PARAMS(X)
#undef X
};
#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

const struct lnet_param *lnet_param_table(size_t *count)
{
    *count = TABLE_COUNT;
    return table;
}

/* "name" or "module.name": true if `setting` is that parameter. Only module lnet may be left out.
 */
static bool is_named(const char *setting, const char *module, const char *name)
{
    size_t length = strlen(module);

    if (strncmp(setting, module, length) == 0 && setting[length] == '.')
        return strcmp(setting + length + 1, name) == 0;

    return strcmp(module, "lnet") == 0 && strcmp(setting, name) == 0;
}

const char *lnet_setting(const struct lnet_setting *settings, uint32_t count, const char *module,
                         const char *name)
{
    const char *value = NULL;
    uint32_t i;

    for (i = 0; i < count; i++) {
        if (is_named(settings[i].name, module, name))
            value = settings[i].value;
    }
    return value;
}

static bool refuse(char **error, const char *module, const struct lnet_param *param,
                   const char *text)
{
    if (asprintf(error, "%s.%s: %s: a number from %d to %d is needed", module, param->name, text,
                 param->minimum, param->maximum) < 0)
        *error = NULL;

    return false;
}

static bool read_one(const char *module, const struct lnet_param *param,
                     const struct lnet_setting *settings, uint32_t count, int *value, char **error)
{
    const char *text = lnet_setting(settings, count, module, param->name);
    char *end;
    long number;

    *value = param->value;
    if (text == NULL)
        return true;

    errno = 0;
    number = strtol(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || number < param->minimum ||
        number > param->maximum)
        return refuse(error, module, param, text);

    *value = (int)number;
    return true;
}

bool lnet_params_read_driver(const char *module, const struct lnet_param *params,
                             size_t param_count, const struct lnet_setting *settings,
                             uint32_t count, int *values, char **error)
{
    size_t i;

    for (i = 0; i < param_count; i++) {
        if (!read_one(module, &params[i], settings, count, &values[i], error))
            return false;
    }
    return true;
}

/* Up to 2.12 drivers use 5 s until one of the two is written. */
static int lnd_timeout(const struct lnet_params *params, bool written)
{
    if (!written)
        return 5;
    if (params->lnet_retry_count == 0)
        return params->lnet_transaction_timeout;

    return params->lnet_transaction_timeout / params->lnet_retry_count;
}

bool lnet_params_read(struct lnet_params *params, const struct lnet_setting *settings,
                      uint32_t count, char **error)
{
    bool written = lnet_setting(settings, count, "lnet", "lnet_transaction_timeout") != NULL ||
                   lnet_setting(settings, count, "lnet", "lnet_retry_count") != NULL;
    int values[TABLE_COUNT];

    if (!lnet_params_read_driver("lnet", table, TABLE_COUNT, settings, count, values, error))
        return false;

    {
        size_t i = 0;
#define X(name, value, minimum, maximum, meaning) params->name = values[i++];
        LNET_PARAMS(X)
#undef X
    }
    if (params->lnet_health_sensitivity == 0) /* without health nothing is sent again */
        params->lnet_retry_count = 0;
    if (params->lnet_transaction_timeout < params->lnet_retry_count) {
        *error = strdup("lnet.lnet_retry_count: more than lnet_transaction_timeout");
        return false;
    }
    params->lnd_timeout = lnd_timeout(params, written);
    return true;
}
