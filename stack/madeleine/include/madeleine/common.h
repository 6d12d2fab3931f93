/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How programs from the end of 2000 on start and end the library. */
#ifndef JACQUARD_MADELEINE_COMMON_H
#define JACQUARD_MADELEINE_COMMON_H

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct s_common_attr {
    p_mad_madeleine_t madeleine; /* the session, after common_init */
    p_mad_adapter_set_t adapter_set; /* before it: as in mad_init, NULL by default */
    char *configuration_file; /* the same */
    ntbx_host_id_t rank; /* the own one, after common_init */
    char *url; /* of programs that start each other: not used, pmrun starts them */
} common_attr_t, *p_common_attr_t;

#pragma GCC visibility push(default)
/* Sets the defaults. */
void mad_common_attr_init(common_attr_t *attr);
/* mad_init; attr->madeleine is NULL if it fails. `attr` may be NULL: mad_get_madeleine tells. */
void mad_common_init(int *argc, char **argv, common_attr_t *attr);
/* common_init in two steps, between which a program may start libraries of its own. */
void mad_common_pre_init(int *argc, char **argv, common_attr_t *attr);
void mad_common_post_init(int *argc, char **argv, common_attr_t *attr);
/* mad_exit. */
void mad_common_exit(common_attr_t *attr);
#pragma GCC visibility pop

#define common_attr_init mad_common_attr_init
#define common_init mad_common_init
#define common_pre_init mad_common_pre_init
#define common_post_init mad_common_post_init
#define common_exit mad_common_exit

#ifdef __cplusplus
}
#endif
#endif
