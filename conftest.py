# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "harness"))

pytest_plugins = ["jacquard.plugin", "jacquard.scenario_files"]


def pytest_addoption(parser):
    parser.addoption("--part", metavar="K/N", help="only every N-th test, from the K-th on (./dev test --full --part)")


def pytest_collection_modifyitems(config, items):
    # Each process of pytest takes whole files. The files of tests first, because some take minutes; a scenario takes seconds, so that
    # all processes end at about the same time.
    items.sort(key=lambda item: item.path.suffix == ".yaml")
    if config.getoption("--part"):
        first, parts = (int(number) for number in config.getoption("--part").split("/"))
        chosen = items[first - 1::parts]
        config.hook.pytest_deselected(items=[item for i, item in enumerate(items) if i % parts != first - 1])
        items[:] = chosen
