// Rows with marks along one axis: rankings with intervals, coefficients, bars.

import { foreign as told_, figure } from "./parts.js";
import { address, colour, cut, inSight, interval, labelRoom, short, symbol } from "./chart_parts.js";
import { t } from "../shared/messages.js";

export function rows(chart) {
  const { Plot } = globalThis;
  const names = [...new Set(chart.marks.map((mark) => mark.row))];
  const all = chart.marks.filter((mark) => mark.value !== null).map((mark) => ({
    ...mark,
    low: mark.interval?.[0] ?? null,
    high: mark.interval?.[1] ?? null,
    look: Math.max(0, chart.series.indexOf(mark.series)),
    href: address(mark.to),
    told: [mark.row, `${mark.series ? `${mark.series}: ` : ""}${short(mark.value)}${interval({ low: mark.interval?.[0] ?? null, high: mark.interval?.[1] ?? null })}`, mark.text].filter(Boolean).join("\n"),
  }));
  const ends = all.flatMap((mark) => [mark.value, mark.low ?? mark.value, mark.high ?? mark.value, mark.bar ? 0 : mark.value]);
  const whole = [Math.min(...ends, ...chart.lines), Math.max(...ends, ...chart.lines)];

  function panels({ hidden, zoom, middle, width }) {
    const marks = all.filter((mark) => !hidden.has(mark.series));
    const left = labelRoom(names, width);
    const bars = marks.filter((mark) => mark.bar);
    const fill = (mark) => colour(mark.look);
    const channels = { x: "value", y: "row" };
    const bounded = marks.filter((mark) => mark.low !== null && mark.high !== null);
    const options = {
      width, height: chart.heights[0], marginLeft: left, marginRight: 24, marginTop: 10, marginBottom: 44,
      x: { domain: inSight(whole, zoom, middle), label: cut(chart.axis, width - 20), grid: true, labelAnchor: "center", labelArrow: "none", labelOffset: 38 },
      y: { domain: names, type: "band", label: null, tickFormat: (name) => cut(name, left), tickSize: 0, padding: 0.35 },
      color: { type: "identity" }, symbol: { type: "identity" },
      marks: [
        Plot.ruleX(chart.lines, { stroke: "var(--quiet)", strokeDasharray: "4 3" }),
        Plot.barX(bars, { x: "value", y: "row", fill, fillOpacity: 0.75, clip: true }),
        Plot.link(bounded, { x1: "low", x2: "high", y1: "row", y2: "row", stroke: fill, strokeWidth: 2, clip: true }),
        Plot.dot(marks, { ...channels, fill, stroke: "var(--surface)", symbol: (mark) => symbol(mark.look), r: 5, href: "href", className: "mark", clip: zoom > 1 }),
        Plot.tip(marks, Plot.pointer({ ...channels, title: "told", ariaLabel: "", fill: "var(--surface)", stroke: "var(--strong-line)" })),
      ],
    };
    return [{ options, marks }];
  }

  const table = () => [[
    [t("Row"), (mark) => mark.row],
    chart.series.length ? [t("Series|in a chart"), (mark) => told_(mark.series)] : null,
    [t("Value"), (mark) => figure(mark.value, 3), "right"],
    [t("From|an interval"), (mark) => figure(mark.interval?.[0], 3), "right"],
    [t("To|an interval"), (mark) => figure(mark.interval?.[1], 3), "right"],
    [t("Note|of a value"), (mark) => mark.text || null],
  ].filter(Boolean), chart.marks];
  return { panels, table };
}
