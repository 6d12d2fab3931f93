/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A canvas that fills its parent and is drawn again when it must be, and an axis of active time. */
"use strict";

function fittingCanvas(parent, draw, attributes) {
    const canvas = element("canvas", {tabindex: 0, ...attributes});
    let waits = false;
    const made = {
        canvas, width: 0, height: 0, context: canvas.getContext("2d"),
        redraw() {
            if (!waits)
                requestAnimationFrame(() => {
                    waits = false;
                    fit();
                    if (made.width > 0 && made.height > 0)
                        draw(made);
                });
            waits = true;
        },
    };
    function fit() {
        const ratio = devicePixelRatio || 1;
        made.width = parent.clientWidth;
        made.height = parent.clientHeight;
        if (canvas.width !== Math.round(made.width * ratio) || canvas.height !== Math.round(made.height * ratio)) {
            canvas.width = Math.round(made.width * ratio);
            canvas.height = Math.round(made.height * ratio);
        }
        made.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    parent.append(canvas);
    new ResizeObserver(made.redraw).observe(parent);
    return made;
}

/* Ticks of an axis of active time: {at, text}. A text that would repeat the one before is empty. */
function timeTicks(scale, count) {
    const ticks = scale.ticks(count), step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
    return ticks.map((at) => ({at, text: Format.timeTo(Data.toVirtual(at), step)}));
}

const FONT = '12px system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif';

function drawTimeAxis(drawing, scale, left, top, bottom) {
    const context = drawing.context, room = 130;
    context.font = FONT;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.lineWidth = 1;
    for (const tick of timeTicks(scale, Math.max(2, Math.floor((drawing.width - left) / room)))) {
        const x = Math.round(scale(tick.at)) + 0.5;
        context.strokeStyle = Page.color("line");
        context.beginPath();
        context.moveTo(x, top - 5);
        context.lineTo(x, bottom);
        context.stroke();
        context.fillStyle = Page.color("faint");
        if (x > left + 30 && x < drawing.width - 30)
            context.fillText(tick.text, x, top - 9);
    }
}

/* Where idle time is left out: a dotted line and how much; of those that are close together, the longest. */
function drawGaps(drawing, scale, left, top, bottom) {
    const context = drawing.context, taken = [];
    context.textAlign = "center";
    context.font = FONT;
    const inSight = Data.gapsShown.map((gap) => ({...gap, x: Math.round(scale(gap.at)) + 0.5})).filter((gap) => gap.x >= left && gap.x <= drawing.width);
    for (const gap of inSight.sort((a, b) => b.length - a.length)) {
        const text = `⋯ ${Format.time(gap.length)} idle`, half = context.measureText(text).width / 2 + 6;
        const at = Math.min(Math.max(gap.x, left + half), drawing.width - half);
        if (taken.some((each) => Math.abs(each.at - at) < each.half + half))
            continue;
        taken.push({at, half});
        context.strokeStyle = context.fillStyle = Page.color("faint");
        context.setLineDash([2, 3]);
        context.beginPath();
        context.moveTo(gap.x, top);
        context.lineTo(gap.x, bottom + 4);
        context.stroke();
        context.setLineDash([]);
        context.fillText(text, at, bottom + 18);
    }
}
