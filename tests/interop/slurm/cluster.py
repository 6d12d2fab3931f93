# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""A Slurm of two nodes on this machine: munged, slurmctld and two slurmd with a folder, key, socket and ports of their own.
Any user may start it; the jobs are that user's."""

import json
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch", "sinfo"]
NODES = ["n1", "n2"]
START_SECONDS = 60
RUN_SECONDS = 120
CONFIGURATION = """
ClusterName=jacquard
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=1
MpiDefault=none
DebugFlags=NO_CONF_HASH
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=128 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=128 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=5 State=UP
"""
# Daemons listen on the address of the host's name, and only there.
LISTEN_AT_OWN_NAME = "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n"
# Variables that a job must not inherit from the user who runs the tests.
NOT_INHERITED = ("PMI", "HYDI", "MPI", "SLURM", "SALLOC", "SBATCH", "LD_LIBRARY_PATH")


def program(name):
    """Finds a daemon, which may be in a folder that is not in a user's PATH."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))


def missing():
    """The reason why Slurm cannot be started here; None: it can."""
    absent = [name for name in PROGRAMS if program(name) is None]
    if absent:
        return f"Slurm is not installed ({', '.join(absent)}): ./dev setup"
    try:
        socket.getaddrinfo("127.0.0.1", None, family=socket.AF_INET, flags=socket.AI_ADDRCONFIG) # as Slurm requires
    except OSError:
        return "Slurm resolves no address where the loopback interface is the only one"
    return None


def named_loopback():
    """Whether the host's name resolves to the address that is used here."""
    try:
        return socket.gethostbyname(socket.gethostname()) == "127.0.0.1"
    except OSError:
        return False


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


# The status file is written after all output.
COMMAND = """ "$@"; echo $? >"$0.new"; mv "$0.new" "$0" """


class NotStarted(Exception):
    pass


class Cluster:
    """A running Slurm, inside of `with`. All its processes end with it, those of users too, even if the test is killed."""

    def __enter__(self):
        self.commands = 0
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-")) # a short name, because it contains sockets
        self.starter = subprocess.Popen([sys.executable, "-I", str(Path(__file__).with_name("starter.py")), str(self.folder)],
                                       text=True, stdin=subprocess.PIPE, start_new_session=True)
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.starter.stdin.close()
        try:
            self.starter.wait(timeout=60)
        finally:
            self.starter.kill()

    def _start(self):
        folder = self.folder
        folder.chmod(0o711) # munged requires that all users can reach its socket
        (folder / "state").mkdir()
        text = CONFIGURATION.format(host=socket.gethostname().split(".")[0], user=pwd.getpwuid(os.getuid()).pw_name, folder=folder,
                                    ports=free_ports(1 + len(NODES)))
        configuration = folder / "slurm.conf"
        configuration.write_text(text + (LISTEN_AT_OWN_NAME if named_loopback() else ""))
        # No control groups: by default slurmd ends on machines without a mounted hierarchy.
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        key = folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(128))

        self._daemon("munged", "-F", f"--socket={folder}/munge.socket", f"--key-file={key}", f"--log-file={folder}/munge.log",
                     f"--pid-file={folder}/munge.pid", f"--seed-file={folder}/munge.seed")
        self._until((folder / "munge.socket").exists, "munged")
        self._daemon("slurmctld", "-D", "-f", configuration)
        self._until(lambda: self.run(["sinfo"]).returncode == 0, "slurmctld")
        for node in NODES:
            (folder / node).mkdir()
            self._daemon("slurmd", "-D", "-f", configuration, "-N", node)
        self._until(lambda: self.run(["sinfo", "-h", "-N", "-o", "%T"]).stdout.split() == ["idle"] * len(NODES), "slurmd")

    def _keep(self, command, environment, output):
        order = {"command": list(map(str, command)), "environment": environment, "output": str(output)}
        self.starter.stdin.write(json.dumps(order) + "\n")
        self.starter.stdin.flush()

    def _daemon(self, name, *arguments):
        self._keep([program(name), *arguments], dict(os.environ), self.folder / "log")

    def _until(self, condition, what):
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            if self.starter.poll() is not None or time.monotonic() > deadline:
                raise NotStarted(f"{what} did not come up\n{self.log()}")
            time.sleep(0.05)

    def log(self):
        log = self.folder / "log"
        return log.read_text(errors="replace")[-6000:] if log.exists() else ""

    def run(self, command, **environment):
        """A command of the user's: its status, its output and errors together. One that does not end stays until the end
        of the cluster."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
        self.commands += 1
        status, output = (self.folder / f"{kind}-{self.commands}" for kind in ("status", "output"))
        self._keep(["sh", "-c", COMMAND, status, *command], {**inherited, **environment, "SLURM_CONF": f"{self.folder}/slurm.conf"},
                   output)
        deadline = time.monotonic() + RUN_SECONDS
        while not status.exists():
            if self.starter.poll() is not None or time.monotonic() > deadline:
                text = output.read_text(errors="replace") if output.exists() else ""
                raise AssertionError(f"no end within {RUN_SECONDS} s: {command}\n{text}\n{self.log()}")
            time.sleep(0.01)
        return subprocess.CompletedProcess(command, int(status.read_text()), output.read_text(errors="replace"))
