/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs include it for the types of ALPS; its functions for debuggers are not offered. */
#ifndef JACQUARD_ALPS_TOOLASSIST_H
#define JACQUARD_ALPS_TOOLASSIST_H
#include <alps/alps.h>
#endif
