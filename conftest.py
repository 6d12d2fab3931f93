# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "harness"))

pytest_plugins = ["jacquard.plugin", "jacquard.scenario_files"]
