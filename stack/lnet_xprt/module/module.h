/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Modules: parts of a program that begin and end. A module has levels, which it enters and leaves
 * in their order. A level may need that another module has reached a level.
 */
#ifndef M0_MODULE_MODULE_H
#define M0_MODULE_MODULE_H

#include "lib/types.h"

struct m0;
struct m0_module;

enum {
    M0_MODLEV_NONE = -1, /* the module has not begun */
    M0_MODLEV_MAX = 64,
    M0_MODDEP_MAX = 128,
};

struct m0_modlev {
    const char *ml_name;
    int (*ml_enter)(struct m0_module *module); /* 0 or a negative errno; may be NULL */
    void (*ml_leave)(struct m0_module *module); /* may be NULL */
};

/* Of a module: before it enters md_src, md_other is at md_dst at least. In the list m_inv it is the
 * opposite: md_other needs this module at md_dst. */
struct m0_moddep {
    struct m0_module *md_other;
    int md_src, md_dst;
};
#define M0_MODDEP_INIT(other, src, dst)                       \
    {                                                         \
        .md_other = (other), .md_src = (src), .md_dst = (dst) \
    }

struct m0_module {
    const char *m_name;
    struct m0 *m_m0; /* the instance that it belongs to */
    int m_cur; /* the level it is at */
    const struct m0_modlev *m_level;
    int m_level_nr;
    unsigned m_level_nrefs[M0_MODLEV_MAX]; /* how many modules need it at a level now */
    struct m0_moddep m_dep[M0_MODDEP_MAX];
    unsigned m_dep_nr;
    struct m0_moddep m_inv[M0_MODDEP_MAX];
    unsigned m_inv_nr;
};

struct m0_module_type {
    const char *mt_name;
    /* A new module, which the instance refers to; NULL: no memory. The caller frees it. */
    struct m0_module *(*mt_create)(struct m0 *instance);
};

void m0_module_setup(struct m0_module *module, const char *name, const struct m0_modlev *level,
                     int level_nr, struct m0 *instance);
/* Before `module` enters `level`, `other` has to be at `other_level`. pre: it is below `level` */
void m0_module_dep_add(struct m0_module *module, int level, struct m0_module *other,
                       int other_level);
/* Enters levels up to this one, and those of other modules that they need. 0, or what an entered
 * level returned; then m0_module_fini() leaves those that were entered. */
int m0_module_init(struct m0_module *module, int level);
/* Leaves levels down to this one, but none that another module needs; and all levels of other
 * modules that nobody needs any more. */
void m0_module_fini(struct m0_module *module, int level);

#endif
