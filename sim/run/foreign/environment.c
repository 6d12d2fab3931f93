/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The environment of a rank that executes a program. It has the same variables as that of every
 * rank (cluster/environment.c), but the texts belong to the program, which may write into them:
 * many programs cut PMI_GNI_LOC_ADDR with strtok().
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/cluster.h"
#include "internal.h"

/* The index of a variable, or of the terminating NULL. */
static size_t find(const struct foreign_process *process, const char *name, size_t length)
{
    size_t i;

    for (i = 0; process->variables.environment[i] != NULL; i++) {
        const char *text = process->variables.environment[i];

        if (strncmp(text, name, length) == 0 && text[length] == '=')
            break;
    }
    return i;
}

/* `text` is "NAME=value"; `own`: it is ours to free. */
static int put(struct foreign_process *process, char *text, bool own)
{
    size_t at = find(process, text, strcspn(text, "="));

    if (at == FOREIGN_ENVIRONMENT_MAX - 1) {
        errno = ENOMEM;
        return -1;
    }
    free(process->own[at]);
    process->own[at] = own ? text : NULL;
    process->variables.environment[at] = text;
    return 0;
}

static int drop(struct foreign_process *process, const char *name)
{
    size_t at = find(process, name, strlen(name)), last = at;

    if (process->variables.environment[at] == NULL)
        return 0;
    while (process->variables.environment[last + 1] != NULL)
        last++;
    free(process->own[at]);
    /* Keeps the order of the others, because programs iterate over the array. */
    memmove(&process->variables.environment[at], &process->variables.environment[at + 1],
            (last - at + 1) * sizeof(char *));
    memmove(&process->own[at], &process->own[at + 1], (last - at + 1) * sizeof(char *));
    return 0;
}

/* ---- what it starts with --------------------------------------------------------------------- */

static void set(struct foreign_process *process, const char *name, const char *value)
{
    char *text = malloc(strlen(name) + strlen(value) + 2);

    if (text == NULL)
        g_error("no memory for the environment of a rank");
    sprintf(text, "%s=%s", name, value);
    if (put(process, text, true) != 0)
        free(text);
}

static void set_variable(void *process, const char *name, const char *value)
{
    set(process, name, value);
}

bool foreign_environment_fill(struct foreign_process *process)
{
    process->variables.environment = calloc(FOREIGN_ENVIRONMENT_MAX, sizeof(char *));
    process->own = calloc(FOREIGN_ENVIRONMENT_MAX, sizeof(char *));
    if (process->variables.environment == NULL || process->own == NULL)
        return false;
    set(process, "PATH", "/usr/bin:/bin");
    set(process, "HOME", "/");
    set(process, "LANG", "C");
    set(process, "TMPDIR", "/tmp");
    rank_for_each_variable(process->rank, set_variable, process);
    return true;
}

void foreign_environment_free(struct foreign_process *process)
{
    size_t i;

    for (i = 0; process->own != NULL && i < FOREIGN_ENVIRONMENT_MAX; i++)
        free(process->own[i]);
    free(process->own);
    free(process->variables.environment);
}

/* ---- what programs do with it ---------------------------------------------------------------- */

char *foreign_environment_get(const struct foreign_process *process, const char *name)
{
    size_t length = strlen(name);
    char *text = process->variables.environment[find(process, name, length)];

    return text != NULL ? text + length + 1 : NULL;
}

static char *shim_getenv(const char *name)
{
    return foreign_environment_get(foreign_self(), name);
}

static int shim_setenv(const char *name, const char *value, int overwrite)
{
    struct foreign_process *process = foreign_self();
    char *text;

    if (name == NULL || name[0] == '\0' || strchr(name, '=') != NULL) {
        errno = EINVAL;
        return -1;
    }
    if (!overwrite && shim_getenv(name) != NULL)
        return 0;
    text = malloc(strlen(name) + strlen(value) + 2);
    if (text == NULL)
        return -1;
    sprintf(text, "%s=%s", name, value);
    if (put(process, text, true) == 0)
        return 0;
    free(text);
    return -1;
}

static int shim_unsetenv(const char *name)
{
    if (name == NULL || name[0] == '\0' || strchr(name, '=') != NULL) {
        errno = EINVAL;
        return -1;
    }
    return drop(foreign_self(), name);
}

static int shim_putenv(char *text)
{
    struct foreign_process *process = foreign_self();

    return strchr(text, '=') != NULL ? put(process, text, false) : drop(process, text);
}

static int shim_clearenv(void)
{
    struct foreign_process *process = foreign_self();
    size_t i;

    for (i = 0; i < FOREIGN_ENVIRONMENT_MAX; i++) {
        free(process->own[i]);
        process->own[i] = process->variables.environment[i] = NULL;
    }
    return 0;
}

const struct foreign_shim foreign_environment_shims[] = {
    {"getenv", (void *)shim_getenv},          {"secure_getenv", (void *)shim_getenv},
    {"setenv", (void *)shim_setenv},          {"unsetenv", (void *)shim_unsetenv},
    {"putenv", (void *)shim_putenv},          {"clearenv", (void *)shim_clearenv},
    {"__secure_getenv", (void *)shim_getenv}, {NULL, NULL}};
