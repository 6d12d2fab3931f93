# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The Debian packages: each installed file belongs to one of them; in the full set they are built, checked by lintian, installed in
a bare root folder, used and removed."""

import fnmatch
import os
import re
import subprocess

import jacquard
import pytest
from jacquard.installed import Installed

DEBIAN = jacquard.ROOT / "debian"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# debian/rules leaves these to debian/copyright.
LICENCES = ("usr/share/doc/jacquard/LICENSE", "usr/share/doc/jacquard/LICENSES/")


def packaged_name(name):
    """Of a file of the installation, which has lib/ as its library folder."""
    return re.sub(r"^usr/lib/(?!python3/)", f"{LIBRARIES}/", f"usr/{name}")


def test_each_installed_file_is_in_one_package(tmp_path):
    prefix = Installed(tmp_path).prefix
    files = [packaged_name(str(path.relative_to(prefix))) for path in prefix.rglob("*") if not path.is_dir()]
    lists = {path.stem: [line for line in path.read_text().splitlines() if line[:1] != "#"] for path in DEBIAN.glob("*.install")}
    assert set(lists) == set(re.findall(r"^Package: (\S+)", (DEBIAN / "control").read_text(), re.M))
    assert len(files) > 200
    for name in files:
        if not name.startswith(LICENCES):
            parts = ["/".join(name.split("/")[:count]) for count in range(1, name.count("/") + 2)]
            owners = [package for package, patterns in lists.items()
                      if any(part.count("/") == pattern.count("/") and fnmatch.fnmatch(part, pattern) for part in parts for pattern in patterns)]
            assert len(owners) == 1, f"{name}: {owners}"


@pytest.mark.full
def test_the_packages_are_installed_used_and_removed(tmp_path):
    environment = {**os.environ, "LTO": "OFF"}
    subprocess.run([jacquard.ROOT / "dev", "package", tmp_path], check=True, env=environment)  # lintian's objections fail it
    names = {path.name.split("_")[0] for path in tmp_path.glob("*.deb")}
    assert names >= {"jacquard", "jacquard-dev", "libfabric-provider-gni"}
    subprocess.run([jacquard.ROOT / ".ci" / "packages", tmp_path], check=True)
