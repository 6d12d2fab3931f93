/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The annotations of types that go over a network; they have no meaning here. */
#ifndef M0_XCODE_XCODE_ATTR_H
#define M0_XCODE_XCODE_ATTR_H
#include "lib/cdefs.h"
#endif
