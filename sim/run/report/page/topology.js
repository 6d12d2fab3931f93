/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The networks with load and faults, at a time that a slider chooses. dragonfly.js and switched.js draw them. */
"use strict";

function Topology(section) {
    const width = Data.loadWidth, intervals = Math.max(1, Math.ceil(Data.activeEnd / Math.max(width, 1)));
    const pictures = Data.networks.map((network) => ({title: `${network.name}, ${Format.plural(network.routers, "router", "routers")}`, network}));
    if (Data.lnet.length > 0)
        pictures.unshift({title: "LNet", lnet: true});
    let picture = null, at = -1, playing = 0, selectedRouter = -1;

    const slider = element("input", {type: "range", min: 0, max: intervals - 1, value: 0, step: 1, id: "topology-time", "aria-label": "Time", style: "width: 260px", oninput: () => setTime(Number(slider.value))});
    const whole = element("input", {type: "checkbox", checked: true, id: "topology-whole", onchange: () => setTime(whole.checked ? -1 : Number(slider.value))});
    const said = element("span", {class: "mono", id: "topology-said", "aria-live": "polite"});
    const play = element("button", {type: "button", onclick: togglePlay}, "▶ Play");
    const choice = element("select", {id: "topology-network", onchange: () => choose(Number(choice.value))}, pictures.map((each, i) => element("option", {value: i}, each.title)));
    const svg = d3.create("svg").attr("id", "topology-svg").attr("tabindex", 0).attr("role", "img").attr("aria-label", "The network. The table beside it has the busiest links as text.");
    const layer = svg.append("g");
    const side = element("div", {class: "side", id: "topology-side"});
    const scaleFrom = element("span"), scaleTo = element("span");
    const box = element("div", {class: "drawing"}, svg.node());
    section.append(element("div", {class: "bar"}, element("label", {}, "Network", choice), element("label", {}, whole, "whole run"), slider, play, said,
        element("span", {class: "space"}), element("span", {class: "legend"}, element("span", {}, scaleFrom, element("span", {class: "scale"}), scaleTo), element("span", {}, element("b", {class: "bad"}, "✕"), "dead, or lost something"))),
        element("div", {class: "columns"}, box, side));

    const zoom = d3.zoom().scaleExtent([0.05, 30]).on("zoom", (event) => layer.attr("transform", event.transform));
    svg.call(zoom).on("dblclick.zoom", fit);
    svg.node().addEventListener("keydown", (event) => {
        const moves = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[event.key];
        if (moves)
            svg.call(zoom.translateBy, ...moves);
        else if (event.key === "+" || event.key === "-")
            svg.call(zoom.scaleBy, event.key === "+" ? 1.4 : 1 / 1.4);
        else if (event.key === "0")
            fit();
        else
            return;
        event.preventDefault();
    });

    function fit() {
        const bounds = layer.node().getBBox(), room = box.getBoundingClientRect();
        if (bounds.width === 0 || room.width === 0)
            return;
        const scale = Math.min((room.width - 40) / bounds.width, (room.height - 40) / bounds.height, 1.7);
        svg.call(zoom.transform, d3.zoomIdentity.translate(room.width / 2 - (bounds.x + bounds.width / 2) * scale, room.height / 2 - (bounds.y + bounds.height / 2) * scale).scale(scale));
    }

    /* ---- time ---- */
    function setTime(interval) {
        at = interval;
        if (interval >= 0) {
            whole.checked = false;
            slider.value = interval;
        }
        update();
    }
    function togglePlay() {
        playing = playing ? clearInterval(playing) || 0 : setInterval(() => setTime((Number(slider.value) + 1) % intervals), 120);
        play.textContent = playing ? "❚❚ Stop" : "▶ Play";
    }
    const range = () => (at < 0 ? {begin: 0, end: Infinity, from: 0, to: Data.activeEnd}
        : {begin: Data.toVirtual(at * width), end: Data.toVirtual((at + 1) * width), from: at * width, to: (at + 1) * width});
    const loadRange = () => (at < 0 ? null : at);

    /* ---- pictures ---- */
    function choose(i) {
        picture = pictures[i];
        choice.value = i;
        selectedRouter = -1;
        layer.selectAll("*").remove();
        if (picture === undefined) {
            side.replaceChildren(element("p", {class: "empty"}, "The scenario has no network."));
            return;
        }
        if (picture.lnet)
            picture.draw = drawLnet(layer);
        else
            picture.draw = (picture.network.places.length > 0 ? drawDragonfly : drawSwitched)(layer, links(picture.network), chooseRouter);
        update();
        fit();
    }
    function chooseRouter(router) {
        selectedRouter = router === selectedRouter ? -1 : router;
        update();
    }

    /* The links of a network with their loads by interval, unpacked once. */
    function links(network) {
        if (network.unpacked)
            return network.unpacked;
        const loads = [];
        for (let i = 0, from = 0; i < network.from.length; i++) {
            const used = network.load[from], load = new Map();
            for (let k = 0; k < used; k++)
                load.set(network.load[from + 1 + 2 * k], network.load[from + 2 + 2 * k]);
            loads.push(load);
            from += 1 + 2 * used;
        }
        const total = loads.map((load) => Array.from(load.values()).reduce((sum, each) => sum + each, 0) / intervals);
        const highest = Math.max(1, d3.max(loads, (load) => d3.max(load.values())) || 0), highestTotal = Math.max(0.01, d3.max(total) || 0);
        network.unpacked = {network, count: network.from.length, load: (i) => (at < 0 ? total[i] : loads[i].get(loadRange()) || 0),
            highest: () => (at < 0 ? highestTotal : highest), lossAt: (name) => lossesAt().has(name), name: (router) => routerName(network, router),
            until: () => range().end, dead: (i) => isDead(network, i), routerDead: (router) => faultState(network, (fault) => fault.place === "router" && fault.routers[0] === router)};
        return network.unpacked;
    }
    /* Whether the faults before the chosen time (of the whole run: all of them) have taken something down. */
    function faultState(network, concerns) {
        const index = Data.networks.indexOf(network);
        let dead = false;
        for (const fault of Data.timedFaults.filter((each) => each.injected && each.network === index && each.time <= range().end && concerns(each)).sort((a, b) => a.time - b.time))
            dead = at < 0 ? dead || fault.action === "down" : fault.action === "down";
        return dead;
    }
    /* Places of injected faults in the chosen time: names of routers, and "a→b" of links. */
    let losses = null;
    function lossesAt() {
        if (losses !== null)
            return losses;
        const {begin, end} = range(), places = new Set();
        for (const each of [...Data.result.faults.flatMap((fault) => fault.injected), ...Data.result.losses])
            if (each.place && each.time_ps >= begin && each.time_ps < end) {
                const name = each.place.replace(/^(link|router) /, "");
                places.add(name);
                places.add(name.split("→")[0]);
            }
        losses = places;
        return places;
    }
    const linkFaults = Data.timedFaults.some((fault) => fault.injected && fault.place === "link");
    function isDead(network, i) {
        const a = network.from[i], b = network.to[i];
        return linkFaults && faultState(network, (fault) => fault.place === "link" && fault.which === network.which[i] &&
            ((fault.routers[0] === a && fault.routers[1] === b) || (fault.routers[0] === b && fault.routers[1] === a)));
    }

    function update() {
        const now = range();
        losses = null;
        said.textContent = at < 0 ? `0 to ${Format.time(Data.toVirtual(Data.activeEnd))}` : `${Format.timeTo(now.begin, width)} to ${Format.timeTo(now.end, width)}`;
        if (picture === null || picture === undefined)
            return;
        if (picture.lnet) {
            scaleFrom.textContent = "no message";
            scaleTo.textContent = "busiest node";
            side.replaceChildren(...picture.draw(now));
        } else {
            const highest = links(picture.network).highest() / 10;
            scaleFrom.textContent = "links busy 0 %";
            scaleTo.textContent = `${Format.digits(highest, 2)} %`;
            picture.draw(links(picture.network), selectedRouter);
            side.replaceChildren(...details(picture.network));
        }
    }

    /* ---- the table beside ---- */
    const COLOURS = ["green", "black", "blue", "switch"];
    function routerName(network, router) {
        if (router >= network.routers)
            return `node ${nodeAt(network, router - network.routers)}`;
        return network.places.length === 0 ? `switch ${router}` : `g${network.places[3 * router]}-c${network.places[3 * router + 1]}s${network.places[3 * router + 2]}`;
    }
    function nodeAt(network, endpoint) {
        let seen = -1;
        return network.routerOf.findIndex((router) => router >= 0 && ++seen === endpoint);
    }
    function details(network) {
        const all = links(network), parts = [];
        let list = d3.range(all.count);
        if (selectedRouter >= 0) {
            const nodes = network.routerOf.map((router, node) => (router === selectedRouter ? node : -1)).filter((node) => node >= 0);
            parts.push(element("h2", {id: "topology-selected"}, routerName(network, selectedRouter)), facts([["router", String(selectedRouter)], ["nodes", nodes.slice(0, 16).join(", ")], ["state", all.routerDead(selectedRouter) ? element("span", {class: "bad"}, "✕ dead") : "alive"]]));
            list = list.filter((i) => network.from[i] === selectedRouter || network.to[i] === selectedRouter);
        }
        const busy = list.filter((i) => all.load(i) > 0 || all.dead(i)).sort((a, b) => all.dead(b) - all.dead(a) || all.load(b) - all.load(a) || a - b);
        parts.push(element("h2", {}, at < 0 ? "Busiest links" : "Busiest links now"));
        if (busy.length === 0)
            parts.push(element("p", {class: "empty"}, network.fidelity === "F0" ? "At fidelity F0 a link has no load: the network is a closed form." : "No link carries anything in this time."));
        else
            parts.push(element("table", {id: "topology-links"}, element("tbody", {}, busy.slice(0, 24).map((i) => element("tr", {},
                element("td", {class: all.dead(i) ? "bad" : ""}, `${all.dead(i) ? "✕ " : ""}${routerName(network, network.from[i])} → ${routerName(network, network.to[i])}`),
                element("td", {}, COLOURS[network.colour[i]]), element("td", {class: "number"}, `${Format.digits(all.load(i) / 10, 2)} %`))))));
        const losers = list.filter((i) => network.lost[i] > 0).sort((a, b) => network.lost[b] - network.lost[a]);
        if (losers.length > 0)
            parts.push(element("h2", {}, "Lost on links, whole run"), element("table", {}, element("tbody", {}, losers.slice(0, 12).map((i) => element("tr", {},
                element("td", {class: "bad"}, `✕ ${routerName(network, network.from[i])} → ${routerName(network, network.to[i])}`), element("td", {class: "number"}, Format.number(network.lost[i])))))));
        const faults = Data.timedFaults.filter((fault) => fault.injected);
        if (faults.length > 0)
            parts.push(element("h2", {}, "Faults"), element("table", {}, element("tbody", {}, faults.map((fault) => element("tr", {}, element("td", {},
                element("button", {class: "link", type: "button", onclick: () => setTime(Math.min(intervals - 1, Math.floor(Data.toActive(fault.time) / width)))}, Format.time(fault.time))),
                element("td", {}, `✕ ${fault.title}: ${fault.place} ${fault.action}${fault.node !== undefined ? `, node ${fault.node}` : ""}`))))));
        if (selectedRouter < 0)
            parts.push(element("p", {class: "note"}, "Click a router for its links. Drag and wheel move and zoom; double click shows everything."));
        return parts;
    }

    let first = true;
    return {
        show() {
            if (first)
                choose(0);
            first = false;
            fit();
        },
    };
}

/* The colour of a load between 0 and 1, the highest one. Anything above 0 differs from nothing. */
function loadColor(load) {
    if (!loadColor.scale)
        loadColor.scale = d3.scaleLinear().domain([0, 0.25, 0.5, 0.75, 1]).range([0, 1, 2, 3, 4].map((i) => Page.color(`load-${i}`))).clamp(true);
    return load > 0 ? loadColor.scale(0.12 + 0.88 * load) : loadColor.scale(0);
}

/* The colour of a text on it. */
function textOn(load) {
    return Page.color(load > 0.5 ? "back" : "text");
}
