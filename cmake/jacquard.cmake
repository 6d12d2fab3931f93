# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The compiler options of every target, and functions that define libraries, tests and benchmarks.

add_library(jacquard_flags INTERFACE)
target_compile_options(jacquard_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
  -Wno-unused-parameter -Wno-missing-field-initializers
  # The same floating-point results with every compiler and optimisation level.
  -ffp-contract=off)
if(SANITIZE)
  target_compile_options(jacquard_flags INTERFACE -fsanitize=${SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(jacquard_flags INTERFACE -fsanitize=${SANITIZE})
endif()
if(COVERAGE)
  target_compile_options(jacquard_flags INTERFACE --coverage -fprofile-update=single)
  target_link_options(jacquard_flags INTERFACE --coverage)
endif()
# Every library is instrumented for libFuzzer, so that the fuzz targets link the libraries and compile no source again.
set(jacquard_fuzz_instrumented OFF)
if(FUZZ AND CMAKE_C_COMPILER_ID MATCHES Clang)
  set(jacquard_fuzz_instrumented ON)
  add_custom_target(fuzz_targets)
  target_compile_options(jacquard_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Optimised builds with GCC: what each message passes through (engine, networks, uGNI, LNet, provider, ranks) calls across files
# and folders, so sim-run and the benchmarks optimise these libraries at link time (20 % faster). The others are compiled as
# usual, and tests link all without it, because it takes long.
# -DLTO=OFF links them without it, too: for quick cycles of work, in seconds instead of a minute.
option(LTO "link sim-run and the benchmarks with link-time optimisation (GCC, optimised builds)" ON)
set(jacquard_lto OFF)
if(CMAKE_C_COMPILER_ID STREQUAL GNU AND CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT SANITIZE AND NOT COVERAGE)
  set(jacquard_lto ON)
endif()
function(jacquard_whole_program target)
  if(jacquard_lto AND LTO)
    target_compile_options(${target} PRIVATE -flto=auto)
    target_link_options(${target} PRIVATE -flto=auto)
  else()
    jacquard_no_whole_program(${target})
  endif()
endfunction()
function(jacquard_no_whole_program target)
  if(jacquard_lto AND LTO AND FAT_OBJECTS)
    target_link_options(${target} PRIVATE -fno-lto)
  endif()
  if(jacquard_gold AND CMAKE_CURRENT_SOURCE_DIR STREQUAL ${CMAKE_SOURCE_DIR}/tests)
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
endfunction()
# Programs of tests are linked by gold where binutils has it: it takes two thirds of the time, which is a fifth of a build's.
find_program(GOLD ld.gold)
mark_as_advanced(GOLD)
set(jacquard_gold OFF)
if(GOLD AND CMAKE_C_COMPILER_ID STREQUAL GNU)
  set(jacquard_gold ON)
endif()
# A message between processes costs some thousand cycles in the stack, and calls on its path cost a third of them. The source
# marks code off that path as cold or noinline, and the compiler inlines the rest. (It makes no difference to the simulation,
# which waits for memory.)
set(jacquard_inline --param=max-inline-insns-auto=100 --param=large-function-growth=800 --param=inline-unit-growth=100)
function(jacquard_hot target)
  if(jacquard_lto)
    target_compile_options(${target} PRIVATE -O3 ${jacquard_inline})
  endif()
endfunction()
function(jacquard_hot_library target) # a shared library or program that such targets are linked into
  jacquard_whole_program(${target})
  if(jacquard_lto)
    target_link_options(${target} PRIVATE ${jacquard_inline})
  endif()
endfunction()

# Objects that can be optimised at link time. -DFAT_OBJECTS=OFF leaves their machine code out: they compile in a third of the time,
# but whatever is linked with them is then optimised at link time. It pays where only sim-run is built (./dev run). Without LTO they
# are ordinary objects, because GCC would optimise at link time each program that is linked without -fno-lto.
option(FAT_OBJECTS "compile objects so that they can be linked with and without link-time optimisation" ON)
function(jacquard_link_time target)
  if(jacquard_lto AND LTO)
    target_compile_options(${target} PRIVATE -flto=auto)
    if(FAT_OBJECTS)
      target_compile_options(${target} PRIVATE -ffat-lto-objects)
    endif()
  endif()
endfunction()

# jacquard_library(NAME [LINK_TIME] SOURCES a.c … DEPENDS lib … PRIVATE_DEPENDS lib …)
# One folder is one static library. Other targets see only its include/ directory. LINK_TIME: each message passes through it.
function(jacquard_library name)
  cmake_parse_arguments(arg "LINK_TIME" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
                             PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE $<BUILD_INTERFACE:jacquard_flags> ${arg_PRIVATE_DEPENDS})
  if(arg_LINK_TIME)
    jacquard_link_time(${name})
  endif()
endfunction()

# jacquard_test(NAME SOURCES a.c … DEPENDS lib … [FULL]): a cmocka program registered with ctest.
# FULL registers it a second time as NAME.full with the label `full`: there JACQUARD_FULL is set, and the program takes the
# full numbers of the checklist (tests/full.h). ./dev test leaves these out, ./dev test --slow and --full run them.
function(jacquard_test name)
  cmake_parse_arguments(arg "FULL" "TIMEOUT" "SOURCES;DEPENDS;INCLUDES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} jacquard_flags PkgConfig::CMOCKA)
  target_include_directories(${name} PRIVATE ${arg_INCLUDES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  jacquard_no_whole_program(${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  # ./dev test unit, ./dev test api: the folder under tests/ is the label.
  list(GET arg_SOURCES 0 first)
  if(first MATCHES "tests/([a-z]+)/")
    set_tests_properties(${name} PROPERTIES LABELS ${CMAKE_MATCH_1})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  if(arg_FULL)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    add_test(NAME ${name}.full COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${name}.full PROPERTIES LABELS "full;${CMAKE_MATCH_1}" TIMEOUT 14400 ENVIRONMENT JACQUARD_FULL=1)
  endif()
endfunction()

# jacquard_shared(RESULT SOURCES a.c … DEPENDS lib … INCLUDES folder …): sources that several tests have are compiled once. Sets
# RESULT to their objects, to be named among the tests' sources.
function(jacquard_shared result)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;INCLUDES" ${ARGN})
  set(objects)
  foreach(source IN LISTS arg_SOURCES)
    string(MD5 key "${source};${arg_DEPENDS};${arg_INCLUDES}")
    string(SUBSTRING ${key} 0 8 key)
    get_filename_component(name ${source} NAME_WE)
    if(NOT TARGET ${name}_${key})
      add_library(${name}_${key} OBJECT ${source})
      target_include_directories(${name}_${key} PRIVATE ${arg_INCLUDES})
      target_link_libraries(${name}_${key} PRIVATE ${arg_DEPENDS} jacquard_flags PkgConfig::CMOCKA)
    endif()
    list(APPEND objects $<TARGET_OBJECTS:${name}_${key}>)
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()

# jacquard_fuzz(NAME [REPLAYED] SOURCES a.c … DEPENDS lib …): the libFuzzer target bin/NAME, in builds with FUZZ and clang. ./dev fuzz
# runs it. In all other builds, the test NAME_corpus runs it on each input of tests/fuzz/corpus. REPLAYED: another test does that.
function(jacquard_fuzz name)
  cmake_parse_arguments(arg "REPLAYED" "" "SOURCES;DEPENDS;INCLUDES" ${ARGN})
  if(jacquard_fuzz_instrumented)
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${arg_INCLUDES})
    target_link_libraries(${name} PRIVATE ${arg_DEPENDS} jacquard_flags)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_targets ${name})
  elseif(NOT arg_REPLAYED)
    string(REGEX REPLACE "^fuzz_" "" corpus ${name})
    jacquard_shared(replay SOURCES ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.c)
    add_executable(${name}_corpus ${arg_SOURCES} ${replay})
    target_include_directories(${name}_corpus PRIVATE ${arg_INCLUDES})
    target_link_libraries(${name}_corpus PRIVATE ${arg_DEPENDS} jacquard_flags)
    set_target_properties(${name}_corpus PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    jacquard_no_whole_program(${name}_corpus)
    add_test(NAME ${name}_corpus COMMAND ${name}_corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${corpus})
    set_tests_properties(${name}_corpus PROPERTIES LABELS fuzz TIMEOUT 300)
  endif()
endfunction()

# jacquard_bench(NAME SOURCES a.c … DEPENDS lib …): a program in bin/ that ./dev bench runs; see bench/bench.h. Only the target
# `benches` builds it, because each is optimised at link time, which takes long.
function(jacquard_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;INCLUDES" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  add_dependencies(benches ${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} jacquard_flags m)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/bench ${arg_INCLUDES})
  jacquard_whole_program(${name})
endfunction()
