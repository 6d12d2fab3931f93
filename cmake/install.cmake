# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The files that `cmake --install` installs: sim-run for people, libugni and its headers for uGNI programs, workload.h for
# workloads built as shared objects.
include(CMakePackageConfigHelpers)

set(jacquard_headers ${CMAKE_INSTALL_INCLUDEDIR}/jacquard)
install(FILES sim/aries/include/gni_pub.h DESTINATION ${jacquard_headers})
install(FILES sim/aries/include/aries/misc/exceptions.h DESTINATION ${jacquard_headers}/aries/misc)
install(FILES workloads/include/run/workload.h DESTINATION ${jacquard_headers}/run)

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
  install(TARGETS fi-plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/jacquard/sim-run)
endif()

# The Python package, with the metadata by which pytest finds its plugin. Parts of it that need the source tree stay there.
install(DIRECTORY harness/jacquard DESTINATION lib/python3/dist-packages
        FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN __pycache__ EXCLUDE
        PATTERN generate.py EXCLUDE PATTERN installed.py EXCLUDE)
foreach(file IN ITEMS METADATA entry_points.txt)
  configure_file(cmake/python/${file}.in ${CMAKE_BINARY_DIR}/python/${file} @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/python/${file} DESTINATION lib/python3/dist-packages/jacquard-${PROJECT_VERSION}.dist-info)
endforeach()

if(TARGET jacquard)
  install(TARGETS jacquard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS jacquard-node LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/jacquard)
endif()
# libugni searches for it in the bin folder of its own prefix.
if(TARGET jacquard-fabricd)
  install(TARGETS jacquard-fabricd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# LNet over TCP: the headers have the names of the kernel's, so they lie in a folder of their own.
if(TARGET lnet)
  install(DIRECTORY sim/lnet/include/ DESTINATION ${jacquard_headers}/lnet FILES_MATCHING PATTERN *.h REGEX "/lnet/(node|export|tools)\\.h$" EXCLUDE)
  install(TARGETS lnet lnet_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS jacquard-lnet jacquard-lst RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# m0_net over a daemon. Its sources name headers relative to one folder.
if(TARGET m0net_live)
  foreach(folder IN ITEMS addb2 lib mero module motr net sm ut xcode)
    list(APPEND m0_headers stack/lnet_xprt/${folder})
  endforeach()
  install(DIRECTORY ${m0_headers} DESTINATION ${jacquard_headers}/m0net
          FILES_MATCHING PATTERN *.h PATTERN linux_kernel EXCLUDE PATTERN mem_xprt_pvt.h EXCLUDE)
  install(FILES stack/lnet_xprt/include/m0/live.h DESTINATION ${jacquard_headers}/m0net/m0)
  install(DIRECTORY stack/port/include/port DESTINATION ${jacquard_headers}/m0net FILES_MATCHING PATTERN port.h)
  install(TARGETS m0net_live LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS jacquard-m0 RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Madeleine II: programs of the year 2000 include <madeleine.h>.
if(TARGET madeleine_shared)
  install(DIRECTORY stack/madeleine/include/ DESTINATION ${jacquard_headers}/madeleine FILES_MATCHING PATTERN *.h)
  get_property(madeleine_modules GLOBAL PROPERTY madeleine_modules)
  install(TARGETS madeleine_shared ${madeleine_modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS mad_ping mad_test RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The networks of its paper, for programs that call VIPL, SISCI or SBP themselves.
if(TARGET vipl_shared)
  install(DIRECTORY sim/legacy/include/ DESTINATION ${jacquard_headers}/legacy FILES_MATCHING PATTERN vipl.h PATTERN sisci_*.h PATTERN sbp_messages.h
          PATTERN legacy EXCLUDE)
  install(TARGETS vipl_shared sisci_shared sbp_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# The libraries that accompany libugni on a Cray system.
if(TARGET jacquard_cray)
  install(DIRECTORY sim/cray/include/ DESTINATION ${jacquard_headers} FILES_MATCHING PATTERN *.h PATTERN cray EXCLUDE)
  install(DIRECTORY stack/pmi2/include/ DESTINATION ${jacquard_headers} FILES_MATCHING PATTERN *.h)
  install(TARGETS pmi pmi_static pmi2 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  foreach(library IN ITEMS alpslli alpsutil udreg xpmem rca wlm_detect hugetlbfs)
    install(TARGETS cray_${library} cray_${library}_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endforeach()
endif()

# The pkg-config files derive the prefix from their own location, so that an installed tree can be moved.
file(RELATIVE_PATH jacquard_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" jacquard_pc_to_prefix "${jacquard_pc_to_prefix}")
# The libraries that programs linked to libugni.a need.
set(jacquard_ugni_private "-lprotobuf-c -lglib-2.0 -lm")
foreach(module IN ITEMS cray-ugni cray-gni-headers jacquard lnet)
  configure_file(cmake/${module}.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/${module}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
# Cray's packages: the name that configure scripts ask for, the link options ("" is a package of headers), a description.
foreach(package IN ITEMS
    "pmi|-lpmi|PMI" "alpslli|-lalpslli|ALPS, low-level interface" "alpsutil|-lalpsutil|ALPS, placement" "alps||ALPS, headers"
    "udreg|-ludreg|cache of memory registrations" "xpmem|-lxpmem|memory of other processes of a node" "kdreg||kdreg, headers"
    "wlm_detect|-lwlm_detect|which workload manager" "rca|-lrca|nodes of the machine" "krca||RCA, headers")
  string(REPLACE "|" ";" package "${package}")
  list(GET package 0 name)
  list(GET package 1 jacquard_package_libs)
  list(GET package 2 jacquard_package_meaning)
  set(jacquard_package cray-${name})
  set(jacquard_package_cflags "-I\${includedir}/jacquard")
  if(jacquard_package_libs)
    set(jacquard_package_libs "-L\${libdir} ${jacquard_package_libs}")
  endif()
  configure_file(cmake/package.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/cray-${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/cray-${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Madeleine II, and the networks of its paper: the module, folders of headers below include/jacquard, the library, a description.
foreach(package IN ITEMS
    "madeleine|madeleine|madeleine|Madeleine II, interface of April 2000"
    "madeleine-2000|madeleine/compat/mad2_2000 madeleine|madeleine|Madeleine II, interface of April 2000 with all its macros"
    "madeleine-2008|madeleine/compat/mad2_2008 madeleine|madeleine|Madeleine II, interface of 2008"
    "madeleine-3|madeleine/compat/mad3 madeleine|madeleine|Madeleine III, as far as its example programs use it"
    "vipl|legacy|vipl|VIPL 1.0, on simulated networks" "sisci|legacy|sisci|SISCI, on simulated networks"
    "sbp|legacy|sbp|SBP, on simulated networks")
  string(REPLACE "|" ";" package "${package}")
  list(GET package 0 jacquard_package)
  list(GET package 1 folders)
  list(GET package 2 library)
  if(NOT TARGET ${library}_shared)
    continue()
  endif()
  list(GET package 3 jacquard_package_meaning)
  string(REGEX REPLACE "([^ ]+)" "-I\${includedir}/jacquard/\\1" jacquard_package_cflags "${folders}")
  set(jacquard_package_libs "-L\${libdir} -l${library}")
  configure_file(cmake/package.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/${jacquard_package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/${jacquard_package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

if(TARGET pmrun)
  install(TARGETS pmrun pmproxy pmnameserver RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # In a folder of its own, because a Cray system has one.
  install(PROGRAMS stack/pmi2/launcher/aprun DESTINATION ${CMAKE_INSTALL_DATADIR}/jacquard/bin)
  # In a folder of their own, because Cray's libpmi has the same name; pmrun -ompi sets the search path.
  install(TARGETS pmi pmi2 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/jacquard/pmi)
endif()
foreach(section IN ITEMS 1 7 8)
  file(GLOB pages CONFIGURE_DEPENDS docs/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# Completion in shells. The candidates come from the programs' help.
set(completion cmake/completion)
install(PROGRAMS ${completion}/complete.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/jacquard)
install(FILES ${completion}/_jacquard DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
foreach(program IN ITEMS sim-run jacquard jacquard-fabricd jacquard-lnet jacquard-lst jacquard-m0 pmrun pmnameserver mad_ping mad_test)
  set(file jacquard)
  if(program STREQUAL "pmrun") # values of its options, too
    set(file pmrun)
  endif()
  install(FILES ${completion}/${file}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
  configure_file(${completion}/program.fish.in ${CMAKE_BINARY_DIR}/completion/${program}.fish @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/completion/${program}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endforeach()
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/jacquard FILES_MATCHING PATTERN *.yaml)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Last: updates the loader's cache if the loader searches that folder (/usr/local/lib), and otherwise tells the user.
install(CODE "set(library_folder \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")")
install(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/loader.cmake)
