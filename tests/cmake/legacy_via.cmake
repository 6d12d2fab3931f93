# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# VIPL over the model of M-VIA, and SBP: processes are fibers, without a cluster.
if(TARGET jacquard_legacy)
  foreach(area IN ITEMS objects transfer connect)
    jacquard_test(via_${area} SOURCES ${CMAKE_SOURCE_DIR}/tests/legacy/via_${area}_test.c ${CMAKE_SOURCE_DIR}/tests/legacy/via_world.c
      DEPENDS jacquard_legacy jacquard_net jacquard_engine INCLUDES ${CMAKE_SOURCE_DIR}/sim/legacy)
    target_compile_options(via_${area} PRIVATE $<$<C_COMPILER_ID:GNU>:-Wno-psabi>) # it notes that addresses are returned by value
  endforeach()
  jacquard_test(sbp_frames SOURCES ${CMAKE_SOURCE_DIR}/tests/legacy/sbp_frames_test.c ${CMAKE_SOURCE_DIR}/tests/legacy/via_world.c
    DEPENDS jacquard_legacy jacquard_net jacquard_engine INCLUDES ${CMAKE_SOURCE_DIR}/sim/legacy)
  target_compile_options(sbp_frames PRIVATE $<$<C_COMPILER_ID:GNU>:-Wno-psabi>)
endif()
# Madeleine's drivers over them, in a cluster; what they post is recorded.
if(TARGET madeleine_sim)
  foreach(driver IN ITEMS via sbp)
    jacquard_test(mad_${driver} SOURCES ${CMAKE_SOURCE_DIR}/tests/madeleine/${driver}_driver_test.c ${CMAKE_SOURCE_DIR}/tests/unit/rank_programs.c
      DEPENDS $<LINK_GROUP:RESCAN,jacquard_run,gni_prov> pmi_client pmi2_client PkgConfig::GLIB PkgConfig::JANSSON m
      INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/stack/madeleine/include ${CMAKE_SOURCE_DIR}/sim/legacy/include
      ${CMAKE_SOURCE_DIR}/stack/port/include ${CMAKE_SOURCE_DIR}/tests/unit)
  endforeach()
  jacquard_test(mad_book SOURCES ${CMAKE_SOURCE_DIR}/tests/madeleine/book_test.c ${CMAKE_SOURCE_DIR}/tests/unit/rank_programs.c
    DEPENDS $<LINK_GROUP:RESCAN,jacquard_run,gni_prov> pmi_client pmi2_client PkgConfig::GLIB PkgConfig::JANSSON m
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/stack/madeleine/include ${CMAKE_SOURCE_DIR}/sim/legacy/include
    ${CMAKE_SOURCE_DIR}/stack/port/include ${CMAKE_SOURCE_DIR}/tests/unit)
  jacquard_test(mad_order SOURCES ${CMAKE_SOURCE_DIR}/tests/madeleine/order_test.c ${CMAKE_SOURCE_DIR}/tests/unit/rank_programs.c
    DEPENDS $<LINK_GROUP:RESCAN,jacquard_run,gni_prov> pmi_client pmi2_client PkgConfig::GLIB PkgConfig::JANSSON m
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/stack/madeleine/include ${CMAKE_SOURCE_DIR}/sim/aries/include
    ${CMAKE_SOURCE_DIR}/sim/lnet/include ${CMAKE_SOURCE_DIR}/stack/port/include ${CMAKE_SOURCE_DIR}/tests/unit)
  target_link_options(mad_order PRIVATE -Wl,--wrap=GNI_PostFma,--wrap=GNI_PostRdma,--wrap=GNI_GetCompleted,--wrap=GNI_SmsgSendWTag
    -Wl,--wrap=LNetMDAttach,--wrap=LNetMDBind,--wrap=mad_lnet_callback,--wrap=PMI2_KVS_Put,--wrap=GNI_EpPostData,--wrap=GNI_EpPostDataWId)
  jacquard_test(mad_left SOURCES ${CMAKE_SOURCE_DIR}/tests/madeleine/left_test.c ${CMAKE_SOURCE_DIR}/tests/unit/rank_programs.c
    DEPENDS $<LINK_GROUP:RESCAN,jacquard_run,gni_prov> pmi_client pmi2_client PkgConfig::GLIB PkgConfig::JANSSON m
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/stack/madeleine/include ${CMAKE_SOURCE_DIR}/sim/aries/include
    ${CMAKE_SOURCE_DIR}/sim/lnet/include ${CMAKE_SOURCE_DIR}/sim/legacy/include ${CMAKE_SOURCE_DIR}/stack/port/include ${CMAKE_SOURCE_DIR}/tests/unit)
  foreach(call IN ITEMS GNI_CdmCreate GNI_CdmDestroy GNI_CqCreate GNI_CqDestroy GNI_EpCreate GNI_EpDestroy GNI_MemRegister GNI_MemDeregister
      VipOpenNic VipCloseNic VipCreateVi VipDestroyVi VipCreatePtag VipDestroyPtag VipCreateCQ VipDestroyCQ VipRegisterMem VipDeregisterMem
      SCIOpen SCIClose SCICreateSegment SCIRemoveSegment SCIConnectSegment SCIDisconnectSegment SCICreateMapSequence SCIRemoveSequence
      LNetMDAttach LNetMDBind mad_lnet_callback port_thread_start port_thread_join)
    target_link_options(mad_left PRIVATE LINKER:--wrap=${call})
  endforeach()
  jacquard_test(mad_matrix SOURCES ${CMAKE_SOURCE_DIR}/tests/madeleine/matrix_test.c ${CMAKE_SOURCE_DIR}/tests/madeleine/matrix_driver.c
    ${CMAKE_SOURCE_DIR}/tests/unit/rank_programs.c
    DEPENDS $<LINK_GROUP:RESCAN,jacquard_run,gni_prov> pmi_client pmi2_client PkgConfig::GLIB PkgConfig::JANSSON m
    INCLUDES ${CMAKE_SOURCE_DIR}/stack/madeleine ${CMAKE_SOURCE_DIR}/stack/madeleine/include ${CMAKE_SOURCE_DIR}/sim/engine/include
    ${CMAKE_SOURCE_DIR}/stack/port/include ${CMAKE_SOURCE_DIR}/tests/unit ${CMAKE_SOURCE_DIR}/tests)
  target_link_options(mad_matrix PRIVATE -Wl,--wrap=mad_tcp_register)
  # All 1,000 seeds of the sets of links and 50 of the drivers, in parts of one to two minutes, which ctest -j runs side by side.
  foreach(part RANGE 1 10)
    foreach(what IN ITEMS links drivers)
      set(seeds 100)
      if(what STREQUAL drivers)
        set(seeds 5)
      endif()
      math(EXPR first "(${part} - 1) * ${seeds} + 1")
      math(EXPR last "${part} * ${seeds}")
      add_test(NAME mad_matrix_${what}_${part}.full COMMAND mad_matrix *${what} ${first} ${last} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
      set_tests_properties(mad_matrix_${what}_${part}.full PROPERTIES LABELS "full;madeleine" TIMEOUT 3600 ENVIRONMENT JACQUARD_FULL=1)
    endforeach()
  endforeach()
  target_link_options(mad_book PRIVATE -Wl,--wrap=mad_send_block,--wrap=mad_send_end,--wrap=VipPostSend)
  target_link_options(mad_via PRIVATE -Wl,--wrap=VipPostSend,--wrap=VipRegisterMem,--wrap=VipDeregisterMem)
  target_link_options(mad_sbp PRIVATE -Wl,--wrap=returnfullbuffer,--wrap=port_piece_received)
endif()
