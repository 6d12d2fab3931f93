# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The support library of m0_net, on POSIX and for ranks.
set(m0_tests ${CMAKE_SOURCE_DIR}/tests/m0)
jacquard_test(m0_lib_posix SOURCES ${m0_tests}/lib_posix.c ${m0_tests}/lib_cases.c DEPENDS m0lib port_posix pthread
  INCLUDES ${m0_tests})
if(TARGET jacquard_run)
  jacquard_test(m0_lib_fiber SOURCES ${m0_tests}/lib_fiber.c ${m0_tests}/lib_cases.c DEPENDS m0lib jacquard_run PkgConfig::GLIB PkgConfig::JANSSON m
    INCLUDES ${m0_tests})
endif()
