# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Running scenarios and reading their results from Python: docs/python.md.

    import jacquard
    result = jacquard.run("scenarios/quickstart.yaml", seed=3, set={"fabric.fidelity": "F0"})
    print(result.exit_code, result.digest, result.metric("pingpong.latency")["p99"])
"""

from .runner import BAD_INPUT, FAILED, OK, ROOT, STUCK, Result, build_directory, differences, run, sim_run

__all__ = ["BAD_INPUT", "FAILED", "OK", "ROOT", "STUCK", "Result", "build_directory", "differences", "run", "sim_run"]
