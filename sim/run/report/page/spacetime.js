/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The space-time diagram: a line for each rank, its calls as bars, messages as lines between them. Time goes right. What is out of
 * sight, or would be drawn on the same pixel again, is left out, so that 100,000 messages stay fluid.
 */
"use strict";

function SpaceTime(section) {
    const {rows, messages, points, slices} = Data, LABELS = 150, TOP = 34, BOTTOM = 30, MESSAGES_DRAWN = 12000;
    const layers = {calls: true, waits: true, messages: true, losses: true};
    const STATES = ["arrived", "failed", "never arrived", "lost"];
    const COLORS = {arrived: "message", failed: "failed", "never arrived": "failed", lost: "lost"};
    let visible = rows.name.map((_, i) => i), place = null; /* rows that are shown; by row: its place, or −1 */
    let x = d3.scaleLinear().domain([0, Data.activeEnd]), y = [0, visible.length];
    let selected = null, before = d3.zoomIdentity;
    const state = Array.from({length: messages.count}, (_, i) => Data.state(i));
    const order = STATES.map((each) => {
        const found = [];
        state.forEach((is, i) => is === each && found.push(i));
        return found;
    });

    /* ---- controls ---- */
    const rankFilter = element("input", {type: "search", size: 16, placeholder: "0-7, clients.3", id: "spacetime-ranks", onchange: filterRows, onsearch: filterRows});
    const flowFilter = element("input", {type: "search", size: 7, placeholder: "number", inputmode: "numeric", id: "spacetime-flow",
        onchange: () => (flowFilter.value === "" ? select(null) : select({flow: Number(flowFilter.value)}, true))});
    const kinds = [...new Set(messages.name)].map(Data.name).sort();
    const kindFilter = element("select", {id: "spacetime-kind", onchange: () => drawing.redraw()}, element("option", {value: ""}, "all kinds"), kinds.map((name) => element("option", {}, name)));
    const boxes = Object.entries({calls: "calls", waits: "waiting", messages: "messages", losses: "losses and faults"}).map(([key, text]) =>
        element("label", {}, element("input", {type: "checkbox", checked: true, "data-layer": key, onchange: (event) => {
            layers[key] = event.target.checked;
            drawing.redraw();
        }}), text));
    const info = element("div", {class: "side", id: "spacetime-info", "aria-live": "polite"});
    const canvasBox = element("div", {class: "drawing"});
    section.append(
        element("div", {class: "bar"}, element("label", {}, "Ranks", rankFilter), element("label", {}, "Message", flowFilter), element("label", {}, "Kind", kindFilter),
            boxes, element("span", {class: "space"}), element("button", {type: "button", onclick: () => zoomBy(2)}, "+"), element("button", {type: "button", onclick: () => zoomBy(0.5)}, "−"),
            element("button", {type: "button", onclick: showAll}, "Show all")),
        element("div", {class: "columns"}, canvasBox, info));
    const drawing = fittingCanvas(canvasBox, draw, {role: "img", id: "spacetime-canvas",
        "aria-label": "Space-time diagram. The listing has the same events as text."});

    function filterRows() {
        const words = rankFilter.value.split(",").map((word) => word.trim()).filter(Boolean);
        const matches = (name, i) => words.some((word) => {
            const range = word.match(/^(\d+)(?:-(\d+))?$/), number = Number(name.slice(name.search(/\d+$/)));
            return range ? rows.rank[i] && number >= Number(range[1]) && number <= Number(range[2] || range[1]) : name.includes(word);
        });
        visible = rows.name.map((_, i) => i).filter((i) => words.length === 0 || matches(rows.name[i], i));
        place = new Int32Array(rows.name.length).fill(-1);
        visible.forEach((row, at) => (place[row] = at));
        y = [0, Math.max(visible.length, 1)];
        drawing.redraw();
    }

    /* ---- geometry ---- */
    const rowHeight = () => Math.min(72, (drawing.height - TOP - BOTTOM) / (y[1] - y[0]));
    const rowTop = (at) => TOP + (at - y[0]) * rowHeight();
    const isPlaced = (i) => place[messages.from[i]] >= 0 && place[messages.to[i]] >= 0; /* a message: its line is shown */
    const middle = (row) => rowTop(place[row]) + rowHeight() / 2;

    function clampView() {
        let [a, b] = x.domain();
        const span = Math.min(Math.max(b - a, 100), Data.activeEnd * 1.1);
        a = Math.min(Math.max(a, -0.05 * span), Math.max(Data.activeEnd + 0.05 * span - span, -0.05 * span));
        x.domain([a, a + span]);
        const rowsShown = Math.min(Math.max(y[1] - y[0], Math.min(1, visible.length)), Math.max(visible.length, 1));
        const first = Math.min(Math.max(y[0], 0), Math.max(visible.length, 1) - rowsShown);
        y = [first, first + rowsShown];
    }
    function zoomBy(factor) {
        const [a, b] = x.domain(), middleTime = (a + b) / 2;
        x.domain([middleTime - (b - a) / 2 / factor, middleTime + (b - a) / 2 / factor]);
        changed();
    }
    function zoomRows(factor, at) {
        const around = at === undefined ? (y[0] + y[1]) / 2 : at;
        y = [around - (around - y[0]) / factor, around + (y[1] - around) / factor];
        changed();
    }
    function pan(timePart, rowPart) {
        const [a, b] = x.domain();
        x.domain([a + (b - a) * timePart, b + (b - a) * timePart]);
        y = [y[0] + (y[1] - y[0]) * rowPart, y[1] + (y[1] - y[0]) * rowPart];
        changed();
    }
    function showAll() {
        x.domain([-0.01 * Data.activeEnd, 1.02 * Data.activeEnd]);
        y = [0, Math.max(visible.length, 1)];
        changed();
    }
    function changed() {
        clampView();
        drawing.redraw();
    }

    /* ---- drawing ---- */
    function draw() {
        x.range([LABELS, drawing.width]);
        const context = drawing.context, bottom = drawing.height - BOTTOM;
        context.clearRect(0, 0, drawing.width, drawing.height);
        if (visible.length === 0 || (messages.count === 0 && points.count === 0)) {
            context.fillStyle = Page.color("faint");
            context.font = FONT;
            context.textAlign = "left";
            context.fillText(visible.length === 0 && rows.name.length > 0 ? "No rank has such a name. Numbers, ranges and parts of names are allowed: 0-7, clients" : "Nothing happened in this run: there are no calls and no messages.", 20, 40);
            return;
        }
        drawTimeAxis(drawing, x, LABELS, TOP, bottom);
        context.save();
        context.beginPath();
        context.rect(LABELS, TOP, drawing.width - LABELS, bottom - TOP);
        context.clip();
        drawRows();
        if (layers.messages)
            drawMessages();
        if (layers.losses)
            drawLosses();
        if (selected !== null)
            drawSelected();
        context.restore();
        drawLabels();
        drawGaps(drawing, x, LABELS, TOP, bottom);
    }

    function drawRows() {
        const context = drawing.context, height = rowHeight(), bar = Math.max(1, Math.min(height * 0.62, 16)), step = Math.max(1, Math.floor(1 / height));
        const colors = {call: Page.color("call"), wait: Page.color("wait"), line: Page.color("line")};
        const begin = Data.toVirtual(Math.max(x.invert(LABELS), 0)), end = Data.toVirtual(x.invert(drawing.width));
        for (let at = Math.max(0, Math.floor(y[0])); at < Math.min(visible.length, y[1]); at += step) {
            const row = visible[at], exact = rowTop(at) + (height - bar) / 2, top = height < 3 ? Math.floor(exact) : exact, inset = bar > 4 ? 1 : 0;
            if (height >= 6) {
                context.fillStyle = colors.line;
                context.fillRect(LABELS, Math.round(rowTop(at) + height / 2), drawing.width, 0.5);
            }
            if (layers.calls)
                drawBars(slices[row], false, begin, end, top, bar, colors.call);
            if (layers.waits)
                drawBars(slices[row], true, begin, end, top + inset, bar - 2 * inset, colors.wait);
            if (layers.calls && height >= 9)
                drawNames(slices[row], begin, end, top + bar / 2);
        }
    }

    const left = (i) => x(Data.toActive(points.time[i]));
    const right = (i) => x(Data.toActive(points.time[i] + Math.max(points.duration[i], 0)));
    /* The calls, or waits, of a row in sight; `visit` gets their ends on the screen. */
    function eachBar(list, wait, begin, end, visit) {
        for (const i of list) {
            if (points.time[i] > end)
                break;
            if (Data.isWait.has(points.name[i]) === wait && points.time[i] + Math.max(points.duration[i], 0) >= begin)
                visit(i, Math.max(left(i), LABELS - 1), Math.min(right(i), drawing.width));
        }
    }
    function drawBars(list, wait, begin, end, top, height, color) {
        const context = drawing.context;
        let done = -1;
        context.fillStyle = color;
        eachBar(list, wait, begin, end, (i, from, to) => {
            if (to < done + 0.5)
                return;
            context.fillRect(Math.max(from, done), top, Math.max(to - Math.max(from, done), 0.7), height);
            done = to;
        });
    }
    function drawNames(list, begin, end, middleLine) {
        const context = drawing.context;
        let free = LABELS;
        context.fillStyle = Page.color("text");
        context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
        context.textAlign = "left";
        context.textBaseline = "middle";
        eachBar(list, false, begin, end, (i, from, to) => {
            if (to - from < 60 || from < free)
                return;
            context.fillText(fitted(Data.name(points.name[i]), to - from - 8), from + 5, middleLine);
            free = to;
        });
        context.textBaseline = "alphabetic";
    }
    function fitted(text, room) {
        const most = Math.floor(room / 6.4);
        return text.length <= most ? text : most > 2 ? `${text.slice(0, most - 1)}…` : "";
    }

    /* Those of the messages that have a line which may be in sight, or in a shorter time. All messages of a run pass here for each picture. */
    function shown(list, [begin, end] = x.domain()) {
        const {start, stop, from, to, name} = messages, kind = kindFilter.value === "" ? -1 : Data.strings.indexOf(kindFilter.value);
        return list.filter((i) => stop[i] >= begin && start[i] <= end && place[from[i]] >= 0 && place[to[i]] >= 0 && (kind < 0 || name[i] === kind));
    }
    function ends(i) {
        const a = middle(messages.from[i]), b = messages.to[i] >= 0 ? middle(messages.to[i]) : a;
        return {x1: x(messages.start[i]), y1: a, x2: x(messages.stop[i]), y2: b};
    }

    function drawMessages() {
        const context = drawing.context;
        const list = shown(order[0]), step = Math.max(1, Math.ceil(list.length / MESSAGES_DRAWN));
        drawing.step = step;
        context.globalAlpha = list.length > 3000 ? 0.22 : list.length > 400 ? 0.5 : 0.9;
        for (const lnet of [false, true]) {
            context.strokeStyle = Page.color(lnet ? "lnet" : "message");
            context.lineWidth = list.length > 1000 ? 0.8 : 1.3;
            context.beginPath();
            for (let k = 0; k < list.length; k += step) {
                if (Data.isLnet(list[k]) !== lnet)
                    continue;
                const end = ends(list[k]);
                context.moveTo(end.x1, end.y1);
                context.lineTo(end.x2, end.y2);
            }
            context.stroke();
        }
        context.globalAlpha = 1;
        if (list.length < 300)
            list.forEach((i) => arrow(ends(i), Page.color(Data.isLnet(i) ? "lnet" : "message")));
    }
    function arrow(end, color) {
        const context = drawing.context, angle = Math.atan2(end.y2 - end.y1, end.x2 - end.x1), size = 6;
        if (Math.hypot(end.x2 - end.x1, end.y2 - end.y1) < 14)
            return;
        context.fillStyle = color;
        context.beginPath();
        context.moveTo(end.x2, end.y2);
        context.lineTo(end.x2 - size * Math.cos(angle - 0.4), end.y2 - size * Math.sin(angle - 0.4));
        context.lineTo(end.x2 - size * Math.cos(angle + 0.4), end.y2 - size * Math.sin(angle + 0.4));
        context.fill();
    }

    /* A lost message ends half-way, with a cross; one that failed or never arrived is dashed. */
    function drawLosses() {
        const context = drawing.context;
        for (let kind = 1; kind < STATES.length; kind++) {
            const list = shown(order[kind]), step = Math.max(1, Math.ceil(list.length / 3000)), crosses = list.length < 500;
            context.strokeStyle = Page.color(COLORS[STATES[kind]]);
            context.lineWidth = 1.6;
            context.setLineDash(STATES[kind] === "lost" ? [] : [6, 4]);
            context.beginPath();
            for (let k = 0; k < list.length; k += step) {
                const end = troubled(list[k]);
                context.moveTo(end.x1, end.y1);
                context.lineTo(end.x2, end.y2);
            }
            context.stroke();
            context.setLineDash([]);
            if (STATES[kind] === "lost" || STATES[kind] === "never arrived")
                for (let k = 0; k < list.length; k += crosses ? 1 : step)
                    cross(troubled(list[k]), crosses ? 6 : 3);
        }
        drawFaults();
    }
    function troubled(i) {
        const end = ends(i);
        if (messages.duration[i] >= 0 || (state[i] !== "lost" && state[i] !== "never arrived"))
            return end;
        const lost = messages.lost[i] >= 0 ? x(Data.toActive(messages.begin[i] + messages.lost[i])) : end.x1;
        return {x1: end.x1, y1: end.y1, x2: Math.max(lost, end.x1 + 14), y2: (end.y1 + end.y2) / 2};
    }
    function cross(end, size) {
        const context = drawing.context;
        context.lineWidth = 2.4;
        context.beginPath();
        context.moveTo(end.x2 - size, end.y2 - size);
        context.lineTo(end.x2 + size, end.y2 + size);
        context.moveTo(end.x2 - size, end.y2 + size);
        context.lineTo(end.x2 + size, end.y2 - size);
        context.stroke();
    }
    /* Faults at a time: a line over all ranks. */
    function drawFaults() {
        const context = drawing.context;
        let free = LABELS;
        for (const fault of Data.timedFaults.filter((each) => each.injected)) {
            const at = x(Data.toActive(fault.time));
            if (at < LABELS || at > drawing.width)
                continue;
            context.strokeStyle = context.fillStyle = Page.color("lost");
            context.lineWidth = 1;
            context.setLineDash([7, 3]);
            context.beginPath();
            context.moveTo(at, TOP);
            context.lineTo(at, drawing.height - BOTTOM);
            context.stroke();
            context.setLineDash([]);
            const text = `✕ ${fault.title}: ${fault.place || ""} ${fault.action}`, width = context.measureText(text).width;
            if (at + 4 > free && at + width < drawing.width) {
                context.textAlign = "left";
                context.font = FONT;
                context.fillText(text, at + 4, TOP + 12);
                free = at + width + 10;
            }
        }
    }

    function drawSelected() {
        const context = drawing.context;
        context.strokeStyle = context.fillStyle = Page.color("text");
        if (selected.row !== undefined && place[selected.row] >= 0) {
            context.lineWidth = 1.5;
            context.strokeRect(LABELS, rowTop(place[selected.row]) + 0.5, drawing.width - LABELS, Math.max(rowHeight() - 1, 2));
        }
        const i = selected.message;
        if (i === undefined || !isPlaced(i))
            return;
        const end = troubled(i), color = Page.color(COLORS[state[i]]);
        context.lineWidth = 7;
        context.globalAlpha = 0.3;
        context.strokeStyle = color;
        context.beginPath();
        context.moveTo(end.x1, end.y1);
        context.lineTo(end.x2, end.y2);
        context.stroke();
        context.globalAlpha = 1;
        context.lineWidth = 2.5;
        context.stroke();
        context.fillStyle = color;
        context.beginPath();
        context.arc(end.x1, end.y1, 4.5, 0, 2 * Math.PI);
        context.fill();
        if (state[i] === "arrived")
            arrow(end, color);
        else
            cross(end, 7);
    }

    function drawLabels() {
        const context = drawing.context, height = rowHeight(), step = Math.max(1, Math.ceil(15 / height));
        context.font = FONT;
        context.textBaseline = "middle";
        context.textAlign = "right";
        for (let at = Math.max(0, Math.ceil((Math.floor(y[0])) / step) * step); at < Math.min(visible.length, y[1]); at += step) {
            const top = rowTop(at) + height / 2, name = rows.name[visible[at]];
            if (top < TOP + 2 || top > drawing.height - BOTTOM)
                continue;
            context.fillStyle = selected !== null && selected.row === visible[at] ? Page.color("text") : Page.color("faint");
            context.fillText(name.length > 20 ? `${name.slice(0, 9)}…${name.slice(-10)}` : name, LABELS - 10, top);
        }
        context.textBaseline = "alphabetic";
    }

    /* ---- what is under the pointer ---- */
    function find(px, py) {
        let best = null, nearest = 6;
        if (px < LABELS || place === null)
            return px < LABELS && py > TOP ? {row: visible[Math.floor(y[0] + (py - TOP) / rowHeight())]} : null;
        for (let kind = STATES.length - 1; kind >= 0; kind--) {
            if (!(kind === 0 ? layers.messages : layers.losses))
                continue;
            for (const i of shown(order[kind], [x.invert(px - 8), x.invert(px + 8)])) {
                const end = troubled(i), distance = toSegment(px, py, end) - kind * 0.5;
                if (distance < nearest) {
                    nearest = distance;
                    best = {message: i, flow: messages.flow[i]};
                }
            }
        }
        return best || findCall(px, py);
    }
    function toSegment(px, py, {x1, y1, x2, y2}) {
        const dx = x2 - x1, dy = y2 - y1, part = Math.max(0, Math.min(1, ((px - x1) * dx + (py - y1) * dy) / (dx * dx + dy * dy || 1)));
        return Math.hypot(px - x1 - part * dx, py - y1 - part * dy);
    }
    function findCall(px, py) {
        const row = visible[Math.floor(y[0] + (py - TOP) / rowHeight())], time = Data.toVirtual(x.invert(px)), near = Data.toVirtual(x.invert(px - 2));
        let found = null;
        for (const i of slices[row] || []) {
            if (points.time[i] > time)
                break;
            if (points.time[i] + Math.max(points.duration[i], 0) >= near && (Data.isWait.has(points.name[i]) ? layers.waits : layers.calls))
                found = i;
        }
        return found === null ? null : {point: found, row};
    }

    function describe(what) {
        if (what.message !== undefined) {
            const i = what.message;
            return `${Data.name(messages.name[i])}, ${Format.bytes(messages.bytes[i])}, message ${messages.flow[i]}\n${rows.name[messages.from[i]]} → ${rows.name[messages.to[i]] || "?"}\n` +
                `${state[i] === "arrived" ? `arrived after ${Format.time(messages.duration[i])}` : `✕ ${state[i]}`}`;
        }
        if (what.point !== undefined)
            return `${Data.name(points.name[what.point])} (${Format.time(Math.max(points.duration[what.point], 0))})\n` + Data.argumentsOf(what.point).map(([name, value]) => `${name}: ${value}`).join("\n");
        return what.row !== undefined ? `${rows.name[what.row]} on node ${rows.node[what.row]}` : "";
    }

    /* ---- selection ---- */
    function eventList(list, rowLink) {
        const most = 40;
        return list.length === 0 ? element("p", {class: "empty"}, "Its events were thinned out of this page.") : [element("table", {}, element("tbody", {}, list.slice(0, most).map((i) => element("tr", {},
            element("td", {class: "number"}, Format.exact(points.time[i])), element("td", {class: "text"}, `${points.tracks[points.track[i]]}: ${Data.name(points.name[i])}`))))),
            rowLink];
    }
    function messageFacts(i) {
        const flow = messages.flow[i], bad = state[i] !== "arrived";
        return [element("h2", {id: "selected-title"}, `Message ${flow}`),
            element("p", {class: bad ? "bad" : "good"}, `${bad ? "✕" : "✔"} ${state[i]}${state[i] === "lost" && messages.duration[i] >= 0 ? ", and arrived later" : ""}`),
            facts([["kind", Data.name(messages.name[i])], ["bytes", Format.bytes(messages.bytes[i])], ["from", rows.name[messages.from[i]]], ["to", rows.name[messages.to[i]] || "?"],
                ["through", messages.through[i] >= 0 ? `node ${messages.through[i]}` : null], ["sent at", Format.exact(messages.begin[i])],
                ["arrived after", messages.duration[i] >= 0 ? Format.time(messages.duration[i]) : "never"], ["completed after", messages.settled[i] >= 0 ? Format.time(messages.settled[i]) : null],
                ["lost at", messages.lost[i] >= 0 ? Format.exact(messages.begin[i] + messages.lost[i]) : null], ["status", Data.name(messages.status[i])]]),
            element("h2", {}, "Its events"), eventList(Data.pointsOfFlow(flow), element("p", {}, Page.link("In the listing", "listing", {flow})))];
    }
    function overview() {
        return [element("h2", {}, "Legend"), element("div", {class: "legend", style: "flex-direction: column; align-items: flex-start"},
            [["call", "call to the API (bar)"], ["wait", "rank waits or polls (bar)"], ["message", "message →"], ["lnet", "LNet message →"], ["failed", "- - failed, or never arrived ✕"], ["lost", "✕ lost"]]
                .map(([color, text]) => element("span", {}, element("span", {class: "swatch", style: `background: var(--${color})`}), text))),
            element("h2", {}, "In this run"), facts([["ranks", Format.number(rows.rank.filter(Boolean).length)], ["messages", Format.number(messages.all)], ["lost", Format.number(order[3].length)],
                ["failed", Format.number(order[1].length)], ["never arrived", Format.number(order[2].length)]]),
            messages.stride > 1 ? element("p", {class: "note"}, `1 of ${messages.stride} messages is shown, and all that were lost or failed.`) : "",
            order[3].length + order[2].length + order[1].length > 0 ? [element("h2", {}, "Lost and failed"), element("ul", {}, [...order[3], ...order[2], ...order[1]].slice(0, 12).map((i) =>
                element("li", {}, Page.messageLink(messages.flow[i], `${Data.name(messages.name[i])} ${rows.name[messages.from[i]]} → ${rows.name[messages.to[i]] || "?"}`))))] : "",
            element("p", {class: "note"}, "Wheel: zoom in time. Shift and wheel: zoom the rows. Drag: move. Click: details.")].flat();
    }
    function showInfo() {
        info.replaceChildren();
        if (selected === null)
            info.append(...overview());
        else if (selected.message !== undefined)
            info.append(...messageFacts(selected.message).flat());
        else if (selected.point !== undefined)
            info.append(element("h2", {id: "selected-title"}, Data.name(points.name[selected.point])), facts([["rank", rows.name[selected.row]], ["at", Format.exact(points.time[selected.point])],
                ["took", Format.time(Math.max(points.duration[selected.point], 0))], ...Data.argumentsOf(selected.point).map(([name, value]) => [name, String(value)])]),
                element("p", {}, Page.link("In the listing", "listing", {rank: rows.rank[selected.row] ? rows.name[selected.row] : `node ${rows.node[selected.row]}`, at: points.time[selected.point]})));
        else if (selected.row !== undefined)
            info.append(element("h2", {id: "selected-title"}, rows.name[selected.row]), facts([["node", String(rows.node[selected.row])], ["calls", Format.number(slices[selected.row].length)]]),
                element("p", {}, Page.link("In the listing", "listing", {rank: rows.rank[selected.row] ? rows.name[selected.row] : `node ${rows.node[selected.row]}`})),
                element("h2", {}, "Last calls"), ...eventList(slices[selected.row].slice(-12), "").flat());
        if (selected !== null)
            info.append(element("p", {}, element("button", {type: "button", onclick: () => select(null)}, "End the selection")));
    }
    function select(what, move) {
        selected = what;
        if (what !== null && what.flow !== undefined && what.message === undefined) {
            const i = messages.ofFlow.get(what.flow);
            selected = i === undefined ? null : {flow: what.flow, message: i};
        }
        flowFilter.value = selected !== null && selected.flow !== undefined ? selected.flow : "";
        if (move && selected !== null && selected.message !== undefined)
            moveTo(selected.message);
        showInfo();
        drawing.redraw();
    }
    function moveTo(i) {
        const took = messages.lost[i] >= 0 && messages.duration[i] < 0 ? Math.max(messages.lost[i], 1e6) : Math.max(messages.stop[i] - messages.start[i], 1e5);
        const span = Math.min(took * 8, Data.activeEnd * 1.1);
        if (!isPlaced(i)) {
            rankFilter.value = "";
            filterRows();
        }
        x.domain([messages.start[i] - span * 0.4, messages.start[i] + span * 0.6]);
        const a = place[messages.from[i]], b = place[messages.to[i]], low = Math.min(a, b), high = Math.max(a, b);
        const room = Math.max(24, (high - low) * 1.3);
        if (visible.length > room)
            y = [(low + high) / 2 - room / 2, (low + high) / 2 + room / 2];
        clampView();
    }

    /* ---- mouse and keys ---- */
    const zoom = d3.zoom().scaleExtent([1e-9, 1e9]).filter((event) => !event.button && event.type !== "dblclick").on("zoom", (event) => {
        const now = event.transform, factor = now.k / before.k, source = event.sourceEvent;
        if (factor !== 1 && source && source.shiftKey) {
            zoomRows(factor, y[0] + (d3.pointer(source, drawing.canvas)[1] - TOP) / rowHeight());
        } else {
            const shift = now.x - before.x * factor, down = now.y - before.y * factor;
            x.domain([LABELS, drawing.width].map((at) => x.invert((at - shift) / factor)));
            if (factor === 1)
                y = y.map((at) => at - down / rowHeight());
            changed();
        }
        before = now;
    });
    d3.select(drawing.canvas).call(zoom);
    drawing.canvas.addEventListener("wheel", (event) => event.preventDefault(), {passive: false});
    drawing.canvas.addEventListener("mousemove", (event) => {
        const what = event.buttons ? null : find(event.offsetX, event.offsetY);
        if (what === null || describe(what) === "")
            Tooltip.hide();
        else
            Tooltip.show(event, describe(what));
    });
    drawing.canvas.addEventListener("mouseleave", Tooltip.hide);
    drawing.canvas.addEventListener("click", (event) => select(find(event.offsetX, event.offsetY)));
    drawing.canvas.addEventListener("keydown", (event) => {
        const action = {ArrowLeft: () => pan(-0.1, 0), ArrowRight: () => pan(0.1, 0), ArrowUp: () => pan(0, -0.1), ArrowDown: () => pan(0, 0.1), "+": () => zoomBy(1.5),
            "]": () => zoomRows(1.5), "[": () => zoomRows(1 / 1.5), "=": () => zoomBy(1.5), "-": () => zoomBy(1 / 1.5), 0: showAll, Home: showAll, Escape: () => select(null)}[event.key];
        if (action) {
            event.preventDefault();
            event.stopPropagation();
            action();
        }
    });

    filterRows();
    showAll();
    showInfo();
    return {
        show(what) {
            if (what.flow !== undefined)
                select({flow: Number(what.flow)}, true);
            if (what.row !== undefined && Data.rowOf.has(what.row)) {
                select({row: Data.rowOf.get(what.row)});
                const at = place[selected.row];
                if (at !== undefined && visible.length > 40)
                    y = [at - 20, at + 20];
            }
            if (what.at !== undefined) {
                const at = Data.toActive(Number(what.at)), span = Data.activeEnd / 20;
                x.domain([at - span / 2, at + span / 2]);
            }
            changed();
        },
        /* For tests: what is selected and in sight. */
        current: () => ({selected, domain: x.domain(), rows: y, drawn: order.map((list) => shown(list).length)}),
    };
}
