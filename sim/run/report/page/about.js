/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How to run it again, the scenario, and what this page leaves out. */
"use strict";

function About(section) {
    const result = Data.result, points = Data.points, messages = Data.messages;
    const command = element("pre", {class: "text", id: "command"}, Data.command);
    const said = element("span", {class: "note", role: "status"});

    function copy() {
        const selection = getSelection();
        selection.selectAllChildren(command);
        said.textContent = document.execCommand("copy") ? " copied" : " selected";
    }
    const left = [];
    if (points.stride > 1)
        left.push(`The run had ${Format.number(points.all)} trace points. The listing and the calls in the space-time diagram have ${Format.number(points.count)} of them: all of faults and of lost messages, long calls, and about 1 of ${points.stride} others.`);
    if (messages.stride > 1)
        left.push(`The run had ${Format.number(messages.all)} messages. The diagrams show about 1 of ${messages.stride} of them, and all that were lost or failed.`);
    if (messages.leftOut)
        left.push("Messages after the first 1,048,575 are not in the diagrams.");
    const counters = Data.series.filter((each) => each.last !== undefined).length;
    if (Data.counters > counters)
        left.push(`The run has ${Data.countersLeftOut ? "more than " : ""}${Format.number(Data.counters)} counters (queues, credits, virtual channels); the ${counters} that went farthest are shown, of each kind as many.`);
    if (Data.gapsShown.length > 0)
        left.push(`Stretches in which nothing happened are shortened in all drawings: ${Format.plural(Data.gapsShown.length, "stretch", "stretches")}, together ${Format.time(Data.gapsShown.reduce((sum, gap) => sum + gap.length, 0))}. The labels show the virtual time.`);
    left.push("sim-run --trace writes everything, for the Perfetto UI and for jacquard trace show.");

    section.append(
        element("h2", {}, "Run it again"), command, element("p", {}, element("button", {type: "button", onclick: copy}, "Copy"), said),
        element("p", {class: "note"}, "The same version, scenario and seed give the same run and the same digest, on any machine."),
        facts([["seed", String(result.scenario.seed)], ["digest", result.digest], ["scenario file", result.scenario.file],
            ["Jacquard", Data.version], ["network", `${result.fabric.topology}${result.fabric.preset ? ` ${result.fabric.preset}` : ""}, ${result.fabric.fidelity}`],
            ["signature", result.signature]]),
        element("h2", {}, "What this page shows"), element("ul", {}, left.map((text) => element("li", {}, text))),
        element("h2", {}, "Scenario"), element("p", {class: "note"}, "As it was run, with the values of --set and --seed."),
        element("pre", {class: "text tall", id: "scenario"}, Data.scenario),
        (result.lnetctl || []).length > 0 ? [element("h2", {}, "lnetctl"), result.lnetctl.map((each) => [
            element("p", {}, `node ${each.node} at ${Format.time(each.time_ps)}: lnetctl ${each.command}`), element("pre", {class: "text"}, each.output)])].flat(3) : "",
        element("h2", {}, "Keys"), element("ul", {}, ["1 to 7: the views", "Space-time diagram: arrows move, + and − zoom in time, [ and ] zoom the rows, 0 shows everything, Esc ends a selection",
            "Mouse: the wheel zooms in time, with Shift the rows; drag to move; click a message or call"].map((text) => element("li", {}, text))),
        element("h2", {}, "Libraries in this page"), element("pre", {class: "text tall"}, document.getElementById("licences").textContent));
}
