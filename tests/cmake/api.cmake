# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Conformance of the uGNI calls on the simulated NIC; fixture.h describes the machine they run on.
# Sets `result` to the sources that the test programs of one subject share.
function(api_frame_sources area result)
  set(sources ${CMAKE_SOURCE_DIR}/tests/api/fixture.c)
  foreach(subject IN ITEMS ce_error datagram job mem msgq nic post smsg)
    if(area MATCHES "^${subject}(_|$)" OR (area STREQUAL ce_gone AND subject STREQUAL ce_error))
      list(APPEND sources ${CMAKE_SOURCE_DIR}/tests/api/${subject}_frame.c)
    endif()
  endforeach()
  if(area MATCHES "^ce(_|$)")
    list(APPEND sources ${CMAKE_SOURCE_DIR}/tests/api/ce_tree.c)
  endif()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# Sets `result` to their objects and those of the simulated machine.
function(api_frame area result)
  api_frame_sources(${area} sources)
  jacquard_shared(objects SOURCES ${sources} ${CMAKE_SOURCE_DIR}/tests/api/machine.c DEPENDS jacquard_aries
                  INCLUDES ${CMAKE_SOURCE_DIR}/sim/aries)
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

foreach(area IN ITEMS cdm ep cq mem mem_block post post_event post_chain amo error)
  if(EXISTS ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c)
    api_frame(${area} frame)
    jacquard_test(api_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/api/${area}_test.c ${frame}
      DEPENDS jacquard_aries m INCLUDES ${CMAKE_SOURCE_DIR}/sim/aries)
  endif()
endforeach()
