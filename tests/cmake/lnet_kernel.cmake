# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What kernel code takes from the kernel, on POSIX threads and for ranks: the programs are those of the cases of m0_net.
if(TARGET libcfs)
  set(kernel_cases ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_cases.c ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_data_cases.c
    ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_items_cases.c ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_device_cases.c
    ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_module_cases.c ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_words_cases.c
    ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_tree_cases.c ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_worker_cases.c
    ${CMAKE_SOURCE_DIR}/tests/lnet/kernel_file_cases.c)
  set(kernel_folders ${CMAKE_SOURCE_DIR}/tests/lnet ${CMAKE_SOURCE_DIR}/tests/m0)
  jacquard_test(lnet_kernel_posix SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/lib_posix.c ${kernel_cases} DEPENDS libcfs port_posix pthread
    INCLUDES ${kernel_folders})
  target_compile_definitions(lnet_kernel_posix PRIVATE M0_CASES="kernel_cases.h")
  set(libcfs_cases ${CMAKE_SOURCE_DIR}/tests/lnet/libcfs_cases.c ${CMAKE_SOURCE_DIR}/tests/lnet/libcfs_hash_cases.c
    ${CMAKE_SOURCE_DIR}/tests/lnet/libcfs_cpt_cases.c)
  jacquard_test(lnet_libcfs_posix SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/lib_posix.c ${libcfs_cases} DEPENDS libcfs port_posix pthread
    INCLUDES ${kernel_folders})
  target_compile_definitions(lnet_libcfs_posix PRIVATE M0_CASES="libcfs_cases.h")
  if(TARGET jacquard_run)
    jacquard_test(lnet_libcfs_fiber SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/lib_fiber.c ${libcfs_cases}
      DEPENDS libcfs jacquard_run PkgConfig::GLIB PkgConfig::JANSSON m INCLUDES ${kernel_folders})
    target_compile_definitions(lnet_libcfs_fiber PRIVATE M0_CASES="libcfs_cases.h" LIBCFS_FIBERS)
    jacquard_test(lnet_libcfs_crash SOURCES ${CMAKE_SOURCE_DIR}/tests/lnet/libcfs_crash_test.c
      DEPENDS libcfs jacquard_run PkgConfig::GLIB PkgConfig::JANSSON m)
    jacquard_test(lnet_kernel_fiber SOURCES ${CMAKE_SOURCE_DIR}/tests/m0/lib_fiber.c ${kernel_cases}
      DEPENDS libcfs jacquard_run PkgConfig::GLIB PkgConfig::JANSSON m INCLUDES ${kernel_folders})
    target_compile_definitions(lnet_kernel_fiber PRIVATE M0_CASES="kernel_cases.h")
  endif()
endif()

# Live: run by tests/live/test_lnet_kernel_code.py.
if(TARGET lnet)
  add_executable(lnet_kernel_code ${CMAKE_SOURCE_DIR}/tests/live/lnet_kernel_code.c ${CMAKE_SOURCE_DIR}/workloads/support/lnet_service.c
    ${CMAKE_SOURCE_DIR}/workloads/support/lnet_service_client.c)
  target_include_directories(lnet_kernel_code PRIVATE ${CMAKE_SOURCE_DIR}/workloads)
  target_link_libraries(lnet_kernel_code PRIVATE lnet jacquard_flags)
  set_target_properties(lnet_kernel_code PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  jacquard_no_whole_program(lnet_kernel_code)
endif()

# The names of the kernel, as its own code uses them, with all warnings, and with the system's headers before or behind.
foreach(names IN ITEMS kernel_names)
  foreach(kernel IN ITEMS kernel user)
    foreach(order IN ITEMS system_first lnet_first system_last)
      string(TOUPPER ${order} defined)
      set(options -std=gnu11 -D${defined})
      if(kernel STREQUAL kernel)
        set(options -std=gnu89 -D${defined} -D__KERNEL__) # as the kernel's build of that time
      endif()
      add_test(NAME lnet_99_${names}_${kernel}_${order} COMMAND ${CMAKE_C_COMPILER} -Wall -Wextra -Werror -fsyntax-only
        -I${CMAKE_SOURCE_DIR}/sim/lnet/include ${options} ${CMAKE_SOURCE_DIR}/tests/lnet/${names}.c)
      set_tests_properties(lnet_99_${names}_${kernel}_${order} PROPERTIES LABELS lnet)
    endforeach()
  endforeach()
endforeach()

# A test tool in the style of kernel modules, file by file and as one unit, in the languages of kernels of several years.
foreach(file IN ITEMS lab_timer lab_rpc lab_module lab_unit)
  foreach(standard IN ITEMS gnu89 gnu99 gnu11)
    add_test(NAME lnet_99_consumer_${file}_${standard} COMMAND ${CMAKE_C_COMPILER} -std=${standard} -D__KERNEL__ -Wall -Wextra
      -Werror -fsyntax-only -I${CMAKE_SOURCE_DIR}/sim/lnet/include
      ${CMAKE_SOURCE_DIR}/tests/lnet/consumer/${file}.c)
    set_tests_properties(lnet_99_consumer_${file}_${standard} PROPERTIES LABELS lnet)
  endforeach()
endforeach()

# lnet/api.h from C++.
if(CXX_FOR_HEADER AND TARGET lnet AND NOT SANITIZE AND NOT COVERAGE)
  foreach(standard IN ITEMS c++11 gnu++17)
    add_test(NAME lnet_99_cxx_${standard} COMMAND ${CXX_FOR_HEADER} -std=${standard} -Wall -Wextra -Werror
      -I${CMAKE_SOURCE_DIR}/sim/lnet/include ${CMAKE_SOURCE_DIR}/tests/lnet/cxx_names.cc
      -o ${CMAKE_BINARY_DIR}/tests/lnet_cxx_${standard} $<TARGET_FILE:lnet>)
    set_tests_properties(lnet_99_cxx_${standard} PROPERTIES LABELS lnet)
  endforeach()
endif()
