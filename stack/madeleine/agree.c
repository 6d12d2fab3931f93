/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Agreement of all processes on a value, in two fences and two reads per process, however many
 * processes there are: each compares its value with that of rank 0, and one that differs says so
 * under a key that all read.
 */
#include <stdio.h>
#include <string.h>

#include "session.h"

int mad_agree_with(struct mad_boot *boot, int leader, const char *prefix, const char *clash,
                   const char *value, char *text, size_t size)
{
    char key[MAD_KEY_MAX], found[MAD_VALUE_MAX + 1], report[MAD_VALUE_MAX];
    int error = MAD_OK;

    snprintf(key, sizeof(key), "%s.%d", prefix, boot->rank);
    if (value != NULL)
        error = boot->ops->put(boot, key, value);
    if (error == MAD_OK)
        error = boot->ops->fence(boot);
    snprintf(key, sizeof(key), "%s.%d", prefix, leader);
    if (error == MAD_OK && value != NULL)
        error = boot->ops->get(boot, leader, key, found, sizeof(found));
    if (error == MAD_OK && value != NULL && strcmp(found, value) != 0) {
        snprintf(report, sizeof(report), "rank:%d:has:%.200s:rank:%d:has:%.200s", boot->rank, value,
                 leader, found);
        error = boot->ops->put(boot, clash, report);
    }
    if (error == MAD_OK)
        error = boot->ops->fence(boot);
    if (error == MAD_OK)
        error = boot->ops->get(boot, -1, clash, found, sizeof(found));
    if (error != MAD_OK) {
        snprintf(text, size, "the process manager does not answer");
        return error;
    }
    if (found[0] == '\0')
        return MAD_OK;
    for (char *each = found; *each != '\0'; each++) /* values have no blanks */
        if (*each == ':')
            *each = ' ';
    snprintf(text, size, "%s", found);
    return MAD_ECONFIG;
}

int mad_agree(struct mad_boot *boot, const char *prefix, const char *clash, const char *value,
              char *text, size_t size)
{
    return mad_agree_with(boot, 0, prefix, clash, value, text, size);
}
