# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The PMI server's core, driven in memory: one server, trees of them, lossy links, bad input.
add_library(pmi_driver STATIC ${CMAKE_SOURCE_DIR}/tests/pmi/driver.c)
target_link_libraries(pmi_driver PUBLIC pmi2_server PRIVATE jacquard_flags)
target_include_directories(pmi_driver PUBLIC ${CMAKE_SOURCE_DIR}/tests/pmi)
jacquard_shared(pmi_server_common SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/server_common.c
                DEPENDS pmi_driver PkgConfig::GLIB INCLUDES ${CMAKE_SOURCE_DIR}/stack/pmi2/server)
foreach(part IN ITEMS session auth kvs bad misuse attr spawn survivors tree)
  jacquard_test(pmi_server_${part}
    SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/server_${part}.c ${pmi_server_common}
    DEPENDS pmi_driver PkgConfig::GLIB INCLUDES ${CMAKE_SOURCE_DIR}/stack/pmi2/server)
endforeach()
# Allocations of the server fail one after the other.
jacquard_test(pmi_server_memory
  SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/server_memory.c ${pmi_server_common}
  DEPENDS pmi_driver)
if(TARGET pmi_server_memory)
  target_link_options(pmi_server_memory PRIVATE LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc)
endif()

# Changed transcripts of fixed seeds, for the parsers and for servers, with address and
# undefined-behaviour checks whatever the build. pmi2_89: 10 million inputs for the parsers is the full set.
set(pmi_fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz)
set(pmi_stack ${CMAKE_SOURCE_DIR}/stack/pmi2)
set(pmi_wire_sources "")
set(pmi_server_sources "")
if(NOT SANITIZE AND NOT COVERAGE) # otherwise the libraries have these checks
  file(GLOB pmi_wire_sources CONFIGURE_DEPENDS ${pmi_stack}/wire/*.c)
  file(GLOB pmi_server_sources CONFIGURE_DEPENDS ${pmi_stack}/server/*.c)
endif()
add_executable(fuzz_pmi2_wire_fixed ${pmi_fuzz}/pmi2_wire_main.c ${pmi_fuzz}/fuzz_pmi2_wire.c ${pmi_wire_sources})
add_executable(fuzz_pmi2_fixed ${pmi_fuzz}/pmi2_server_main.c ${pmi_fuzz}/pmi2_server_world.c
               ${CMAKE_SOURCE_DIR}/tests/pmi/driver.c ${pmi_server_sources} ${pmi_wire_sources})
foreach(program IN ITEMS fuzz_pmi2_wire_fixed fuzz_pmi2_fixed)
  target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/tests/pmi ${pmi_stack}/server ${pmi_stack}/server/include
                             ${pmi_stack}/wire ${pmi_stack}/wire/include ${pmi_stack}/include
                             ${CMAKE_SOURCE_DIR}/stack/port/include)
  target_link_libraries(${program} PRIVATE jacquard_flags)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests INTERPROCEDURAL_OPTIMIZATION OFF)
  if(NOT SANITIZE AND NOT COVERAGE)
    target_compile_options(${program} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -UNDEBUG)
    target_link_options(${program} PRIVATE -fsanitize=address,undefined)
  else()
    target_link_libraries(${program} PRIVATE pmi2_server pmi2_wire)
  endif()
endforeach()
add_test(NAME pmi2_89_fuzz_parsers COMMAND fuzz_pmi2_wire_fixed 100000)
add_test(NAME pmi2_89_fuzz_server COMMAND fuzz_pmi2_fixed 3000)
set_tests_properties(pmi2_89_fuzz_parsers pmi2_89_fuzz_server PROPERTIES LABELS pmi TIMEOUT 900)
add_test(NAME pmi2_89_fuzz_parsers.full COMMAND fuzz_pmi2_wire_fixed 10000000)
set_tests_properties(pmi2_89_fuzz_parsers.full PROPERTIES LABELS full TIMEOUT 7200)

foreach(what IN ITEMS client tree)
  jacquard_fuzz(fuzz_pmi2_${what} SOURCES ${pmi_fuzz}/pmi2_${what}_fuzz.c ${pmi_fuzz}/pmi2_server_world.c
                DEPENDS pmi_driver INCLUDES ${pmi_stack}/server)
endforeach()
