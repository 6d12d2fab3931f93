# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "harness"))

pytest_plugins = ["jacquard.plugin", "jacquard.scenario_files"]


def pytest_collection_modifyitems(items):
    # Each process of pytest takes whole files. The files of tests first, because some take minutes; a scenario takes seconds, so that
    # all processes end at about the same time.
    items.sort(key=lambda item: item.path.suffix == ".yaml")
