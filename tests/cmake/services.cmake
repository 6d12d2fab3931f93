# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Ledger, metrics, faults, trace.
foreach(service IN ITEMS ledger metrics fault)
  jacquard_test(${service}_test SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/${service}_test.c DEPENDS jacquard_engine)
endforeach()
jacquard_test(trace_test SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/trace_test.c DEPENDS trace_reader jacquard_engine)
jacquard_test(trace_reader_test SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/trace_reader_test.c DEPENDS trace_reader jacquard_engine)
jacquard_test(trace_arguments SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/trace_arguments.c DEPENDS trace_reader jacquard_engine)

# The reader of traces, for tests; protoc-c generates what unpacks a packet.
set(trace_reader ${CMAKE_SOURCE_DIR}/tests/trace)
set(packet_parts ${CMAKE_CURRENT_BINARY_DIR}/trace/packet_parts.pb-c.c ${CMAKE_CURRENT_BINARY_DIR}/trace/packet_parts.pb-c.h)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/trace)
add_custom_command(
  OUTPUT ${packet_parts}
  COMMAND ${PROTOC_C} --proto_path=${trace_reader} --c_out=${CMAKE_CURRENT_BINARY_DIR}/trace ${trace_reader}/packet_parts.proto
  DEPENDS ${trace_reader}/packet_parts.proto
  VERBATIM)
set_source_files_properties(${packet_parts} PROPERTIES GENERATED TRUE SKIP_LINTING TRUE COMPILE_OPTIONS -w)
add_library(trace_reader STATIC ${trace_reader}/trace_read.c ${packet_parts})
target_include_directories(trace_reader PUBLIC ${trace_reader})
target_include_directories(trace_reader SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/trace)
target_link_libraries(trace_reader PUBLIC jacquard_engine PRIVATE jacquard_flags PkgConfig::GLIB PkgConfig::PROTOBUF_C)

# Our traces read by Google's protobuf library. Debian's Python has the module; others may not.
find_program(SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(SYSTEM_PYTHON NAMES python3)
add_executable(trace_sample ${CMAKE_SOURCE_DIR}/tests/unit/trace_sample.c)
jacquard_no_whole_program(trace_sample)
target_link_libraries(trace_sample PRIVATE trace_reader jacquard_engine jacquard_flags)
set_target_properties(trace_sample PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
if(SYSTEM_PYTHON)
  add_test(NAME trace_perfetto
           COMMAND ${SYSTEM_PYTHON} ${CMAKE_SOURCE_DIR}/tests/unit/trace_check.py
                   --proto ${CMAKE_SOURCE_DIR}/sim/engine/perfetto_trace.proto
                   --reader $<TARGET_FILE:trace_sample> --sample)
endif()

# ./dev fuzz trace
jacquard_fuzz(fuzz_trace SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_trace.c DEPENDS trace_reader)
