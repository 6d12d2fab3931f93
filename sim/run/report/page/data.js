/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The data of the run, or of a campaign (made by sim/run/campaign/page.c). Times are picoseconds of virtual time; "active time" is virtual time without the long stretches in which
 * nothing happened (data.time.gaps), and is what all drawings have as their axis.
 */
"use strict";

const Data = (() => {
    const data = JSON.parse(document.getElementById("data").textContent);

    if (data.kind === "campaign")
        return data;

    function summed(steps) {
        const all = new Float64Array(steps.length);
        let sum = 0;
        for (let i = 0; i < steps.length; i++)
            all[i] = sum += steps[i];
        return all;
    }

    const begins = [], lengths = [], before = [];
    let leftOut = 0;
    for (let i = 0; i < data.time.gaps.length; i += 2) {
        begins.push(data.time.gaps[i]);
        lengths.push(data.time.gaps[i + 1]);
        before.push(leftOut);
        leftOut += data.time.gaps[i + 1];
    }
    const activeBegins = begins.map((begin, i) => begin - before[i]);

    function toActive(time) {
        const i = d3.bisectLeft(begins, time) - 1;
        if (i < 0)
            return time;
        return time < begins[i] + lengths[i] ? activeBegins[i] : time - before[i] - lengths[i];
    }
    function toVirtual(active) {
        const i = d3.bisectLeft(activeBegins, active) - 1;
        return i < 0 ? active : active + before[i] + lengths[i];
    }

    const points = data.points;
    points.time = summed(points.time);
    points.count = points.time.length;
    points.argumentAt = new Int32Array(points.count + 1);
    for (let i = 0; i < points.count; i++)
        points.argumentAt[i + 1] = points.argumentAt[i] + 2 * points.arguments[i];

    const messages = data.messages;
    messages.begin = summed(messages.begin);
    messages.flow = summed(messages.flow);
    messages.count = messages.begin.length;
    messages.ofFlow = new Map(Array.from(messages.flow, (flow, i) => [flow, i]));
    /* Active times of both ends; a message that never arrived ends where it was lost, or with the run. */
    messages.start = new Float64Array(messages.count);
    messages.stop = new Float64Array(messages.count);
    const ended = Math.max(data.time.latest, 1);
    for (let i = 0; i < messages.count; i++) {
        const begin = messages.begin[i];
        const took = messages.duration[i] >= 0 ? messages.duration[i] : messages.lost[i] >= 0 ? messages.lost[i] : -1;
        messages.start[i] = toActive(begin);
        messages.stop[i] = toActive(took >= 0 ? begin + took : ended);
    }

    /* The points of each row's calls, in order. */
    const slices = data.rows.name.map(() => []);
    const ofFlow = new Map();
    for (let i = 0; i < points.count; i++) {
        const row = points.trackRows[points.track[i]];
        if (row >= 0)
            slices[row].push(i);
        if (points.flow[i] !== 0) {
            if (!ofFlow.has(points.flow[i]))
                ofFlow.set(points.flow[i], []);
            ofFlow.get(points.flow[i]).push(i);
        }
    }

    function argumentsOf(i) {
        const all = [];
        for (let at = points.argumentAt[i]; at < points.argumentAt[i + 1]; at += 2) {
            const value = points.argument[at + 1];
            all.push([data.strings[points.argument[at]], value < 0 ? data.strings[-1 - value] : value]);
        }
        return all;
    }

    const named = (...names) => new Set(names.map((name) => data.strings.indexOf(name)).filter((i) => i >= 0));
    const isWait = named("idle", "wait"), ofLnet = named("PUT", "GET", "ACK", "REPLY");
    const rowOf = new Map(data.rows.name.map((name, i) => [name, i]));

    return {
        ...data, points, messages, slices, toActive, toVirtual, argumentsOf, rowOf, isWait,
        pointsOfFlow: (flow) => ofFlow.get(flow) || [],
        gapsShown: activeBegins.map((at, i) => ({at, length: lengths[i]})),
        activeEnd: Math.max(toActive(ended), 1),
        name: (number) => (number >= 0 ? data.strings[number] : ""),
        /* What became of a message. */
        state(i) {
            if (messages.lost[i] >= 0)
                return "lost";
            if (messages.failed[i])
                return "failed";
            return messages.duration[i] < 0 ? "never arrived" : "arrived";
        },
        isLnet: (i) => ofLnet.has(messages.name[i]),
        /* The flow of an injected fault or loss, by the text that its trace point has; 0: none. */
        flowOfFault(text) {
            const number = data.strings.indexOf(text);
            for (let i = 0; number >= 0 && i < points.count; i++)
                if (points.name[i] === number && points.flow[i] !== 0)
                    return points.flow[i];
            return 0;
        },
    };
})();
