# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The conformance tests of tests/api once more, between processes on a live fabric: the same sources, another machine.
foreach(area IN ITEMS cdm ep post amo cq smsg datagram statistics watch ce ce_error msgq mem job channel error_event thread process)
  set(name live_api_${area})
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${CMAKE_SOURCE_DIR}/tests/api/fixture.c
                 ${CMAKE_SOURCE_DIR}/tests/live/machine.c ${CMAKE_SOURCE_DIR}/sim/engine/random.c
                 ${CMAKE_SOURCE_DIR}/sim/aries/nic/mem_handle.c)
  if(area MATCHES "^ce")
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/api/ce_tree.c)
  endif()
  target_compile_definitions(${name} PRIVATE SIM_WALL)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/api ${CMAKE_SOURCE_DIR}/sim/aries
                             ${CMAKE_SOURCE_DIR}/sim/engine/include
                             ${CMAKE_SOURCE_DIR}/sim/net/include)
  target_link_libraries(${name} PRIVATE ugni jacquard_flags PkgConfig::CMOCKA ${CMAKE_DL_LIBS} m)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(${name} jacquard-fabricd)
  jacquard_no_whole_program(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS live TIMEOUT 300)
endforeach()
