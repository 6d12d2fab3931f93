/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A dragonfly: groups of chassis (rows) of routers (squares). Links are drawn where they carry much, or are dead. */
"use strict";

function drawDragonfly(layer, all, choose) {
    const network = all.network, SIZE = 15, GAP = 5, PAD = 14, TITLE = 20, LINKS_DRAWN = network.routers > 400 ? 120 : 400;
    const place = (router) => ({group: network.places[3 * router], chassis: network.places[3 * router + 1], slot: network.places[3 * router + 2]});
    const routers = d3.range(network.routers);
    const slots = d3.max(routers, (router) => place(router).slot) + 1, chassis = d3.max(routers, (router) => place(router).chassis) + 1, groups = d3.max(routers, (router) => place(router).group) + 1;
    const width = slots * (SIZE + GAP) - GAP + 2 * PAD + 22, height = chassis * (SIZE + 3 * GAP) - 3 * GAP + 2 * PAD + TITLE;
    const columns = Math.max(1, Math.min(groups, Math.round(Math.sqrt(groups * height / width * 1.6))));
    const groupAt = (group) => ({x: (group % columns) * (width + 46), y: Math.floor(group / columns) * (height + 56)});
    const center = (router) => {
        const at = place(router), group = groupAt(at.group);
        return {x: group.x + PAD + 22 + at.slot * (SIZE + GAP) + SIZE / 2, y: group.y + PAD + TITLE + at.chassis * (SIZE + 3 * GAP) + SIZE / 2};
    };

    const boxes = layer.append("g").selectAll("g").data(d3.range(groups)).join("g").attr("transform", (group) => `translate(${groupAt(group).x},${groupAt(group).y})`);
    boxes.append("rect").attr("class", "box").attr("width", width).attr("height", height).attr("rx", 6);
    boxes.selectAll("text.faint").data(d3.range(chassis)).join("text").attr("class", "faint").attr("x", PAD - 2).attr("y", (row) => PAD + TITLE + row * (SIZE + 3 * GAP) + SIZE - 3).text((row) => `c${row}`);
    const lines = layer.append("g");
    const squares = layer.append("g").selectAll("g").data(routers).join("g").attr("transform", (router) => `translate(${center(router).x - SIZE / 2},${center(router).y - SIZE / 2})`);
    squares.append("rect").attr("class", "router").attr("width", SIZE).attr("height", SIZE).attr("rx", 2.5).attr("data-router", (router) => router).on("click", (event, router) => choose(router))
        .append("title").text((router) => `router ${router}: g${place(router).group}-c${place(router).chassis}s${place(router).slot}`);
    squares.append("text").attr("class", "sign").attr("x", SIZE / 2).attr("y", SIZE - 3).attr("font-size", 14);

    layer.append("g").selectAll("text").data(d3.range(groups)).join("text").attr("class", "title").attr("x", (group) => groupAt(group).x + PAD).attr("y", (group) => groupAt(group).y + 21).text((group) => `group ${group}`);

    const outgoing = routers.map(() => []);
    for (let i = 0; i < all.count; i++)
        if (network.from[i] < network.routers)
            outgoing[network.from[i]].push(i);

    const inner = d3.range(all.count).filter((i) => network.from[i] < network.routers && network.to[i] < network.routers);
    const linkName = new Map(inner.map((i) => [i, `${all.name(network.from[i])}→${all.name(network.to[i])}`]));

    function curve(i) {
        const a = center(network.from[i]), b = center(network.to[i]), same = place(network.from[i]).group === place(network.to[i]).group;
        if (same && Math.abs(a.y - b.y) < 1) {
            const bend = Math.min(26, 6 + Math.abs(a.x - b.x) / 8) * (network.from[i] < network.to[i] ? -1 : 1);
            return `M${a.x},${a.y} Q${(a.x + b.x) / 2},${a.y + bend} ${b.x},${b.y}`;
        }
        const away = same ? 0.12 : 0.08;
        return `M${a.x},${a.y} Q${(a.x + b.x) / 2 + (b.y - a.y) * away},${(a.y + b.y) / 2 - (b.x - a.x) * away} ${b.x},${b.y}`;
    }

    return (links, selected) => {
        const cut = new Set(inner.filter((i) => links.dead(i) || links.lossAt(linkName.get(i))));
        const busy = inner.filter((i) => links.load(i) > 0 && (selected < 0 || network.from[i] === selected || network.to[i] === selected)).sort((a, b) => links.load(b) - links.load(a) || a - b).slice(0, LINKS_DRAWN);
        const shown = [...busy.filter((i) => !cut.has(i)).reverse(), ...cut], highest = links.highest();
        const crashed = new Set(Data.networks.indexOf(network) === 0 ? crashedNodes(links.until()).map((node) => network.routerOf[node]) : []);
        lines.selectAll("path").data(shown, (i) => i).join("path").attr("class", (i) => `linkline${cut.has(i) ? " dead" : ""}`).attr("d", curve)
            .attr("stroke", (i) => (cut.has(i) ? null : loadColor(links.load(i) / highest))).attr("stroke-width", (i) => (cut.has(i) ? 2 : 0.8 + 3 * links.load(i) / highest)).attr("stroke-opacity", (i) => (cut.has(i) ? 1 : 0.75));
        squares.select("rect").attr("fill", (router) => loadColor((d3.max(outgoing[router], (i) => links.load(i)) || 0) / highest)).attr("class", (router) => `router${router === selected ? " chosen" : ""}`);
        squares.select("text").text((router) => (links.routerDead(router) || outgoing[router].some((i) => links.dead(i)) || crashed.has(router) || links.lossAt(links.name(router)) ? "✕" : ""));
    };
}

/* The nodes that have crashed and not been booted. */
function crashedNodes(until) {
    const down = new Set();
    for (const fault of Data.timedFaults.filter((each) => each.injected && each.place === "node" && each.time <= until).sort((a, b) => a.time - b.time))
        if (fault.action === "crash")
            down.add(fault.node);
        else if (fault.action === "boot" || fault.action === "start")
            down.delete(fault.node);
    return [...down];
}
