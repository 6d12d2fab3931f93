# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The JSON schema of scenario files: it accepts every scenario of the tree, and refuses what sim-run refuses."""

import json
import re
import subprocess

import jacquard
import jsonschema
import pytest
import yaml

QUICK = {"fabric": {"preset": "mini2"}, "jobs": [{"name": "a", "workload": "barrier", "nodes": "0-7"}]}


class Core(yaml.CSafeLoader):
    """YAML 1.2, as editors read it: on and off are texts."""


Core.yaml_implicit_resolvers = {first: [(tag, pattern) for tag, pattern in known if not tag.endswith((":bool", ":timestamp"))]
                                for first, known in yaml.CSafeLoader.yaml_implicit_resolvers.items()}
Core.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false|True|False)$"), list("tfTF"))


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(subprocess.run([jacquard.sim_run(), "--schema"], check=True, capture_output=True, text=True).stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def scenarios():
    """(file, document): the scenarios of the tree; a second time where YAML 1.1 reads something else."""
    for folder in ("scenarios", "docs/examples"):
        for file in sorted((jacquard.ROOT / folder).rglob("*.yaml")):
            text = file.read_text()
            document, older = yaml.load(text, Core), yaml.load(text, yaml.CSafeLoader)
            if document.keys() & {"fabric", "networks"} and file.parent.name != "ci":  # neither a campaign nor an export of LNet nor a recipe
                yield file, document
                if older != document:
                    yield file, older


def test_all_scenarios_of_the_tree_are_valid(validator):
    seen = list(scenarios())
    assert len({file for file, _ in seen}) > 100
    assert [f"{file}: {'.'.join(map(str, error.path))}: {error.message[:200]}" for file, document in seen
            for error in validator.iter_errors(document)] == []


BAD = {
    "an unknown field": {"fabrik": {}},
    "an unknown field of a record": {"fabric": {"preset": "mini2", "grops": 3}},
    "a choice that does not exist": {"fabric": {"fidelity": "F3"}},
    "a text for a number": {"fabric": {"groups": "many"}},
    "too many": {"fabric": {"groups": 1000}},
    "a time without a unit": {"limits": {"virtual_time": 5}},
    "a unit that does not exist": {"limits": {"virtual_time": "5 min"}},
    "a job without a name": {"jobs": [{"workload": "barrier", "nodes": "0-7"}]},
    "a mapping for a list": {"jobs": {"name": "a"}},
    "an unknown workload": {"jobs": [{"name": "a", "workload": "barier", "nodes": "0-7"}]},
    "an unknown argument": {"jobs": [{"name": "a", "workload": "barrier", "nodes": "0-7", "args": {"turns": 1}}]},
    "a place for faults that does not exist": {"faults": [{"at": "aries.paket", "do": "drop"}]},
    "an action of another place": {"faults": [{"at": "link", "do": "drop"}]},
    "an expectation without a subject": {"expect": [{"below": 4}]},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_what_sim_run_refuses_is_not_valid(validator, change, tmp_path):
    assert list(validator.iter_errors(QUICK)) == []
    document = {**QUICK, **change}
    file = tmp_path / "bad.yaml"
    file.write_text(yaml.safe_dump(document))
    assert subprocess.run([jacquard.sim_run(), file, "--check"], capture_output=True).returncode == 2
    assert list(validator.iter_errors(document)) != []


def test_the_installed_file_is_what_the_option_prints():
    printed = subprocess.run([jacquard.sim_run(), "--schema"], check=True, capture_output=True, text=True).stdout
    assert (jacquard.build_directory() / "share/jacquard/scenario.schema.json").read_text() == printed


def test_the_page_for_editors_names_the_file():
    page = (jacquard.ROOT / "docs/editors.md").read_text()
    assert page.count("share/jacquard/scenario.schema.json") >= 2 and "yaml.schemas" in page
