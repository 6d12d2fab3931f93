# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The program is also its own ranks, so it is linked to libpmi.a and libc only, to start quickly.
jacquard_bench(bench-launch SOURCES ${CMAKE_SOURCE_DIR}/bench/launch.c DEPENDS pmi_static
               INCLUDES ${CMAKE_SOURCE_DIR}/stack/pmi2/include)
if(TARGET bench-launch)
  target_link_options(bench-launch PRIVATE LINKER:--as-needed)
  add_dependencies(bench-launch pmrun)
endif()
