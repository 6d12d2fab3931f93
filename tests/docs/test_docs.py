# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Every command of the documentation is executed: the ```sh blocks of README.md and of the pages in docs/ run in order, each in a
bash of its own at the tree's root with the built programs on PATH. A block marked `sh exit-code=3` must end with that code,
one marked `sh no-run: reason` is not run. A block marked `output` behind one is what it prints: `…` stands for anything in
a line, a line `…` for lines. A block marked with a language and a file of docs/ is a piece of that file."""

import os
import re
import subprocess

import jacquard
import pytest

PAGES = sorted([jacquard.ROOT / "README.md", *(jacquard.ROOT / "docs").glob("**/*.md")])
FENCE = re.compile(r"^```(.*)$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.M)


def name_of(page):
    return str(page.relative_to(jacquard.ROOT))


def code_blocks(text):
    """(line number, info string, code) of each fenced block."""
    start = info = None
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if match and start is None:
            start, info = number, match.group(1).strip()
        elif match:
            yield start, info, "\n".join(lines[start : number - 1])
            start = None
    assert start is None, f"line {start}: the code block is not closed"


def printed(claim, output):
    """Whether the output contains `claim`, the text of an output block."""
    pattern = "".join(r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n"
                      for line in claim.split("\n"))
    return re.search(rf"^{pattern}", output + "\n", re.M) is not None


def test_printed():
    assert printed("b …\n…\nd", "a\nb 1 c  \nx\ny\nd\ne") and printed("b\nd", "b\nd")
    assert not printed("b\nd", "b\nc\nd") and not printed("b", "ab") and not printed("b …\n…\nd", "d\nb 1\n")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands(page):
    environment = dict(os.environ, JACQUARD_BUILD=str(jacquard.build_directory()))
    environment["PATH"] = f"{jacquard.build_directory() / 'bin'}:{environment['PATH']}"
    output = None
    for line, info, code in code_blocks(page.read_text()):
        if info == "output":
            assert output is not None and printed(code, output), (
                f"{name_of(page)}:{line}: that is not what the command before it printed\n--- it printed\n{output}")
        output = None
        expected = re.fullmatch(r"sh(?: exit-code=(\d+))?", info)
        if not expected:
            continue
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], cwd=jacquard.ROOT, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        assert done.returncode == int(expected.group(1) or 0), (
            f"{name_of(page)}:{line}: exit code {done.returncode}\n{code}\n--- it printed\n{done.stdout[-4000:]}")
        output = done.stdout


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_not_run_have_a_reason(page):
    for line, info, _ in code_blocks(page.read_text()):
        if info.startswith("sh"):
            assert re.fullmatch(r"sh( exit-code=\d+| no-run: \w.{10,})?", info), (
                f"{name_of(page)}:{line}: `{info}` is neither `sh exit-code=N` nor `sh no-run: reason`")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sources_are_those_of_the_files(page):
    for line, info, code in code_blocks(page.read_text()):
        piece = re.fullmatch(r"(?:c|yaml) (\S+)", info)
        if piece:
            assert f"\n{code}\n" in (page.parent / piece[1]).read_text(), f"{name_of(page)}:{line}: not in {piece[1]}"


def without_code(page):
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)


def anchors(page):
    """The anchors that GitHub gives to a page's headings."""
    texts = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(without_code(page)))
    return {text.replace(" ", "-") for text in texts}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in LINK.findall(without_code(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), f"{name_of(page)}: no such file: {target}"
        assert not anchor or anchor in anchors(linked), f"{name_of(page)}: no such heading: {target}"


# The page that shows the pictures whose names begin so, and what makes them, in its text.
PICTURES = {"network-": ("network-experiments.md", "harness/network_plots.py"), "plot-": ("plots.md", "cp out/plot-*.svg docs/images/"),
            "report-": ("report.md", "JACQUARD_IMAGES=docs/images"), "validation-": ("validation.md", "harness/validation.py")}


def test_every_picture_is_shown_and_its_command_is_named():
    pictures = list((jacquard.ROOT / "docs/images").iterdir())
    assert len(pictures) > 20
    for picture in pictures:
        [(page, command)] = [found for begin, found in PICTURES.items() if picture.name.startswith(begin)]
        text = (jacquard.ROOT / "docs" / page).read_text()
        assert f"(images/{picture.name})" in text and command in text, f"docs/{page}: {picture.name}"


def test_every_page_is_in_the_index():
    index = (jacquard.ROOT / "docs" / "README.md").read_text()
    for page in (jacquard.ROOT / "docs").glob("**/*.md"):
        link = f"({page.relative_to(jacquard.ROOT / 'docs')})"
        assert page.name == "README.md" or link in index, f"docs/README.md does not name {name_of(page)}"


def test_the_manual_page_names_every_option():
    help_text = subprocess.run([jacquard.sim_run(), "--help"], check=True, capture_output=True, text=True).stdout
    manual = (jacquard.ROOT / "docs/man/sim-run.1").read_text().replace("\\-", "-")
    options = set(re.findall(r"--[a-z-]+", help_text))
    assert len(options) > 10 and {option for option in options if option not in manual} <= {"--help"}


def test_the_manual_page_is_clean():
    done = subprocess.run(["man", "--warnings=all", "-E", "UTF-8", "-l", "-Tutf8", jacquard.ROOT / "docs/man/sim-run.1"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=dict(os.environ, MANWIDTH="80"))
    assert done.returncode == 0 and done.stderr == ""
    assert "EXIT STATUS" in re.sub(".\b", "", done.stdout)  # bold is overstruck


def test_the_trace_of_the_first_command_opens_fast(tmp_path):
    trace = tmp_path / "quickstart.pftrace"
    jacquard.run(jacquard.ROOT / "scenarios/quickstart.yaml", options=["--trace", str(trace)])
    assert trace.stat().st_size < 12e6
