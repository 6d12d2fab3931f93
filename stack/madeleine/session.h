/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What starts and ends a session, also with drivers and a bootstrap that a test brings. */
#ifndef JACQUARD_MADELEINE_SESSION_H
#define JACQUARD_MADELEINE_SESSION_H

#include "boot.h"
#include "internal.h"

/* The drivers that exist: a table that ends with a name of NULL. */
struct mad_driver_entry {
    const char *name;
    mad_driver_id_t id;
    void (*register_driver)(p_mad_driver_t driver); /* an interface of NULL: it is not there */
    int (*usable)(void); /* whether this process can have an adapter of it; NULL: always */
    /* How a session with an adapter of it starts, by its selector; NULL: by PMI-2. */
    struct mad_boot *(*boot)(const char *selector);
};
/* The first one that can be used here, or that MAD_ADAPTERS names first; NULL: none. */
const struct mad_driver_entry *mad_default_driver(const struct mad_driver_entry *drivers);
/* Puts it in the place of mad_DRIVER_DEFAULT, with its selector in MAD_ADAPTERS where the set has
 * none. MAD_ENOMEM. */
int mad_adapter_set_complete(p_mad_adapter_set_t set, const struct mad_driver_entry *drivers);
extern const struct mad_driver_entry mad_drivers[];

struct mad_session_options {
    const struct mad_driver_entry *drivers;
    const mad_adapter_set_t *adapters; /* NULL: one default adapter for each driver */
    int check;
    char *const *host_names; /* by rank, or NULL */
    int host_count;
};

/* Takes `boot` over. A failure is reported, and NULL returned. */
p_mad_madeleine_t mad_session_start(struct mad_boot *boot,
                                    const struct mad_session_options *options);
void mad_session_end(p_mad_madeleine_t madeleine);
/* Before a fence, in which no network makes progress: what was sent arrives without our help. */
void mad_quiesce(p_mad_madeleine_t madeleine);
/* One line with all parameters that the processes must agree on. */
void mad_parameter_text(const mad_madeleine_t *madeleine, char *text, size_t size);

/*
 * Publishes `value` under "<prefix>.<own rank>" and compares it with that of rank 0. All processes
 * learn when any of them differs: MAD_ECONFIG, with a text that names a rank and its value. `error`
 * of this process (MAD_OK: none) counts as a difference. Collective.
 */
int mad_agree(struct mad_boot *boot, const char *prefix, const char *clash, const char *value,
              char *text, size_t size);
/* The same with the value of another rank than 0. A value of NULL takes part without one. */
int mad_agree_with(struct mad_boot *boot, int leader, const char *prefix, const char *clash,
                   const char *value, char *text, size_t size);

/* The adapters of a list such as "tcp,tcp:10.0.0.1"; NULL: not valid, which is reported. */
p_mad_adapter_set_t mad_adapter_set_parse(const char *list, const struct mad_driver_entry *drivers);

/* ---- configurations in the language of Madeleine III (config_start.c) ---- */
struct mad_plan;
/* Whether a file is in that language, and not in that of 2000. */
bool mad_plan_is_meant(const char *file);
/* NULL: a driver does not exist, which is reported. */
p_mad_adapter_set_t mad_plan_adapters(const struct mad_plan *plan,
                                      const struct mad_driver_entry *drivers);
/* Opens its channels; false: one failed, which is reported. */
bool mad_plan_open(p_mad_madeleine_t madeleine, const struct mad_plan *plan);
/* mad_open_named_channel for some of the ranks; the others take part in opening and closing only.
 */
p_mad_channel_t mad_open_for_members(p_mad_madeleine_t madeleine, const char *name,
                                     mad_adapter_id_t adapter, const bool *member, int check);

/* A channel that is closed leaves the directory (directory.h), which is freed when all are closed.
 */
void mad_directory_remove(p_mad_madeleine_t madeleine, p_mad_channel_t channel);
void mad_directory_free(p_mad_madeleine_t madeleine);

/* On any adapter, also one that is not the session's. NULL: reported. `member`: by rank, copied;
 * NULL: all. `check`: -1: the level of the session. */
p_mad_channel_t mad_channel_open(p_mad_madeleine_t madeleine, const char *name,
                                 p_mad_adapter_t adapter, const bool *member, int check);
/* Of the threads of a channel that is being opened, with the error of this process: an error if any
 * process has one. Collective. */
int mad_all_started(p_mad_channel_t channel, int error);
/* Closes a channel of any kind. Collective. */
int mad_channel_close(p_mad_channel_t channel);
bool mad_channel_name_is_valid(const char *name);

/* The library's options, which are removed from the command line. */
struct mad_command_line {
    bool master, slave;
    int rank; /* -1: not given */
    const char *directory; /* of -conf */
    int devices; /* how many -device */
};
/* NULL or what is wrong. */
const char *mad_command_line(int *argc, char **argv, struct mad_command_line *line);

/* The hosts of a configuration file; NULL: not readable, which is reported. */
char **mad_hosts_read(const char *path, int *count);
void mad_hosts_free(char **hosts, int count);

#endif
