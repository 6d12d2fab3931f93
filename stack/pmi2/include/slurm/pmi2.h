/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Installed programs include <slurm/pmi2.h>. */
#include <pmi2.h>
