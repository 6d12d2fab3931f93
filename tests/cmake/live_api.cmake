# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The conformance tests of tests/api once more, between processes on a live fabric: the same sources, another machine.
foreach(area IN ITEMS cdm ep post post_event post_chain amo cq smsg smsg_fault smsg_mode datagram datagram_wait datagram_fault statistics watch
                    ce ce_call ce_program ce_error ce_gone msgq msgq_message msgq_fault mem mem_block job job_suspend channel error_event thread process)
  api_frame_sources(${area} sources)
  set(depends ugni jacquard_engine_wall)
  set(includes ${CMAKE_SOURCE_DIR}/tests/api ${CMAKE_SOURCE_DIR}/sim/aries ${CMAKE_SOURCE_DIR}/sim/net/include)
  jacquard_shared(frame SOURCES ${sources} ${CMAKE_SOURCE_DIR}/tests/live/machine.c ${CMAKE_SOURCE_DIR}/sim/aries/nic/mem_handle.c
                  DEPENDS ${depends} INCLUDES ${includes})
  set(name live_api_${area})
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${frame})
  target_include_directories(${name} PRIVATE ${includes})
  target_link_libraries(${name} PRIVATE ${depends} jacquard_flags PkgConfig::CMOCKA ${CMAKE_DL_LIBS} m)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(${name} jacquard-fabricd)
  jacquard_no_whole_program(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS live TIMEOUT 900)
endforeach()
target_compile_definitions(live_api_cq PRIVATE UNREAD_EVENTS=10000u) # in simulation, the 100,000 of the checklist's item
