# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Multiplexed channels (muxed.c): sub-channels, collected messages, and several rails; between processes and in simulation."""

import json
import sys
from pathlib import Path

import jacquard
import pytest

sys.path[:0] = [str(jacquard.ROOT / "tests/pmrun"), str(Path(__file__).parent)]
import launcher
from test_drivers import between_processes, compiled, lnet_on, simulate  # noqa: F401: a fixture

SIMULATED = {"gni+": "gni", "gni,lnet+": "gni,lnet", "sisci+": "sisci", "tcp+": "tcp", "via+": "via:/dev/via_eth0", "sbp+": "sbp"}
FULL = pytest.mark.full
PLACES = [*(pytest.param(name, marks=FULL) for name in ("tcp", "shm", "gni", "tcp,lnet", "gni+", "tcp+", "sbp+")),
          "tcp,shm", "gni,lnet+", "sisci+", "via+"]


def run_case(compiled, folder, adapters, case, size=2, **variables):  # noqa: F811
    """Every rank must find that it is good."""
    program = compiled("muxed", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
    if adapters in SIMULATED:
        more = lnet_on(size) if "lnet" in adapters else {}
        result, lines = simulate(program, case, size=size, folder=folder, variables={"MAD_ADAPTERS": SIMULATED[adapters]} | variables, **more)
        assert result.exit_code == 0, result.report()
    else:
        lines = between_processes(program, case, size=size, fabric="gni" in adapters, MAD_ADAPTERS=adapters, **variables)
    assert lines == [case] * size


@pytest.mark.parametrize("adapters", PLACES)
def test_every_mode_and_size(compiled, tmp_path, adapters):  # noqa: F811
    run_case(compiled, tmp_path, adapters, "modes", 3)


@pytest.mark.parametrize("adapters", ["tcp,shm", "gni,lnet+", "sisci+"])
def test_mad_105_every_mode_and_size_collected(compiled, tmp_path, adapters):  # noqa: F811
    run_case(compiled, tmp_path, adapters, "modes", 3, AGGREGATE="1", MAD_CHECK="2")


@pytest.mark.parametrize("aggregate", [{}, {"AGGREGATE": "1"}])
@pytest.mark.parametrize("adapters", PLACES)
def test_mad_33_mad_105_sub_channels_are_independent_and_in_order(compiled, tmp_path, adapters, aggregate):  # noqa: F811
    run_case(compiled, tmp_path, adapters, "independent", **aggregate)


@pytest.mark.parametrize("adapters", ["tcp", "gni", "gni+", "sisci+"])
def test_a_receiver_that_is_late(compiled, tmp_path, adapters):  # noqa: F811
    run_case(compiled, tmp_path, adapters, "flow")
    run_case(compiled, tmp_path, adapters, "flow", AGGREGATE="1", MAD_MUX_WINDOW="9000", MAD_MUX_PACKET="5000")


def test_a_slow_rail_gets_nothing(compiled, tmp_path):  # noqa: F811
    """Blocks of which the slow rail's share is less than a page: they leave on the fast one alone."""
    program = compiled("muxed", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
    slow = lnet_on(2)
    slow["networks"][1] |= {"link_rate_GBps": 0.1, "link_latency": "10us"}
    result, lines = simulate(program, "uneven", folder=tmp_path, variables={"MAD_ADAPTERS": "gni,lnet", "MAD_MUX_SPLIT": "9000"}, **slow)
    assert result.exit_code == 0, result.report()
    assert lines == ["uneven"] * 2


@pytest.mark.parametrize("adapters", ["tcp", "gni+"])
@pytest.mark.parametrize("case", ["wrong", "usage"])
def test_wrong_messages_and_calls(compiled, tmp_path, adapters, case):  # noqa: F811
    run_case(compiled, tmp_path, adapters, case)


def test_a_rank_is_killed(compiled):  # noqa: F811
    """The others learn it (7: MAD_EPEER), and go on among themselves. What a rank sent before it ended arrives."""
    program = compiled("muxed", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
    done = launcher.run("-n", 4, "-disable-auto-cleanup", program, "killed", env=launcher.environment(MAD_ADAPTERS="tcp"))
    assert sorted(done.stdout.splitlines()) == ["0: code 7", "2: code 0", "3: code 0"], done


def test_a_thread_that_cannot_be_started(compiled):  # noqa: F811
    """Of a virtual or multiplexed channel: an error on every rank; the channels below can be used, also after the one above was closed."""
    lines = between_processes(compiled("nothread", "-ldl"), size=3, MAD_ADAPTERS="tcp,shm")
    assert lines == ["good"] * 3


CONFIGURATION = """
networks : ({ name : first; hosts : node; dev : tcp; }, { name : second; hosts : node; dev : shm; });
application : { name : mux; networks : {
  channels : ({ name : a; net : first; ranks : 0..1; }, { name : b; net : second; ranks : (1, 2); }, { name : c; net : first; ranks : 0..2; });
  vchannels : { name : v; channels : (a, b); };
  xchannels : { name : all; channels : (v, c); sub_channels : (one, two); strategy : aggregate; }; }; };
"""


@pytest.mark.parametrize("case", ["modes", "independent"])
def test_mad_85_multiplexed_channels_of_a_configuration(compiled, tmp_path, case):  # noqa: F811
    """Over a virtual channel and another one."""
    (tmp_path / "mux.cfg").write_text(CONFIGURATION)
    run_case(compiled, tmp_path, "", case, 3, MAD_CONF=str(tmp_path / "mux.cfg"))


# ---- figures in virtual time ---------------------------------------------------------------------

MACHINE = {"networks": [{"name": "aries", "preset": "mini2", "profile": "xc40_hsw"}, {"name": "eth", "kind": "ethernet", "nodes": 4},
                        {"name": "sci", "kind": "sci", "nodes": 4}, {"name": "sci2", "kind": "sci", "nodes": 4},
                        {"name": "ib", "topology": "single-switch", "nodes": 4, "link_rate_GBps": 6.4},
                        {"name": "ib2", "topology": "single-switch", "nodes": 4, "link_rate_GBps": 6.4}],
           "lnet": {"nodes": [{"nodes": "0-3", "networks": "o2ib(ib),o2ib1(ib2)"}]}, "limits": {"no_progress": "1000s"}}


def measure(folder, metric, adapters, **args):
    """The median of the job's metric."""
    file = folder / "mux.yaml"
    file.write_text(json.dumps({"name": "mux", **MACHINE, "jobs": [
        {"name": "job", "nodes": "0-1", "workload": "mad_mux", "args": args, "env": {"MAD_ADAPTERS": adapters}}]}))
    result = jacquard.run(file)
    assert result.exit_code == 0, result.report()
    return result.metric(f"job.{metric}")["p50"]


@pytest.mark.parametrize("adapters", ["gni", "tcp", "lnet:o2ib"])
def test_mad_105_aggregation_doubles_the_rate(tmp_path, adapters):
    """64 messages of 8 bytes to one peer."""
    plain, collected = (measure(tmp_path, "rate", adapters, strategy=strategy, messages=64, bytes=8) for strategy in ("plain", "aggregate"))
    assert collected >= 2 * plain


def test_two_rails_are_1_7_times_one(tmp_path):
    """Blocks of 2 MiB over SCI; scenarios/madeleine/rails.yaml has other networks."""
    one = measure(tmp_path, "bandwidth", "sisci:0", rails=1, messages=2, bytes="2MiB", rounds=2)
    assert measure(tmp_path, "bandwidth", "sisci:0,sisci:1", rails=2, messages=2, bytes="2MiB", rounds=2) >= 1.7 * one
