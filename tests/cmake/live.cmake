# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
set(traffic ${CMAKE_SOURCE_DIR}/tests/live/traffic.c ${CMAKE_SOURCE_DIR}/tests/live/traffic_start.c
            ${CMAKE_SOURCE_DIR}/tests/live/guarded.c)
# Processes of the system on an emulated fabric: plain programs of libugni.so.
foreach(live_test IN ITEMS process rma smsg collective msgq kills)
  set(name live_${live_test})
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/live/${live_test}.c ${CMAKE_SOURCE_DIR}/tests/live/live_test.c)
  target_link_libraries(${name} PRIVATE ugni jacquard_flags)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  jacquard_no_whole_program(${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS live TIMEOUT 900)
endforeach()

# Run by test_paths.py on fabrics with scenarios.
add_executable(live_paths ${CMAKE_SOURCE_DIR}/tests/live/paths.c ${CMAKE_SOURCE_DIR}/tests/live/live_test.c)
target_link_libraries(live_paths PRIVATE ugni jacquard_flags)
set_target_properties(live_paths PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
jacquard_no_whole_program(live_paths)

# What libugni reads of a scenario.
add_executable(live_plan ${CMAKE_SOURCE_DIR}/tests/live/plan.c ${CMAKE_SOURCE_DIR}/sim/aries/live/plan.c)
target_include_directories(live_plan PRIVATE ${CMAKE_SOURCE_DIR}/sim/aries/live ${CMAKE_SOURCE_DIR}/sim/aries)
target_link_libraries(live_plan PRIVATE jacquard_aries jacquard_flags PkgConfig::GLIB)
set_target_properties(live_plan PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
jacquard_no_whole_program(live_plan)
add_test(NAME live_plan COMMAND live_plan)
set_tests_properties(live_plan PROPERTIES LABELS live TIMEOUT 900)
target_sources(live_kills PRIVATE ${traffic})

# One side of shared transfers by hand, by the carrier below libugni.
add_executable(live_share ${CMAKE_SOURCE_DIR}/tests/live/share.c ${CMAKE_SOURCE_DIR}/tests/live/live_test.c)
target_include_directories(live_share PRIVATE ${CMAKE_SOURCE_DIR}/sim/aries ${CMAKE_SOURCE_DIR}/sim/aries/live)
target_include_directories(live_share BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/sim/engine/wall/include)
target_link_libraries(live_share PRIVATE ugni jacquard_shm jacquard_aries jacquard_flags PkgConfig::GLIB)
set_target_properties(live_share PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
jacquard_no_whole_program(live_share)
add_test(NAME live_share COMMAND live_share)
set_tests_properties(live_share PROPERTIES LABELS live TIMEOUT 900)

# The same for deregistrations while a peer copies.
add_executable(live_quiesce ${CMAKE_SOURCE_DIR}/tests/live/quiesce.c ${CMAKE_SOURCE_DIR}/tests/live/live_test.c)
target_include_directories(live_quiesce PRIVATE ${CMAKE_SOURCE_DIR}/sim/aries ${CMAKE_SOURCE_DIR}/sim/aries/live)
target_include_directories(live_quiesce BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/sim/engine/wall/include)
target_link_libraries(live_quiesce PRIVATE ugni jacquard_shm jacquard_aries jacquard_flags PkgConfig::GLIB)
set_target_properties(live_quiesce PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
jacquard_no_whole_program(live_quiesce)
add_test(NAME live_quiesce COMMAND live_quiesce)
set_tests_properties(live_quiesce PROPERTIES LABELS live TIMEOUT 900)

# A member that says anything, by the carrier below libugni.
add_executable(live_hostile ${CMAKE_SOURCE_DIR}/tests/live/hostile.c ${CMAKE_SOURCE_DIR}/tests/live/live_test.c
               ${traffic} ${CMAKE_SOURCE_DIR}/tests/live/hostile_ring.c)
target_include_directories(live_hostile PRIVATE ${CMAKE_SOURCE_DIR}/sim/aries ${CMAKE_SOURCE_DIR}/sim/aries/live)
set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/live/hostile_ring.c PROPERTIES INCLUDE_DIRECTORIES ${CMAKE_SOURCE_DIR}/sim/shm)
target_include_directories(live_hostile BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/sim/engine/wall/include)
target_link_libraries(live_hostile PRIVATE ugni jacquard_shm jacquard_aries jacquard_flags PkgConfig::GLIB)
set_target_properties(live_hostile PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
jacquard_no_whole_program(live_hostile)
add_test(NAME live_hostile COMMAND live_hostile)
set_tests_properties(live_hostile PROPERTIES LABELS live TIMEOUT 900)
