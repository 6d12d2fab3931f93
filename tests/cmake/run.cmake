# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Scenario language, clusters, command line.

foreach(area IN ITEMS value tree scenario cluster networks lnet heap)
  jacquard_test(run_${area} SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/run_${area}.c
                DEPENDS $<LINK_GROUP:RESCAN,jacquard_run,gni_prov> trace_reader PkgConfig::GLIB PkgConfig::JANSSON m)
endforeach()

jacquard_test(report_record SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/report_record.c
              DEPENDS $<LINK_GROUP:RESCAN,jacquard_run,gni_prov> PkgConfig::GLIB m INCLUDES ${CMAKE_SOURCE_DIR}/sim/run/report)

# PMI on fibers: programs of these tests in the place of workloads.
foreach(area IN ITEMS port pmi spawn oob)
  set(sources ${CMAKE_SOURCE_DIR}/tests/unit/run_${area}.c)
  if(NOT area STREQUAL oob)
    list(APPEND sources ${CMAKE_SOURCE_DIR}/tests/unit/rank_programs.c)
  endif()
  jacquard_test(run_${area} SOURCES ${sources}
                DEPENDS jacquard_run pmi_client pmi2_client PkgConfig::GLIB PkgConfig::JANSSON m INCLUDES ${CMAKE_SOURCE_DIR}/sim/run/pmi)
endforeach()

# A user's shared object, and sim-run as a user calls it.
add_library(run_program MODULE ${CMAKE_SOURCE_DIR}/tests/unit/run_program.c)
target_include_directories(run_program PRIVATE ${CMAKE_SOURCE_DIR}/workloads/include ${CMAKE_SOURCE_DIR}/sim/aries/include)
target_link_libraries(run_program PRIVATE jacquard_flags)
set_target_properties(run_program PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
jacquard_test(run_command SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/run_command.c
              DEPENDS PkgConfig::GLIB PkgConfig::JANSSON)
if(TARGET run_command)
  target_compile_definitions(run_command PRIVATE SIM_RUN="$<TARGET_FILE:sim-run>" PROGRAM="$<TARGET_FILE:run_program>")
  add_dependencies(run_command sim-run run_program)
endif()

# ./dev fuzz scenario. The provider calls the port, which is in jacquard_run: both ways.
jacquard_fuzz(fuzz_scenario SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_scenario.c
              DEPENDS $<LINK_GROUP:RESCAN,jacquard_run,gni_prov> PkgConfig::GLIB PkgConfig::YAML PkgConfig::JANSSON m)

find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON)
  add_test(NAME run_schema COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/unit/run_schema.py $<TARGET_FILE:sim-run>
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endif()
