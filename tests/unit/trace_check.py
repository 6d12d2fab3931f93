#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Checks a trace of ours with Google's protobuf library, by Perfetto's rules.

    trace_check.py --proto perfetto_trace.proto --reader trace_sample FILE...
    trace_check.py --proto perfetto_trace.proto --reader trace_sample --sample

Compiles the schema with protoc, parses the files whole, and compares the counts with those of our own reader.
With --sample the reader program writes the trace itself. Exit code 0: all files are well formed.
"""
import argparse
import collections
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile

CLEARED, NEEDS = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Malformed(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Malformed(text)


def compile_schema(proto, folder):
    subprocess.run(["protoc", f"--proto_path={proto.parent}", f"--python_out={folder}", str(proto)], check=True)
    sys.path.insert(0, str(folder))
    return importlib.import_module("perfetto_trace_pb2")


class Checker:
    def __init__(self):
        self.tracks = {}
        self.event_names = collections.defaultdict(dict)  # by sequence: that of a process, in traces of several
        self.argument_names = collections.defaultdict(dict)
        self.stacks = collections.defaultdict(list)
        self.last = {}
        self.flows = collections.Counter()
        self.counts = collections.Counter()
        self.times = []

    def descriptor(self, track):
        require(track.HasField("uuid"), "a track without uuid")
        if track.uuid == 0:
            return
        require(track.uuid not in self.tracks, f"track {track.uuid} described twice")
        require(track.name, f"track {track.uuid} has no name")
        if track.HasField("process"):
            require(not track.parent_uuid, "a process below something")
            require(track.process.pid > 0 and track.process.process_name == track.name, f"process {track.process}")
            require(track.process.pid not in {t.process.pid for t in self.tracks.values()}, "a pid used twice")
        else:
            require(track.parent_uuid in self.tracks, f"track {track.name}: parent not described before")
            siblings = {t.name for t in self.tracks.values() if t.parent_uuid == track.parent_uuid}
            require(track.name not in siblings, f"two tracks {track.name} below one")
        self.tracks[track.uuid] = track

    def interned(self, sequence, data):
        names, arguments = self.event_names[sequence], self.argument_names[sequence]
        for name in data.event_names:
            require(name.iid and name.iid not in names, f"name {name.iid} interned twice")
            require(name.name not in names.values(), f"{name.name} has two numbers")
            names[name.iid] = name.name
        for name in data.debug_annotation_names:
            require(name.iid and name.iid not in arguments, f"argument {name.iid} interned twice")
            arguments[name.iid] = name.name

    def event(self, sequence, time, event):
        track = self.tracks.get(event.track_uuid)
        require(track is not None, f"event on undescribed track {event.track_uuid}")
        require(not track.HasField("process"), "event on a process track")
        require(time >= self.last.get(event.track_uuid, 0), f"time goes back on {track.name}")
        require(track.HasField("counter") == (event.type == COUNTER), f"{event.type} on {track.name}")
        self.last[event.track_uuid] = time
        self.times.append(time)
        stack = self.stacks[event.track_uuid]
        if event.type in (BEGIN, INSTANT):
            require(event.name_iid in self.event_names[sequence], f"name {event.name_iid} not interned before")
            require(event.debug_annotations, "an event without arguments")
            for argument in event.debug_annotations:
                require(argument.name_iid in self.argument_names[sequence], f"argument {argument.name_iid} not interned before")
        if event.type == BEGIN:
            require(not stack, f"slices overlap on {track.name}")
            stack.append(time)
            self.counts["slices"] += 1
        elif event.type == END:
            require(stack, f"end without begin on {track.name}")
            stack.pop()
        elif event.type == INSTANT:
            self.counts["instants"] += 1
        elif event.type == COUNTER:
            require(event.HasField("counter_value"), "a counter without value")
            self.counts["counters"] += 1
        else:
            raise Malformed(f"event type {event.type}")
        self.flows.update(set(event.flow_ids))

    def trace(self, trace, size):
        trace_size = trace.ByteSize()
        trace.DiscardUnknownFields()
        require(trace.ByteSize() == trace_size == size, "the schema does not cover every field")
        require(trace.packet, "no packet")
        sequences = set()
        for packet in trace.packet:
            sequence = packet.trusted_packet_sequence_id
            require(sequence, "a packet of no sequence")
            require(sequence in sequences or packet.sequence_flags == CLEARED, "does not begin with cleared state")
            sequences.add(sequence)
            self.interned(sequence, packet.interned_data)
            if packet.HasField("track_descriptor"):
                self.descriptor(packet.track_descriptor)
            if packet.HasField("track_event"):
                require(packet.HasField("timestamp") and packet.sequence_flags == NEEDS, "an event's frame")
                self.event(sequence, packet.timestamp, packet.track_event)
        require(not any(self.stacks.values()), "slices without end")

    def summary(self, trace):
        singles = sum(1 for events in self.flows.values() if events == 1)
        return {
            "packets": len(trace.packet), "tracks": len(self.tracks), "slices": self.counts["slices"],
            "instants": self.counts["instants"], "counters": self.counts["counters"], "flows": len(self.flows),
            "unknown_tracks": 0, "unknown_names": 0, "unbalanced_slices": 0, "single_ended_flows": singles,
            "out_of_order": 0, "first": min(self.times, default=0), "last": max(self.times, default=0),
        }


def check(schema, reader, path):
    data = path.read_bytes()
    trace = schema.Trace()
    trace.ParseFromString(data)
    checker = Checker()
    checker.trace(trace, len(data))
    ours = json.loads(subprocess.run([reader, "--read", path], check=True, capture_output=True).stdout)
    theirs = checker.summary(trace)
    require(ours == theirs, f"our reader: {ours}\nprotobuf:   {theirs}")
    return theirs, checker


def check_sample(checker):
    names = {}
    for track in checker.tracks.values():
        parent = checker.tracks[track.parent_uuid].name if track.parent_uuid else ""
        names[f"{parent}/{track.name}"] = track
    for name in ("/node 0", "/router 0", "/faults", "node 0/clients 0 (API)", "node 0/rank 1 (API)", "node 1/BTE 1",
                 "node 1/BTE 1 #2", "node 1/RX", "node 1/CQ 0", "node 1/CQ 0 depth", "router 0/port 31", "faults/node 1",
                 "faults/fabric"):
        require(name in names, f"there is no track {name}: {sorted(names)}")
    require(names["node 1/CQ 0 depth"].HasField("counter"), "depth is no counter")
    order = sorted((t for n, t in names.items() if n.startswith("node 1/")), key=lambda t: t.sibling_order_rank)
    kinds = [t.name.split()[0] for t in order]
    require(kinds == sorted(kinds, key=["rank", "BTE", "RX", "CQ"].index), f"order of tracks: {kinds}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--proto", type=pathlib.Path, required=True)
    parser.add_argument("--reader", required=True)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        schema = compile_schema(options.proto, folder)
        files = list(options.files)
        if options.sample:
            files.append(pathlib.Path(folder) / "sample.perfetto-trace")
            subprocess.run([options.reader, files[-1]], check=True)
        for path in files:
            try:
                summary, checker = check(schema, options.reader, path)
                if options.sample and path is files[-1]:
                    check_sample(checker)
            except Malformed as problem:
                print(f"{path}: {problem}", file=sys.stderr)
                return 1
            print(path.name, json.dumps(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
