# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Starts commands in the folder of its argument. Each line of input is one command, a JSON object {"command": [...],
"environment": {...}, "output": path}. When the input ends, because the test closed it or died, all descendants of these
commands are killed, those that left their session too, and the folder is removed."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def descendants():
    parent_of = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                parent_of[int(pid)] = int(stat.read().rpartition(")")[2].split()[1])
        except OSError: # the process has ended meanwhile
            pass
    found, generation = set(), {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parent_of.items() if parent in generation} - found
        found |= generation
    return found


def end_all():
    while True:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.waitpid(-1, 0) # this process adopts orphans: when it has no children, all processes have ended
        except ChildProcessError:
            return


def main(folder):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): # only the end of the input ends this process
        signal.signal(number, signal.SIG_IGN)
    prctl(PR_SET_CHILD_SUBREAPER, 1)

    def in_child(): # signals as usual, and an end even when this program cannot do its work
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    try:
        for line in sys.stdin:
            order = json.loads(line)
            with open(order["output"], "ab") as output:
                subprocess.Popen(order["command"], env=order["environment"], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=output, start_new_session=True, preexec_fn=in_child)
    finally:
        end_all()
        shutil.rmtree(folder, ignore_errors=True)


main(sys.argv[1])
