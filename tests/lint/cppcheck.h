/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Macros of headers that cppcheck is not given, and of the build; it reads this before each source.
 */
#define G_GNUC_PRINTF(format, arguments)
#define json_array_foreach(array, index, value) \
    for (index = 0; (value = json_array_get(array, index)) != 0; index++)
#define json_object_foreach(object, key, value) while ((value = json_next(object, &key)) != 0)
#define COMPILED_IN_WORKLOADS(X)
#define ElfW(type) Elf64_##type
#define JACQUARD_VERSION ""
