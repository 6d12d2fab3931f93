# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# LNet's core over a driver of the tests: tests/lnet/world.h.
jacquard_shared(lnet_world SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/world.c ${CMAKE_SOURCE_DIR}/tests/lnet/wire.c
                DEPENDS jacquard_lnet INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet)
foreach(area IN ITEMS config control consumer libcfs init eq md match event export move lo credit route health fault discovery change)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/lnet/${area}_test.c)
    jacquard_test(lnet_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/${area}_test.c ${lnet_world}
      DEPENDS jacquard_lnet m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet TIMEOUT 900)
  endif()
endforeach()
jacquard_test(lnet_property SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/property_test.c ${lnet_world}
  DEPENDS jacquard_lnet m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests FULL TIMEOUT 900)
jacquard_test(lnet_sequence SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/sequence_test.c ${CMAKE_SOURCE_DIR}/tests/lnet/sequence.c ${lnet_world}
  DEPENDS jacquard_lnet m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests FULL TIMEOUT 900)

# The same calls as bytes say: with fixed ones for ctest, and for libFuzzer (./dev fuzz lnet_api).
set(lnet_parts ${CMAKE_SOURCE_DIR}/tests/lnet/sequence.c ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_lnet_api.c ${lnet_world})
file(GLOB lnet_api_corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/lnet_api/*)
set(lnet_folders ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests/lnet)
add_executable(fuzz_lnet_api_fixed ${CMAKE_SOURCE_DIR}/tests/fuzz/lnet_api_main.c ${lnet_parts})
jacquard_no_whole_program(fuzz_lnet_api_fixed)
target_include_directories(fuzz_lnet_api_fixed PRIVATE ${lnet_folders})
target_link_libraries(fuzz_lnet_api_fixed PRIVATE jacquard_lnet jacquard_flags PkgConfig::CMOCKA m)
set_target_properties(fuzz_lnet_api_fixed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME fuzz_lnet_api COMMAND fuzz_lnet_api_fixed 200 ${lnet_api_corpus})
set_tests_properties(fuzz_lnet_api PROPERTIES LABELS lnet TIMEOUT 900)
jacquard_fuzz(fuzz_lnet_api REPLAYED SOURCES ${lnet_parts} DEPENDS jacquard_lnet PkgConfig::CMOCKA m INCLUDES ${lnet_folders})

# Texts of parameters and files of lnetctl (./dev fuzz lnet_config).
jacquard_fuzz(fuzz_lnet_config SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_lnet_config.c DEPENDS jacquard_lnet m
              INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet)
