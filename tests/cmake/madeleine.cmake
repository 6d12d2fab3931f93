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
