# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Only if Debian's Open MPI is installed.
pkg_check_modules(OMPI QUIET IMPORTED_TARGET ompi-c)
if(OMPI_FOUND AND TARGET jacquard-fabricd)
  jacquard_bench(bench-mpi SOURCES ${CMAKE_SOURCE_DIR}/bench/mpi.c DEPENDS PkgConfig::OMPI)
  if(TARGET bench-mpi)
    add_dependencies(bench-mpi pmrun)
  endif()
endif()
