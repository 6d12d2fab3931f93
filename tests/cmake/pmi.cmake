# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# PMI: wire formats, mapping, client libraries (the server's tests: pmi_server.cmake).
set(pmi_folder ${CMAKE_SOURCE_DIR}/tests/pmi)
set(pmi_headers ${CMAKE_SOURCE_DIR}/stack/pmi2/include)
jacquard_test(pmi_wire SOURCES ${pmi_folder}/wire_test.c DEPENDS pmi2_wire INCLUDES ${pmi_headers})
jacquard_test(pmi_wire_values SOURCES ${pmi_folder}/wire_values.c DEPENDS pmi2_wire INCLUDES ${pmi_headers})
jacquard_test(pmi_mapping SOURCES ${pmi_folder}/mapping_test.c DEPENDS pmi2_wire)
set(pmi_client ${CMAKE_SOURCE_DIR}/stack/pmi2/client)
jacquard_test(pmi_client_test
  SOURCES ${pmi_folder}/client_test.c ${pmi_folder}/script.c ${pmi_client}/socket.c
  DEPENDS pmi2_client port_posix pthread INCLUDES ${pmi_client})
jacquard_test(pmi_client_session
  SOURCES ${pmi_folder}/client_session.c ${pmi_folder}/script.c ${pmi_client}/socket.c
  DEPENDS pmi2_client port_posix pthread INCLUDES ${pmi_client})
jacquard_test(pmi_client_threads
  SOURCES ${pmi_folder}/client_threads.c ${pmi_folder}/live.c ${pmi_client}/socket.c
  DEPENDS pmi2_client pmi2_server port_posix pthread INCLUDES ${pmi_client})
jacquard_test(pmi_live
  SOURCES ${pmi_folder}/live_test.c ${pmi_folder}/live.c ${pmi_client}/socket.c
  DEPENDS pmi_client pmi2_client pmi2_server port_posix pthread INCLUDES ${pmi_client})
# The same, all of it checked for races.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_c_source_compiles("int main(void) { return 0; }" HAVE_TSAN)
unset(CMAKE_REQUIRED_FLAGS)
if(HAVE_TSAN AND NOT SANITIZE AND NOT COVERAGE)
  file(GLOB pmi_sources CONFIGURE_DEPENDS ${pmi_client}/*.c ${CMAKE_SOURCE_DIR}/stack/pmi2/wire/*.c
       ${CMAKE_SOURCE_DIR}/stack/pmi2/server/*.c)
  jacquard_test(pmi_client_threads_checked
    SOURCES ${pmi_folder}/client_threads.c ${pmi_folder}/live.c ${pmi_sources} ${CMAKE_SOURCE_DIR}/stack/port/posix.c
    DEPENDS pthread
    INCLUDES ${pmi_client} ${pmi_headers} ${CMAKE_SOURCE_DIR}/stack/port/include ${CMAKE_SOURCE_DIR}/stack/pmi2/wire
             ${CMAKE_SOURCE_DIR}/stack/pmi2/wire/include ${CMAKE_SOURCE_DIR}/stack/pmi2/server
             ${CMAKE_SOURCE_DIR}/stack/pmi2/server/include)
  if(TARGET pmi_client_threads_checked)
    target_compile_options(pmi_client_threads_checked PRIVATE -fsanitize=thread -g)
    target_link_options(pmi_client_threads_checked PRIVATE -fsanitize=thread)
  endif()
endif()

jacquard_fuzz(fuzz_pmi2_wire SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_pmi2_wire.c DEPENDS pmi2_wire
              INCLUDES ${pmi_headers} ${CMAKE_SOURCE_DIR}/stack/pmi2/wire)
