/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Madeleine II: messages made of blocks over several networks.
 *
 * A program opens a channel on an adapter, and then sends a message as a sequence of blocks between
 * mad_begin_packing and mad_end_packing. The receiver gives the same sequence of blocks, with the
 * same lengths and modes, between mad_begin_unpacking and mad_end_unpacking. The wire carries no
 * description of the message.
 *
 * This header has the names and the layout of the public version of April 2000, so that programs of
 * that time compile unchanged; `configuration` is a structure in the session object.
 *
 * Sources: the interface of Madeleine II of 2000, its paper, and docs/madeleine.md for what
 * differs.
 */
#ifndef JACQUARD_MADELEINE_H
#define JACQUARD_MADELEINE_H

/* Programs of 2000 rely on these. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "madeleine/api.h"
#include "madeleine/directory.h"
#include "madeleine/driver.h"
#include "madeleine/error.h"
#include "madeleine/extended.h"
#include "madeleine/objects.h"
#include "madeleine/toolbox.h"
#include "madeleine/types.h"
#include "madeleine/wait.h"

#endif
