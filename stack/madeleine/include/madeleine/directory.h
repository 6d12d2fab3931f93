/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How programs of Madeleine III find the processes and the channels of their session. A
 * configuration file describes the channels (MAD_CONF). The local rank of a process in a channel is
 * its rank in the session here, so that local ranks have gaps where a channel has some of the
 * processes only.
 */
#ifndef JACQUARD_MADELEINE_DIRECTORY_H
#define JACQUARD_MADELEINE_DIRECTORY_H

#include "objects.h"
#include "toolbox.h"

#ifdef __cplusplus
extern "C" {
#endif

struct s_mad_session {
    ntbx_process_grank_t process_rank; /* the own one */
};

struct s_mad_directory {
    p_tbx_slist_t process_slist; /* p_ntbx_process_t of all processes, by rank */
};

struct s_ntbx_process {
    ntbx_process_grank_t global_rank;
};

/* The processes of a channel. */
struct s_ntbx_process_container {
    int count; /* processes */
    ntbx_process_lrank_t local_array_size; /* ranks: 0 to this number - 1 */
    ntbx_process_grank_t global_array_size; /* the same */
    tbx_bool_t *member; /* by rank */
};

#pragma GCC visibility push(default)
/* mad_init, which also makes what is described here; mad_common_init and mad_common_post_init do
 * so, too. A plain mad_init leaves these fields of the session NULL. */
p_mad_madeleine_t mad_init_directory(int *argc, char **argv, char *configuration_file,
                                     p_mad_adapter_set_t adapter_set);
/* The lowest rank; the next one after *rank. tbx_false: there is none, and *rank stays. */
tbx_bool_t ntbx_pc_first_local_rank(p_ntbx_process_container_t pc, p_ntbx_process_lrank_t rank);
tbx_bool_t ntbx_pc_next_local_rank(p_ntbx_process_container_t pc, p_ntbx_process_lrank_t rank);
tbx_bool_t ntbx_pc_first_global_rank(p_ntbx_process_container_t pc, p_ntbx_process_grank_t rank);
tbx_bool_t ntbx_pc_next_global_rank(p_ntbx_process_container_t pc, p_ntbx_process_grank_t rank);
/* -1: the process is not in the channel. */
ntbx_process_lrank_t ntbx_pc_global_to_local(p_ntbx_process_container_t pc,
                                             ntbx_process_grank_t rank);
ntbx_process_grank_t ntbx_pc_local_to_global(p_ntbx_process_container_t pc,
                                             ntbx_process_lrank_t rank);
ntbx_process_lrank_t ntbx_pc_local_max(p_ntbx_process_container_t pc); /* the highest rank */
ntbx_process_grank_t ntbx_pc_global_max(p_ntbx_process_container_t pc);

/* Returns when all processes of the session have called it. */
void mad_leonie_barrier(void);
/* A line on standard output. The original shows it in the window of the program that starts all. */
void mad_leonie_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
#pragma GCC visibility pop

#define LDISP(...) mad_leonie_print(__VA_ARGS__)
#define LDISP_VAL(text, value) mad_leonie_print(text " = %d", (int)(value))
#define LDISP_PTR(text, pointer) mad_leonie_print(text " = %p", (void *)(pointer))
#define LDISP_STR(text, string) mad_leonie_print(text ": %s", (const char *)(string))
#define LDISP_CHAR(character) mad_leonie_print("%c", (char)(character))
#define LDISP_IN() mad_leonie_print("%s: -->", __FUNCTION__)
#define LDISP_OUT() mad_leonie_print("%s: <--", __FUNCTION__)

#define ntbx_init(argc, argv) ((void)(argc), (void)(argv))
#define ntbx_purge_cmd_line(argc, argv) ((void)(argc), (void)(argv))
#define ntbx_exit() ((void)0)

#ifdef __cplusplus
}
#endif
#endif
