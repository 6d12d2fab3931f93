/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of the provider: lines of libfabric's log (FI_LOG_LEVEL, FI_LOG_SUBSYS). */
#include <stdarg.h>
#include <stdio.h>

#include "gni_prov/prov.h"
#include "gnip.h"

gnip_cold void gnip_log(enum fi_log_level level, enum fi_log_subsys subsystem, const char *function,
                        int line, const char *format, ...)
{
    const struct fi_provider *provider = gni_prov_ini();
    char text[256];
    va_list arguments;

    if (!fi_log_enabled(provider, level, subsystem))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fi_log(provider, level, subsystem, function, line, "%s\n", text);
}
