# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Installs the tree under DESTDIR, as a package would, so that nothing may depend on its location."""

import os
import subprocess

from .runner import build_directory


def command(arguments, timeout=300, **options):
    """Runs a command and returns its output; a failure is an assertion."""
    done = subprocess.run(list(map(str, arguments)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=timeout, **options)
    assert done.returncode == 0, f"{' '.join(map(str, arguments))}\n{done.stdout}"
    return done.stdout


class Installed:
    def __init__(self, root):
        command(["cmake", "--install", build_directory()], env=dict(os.environ, DESTDIR=str(root)))
        self.pkgconfig = next(root.rglob("cray-ugni.pc")).parent
        self.library = self.pkgconfig.parent
        self.sim_run = next(root.rglob("bin/sim-run"))
        self.prefix = self.sim_run.parent.parent
        self.environment = dict(os.environ, PKG_CONFIG_PATH=str(self.pkgconfig), LD_LIBRARY_PATH=str(self.library))

    def pkg_config(self, *arguments):
        return command(["pkg-config", *arguments], env=self.environment).split()
