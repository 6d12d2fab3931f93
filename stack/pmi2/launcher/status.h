/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the ends of ranks mean for the job and for the status that pmrun exits with. */
#ifndef JACQUARD_PMRUN_STATUS_H
#define JACQUARD_PMRUN_STATUS_H

#include "options.h"
#include "pmi2/server.h"

enum pmrun_end {
    PMRUN_END_NORMAL, /* the others go on */
    PMRUN_END_EARLY, /* it sent init but not finalize */
    PMRUN_END_SIGNAL
};
/* status: as of waitpid; state: before the end of the process was reported. */
enum pmrun_end pmrun_status_end(int status, enum pmi2_rank_state state);
/* Of one rank, for the launcher's exit; 0 to 255. */
int pmrun_status_code(enum pmrun_exit_rule rule, int status, enum pmi2_rank_state state);
int pmrun_status_combine(enum pmrun_exit_rule rule, int one, int other);
/* Of a program that could not be started. */
int pmrun_status_not_started(enum pmrun_exit_rule rule, int error);
/* "exit status 3", "killed by signal 11 (SEGV)". g_free(). */
char *pmrun_status_text(int status);
/* "0-2,5: exit status 0; 3: killed by ...": of ranks [0, count); -1: never ran. g_free(). */
char *pmrun_status_list(const int *statuses, uint32_t count);

#endif
