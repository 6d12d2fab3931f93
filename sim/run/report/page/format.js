/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Elements and texts. Elements get their texts as text nodes, never as HTML: texts come from scenarios and programs. */
"use strict";

function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
        if (value === undefined || value === null || value === false)
            continue;
        if (key.startsWith("on"))
            made.addEventListener(key.slice(2), value);
        else
            made.setAttribute(key, value === true ? "" : String(value));
    }
    made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return made;
}

const Format = {
    units: [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3], ["ps", 1]],

    /* Picoseconds, with four digits. */
    time(ps) {
        if (ps === 0)
            return "0";
        for (const [unit, size] of Format.units)
            if (Math.abs(ps) >= size)
                return `${Format.digits(ps / size, 4)} ${unit}`;
        return `${Format.digits(ps, 4)} ps`;
    },
    /* Picoseconds, as exact as `step` needs it. */
    timeTo(ps, step) {
        const [unit, size] = Format.units.find(([, each]) => Math.abs(ps) >= each) || ["ps", 1];
        const decimals = Math.max(0, Math.min(6, Math.ceil(Math.log10(size / Math.max(step, 1e-3)) - 1e-9)));
        return ps === 0 ? "0" : `${(ps / size).toFixed(decimals)} ${unit}`;
    },
    exact(ps) {
        return Format.timeTo(ps, 1000);
    },
    digits(value, digits) {
        const text = value.toPrecision(digits);
        return text.includes("e") ? value.toFixed(0) : text.includes(".") ? text.replace(/\.?0+$/, "") : text;
    },
    number(value) {
        if (!Number.isInteger(value))
            return Format.digits(value, 4);
        return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    },
    short(value) {
        for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
            if (Math.abs(value) >= size)
                return `${Format.digits(value / size, 3)} ${unit}`;
        return Format.digits(value, 3);
    },
    bytes(value) {
        for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]])
            if (value >= size)
                return `${Format.digits(value / size, 4)} ${unit}`;
        return `${Format.digits(value, 4)} B`;
    },
    rate(perSecond) {
        for (const [unit, size] of [["GB/s", 1e9], ["MB/s", 1e6], ["kB/s", 1e3]])
            if (perSecond >= size)
                return `${Format.digits(perSecond / size, 3)} ${unit}`;
        return `${Format.digits(perSecond, 3)} B/s`;
    },
    /* A metric's value in its unit. */
    metric(value, unit) {
        if (unit === "ps")
            return Format.time(value);
        if (unit === "bytes")
            return Format.bytes(value);
        if (unit === "bytes/s")
            return Format.rate(value);
        return unit === "1/s" ? `${Format.short(value)}/s` : Format.number(value);
    },
    plural(count, one, many) {
        return `${Format.number(count)} ${count === 1 ? one : many}`;
    },
};

/* A table; columns are [title, function of a row, class]. */
function table(columns, rows) {
    return element("div", {class: "scroll"}, element("table", {},
        element("thead", {}, element("tr", {}, columns.map(([title, , kind]) => element("th", {class: kind, scope: "col"}, title)))),
        element("tbody", {}, rows.map((row) => element("tr", {}, columns.map(([, value, kind]) => {
            const shown = value(row);
            return element("td", {class: kind}, shown === null || shown === undefined ? "" : shown);
        }))))));
}

function facts(pairs) {
    return element("dl", {class: "facts"}, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

const Tooltip = {
    show(event, text) {
        const box = document.getElementById("tooltip");
        box.textContent = text;
        box.hidden = false;
        box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`;
        box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
    },
    hide() {
        document.getElementById("tooltip").hidden = true;
    },
};
