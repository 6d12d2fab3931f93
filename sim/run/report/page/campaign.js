/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The views of a campaign: its verdict and causes of failures, its runs, distributions of metrics, and how to continue it. */
"use strict";

const Campaign = {
    /* Runs without a setting have the scenario's own value. */
    settingsOf(set) {
        return Object.entries(set).map(([path, value]) => `${path}=${value}`).join(", ");
    },
    /* A cell with a line for each setting that tells groups apart. */
    cell(set) {
        return Campaign.telling().filter((path) => set[path] !== undefined).map((path) => element("div", {}, `${path}=${set[path]}`));
    },
    /* The run's settings as an object. */
    setOf(run) {
        return Object.fromEntries(Data.settings.map((path, i) => [path, run.set[i]]).filter(([, value]) => value !== null));
    },
    /* Settings in which groups differ; what all have says nothing about one of them. */
    telling() {
        return Data.settings.filter((path) => new Set(Data.groups.map((group) => group.set[path])).size > 1);
    },
    nameOf(scenario, set) {
        const settings = Campaign.settingsOf(Object.fromEntries(Campaign.telling().filter((path) => set[path] !== undefined).map((path) => [path, set[path]])));
        const several = new Set(Data.groups.map((group) => group.scenario)).size > 1;
        return [several || settings === "" ? scenario : "", settings].filter((text) => text !== "").join(", ");
    },
    seconds(value) {
        return value === null ? "" : value < 1 ? `${Format.digits(value * 1e3, 3)} ms` : `${Format.digits(value, 4)} s`;
    },
    /* Paragraphs that say what the page leaves out. */
    note(more) {
        const texts = [Data.stride > 1 ? `The campaign has ${Format.number(Data.status.done)} results. This page has ${Format.number(Data.runs.length)} single runs: of those that hold and of those that do not, 1 of ${Data.stride}. Numbers of groups and causes are those of all runs.` : "", more || ""];
        return texts.filter((text) => text !== "").map((text) => element("p", {class: "note"}, text));
    },
};

function CampaignVerdict(section) {
    const status = Data.status, failed = status.done - status.holds;
    const parts = [["✔ hold", status.holds, "good"], ["✘ failed", status.failed, "bad"], ["✘ stuck", status.stuck, "bad"],
        ["✘ refused", status.refused, "bad"], ["… no result yet", status.runs - status.done, "open"]].filter(([, count]) => count > 0);

    section.append(element("h2", {}, "Runs"),
        element("div", {class: "shares", role: "img", "aria-label": parts.map(([name, count]) => `${count} ${name}`).join(", ")},
            parts.map(([name, count, kind]) => element("div", {class: `share ${kind}`, style: `flex-grow: ${count}`, title: `${count} ${name}`}))),
        facts([...parts.map(([name, count]) => [name, `${Format.number(count)} (${Format.digits(100 * count / Math.max(status.runs, 1), 3)} %)`]),
            ["time left", status.eta_s === null ? "" : Campaign.seconds(status.eta_s)]]));

    section.append(element("h2", {}, "Failures by cause"));
    if (failed === 0)
        section.append(element("p", {class: "empty"}, status.done === 0 ? "No run has a result yet." : "No run has failed."));
    section.append(...Data.failures.map((failure) => element("div", {class: "cause"},
        element("p", {}, element("strong", {}, `✘ ${Format.plural(failure.count, "run", "runs")} ${failure.verdict}: `), failure.signature),
        element("p", {class: "note"}, `first: seed ${failure.seed}, `,
            Page.link(`run ${failure.number}`, "runs", {search: `#${failure.number} `}, "Show this run"), `: ${failure.problem}`),
        element("pre", {class: "text"}, failure.command))));

    section.append(element("h2", {}, "By scenario and settings"),
        Data.groups.length === 0 ? element("p", {class: "empty"}, "No run has a result yet.") : table([
            ["scenario", (group) => group.scenario, "text"], ["settings", (group) => Campaign.cell(group.set), "text"],
            ["runs", (group) => Format.number(group.runs), "number"], ["hold", (group) => Format.number(group.holds), "number"],
            ["do not", (group) => (group.holds < group.runs ? element("span", {class: "bad"}, `✘ ${Format.number(group.runs - group.holds)}`) : "0"), "number"],
            ["virtual time (mean)", (group) => Format.time(group.virtual_time_ps), "number"],
            ["time of the clock (mean)", (group) => Campaign.seconds(group.wall_s), "number"]], Data.groups));
}

function CampaignRuns(section) {
    const MOST = 500;
    const search = element("input", {type: "search", id: "runs-search", placeholder: "#12, seed 4, failed, fabric.fidelity=F1 …", size: 40, oninput: draw});
    const count = element("span", {class: "note", id: "runs-count", "aria-live": "polite"}), box = element("div");
    const texts = Data.runs.map((run) => `#${run.number} seed ${run.seed} ${run.verdict} ${run.scenario} ${Campaign.settingsOf(Campaign.setOf(run))} ${run.problem || ""} ${run.digest || ""}`.toLowerCase());

    section.append(element("p", {}, element("label", {}, "Search", search), " ", count), ...Campaign.note(), box);

    function draw() {
        const words = search.value.toLowerCase().trimStart(), found = Data.runs.filter((run, i) => texts[i].includes(words));
        count.textContent = `${Format.number(found.length)} of ${Format.plural(Data.runs.length, "run", "runs")}${found.length > MOST ? `; the first ${MOST} are listed` : ""}`;
        box.replaceChildren(found.length === 0 ? element("p", {class: "empty"}, "No run matches.") : table([
            ["run", (run) => `#${run.number}`, "number"], ["seed", (run) => String(run.seed), "number"],
            ["verdict", (run) => element("span", {class: run.verdict === "holds" ? "good" : "bad"}, `${run.verdict === "holds" ? "✔" : "✘"} ${run.verdict}`)],
            ["scenario", (run) => run.scenario, "text"], ["settings", (run) => Campaign.cell(Campaign.setOf(run)), "text"],
            ["virtual time", (run) => Format.time(run.virtual_time_ps), "number"], ["time of the clock", (run) => Campaign.seconds(run.wall_s), "number"],
            ["problem", (run) => run.problem || "", "text"], ["digest", (run) => element("span", {class: "mono"}, run.digest || "")]], found.slice(0, MOST)));
    }
    return {
        show(what) {
            if (what.search !== undefined)
                search.value = what.search;
            draw();
        },
    };
}

function CampaignMetrics(section) {
    const SERIES = 6;
    const choice = element("select", {id: "metrics-choice", onchange: draw}, Data.metrics.map((name) => element("option", {value: name}, name)));
    const charts = element("div", {class: "charts"}), box = element("div");
    const first = Data.metrics.find((name) => name.endsWith(".p50")) || Data.metrics[0];

    if (Data.metrics.length === 0) {
        section.append(element("p", {class: "empty"}, "No run has a metric."));
        return {};
    }
    choice.value = first;
    section.append(element("p", {}, element("label", {}, "Metric", choice)), ...Campaign.note(Data.metrics_left_out > 0
        ? `${Format.plural(Data.metrics_left_out, "metric is", "metrics are")} not in this page; sim-run campaign results has all.` : ""), charts, box);

    /* The values of each group, in ascending order. */
    function groups(name) {
        const at = Data.metrics.indexOf(name), all = new Map();
        for (const run of Data.runs) {
            const value = run.metrics[at], key = Campaign.nameOf(run.scenario, Campaign.setOf(run));
            if (value === null)
                continue;
            if (!all.has(key))
                all.set(key, []);
            all.get(key).push(value);
        }
        return [...all].map(([key, values]) => ({key, values: values.sort(d3.ascending)}));
    }
    /* The share of each group's runs that is not above a value. */
    function distribution(shown, unit) {
        const xs = [...new Set(shown.flatMap((group) => group.values))].sort(d3.ascending);
        const low = xs[0], high = xs[xs.length - 1], log = low > 0 && high > 20 * low, space = (high - low || Math.abs(high) || 1) * 0.05;
        const shares = shown.map((group) => xs.map((x) => 100 * d3.bisectRight(group.values, x) / group.values.length));
        return {options: {
            scales: {x: {time: false, ...(log ? {distr: 3, log: 10, range: [low / 1.2, high * 1.2]} : {range: [low - space, high + space]})}, y: {range: [0, 102]}},
            axes: [Charts.axis({values: Charts.texts((each) => Format.metric(each, unit)), space: 90, label: "value", size: 34, labelSize: 22}),
                Charts.axis({values: (plot, ticks) => ticks.map((each) => `${each} %`), size: 58})],
            series: [{label: "value", value: (plot, each) => (each === null ? "–" : Format.metric(each, unit))}, ...shown.map((group, i) => ({label: group.key, stroke: Charts.colors(i), width: 2,
                dash: Charts.dashes[i], paths: uPlot.paths.stepped({align: 1}), points: {show: xs.length < 40}, value: (plot, each) => (each === null ? "–" : `${Format.digits(each, 4)} %`)}))],
        }, data: [xs, ...shares]};
    }
    function draw() {
        const name = choice.value, unit = Data.units[name], all = groups(name), shown = all.slice(0, SERIES);
        const value = (pick) => (group) => Format.metric(pick(group.values), unit);
        charts.replaceChildren();
        if (all.length === 0) {
            box.replaceChildren(element("p", {class: "empty"}, "No run of this page has this metric."));
            return;
        }
        Charts.add(charts, name, `Share of the runs that is not above a value${all.length > SERIES ? `; ${SERIES} of ${all.length} groups are drawn, the table has all` : ""}`, () => distribution(shown, unit));
        box.replaceChildren(table([["runs of", (group) => group.key, "text"], ["runs", (group) => Format.number(group.values.length), "number"],
            ["least", value((all) => all[0]), "number"], ["median", value((all) => d3.quantileSorted(all, 0.5)), "number"], ["mean", value((all) => d3.mean(all)), "number"],
            ["largest", value((all) => all[all.length - 1]), "number"]], all));
    }
    return {show: draw};
}

function CampaignAbout(section) {
    const head = Data.campaign[0] || {};

    section.append(element("h2", {}, "Run it, or continue it"), element("pre", {class: "text", id: "command"}, `sim-run campaign ${Data.file.endsWith(".sqlite") ? head.file : Data.file}`),
        element("p", {class: "note"}, "The same version, scenario, settings and seed give the same run and the same digest, on any machine."),
        facts([["results began", head.created ? new Date(head.created * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC" : ""],
            ["Jacquard", Data.status.versions.map((version) => `${version.program} (${version.digest.slice(0, 12)})`).join(", ")], ["this page", `Jacquard ${Data.version}`]]),
        ...Campaign.note(),
        element("h2", {}, "Campaign file"), element("pre", {class: "text tall", id: "scenario"}, head.text || ""),
        element("h2", {}, "Libraries in this page"), element("pre", {class: "text tall"}, document.getElementById("licences").textContent));
}
