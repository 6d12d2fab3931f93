# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Reads traces of sim-run.

    jacquard trace show FILE [--rank N] [--flow N] [--from T] [--to T]
    jacquard trace diff A B

show lists the events in the order of time, one a line: time, line of the picture and track, event, how long it lasts,
flow, arguments. The first column counts the time without the stretches in which nothing happened for longer than
--idle (100us). diff prints the first event in which two runs of one scenario differ, with what came before. Exit code:
0 the traces are the same (show: listed), 1 they differ, 2 bad input."""

import argparse
import bisect
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .command import BadInput, Parser, execute

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


@dataclass
class Event:
    time: int  # ns
    line: str  # "node 3"
    track: str  # "clients.3 (API)"
    name: str
    duration: int | None = None  # of a slice; None: an instant, a counter, or a slice without an end
    flows: tuple = ()
    arguments: dict = field(default_factory=dict)

    def text(self, time=None):
        flow = "".join(f" flow={number}" for number in self.flows)
        lasts = f" ({show_time(self.duration)})" if self.duration is not None else ""
        arguments = "".join(f" {name}={value}" for name, value in self.arguments.items())
        return (f"{show_time(self.time) if time is None else time:>16}  {self.line:10} {self.track:20} "
                f"{self.name}{lasts}{flow}{arguments}")

    def steps(self):
        """Its beginning and its end: how long a slice lasts, and its result, is not known before it ends."""
        place = (self.line, self.track.partition(" #")[0], self.name, self.flows)
        whole = (*place, tuple(self.arguments.items()))
        if not self.duration:
            return [Step(self.time, "", whole, self)]
        return [Step(self.time, "begins", place, self), Step(self.time + self.duration, "ends", whole, self)]


@dataclass
class Step:
    """What a comparison compares."""
    time: int
    what: str
    content: tuple
    event: Event

    def key(self):
        return self.time, self.what, str(self.content)

    def text(self):
        name = f"{self.event.name} {self.what}" if self.what else self.event.name
        arguments = self.event.arguments if self.what != "begins" else {}
        duration = self.event.duration if self.what == "ends" else None
        return Event(self.time, self.event.line, self.event.track, name, duration, self.event.flows, arguments).text()


def varint(data, at, end):
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise BadInput(f"broken at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data, at, end):
    """The fields of a message of the protocol buffers' wire format: number and value; (first, last) of bytes."""
    while at < end:
        key, at = varint(data, at, end)
        kind = key & 7
        if kind == VARINT:
            value, at = varint(data, at, end)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        elif kind == BYTES:
            length, at = varint(data, at, end)
            value, at = (at, at + length), at + length
        else:
            raise BadInput(f"broken at byte {at}")
        if at > end:
            raise BadInput(f"broken at byte {end}: it ends in the middle of a packet")
        yield key >> 3, value


class Reader:
    def __init__(self, data):
        self.data = data
        self.tracks = {}  # uuid: (name, parent)
        self.names, self.argument_names = {}, {}  # (sequence, iid)
        self.open = {}  # track: events
        self.events = []
        for number, value in fields(data, 0, len(data)):
            if number == 1 and isinstance(value, tuple):
                self.packet(dict_of(fields(data, *value)))
        if not self.tracks:
            raise BadInput("it has no tracks")
        self.events.sort(key=lambda event: event.time)

    def string(self, where):
        return self.data[where[0]:where[1]].decode("utf-8", "replace")

    def message(self, where):
        return dict_of(fields(self.data, *where))

    def packet(self, packet):
        sequence = packet.get(10, [0])[0]
        for where in packet.get(12, []):
            interned = self.message(where)
            for number, table in ((2, self.names), (3, self.argument_names)):
                for entry in interned.get(number, []):
                    entry = self.message(entry)
                    if 1 in entry and 2 in entry:
                        table[sequence, entry[1][0]] = self.string(entry[2][0])
        for where in packet.get(60, []):
            track = self.message(where)
            if track.get(1, [0])[0] != 0:
                self.tracks[track[1][0]] = (self.string(track[2][0]) if 2 in track else "?", track.get(5, [0])[0])
        for where in packet.get(11, []):
            self.event(sequence, packet.get(8, [0])[0], self.message(where))

    def event(self, sequence, time, event):
        kind, uuid = event.get(9, [0])[0], event.get(11, [0])[0]
        if kind == END:
            if not self.open.get(uuid):
                raise BadInput("a slice ends that has not begun")
            begun = self.open[uuid].pop()
            begun.duration = time - begun.time
            return
        track, parent = self.tracks.get(uuid, ("?", 0))
        arguments = {}
        for where in event.get(4, []):
            argument = self.message(where)
            name = self.string(argument[10][0]) if 10 in argument else \
                self.argument_names.get((sequence, argument.get(1, [0])[0]), "?")
            arguments[name] = self.string(argument[6][0]) if 6 in argument else argument.get(3, ["?"])[0]
        if kind == COUNTER:
            arguments["value"] = event.get(30, [0])[0]
        name = self.names.get((sequence, event.get(10, [0])[0]), "counter" if kind == COUNTER else "?")
        made = Event(time, self.tracks.get(parent, ("", 0))[0], track, name, None, tuple(event.get(47, ())), arguments)
        self.events.append(made)
        if kind == BEGIN:
            self.open.setdefault(uuid, []).append(made)


def dict_of(pairs):
    found = {}
    for number, value in pairs:
        found.setdefault(number, []).append(value)
    return found


def read(path):
    """The events of a trace, in the order of time."""
    try:
        return Reader(Path(path).read_bytes()).events
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    except (BadInput, TypeError, KeyError) as error:
        raise BadInput(f"{path}: not a trace of sim-run: {error}") from None


def show_time(time):
    for unit, factor in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if time >= factor:
            return f"{time / factor:.3f} {unit}"
    return f"{time} ns"


def parse_time(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text}: a time has a unit: 12.5us, 3ms")
    return round(float(match[1]) * UNITS[match[2]])


def without_idle(events, gap):
    """For each event the time that has passed without the stretches longer than `gap` in which nothing happened."""
    times, left_out, last = [], 0, 0
    for event in events:
        if event.time - last > gap:
            left_out += event.time - last - gap
        times.append(event.time - left_out)
        ends = event.time + (event.duration or 0) if event.name not in ("idle", "wait") else event.time
        last = max(last, ends)
    return times


def show(arguments):
    events = read(arguments.file)
    busy = without_idle(events, arguments.idle)
    first = bisect.bisect_left(events, arguments.begin, key=lambda event: event.time)
    for event, time in list(zip(events, busy))[first:]:
        if arguments.end is not None and event.time > arguments.end:
            break
        if arguments.rank is not None and not re.search(rf"(^|[. ]){arguments.rank} \(API\)", event.track):
            continue
        if arguments.flow is not None and arguments.flow not in event.flows:
            continue
        print(f"{show_time(time):>14}{event.text()}")
    return 0


def lines_of(events):
    return {(event.line, event.track.partition(" #")[0]) for event in events if "(API)" in event.track}


def diff(arguments):
    left, right = read(arguments.left), read(arguments.right)
    if lines_of(left) != lines_of(right):
        odd = sorted(lines_of(left) ^ lines_of(right))[0]
        raise BadInput(f"the traces are of different scenarios: only one of them has {odd[1]} on {odd[0]}")
    # Steps at the same time have no order: the times are compared one after the other.
    a, b = (sorted((step for event in events for step in event.steps()), key=Step.key) for events in (left, right))
    for at, (one, two) in enumerate(zip(a, b)):
        if one.key() != two.key():
            break
    else:
        at = min(len(a), len(b))
        if len(a) == len(b):
            print(f"the same: {len(left)} events")
            return 0
    times = [steps[at].time for steps in (a, b) if at < len(steps)]
    print(f"the traces differ from {show_time(min(times))} on; before it both have:")
    for step in a[max(0, at - arguments.context):at]:
        print(f"  {step.text()}")
    for mark, path, steps in (("-", arguments.left, a), ("+", arguments.right, b)):
        print(f"{mark} {path}:")
        for step in steps[at:at + arguments.context]:
            print(f"{mark} {step.text()}")
        if at >= len(steps):
            print(f"{mark}   (ends)")
    counts = Counter(event.name for event in left)
    counts.subtract(event.name for event in right)
    more = [f"{name} {number:+}" for name, number in sorted(counts.items()) if number]
    if more:
        print(f"events of the first less those of the second: {', '.join(more)}")
    return 1


def main(words=None):
    program = os.environ.get("JACQUARD_TRACE_PROGRAM", "jacquard trace")  # sim-run diff is another name of it
    parser = Parser(prog=program, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("show", help="list the events of a trace")
    listing.add_argument("file", metavar="FILE")
    listing.add_argument("--rank", type=int, metavar="N", help="calls of the ranks with this number only")
    listing.add_argument("--flow", type=int, metavar="N", help="events of this message only")
    listing.add_argument("--from", dest="begin", type=parse_time, default=0, metavar="T", help="12.5us")
    listing.add_argument("--to", dest="end", type=parse_time, metavar="T")
    listing.add_argument("--idle", type=parse_time, default=100_000, metavar="T",
                         help="longer stretches without an event do not count in the first column (100us)")
    listing.set_defaults(run=show)
    comparison = commands.add_parser("diff", help="the first difference of two traces")
    comparison.add_argument("left", metavar="A")
    comparison.add_argument("right", metavar="B")
    comparison.add_argument("--context", type=int, default=5, metavar="N", help="events before and after (5)")
    comparison.set_defaults(run=diff)
    arguments = parser.parse_args(words)
    return execute(program, lambda: arguments.run(arguments))
