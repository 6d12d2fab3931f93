# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""aprun: scripts that start programs with ALPS's launcher start them on a fabric."""

import pytest
from fabric import BUILD, environment, run

APRUN = BUILD / "share/jacquard/bin/aprun"
SAY = ["sh", "-c", 'echo "$PMI_RANK $PMI_SIZE ${JACQUARD_FABRIC:+fabric} [$WORD] $*"', "say"]


def lines(*arguments):
    done = run(APRUN, *arguments)
    assert done.returncode == 0 and done.stderr == "", done
    return sorted(done.stdout.splitlines())


def test_words_of_libfabrics_test_script():
    assert lines("-n1", "-N1", "-j0", "-cc", "none", "-t1200", *SAY, "-j1") == ["0 1 fabric [] -j1"]


def test_processes_and_variables():
    assert lines("--pes=4", "-N", "2", "-q", "-e", "WORD=two words", "-d", "1", *SAY, "a b") == [
        f"{rank} 4 fabric [two words] a b" for rank in range(4)]


def test_several_programs():
    assert lines("-n", "2", *SAY, "first", ":", "-n2", "-e", "WORD=x", *SAY, "second") == [
        "0 4 fabric [] first", "1 4 fabric [] first", "2 4 fabric [x] second", "3 4 fabric [x] second"]


def test_status_is_the_programs():
    assert run(APRUN, "-n", "2", "sh", "-c", "exit 7").returncode == 7


@pytest.mark.parametrize("arguments", [["-n", "four", "true"], ["-n"], ["--unknown", "1", "true"], ["-e", "WORD", "true"], ["-n", "2"]])
def test_bad_command_lines(arguments):
    done = run(APRUN, *arguments)
    assert done.returncode == 1 and done.stderr.startswith("aprun: ") and done.stdout == "", done


def test_as_many_objects_as_libfabrics_tests_open():
    """Communication domains with their queues, domains and endpoints, in one process."""
    library = {"FI_PROVIDER_PATH": str(BUILD / "lib/libfabric"), "GNIX_STRICT": "0"}  # endpoints without queues are enabled
    done = run(APRUN, "-n1", BUILD / "tests/many_objects", env=dict(environment(), **library))
    assert done.returncode == 0 and done.stdout == "", done
