/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs for SISCI include this beside sisci_api.h, which has all of it. */
#include "sisci_api.h"
