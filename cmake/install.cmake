# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What `cmake --install` puts where: sim-run for people, libugni and its headers for uGNI programs, workload.h for
# workloads built as shared objects.
include(CMakePackageConfigHelpers)

set(jacquard_headers ${CMAKE_INSTALL_INCLUDEDIR}/jacquard)
install(FILES sim/aries/include/gni_pub.h DESTINATION ${jacquard_headers})
install(FILES sim/aries/include/aries/misc/exceptions.h DESTINATION ${jacquard_headers}/aries/misc)
install(FILES sim/run/include/run/workload.h DESTINATION ${jacquard_headers}/run)

if(TARGET ugni)
  target_include_directories(ugni INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/jacquard>)
  install(TARGETS ugni EXPORT jacquardTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT jacquardTargets NAMESPACE jacquard:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/jacquard)
  configure_package_config_file(cmake/jacquardConfig.cmake.in ${CMAKE_BINARY_DIR}/jacquardConfig.cmake
                                INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/jacquard)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/jacquardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/jacquardConfig.cmake ${CMAKE_BINARY_DIR}/jacquardConfigVersion.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/jacquard)
endif()
if(TARGET ugni_static)
  install(TARGETS ugni_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET sim-run)
  install(TARGETS sim-run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The pkg-config files find their prefix from where they lie, so that an installed tree can be moved.
file(RELATIVE_PATH jacquard_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" jacquard_pc_to_prefix "${jacquard_pc_to_prefix}")
# What libugni.a leaves open.
set(jacquard_ugni_private "-lboost_context -lprotobuf-c -lglib-2.0 -lm")
foreach(module IN ITEMS cray-ugni cray-gni-headers jacquard)
  configure_file(cmake/${module}.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/${module}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(FILES docs/man/sim-run.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/jacquard FILES_MATCHING PATTERN *.yaml)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR})
