// Series over an axis: lines with bounds, scatters, histograms, ranks; a panel each pair of axes.

import { figure } from "./parts.js";
import { address, colour, cut, inSight, interval, labelRoom, short, symbol } from "./chart_parts.js";
import { t } from "../shared/messages.js";

export function curves(chart) {
  const series = [...new Set(chart.panels.flatMap((panel) => panel.curves.map((curve) => curve.series)))];
  const points = (panel) => panel.curves.flatMap((curve) => curve.points.map((point) => ({
    ...point,
    panel: panel.title,
    series: curve.series,
    look: series.indexOf(curve.series),
    href: address(panel.to),
    told: [series.length > 1 ? curve.series : panel.title, `${typeof point.x === "string" ? point.x : short(point.x)}: ${short(point.y)}${interval(point)}`, point.text].filter(Boolean).join("\n"),
  })));
  const all = chart.panels.map(points);
  const ys = all.flat().flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]);
  const bottom = chart.top === null ? Math.min(...ys) : Math.min(0, ...ys);
  const heights = [bottom, Math.max(chart.top ?? -Infinity, ...ys)];

  function panel(n, { hidden, zoom, middle, width }) {
    const { Plot } = globalThis;
    const shown = all[n].filter((point) => !hidden.has(point.series));
    const places = [...new Set(all[n].map((point) => point.x))];
    const named = typeof places[0] === "string";
    const numbers = named ? [0, 1] : [Math.min(...places), Math.max(...places)];
    const ranks = chart.look === "ranks";
    const left = ranks ? labelRoom(series, width * 0.8) : 52;
    const fill = (point) => colour(chart.look === "bars" ? 0 : point.look);
    const at = { x: "x", y: "y" };
    const bounded = shown.filter((point) => point.low !== null && point.high !== null);
    const every = Math.max(1, Math.ceil(places.length * (chart.look === "bars" ? 84 : 72) / width));
    const marks = [];
    if (chart.line !== null) marks.push(Plot.ruleY([chart.line], { stroke: "var(--quiet)", strokeDasharray: "4 3" }));
    if (chart.look === "bars") {
      marks.push(Plot.barY(shown, { ...at, fill, href: "href", className: "mark" }), Plot.ruleY([0]));
    } else {
      if (chart.look !== "dots") marks.push(Plot.line(shown, { ...at, z: "series", stroke: fill, strokeWidth: 1.8, clip: zoom > 1 }));
      marks.push(Plot.link(bounded, { x1: "x", x2: "x", y1: "low", y2: "high", stroke: fill, clip: zoom > 1 }));
      const dense = shown.length > 400;
      marks.push(Plot.dot(shown, { ...at, fill, fillOpacity: dense ? 0.5 : 1, r: dense ? 2.5 : 4, symbol: (point) => symbol(point.look), href: "href", className: "mark", clip: zoom > 1 }));
    }
    if (ranks) marks.push(Plot.text(shown.filter((point) => point.x === places[0]), { ...at, text: (point) => cut(point.series, left), textAnchor: "end", dx: -10 }));
    marks.push(Plot.tip(shown, Plot.pointer({ ...at, title: "told", ariaLabel: "", fill: "var(--surface)", stroke: "var(--strong-line)" })));
    const options = {
      width: width, height: chart.heights[n], marginLeft: left, marginRight: ranks ? 40 : 20, marginTop: chart.panels[n].title ? 30 : 16, marginBottom: 40,
      x: { label: (chart.look === "bars" && n < chart.panels.length - 1 ? null : chart.x) || null, labelAnchor: "center", labelArrow: "none", ...(named ? { domain: places, type: chart.look === "bars" ? "band" : "point", ticks: places.filter((_, i) => i % every === 0), tickFormat: (name) => cut(name, 110) } : { domain: inSight(numbers, zoom, middle), grid: true }) },
      y: ranks ? { reverse: true, axis: null } : { domain: heights, grid: true, label: chart.look === "bars" ? null : chart.y || null, ticks: chart.look === "bars" ? 3 : 6, labelArrow: "none" },
      color: { type: "identity" }, symbol: { type: "identity" },
      marks: chart.panels[n].title ? [Plot.text([chart.panels[n].title], { frameAnchor: "top-left", dy: -22, fontWeight: 600, fontSize: 12 }), ...marks] : marks,
    };
    return { options, marks: shown };
  }

  const table = () => [[
    chart.panels.length > 1 ? [t("Panel"), (point) => point.panel] : null,
    series.length > 1 ? [t("Series|in a chart"), (point) => point.series] : null,
    [chart.x || t("Place|on an axis"), (point) => (typeof point.x === "string" ? point.x : short(point.x)), "right"],
    [chart.y || t("Value"), (point) => figure(point.y, 3), "right"],
    [t("From|an interval"), (point) => figure(point.low, 3), "right"],
    [t("To|an interval"), (point) => figure(point.high, 3), "right"],
    [t("Note|of a value"), (point) => point.text || null],
  ].filter(Boolean), all.flat()];
  return { panels: (state) => chart.panels.map((_, n) => panel(n, state)), table };
}
