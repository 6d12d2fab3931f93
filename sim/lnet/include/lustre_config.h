/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The configuration header of a Lustre source tree. Unlike the original it defines no PACKAGE and
 * no VERSION, which would clash with those of the consumer. */
#ifndef JACQUARD_LUSTRE_CONFIG_H
#define JACQUARD_LUSTRE_CONFIG_H
#include "lustre/lustre_ver.h"
#endif
