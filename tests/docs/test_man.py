# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Manual pages have every option that the programs' --help has, and the other way round."""

import re
import subprocess

import jacquard
import pytest

MAN = jacquard.ROOT / "docs/man"
PAGES = {
    "jacquard": [["jacquard"], ["jacquard", "trace", "show"], ["jacquard", "sweep"], ["jacquard", "report"],
                 *(["jacquard", "plot", kind] for kind in ("curve", "cdf", "heat", "compare"))],
    "jacquard-lnet": [["jacquard", "lnet"]],
    "jacquard-lst": [["jacquard", "lst"]],
    "jacquard-m0": [["jacquard", "m0"], ["jacquard", "m0", "nettest"]],
    "sim-run-campaign": [["sim-run", "campaign"]],
}


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z]+)*", text))


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_manual_page_has_the_options_of_the_program(page):
    text = (MAN / f"{page}.1").read_text().replace("\\-", "-")
    text = re.sub(r"\\f[A-Z]", "", text)
    helps = ""
    for program, *words in PAGES[page]:
        done = subprocess.run([jacquard.build_directory() / "bin" / program, *words, "--help"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        helps += done.stdout
    described = set(re.findall(r"^(--[a-z0-9-]+)", text, re.M)) | set(re.findall(r"^--[a-z0-9-]+.*, (--[a-z0-9-]+)", text, re.M))
    assert described == options(helps)
    assert f".TH {page.upper()} 1" in text
