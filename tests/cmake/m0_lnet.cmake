# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# m0_net over LNet on simulated nodes: tests/m0/rig.h. One set of sources for each flavour of the transport.
if(TARGET m0lnet_kernel)
  set(m0_rig ${CMAKE_SOURCE_DIR}/tests/m0/rig.c ${CMAKE_SOURCE_DIR}/tests/m0/pools.c)
  # The headers net/net.h of sim/net and of m0_net have one name, so no compilation sees both.
  foreach(world IN ITEMS wire networks)
    add_library(m0_world_${world} OBJECT ${CMAKE_SOURCE_DIR}/tests/lnet/world.c ${CMAKE_SOURCE_DIR}/tests/lnet/${world}.c)
    target_include_directories(m0_world_${world} PRIVATE ${CMAKE_SOURCE_DIR}/sim/lnet)
    target_link_libraries(m0_world_${world} PRIVATE jacquard_lnet jacquard_flags PkgConfig::CMOCKA PkgConfig::GLIB)
    jacquard_no_whole_program(m0_world_${world})
  endforeach()
  foreach(area IN ITEMS general machine address message bulk pool provision script sync failure networks)
    set(world wire)
    if(area STREQUAL networks)
      set(world networks)
    endif()
    foreach(flavour IN ITEMS kernel user batched)
      set(source ${flavour})
      if(flavour STREQUAL batched) # the user flavour with the submission ring
        set(source user)
      endif()
      jacquard_test(m0_${flavour}_${area}
        SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/${area}_test.c ${m0_rig} ${CMAKE_SOURCE_DIR}/tests/m0/hosts.c
                ${CMAKE_SOURCE_DIR}/tests/m0/${source}.c ${CMAKE_SOURCE_DIR}/tests/m0/port.c $<TARGET_OBJECTS:m0_world_${world}>
        DEPENDS m0lnet_driver jacquard_lnet PkgConfig::GLIB m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests/lnet)
      if(flavour STREQUAL batched)
        target_compile_definitions(m0_${flavour}_${area} PRIVATE RIG_BATCHED)
      endif()
      if(NOT area STREQUAL sync) # which chooses the delivery itself
        add_test(NAME m0_${flavour}_${area}.sync COMMAND m0_${flavour}_${area} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
        set_tests_properties(m0_${flavour}_${area}.sync PROPERTIES LABELS m0 TIMEOUT 900 ENVIRONMENT RIG_DELIVERY=synchronous)
      endif()
    endforeach()
  endforeach()
  # The transport in memory: what its own list of items names.
  foreach(area IN ITEMS machine pool provision memory)
    jacquard_test(m0_memory_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/${area}_test.c ${m0_rig} ${CMAKE_SOURCE_DIR}/tests/m0/memory.c
              ${CMAKE_SOURCE_DIR}/tests/m0/port.c $<TARGET_OBJECTS:m0_world_wire>
      DEPENDS m0net jacquard_lnet PkgConfig::GLIB m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests/lnet)
  endforeach()
  # What only the user flavour has: the driver, and crossings to it.
  foreach(area IN ITEMS driver driver_calls hostile flavours)
    jacquard_test(m0_user_${area}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/${area}_test.c ${m0_rig} ${CMAKE_SOURCE_DIR}/tests/m0/hosts.c
              ${CMAKE_SOURCE_DIR}/tests/m0/user.c ${CMAKE_SOURCE_DIR}/tests/m0/process.c ${CMAKE_SOURCE_DIR}/tests/m0/port.c
              $<TARGET_OBJECTS:m0_world_wire>
      DEPENDS m0lnet_driver jacquard_lnet PkgConfig::GLIB m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests/lnet)
  endforeach()
  # The two sides of the ring of events, in two processes.
  jacquard_test(m0_ring SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/ring_test.c DEPENDS m0lnet_user m0lnet_kernel jacquard_lnet port_posix PkgConfig::GLIB m pthread
    INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet)
  # The layer with its switches for older applications.
  file(GLOB m0_net_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/stack/lnet_xprt/net/*.c
    ${CMAKE_SOURCE_DIR}/stack/lnet_xprt/net/bulk_emulation/*.c)
  jacquard_test(m0_switches
    SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/switches_test.c ${m0_rig} ${CMAKE_SOURCE_DIR}/tests/m0/memory.c
            ${CMAKE_SOURCE_DIR}/tests/m0/port.c ${m0_net_sources} $<TARGET_OBJECTS:m0_world_wire>
    DEPENDS m0lib jacquard_lnet PkgConfig::GLIB m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests/lnet)
  target_compile_definitions(m0_switches PRIVATE M0_NET_PROV_INLINE M0_NET_POOL_RETURN_BY_CB)
endif()
