/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* err_data of the entries that fi_cq_readerr and fi_eq_readerr return. */
#ifndef GNIP_ERROR_DATA_H
#define GNIP_ERROR_DATA_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gnip_error_data {
    void *to; /* the caller's memory */
    size_t room; /* 0: the entry is to point to the provider's memory */
};

/* Before API 1.5 the entries end before err_data_size. */
static inline bool gnip_error_data_sized(uint32_t api_version)
{
    return !FI_VERSION_LT(api_version, FI_VERSION(1, 5));
}

/* Reads the caller's entry. False: it has a size and no memory. *size is read only if the entry
 * has it. */
static inline bool gnip_error_data_begin(struct gnip_error_data *data, void *to, const size_t *size,
                                         bool sized)
{
    data->to = to;
    data->room = sized ? *size : 0;
    return data->room == 0 || to != NULL;
}

/*
 * Sets err_data, and err_data_size if the details were copied. The provider's memory stays valid
 * until the next error is read.
 */
static inline void gnip_error_data_end(const struct gnip_error_data *data, void *details,
                                       size_t bytes, void **err_data, size_t *err_data_size)
{
    if (data->room == 0) {
        *err_data = bytes > 0 ? details : NULL;
        return;
    }
    *err_data = data->to;
    *err_data_size = bytes < data->room ? bytes : data->room;
    memcpy(data->to, details, *err_data_size);
}

#endif
