/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* sim-run campaign: runs campaigns and shows their results. */
#ifndef JACQUARD_RUN_CAMPAIGN_COMMAND_H
#define JACQUARD_RUN_CAMPAIGN_COMMAND_H

/* argv[0] is "campaign". Prints what there is to say. Returns the exit code. */
int campaign_command(int argc, char **argv, const char *program_version);

#endif
