# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Random sequences of uGNI calls: with fixed seeds for ctest, and for libFuzzer (./dev fuzz api).
set(fuzz_folder ${CMAKE_SOURCE_DIR}/tests/fuzz)
set(fuzz_api_parts "")
foreach(part IN ITEMS world calls posts talk model)
  list(APPEND fuzz_api_parts ${fuzz_folder}/api_${part}.c)
endforeach()

add_executable(fuzz_api_fixed ${fuzz_folder}/api_main.c ${fuzz_api_parts})
jacquard_no_whole_program(fuzz_api_fixed)
target_include_directories(fuzz_api_fixed PRIVATE ${fuzz_folder} ${CMAKE_SOURCE_DIR}/sim/aries)
target_link_libraries(fuzz_api_fixed PRIVATE jacquard_aries jacquard_flags)
set_target_properties(fuzz_api_fixed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME fuzz_api COMMAND fuzz_api_fixed --seeds 300 ${fuzz_folder}/corpus/api)
set_tests_properties(fuzz_api PROPERTIES LABELS api TIMEOUT 300)

if(FUZZ AND CMAKE_C_COMPILER_ID MATCHES Clang)
  # The library instrumented for coverage, too.
  file(GLOB fuzz_aries CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sim/aries/api/*.c ${CMAKE_SOURCE_DIR}/sim/aries/nic/*.c
       ${CMAKE_SOURCE_DIR}/sim/aries/sim/*.c)
  add_executable(fuzz_api ${fuzz_folder}/api_fuzz.c ${fuzz_api_parts} ${fuzz_aries})
  target_include_directories(fuzz_api PRIVATE ${fuzz_folder} ${CMAKE_SOURCE_DIR}/sim/aries
                             ${CMAKE_SOURCE_DIR}/sim/aries/include)
  target_compile_definitions(fuzz_api PRIVATE CRAY_CONFIG_GHAL_ARIES)
  target_compile_options(fuzz_api PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
  target_link_options(fuzz_api PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(fuzz_api PRIVATE jacquard_net jacquard_engine jacquard_flags PkgConfig::GLIB m)
endif()
