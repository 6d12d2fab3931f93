# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The model of the Aries NIC: packets and limits, times, faults.
# `agreement` takes seconds, but minutes when it is instrumented, and covers nothing that the others do not.
set(nic_areas nic nic_event timing fault)
if(NOT COVERAGE)
  list(APPEND nic_areas agreement)
endif()
foreach(area IN LISTS nic_areas)
  set(full "")
  if(area STREQUAL agreement)
    set(full FULL)
  endif()
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c)
    api_frame(${area} frame)
    jacquard_test(aries_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${CMAKE_SOURCE_DIR}/tests/api/shot.c ${frame}
      DEPENDS jacquard_aries m ${full} TIMEOUT 900)
  endif()
endforeach()

# Facts for harness/validation.py that no workload measures. The machine of the tests is what it runs on.
if(CMOCKA_FOUND)
  api_frame(probe frame)
  add_executable(validation_probe ${CMAKE_SOURCE_DIR}/tests/validation/probe.c ${frame})
  jacquard_no_whole_program(validation_probe)
  target_include_directories(validation_probe PRIVATE ${CMAKE_SOURCE_DIR}/tests/api)
  target_link_libraries(validation_probe PRIVATE jacquard_aries jacquard_flags PkgConfig::CMOCKA)
  set_target_properties(validation_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endif()
