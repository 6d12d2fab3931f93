# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Parts of pmrun that need no process. The whole: tests/pmrun, tests/interop (pytest).
jacquard_test(pmi_launcher SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/launcher_test.c DEPENDS pmi2_launcher
              INCLUDES ${CMAKE_SOURCE_DIR}/stack/pmi2/launcher)
jacquard_test(pmi_io SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/io_test.c DEPENDS pmi2_launcher
              INCLUDES ${CMAKE_SOURCE_DIR}/stack/pmi2/launcher)
jacquard_test(pmi_owner SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/owner_test.c DEPENDS pmi2_launcher
              INCLUDES ${CMAKE_SOURCE_DIR}/stack/pmi2/launcher)
jacquard_test(pmi_port SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/port_test.c DEPENDS pmi2_launcher
              INCLUDES ${CMAKE_SOURCE_DIR}/stack/pmi2/launcher)
