/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The decoded events, one a line, as `jacquard trace show` lists them. Only the lines in sight are in the document. */
"use strict";

function Listing(section) {
    const points = Data.points, HEIGHT = 22;
    let chosen = [], texts = null, query = "", marked = -1;

    const search = element("input", {type: "search", id: "listing-search", placeholder: "GNI_PostFma, node 4, lost …", size: 34, oninput: later});
    const rank = element("input", {type: "search", id: "listing-rank", placeholder: "ring.0", size: 12, oninput: later});
    const flow = element("input", {type: "search", id: "listing-flow", placeholder: "number", size: 8, inputmode: "numeric", oninput: later});
    const count = element("span", {class: "note", id: "listing-count", "aria-live": "polite"});
    const all = element("div", {class: "all"});
    const lines = element("div", {class: "lines mono", tabindex: 0, "aria-label": "Events", onscroll: draw}, all);
    const thinned = points.stride > 1
        ? `Of ${Format.number(points.all)} events, ${Format.number(points.count)} were kept: those of faults and lost messages, and 1 of ${points.stride} others.` : "";

    section.append(element("div", {class: "bar"}, element("label", {}, "Search", search), element("label", {}, "Rank or track", rank),
        element("label", {}, "Message", flow), count, element("span", {class: "space"}), element("span", {class: "note"}, thinned)), lines);
    if (points.count === 0)
        lines.replaceWith(element("p", {class: "empty", style: "padding: 18px 20px"}, "Nothing was traced in this run: no call, no transfer, no fault."));

    function argumentText(i) {
        return Data.argumentsOf(i).map(([name, value]) => `${name}=${value}`).join(" ");
    }
    function eventText(i) {
        const took = points.duration[i] >= 0 ? ` (${Format.time(points.duration[i])})` : "";
        return `${Data.name(points.name[i])}${took} ${argumentText(i)}`;
    }
    function allTexts() {
        if (texts === null)
            texts = Array.from({length: points.count}, (_, i) =>
                `${Format.exact(points.time[i])} ${points.tracks[points.track[i]]} ${eventText(i)} ${points.flow[i] ? `flow=${points.flow[i]}` : ""}`.toLowerCase());
        return texts;
    }

    let timer = 0;
    function later() {
        clearTimeout(timer);
        timer = setTimeout(filter, 120);
    }
    function filter() {
        const words = search.value.toLowerCase().trim(), track = rank.value.trim().toLowerCase(), number = flow.value.trim();
        const tracks = points.tracks.map((name) => ` ${name.toLowerCase()} `.includes(/^\d+$/.test(track) ? `.${track} ` : track));
        chosen = [];
        query = words;
        for (let i = 0; i < points.count; i++)
            if ((track === "" || tracks[points.track[i]]) && (number === "" || points.flow[i] === Number(number)) && (words === "" || allTexts()[i].includes(words)))
                chosen.push(i);
        count.textContent = `${Format.number(chosen.length)} of ${Format.plural(points.count, "event", "events")}`;
        all.style.height = `${(chosen.length + 1) * HEIGHT}px`;
        draw();
    }

    /* The text with the words of the search marked. */
    function marks(text) {
        const parts = [], low = text.toLowerCase();
        let done = 0;
        for (let at = query === "" ? -1 : low.indexOf(query); at >= 0; at = low.indexOf(query, done)) {
            parts.push(text.slice(done, at), element("mark", {}, text.slice(at, at + query.length)));
            done = at + query.length;
        }
        parts.push(text.slice(done));
        return parts;
    }
    function isBad(i) {
        const name = Data.name(points.name[i]);
        return points.tracks[points.track[i]].startsWith("faults") || name === "overrun" || name === "killed" ||
            Data.argumentsOf(i).some(([key, value]) => key === "status" && value !== "OKAY");
    }
    function line(i, at) {
        const bad = isBad(i), text = eventText(i);
        return element("div", {class: `row${bad ? " bad" : ""}${i === marked ? " chosen" : ""}`, style: `top: ${(at + 1) * HEIGHT}px`},
            element("span", {class: "time"}, marks(Format.exact(points.time[i]))), element("span", {title: points.tracks[points.track[i]]}, marks(points.tracks[points.track[i]])),
            element("span", {title: text}, bad ? "✕ " : "", marks(text)),
            element("span", {}, points.flow[i] ? Page.messageLink(points.flow[i], `flow ${points.flow[i]}`) : ""));
    }
    function draw() {
        const first = Math.max(0, Math.floor(lines.scrollTop / HEIGHT) - 10), last = Math.min(chosen.length, first + Math.ceil(lines.clientHeight / HEIGHT) + 20);
        all.replaceChildren(element("div", {class: "row head"}, element("span", {class: "time"}, "virtual time"), element("span", {}, "track"), element("span", {}, "event (duration) arguments"), element("span", {}, "message")),
            ...chosen.slice(first, last).map((i, at) => line(i, first + at)));
    }
    new ResizeObserver(draw).observe(lines);

    return {
        show(what) {
            if (what.flow !== undefined || what.rank !== undefined || what.search !== undefined) {
                flow.value = what.flow || "";
                rank.value = what.rank || "";
                search.value = what.search || "";
            }
            filter();
            if (what.at !== undefined) {
                const at = d3.bisector((i) => points.time[i]).left(chosen, Number(what.at));
                marked = chosen[at] === undefined ? -1 : chosen[at];
                lines.scrollTop = Math.max(0, at * HEIGHT - lines.clientHeight / 2);
                draw();
            }
        },
    };
}
