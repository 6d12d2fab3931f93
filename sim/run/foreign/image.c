/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program file, changed so that it can be loaded once per rank. What is changed in the copy:
 *
 * - it does not look like an executable any more (DF_1_PIE), which dlopen() refuses;
 * - our own libraries (libugni, libpmi, ...) are not needed: sim-run has their functions;
 * - its own symbols come before those of sim-run (DT_SYMBOLIC);
 * - constructors and destructors are not called by the loader: the rank does that, on its fiber;
 * - variables of ours that the program wants to have copied (R_*_COPY: the loader would not look
 *   for them in sim-run) are copied after loading.
 *
 * After loading, the places through which it calls a function that has a replacement are changed.
 */
#define _GNU_SOURCE /* memfd_create, dlinfo, pthread_*_np */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <glib.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foreign.h"

static bool is_slot(uint32_t type)
{
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}

/* A place (virtual address in the file) and what belongs there. */
struct place {
    uintptr_t at;
    void *what;
    size_t bytes; /* copies */
};

struct functions { /* an array of pointers, or one function (count 0) */
    uintptr_t at;
    size_t count;
    uintptr_t single;
};

struct foreign_image {
    char *bytes; /* the changed file */
    gsize size;
    GArray *slots; /* struct place: pointer to a function or to environ */
    GArray *copies; /* struct place */
    GArray *variable_slots, *variable_copies; /* struct place, `bytes` says which variable */
    struct functions init, fini;
    uintptr_t main, relro, relro_bytes;
    bool libfabric;
    /* while it is read */
    const ElfW(Phdr) * segments;
    uint16_t segment_count;
};

static const char *const our_libraries[] = {"libugni.so.0",
                                            "libpmi.so.0",
                                            "libpmi2.so.0",
                                            "libalpslli.so.0",
                                            "libalpsutil.so.0",
                                            "libudreg.so.0",
                                            "libxpmem.so.0",
                                            "librca.so.0",
                                            "libwlm_detect.so.0",
                                            "libhugetlbfs.so.0",
                                            NULL};

/* ---- reading --------------------------------------------------------------------------------- */

/* What lies at a virtual address; NULL: it is not in the file. */
static void *at_address(const struct foreign_image *image, uintptr_t address, size_t bytes)
{
    uint16_t i;

    for (i = 0; i < image->segment_count; i++) {
        const ElfW(Phdr) *segment = &image->segments[i];
        uintptr_t offset = address - segment->p_vaddr;

        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            offset <= segment->p_filesz && bytes <= segment->p_filesz - offset &&
            segment->p_offset <= image->size && offset + bytes <= image->size - segment->p_offset)
            return image->bytes + segment->p_offset + offset;
    }
    return NULL;
}

static const ElfW(Phdr) * find_segment(const struct foreign_image *image, uint32_t type)
{
    uint16_t i;

    for (i = 0; i < image->segment_count; i++)
        if (image->segments[i].p_type == type)
            return &image->segments[i];
    return NULL;
}

struct dynamic {
    ElfW(Dyn) * entries;
    size_t count;
    const ElfW(Sym) * symbols;
    const char *strings;
    size_t string_bytes;
};

static uintptr_t dynamic_value(const struct dynamic *dynamic, ElfW(Sxword) tag)
{
    size_t i;

    for (i = 0; i < dynamic->count; i++)
        if (dynamic->entries[i].d_tag == tag)
            return dynamic->entries[i].d_un.d_val;
    return 0;
}

static bool read_dynamic(const struct foreign_image *image, struct dynamic *dynamic)
{
    const ElfW(Phdr) *segment = find_segment(image, PT_DYNAMIC);

    if (segment == NULL)
        return false;
    dynamic->entries = at_address(image, segment->p_vaddr, segment->p_filesz);
    if (dynamic->entries == NULL)
        return false;
    dynamic->count = segment->p_filesz / sizeof(ElfW(Dyn));
    dynamic->string_bytes = dynamic_value(dynamic, DT_STRSZ);
    dynamic->strings = at_address(image, dynamic_value(dynamic, DT_STRTAB), dynamic->string_bytes);
    dynamic->symbols = at_address(image, dynamic_value(dynamic, DT_SYMTAB), sizeof(ElfW(Sym)));
    return dynamic->strings != NULL && dynamic->symbols != NULL && dynamic->string_bytes != 0 &&
           dynamic->strings[dynamic->string_bytes - 1] == '\0';
}

static const char *string_at(const struct dynamic *dynamic, uintptr_t offset)
{
    return offset < dynamic->string_bytes ? dynamic->strings + offset : "";
}

/* An ELF file for this machine with its program headers in reach. */
static bool read_header(struct foreign_image *image)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;

    if (image->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 ||
        header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > image->size ||
        header->e_phnum > (image->size - header->e_phoff) / sizeof(ElfW(Phdr)))
        return false;
    image->segments = (const void *)(image->bytes + header->e_phoff);
    image->segment_count = header->e_phnum;
    return true;
}

/* ---- main ------------------------------------------------------------------------------------ */

/* Address of a function in one of the file's symbol tables; 0: none. */
static uintptr_t symbol_address(const struct foreign_image *image, uint32_t table,
                                const char *wanted)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;
    const ElfW(Shdr) * sections, *section, *strings;
    size_t i, j, count;

    if (header->e_shentsize != sizeof(*sections) || header->e_shoff > image->size ||
        header->e_shnum > (image->size - header->e_shoff) / sizeof(*sections))
        return 0;
    sections = (const void *)(image->bytes + header->e_shoff);
    for (i = 0; i < header->e_shnum; i++) {
        section = &sections[i];
        if (section->sh_type != table || section->sh_link >= header->e_shnum)
            continue;
        strings = &sections[section->sh_link];
        if (section->sh_offset > image->size ||
            section->sh_size > image->size - section->sh_offset ||
            strings->sh_offset > image->size || strings->sh_size > image->size - strings->sh_offset)
            continue;
        count = section->sh_size / sizeof(ElfW(Sym));
        for (j = 0; j < count; j++) {
            const ElfW(Sym) *symbol =
                (const ElfW(Sym) *)(const void *)(image->bytes + section->sh_offset) + j;
            size_t room = strlen(wanted) + 1;

            if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
                symbol->st_name < strings->sh_size && room <= strings->sh_size - symbol->st_name &&
                memcmp(image->bytes + strings->sh_offset + symbol->st_name, wanted, room) == 0)
                return symbol->st_value;
        }
    }
    return 0;
}

/*
 * A stripped executable: its entry hands main to __libc_start_main, in the first argument: "lea
 * main(%rip), %rdi", which every start file of the GNU C library has.
 */
static uintptr_t main_behind_entry(const struct foreign_image *image)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;
    static const uint8_t load[] = {0x48, 0x8d, 0x3d};
    const uint8_t *code = at_address(image, header->e_entry, 64);
    int32_t distance;
    size_t i;

    if (code == NULL || header->e_entry == 0)
        return 0;
    for (i = 0; i < 48; i++) {
        if (memcmp(code + i, load, sizeof(load)) != 0)
            continue;
        memcpy(&distance, code + i + sizeof(load), sizeof(distance));
        return header->e_entry + i + sizeof(load) + sizeof(distance) +
               (uintptr_t)(intptr_t)distance;
    }
    return 0;
}

/* ---- changing -------------------------------------------------------------------------------- */

enum { ENVIRON = FOREIGN_VARIABLES, NO_VARIABLE };

/* FOREIGN_OPTIND ..., or ENVIRON. */
static size_t find_variable(const char *name)
{
    static const struct {
        const char *name;
        size_t which;
    } known[] = {{"optind", FOREIGN_OPTIND}, {"opterr", FOREIGN_OPTERR}, {"optopt", FOREIGN_OPTOPT},
                 {"optarg", FOREIGN_OPTARG}, {"environ", ENVIRON},       {"__environ", ENVIRON},
                 {"_environ", ENVIRON}};
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(known); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].which;
    return NO_VARIABLE;
}

/* Variables of libugni: they are in sim-run itself, not in any of its libraries. */
static void *our_variable(const char *name)
{
    return g_str_has_prefix(name, "gni_") ? dlsym(RTLD_DEFAULT, name) : NULL;
}

static void note_relocation(struct foreign_image *image, const struct dynamic *dynamic,
                            ElfW(Rela) * relocation)
{
    const ElfW(Sym) *symbol = at_address(image,
                                         dynamic_value(dynamic, DT_SYMTAB) +
                                             ELF64_R_SYM(relocation->r_info) * sizeof(ElfW(Sym)),
                                         sizeof(ElfW(Sym)));
    uint32_t type = ELF64_R_TYPE(relocation->r_info);
    struct place place = {.at = relocation->r_offset};
    const char *name;

    if (symbol == NULL)
        return;
    name = string_at(dynamic, symbol->st_name);
    place.bytes = find_variable(name);
    if (place.bytes != NO_VARIABLE) {
        if (is_slot(type))
            g_array_append_val(image->variable_slots, place);
        else if (type == R_X86_64_COPY)
            g_array_append_val(image->variable_copies, place);
        return;
    }
    place.bytes = symbol->st_size;
    if (is_slot(type) && symbol->st_shndx == SHN_UNDEF) {
        place.what = foreign_shim_find(name);
        if (place.what != NULL)
            g_array_append_val(image->slots, place);
    } else if (type == R_X86_64_COPY && (place.what = our_variable(name)) != NULL) {
        g_array_append_val(image->copies, place);
        relocation->r_info = ELF64_R_INFO(0, R_X86_64_NONE);
    }
}

static void note_relocations(struct foreign_image *image, const struct dynamic *dynamic,
                             ElfW(Sxword) table, ElfW(Sxword) table_bytes)
{
    size_t count = dynamic_value(dynamic, table_bytes) / sizeof(ElfW(Rela)), i;
    ElfW(Rela) *relocations =
        at_address(image, dynamic_value(dynamic, table), count * sizeof(ElfW(Rela)));

    for (i = 0; relocations != NULL && i < count; i++)
        note_relocation(image, dynamic, &relocations[i]);
}

static void take_functions(struct functions *functions, const struct dynamic *dynamic,
                           ElfW(Sxword) single, ElfW(Sxword) array, ElfW(Sxword) array_bytes)
{
    functions->single = dynamic_value(dynamic, single);
    functions->at = dynamic_value(dynamic, array);
    functions->count = dynamic_value(dynamic, array_bytes) / sizeof(void *);
}

/* In an executable the linker has bound its own symbols already. */
static void change_dynamic(struct foreign_image *image, const struct dynamic *dynamic)
{
    bool symbolic = dynamic_value(dynamic, DT_FLAGS_1) & DF_1_PIE;
    size_t i;

    for (i = 0; i < dynamic->count; i++) {
        ElfW(Dyn) *entry = &dynamic->entries[i];

        switch (entry->d_tag) {
        case DT_NEEDED:
            if (strcmp(string_at(dynamic, entry->d_un.d_val), "libfabric.so.1") == 0)
                image->libfabric = true;
            if (!g_strv_contains(our_libraries, string_at(dynamic, entry->d_un.d_val)))
                break;
            entry->d_tag = symbolic ? DT_DEBUG : DT_SYMBOLIC;
            symbolic = true;
            break;
        case DT_INIT:
        case DT_FINI:
        case DT_INIT_ARRAY:
        case DT_INIT_ARRAYSZ:
        case DT_FINI_ARRAY:
        case DT_FINI_ARRAYSZ:
            entry->d_tag = DT_DEBUG; /* means nothing in what is loaded by dlopen() */
            break;
        case DT_FLAGS_1:
            entry->d_un.d_val &= ~(ElfW(Xword))DF_1_PIE;
            break;
        default:
            break;
        }
    }
}

static bool check(const struct foreign_image *image, const struct dynamic *dynamic, char **error)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;
    bool executable = dynamic_value(dynamic, DT_FLAGS_1) & DF_1_PIE;

    if (header->e_type != ET_DYN)
        *error = g_strdup("is bound to one address; allowed: a position-independent executable "
                          "(-pie) or a shared object with main()");
    else if (executable && find_segment(image, PT_TLS) != NULL)
        *error = g_strdup("is an executable with thread-local variables; allowed with them: a "
                          "shared object (-shared -fPIC)");
    return *error == NULL;
}

static void change(struct foreign_image *image, const struct dynamic *dynamic)
{
    const ElfW(Phdr) *relro = find_segment(image, PT_GNU_RELRO);

    note_relocations(image, dynamic, DT_RELA, DT_RELASZ);
    note_relocations(image, dynamic, DT_JMPREL, DT_PLTRELSZ);
    take_functions(&image->init, dynamic, DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
    take_functions(&image->fini, dynamic, DT_FINI, DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
    if (relro != NULL) {
        image->relro = relro->p_vaddr;
        image->relro_bytes = relro->p_memsz;
    }
    change_dynamic(image, dynamic);
}

struct foreign_image *foreign_image_open(const char *path, char **error)
{
    struct foreign_image *image = g_new0(struct foreign_image, 1);
    struct dynamic dynamic = {.entries = NULL};

    *error = NULL;
    image->slots = g_array_new(FALSE, FALSE, sizeof(struct place));
    image->copies = g_array_new(FALSE, FALSE, sizeof(struct place));
    image->variable_slots = g_array_new(FALSE, FALSE, sizeof(struct place));
    image->variable_copies = g_array_new(FALSE, FALSE, sizeof(struct place));
    if (!g_file_get_contents(path, &image->bytes, &image->size, NULL) || !read_header(image))
        goto err;
    if (symbol_address(image, SHT_DYNSYM, "jacquard_workload") != 0)
        goto err;
    image->main = symbol_address(image, SHT_DYNSYM, "main");
    if (image->main == 0)
        image->main = symbol_address(image, SHT_SYMTAB, "main");
    if (image->main == 0)
        image->main = main_behind_entry(image);
    if (image->main == 0)
        goto err;
    if (!read_dynamic(image, &dynamic)) {
        *error = g_strdup("is linked statically; allowed: a program linked to shared libraries");
        goto err;
    }
    if (!check(image, &dynamic, error))
        goto err;
    change(image, &dynamic);
    return image;
err:
    foreign_image_close(image);
    return NULL;
}

void foreign_image_close(struct foreign_image *image)
{
    if (image == NULL)
        return;
    g_array_free(image->slots, TRUE);
    g_array_free(image->copies, TRUE);
    g_array_free(image->variable_slots, TRUE);
    g_array_free(image->variable_copies, TRUE);
    g_free(image->bytes);
    g_free(image);
}

bool foreign_image_uses_libfabric(const struct foreign_image *image)
{
    return image->libfabric;
}

/* ---- loading --------------------------------------------------------------------------------- */

/*
 * The loader takes what has the same path as something loaded for the same. Descriptors have the
 * same numbers again and again, so each path is written differently: a number in "/" and "/./".
 */
static void unique_path(char *path, size_t size, int file)
{
    static uint32_t serial;
    size_t at = (size_t)snprintf(path, size, "/proc/self/fd");
    uint32_t bits;

    for (bits = ++serial; bits != 0; bits >>= 1)
        at += (size_t)snprintf(path + at, size - at, bits & 1 ? "/." : "/");
    snprintf(path + at, size - at, "/%d", file);
}

static void *load_copy(const struct foreign_image *image, const char *name, char **error)
{
    int file = memfd_create(name, MFD_CLOEXEC);
    char path[128];
    void *object = NULL;
    gsize written = 0;
    ssize_t part = 0;

    while (file >= 0 && written < image->size && part >= 0) {
        part = write(file, image->bytes + written, image->size - written);
        written += part > 0 ? (gsize)part : 0;
    }
    if (file < 0 || part < 0) {
        *error = g_strdup_printf("no memory for a copy of the program: %s", g_strerror(errno));
    } else {
        unique_path(path, sizeof(path), file);
        object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (object == NULL)
            *error = g_strdup_printf("cannot be loaded: %s", dlerror());
    }
    if (file >= 0)
        close(file);
    return object;
}

static void protect(const struct foreign_image *image, const struct foreign_copy *copy, int how)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (copy->base + image->relro) & ~(page - 1);
    uintptr_t end = (copy->base + image->relro + image->relro_bytes) & ~(page - 1);

    if (end > begin)
        mprotect((void *)begin, end - begin, how);
}

static void fill_variables(const struct foreign_image *image, const struct foreign_copy *copy,
                           struct foreign_variables *variables)
{
    void *const own[] = {[FOREIGN_OPTIND] = &variables->optind,
                         [FOREIGN_OPTERR] = &variables->opterr,
                         [FOREIGN_OPTOPT] = &variables->optopt,
                         [FOREIGN_OPTARG] = &variables->optarg,
                         [ENVIRON] = &variables->environment};
    const struct place *place;
    guint i;

    variables->optind = variables->opterr = 1;
    memcpy(variables->at, own, sizeof(variables->at));
    for (i = 0; i < image->variable_slots->len; i++) {
        place = &g_array_index(image->variable_slots, struct place, i);
        *(void **)(copy->base + place->at) = own[place->bytes];
    }
    for (i = 0; i < image->variable_copies->len; i++) {
        place = &g_array_index(image->variable_copies, struct place, i);
        if (place->bytes == ENVIRON) {
            *(char ***)(copy->base + place->at) = variables->environment;
            continue;
        }
        variables->at[place->bytes] = (void *)(copy->base + place->at);
        if (place->bytes == FOREIGN_OPTARG)
            *(char **)variables->at[place->bytes] = NULL;
        else
            *(int *)variables->at[place->bytes] = *(int *)own[place->bytes];
    }
}

static void fill(const struct foreign_image *image, const struct foreign_copy *copy)
{
    const struct place *place;
    guint i;

    for (i = 0; i < image->slots->len; i++) {
        place = &g_array_index(image->slots, struct place, i);
        *(void **)(copy->base + place->at) = place->what;
    }
    for (i = 0; i < image->copies->len; i++) {
        place = &g_array_index(image->copies, struct place, i);
        memcpy((void *)(copy->base + place->at), place->what, place->bytes);
    }
}

bool foreign_image_load(const struct foreign_image *image, const char *name,
                        struct foreign_variables *variables, struct foreign_copy *copy,
                        char **error)
{
    struct link_map *map;

    copy->object = load_copy(image, name, error);
    if (copy->object == NULL)
        return false;
    if (dlinfo(copy->object, RTLD_DI_LINKMAP, &map) != 0) {
        *error = g_strdup_printf("cannot be loaded: %s", dlerror());
        foreign_image_unload(copy);
        return false;
    }
    copy->base = map->l_addr;
    copy->main = (int (*)(int, char **, char **))(copy->base + image->main);
    protect(image, copy, PROT_READ | PROT_WRITE);
    fill(image, copy);
    fill_variables(image, copy, variables);
    protect(image, copy, PROT_READ);
    return true;
}

typedef void construct(int argc, char **argv, char **environment);

void foreign_image_construct(const struct foreign_image *image, const struct foreign_copy *copy,
                             int argc, char **argv, char **environment)
{
    construct **functions = (construct **)(copy->base + image->init.at);
    size_t i;

    if (image->init.single != 0)
        ((construct *)(copy->base + image->init.single))(argc, argv, environment);
    for (i = 0; i < image->init.count; i++)
        functions[i](argc, argv, environment);
}

void foreign_image_destruct(const struct foreign_image *image, const struct foreign_copy *copy)
{
    void (**functions)(void) = (void (**)(void))(copy->base + image->fini.at);
    size_t i;

    for (i = image->fini.count; i > 0; i--)
        functions[i - 1]();
    if (image->fini.single != 0)
        ((void (*)(void))(copy->base + image->fini.single))();
}

void foreign_image_unload(struct foreign_copy *copy)
{
    if (copy->object != NULL)
        dlclose(copy->object);
    copy->object = NULL;
}
