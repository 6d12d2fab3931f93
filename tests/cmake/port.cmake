# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the stacks need of an operating system, as processes have it and as ranks have it.
jacquard_test(port_posix_test SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/port_posix.c DEPENDS port_posix pthread)
jacquard_test(port_fiber_test SOURCES ${CMAKE_SOURCE_DIR}/tests/unit/port_fiber.c
              DEPENDS jacquard_run PkgConfig::GLIB PkgConfig::JANSSON m)
