# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Madeleine II: the generic layer over a recording driver, and TCP between threads of one process.
set(mad_tests ${CMAKE_SOURCE_DIR}/tests/madeleine)
set(mad_includes ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/tests)
if(TARGET madeleine)
  jacquard_shared(mad_recording SOURCES ${mad_tests}/recording.c ${mad_tests}/world.c DEPENDS madeleine pmi_static INCLUDES ${mad_includes})
  jacquard_shared(mad_ranks SOURCES ${mad_tests}/ranks.c DEPENDS madeleine pmi_static INCLUDES ${mad_includes})
  foreach(area IN ITEMS trace fuzz usage check memory extended)
    set(full "")
    if(area STREQUAL fuzz)
      set(full FULL)
    endif()
    jacquard_test(mad_${area} ${full}
      SOURCES ${mad_tests}/${area}_test.c ${mad_recording}
      DEPENDS madeleine pmi_static pthread INCLUDES ${mad_includes})
  endforeach()
  target_link_options(mad_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
endif()
if(TARGET madeleine)
  jacquard_test(mad_toolbox SOURCES ${mad_tests}/toolbox_test.c DEPENDS madeleine pmi_static pthread INCLUDES ${mad_includes})
  foreach(area IN ITEMS tcp tcp_failure threads session)
    jacquard_test(mad_${area} SOURCES ${mad_tests}/${area}_test.c ${mad_ranks}
      DEPENDS madeleine pmi_static pthread INCLUDES ${mad_includes})
  endforeach()
  target_link_options(mad_tcp PRIVATE -Wl,--wrap=send,--wrap=sendmsg)
  jacquard_test(mad_loop FULL SOURCES ${mad_tests}/loop_test.c ${mad_ranks}
    DEPENDS madeleine pmi_static pthread INCLUDES ${mad_includes})
  # One program for every driver, which its argument names.
  add_executable(mad_drivers ${mad_tests}/drivers_test.c ${mad_tests}/ranks.c)
  target_link_libraries(mad_drivers PRIVATE madeleine pmi_static pthread jacquard_flags PkgConfig::CMOCKA)
  target_include_directories(mad_drivers PRIVATE ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/tests)
  set_target_properties(mad_drivers PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  jacquard_no_whole_program(mad_drivers)
  foreach(driver IN ITEMS tcp shm loop)
    add_test(NAME mad_drivers.${driver} COMMAND mad_drivers ${driver} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(mad_drivers.${driver} PROPERTIES LABELS madeleine TIMEOUT 900)
  endforeach()
  add_test(NAME mad_drivers.loop.full COMMAND mad_drivers loop WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(mad_drivers.loop.full PROPERTIES LABELS "full;madeleine" TIMEOUT 14400 ENVIRONMENT JACQUARD_FULL=1)
endif()
# Configurations: with fixed seeds for ctest, and for libFuzzer (./dev fuzz madeleine).
if(TARGET madeleine)
  set(mad_config ${CMAKE_SOURCE_DIR}/stack/madeleine/config.c ${CMAKE_SOURCE_DIR}/stack/madeleine/config_plan.c
      ${CMAKE_SOURCE_DIR}/stack/madeleine/config_above.c)
  set(mad_fuzz ${CMAKE_SOURCE_DIR}/tests/fuzz)
  jacquard_test(mad_config SOURCES ${mad_tests}/config_test.c ${mad_config}
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/stack/madeleine/include)
  add_executable(fuzz_madeleine_fixed ${mad_fuzz}/madeleine_main.c ${mad_fuzz}/fuzz_madeleine.c ${mad_config})
  jacquard_no_whole_program(fuzz_madeleine_fixed)
  target_include_directories(fuzz_madeleine_fixed PRIVATE ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/stack/madeleine/include)
  target_link_libraries(fuzz_madeleine_fixed PRIVATE jacquard_flags)
  set_target_properties(fuzz_madeleine_fixed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME fuzz_madeleine COMMAND fuzz_madeleine_fixed 5000 ${mad_fuzz}/corpus/madeleine/all.cfg ${mad_fuzz}/corpus/madeleine/ping.cfg)
  set_tests_properties(fuzz_madeleine PROPERTIES LABELS madeleine TIMEOUT 900)
  jacquard_fuzz(fuzz_madeleine REPLAYED SOURCES ${mad_fuzz}/fuzz_madeleine.c DEPENDS madeleine
                INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/stack/madeleine/include)
endif()
# The same, all of it checked for races. HAVE_TSAN: pmi.cmake.
if(TARGET madeleine AND NOT SANITIZE AND NOT COVERAGE)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
  check_c_source_compiles("int main(void) { return 0; }" HAVE_TSAN)
  unset(CMAKE_REQUIRED_FLAGS)
  if(HAVE_TSAN)
    set(mad_folder ${CMAKE_SOURCE_DIR}/stack/madeleine)
    file(GLOB mad_sources CONFIGURE_DEPENDS ${mad_folder}/*.c ${mad_folder}/driver/*.c ${mad_folder}/toolbox/*.c)
    list(FILTER mad_sources EXCLUDE REGEX "/driver/((sisci|via|sbp)[a-z_]*|builtin_mpi)\\.c$") # in simulation only
    list(FILTER mad_sources EXCLUDE REGEX "/(lnet[a-z_]*|builtin_lnet)\\.c$") # a module
    jacquard_test(mad_threads_checked
      SOURCES ${mad_tests}/threads_test.c ${mad_tests}/ranks.c ${mad_sources} ${CMAKE_SOURCE_DIR}/stack/port/posix.c
      DEPENDS pmi_static ugni pthread
      INCLUDES ${mad_folder} ${mad_folder}/include ${CMAKE_SOURCE_DIR}/stack/port/include ${CMAKE_SOURCE_DIR}/stack/pmi2/include)
    target_compile_options(mad_threads_checked PRIVATE -fsanitize=thread -g)
    target_link_options(mad_threads_checked PRIVATE -fsanitize=thread)
  endif()
endif()
