# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The small networks of the Madeleine II paper: the emulated APIs of their devices.
if(TARGET jacquard_legacy)
  jacquard_test(legacy_sisci SOURCES ${CMAKE_SOURCE_DIR}/tests/legacy/sisci_test.c ${CMAKE_SOURCE_DIR}/tests/legacy/small_network.c
    DEPENDS jacquard_legacy INCLUDES ${CMAKE_SOURCE_DIR}/tests/legacy)
  jacquard_test(legacy_sisci_later SOURCES ${CMAKE_SOURCE_DIR}/tests/legacy/sisci_later_test.c ${CMAKE_SOURCE_DIR}/tests/legacy/small_network.c
    DEPENDS jacquard_legacy INCLUDES ${CMAKE_SOURCE_DIR}/tests/legacy)
endif()
