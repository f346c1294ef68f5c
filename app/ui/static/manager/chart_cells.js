// Rows against columns, shaded: pairs of systems, raters by system, documents by system.

import { address, cut, labelRoom, widthOf } from "./chart_parts.js";
import { t } from "../shared/messages.js";

const SHADES = [0.05, 0.16, 0.3, 0.45, 0.82, 1];
const DARK = 0.6; // opacity above which text is light
const ROOM_FOR_TEXT = 30; // pixels
const LONGEST = 133; // pixels, of a column's label with its margin

const shade = (share) => SHADES[Math.min(SHADES.length - 1, Math.floor(Math.abs(share) * SHADES.length))];

export function cells(chart) {
  const { Plot } = globalThis;
  const key = (side, n) => (chart[`${side}_keys`].length ? chart[`${side}_keys`][n] : chart[`${side}s`][n]);

  // What a cell is about: a pair, or a thing each of its row and column.
  function target({ row, column }) {
    const [a, b] = [chart.of_rows, chart.of_columns];
    if (!a || !b) return {};
    if (a !== b) return { [a]: key("row", row), [b]: key("column", column) };
    return a === "system" ? { system: key("row", Math.min(row, column)), other: key("row", Math.max(row, column)) } : {};
  }
  const all = chart.cells.map((cell) => ({
    ...cell,
    href: address(target(cell)),
    opacity: shade(cell.share),
    told: [`${chart.rows[cell.row]} · ${chart.columns[cell.column]}`, cell.about || cell.text].join("\n"),
  }));
  const labels = chart.columns.map((name) => cut(name, LONGEST));
  const above = Math.ceil(Math.max(...labels.map(widthOf), 0)) + 14;

  function panels({ zoom, width }) {
    const left = labelRoom(chart.rows, width);
    const height = (chart.heights[0] - above) * zoom + above;
    const across = Math.max(width, left + 24 + chart.columns.length * 8) * (zoom === 1 ? 1 : zoom);
    const most = left + 24 + chart.columns.length * 64 * zoom;
    const wide = Math.min(across, most);
    const size = (wide - left - 24) / chart.columns.length;
    const place = { x: "column", y: "row" };
    const marks = [
      Plot.axisX({ anchor: "top", tickRotate: -90, tickSize: 0, tickFormat: (n) => labels[n], label: null }),
      Plot.axisY({ tickSize: 0, tickFormat: (n) => cut(chart.rows[n], left), label: null }),
      Plot.cell(all, { ...place, inset: 0.5, fill: (cell) => (cell.share < 0 ? "var(--series-1)" : "var(--series-0)"), fillOpacity: "opacity", href: "href", className: "mark" }),
    ];
    if (size >= ROOM_FOR_TEXT) {
      marks.push(Plot.text(all, { ...place, text: "text", fontSize: 10, fill: (cell) => (cell.opacity > DARK ? "var(--ground)" : "var(--ink)"), pointerEvents: "none" }));
    }
    marks.push(Plot.tip(all, Plot.pointer({ ...place, title: "told", ariaLabel: "", fill: "var(--surface)", stroke: "var(--strong-line)" })));
    const options = {
      width: wide, height, marginLeft: left, marginTop: above, marginRight: 24, marginBottom: 12,
      x: { domain: chart.columns.map((_, n) => n), padding: 0 }, y: { domain: chart.rows.map((_, n) => n), padding: 0 },
      color: { type: "identity" }, opacity: { type: "identity" }, marks,
    };
    return [{ options, marks: all }];
  }

  const table = () => [[
    [t("Row"), (cell) => chart.rows[cell.row]],
    [t("Column"), (cell) => chart.columns[cell.column]],
    [t("Value"), (cell) => cell.text, "right"],
    [t("Note|of a value"), (cell) => cell.about || null],
  ], chart.cells];
  return { panels, table };
}
