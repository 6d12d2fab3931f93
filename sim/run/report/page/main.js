/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The frame: header, tabs, and the address behind "#", which names the view and what it shows. */
"use strict";

const Page = {
    views: Data.kind === "campaign" ? [
        {id: "verdict", title: "Verdict", make: CampaignVerdict},
        {id: "runs", title: "Runs", make: CampaignRuns},
        {id: "metrics", title: "Metrics", make: CampaignMetrics},
        {id: "about", title: "Reproduce", make: CampaignAbout},
    ] : [
        {id: "verdict", title: "Verdict", make: Verdict},
        {id: "spacetime", title: "Space-time", make: SpaceTime, fixed: true},
        {id: "topology", title: "Topology", make: Topology, fixed: true},
        {id: "latency", title: "Latency", make: Latency},
        {id: "time", title: "Over time", make: OverTime},
        {id: "listing", title: "Listing", make: Listing, fixed: true},
        {id: "about", title: "Reproduce", make: About},
    ],
    current: null,

    /* Opens a view; `what` goes to its show(). */
    go(id, what) {
        const parts = Object.entries(what || {}).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
        const hash = `#${[id, ...parts].join("/")}`;
        if (location.hash === hash)
            Page.show();
        else
            location.hash = hash;
    },
    show() {
        const [id, ...parts] = location.hash.slice(1).split("/");
        const view = Page.views.find((each) => each.id === id) || Page.views[0];
        const what = Object.fromEntries(parts.map((part) => {
            const [key, value] = part.split("=");
            return [key, decodeURIComponent(value || "")];
        }));
        for (const each of Page.views) {
            const chosen = each === view;
            each.tab.setAttribute("aria-selected", String(chosen));
            each.tab.tabIndex = chosen ? 0 : -1;
            each.section.hidden = !chosen;
        }
        Page.current = view;
        Tooltip.hide();
        if (!view.made)
            view.made = view.make(view.section) || {};
        if (view.made.show)
            view.made.show(what);
    },
    /* A link to a view. */
    link(text, id, what, title) {
        return element("button", {class: "link", type: "button", title, onclick: () => Page.go(id, what)}, text);
    },
    messageLink(flow, text) {
        return Page.link(text || `message ${flow}`, "spacetime", {flow}, "Show this message in the space-time diagram");
    },
    colors: new Map(),
    color(name) {
        if (!Page.colors.has(name))
            Page.colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
        return Page.colors.get(name);
    },
};

(() => {
    /* What the header says: name, verdict, whether it is good, description, facts. */
    function ofRun(result) {
        const words = {0: "✔ holds", 1: "✘ does not hold", 3: "✘ stuck"};
        return {name: result.scenario.name, verdict: words[result.exit] || `✘ exit code ${result.exit}`, good: result.exit === 0, description: result.scenario.description,
            facts: [["seed", String(result.scenario.seed)], ["virtual time", Format.time(result.virtual_time_ps)], ["digest", result.digest]]};
    }
    function ofCampaign(status) {
        const failed = status.done - status.holds;
        const verdict = failed > 0 ? `✘ ${Format.plural(failed, "run does", "runs do")} not hold` : status.done < status.runs ? "… not finished" : "✔ all runs hold";
        return {name: status.campaign, verdict, good: status.holds === status.runs, description: (Data.campaign[0] || {}).description,
            facts: [["runs", Format.number(status.runs)], ["with a result", Format.number(status.done)]]};
    }
    const head = Data.kind === "campaign" ? ofCampaign(Data.status) : ofRun(Data.result);

    document.getElementById("header").append(
        element("h1", {}, head.name),
        element("span", {class: `verdict ${head.good ? "good" : "bad"}`, id: "badge"}, head.verdict),
        element("span", {class: "description"}, head.description || ""),
        element("dl", {}, head.facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {class: "mono"}, value)))));
    Page.views.forEach((view, i) => {
        view.tab = element("button", {role: "tab", type: "button", id: `tab-${view.id}`, "aria-controls": view.id, title: `Key ${i + 1}`,
            onclick: () => Page.go(view.id)}, view.title);
        view.section = element("section", {id: view.id, role: "tabpanel", "aria-labelledby": `tab-${view.id}`, class: view.fixed ? "view fixed" : "view", hidden: true});
        document.getElementById("tabs").append(view.tab);
        document.getElementById("views").append(view.section);
    });
    document.getElementById("tabs").addEventListener("keydown", (event) => {
        const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
        if (step === undefined)
            return;
        const at = (Page.views.indexOf(Page.current) + step + Page.views.length) % Page.views.length;
        Page.go(Page.views[at].id);
        Page.views[at].tab.focus();
    });
    document.addEventListener("keydown", (event) => {
        const typing = event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
        const view = Page.views[Number(event.key) - 1];
        if (!typing && view && !event.ctrlKey && !event.altKey && !event.metaKey)
            Page.go(view.id);
    });
    addEventListener("hashchange", Page.show);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
    Page.show();
})();
