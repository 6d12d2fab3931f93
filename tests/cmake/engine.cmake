# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
foreach(area IN ITEMS queue events fiber finding stack limits random)
  jacquard_test(engine_${area} SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/engine_${area}.c DEPENDS jacquard_engine m
                INCLUDES ${CMAKE_SOURCE_DIR}/sim/engine)
endforeach()
foreach(area IN ITEMS group poll)
  jacquard_test(engine_${area} SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/engine_${area}.c DEPENDS jacquard_engine m
                INCLUDES ${CMAKE_SOURCE_DIR}/tests FULL)
endforeach()
# The interface of a plain process; the test looks by itself.
jacquard_test(engine_turns SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/engine_turns.c
              INCLUDES ${CMAKE_SOURCE_DIR}/sim/engine/include ${CMAKE_SOURCE_DIR}/sim/engine/wall/include)

# Machines that only run simulations have no header of Valgrind's.
add_test(NAME engine_without_valgrind COMMAND ${CMAKE_C_COMPILER} -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -UHAVE_VALGRIND_H -fsyntax-only
         -I${CMAKE_SOURCE_DIR}/sim/engine/include -I${CMAKE_SOURCE_DIR}/sim/engine/virtual/include
         ${CMAKE_SOURCE_DIR}/sim/engine/stack.c)
set_tests_properties(engine_without_valgrind PROPERTIES LABELS unit)
