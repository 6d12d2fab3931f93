# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# m0_net over LNet on simulated nodes: tests/m0/rig.h. One set of sources for each flavour of the transport.
if(TARGET m0lnet_kernel)
  set(m0_tests ${CMAKE_SOURCE_DIR}/tests/m0)
  set(m0_rig ${m0_tests}/rig.c ${m0_tests}/pools.c ${m0_tests}/port.c)
  set(m0_includes ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests/lnet)
  set(m0_depends m0lnet_driver jacquard_lnet PkgConfig::GLIB)
  jacquard_shared(m0_hosts SOURCES ${m0_rig} ${m0_tests}/hosts.c DEPENDS ${m0_depends} INCLUDES ${m0_includes})
  jacquard_shared(m0_kernel SOURCES ${m0_tests}/kernel.c DEPENDS ${m0_depends} INCLUDES ${m0_includes})
  jacquard_shared(m0_user SOURCES ${m0_tests}/user.c DEPENDS ${m0_depends} INCLUDES ${m0_includes})
  set(m0_batched ${m0_tests}/user.c) # RIG_BATCHED: the user flavour with the submission ring
  jacquard_shared(m0_memory SOURCES ${m0_rig} ${m0_tests}/memory.c DEPENDS m0net jacquard_lnet PkgConfig::GLIB INCLUDES ${m0_includes})
  # The headers net/net.h of sim/net and of m0_net have one name, so no compilation sees both.
  foreach(world IN ITEMS wire networks)
    add_library(m0_world_${world} OBJECT ${CMAKE_SOURCE_DIR}/tests/lnet/world.c ${CMAKE_SOURCE_DIR}/tests/lnet/${world}.c)
    target_include_directories(m0_world_${world} PRIVATE ${CMAKE_SOURCE_DIR}/sim/lnet)
    target_link_libraries(m0_world_${world} PRIVATE jacquard_lnet jacquard_flags PkgConfig::CMOCKA PkgConfig::GLIB)
    jacquard_no_whole_program(m0_world_${world})
  endforeach()
  foreach(area IN ITEMS general machine address message bulk pool provision script sync failure order networks)
    set(world wire)
    if(area STREQUAL networks)
      set(world networks)
    endif()
    foreach(flavour IN ITEMS kernel user batched)
      jacquard_test(m0_${flavour}_${area}
        SOURCES ${m0_tests}/${area}_test.c ${m0_hosts} ${m0_${flavour}} $<TARGET_OBJECTS:m0_world_${world}>
        DEPENDS ${m0_depends} m INCLUDES ${m0_includes})
      if(flavour STREQUAL batched)
        target_compile_definitions(m0_${flavour}_${area} PRIVATE RIG_BATCHED)
      endif()
      if(NOT area STREQUAL sync) # which chooses the delivery itself
        add_test(NAME m0_${flavour}_${area}.sync COMMAND m0_${flavour}_${area} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
        set_tests_properties(m0_${flavour}_${area}.sync PROPERTIES LABELS m0 TIMEOUT 900 ENVIRONMENT RIG_DELIVERY=synchronous)
      endif()
    endforeach()
  endforeach()
  # The scripts on each network of simulated drivers.
  foreach(flavour IN ITEMS kernel user batched)
    jacquard_test(m0_${flavour}_script_networks
      SOURCES ${m0_tests}/script_test.c ${m0_hosts} ${m0_${flavour}} $<TARGET_OBJECTS:m0_world_networks>
      DEPENDS ${m0_depends} m INCLUDES ${m0_includes})
    if(flavour STREQUAL batched)
      target_compile_definitions(m0_${flavour}_script_networks PRIVATE RIG_BATCHED)
    endif()
    set_property(TEST m0_${flavour}_script_networks APPEND PROPERTY ENVIRONMENT RIG_NETWORK=tcp)
    foreach(network IN ITEMS o2ib gni lo routed)
      add_test(NAME m0_160_${flavour}_script_${network} COMMAND m0_${flavour}_script_networks WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      set_tests_properties(m0_160_${flavour}_script_${network} PROPERTIES LABELS m0 TIMEOUT 900 ENVIRONMENT RIG_NETWORK=${network})
    endforeach()
  endforeach()
  # Both flavours at once.
  jacquard_test(m0_user_flavours_networks
    SOURCES ${m0_tests}/flavours_test.c ${m0_tests}/process.c ${m0_hosts} ${m0_user} $<TARGET_OBJECTS:m0_world_networks>
    DEPENDS ${m0_depends} m INCLUDES ${m0_includes})
  set_property(TEST m0_user_flavours_networks APPEND PROPERTY ENVIRONMENT RIG_NETWORK=tcp)
  foreach(network IN ITEMS o2ib gni routed)
    add_test(NAME m0_160_flavours_${network} COMMAND m0_user_flavours_networks WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(m0_160_flavours_${network} PROPERTIES LABELS m0 TIMEOUT 900 ENVIRONMENT RIG_NETWORK=${network})
  endforeach()
  # The transport in memory: what its own list of items names.
  foreach(area IN ITEMS machine pool provision memory)
    jacquard_test(m0_memory_${area}
      SOURCES ${m0_tests}/${area}_test.c ${m0_memory} $<TARGET_OBJECTS:m0_world_wire>
      DEPENDS m0net jacquard_lnet PkgConfig::GLIB m INCLUDES ${m0_includes})
  endforeach()
  # What only the user flavour has: the driver, and crossings to it.
  foreach(area IN ITEMS driver driver_calls hostile flavours)
    jacquard_test(m0_user_${area}
      SOURCES ${m0_tests}/${area}_test.c ${m0_tests}/process.c ${m0_hosts} ${m0_user} $<TARGET_OBJECTS:m0_world_wire>
      DEPENDS ${m0_depends} m INCLUDES ${m0_includes})
  endforeach()
  # The two sides of the ring of events, in two processes.
  jacquard_test(m0_ring SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/ring_test.c DEPENDS m0lnet_user m0lnet_kernel jacquard_lnet port_posix PkgConfig::GLIB m pthread
    INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet)
  add_test(NAME m0_ring.full COMMAND m0_ring WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(m0_ring.full PROPERTIES LABELS full TIMEOUT 14400 ENVIRONMENT JACQUARD_FULL=1)
  # The layer with its switches for older applications.
  file(GLOB m0_net_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/stack/lnet_xprt/net/*.c
    ${CMAKE_SOURCE_DIR}/stack/lnet_xprt/net/bulk_emulation/mem_xprt_xo.c)
  jacquard_test(m0_switches
    SOURCES ${m0_tests}/switches_test.c ${m0_rig} ${m0_tests}/memory.c ${m0_net_sources} $<TARGET_OBJECTS:m0_world_wire>
    DEPENDS m0lib jacquard_lnet PkgConfig::GLIB m INCLUDES ${CMAKE_SOURCE_DIR}/sim/lnet ${CMAKE_SOURCE_DIR}/tests/lnet)
  # Code as others write it for the layer, with a transport of its own and POSIX threads.
  jacquard_test(m0_outside SOURCES ${m0_tests}/outside_test.c DEPENDS m0net_inline m0lib port_posix pthread)
  jacquard_test(m0_outside_names SOURCES ${m0_tests}/outside_names_test.c DEPENDS m0net m0lib port_posix pthread)
  jacquard_test(m0_outside_misc SOURCES ${m0_tests}/outside_misc_test.c DEPENDS m0lib port_posix pthread)
  # Tests that have a transport in them, in a program that is linked with its library.
  jacquard_test(m0_outside_memory SOURCES ${m0_tests}/outside_memory_test.c DEPENDS m0net m0lib port_posix pthread)
  jacquard_test(m0_outside_lnet SOURCES ${m0_tests}/outside_lnet_test.c DEPENDS m0lnet_user m0net m0lib port_posix pthread)
  target_compile_definitions(m0_outside_lnet PRIVATE M0_NET_LNET_TMID_MIN=1)
  target_compile_definitions(m0_switches PRIVATE M0_NET_PROV_INLINE M0_NET_POOL_RETURN_BY_CB M0_CHECKING)
endif()
