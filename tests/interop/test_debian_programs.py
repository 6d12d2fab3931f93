# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Unmodified programs of Debian under pmrun on an emulated fabric: HPCC, NetPIPE, an example of PETSc and a test
of ScaLAPACK. Each runs twice, through libfabric over the provider gni and through shared memory without a fabric, and says
the same both times, its times and rates aside."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import jacquard
import pytest

sys.path.insert(0, str(jacquard.ROOT / "tests/live"))

from fabric import PMRUN, run  # noqa: E402

SCALAPACK = sorted(Path("/usr/lib").glob("*/scalapack/openmpi-tests/xdllt"))
PETSC = sorted(Path("/usr/share/petsc").glob("*/share/petsc/examples/src/ksp/ksp/tutorials/ex2.c"))
HPCC = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")

FABRIC = {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include": "gni", "osc": "pt2pt"}
SHARED_MEMORY = {"pml": "ob1", "btl": "vader,self", "osc": "pt2pt"}


def settings(values):
    return [word for name, value in values.items() for word in ("--genv", f"OMPI_MCA_{name}", value)]


def on_the_fabric(ranks, *command, cwd):
    done = run(PMRUN, "--fabric", "--ompi", *settings(FABRIC), "-n", ranks, *command, cwd=cwd)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert f"fabric: {ranks} processes on {ranks} of 16 nodes" in done.stderr, done.stderr
    moved = [float(line.split()[2]) for line in done.stderr.splitlines() if line.lstrip().startswith("nid")]
    assert len(moved) == ranks and min(moved) > 0, done.stderr  # every rank used it
    return done


def in_shared_memory(ranks, *command, cwd):
    done = run(PMRUN, "--ompi", *settings(SHARED_MEMORY), "-n", ranks, *command, cwd=cwd)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done


@pytest.fixture
def folders(tmp_path):
    made = tmp_path / "fabric", tmp_path / "memory"
    for folder in made:
        folder.mkdir()
    return made


def needs(*there):
    return pytest.mark.skipif(not all(there), reason="the Debian package is not installed (./dev setup)")


def hpcc_summary(folder):
    text = (folder / "hpccoutf.txt").read_text()
    section = text.split("Begin of Summary section.")[1].split("End of Summary section.")[0]
    return dict(line.split("=", 1) for line in section.split())


# The lines of HPCC's summary that do not depend on time. The residual of DGEMM does, because the clock seeds its matrices.
HPCC_RESULTS = ("CommWorldProcs", "HPL_N", "HPL_nprow", "HPL_npcol", "HPL_RnormI", "HPL_Anorm1", "HPL_AnormI", "HPL_Xnorm1",
                "HPL_XnormI", "HPL_BnormI", "PTRANS_residual", "PTRANS_n", "MPIRandomAccess_N", "MPIRandomAccess_Errors",
                "MPIRandomAccess_ErrorsFraction", "MPIRandomAccess_LCG_Errors", "MPIFFT_N", "MPIFFT_maxErr", "Success")


@needs(shutil.which("hpcc"), HPCC.exists())
def test_hpcc(folders):
    lines = HPCC.read_text().splitlines()
    lines[5], lines[9], lines[10], lines[11] = "100 Ns", "1 process grid", "1 Ps", "2 Qs"
    for folder in folders:
        (folder / "hpccinf.txt").write_text("\n".join(lines) + "\n")
    on_the_fabric(2, "hpcc", cwd=folders[0])
    in_shared_memory(2, "hpcc", cwd=folders[1])
    found, expected = (hpcc_summary(folder) for folder in folders)
    assert found["Success"] == "1" and float(found["MPIRandomAccess_Errors"]) == 0
    assert {name: found[name] for name in HPCC_RESULTS} == {name: expected[name] for name in HPCC_RESULTS}
    for folder in folders:
        assert "FAILED" not in (folder / "hpccoutf.txt").read_text()


@needs(shutil.which("NPopenmpi"))
def test_netpipe(folders):
    """With -i it compares every byte. The lengths are around every power of two, up to messages that the receiver fetches."""
    command = ("NPopenmpi", "-i", "-u", "200000", "-n", "3")
    found = on_the_fabric(2, *command, cwd=folders[0]).stderr
    expected = in_shared_memory(2, *command, cwd=folders[1]).stderr
    lines = [line for line in found.splitlines() if "-->" in line]
    assert len(lines) > 30 and all(line.endswith("Integrity check passed") for line in lines), found
    assert lines == [line for line in expected.splitlines() if "-->" in line]


@needs(PETSC, shutil.which("mpicc.openmpi"), shutil.which("pkg-config"))
@pytest.mark.parametrize("solver", ["cg", "gmres"])
def test_petsc(folders, tmp_path, solver):
    """Solves a linear system on four ranks and compares all digits of the residual's norm after each step."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "PETSc"], capture_output=True, text=True, check=True).stdout.split()
    built = subprocess.run(["mpicc.openmpi", PETSC[-1], "-o", tmp_path / "ex2", *flags, "-lm"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    command = (tmp_path / "ex2", "-m", "40", "-n", "40", "-ksp_type", solver, "-ksp_monitor", "-ksp_view")
    found = on_the_fabric(4, *command, cwd=folders[0]).stdout
    expected = in_shared_memory(4, *command, cwd=folders[1]).stdout
    assert found.count("KSP Residual norm") > 20 and "Norm of error" in found, found
    assert found == expected


LLT = """'ScaLAPACK, LLt factorization input file'
'MPI machine'
'LLT.out' output file name (if any)
6 device out
'U' define Lower or Upper
2 number of problem sizes
31 57 values of N
2 number of NBs
3 5 values of NB
2 number of NRHSs
3 9 values of NRHS
1 number of NBRHSs
5 values of NBRHS
2 number of process grids
1 2 values of P
4 2 values of Q
3.0 threshold
F test the condition estimator and iterative refinement
"""


def without_times(text):
    """The rows of results without times and rates."""
    rows = [line.split() for line in text.splitlines() if re.match(r"(WALL|CPU )\s", line)]
    return [(row[1], *row[2:8], row[-1]) for row in rows]


@needs(SCALAPACK)
def test_scalapack(folders):
    """Cholesky factorizations on grids of 1 x 4 and 2 x 2 processes; the program checks its residuals. Without iterative
    refinement: with it this program of Debian sometimes stops, over our provider and over libfabric's tcp."""
    for folder in folders:
        (folder / "LLT.dat").write_text(LLT)
    found = on_the_fabric(4, SCALAPACK[-1], cwd=folders[0]).stdout
    expected = in_shared_memory(4, SCALAPACK[-1], cwd=folders[1]).stdout
    rows = without_times(found)
    assert len(rows) == 16 and {row[-1] for row in rows} == {"PASSED"}, found
    assert rows == without_times(expected)
    assert re.search(r"\n\s*16 tests completed and passed residual checks", found), found
