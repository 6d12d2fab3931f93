# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Files of the libfabric provider by themselves, on stand-ins for everything that they call.
if(CMOCKA_FOUND AND TARGET gni_prov)
  # Test program, its port, its source, then sources of the provider by name.
  function(gni_alone program port source)
    set(sources ${ARGN})
    list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/stack/gni_prov/)
    list(TRANSFORM sources APPEND .c)
    if("${port}" STREQUAL "port") # the interface only
      list(APPEND sources ${CMAKE_SOURCE_DIR}/tests/gni/calls_alone.c)
    endif()
    list(APPEND sources ${CMAKE_SOURCE_DIR}/tests/gni/findings_alone.c)
    set(depends ${port} PkgConfig::LIBFABRIC)
    set(includes ${CMAKE_SOURCE_DIR}/stack/gni_prov ${CMAKE_SOURCE_DIR}/stack/gni_prov/include ${CMAKE_SOURCE_DIR}/sim/aries/include)
    jacquard_shared(objects SOURCES ${sources} DEPENDS ${depends} INCLUDES ${includes})
    jacquard_test(${program} SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/${source}.c ${objects} DEPENDS ${depends} INCLUDES ${includes})
  endfunction()
  foreach(name IN ITEMS mr_cache mr_key)
    gni_alone(gni_${name} port ${name}_unit mr mr_cache mr_tree mr_restore auth)
    target_sources(gni_${name} PRIVATE ${CMAKE_SOURCE_DIR}/sim/aries/nic/mem_handle.c)
    target_include_directories(gni_${name} PRIVATE ${CMAKE_SOURCE_DIR}/sim/aries)
  endforeach()
  foreach(name IN ITEMS cq wait eq)
    gni_alone(gni_${name}_alone port_posix ${name}_unit cq cq_error eq waitable members wait poll msg_wire)
    target_link_options(gni_${name}_alone PRIVATE LINKER:--wrap=aligned_alloc) # a completion queue that cannot grow
  endforeach()
  jacquard_test(gni_memory SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/memory_unit.c DEPENDS port_posix)
  # kdreg_pub.h: the types of the kernel module's header, which only Cray systems have.
  jacquard_test(gni_kdreg SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/kdreg_unit.c ${CMAKE_SOURCE_DIR}/stack/port/posix_memory.c
    ${CMAKE_SOURCE_DIR}/stack/port/posix_kdreg.c DEPENDS port pthread INCLUDES ${CMAKE_SOURCE_DIR}/sim/cray/include)
  target_compile_definitions(gni_kdreg PRIVATE PORT_KDREG)
  target_link_options(gni_kdreg PRIVATE LINKER:--wrap=open,--wrap=ioctl,--wrap=read,--wrap=write)
  gni_alone(gni_match port match_unit match)
  foreach(name IN ITEMS message message_failure message_receive)
    gni_alone(gni_${name}_alone port ${name}_unit
      match msg eager rndzv rndzv_send recv mrecv req bounce peek ep_call nosys call_trace)
  endforeach()
  gni_alone(gni_msg_cm_alone port msg_cm_unit msg_cm msg_ep msg_listen msg_wire eq waitable nosys)
  gni_alone(gni_rx_window port rx_window_unit rx_window)
endif()
