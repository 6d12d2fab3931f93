# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The files of docs/ci-recipe.md, CITATION.cff and the Containerfile say what they should. In the full set, the commands of the
recipes run in a bare root folder, in the way of the CI systems, and the image is built and used; no CI server and no registry is asked."""

import os
import re
import shutil
import subprocess

import jacquard
import pytest
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


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_a_recipe_has_ten_lines_at_most_and_is_the_one_of_the_page(name):
    text = "".join(line for line in (CI / f"{name}.yaml").read_text().splitlines(True) if not line.startswith("#"))
    assert len(text.splitlines()) <= 10
    assert f"```yaml examples/ci/{name}.yaml\n{text}```\n" in (jacquard.ROOT / "docs/ci-recipe.md").read_text()


def scripts(folder):
    """Writes github.sh and gitlab.sh: what these systems do with the recipes and with the project in `folder`."""
    (folder / "project").mkdir()
    shutil.copy(CI / "fabric.yaml", folder / "project")
    shutil.copy(jacquard.ROOT / "docs/examples/hello_workload.c", folder / "project/hello.c")
    # GitHub: the user of the checkout is not root; each step of a job in a container is a script of sh -e.
    lines = ["set -e", "export CI=true GITHUB_ACTIONS=true HOME=/github/home", "mkdir -p /github/home /__w/project/project",
             "chown 1001 /__w/project /__w/project/project", "cd /__w/project/project"]
    for number, step in enumerate(yaml.load((CI / "github.yaml").read_text(), yaml.BaseLoader)["jobs"]["fabric"]["steps"]):
        if "uses" in step:
            assert step["uses"].startswith("actions/checkout@")
            lines.append("cp -r /recipes/project/. .")
        else:
            (folder / f"github-{number}").write_text(step["run"].replace("${{ vars.JACQUARD_URL }}", "file:///srv/jacquard"))
            lines.append(f"sh -e /recipes/github-{number}")
    (folder / "github.sh").write_text("\n".join(lines) + "\n")
    # GitLab: the files are there; all lines are one script of bash, which gets the variables.
    recipe = yaml.safe_load((CI / "gitlab.yaml").read_text())["fabric"]
    variables = " ".join(f"{name}={value}" for name, value in {**recipe["variables"], "JACQUARD_URL": "file:///srv/jacquard"}.items())
    lines = ["set -eo pipefail", f"export CI=true GITLAB_CI=true {variables}", "mkdir -p /builds/group", "cp -r /recipes/project /builds/group",
             "cd /builds/group/project", *recipe["script"]]
    (folder / "gitlab.sh").write_text("\n".join(lines) + "\n")


@pytest.mark.full
@pytest.mark.skipif(os.getuid() != 0, reason="mounting needs root")
@pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="mmdebstrap is missing")
def test_the_recipes_run_in_a_bare_root_folder(tmp_path):
    scripts(tmp_path)
    environment = dict(os.environ)
    if shutil.which("ccache"):  # the second recipe compiles the same files
        (tmp_path / "cache").mkdir()
        environment.setdefault("CCACHE_DIR", str(tmp_path / "cache"))
    done = subprocess.run([jacquard.ROOT / ".ci/recipes", tmp_path], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-6000:]
    assert len(re.findall(r"^100 runs: 100 hold, 0 do not$", done.stdout, re.M)) == 2, done.stdout[-6000:]
    assert len(re.findall(r"^==== git(?:hub|lab): exit code 0 ", done.stdout, re.M)) == 2


@pytest.mark.full
@pytest.mark.skipif(os.getuid() != 0, reason="mounting needs root")
@pytest.mark.skipif(not shutil.which("buildah"), reason="buildah is missing: apt-get install buildah")
@pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="mmdebstrap is missing")
def test_the_image_of_the_containerfile_is_built_and_used():
    done = subprocess.run([jacquard.ROOT / ".ci/image"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "the image can be built and used" in done.stdout


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
