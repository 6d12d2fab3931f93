# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Madeleine II: the generic layer over a recording driver, and TCP between threads of one process.
set(mad_tests ${CMAKE_SOURCE_DIR}/tests/madeleine)
if(TARGET madeleine)
  foreach(area IN ITEMS trace fuzz usage check memory)
    jacquard_test(mad_${area}
      SOURCES ${mad_tests}/${area}_test.c ${mad_tests}/recording.c ${mad_tests}/world.c
      DEPENDS madeleine pmi_static pthread INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine)
  endforeach()
  target_link_options(mad_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
endif()
if(TARGET madeleine)
  foreach(area IN ITEMS tcp tcp_failure threads)
    jacquard_test(mad_${area} SOURCES ${mad_tests}/${area}_test.c ${mad_tests}/ranks.c
      DEPENDS madeleine pmi_static pthread INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine)
  endforeach()
  target_link_options(mad_tcp PRIVATE -Wl,--wrap=sendmsg)
endif()
# The same, all of it checked for races. HAVE_TSAN: pmi.cmake.
if(TARGET madeleine AND NOT SANITIZE AND NOT COVERAGE)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
  check_c_source_compiles("int main(void) { return 0; }" HAVE_TSAN)
  unset(CMAKE_REQUIRED_FLAGS)
  if(HAVE_TSAN)
    set(mad_folder ${CMAKE_SOURCE_DIR}/stack/madeleine)
    file(GLOB mad_sources CONFIGURE_DEPENDS ${mad_folder}/*.c ${mad_folder}/driver/*.c)
    jacquard_test(mad_threads_checked
      SOURCES ${mad_tests}/threads_test.c ${mad_tests}/ranks.c ${mad_sources} ${CMAKE_SOURCE_DIR}/stack/port/posix.c
      DEPENDS pmi_static ugni pthread
      INCLUDES ${mad_folder} ${mad_folder}/include ${CMAKE_SOURCE_DIR}/stack/port/include ${CMAKE_SOURCE_DIR}/stack/pmi2/include)
    target_compile_options(mad_threads_checked PRIVATE -fsanitize=thread -g)
    target_link_options(mad_threads_checked PRIVATE -fsanitize=thread)
  endif()
endif()
