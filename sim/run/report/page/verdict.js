/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the run came to, and the story of a failure, with links to its transfers, ranks and events. */
"use strict";

function Verdict(section) {
    const result = Data.result;
    const injected = result.faults.flatMap((fault) => fault.injected.map((one) => ({...one, rule: fault})));
    const records = [...injected, ...result.losses];

    /* The text with links: what it says of injected faults and of ranks. */
    function linked(text) {
        const found = [];
        for (const record of records)
            for (const at of [text.indexOf(record.text)])
                if (at >= 0 && record.text !== "" && !found.some((each) => each.text === record.text))
                    found.push({at, text: record.text, make: () => faultLink(record, record.text)});
        for (const match of text.matchAll(/[^\s,:()]+\.\d+/g))
            if (Data.rowOf.has(match[0]))
                found.push({at: match.index, text: match[0], make: () => rankLink(match[0])});
        found.sort((a, b) => a.at - b.at || b.text.length - a.text.length);
        const parts = [];
        let done = 0;
        for (const each of found) {
            if (each.at < done)
                continue;
            parts.push(text.slice(done, each.at), each.make());
            done = each.at + each.text.length;
        }
        parts.push(text.slice(done));
        return parts;
    }

    function rankLink(name) {
        return Data.rowOf.has(name) ? Page.link(name, "spacetime", {row: name}, "Show this rank in the space-time diagram") : name;
    }

    function faultLink(record, text) {
        const flow = Data.flowOfFault(record.text);
        if (flow !== 0)
            return element("button", {class: "link fault-link", type: "button", title: "Show the transfer that was hit", onclick: () => Page.go("spacetime", {flow})}, text);
        return record.time_ps !== undefined
            ? Page.link(text, "spacetime", {at: record.time_ps}, "Show this time in the space-time diagram") : text;
    }

    function kindOf(text) {
        if (records.some((record) => record.text !== "" && text.startsWith(record.text)))
            return ["!", "what struck"];
        if (text.startsWith("wait-for chain") || / waits? for /.test(text))
            return ["…", "who waited"];
        if (/^the run ended|^expected|^ledger/.test(text))
            return ["✘", "what broke"];
        return ["→", "what followed"];
    }

    function storyItem(text) {
        const [sign, kind] = kindOf(text);
        const chain = text.startsWith("wait-for chain: ") ? text.slice(16).split(" → ") : null;
        return element("li", {"data-sign": sign}, element("span", {class: "kind"}, kind),
            chain ? element("ol", {}, chain.map((step) => element("li", {}, linked(step)))) : linked(text));
    }

    function cards() {
        const messages = Data.messages, lost = messages.lost.filter((at, i) => at >= 0 || messages.duration[i] < 0).length;
        const shown = [
            [Format.time(result.virtual_time_ps), "virtual time"],
            [Format.number(Data.rows.rank.filter(Boolean).length), "ranks"],
            [Format.number(result.fabric.nodes), `nodes, ${result.fabric.topology} ${result.fabric.fidelity}`],
            [Format.number(messages.all), "messages"],
            [lost > 0 ? `✕ ${Format.number(lost)}` : "0", "lost or never arrived"],
            [Format.number(result.faults.reduce((sum, fault) => sum + fault.fired, 0)), "faults injected"],
            [result.ledger.balanced ? "✔ balanced" : "✘ not balanced", "ledger"],
        ];
        return element("div", {class: "cards"}, shown.map(([value, name]) =>
            element("div", {class: "card"}, element("div", {class: "value"}, value), element("div", {class: "name"}, name))));
    }

    function outcome() {
        const endings = {done: "All ranks ended.", failed: "All ranks ended, and a job failed.", deadlock: "The ranks wait for each other.",
            "time-limit": "The run reached its limit of virtual time.", "no-progress": "Nothing was done for too long.", interrupted: "The run was interrupted."};
        const said = result.exit === 0 ? "All expectations hold and the ledger is balanced."
            : "The run did not do what its scenario expects.";
        return element("p", {}, `${said} ${endings[result.outcome] || result.outcome}`);
    }

    function story() {
        const rest = result.problems.filter((text) => !result.story.includes(text));
        if (result.story.length + rest.length === 0)
            return null;
        return [element("h2", {}, "What happened"), element("ol", {class: "story"}, [...result.story, ...rest].map(storyItem))];
    }

    function expectations() {
        return [element("h2", {}, "Expectations"), table([
            ["", (each) => element("span", {class: `sign ${each.holds ? "good" : "bad"}`}, each.holds ? "✔" : "✘")],
            ["expected", (each) => each.expect, "text"],
            ["found", (each) => each.value, "text"],
            ["", (each) => (each.implied ? element("span", {class: "note"}, "implied") : "")],
        ], result.expectations)];
    }

    function faults() {
        const title = element("h2", {}, "Injected faults");
        if (records.length === 0)
            return [title, element("p", {class: "empty"}, result.faults.length > 0 ? "The scenario has faults, but none was injected."
                : "This scenario injects no faults.")];
        const most = 200, rest = records.length - most;
        return [title, table([
            ["time", (each) => Format.exact(each.time_ps), "number"],
            ["what", (each) => faultLink(each, each.text), "text"],
            ["from", (each) => (each.source_rank ? rankLink(each.source_rank) : each.source === undefined ? "" : `node ${each.source}`)],
            ["to", (each) => (each.target_rank ? rankLink(each.target_rank) : each.target === undefined ? "" : `node ${each.target}`)],
            ["led to", (each) => (each.error ? element("span", {class: "bad"}, `✘ ${each.error} at ${Format.time(each.failed_ps)}`) : "")],
        ], records.slice(0, most)), rest > 0 ? element("p", {class: "note"}, `and ${Format.number(rest)} more; the JSON of the run has up to 1,000 of each fault.`) : null];
    }

    function waiters() {
        if (result.waiters.length === 0)
            return null;
        return [element("h2", {}, "Who still waits"), table([
            ["ranks", (each) => [each.ranks.flatMap((name, i) => [i > 0 ? ", " : "", rankLink(name)]), each.count > each.ranks.length ? ` and ${each.count - each.ranks.length} more` : ""], "text"],
            ["wait for", (each) => each.waits_for, "text"],
            ["since", (each) => Format.time(each.since_ps), "number"],
        ], result.waiters)];
    }

    function crashes() {
        return result.crashes.length === 0 ? null : [element("h2", {}, "Crashes"), result.crashes.map((crash) => [
            element("p", {}, element("span", {class: "sign bad"}, "✘"), rankLink(crash.rank), ` on node ${crash.node} at ${Format.exact(crash.time_ps)}: ${crash.text}`,
                crash.call ? ` (in ${crash.call})` : ""),
            element("pre", {class: "text"}, crash.backtrace.join("\n"))])];
    }

    function findings() {
        const rules = Object.entries(result.findings);
        if (rules.length === 0)
            return null;
        const signs = {error: ["✘", "bad"], warning: ["!", "warn"], count: ["i", "note"]};
        return [element("h2", {}, "Findings"), table([
            ["", ([, each]) => element("span", {class: `sign ${(signs[each.severity] || signs.count)[1]}`}, (signs[each.severity] || signs.count)[0])],
            ["rule", ([name]) => name, "mono"],
            ["count", ([, each]) => Format.number(each.count), "number"],
            ["meaning", ([, each]) => each.summary, "text"],
            ["first", ([, each]) => (each.first.length > 0 ? linked(`${each.first[0].rank || ""} ${each.first[0].text || ""}`) : ""), "text"],
            ["", ([, each]) => (each.allowed ? element("span", {class: "note"}, "allowed") : "")],
        ], rules)];
    }

    function jobs() {
        if (result.jobs.length === 0)
            return [element("h2", {}, "Jobs"), element("p", {class: "empty"}, "The scenario has no jobs.")];
        return [element("h2", {}, "Jobs"), table([
            ["", (job) => element("span", {class: `sign ${job.exit === 0 ? "good" : "bad"}`}, job.exit === 0 ? "✔" : "✘")],
            ["job", (job) => job.name],
            ["program", (job) => job.workload],
            ["ranks", (job) => Format.number(job.ranks), "number"],
            ["nodes", (job) => Format.number(job.nodes), "number"],
            ["exit code", (job) => (job.exit === null ? "did not end" : String(job.exit)), "number"],
            ["ended", (job) => (job.running > 0 ? `${Format.number(job.running)} still run` : Format.time(job.ended_ps)), "number"],
            ["failures", (job) => job.texts.slice(0, 3).map((text) => element("div", {}, linked(text))), "text"],
        ], result.jobs)];
    }

    function ledger() {
        const books = result.ledger.books;
        return [element("h2", {}, "Ledger"), books.length === 0 ? element("p", {class: "empty"}, "No message was sent, so no book has an entry.") : table([
            ["book", (book) => book.book],
            ["opened", (book) => Format.number(book.opened), "number"],
            ["delivered", (book) => Format.number(book.delivered), "number"],
            ["settled well", (book) => Format.number(book.settled_ok), "number"],
            ["with an error", (book) => Format.number(book.settled_error), "number"],
            ["abandoned", (book) => Format.number(book.abandoned), "number"],
            ["bytes delivered", (book) => Format.bytes(book.bytes_out), "number"],
            ["violations", (book) => (book.violations > 0 ? element("span", {class: "bad"}, `✘ ${Format.number(book.violations)}`) : "0"), "number"],
        ], books), result.ledger.violations.map((text) => element("p", {class: "bad"}, `✘ ${text}`))];
    }

    section.append(...[cards(), outcome(), story(), crashes(), waiters(), faults(), jobs(), expectations(), findings(), ledger(),
        result.warnings.map((text) => element("p", {class: "warn"}, `! ${text}`))].flat(3).filter(Boolean));
}
