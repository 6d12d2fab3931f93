/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The release of Lustre whose LNet this is. */
#ifndef JACQUARD_LUSTRE_VER_H
#define JACQUARD_LUSTRE_VER_H

#define LUSTRE_MAJOR 2
#define LUSTRE_MINOR 12
#define LUSTRE_PATCH 9
#define LUSTRE_FIX 0
#define LUSTRE_VERSION_STRING "2.12.9"
#define OBD_OCD_VERSION(major, minor, patch, fix) \
    (((major) << 24) + ((minor) << 16) + ((patch) << 8) + (fix))
#define LUSTRE_VERSION_CODE OBD_OCD_VERSION(LUSTRE_MAJOR, LUSTRE_MINOR, LUSTRE_PATCH, LUSTRE_FIX)

#endif
