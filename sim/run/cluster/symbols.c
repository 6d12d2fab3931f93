/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of functions and lines of sources, from the files that are loaded (libdw). */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"

/* Frames from here on are the simulator's. */
static const char *const roots[] = {"rank_body",   "foreign_main", "thread_main",
                                    "thread_body", "fiber_entry",  "make_fcontext"};

struct loaded {
    uintptr_t address, base;
    const char *file; /* NULL: not found */
};

static int find_segment(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct loaded *loaded = arg;
    int i;

    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD &&
            loaded->address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz) {
            loaded->base = info->dlpi_addr;
            loaded->file = info->dlpi_name;
            return 1;
        }
    }
    return 0;
}

static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                        const char *file, const char *link, GElf_Word crc, char **found)
{
    return -1; /* what the file itself has is enough; no search on disks or servers */
}

static char *last_part(const char *path)
{
    return g_path_get_basename(path);
}

/* Reports the file to `dwfl`. NULL: none is loaded there. */
static Dwfl_Module *module_of(Dwfl *dwfl, uintptr_t address, const char *program, char **name)
{
    struct loaded loaded = {.address = address};
    Dwfl_Module *module;

    *name = NULL;
    dl_iterate_phdr(find_segment, &loaded);
    if (loaded.file == NULL)
        return NULL;
    if (loaded.file[0] == '\0')
        loaded.file = "/proc/self/exe";
    else if (g_str_has_prefix(loaded.file, "/proc/self/fd") && program != NULL)
        loaded.file = program; /* the rank's private copy */
    *name =
        strcmp(loaded.file, "/proc/self/exe") == 0 ? g_strdup("sim-run") : last_part(loaded.file);
    module = dwfl_addrmodule(dwfl, address);
    if (module != NULL)
        return module;
    dwfl_report_begin_add(dwfl);
    module = dwfl_report_elf(dwfl, loaded.file, loaded.file, -1, loaded.base, true);
    dwfl_report_end(dwfl, NULL, NULL);
    return module;
}

/* "rank_body.lto_priv.0" is rank_body to a reader. */
static char *plain_name(const char *name)
{
    return g_strndup(name, strcspn(name, "."));
}

static void add_frame(GPtrArray *lines, const char *function, const char *source, int line,
                      const char *module)
{
    char *file = source != NULL ? last_part(source) : NULL;

    if (function != NULL && file != NULL)
        g_ptr_array_add(lines, g_strdup_printf("%s at %s:%d (%s)", function, file, line, module));
    else
        g_ptr_array_add(lines,
                        g_strdup_printf("%s (%s)", function != NULL ? function : "?", module));
    g_free(file);
}

/* The child whose code contains the address. */
static bool scope_below(Dwarf_Die *scope, Dwarf_Addr address, Dwarf_Die *child)
{
    int more = dwarf_child(scope, child);

    while (more == 0 && dwarf_haspc(child, address) <= 0)
        more = dwarf_siblingof(child, child);
    return more == 0;
}

/*
 * The function that contains the address, and the calls and blocks in it, from the outermost to the
 * innermost one. (dwarf_getscopes() finds none where link-time optimisation keeps the definition of
 * an inlined function in another unit.)
 */
static GArray *scopes_of(Dwfl_Module *module, uintptr_t address, Dwarf_Die *file)
{
    GArray *scopes = g_array_new(FALSE, FALSE, sizeof(Dwarf_Die));
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), scope, child;

    if (unit == NULL)
        return scopes;
    *file = scope = *unit;
    while (scope_below(&scope, address - bias, &child)) {
        g_array_append_val(scopes, child);
        scope = child;
    }
    return scopes;
}

static int number_in(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;

    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0)
        return 0;
    return (int)value;
}

/*
 * A function that was compiled into its caller has no frame. It gets a line of its own, and *source
 * and *line become the place of its call.
 */
static void add_inlined(Dwfl_Module *module, uintptr_t address, const char *name,
                        const char **source, int *line, GPtrArray *lines)
{
    Dwarf_Die file;
    GArray *scopes = scopes_of(module, address, &file);
    Dwarf_Files *files = NULL;
    size_t known = 0;
    unsigned i = scopes->len;

    if (i > 0 && dwarf_getsrcfiles(&file, &files, &known) != 0)
        i = 0;
    while (i-- > 0) {
        Dwarf_Die *scope = &g_array_index(scopes, Dwarf_Die, i);
        int from = number_in(scope, DW_AT_call_file);

        if (dwarf_tag(scope) != DW_TAG_inlined_subroutine)
            continue;
        add_frame(lines, dwarf_diename(scope), *source, *line, name);
        *line = number_in(scope, DW_AT_call_line);
        *source = from > 0 && (size_t)from < known ? dwarf_filesrc(files, (size_t)from, NULL, NULL)
                                                   : NULL;
    }
    g_array_free(scopes, TRUE);
}

/* False: the frame is the simulator's. */
static bool add_line(Dwfl *dwfl, uintptr_t address, const char *program, GPtrArray *lines)
{
    char *file, *function = NULL;
    Dwfl_Module *module = module_of(dwfl, address, program, &file);
    const char *symbol = module != NULL ? dwfl_module_addrname(module, address) : NULL,
               *source = NULL;
    Dwfl_Line *line = module != NULL ? dwfl_module_getsrc(module, address) : NULL;
    int number = 0;
    size_t i;
    bool own = true;

    if (symbol != NULL)
        function = plain_name(symbol);
    for (i = 0; i < G_N_ELEMENTS(roots) && function != NULL; i++)
        own = own && strcmp(function, roots[i]) != 0;
    if (own && line != NULL) {
        source = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
        add_inlined(module, address, file, &source, &number, lines);
    }
    if (own)
        add_frame(lines, function, source, number, file != NULL ? file : "no file");
    g_free(function);
    g_free(file);
    return own;
}

void cluster_symbols(void *const *addresses, unsigned count, const char *program, GPtrArray *lines)
{
    static const Dwfl_Callbacks callbacks = {.find_debuginfo = no_debuginfo};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    unsigned i;

    if (dwfl == NULL)
        return;
    /* A return address may belong to the next line, or to the next function. */
    for (i = 0; i < count; i++)
        if (!add_line(dwfl, (uintptr_t)addresses[i] - (i != 0 ? 1 : 0), program, lines))
            break;
    dwfl_end(dwfl);
}
