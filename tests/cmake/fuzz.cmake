# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Random sequences of uGNI calls: with fixed seeds for ctest, and for libFuzzer (./dev fuzz api).
set(fuzz_folder ${CMAKE_SOURCE_DIR}/tests/fuzz)
set(fuzz_api_parts "")
foreach(part IN ITEMS world sequence calls memory posts talk model)
  list(APPEND fuzz_api_parts ${fuzz_folder}/api_${part}.c)
endforeach()

add_executable(fuzz_api_fixed ${fuzz_folder}/api_main.c ${fuzz_api_parts})
jacquard_no_whole_program(fuzz_api_fixed)
target_include_directories(fuzz_api_fixed PRIVATE ${fuzz_folder} ${CMAKE_SOURCE_DIR}/sim/aries)
target_link_libraries(fuzz_api_fixed PRIVATE jacquard_aries jacquard_flags)
set_target_properties(fuzz_api_fixed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(seeds 300)
if(SANITIZE) # each takes several times as long
  set(seeds 100)
endif()
add_test(NAME fuzz_api COMMAND fuzz_api_fixed --seeds ${seeds} ${fuzz_folder}/corpus/api)
set_tests_properties(fuzz_api PROPERTIES LABELS api TIMEOUT 900)

jacquard_fuzz(fuzz_api REPLAYED SOURCES ${fuzz_folder}/api_fuzz.c ${fuzz_api_parts} DEPENDS jacquard_aries
              INCLUDES ${fuzz_folder} ${CMAKE_SOURCE_DIR}/sim/aries)
