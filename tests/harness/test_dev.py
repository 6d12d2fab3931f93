# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""The parts of ./dev that need no build: its messages, and its behaviour without the right to install packages."""

import os
import re
import shutil
import subprocess

import jacquard
import pytest


def dev(*arguments, path=None, script=jacquard.ROOT / "dev", cwd=None, **more):
    environment = {name: value for name, value in os.environ.items() if name != "TERM"}
    if path:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    return subprocess.run([script, *arguments], env=dict(environment, **more), stdin=subprocess.DEVNULL, cwd=cwd,
                          capture_output=True, text=True, timeout=60)


def programs(folder, **texts):
    """Programs that stand in for the system's."""
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name.replace("_", "-")).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name.replace("_", "-")).chmod(0o755)
    return folder


@pytest.fixture
def bare(tmp_path):
    """A system without packages and a user without rights, as far as ./dev can tell."""
    return programs(tmp_path / "system", dpkg_query="exit 1", id="echo 1000", sudo="exit 1", apt_get="exit 99")


CMAKE = """
echo "$*" >>"$LOG/cmake"
for word in "$@"; do
    case $before in -B) folder=$word ;; esac
    before=$word
done
mkdir -p "$folder/bin"
: >"$folder/build.ninja"
for word in "$@"; do
    case $word in -DTESTS=* | -DBENCH=* | -DFAT_OBJECTS=*) echo "${word#-D}" | sed 's/=/:BOOL=/' ;; esac
done >"$folder/CMakeCache.txt"
"""
# -W -f FORMAT NAME...: all are installed, but cmocka when it is gone.
DPKG_QUERY = """
case $3 in *Version*) version=" $(cat "$LOG/packages")" ;; esac
shift 3
for name in "$@"; do
    if [ $name != libcmocka-dev ] || [ ! -e "$LOG/gone" ]; then echo "$name$version installed"; fi
done
"""
NINJA = """
echo "$*" >>"$LOG/ninja"
for i in $(seq 327); do
    echo "[$i/327] Building C object number $i"
    if [ $i = 200 ] && [ -e "$LOG/warns" ]; then echo "200.c:1: note: worth a word"; fi
    if [ $i = 250 ] && [ -e "$LOG/fails" ]; then
        printf 'FAILED: 250.o\\ngcc -c 250.c\\n250.c:7:1: error: no\\n'
        echo 'ninja: build stopped: subcommand failed.'
        exit 1
    fi
done
while [ "$1" != -C ]; do shift; done
printf '#!/bin/sh\\necho "simulated: $*"\\n' >"$2/bin/sim-run"
chmod +x "$2/bin/sim-run"
"""


@pytest.fixture
def machine(tmp_path):
    """A machine with all packages. Its cmake and ninja record their arguments in a log; LOG/NAME are the files that they use."""
    log = tmp_path / "log"
    log.mkdir()
    (log / "packages").write_text("1.0")
    system = programs(tmp_path / "system", cmake=CMAKE, ninja=NINJA, dpkg_query=DPKG_QUERY, apt_get="exit 99",
                      pkg_config='[ "$2" != cmocka ] || [ ! -e "$LOG/gone" ]')

    class Machine:
        build = tmp_path / "a folder/build"

        def dev(self, *arguments, **more):
            return dev(*arguments, path=system, JACQUARD_BUILD=str(self.build), LOG=str(log), **more)

        def fake(self, name, text):
            programs(system, **{name: text})

        def log(self, name):
            """The part of the log that is new since the last call."""
            file = log / name
            text = file.read_text() if file.exists() else ""
            file.unlink(missing_ok=True)
            return text.splitlines()

        def set(self, name, text=""):
            (log / name).write_text(text)

    return Machine()


def test_help_names_every_command():
    done = dev("help")
    assert done.returncode == 0
    for command in "setup build run test bench lint coverage sanitize fuzz determinism generate clean".split():
        assert f"  {command}" in done.stdout
    assert "--full" in done.stdout


def test_unknown_command():
    done = dev("frobnicate")
    assert done.returncode == 2 and "usage" in done.stderr


@pytest.mark.parametrize("command", [["run", "scenarios/quickstart.yaml"], ["test"], ["setup"], ["bench", "engine"]])
def test_without_rights_it_prints_the_packages_and_stops(bare, command):
    done = dev(*command, path=bare)
    assert done.returncode == 1
    message, install = filter(None, done.stderr.splitlines())
    assert message.startswith("dev: ") and install.startswith("  apt-get update && apt-get install -y --no-install-recommends ")
    assert {"libyaml-dev", "make"} <= set(install.split())
    # Running needs no test tools; testing does.
    assert ("python3-pytest" in done.stderr) == (command[0] in ("test", "setup"))


def test_run_without_a_scenario_says_what_is_missing():
    done = dev("run")
    assert done.returncode == 1 and "quickstart.yaml" in done.stderr


def test_unknown_preset():
    done = dev("build", "fast")
    assert done.returncode == 1 and "release debug asan clang fuzz" in done.stderr


def test_from_another_folder_in_a_path_with_blanks(bare, tmp_path):
    folder = tmp_path / "a clone of it"
    folder.mkdir()
    shutil.copy(jacquard.ROOT / "dev", folder)
    done = dev("run", "scenarios/quickstart.yaml", path=bare, script=folder / "dev", cwd="/")
    assert done.returncode == 1 and "apt-get update" in done.stderr


def test_progress_is_a_line_for_every_tenth(machine):
    machine.set("warns")
    done = machine.dev("run", "some.yaml", "--json")
    assert (done.returncode, done.stdout) == (0, "simulated: some.yaml --json\n"), done.stderr
    assert "[" not in done.stderr and "\033" not in done.stderr
    assert len(re.findall(r"^built \d+ of 327$", done.stderr, re.M)) in range(10, 21)
    assert "\n200.c:1: note: worth a word\n" in done.stderr


def test_errors_of_the_build_are_complete(machine):
    machine.set("fails")
    done = machine.dev("run", "some.yaml")
    assert done.returncode == 1 and done.stdout == ""
    assert "FAILED: 250.o\ngcc -c 250.c\n250.c:7:1: error: no\nninja: build stopped: subcommand failed.\n" in done.stderr


@pytest.mark.parametrize("works", [True, False])
def test_installing_says_something_when_it_fails(machine, works):
    machine.set("gone")
    machine.fake("id", "echo 0")
    machine.fake("apt-get", 'echo "apt-get $*"; echo "no such thing" >&2; ' + ('rm "$LOG/gone"' if works else "exit 100"))
    done = machine.dev("setup")
    assert done.stdout == "" and "installing 1 packages: libcmocka-dev" in done.stderr
    if works:
        assert done.returncode == 0 and "apt-get" not in done.stderr
    else:
        assert done.returncode == 1 and "no such thing" in done.stderr and "the command was: apt-get install" in done.stderr


def test_running_configures_and_builds_what_running_takes(machine):
    assert machine.dev("run", "some.yaml").returncode == 0
    assert [re.findall(r"-D\w+=\w+", line) for line in machine.log("cmake")] == [["-DTESTS=OFF", "-DBENCH=OFF", "-DFAT_OBJECTS=OFF"]]
    assert [line.split()[-1] for line in machine.log("ninja")] == ["sim-run"]


def test_commands_of_both_kinds_alternate_without_configuring_anew(machine):
    for command, parts in [(["run", "some.yaml"], "-DTESTS=OFF -DBENCH=OFF -DFAT_OBJECTS=OFF"), (["run", "some.yaml"], None),
                           (["bench"], "-DTESTS=OFF -DBENCH=ON -DFAT_OBJECTS=ON"), (["run", "some.yaml"], None),
                           (["build"], "-DTESTS=ON -DBENCH=ON -DFAT_OBJECTS=ON"), (["run", "some.yaml"], None), (["bench"], None), (["build"], None)]:
        done = machine.dev(*command)
        assert done.returncode == 0, done.stderr
        assert [" ".join(re.findall(r"-D\w+=\w+", line)) for line in machine.log("cmake")] == ([parts] if parts else []), command
    # The packages have changed: configures again, with the same parts.
    machine.set("packages", "1.1")
    assert machine.dev("run", "some.yaml").returncode == 0
    assert "-DTESTS=ON -DBENCH=ON" in machine.log("cmake")[0]
    # The packages of the tests are gone; running needs none of them.
    machine.set("gone")
    assert machine.dev("run", "some.yaml").returncode == 0
    assert "-DTESTS=OFF -DBENCH=ON" in machine.log("cmake")[0]


# ---- CMake itself --------------------------------------------------------------------------------


def configure(folder, *options, path=None):
    environment = dict(os.environ)
    if path:
        environment["PATH"] = f"{path}:{environment['PATH']}"
    return subprocess.run(["cmake", "--preset", "release", "-B", folder, *options], cwd=jacquard.ROOT, env=environment,
                          capture_output=True, text=True, timeout=300)


def test_the_programs_are_configured_without_the_tests_packages(tmp_path):
    path = programs(tmp_path / "system", pkg_config=f'case " $* " in *cmocka*) exit 1 ;; esac\nexec {shutil.which("pkg-config")} "$@"')
    done = configure(tmp_path / "build", "-DTESTS=OFF", "-DBENCH=OFF", path=path)
    assert done.returncode == 0, done.stderr
    targets = subprocess.run(["ninja", "-C", tmp_path / "build", "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    targets = targets.replace(str(jacquard.ROOT), "")  # a clone may be in a folder with any name
    assert "bin/sim-run:" in targets and "/tests/" not in targets and "bench" not in targets
    done = configure(tmp_path / "build", "-DTESTS=ON", path=path)
    assert done.returncode != 0 and "libcmocka-dev" in done.stderr


def test_other_platforms_are_refused_by_name(tmp_path):
    done = configure(tmp_path / "build", "-DCMAKE_C_FLAGS=-U__x86_64__")
    assert done.returncode != 0 and "Jacquard needs x86-64 Linux" in done.stderr
    # Again, with a compiler for the platform: the first answer was not cached.
    assert configure(tmp_path / "build", "-DCMAKE_C_FLAGS=", "-DTESTS=OFF", "-DBENCH=OFF").returncode == 0


def test_the_slow_set_alone_or_with_everything():
    done = dev("test", "--full", "--slow")
    assert done.returncode == 1 and done.stderr == "dev: test: --full includes --slow\n"


def test_no_such_tests():
    done = dev("test", "nowhere")
    assert done.returncode == 1 and done.stderr == "dev: test: neither a folder of tests nor a file: nowhere\n"
