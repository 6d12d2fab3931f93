# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs at the end of an installation; library_folder is where the libraries are now.
if(NOT "$ENV{DESTDIR}" STREQUAL "")
  return() # a staged installation, for a package
endif()
find_program(ldconfig NAMES ldconfig PATHS /usr/sbin /sbin)
set(searched "")
if(ldconfig)
  execute_process(COMMAND ${ldconfig} -N -X -v OUTPUT_VARIABLE searched ERROR_QUIET) # changes nothing
endif()
string(FIND "\n${searched}" "\n${library_folder}:" at)
if(at EQUAL -1)
  message(STATUS "The loader does not search ${library_folder}: link programs with -Wl,-rpath,${library_folder}, "
                 "or start them with LD_LIBRARY_PATH=${library_folder}")
else()
  execute_process(COMMAND ${ldconfig} RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(STATUS "Programs find the libraries after ldconfig, run as root")
  endif()
endif()
