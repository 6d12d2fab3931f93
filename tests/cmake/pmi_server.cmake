# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The PMI server's core, driven in memory: one server, trees of them, lossy links, bad input.
add_library(pmi_driver STATIC ${CMAKE_SOURCE_DIR}/tests/pmi/driver.c)
target_link_libraries(pmi_driver PUBLIC pmi2_server PRIVATE jacquard_flags)
target_include_directories(pmi_driver PUBLIC ${CMAKE_SOURCE_DIR}/tests/pmi)
foreach(part IN ITEMS session kvs bad attr spawn survivors tree)
  jacquard_test(pmi_server_${part}
    SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/server_${part}.c ${CMAKE_SOURCE_DIR}/tests/pmi/server_common.c
    DEPENDS pmi_driver PkgConfig::GLIB INCLUDES ${CMAKE_SOURCE_DIR}/stack/pmi2/server)
endforeach()
# Allocations of the server fail one after the other.
jacquard_test(pmi_server_memory
  SOURCES ${CMAKE_SOURCE_DIR}/tests/pmi/server_memory.c ${CMAKE_SOURCE_DIR}/tests/pmi/server_common.c
  DEPENDS pmi_driver)
if(TARGET pmi_server_memory)
  target_link_options(pmi_server_memory PRIVATE LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc)
endif()

set(pmi_fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz)
add_executable(fuzz_pmi2_fixed ${pmi_fuzz}/pmi2_server_main.c ${pmi_fuzz}/pmi2_server_world.c)
target_link_libraries(fuzz_pmi2_fixed PRIVATE pmi_driver jacquard_flags)
set_target_properties(fuzz_pmi2_fixed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME pmi2_89_fuzz_server COMMAND fuzz_pmi2_fixed 3000)
set_tests_properties(pmi2_89_fuzz_server PROPERTIES LABELS pmi TIMEOUT 300)

if(FUZZ AND CMAKE_C_COMPILER_ID MATCHES Clang)
  # The server and the wire instrumented for coverage, too.
  file(GLOB pmi_server_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/stack/pmi2/server/*.c
       ${CMAKE_SOURCE_DIR}/stack/pmi2/wire/*.c)
  foreach(what IN ITEMS client tree)
    add_executable(fuzz_pmi2_${what} ${pmi_fuzz}/pmi2_${what}_fuzz.c ${pmi_fuzz}/pmi2_server_world.c
                   ${CMAKE_SOURCE_DIR}/tests/pmi/driver.c ${pmi_server_sources})
    target_include_directories(fuzz_pmi2_${what} PRIVATE ${CMAKE_SOURCE_DIR}/tests/pmi
      ${CMAKE_SOURCE_DIR}/stack/pmi2/server ${CMAKE_SOURCE_DIR}/stack/pmi2/server/include
      ${CMAKE_SOURCE_DIR}/stack/pmi2/wire ${CMAKE_SOURCE_DIR}/stack/pmi2/wire/include
      ${CMAKE_SOURCE_DIR}/stack/pmi2/include)
    target_compile_options(fuzz_pmi2_${what} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
    target_link_options(fuzz_pmi2_${what} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(fuzz_pmi2_${what} PRIVATE jacquard_flags)
  endforeach()
endif()
