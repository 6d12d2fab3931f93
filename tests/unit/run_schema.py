# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""What sim-run --json prints is what docs/sim-run.schema.json says, whatever the verdict."""

import json
import subprocess
import sys

import jsonschema

RUNS = [
    (["scenarios/barrier.yaml"], 0),
    (["scenarios/fat-tree.yaml"], 0),
    (["scenarios/two-networks.yaml"], 0),
    (["scenarios/sweep.yaml"], 0),
    (["scenarios/stuck.yaml"], 3),
    (["scenarios/stuck.yaml", "--set", "expect=[{outcome: time-limit}, {job: ring, exit: any}]"], 1),
    (["scenarios/stuck.yaml", "--seeds", "1-3"], 1),
    (["scenarios/barrier.yaml", "--seeds", "1-3"], 0),
    (["scenarios/barrier.yaml", "--set", "expect=[{job: meet, exit: 3}]"], 1),
    (["scenarios/sweep.yaml", "--set", "sweep={fabric.preset: [mini2, blade]}"], 1),
]


def main(sim_run):
    with open("docs/sim-run.schema.json", encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    for arguments, expected in RUNS:
        done = subprocess.run([sim_run, *arguments, "--json"], capture_output=True, text=True, check=False)
        assert done.returncode == expected, (arguments, done.returncode, done.stderr)
        result = json.loads(done.stdout)
        # The variant is named, for messages that say where the difference is.
        kind = "campaign" if "runs" in result else "result"
        jsonschema.validate(result, {**schema, "anyOf": [{"$ref": f"#/definitions/{kind}"}]})
        assert result["exit"] == expected


if __name__ == "__main__":
    main(sys.argv[1])
