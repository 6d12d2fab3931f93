/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program file, changed so that it can be loaded once per rank. What is changed in the copy:
 *
 * - it does not look like an executable any more (DF_1_PIE), which dlopen() refuses;
 * - our own libraries (libugni, libpmi, ...) are not needed: sim-run has their functions;
 * - its own symbols come before those of sim-run (DT_SYMBOLIC);
 * - constructors and destructors are not called by the loader: the rank does that, on its fiber;
 * - variables of ours that the program wants to have copied (R_*_COPY: the loader would not look
 *   for them in sim-run), and those of its libraries (the loader would find the copy's own,
 *   empty), are copied after loading;
 * - an executable's thread-local variables are none of the loader's business: its code finds them
 *   at fixed distances from the thread pointer, where locals.c puts them.
 *
 * After loading, the places through which it calls a function that has a replacement are changed.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "image.h"
#include "scenario/file.h"

static bool is_slot(uint32_t type)
{
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}

static bool is_distance(uint32_t type)
{
    return type == R_X86_64_TPOFF64;
}

static bool is_module(uint32_t type)
{
    return type == R_X86_64_DTPMOD64 || type == R_X86_64_DTPOFF64 || type == R_X86_64_TLSDESC;
}

static const char *const our_libraries[] = {
    "libugni.so.0",  "libpmi.so.0",   "libpmi2.so.0", "libalpslli.so.0",    "libalpsutil.so.0",
    "libudreg.so.0", "libxpmem.so.0", "librca.so.0",  "libwlm_detect.so.0", "libhugetlbfs.so.0",
    "libvipl.so.0",  "libsisci.so.0", "libsbp.so.0",  "libmadeleine.so.0",  NULL};

/* ---- reading --------------------------------------------------------------------------------- */

/* The bytes at a virtual address; NULL: they are not in the file. */
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

/* Whether it is an ELF file for this machine, with its program headers inside the file. */
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
 * Finds main() in a stripped executable. Its entry passes main to __libc_start_main as the first
 * argument: "lea main(%rip), %rdi". Every start file of the GNU C library has this instruction.
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

/* FOREIGN_OPTIND ..., or FOREIGN_ENVIRON. */
static size_t find_variable(const char *name)
{
    static const struct {
        const char *name;
        size_t which;
    } known[] = {{"optind", FOREIGN_OPTIND},   {"opterr", FOREIGN_OPTERR},
                 {"optopt", FOREIGN_OPTOPT},   {"optarg", FOREIGN_OPTARG},
                 {"environ", FOREIGN_ENVIRON}, {"__environ", FOREIGN_ENVIRON},
                 {"_environ", FOREIGN_ENVIRON}};
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(known); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].which;
    return FOREIGN_NO_VARIABLE;
}

/* Variables of libugni: they are in sim-run itself, not in any of its libraries. */
static void *our_variable(const char *name)
{
    return g_str_has_prefix(name, "gni_") ? dlsym(RTLD_DEFAULT, name) : NULL;
}

/* A relocation for the distance of one of the executable's own thread-local variables. Linkers put
 * distances into the code, so such relocations are rare. False: it is not one. */
static bool note_local(struct foreign_image *image, ElfW(Rela) * relocation,
                       const ElfW(Sym) * symbol)
{
    uint32_t type = ELF64_R_TYPE(relocation->r_info);
    bool own = ELF64_R_SYM(relocation->r_info) == 0 || symbol->st_shndx != SHN_UNDEF;
    struct place place = {.at = relocation->r_offset};

    if (image->locals_distance == 0 || !own || !(is_distance(type) || is_module(type)))
        return false;
    if (is_module(type)) {
        image->asks_for_module = true;
        return true;
    }
    place.bytes = (size_t)relocation->r_addend - image->locals_distance;
    if (ELF64_R_SYM(relocation->r_info) != 0)
        place.bytes += symbol->st_value;
    g_array_append_val(image->local_slots, place);
    relocation->r_info = ELF64_R_INFO(0, R_X86_64_NONE);
    return true;
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

    if (symbol == NULL || note_local(image, relocation, symbol))
        return;
    name = string_at(dynamic, symbol->st_name);
    place.bytes = find_variable(name);
    if (place.bytes != FOREIGN_NO_VARIABLE) {
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
    } else if (type == R_X86_64_COPY) {
        place.what = (void *)name;
        g_array_append_val(image->library_copies, place);
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

/* In an executable, the linker has already bound the program's own symbols. */
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
            if (strcmp(string_at(dynamic, entry->d_un.d_val), "libugni.so.0") == 0)
                image->ugni = true;
            if (!g_strv_contains(our_libraries, string_at(dynamic, entry->d_un.d_val))) {
                g_ptr_array_add(image->needed, (char *)string_at(dynamic, entry->d_un.d_val));
                break;
            }
            entry->d_tag = symbolic ? DT_DEBUG : DT_SYMBOLIC;
            symbolic = true;
            break;
        case DT_RUNPATH:
        case DT_RPATH:
            image->search_path = (char *)string_at(dynamic, entry->d_un.d_val);
            break;
        case DT_INIT:
        case DT_FINI:
        case DT_INIT_ARRAY:
        case DT_INIT_ARRAYSZ:
        case DT_FINI_ARRAY:
        case DT_FINI_ARRAYSZ:
            entry->d_tag = DT_DEBUG; /* has no meaning in an object that dlopen() loads */
            break;
        case DT_FLAGS_1:
            entry->d_un.d_val &= ~(ElfW(Xword))DF_1_PIE;
            break;
        default:
            break;
        }
    }
}

/*
 * The distance of an executable's thread-local variables from the thread pointer, as the linker
 * computes it (ELF Handling For Thread-Local Storage, variant II). The loader does not know of
 * these variables.
 */
static void take_locals(struct foreign_image *image, const struct dynamic *dynamic)
{
    ElfW(Phdr) *segment = (ElfW(Phdr) *)find_segment(image, PT_TLS);
    uintptr_t align, into;

    image->has_locals = segment != NULL && segment->p_memsz != 0;
    if (!image->has_locals || !(dynamic_value(dynamic, DT_FLAGS_1) & DF_1_PIE))
        return;
    align = MAX(segment->p_align, 1);
    into = segment->p_vaddr & (align - 1);
    if (segment->p_filesz > segment->p_memsz || segment->p_memsz > FOREIGN_LOCALS_MAX ||
        (align & (align - 1)) != 0 || align > FOREIGN_LOCALS_ALIGNMENT ||
        at_address(image, segment->p_vaddr, segment->p_filesz) == NULL)
        image->locals_distance = SIZE_MAX;
    else
        image->locals_distance = ((segment->p_memsz + into + align - 1) & ~(align - 1)) - into;
    image->locals_image = segment->p_vaddr;
    image->locals_filled = segment->p_filesz;
    segment->p_type = PT_NULL;
}

static bool check(const struct foreign_image *image, char **error)
{
    const ElfW(Ehdr) *header = (const void *)image->bytes;

    if (header->e_type != ET_DYN)
        *error = g_strdup("is bound to one address; allowed: a position-independent executable "
                          "(-pie) or a shared object with main()");
    else if (image->locals_distance > FOREIGN_LOCALS_MAX)
        *error = g_strdup_printf("has too many thread-local variables; allowed: %d bytes, aligned "
                                 "to at most %d, or a shared object (-shared -fPIC)",
                                 FOREIGN_LOCALS_MAX, FOREIGN_LOCALS_ALIGNMENT);
    else if (image->locals_distance != 0 && !foreign_locals_possible())
        *error = g_strdup("is an executable with thread-local variables, for which this sim-run "
                          "has no room; allowed with them: a shared object (-shared -fPIC)");
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
    image->library_copies = g_array_new(FALSE, FALSE, sizeof(struct place));
    image->needed = g_ptr_array_new();
    image->folder = g_path_get_dirname(path);
    image->local_slots = g_array_new(FALSE, FALSE, sizeof(struct place));
    image->variable_slots = g_array_new(FALSE, FALSE, sizeof(struct place));
    image->variable_copies = g_array_new(FALSE, FALSE, sizeof(struct place));
    if (access(path, R_OK) != 0) /* the loader has the better message */
        goto err;
    if (!scenario_file_read(path, FOREIGN_FILE_MAX, &image->bytes, &image->size, error) ||
        !read_header(image))
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
    take_locals(image, &dynamic);
    if (!check(image, error))
        goto err;
    change(image, &dynamic);
    if (image->asks_for_module) {
        *error = g_strdup("is an executable that asks the loader for its thread-local variables; "
                          "allowed: a shared object (-shared -fPIC)");
        goto err;
    }
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
    if (image->libraries != NULL)
        g_ptr_array_free(image->libraries, TRUE);
    g_array_free(image->library_copies, TRUE);
    g_ptr_array_free(image->needed, TRUE);
    g_free(image->folder);
    g_array_free(image->local_slots, TRUE);
    g_array_free(image->variable_slots, TRUE);
    g_array_free(image->variable_copies, TRUE);
    g_free(image->bytes);
    g_free(image);
}

bool foreign_image_uses_ugni(const struct foreign_image *image)
{
    return image->ugni;
}

bool foreign_image_uses_libfabric(const struct foreign_image *image)
{
    return image->libfabric;
}

bool foreign_image_has_locals(const struct foreign_image *image)
{
    return image->has_locals;
}
