/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The coordinates that rca_get_meshcoord fills in, under the name that older programs have for it.
 */
#ifndef JACQUARD_RS_MESHCOORD_H
#define JACQUARD_RS_MESHCOORD_H

#include <rca_lib.h>

typedef rca_mesh_coord_t mesh_coord_t;

#endif
