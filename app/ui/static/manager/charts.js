// Charts that can be touched: drawn by Observable Plot from the values that the page holds.

import "../vendor/d3.js";
import "../vendor/plot.js";
import { $, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { cells } from "./chart_cells.js";
import { curves } from "./chart_curves.js";
import { rows } from "./chart_rows.js";
import { say, table } from "./parts.js";
import { enhanceTable } from "./tables.js";

const FORMS = { rows, curves, cells };
const STEP = 1.6;
const CLOSEST = 16;
const NARROWEST = 280; // pixels
const PIXELS = 2; // of a PNG for each of the screen

// Every mark is reached by the arrow keys from the one before; its values are told below the chart.
function focusable(svg, marks, tell) {
  const elements = [...svg.querySelectorAll(".mark")].flatMap((group) => [...group.children]);
  const stop = (element, on) => element.setAttribute("tabindex", on ? "0" : "-1");
  for (const [n, element] of elements.entries()) {
    const mark = marks[n];
    element.setAttribute("aria-label", mark.told.replaceAll("\n", ", "));
    if (element.tagName !== "a") element.setAttribute("role", "img");
    stop(element, n === 0);
    element.addEventListener("focus", () => tell(mark.told));
    element.addEventListener("mouseenter", () => tell(mark.told));
    element.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const next = /^Home$/.test(event.key) ? 0 : /^End$/.test(event.key) ? elements.length - 1 : n + step;
      if (!elements[next]) return;
      event.preventDefault();
      stop(element, false);
      stop(elements[next], true);
      elements[next].focus();
    });
  }
}

function drawer(figure) {
  const chart = JSON.parse($("script", figure).textContent);
  const form = FORMS[chart.form](chart);
  const place = $(".chart-place", figure);
  const said = $(".chart-said", figure);
  const state = { hidden: new Set(), zoom: 1, middle: null };
  const tell = (text) => say(said, text.replaceAll("\n", " · "));

  function draw() {
    const panels = form.panels({ ...state, width: Math.max(NARROWEST, place.clientWidth) });
    const drawn = panels.map(({ options, marks }) => {
      const svg = globalThis.Plot.plot({ className: "plot", ...options });
      $("style", svg)?.remove(); // the page's own style sheet has these rules: its policy allows no others
      for (const part of svg.querySelectorAll("g[aria-label]")) part.removeAttribute("aria-label"); // marks have names of their own
      svg.setAttribute("role", "group");
      svg.setAttribute("aria-label", chart.title);
      focusable(svg, marks, tell);
      return svg;
    });
    place.replaceChildren(...drawn);
  }

  function zoom(by, middle = null) {
    state.zoom = by === 0 ? 1 : Math.min(CLOSEST, Math.max(1, state.zoom * by));
    state.middle = state.zoom === 1 ? null : middle ?? state.middle;
    draw();
  }
  return { chart, form, place, state, draw, zoom };
}

function values(figure, form) {
  const details = $(".chart-values", figure);
  details.addEventListener("toggle", () => {
    if (!details.open || $("table", details)) return;
    const [columns, lines] = form.table();
    const box = table(t("Values of the chart"), columns, lines);
    details.append(box);
    enhanceTable(box);
  });
}

// The picture for papers as pixels, drawn on the light ground that it has.
async function asPng(address, name) {
  const image = h("img", { src: address });
  await image.decode();
  const canvas = h("canvas", { width: image.naturalWidth * PIXELS, height: image.naturalHeight * PIXELS });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => {
    const link = h("a", { href: URL.createObjectURL(blob), download: `${name}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

function prepare(figure) {
  const { chart, form, place, state, draw, zoom } = drawer(figure);
  for (const box of figure.querySelectorAll(".series input")) {
    box.addEventListener("change", () => {
      state.hidden[box.checked ? "delete" : "add"](box.value);
      draw();
    });
  }
  const STEPS = { in: STEP, out: 1 / STEP, all: 0 };
  for (const button of figure.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => zoom(STEPS[button.dataset.zoom]));
  place.addEventListener("keydown", (event) => {
    const by = { "+": STEP, "-": 1 / STEP, 0: 0 }[event.key];
    if (by !== undefined && !event.ctrlKey && !event.metaKey) zoom(by);
  });
  place.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    const box = place.getBoundingClientRect();
    zoom(event.deltaY < 0 ? STEP : 1 / STEP, (event.clientX - box.left) / box.width);
  }, { passive: false });
  $("[data-png]", figure).addEventListener("click", () => asPng(figure.dataset.picture, chart.title.replace(/\W+/g, "-")));
  values(figure, form);
  draw();
  let width = place.clientWidth;
  new ResizeObserver(() => {
    if (place.clientWidth === width) return;
    width = place.clientWidth;
    draw();
  }).observe(place);
}

export function drawAll(figures) {
  for (const figure of figures) prepare(figure);
}
