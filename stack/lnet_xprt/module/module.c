/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Modules and their levels. */
#include "module/module.h"

#include "lib/arith.h"
#include "lib/assert.h"
#include "module/instance.h"

void m0_module_setup(struct m0_module *module, const char *name, const struct m0_modlev *level,
                     int level_nr, struct m0 *instance)
{
    M0_PRE(instance != NULL);
    M0_PRE(level_nr > 0 && level_nr <= M0_MODLEV_MAX);
    *module = (struct m0_module){.m_name = name,
                                 .m_m0 = instance,
                                 .m_cur = M0_MODLEV_NONE,
                                 .m_level = level,
                                 .m_level_nr = level_nr};
}

void m0_module_dep_add(struct m0_module *module, int level, struct m0_module *other,
                       int other_level)
{
    M0_PRE(module != other && module->m_m0 == other->m_m0);
    M0_PRE(level > module->m_cur && level < module->m_level_nr);
    M0_PRE(other_level > M0_MODLEV_NONE && other_level < other->m_level_nr);
    M0_PRE(module->m_dep_nr < M0_MODDEP_MAX && other->m_inv_nr < M0_MODDEP_MAX);
    module->m_dep[module->m_dep_nr++] = (struct m0_moddep)M0_MODDEP_INIT(other, level, other_level);
    other->m_inv[other->m_inv_nr++] = (struct m0_moddep)M0_MODDEP_INIT(module, level, other_level);
    module->m_m0->i_dep_gen++;
}

/* Gives back what the first `count` dependencies of a level have taken. */
static void release(struct m0_module *module, int level, unsigned count)
{
    while (count-- > 0) {
        const struct m0_moddep *dep = &module->m_dep[count];

        if (dep->md_src != level)
            continue;
        M0_CNT_DEC(dep->md_other->m_level_nrefs[dep->md_dst]);
        m0_module_fini(dep->md_other, M0_MODLEV_NONE);
    }
}

/* An entered level may add dependencies of the same module; they are looked at for later levels. */
static int enter(struct m0_module *module, int level)
{
    const struct m0_modlev *entered = &module->m_level[level];
    unsigned i;
    int rc = 0;

    for (i = 0; rc == 0 && i < module->m_dep_nr; i++) {
        const struct m0_moddep *dep = &module->m_dep[i];

        if (dep->md_src != level)
            continue;
        rc = m0_module_init(dep->md_other, dep->md_dst);
        if (rc != 0)
            break;
        M0_CNT_INC(dep->md_other->m_level_nrefs[dep->md_dst]);
    }
    if (rc == 0 && entered->ml_enter != NULL)
        rc = entered->ml_enter(module);
    if (rc == 0)
        module->m_cur = level;
    else
        release(module, level, i);
    return rc;
}

int m0_module_init(struct m0_module *module, int level)
{
    int rc = 0;

    M0_PRE(level > M0_MODLEV_NONE && level < module->m_level_nr);
    while (rc == 0 && module->m_cur < level)
        rc = enter(module, module->m_cur + 1);
    return rc;
}

void m0_module_fini(struct m0_module *module, int level)
{
    M0_PRE(level >= M0_MODLEV_NONE && level < module->m_level_nr);
    while (module->m_cur > level && module->m_level_nrefs[module->m_cur] == 0) {
        int left = module->m_cur;

        if (module->m_level[left].ml_leave != NULL)
            module->m_level[left].ml_leave(module);
        module->m_cur--;
        release(module, left, module->m_dep_nr);
    }
}
