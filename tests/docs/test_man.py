# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Manual pages: every program and library has one, with every option that --help has, and the other way round; they are free of
mistakes in the markup, and what they include is there."""

import os
import re
import subprocess

import jacquard
import pytest
from jacquard.installed import Installed

MAN = jacquard.ROOT / "docs/man"
PAGES = {
    "jacquard-fabricd": [["jacquard-fabricd"]],
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
    [file] = MAN.glob(f"{page}.[18]")
    text = file.read_text().replace("\\-", "-")
    text = re.sub(r"\\f[A-Z]", "", text)
    helps = ""
    for program, *words in PAGES[page]:
        done = subprocess.run([jacquard.build_directory() / "bin" / program, *words, "--help"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        helps += done.stdout
    described = set(re.findall(r"^(--[a-z0-9-]+)", text, re.M)) | set(re.findall(r"^--[a-z0-9-]+.*, (--[a-z0-9-]+)", text, re.M))
    assert described == options(helps)
    assert f".TH {page.upper()} {file.suffix[1:]}" in text


def test_each_installed_program_has_a_page():
    programs = re.findall(r"install\(TARGETS ([a-z0-9_ -]+) RUNTIME", (jacquard.ROOT / "cmake/install.cmake").read_text())
    names = {name for line in programs for name in line.split()}
    assert {"sim-run", "pmproxy", "mad_test", "jacquard-fabricd"} < names
    assert names <= {file.stem for file in MAN.iterdir() if file.suffix in (".1", ".8")}


def test_each_installed_library_and_header_has_a_page(tmp_path):
    prefix = Installed(tmp_path).prefix
    pages = {path.name for path in (prefix / "share/man/man7").iterdir()}
    # Modules that other programs load have no page of their own: a provider of libfabric, ways of Madeleine, parts of our programs.
    libraries = {path.name.removesuffix(".so") for path in (prefix / "lib").glob("lib*.so")} - {"libjacquard-node"}
    libraries -= {name for name in libraries if name.startswith("libmadeleine-")}
    assert {"libugni", "libpmi", "libudreg", "libvipl"} < libraries
    for name in libraries:
        page = {"libgni-fi": "fi_gni.7", "libhugetlbfs": "jacquard-cray.7"}.get(name, f"{name}.7")
        assert page in pages and (prefix / "share/man/man7" / page).exists(), f"{name}: no page {page}"
    included = {header for page in (prefix / "share/man/man7").iterdir() for header in re.findall(r"^\.B #include <(.*)>$", page.read_text(), re.M)}
    headers = prefix / "include/jacquard"
    main = {str(path.relative_to(headers)) for folder in (".", "alps", "rdma", "run") for path in (headers / folder).glob("*.h")}
    main |= {path.name for path in (headers / "legacy").glob("*.h")}
    assert len(main) > 20 and main <= included, main - included


def test_aprun_is_in_the_page_of_its_launcher():
    text = (MAN / "pmrun.1").read_text()
    assert ".SH APRUN" in text and (jacquard.ROOT / "stack/pmi2/launcher/aprun").exists()


@pytest.mark.parametrize("file", sorted(MAN.iterdir()), ids=lambda file: file.name)
def test_a_page_is_free_of_mistakes(file):
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", file], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MANROFFSEQ": ""})
    assert done.returncode == 0 and done.stderr == ""
    # References to other pages of ours: they exist.
    for name, section in re.findall(r"^\.BR ([\w\\-]+) \((\d)\)", file.read_text(), re.M):
        if name not in ("lst", "sbatch"):  # of Lustre, of Slurm
            assert (MAN / f"{name}.{section}".replace("\\", "")).exists(), name


@pytest.mark.parametrize("file", sorted(MAN.glob("*.7")), ids=lambda file: file.name)
def test_what_the_page_of_a_library_includes_is_there(file):
    headers = re.findall(r"^\.B #include <(.*)>$", file.read_text(), re.M)
    folders = ["sim/aries/include", "sim/lnet/include", "stack/pmi2/include", "stack/madeleine/include", "stack/gni_prov/include",
               "workloads/include", "stack/lnet_xprt", "stack/lnet_xprt/include", "sim/cray/include", "sim/legacy/include"]
    assert headers
    for header in headers:
        assert header == "rdma/fabric.h" or any((jacquard.ROOT / folder / header).exists() for folder in folders), header
