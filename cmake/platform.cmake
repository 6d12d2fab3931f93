# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The simulation and the live fabric exist for x86-64 Linux, as the compute nodes of Cray XC systems are: guarded copies and calls
# on another stack are its instructions, and programs of sim-run are its executables. The compiler is asked, not the machine, because it may be a cross compiler.
include(CheckCSourceCompiles)
check_c_source_compiles("
#if !defined(__linux__) || !defined(__x86_64__) || !defined(__LP64__)
#error
#endif
int main(void) { return 0; }" X86_64_LINUX)
if(NOT X86_64_LINUX)
  unset(X86_64_LINUX CACHE)
  message(FATAL_ERROR "Jacquard needs x86-64 Linux: ${CMAKE_C_COMPILER} makes programs for another platform.")
endif()
