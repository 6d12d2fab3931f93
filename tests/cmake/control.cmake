# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completion channels, error events, jobs, balanced injection, and what the fault kinds do to a program.
foreach(area IN ITEMS channel error_event job job_suspend injection outcome thread)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c)
    api_frame(${area} frame)
    jacquard_test(api_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${frame}
      DEPENDS jacquard_aries m INCLUDES ${CMAKE_SOURCE_DIR}/sim/aries)
  endif()
endforeach()

# Threads of ranks: a shared object finds rank_* in the program that loads it.
add_library(run_thread_program MODULE ${CMAKE_SOURCE_DIR}/tests/unit/run_thread_program.c)
target_include_directories(run_thread_program PRIVATE ${CMAKE_SOURCE_DIR}/workloads/include
                           ${CMAKE_SOURCE_DIR}/sim/aries/include)
target_link_libraries(run_thread_program PRIVATE jacquard_flags)
set_target_properties(run_thread_program PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
jacquard_test(run_thread SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/run_thread.c
              DEPENDS jacquard_run jacquard_lnet jacquard_aries PkgConfig::GLIB PkgConfig::JANSSON m)
if(TARGET run_thread)
  target_compile_definitions(run_thread PRIVATE PROGRAM="$<TARGET_FILE:run_thread_program>")
  set_target_properties(run_thread PROPERTIES ENABLE_EXPORTS ON
    LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,jacquard_run,jacquard_lnet,jacquard_aries")
  add_dependencies(run_thread run_thread_program)
endif()
