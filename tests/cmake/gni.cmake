# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The libfabric provider: through libfabric on a simulated machine (fixture.h), and some of its objects by themselves.
if(CMOCKA_FOUND AND TARGET gni_prov)
  add_library(gni_fixture STATIC ${CMAKE_SOURCE_DIR}/tests/gni/fixture.c ${CMAKE_SOURCE_DIR}/tests/fi/objects.c)
  target_include_directories(gni_fixture PUBLIC ${CMAKE_SOURCE_DIR}/tests/gni ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(gni_fixture PUBLIC jacquard_run gni_prov jacquard_aries PkgConfig::LIBFABRIC m
                        PRIVATE jacquard_flags PkgConfig::GLIB PkgConfig::JANSSON PkgConfig::CMOCKA)
  file(GLOB gni_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/gni/*_test.c)
  foreach(source IN LISTS gni_tests)
    get_filename_component(name ${source} NAME_WE)
    jacquard_test(gni_${name} SOURCES ${source} DEPENDS gni_fixture INCLUDES ${CMAKE_SOURCE_DIR}/stack/gni_prov)
    set_target_properties(gni_${name} PROPERTIES ENABLE_EXPORTS ON)
    target_compile_options(gni_${name} PRIVATE -Wno-deprecated-declarations) # fi_tx_size_left
  endforeach()
  target_sources(gni_wire_test PRIVATE ${CMAKE_SOURCE_DIR}/tests/gni/wire_event.c ${CMAKE_SOURCE_DIR}/tests/gni/wire_restart.c)
  foreach(name IN ITEMS thread_test thread_kinds_test)
    target_link_options(gni_${name} PRIVATE LINKER:--wrap=port_mutex_lock) # counts threads that wait
  endforeach()
  # The provider's objects once more, with other names for what gives memory and threads, which can be made to fail.
  if(NOT SANITIZE)
    set(failing ${CMAKE_CURRENT_BINARY_DIR}/libgni_prov_failing.a)
    set(names "")
    foreach(name IN ITEMS malloc calloc realloc aligned_alloc strdup)
      list(APPEND names --redefine-sym ${name}=failing_${name})
    endforeach()
    add_custom_command(
      OUTPUT ${failing}
      COMMAND ${CMAKE_OBJCOPY} ${names} --redefine-sym port_pages_alloc=failing_pages --redefine-sym port_thread_start=failing_thread
              $<TARGET_FILE:gni_prov> ${failing}
      DEPENDS gni_prov
      VERBATIM)
    add_custom_target(gni_prov_renamed DEPENDS ${failing})
    add_library(gni_prov_failing STATIC IMPORTED)
    set_target_properties(gni_prov_failing PROPERTIES IMPORTED_LOCATION ${failing})
    add_dependencies(gni_prov_failing gni_prov_renamed)
    jacquard_test(gni_alloc_fail SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/alloc_fail.c
                  DEPENDS -Wl,--whole-archive gni_prov_failing -Wl,--no-whole-archive gni_fixture)
    set_target_properties(gni_alloc_fail PROPERTIES ENABLE_EXPORTS ON) # its free() is libfabric's, too
  endif()
  # And as for release 0x5c of uGNI, which has no chained transactions: reads, writes and rendezvous of all alignments.
  # Two objects differ; the linker takes them instead of those in the provider's library.
  add_library(gni_prov_unchained OBJECT ${CMAKE_SOURCE_DIR}/stack/gni_prov/rma_post.c ${CMAKE_SOURCE_DIR}/stack/gni_prov/rndzv.c)
  target_include_directories(gni_prov_unchained PRIVATE $<TARGET_PROPERTY:gni_prov,INCLUDE_DIRECTORIES>)
  target_link_libraries(gni_prov_unchained PRIVATE jacquard_flags)
  target_compile_definitions(gni_prov_unchained PRIVATE $<TARGET_PROPERTY:gni_prov,COMPILE_DEFINITIONS> GNIP_NO_CHAINS)
  foreach(name IN ITEMS rma_test atomic_test receive_test)
    jacquard_test(gni_unchained_${name}
      SOURCES ${CMAKE_SOURCE_DIR}/tests/gni/${name}.c $<TARGET_OBJECTS:gni_prov_unchained>
      DEPENDS gni_fixture INCLUDES ${CMAKE_SOURCE_DIR}/stack/gni_prov)
    set_target_properties(gni_unchained_${name} PROPERTIES ENABLE_EXPORTS ON)
    target_compile_definitions(gni_unchained_${name} PRIVATE GNIP_NO_CHAINS)
    target_compile_options(gni_unchained_${name} PRIVATE -Wno-deprecated-declarations)
  endforeach()
  # Instrumentation has variables of its own.
  if(NOT SANITIZE AND NOT COVERAGE)
    add_test(NAME gni_153_no_variables COMMAND_EXPAND_LISTS
             COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/tests/gni/objects.py $<TARGET_OBJECTS:gni_prov>)
    set_tests_properties(gni_153_no_variables PROPERTIES LABELS gni)
  endif()
endif()
