/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* mad_init and mad_exit: the session of a process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

const struct mad_driver_entry mad_drivers[] = {
#ifndef MAD_SIMULATED /* these are the host's */
    {"tcp", mad_TCP, mad_tcp_register, NULL},
#endif
    {"gni", mad_GNI, mad_gni_register, mad_gni_usable},
    {NULL},
};

/* Parameters of drivers that both ends of a connection must share. */
static const char *const shared_parameters[] = {"MAD_TCP_EAGER", "MAD_GNI_SMSG_MAX",
                                                "MAD_GNI_BTE_MIN"};

long mad_parameter(const char *name, long otherwise)
{
    const char *text = port_getenv(name);
    char *end;
    long value;

    if (text == NULL || *text == '\0')
        return otherwise;
    value = strtol(text, &end, 10);
    return *end == '\0' ? value : otherwise;
}

void mad_parameter_text(const mad_madeleine_t *madeleine, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < madeleine->nb_adapter && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s,", madeleine->adapter[i].driver->name);
    for (size_t i = 0; i < sizeof(shared_parameters) / sizeof(shared_parameters[0]); i++)
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s:%ld,", shared_parameters[i],
                                     mad_parameter(shared_parameters[i], 0));
}

p_mad_madeleine_t mad_get_madeleine(void)
{
    return mad_process()->session;
}

/* The hosts that a configuration file names. False: reported. */
static bool read_configuration(const char *file, const struct mad_command_line *line,
                               struct mad_session_options *options, char ***hosts)
{
    char path[4096];

    if (file == NULL && line->directory == NULL)
        return true;
    if (file == NULL)
        snprintf(path, sizeof(path), "%s/.mad2_conf", line->directory);
    else
        snprintf(path, sizeof(path), "%s", file);
    *hosts = mad_hosts_read(path, &options->host_count);
    options->host_names = *hosts;
    return *hosts != NULL;
}

/* Whether the options of the command line fit to the session. */
static const char *contradiction(const struct mad_boot *boot, const struct mad_command_line *line,
                                 const struct mad_session_options *options, int adapters)
{
    if (line->devices > adapters)
        return "too much parameters";
    if (line->devices != 0 && line->devices < adapters)
        return "not enough parameters";
    if (line->rank >= 0 && line->rank != boot->rank)
        return "the option -rank is not the rank that the process manager gave";
    if (options->host_names != NULL && options->host_count != boot->size)
        return "the configuration file has another number of hosts than the session has processes; "
               "start them with pmrun";
    return NULL;
}

static int check_level(void)
{
    long level = mad_parameter("MAD_CHECK", 0);

    return level < 0 ? 0 : level > 2 ? 2 : (int)level;
}

static int adapter_count(const mad_adapter_set_t *set)
{
    int usable = 0;

    if (set != NULL)
        return set->size;
    for (const struct mad_driver_entry *each = mad_drivers; each->name != NULL; each++)
        usable += each->usable == NULL || each->usable();
    return usable;
}

static p_mad_madeleine_t start(const struct mad_command_line *line,
                               const struct mad_session_options *options)
{
    struct mad_boot *boot = mad_boot_pmi2();
    const char *wrong;

    if (boot == NULL) {
        MAD_REPORT(MAD_EBOOT, "the process manager does not answer", NULL, -1);
        return NULL;
    }
    wrong = contradiction(boot, line, options, adapter_count(options->adapters));
    if (wrong != NULL) {
        boot->ops->close(boot);
        MAD_REPORT(MAD_EBOOT, wrong, NULL, -1);
        return NULL;
    }
    return mad_session_start(boot, options);
}

p_mad_madeleine_t mad_init(int *argc, char **argv, char *configuration_file,
                           p_mad_adapter_set_t adapter_set)
{
    struct mad_process *process = mad_process();
    struct mad_session_options options = {
        .drivers = mad_drivers, .adapters = adapter_set, .check = check_level()};
    const char *list = port_getenv("MAD_ADAPTERS");
    p_mad_adapter_set_t parsed = NULL;
    struct mad_command_line line;
    char **hosts = NULL;
    const char *wrong = mad_command_line(argc, argv, &line);

    if (process->session != NULL || wrong != NULL) {
        MAD_REPORT(wrong != NULL ? MAD_EBOOT : MAD_ESTATE,
                   wrong != NULL ? wrong : "mad_init: the process has a session", NULL, -1);
        return NULL;
    }
    if (adapter_set == NULL && list != NULL) {
        parsed = mad_adapter_set_parse(list, mad_drivers);
        if (parsed == NULL)
            return NULL;
        options.adapters = parsed;
    }
    if (read_configuration(configuration_file, &line, &options, &hosts))
        process->session = start(&line, &options);
    mad_hosts_free(hosts, options.host_count);
    mad_adapter_set_free(parsed);
    return process->session;
}

void mad_exit(p_mad_madeleine_t madeleine)
{
    struct mad_process *process = mad_process();

    if (madeleine == NULL || madeleine != process->session) {
        MAD_REPORT(MAD_EINVAL, "mad_exit: not the session of this process", NULL, -1);
        return;
    }
    process->session = NULL;
    mad_session_end(madeleine);
}
