/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#define _GNU_SOURCE /* sigabbrev_np */
#include "status.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

enum pmrun_end pmrun_status_end(int status, enum pmi2_rank_state state)
{
    if (state == PMI2_RANK_FINALIZED || state == PMI2_RANK_ABORTED)
        return PMRUN_END_NORMAL;
    if (WIFSIGNALED(status))
        return PMRUN_END_SIGNAL;
    return state == PMI2_RANK_NEW ? PMRUN_END_NORMAL : PMRUN_END_EARLY;
}

int pmrun_status_code(enum pmrun_exit_rule rule, int status, enum pmi2_rank_state state)
{
    if (state == PMI2_RANK_ABORTED && (!WIFEXITED(status) || WEXITSTATUS(status) == 0))
        return 1; /* it aborted itself: the signal that we sent does not count */
    if (WIFSIGNALED(status))
        return (rule == PMRUN_EXIT_RULE_SHELL ? 128 : 0) + WTERMSIG(status);
    if (WEXITSTATUS(status) == 0 && pmrun_status_end(status, state) == PMRUN_END_EARLY)
        return 1;
    return WEXITSTATUS(status);
}

int pmrun_status_combine(enum pmrun_exit_rule rule, int one, int other)
{
    return rule == PMRUN_EXIT_RULE_OR ? one | other : MAX(one, other);
}

int pmrun_status_not_started(enum pmrun_exit_rule rule, int error)
{
    if (rule == PMRUN_EXIT_RULE_OR)
        return 255;
    return error == ENOENT ? 127 : 126;
}

char *pmrun_status_text(int status)
{
    const char *name;

    if (status < 0)
        return g_strdup("not started");
    if (!WIFSIGNALED(status))
        return g_strdup_printf("exit status %d", WEXITSTATUS(status));
    name = sigabbrev_np(WTERMSIG(status));
    return g_strdup_printf("killed by signal %d (%s)%s", WTERMSIG(status),
                           name != NULL ? name : "?", WCOREDUMP(status) ? ", core dumped" : "");
}

static void add_ranks(GString *text, const int *statuses, uint32_t count, int status)
{
    uint32_t first, last;
    gboolean any = FALSE;

    for (first = 0; first < count; first = last) {
        for (last = first; last < count && statuses[last] == status; last++)
            continue;
        if (last == first) {
            last++;
            continue;
        }
        g_string_append_printf(text, "%s%u", any ? "," : "", first);
        if (last > first + 1)
            g_string_append_printf(text, "-%u", last - 1);
        any = TRUE;
    }
}

char *pmrun_status_list(const int *statuses, uint32_t count)
{
    GHashTable *seen = g_hash_table_new(NULL, NULL);
    GString *text = g_string_new(NULL);
    uint32_t rank;

    for (rank = 0; rank < count; rank++) {
        char *meaning;

        if (!g_hash_table_add(seen, GINT_TO_POINTER(statuses[rank])))
            continue;
        if (text->len > 0)
            g_string_append(text, "; ");
        add_ranks(text, statuses, count, statuses[rank]);
        meaning = pmrun_status_text(statuses[rank]);
        g_string_append_printf(text, ": %s", meaning);
        g_free(meaning);
    }
    g_hash_table_unref(seen);
    return g_string_free(text, FALSE);
}
