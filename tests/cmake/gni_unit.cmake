# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Files of the libfabric provider by themselves, on stand-ins for everything that they call.
if(CMOCKA_FOUND AND TARGET gni_prov)
  jacquard_test(gni_mr_cache
    SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/mr_cache_unit.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/mr.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/mr_cache.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/mr_tree.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/mr_restore.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/auth.c
            ${CMAKE_SOURCE_DIR}/sim/aries/nic/mem_handle.c
    DEPENDS port PkgConfig::LIBFABRIC
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/gni_prov ${CMAKE_SOURCE_DIR}/stack/gni_prov/include
             ${CMAKE_SOURCE_DIR}/sim/aries ${CMAKE_SOURCE_DIR}/sim/aries/include)
  jacquard_test(gni_queues_alone
    SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/queues_unit.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/cq.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/cq_error.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/eq.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/waitable.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/members.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/wait.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/poll.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/msg_wire.c
    DEPENDS port_posix PkgConfig::LIBFABRIC
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/gni_prov ${CMAKE_SOURCE_DIR}/stack/gni_prov/include
             ${CMAKE_SOURCE_DIR}/sim/aries/include)
  target_link_options(gni_queues_alone PRIVATE LINKER:--wrap=aligned_alloc) # a completion queue that cannot grow
  jacquard_test(gni_memory SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/memory_unit.c DEPENDS port_posix)
  jacquard_test(gni_match
    SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/match_unit.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/match.c
    DEPENDS port PkgConfig::LIBFABRIC
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/gni_prov ${CMAKE_SOURCE_DIR}/stack/gni_prov/include
             ${CMAKE_SOURCE_DIR}/sim/aries/include)
  set(gnip_message_sources)
  foreach(name IN ITEMS match msg eager rndzv rndzv_send recv mrecv req bounce peek ep_call nosys)
    list(APPEND gnip_message_sources ${CMAKE_SOURCE_DIR}/stack/gni_prov/${name}.c)
  endforeach()
  jacquard_test(gni_messages_alone
    SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/message_unit.c ${gnip_message_sources}
    DEPENDS port PkgConfig::LIBFABRIC
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/gni_prov ${CMAKE_SOURCE_DIR}/stack/gni_prov/include
             ${CMAKE_SOURCE_DIR}/sim/aries/include)
  jacquard_test(gni_msg_cm_alone
    SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/msg_cm_unit.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/msg_cm.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/msg_ep.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/msg_listen.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/msg_wire.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/eq.c
            ${CMAKE_SOURCE_DIR}/stack/gni_prov/waitable.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/nosys.c
    DEPENDS port PkgConfig::LIBFABRIC
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/gni_prov ${CMAKE_SOURCE_DIR}/stack/gni_prov/include
             ${CMAKE_SOURCE_DIR}/sim/aries/include)
  jacquard_test(gni_rx_window
    SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/rx_window_unit.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/rx_window.c
    DEPENDS port PkgConfig::LIBFABRIC
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/gni_prov ${CMAKE_SOURCE_DIR}/stack/gni_prov/include
             ${CMAKE_SOURCE_DIR}/sim/aries/include)
endif()
