# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The files of docs/ci-recipe.md, CITATION.cff and the Containerfile say what they should, as far as that can be tested without a
CI server and a registry."""

import re
import subprocess

import jacquard
import yaml

CI = jacquard.ROOT / "docs/examples/ci"


def commands():
    """(name, command) of each step of the recipes and of the Containerfile."""
    github = yaml.load((CI / "github.yaml").read_text(), yaml.BaseLoader)
    steps = github["jobs"]["fabric"]["steps"]
    assert github["on"] == ["push", "pull_request"] and github["jobs"]["fabric"]["container"] == "debian:bookworm"
    assert all(set(step) in ({"run"}, {"uses"}) for step in steps)
    gitlab = yaml.safe_load((CI / "gitlab.yaml").read_text())["fabric"]
    assert gitlab["image"] == "debian:bookworm"
    for step in steps:
        if "run" in step:
            yield "github.yaml", step["run"].replace("${{ vars.JACQUARD_URL }}", "$JACQUARD_URL")
    for line in gitlab["script"]:
        yield "gitlab.yaml", line
    container = (jacquard.ROOT / "Containerfile").read_text().replace("\\\n", " ")
    yield from (("Containerfile", line) for line in re.findall(r"^RUN (.*)$", container, re.M))


def test_commands_are_shell_and_their_options_exist():
    help_text = subprocess.run([jacquard.sim_run(), "--help"], check=True, capture_output=True, text=True).stdout
    dev = subprocess.run([jacquard.ROOT / "dev", "help"], check=True, capture_output=True, text=True).stdout
    seen = set()
    for name, command in commands():
        assert subprocess.run(["bash", "-n", "-c", command], capture_output=True).returncode == 0, f"{name}: {command}"
        for option in re.findall(r"jacquard/dev run .*?(--[a-z-]+)", command):
            assert option in help_text, f"{name}: {option}"
            seen.add(name)
        for subcommand in re.findall(r"jacquard/dev ([a-z]+)", command):
            assert re.search(rf"^  {subcommand}\b", dev, re.M), f"{name}: ./dev {subcommand}"
            seen.add(name)
        for folder in re.findall(r"-I/opt/jacquard/(\S+)", command):
            assert (jacquard.ROOT / folder).is_dir(), f"{name}: {folder}"
    assert seen == {"github.yaml", "gitlab.yaml", "Containerfile"}


def test_the_containerfile_has_known_instructions():
    text = (jacquard.ROOT / "Containerfile").read_text().replace("\\\n", " ")
    words = [line.split()[0] for line in text.splitlines() if line and not line.startswith("#")]
    assert words == ["FROM", "COPY", "RUN", "ENV", "WORKDIR", "ENTRYPOINT"]
    assert 'ENTRYPOINT ["sim-run"]' in text


def test_the_citation_is_complete():
    citation = yaml.safe_load((jacquard.ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["authors"] == [{"name": "Jacquard developers"}]
    version = subprocess.run([jacquard.sim_run(), "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    assert citation["version"] == version
    assert f"## {version} " in (jacquard.ROOT / "CHANGELOG.md").read_text()
