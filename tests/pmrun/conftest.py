# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
import sys
from pathlib import Path

import jacquard
import pytest
from jacquard.installed import command

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def probe(tmp_path_factory):
    """The program of probe.c; its path is unlike that of any other process."""
    program = tmp_path_factory.mktemp("pmrun") / "probe"
    command(["gcc", "-Wall", "-Wextra", "-Werror", f"-I{jacquard.ROOT}/stack/pmi2/include", Path(__file__).parent / "probe.c",
             "-o", program, f"-L{jacquard.build_directory()}/lib/pmi", "-l:libpmi2.so.0"])
    return program
