# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The carrier of live mode between real processes.
if(TARGET jacquard-fabricd)
  set(live_folder ${CMAKE_SOURCE_DIR}/tests/live)
  set(carrier_depends jacquard_shm_server jacquard_shm PkgConfig::GLIB)
  jacquard_shared(carrier SOURCES ${live_folder}/carrier.c DEPENDS ${carrier_depends} INCLUDES ${CMAKE_SOURCE_DIR}/sim/shm)
  foreach(part IN ITEMS ring copy sleep member daemon pin names kill hostile)
    jacquard_test(live_carrier_${part} SOURCES ${live_folder}/carrier_${part}.c ${carrier}
                  DEPENDS ${carrier_depends} INCLUDES ${CMAKE_SOURCE_DIR}/sim/shm)
    if(TARGET live_carrier_${part})
      target_compile_definitions(live_carrier_${part} PRIVATE TEST_FABRICD="$<TARGET_FILE:jacquard-fabricd>")
      add_dependencies(live_carrier_${part} jacquard-fabricd)
    endif()
  endforeach()
endif()

# ./dev fuzz live
if(TARGET jacquard_shm_server)
  jacquard_fuzz(fuzz_live SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_live.c DEPENDS jacquard_shm_server jacquard_shm
                INCLUDES ${CMAKE_SOURCE_DIR}/sim/shm)
endif()
