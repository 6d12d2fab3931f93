# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Ledger, metrics, faults, trace.
foreach(service IN ITEMS ledger metrics fault trace)
  jacquard_test(${service}_test SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/${service}_test.c DEPENDS jacquard_engine)
endforeach()

# Our traces read by Google's protobuf library. Debian's Python has the module; others may not.
find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(SYSTEM_PYTHON NAMES python3)
add_executable(trace_sample ${CMAKE_SOURCE_DIR}/tests/unit/trace_sample.c)
jacquard_no_whole_program(trace_sample)
target_link_libraries(trace_sample PRIVATE jacquard_engine jacquard_flags)
set_target_properties(trace_sample PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
if(SYSTEM_PYTHON)
  add_test(NAME trace_perfetto
           COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/unit/trace_check.py
                   --proto ${CMAKE_SOURCE_DIR}/sim/engine/perfetto_trace.proto
                   --reader $<TARGET_FILE:trace_sample> --sample)
endif()

# ./dev fuzz trace
jacquard_fuzz(fuzz_trace SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_trace.c DEPENDS jacquard_engine
              INCLUDES ${CMAKE_SOURCE_DIR}/sim/engine)
