# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The provider's object files: hundreds of processes share them in a simulation, so none may have a variable; and they
use nothing of the system but what the port and a C library without state offer. Arguments: the object files."""

import pathlib
import re
import subprocess
import sys

# Written while the program is loaded, then read-only.
CONSTANT = re.compile(r"^\.data\.rel\.ro")
WRITABLE = re.compile(r"^\.(data|bss|tdata|tbss)")
# libfabric notes something in struct fi_provider when it loads the plug-in.
ALLOWED = {"prov.c": 72}
PORT = re.compile(r"^(GNI_|gni_|port_|gnip_|_GLOBAL_OFFSET_TABLE_$|__stack_chk_fail$)")
# Of libfabric.so, only what it exports to everybody.
LIBFABRIC = {"fi_dupinfo", "fi_freeinfo", "fi_getinfo", "fi_fabric", "fi_strerror", "fi_tostr", "fi_version",
             "fi_param_define", "fi_param_get", "fi_log", "fi_log_enabled"}
LIBC = {"malloc", "calloc", "realloc", "free", "aligned_alloc", "memcpy", "memset", "memcmp", "memmove", "memchr",
        "strcmp", "strncmp", "strlen", "strnlen", "strchr", "strdup", "strtoul", "strtol", "strtoll", "bcmp",
        "strncpy", "snprintf", "vsnprintf"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def writable(path):
    """Bytes of variables."""
    lines = [line.split() for line in output("size", "-A", path).splitlines()]
    return sum(int(line[1]) for line in lines
               if len(line) == 3 and WRITABLE.match(line[0]) and not CONSTANT.match(line[0]))


def undefined(path):
    return [line.split()[-1] for line in output("nm", "-u", path).splitlines() if line.strip()]


def main(paths):
    problems = []
    for path in paths:
        name = pathlib.Path(path).name.removesuffix(".o")
        size = writable(path)
        if size > ALLOWED.get(name, 0):
            problems.append(f"{name}: {size} bytes of variables; what a process needs hangs off its context")
        problems += [f"{name}: calls {symbol}" for symbol in undefined(path)
                     if not PORT.match(symbol) and symbol not in LIBFABRIC | LIBC]
    print("\n".join(problems) or f"{len(paths)} objects have no variables")
    return bool(problems) or not paths


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
