# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The trace's packets: C made from perfetto_trace.proto, compiled as it comes.
find_program(PROTOC_C NAMES protoc-c REQUIRED)
set(trace_proto ${CMAKE_CURRENT_SOURCE_DIR}/perfetto_trace.proto)
set(trace_generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(trace_sources ${trace_generated}/perfetto_trace.pb-c.c ${trace_generated}/perfetto_trace.pb-c.h)

file(MAKE_DIRECTORY ${trace_generated})
add_custom_command(
  OUTPUT ${trace_sources}
  COMMAND ${PROTOC_C} --proto_path=${CMAKE_CURRENT_SOURCE_DIR} --c_out=${trace_generated} ${trace_proto}
  DEPENDS ${trace_proto}
  COMMENT "Generating the trace's packets"
  VERBATIM)
set_source_files_properties(${trace_sources} PROPERTIES GENERATED TRUE SKIP_LINTING TRUE)
set_source_files_properties(${trace_sources} PROPERTIES COMPILE_OPTIONS -w)

add_custom_target(trace_packets DEPENDS ${trace_sources})
foreach(engine IN ITEMS jacquard_engine jacquard_engine_wall)
  add_dependencies(${engine} trace_packets) # one of them generates the files for both
  target_sources(${engine} PRIVATE ${trace_sources})
  target_include_directories(${engine} SYSTEM PRIVATE ${trace_generated})
  target_link_libraries(${engine} PRIVATE PkgConfig::PROTOBUF_C)
endforeach()
