/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Switched networks (spines, leaves, nodes), and LNet: its networks as boxes with their nodes, routers between them. */
"use strict";

function drawSwitched(layer, all, choose) {
    const network = all.network, SIZE = 26, STEP = 34;
    const nodes = network.routerOf.map((router, node) => ({router, node})).filter((each) => each.router >= 0);
    const leaves = [...new Set(nodes.map((each) => each.router))].sort((a, b) => a - b), spines = d3.range(network.routers).filter((router) => !leaves.includes(router));
    const rows = Math.max(1, Math.ceil(Math.sqrt(nodes.length / Math.max(leaves.length, 1) / 3)));
    const at = new Map();
    let x = 0;
    leaves.forEach((leaf) => {
        const own = nodes.filter((each) => each.router === leaf), columns = Math.ceil(own.length / rows);
        own.forEach((each, i) => at.set(`n${each.node}`, {x: x + (i % columns) * STEP, y: 240 + Math.floor(i / columns) * (STEP + 8)}));
        at.set(`r${leaf}`, {x: x + (columns - 1) * STEP / 2, y: 120});
        x += columns * STEP + 24;
    });
    spines.forEach((spine, i) => at.set(`r${spine}`, {x: (x - 24) * (i + 0.5) / spines.length - STEP / 2, y: 0}));
    const end = (number) => at.get(number < network.routers ? `r${number}` : `n${nodes[number - network.routers] ? nodes[number - network.routers].node : -1}`);

    const lines = layer.append("g");
    const switches = layer.append("g").selectAll("g").data([...spines, ...leaves]).join("g").attr("transform", (router) => `translate(${at.get(`r${router}`).x},${at.get(`r${router}`).y})`);
    switches.append("rect").attr("class", "router").attr("x", -44).attr("y", -16).attr("width", 88).attr("height", 32).attr("rx", 5).attr("data-router", (router) => router).on("click", (event, router) => choose(router));
    switches.append("text").attr("text-anchor", "middle").attr("y", 4).attr("pointer-events", "none").text((router) => `switch ${router}`);
    switches.append("text").attr("class", "sign").attr("x", 34).attr("y", 5).attr("font-size", 15);
    const hosts = layer.append("g").selectAll("g").data(nodes).join("g").attr("transform", (each) => `translate(${at.get(`n${each.node}`).x},${at.get(`n${each.node}`).y})`);
    hosts.append("rect").attr("class", "router").attr("x", -SIZE / 2).attr("y", -SIZE / 2).attr("width", SIZE).attr("height", SIZE).attr("rx", 4);
    hosts.append("text").attr("text-anchor", "middle").attr("y", 4).attr("pointer-events", "none").text((each) => each.node);
    hosts.append("text").attr("class", "sign").attr("x", SIZE / 2).attr("y", -SIZE / 2 + 6).attr("font-size", 15);
    const ordered = d3.range(all.count).filter((i) => end(network.from[i]) && end(network.to[i]));

    return (links, selected) => {
        const load = new Map(), highest = links.highest();
        lines.selectAll("path").data(ordered, (i) => i).join("path").attr("class", (i) => `linkline${links.dead(i) ? " dead" : ""}`)
            .attr("d", (i) => {
                const a = end(network.from[i]), b = end(network.to[i]), side = network.from[i] < network.to[i] ? 3 : -3;
                return `M${a.x + side},${a.y} L${b.x + side},${b.y}`;
            })
            .attr("stroke", (i) => (links.dead(i) ? null : loadColor(links.load(i) / highest))).attr("stroke-width", (i) => 1 + 4 * links.load(i) / highest)
            .attr("stroke-opacity", (i) => (selected < 0 || network.from[i] === selected || network.to[i] === selected ? 1 : 0.25));
        for (let i = 0; i < links.count; i++)
            for (const number of [network.from[i], network.to[i]])
                load.set(number, Math.max(load.get(number) || 0, links.load(i)));
        const crashed = crashedNodes(links.until());
        switches.select("rect").attr("fill", (router) => loadColor((load.get(router) || 0) / highest)).attr("class", (router) => `router${router === selected ? " chosen" : ""}`);
        switches.select("text:not(.sign)").style("fill", (router) => textOn((load.get(router) || 0) / highest));
        hosts.select("text:not(.sign)").style("fill", (each) => textOn((load.get(network.routers + nodes.indexOf(each)) || 0) / highest));
        switches.select("text.sign").text((router) => (links.routerDead(router) ? "✕" : ""));
        hosts.select("rect").attr("fill", (each) => loadColor((load.get(network.routers + nodes.indexOf(each)) || 0) / highest));
        hosts.select("text.sign").text((each) => (crashed.includes(each.node) ? "✕" : ""));
    };
}

/* Returns a function that shows a stretch of time, and gives the contents of the table beside. */
function drawLnet(layer) {
    const {messages, rows} = Data, CELL = 34, PAD = 16, COLUMNS = 6;
    const members = new Map(), routers = new Set();
    const add = (name, node) => members.set(name, (members.get(name) || new Set()).add(node));
    for (const group of Data.lnet)
        for (const node of group.nodes) {
            group.networks.split(/[,;]/).map((text) => text.trim().replace(/\(.*\)?$/, "")).filter((name) => /^[a-z0-9]+$/i.test(name)).forEach((name) => add(name.replace(/([a-z])0$/, "$1"), node));
            if (group.forwarding)
                routers.add(node);
        }
    const nets = [...members.keys()];
    const groupOf = new Map(Data.lnet.flatMap((group) => group.nodes.map((node) => [node, group.name])));

    /* Boxes side by side; routers between the boxes of their networks, in a row above. */
    const inside = nets.map((name) => [...members.get(name)].filter((node) => !routers.has(node)).sort((a, b) => a - b));
    const at = new Map(), boxes = [];
    let x = 0;
    nets.forEach((name, i) => {
        const columns = Math.max(3, Math.min(COLUMNS, inside[i].length)), width = columns * CELL + 2 * PAD, lines = Math.max(1, Math.ceil(inside[i].length / columns));
        boxes.push({name, x, y: 150, width, height: lines * CELL + 2 * PAD + 22, count: members.get(name).size});
        inside[i].forEach((node, k) => at.set(node, {x: x + PAD + (k % columns + 0.5) * CELL, y: 150 + PAD + 22 + (Math.floor(k / columns) + 0.5) * CELL}));
        x += width + 70;
    });
    const routerList = [...routers].sort((a, b) => a - b), middle = (box) => box.x + box.width / 2, total = x - 70;
    routerList.forEach((node, i) => at.set(node, {x: total * (i + 0.5) / routerList.length, y: 50}));

    const edges = routerList.flatMap((node) => boxes.filter((box) => members.get(box.name).has(node)).map((box) => ({node, box})));
    const lines = layer.append("g").selectAll("path").data(edges).join("path").attr("class", "linkline")
        .attr("d", (edge) => `M${at.get(edge.node).x},${at.get(edge.node).y + 16} C${at.get(edge.node).x},110 ${middle(edge.box)},90 ${middle(edge.box)},150`);
    const drawn = layer.append("g").selectAll("g").data(boxes).join("g");
    drawn.append("rect").attr("class", "box").attr("x", (box) => box.x).attr("y", (box) => box.y).attr("width", (box) => box.width).attr("height", (box) => box.height).attr("rx", 8);
    drawn.append("text").attr("x", (box) => box.x + PAD).attr("y", (box) => box.y + 24).attr("font-weight", 600).text((box) => `${box.name}, ${Format.plural(box.count, "node", "nodes")}`);
    const nodes = layer.append("g").selectAll("g").data([...at.keys()]).join("g").attr("transform", (node) => `translate(${at.get(node).x},${at.get(node).y})`);
    nodes.append("rect").attr("class", "router").attr("data-node", (node) => node).attr("x", (node) => (routers.has(node) ? -44 : -13)).attr("y", (node) => (routers.has(node) ? -17 : -13))
        .attr("width", (node) => (routers.has(node) ? 88 : 26)).attr("height", (node) => (routers.has(node) ? 34 : 26)).attr("rx", 5).append("title").text((node) => `node ${node} (${groupOf.get(node)})`);
    nodes.append("text").attr("text-anchor", "middle").attr("y", 4).attr("pointer-events", "none").text((node) => (routers.has(node) ? `router ${node}` : node));
    nodes.append("text").attr("class", "sign").attr("x", (node) => (routers.has(node) ? 40 : 13)).attr("y", -7).attr("font-size", 15);

    return (range) => {
        const byNode = new Map(), through = new Map();
        let all = 0, bytes = 0, missing = 0;
        for (let i = 0; i < messages.count; i++) {
            if (!Data.isLnet(i) || messages.start[i] > range.to || messages.stop[i] < range.from)
                continue;
            all++;
            bytes += messages.bytes[i];
            missing += messages.duration[i] < 0;
            for (const row of [messages.from[i], messages.to[i]])
                if (row >= 0)
                    byNode.set(rows.node[row], (byNode.get(rows.node[row]) || 0) + 1);
            if (messages.through[i] >= 0)
                through.set(messages.through[i], (through.get(messages.through[i]) || 0) + 1);
        }
        const most = Math.max(1, ...byNode.values(), ...through.values()), crashed = crashedNodes(range.end);
        const count = (node) => (routers.has(node) ? through.get(node) || 0 : byNode.get(node) || 0);
        nodes.select("rect").attr("fill", (node) => loadColor(count(node) / most));
        nodes.select("text:not(.sign)").style("fill", (node) => textOn(count(node) / most));
        nodes.select("text.sign").text((node) => (crashed.includes(node) ? "✕" : ""));
        lines.classed("dead", (edge) => crashed.includes(edge.node)).attr("stroke", (edge) => (crashed.includes(edge.node) ? null : loadColor(count(edge.node) / most)))
            .attr("stroke-width", (edge) => 1.5 + 6 * count(edge.node) / most);
        return [element("h2", {}, "LNet messages"), facts([["in this time", Format.number(all)], ["bytes", Format.bytes(bytes)], ["never arrived", missing > 0 ? element("span", {class: "bad"}, `✕ ${Format.number(missing)}`) : "0"]]),
            routerList.length > 0 ? [element("h2", {}, "Routers"), element("table", {}, element("tbody", {}, routerList.map((node) => element("tr", {}, element("td", {class: crashed.includes(node) ? "bad" : ""}, `${crashed.includes(node) ? "✕ " : ""}node ${node}`),
                element("td", {class: "number"}, `${Format.number(through.get(node) || 0)} forwarded`)))))] : "",
            element("h2", {}, "Groups of nodes"), element("table", {}, element("tbody", {}, Data.lnet.map((group) => element("tr", {}, element("td", {}, group.name || "nodes"), element("td", {class: "text"}, group.networks), element("td", {class: "number"}, Format.plural(group.nodes.length, "node", "nodes")))))),
            element("p", {class: "note"}, "A node's colour shows its messages beside those of the busiest node; a router's, what it forwarded.")].flat();
    };
}
