/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Charts: distributions and rates with logarithmic axes, and quantities over time. */
"use strict";

const Charts = {
    /* A titled place for a chart that is as wide as its column; make(width) gives uPlot's options and data. */
    add(parent, title, note, make) {
        const box = element("div"), chart = element("div", {class: "chart"}, element("h3", {}, title), element("p", {}, note), box);
        let plot = null, width = 0;
        parent.append(chart);
        new ResizeObserver(() => {
            if (chart.clientWidth === 0 || Math.abs(chart.clientWidth - width) < 2)
                return;
            width = chart.clientWidth;
            if (plot)
                plot.setSize({width, height: plot.height});
            else {
                const {options, data} = make();
                plot = new uPlot({width, height: 240, legend: {live: true, markers: {dash: (made, i) => (i > 1 ? ["solid", "dashed", "dotted"][(i - 1) % 3] : "solid")}}, ...options}, data, box);
            }
        }).observe(chart);
        return chart;
    },
    axis(more) {
        return {stroke: Page.color("faint"), font: FONT, labelFont: FONT, grid: {stroke: Page.color("line"), width: 0.7}, ticks: {stroke: Page.color("line"), width: 0.7}, ...more};
    },
    /* Powers of ten (or of two) as ticks of a logarithmic axis. */
    powers: (base) => (plot, axis, from, to) => {
        const ticks = [], step = Math.max(1, Math.ceil(Math.log(to / from) / Math.log(base) / 11));
        for (let power = Math.ceil(Math.log(from) / Math.log(base) - 1e-9); base ** power <= to * (1 + 1e-9); power += step)
            ticks.push(base ** power);
        return ticks;
    },
    /* Texts of ticks; uPlot leaves some ticks of logarithmic axes out by null. */
    texts: (format) => (plot, ticks) => ticks.map((each) => (each === null ? "" : format(each))),
    colors: (i) => Page.color(`series-${(i % 6) + 1}`),
    dashes: [undefined, [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [1, 2]],
};

function Latency(section) {
    const metrics = Object.entries(Data.result.metrics), histograms = metrics.filter(([name, metric]) => metric.type === "histogram" && Data.histograms[name]);
    const charts = element("div", {class: "charts"});

    function distribution(name) {
        const metric = Data.result.metrics[name], {value, count} = Data.histograms[name], total = d3.sum(count);
        let sum = 0;
        const share = count.map((each) => 100 * (sum += each) / total);
        const xs = [Math.max(value[0] * 0.98, 0.5), ...value.map((each) => Math.max(each, 1))], ys = [0, ...share];
        const low = xs[0], high = Math.max(xs[xs.length - 1], low * 2);
        return {options: {
            scales: {x: {time: false, distr: 3, log: 10, range: [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))]}, y: {range: [0, 102]}},
            axes: [Charts.axis({splits: Charts.powers(10), values: Charts.texts((each) => Format.metric(each, metric.unit)), space: 40, label: metric.unit === "ps" ? "time" : metric.unit, size: 34, labelSize: 22}),
                Charts.axis({values: (plot, ticks) => ticks.map((each) => `${each} %`), size: 58})],
            series: [{label: metric.unit === "ps" ? "time" : "value", value: (plot, each) => (each === null ? "–" : Format.metric(each, metric.unit))},
                {label: "not above it", stroke: Charts.colors(0), width: 2, paths: uPlot.paths.stepped({align: 1}), points: {show: xs.length < 40}, value: (plot, each) => (each === null ? "–" : `${Format.digits(each, 4)} %`)}],
        }, data: [xs, ys]};
    }

    /* Messages by their length: powers of two. */
    function groupSizes() {
        const messages = Data.messages, groups = new Map();
        for (let i = 0; i < messages.count; i++) {
            if (!(messages.duration[i] > 0 && messages.bytes[i] > 0))
                continue;
            const size = 2 ** Math.floor(Math.log2(messages.bytes[i]));
            if (!groups.has(size))
                groups.set(size, []);
            groups.get(size).push(i);
        }
        return [...groups].sort((a, b) => a[0] - b[0]).map(([size, list]) => ({size, times: list.map((i) => messages.duration[i]).sort(d3.ascending),
            rates: list.map((i) => messages.bytes[i] / messages.duration[i] * 1e12).sort(d3.ascending)}));
    }
    const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];

    function sizeChart(groups, key, quantiles, format) {
        const values = quantiles.map(([, q]) => groups.map((each) => quantile(each[key], q)));
        const all = values.flat(), sizes = groups.map((each) => each.size);
        return {options: {
            scales: {x: {time: false, distr: 3, log: 2, range: [Math.min(8, sizes[0]), Math.max(4194304, sizes[sizes.length - 1])]}, y: {distr: 3, log: 10, range: [10 ** Math.floor(Math.log10(d3.min(all))), 10 ** Math.ceil(Math.log10(d3.max(all) * 1.01))]}},
            axes: [Charts.axis({splits: Charts.powers(2), values: Charts.texts(Format.bytes), label: "bytes of a message", size: 34, labelSize: 22}), Charts.axis({splits: Charts.powers(10), values: Charts.texts(format), size: 84})],
            series: [{label: "bytes", value: (plot, each) => (each === null ? "–" : `from ${Format.bytes(each)}`)}, ...quantiles.map(([label], i) => ({label, stroke: Charts.colors(i), width: 2, dash: Charts.dashes[i], points: {show: true, size: 6},
                value: (plot, each) => (each === null ? "–" : format(each))}))],
        }, data: [sizes, ...values]};
    }

    const groups = groupSizes();
    section.append(element("h2", {}, "Latency and rate by message length"));
    if (groups.length === 0)
        section.append(element("p", {class: "empty"}, "No message with a length arrived, so there is nothing to draw by length."));
    else {
        const pair = element("div", {class: "charts"});
        section.append(pair);
        Charts.add(pair, "Latency of messages", "From the first byte that leaves the NIC to the last one that lands.", () => sizeChart(groups, "times", [["median", 0.5], ["90 %", 0.9], ["99 %", 0.99], ["slowest", 1]], Format.time));
        Charts.add(pair, "Rate of messages", "Length divided by latency: of one message, not of all together.", () => sizeChart(groups, "rates", [["median", 0.5], ["fastest", 1], ["slowest", 0]], Format.rate));
    }
    section.append(element("h2", {}, "Distributions"));
    if (histograms.length === 0)
        section.append(element("p", {class: "empty"}, "No metric of this run is a distribution. Programs record one with rank_record."));
    else {
        const choice = element("input", {type: "search", placeholder: "part of a name", id: "latency-filter", oninput: draw}), said = element("span", {class: "note"});
        const rows = () => histograms.filter(([name]) => name.includes(choice.value));
        const tableBox = element("div");
        section.append(element("p", {}, element("label", {}, "Metrics", choice), " ", said), charts, element("h2", {}, "Percentiles"), tableBox);
        function draw() {
            const chosen = rows(), most = 12;
            charts.replaceChildren();
            chosen.slice(0, most).forEach(([name, metric]) => Charts.add(charts, name, `${Format.plural(metric.count, "value", "values")}; share that is not above a value`, () => distribution(name)));
            said.textContent = chosen.length > most ? `${most} of ${chosen.length} are drawn; the table has all` : Format.plural(chosen.length, "metric", "metrics");
            tableBox.replaceChildren(table([["metric", ([name]) => name, "text"], ["count", ([, metric]) => Format.number(metric.count), "number"],
                ...["min", "p50", "mean", "p90", "p99", "p999", "max"].map((key) => [key, ([, metric]) => Format.metric(metric[key], metric.unit), "number"])], chosen));
        }
        draw();
    }
    const plain = metrics.filter(([, metric]) => metric.type !== "histogram" && metric.value !== 0);
    section.append(element("h2", {}, "Counters and rates"), plain.length === 0 ? element("p", {class: "empty"}, "Nothing was counted.")
        : element("details", {open: plain.length < 40}, element("summary", {}, Format.plural(plain.length, "metric that is not 0", "metrics that are not 0")), table([["metric", ([name]) => name, "text"], ["value", ([, metric]) => Format.metric(metric.value, metric.unit), "number"]], plain)));
}

function OverTime(section) {
    const width = Data.time.width, seconds = width / 1e12, length = Math.max(1, Math.min(256, Math.ceil(Data.activeEnd / Math.max(width, 1))));
    const times = d3.range(length).map((i) => (i + 0.5) * width);
    const ofRun = new Map(Data.series.filter((each) => each.track === undefined).map((each) => [each.name, each]));
    const counters = Data.series.filter((each) => each.track !== undefined);
    const values = (series, factor) => times.map((_, i) => (series && series.values[i] || 0) * factor);
    /* The last interval is shorter than the others: the run ended in it. */
    const lastPart = Math.min(1, Math.max(0.02, (Data.activeEnd - (length - 1) * width) / width));
    const means = (series, factor) => values(series, factor).map((each, i) => (i === length - 1 ? each / lastPart : each));
    const charts = element("div", {class: "charts"});
    const sync = uPlot.sync("time");

    /* Faults and losses: a dashed line and a cross. */
    const marks = {hooks: {draw: [(plot) => {
        const context = plot.ctx, {left, top, width: wide, height} = plot.bbox;
        context.save();
        context.strokeStyle = context.fillStyle = Page.color("lost");
        context.font = `${13 * devicePixelRatio}px sans-serif`;
        context.textAlign = "center";
        context.setLineDash([5, 4]);
        for (const time of faultTimes()) {
            const x = plot.valToPos(Data.toActive(time), "x", true);
            if (x < left || x > left + wide)
                continue;
            context.beginPath();
            context.moveTo(x, top);
            context.lineTo(x, top + height);
            context.stroke();
            context.fillText("✕", x, top - 2);
        }
        context.restore();
    }]}};
    function faultTimes() {
        const timed = Data.timedFaults.filter((fault) => fault.injected).map((fault) => fault.time);
        const injected = Data.result.faults.filter((fault) => fault.time_ps === undefined).flatMap((fault) => fault.injected.map((each) => each.time_ps));
        return [...timed, ...injected.slice(0, 30)];
    }

    function lineChart(lines, format, filled) {
        const high = d3.max(lines, ([, list]) => d3.max(list)) || 1;
        return {options: {
            cursor: {sync: {key: sync.key}}, plugins: [marks], padding: [14, 16, 0, 0],
            scales: {x: {time: false, range: [0, Data.activeEnd]}, y: {range: [0, high * 1.08]}},
            axes: [Charts.axis({space: 110, values: (plot, ticks) => ticks.map((each, i) => Format.timeTo(Data.toVirtual(each), ticks.length > 1 ? ticks[1] - ticks[0] : width))}),
                Charts.axis({values: Charts.texts(format), size: 78})],
            series: [{label: "time", value: (plot, each) => (each === null ? "–" : Format.time(Data.toVirtual(each)))}, ...lines.map(([label], i) => ({label, stroke: Charts.colors(i), width: 1.6, dash: Charts.dashes[i],
                fill: filled && lines.length === 1 ? `${Charts.colors(0)}33` : undefined, points: {show: false}, value: (plot, each) => (each === null ? "–" : format(each))}))],
        }, data: [times, ...lines.map(([, list]) => list)]};
    }
    /* Draws those of the named quantities that the run has; factor: to the unit that is shown. */
    function quantities(title, note, names, factor, format, filled) {
        const lines = names.filter(([, name]) => ofRun.has(name)).map(([label, name]) => [label, means(ofRun.get(name), factor)]);
        if (lines.length > 0)
            Charts.add(charts, title, note, () => lineChart(lines, format, filled));
    }

    function inFlight(own) {
        const messages = Data.messages, steps = new Float64Array(length + 1);
        let any = false;
        for (let i = 0; i < messages.count; i++)
            if (Data.isLnet(i) === own) {
                any = true;
                steps[Math.min(length, Math.max(0, Math.floor(messages.start[i] / width)))] += messages.stride;
                steps[Math.min(length, Math.max(0, Math.floor(messages.stop[i] / width) + 1))] -= messages.stride;
            }
        let sum = 0;
        return any ? Array.from(steps.slice(0, length), (step) => (sum += step)) : null;
    }
    /* What was sent less what was received: the messages that wait in mailboxes, each of which has a credit. */
    function mailboxes() {
        const sent = values(ofRun.get("SMSG sent"), 1), received = values(ofRun.get("SMSG received"), 1);
        let waiting = 0;
        return sent.map((each, i) => Math.max(0, waiting += each - received[i]));
    }

    const flights = [["transfers", inFlight(false)], ["LNet messages", inFlight(true)]].filter(([, list]) => list !== null);
    if (flights.length > 0)
        Charts.add(charts, "Messages in flight", "Sent and not yet arrived, at some time of each interval.", () => lineChart(flights, Format.short, true));
    quantities("Ranks waiting", "Mean number of ranks that wait or poll. A hang ends in a flat curve.", [["ranks", "ranks waiting"]], 1 / Math.max(width, 1), Format.short, true);
    quantities("Throughput", "Bytes that left the NICs, and bytes that landed, per second.", [["sent", "bytes sent"], ["landed", "bytes landed"], ["LNet sent", "LNet bytes sent"], ["LNet received", "LNet bytes received"]], 1 / seconds, Format.rate);
    quantities("Transfers that ended", "Per second; failed ones ended with an error.", [["completed", "transfers completed"], ["failed", "transfers failed"]], 1 / seconds, (each) => `${Format.short(each)}/s`);
    quantities("Completion queues", "Entries that were made, and events that found a queue full, per second.", [["events", "queue events"], ["overruns", "queue overruns"]], 1 / seconds, (each) => `${Format.short(each)}/s`);
    if (ofRun.has("SMSG sent"))
        Charts.add(charts, "SMSG credits in use", "Messages that were sent into mailboxes and not yet taken out, of all connections together.", () => lineChart([["messages", mailboxes()]], Format.short, true));
    for (const [title, prefix] of [["Connections by state", "connections: "], ["LNet connections by state", "LNet connections: "]]) {
        const states = [...ofRun.keys()].filter((name) => name.startsWith(prefix));
        quantities(title, "Mean number of connections in each state.", states.map((name) => [name.slice(prefix.length), name]), 1 / Math.max(width, 1), Format.short);
    }

    /* A counter keeps its value until the next one. */
    const steps = (counter) => times.map((_, i) => (i < counter.values.length ? counter.values[i] : counter.last));
    const extent = (counter) => (counter.smallest ? d3.max(counter.values) - d3.min(counter.values) : d3.max(counter.values));
    const titles = {depth: "Completion queues: depth", "transmit credits": "LNet: transmit credits", "SMSG credits in use": "SMSG: credits in use"};
    const notes = {depth: "Unread entries of a queue: the largest number in each interval.", "transmit credits": "Credits that are left: the smallest number in each interval.",
        "SMSG credits in use": "Messages of one node to another that were sent and not yet received: the largest number in each interval."};
    const channelNote = "Blocks of the next router's input buffer in use, from the departure of a packet until its credits return: the largest number in each interval.";
    const titleOf = (kind) => titles[kind] || kind.replace(/^VC (\d+)$/, "Virtual channel $1 of the network: occupancy");

    const note = element("p", {class: "note"}, `The ${length} intervals are ${Format.time(width)} long. Stretches in which nothing happened are shortened; the labels show virtual time. ✕ marks faults.`);
    if (charts.childElementCount === 0)
        section.append(element("p", {class: "empty"}, "Nothing happened in this run that changes over time."));
    else
        section.append(note, charts);
    addCounters();

    function counterName(each) {
        if (each.track === "link" || each.track === "port")
            return `router ${each.node} port ${each.index} ${each.name}`;
        if (each.track === "CQ")
            return `node ${each.node} CQ ${each.index} ${each.name}`;
        if (each.track === "SMSG")
            return `node ${each.node} to node ${each.index} ${each.name}`;
        return `node ${each.node} ${each.track} ${each.name}`;
    }
    function addCounters() {
        const filter = element("input", {type: "search", id: "counter-filter", placeholder: "part of a name", oninput: draw}), said = element("span", {class: "note"});
        const box = element("div", {class: "charts"});
        section.append(element("h2", {}, "Queues, credits and virtual channels"));
        if (counters.length === 0) {
            section.append(element("p", {class: "empty"}, "This run has no counters. Completion queues have their unread entries as counters, SMSG has the credits in use between two nodes, LNet has its transmit credits, and a network at fidelity F2 the occupancy of its virtual channels."));
            return;
        }
        section.append(element("p", {}, element("label", {}, "Counters", filter), " ", said), box);
        function draw() {
            const found = counters.filter((each) => counterName(each).includes(filter.value)), kinds = d3.sort(new Set(found.map((each) => each.name)));
            said.textContent = `${Format.plural(found.length, "counter", "counters")}${counters.length < Data.counters ? ` of ${Format.number(Data.counters)}` : ""}; of each kind the six that went farthest are drawn`;
            box.replaceChildren();
            for (const kind of kinds) {
                const most = found.filter((each) => each.name === kind).sort((a, b) => extent(b) - extent(a)).slice(0, 6);
                Charts.add(box, titleOf(kind), notes[kind] || (kind.startsWith("VC ") ? channelNote : "The largest value in each interval."), () => lineChart(most.map((each) => [counterName(each).replace(` ${kind}`, ""), steps(each)]), Format.short));
            }
        }
        draw();
    }
}
