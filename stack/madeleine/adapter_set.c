/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of adapters, as programs and the environment give them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

enum { ADAPTERS_MAX = 64 };

static p_mad_adapter_set_t set_new(int size)
{
    p_mad_adapter_set_t set = calloc(1, sizeof(*set));

    if (set == NULL)
        return NULL;
    set->size = size;
    set->description = calloc((size_t)size, sizeof(*set->description));
    if (set->description == NULL) {
        free(set);
        return NULL;
    }
    return set;
}

void mad_adapter_set_free(p_mad_adapter_set_t set)
{
    if (set == NULL)
        return;
    for (int i = 0; i < set->size; i++)
        free(set->description[i].adapter_selector);
    free(set->description);
    free(set);
}

/* False: out of memory. */
static bool set_put(p_mad_adapter_set_t set, int place, mad_driver_id_t driver,
                    const char *selector)
{
    set->description[place].driver_id = driver;
    set->description[place].adapter_selector = selector != NULL ? strdup(selector) : NULL;
    return selector == NULL || set->description[place].adapter_selector != NULL;
}

p_mad_adapter_set_t mad_adapter_set_init(int nb_adapter, ...)
{
    p_mad_adapter_set_t set;
    bool complete = true;
    va_list arguments;
    int i;

    if (nb_adapter < 1 || nb_adapter > ADAPTERS_MAX) {
        MAD_REPORT(MAD_EINVAL, "mad_adapter_set_init: invalid number of adapters", NULL, -1);
        return NULL;
    }
    set = set_new(nb_adapter);
    va_start(arguments, nb_adapter);
    for (i = 0; set != NULL && i < nb_adapter; i++) {
        mad_driver_id_t driver = (mad_driver_id_t)va_arg(arguments, int);

        complete &= set_put(set, i, driver, va_arg(arguments, const char *));
    }
    va_end(arguments);
    if (set == NULL || !complete) {
        mad_adapter_set_free(set);
        MAD_REPORT(MAD_ENOMEM, mad_error_text(MAD_ENOMEM), NULL, -1);
        return NULL;
    }
    return set;
}

/* ---- "tcp,tcp:10.0.0.1" ---------------------------------------------------------------------- */

static int count_adapters(const char *list)
{
    int count = 1;

    for (; *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* One entry of `length` bytes. False: no such driver, or out of memory. */
static bool parse_entry(p_mad_adapter_set_t set, int place, const char *entry, size_t length,
                        const struct mad_driver_entry *drivers)
{
    char text[128], *selector;

    if (length == 0 || length >= sizeof(text))
        return false;
    memcpy(text, entry, length);
    text[length] = '\0';
    selector = strchr(text, ':');
    if (selector != NULL)
        *selector++ = '\0';
    for (; drivers->name != NULL; drivers++)
        if (strcmp(drivers->name, text) == 0)
            return set_put(set, place, drivers->id, selector);
    return false;
}

p_mad_adapter_set_t mad_adapter_set_parse(const char *list, const struct mad_driver_entry *drivers)
{
    int count = count_adapters(list), i;
    p_mad_adapter_set_t set = count <= ADAPTERS_MAX ? set_new(count) : NULL;
    char text[MAD_TEXT_MAX];
    const char *entry = list;

    for (i = 0; set != NULL && i < count; i++) {
        size_t length = strcspn(entry, ",");

        if (!parse_entry(set, i, entry, length, drivers)) {
            mad_adapter_set_free(set);
            set = NULL;
        }
        entry += length + 1;
    }
    if (set == NULL) {
        snprintf(text, sizeof(text), "invalid list of adapters: %.200s", list);
        MAD_REPORT(MAD_ENOTSUP, text, NULL, -1);
    }
    return set;
}

const struct mad_driver_entry *mad_default_driver(const struct mad_driver_entry *drivers)
{
    const char *list = port_getenv("MAD_ADAPTERS");
    size_t length = list != NULL ? strcspn(list, ",:") : 0;

    for (; drivers->name != NULL; drivers++)
        if (length != 0
                ? strlen(drivers->name) == length && memcmp(drivers->name, list, length) == 0
                : drivers->usable == NULL || drivers->usable())
            return drivers;
    return NULL;
}

/* That of the first entry in MAD_ADAPTERS, or an empty text. */
static void default_selector(char *text, size_t size)
{
    const char *list = port_getenv("MAD_ADAPTERS");
    size_t entry = list != NULL ? strcspn(list, ",") : 0, driver;

    text[0] = '\0';
    if (entry == 0)
        return;
    driver = strcspn(list, ",:");
    if (driver < entry)
        snprintf(text, size, "%.*s", (int)(entry - driver - 1), list + driver + 1);
}

int mad_adapter_set_complete(p_mad_adapter_set_t set, const struct mad_driver_entry *drivers)
{
    const struct mad_driver_entry *standard = mad_default_driver(drivers);
    char selector[128];

    default_selector(selector, sizeof(selector));
    for (int i = 0; standard != NULL && i < set->size; i++) {
        p_mad_adapter_description_t each = &set->description[i];

        if (each->driver_id != mad_DRIVER_DEFAULT)
            continue;
        each->driver_id = standard->id;
        if (each->adapter_selector == NULL && selector[0] != '\0') {
            each->adapter_selector = strdup(selector);
            if (each->adapter_selector == NULL)
                return MAD_ENOMEM;
        }
    }
    return MAD_OK;
}
