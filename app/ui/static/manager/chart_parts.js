// What the forms of charts share: colours, labels, addresses of marks, and the part of an axis that is in sight.

import { figure, here, main } from "./parts.js";

const MANAGES = !["viewer", "coordinator"].includes(main.dataset.role);
const COLOURS = 6;
const SIZE = "12px"; // of a label, as the style sheet has it
const SYMBOLS = ["circle", "square", "triangle", "diamond", "wye", "star"];

export const colour = (n) => `var(--series-${n % COLOURS})`;
export const symbol = (n) => SYMBOLS[n % SYMBOLS.length];

// The judgments behind a mark; pages of texts are for managers.
export function address(to) {
  if (!MANAGES || !Object.keys(to).length) return null;
  const page = to.system && to.other && !to.document ? "/reports/disagreements" : "/items";
  return `${here}${page}?${new URLSearchParams(to)}`;
}

// A number as short as it can be told apart.
export const short = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return figure(value, Number.isInteger(value) ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3);
};

export const interval = ({ low, high }) => (low === null || high === null ? "" : ` [${short(low)}, ${short(high)}]`);

const pen = document.createElement("canvas").getContext("2d");
pen.font = `${SIZE} ${getComputedStyle(document.body).fontFamily}`;

// Pixels that a label takes.
export const widthOf = (label) => pen.measureText(label).width;

export const labelRoom = (labels, width) => Math.min(Math.max(40, ...labels.map((label) => Math.ceil(widthOf(label)) + 16)), 0.42 * width);

// A label without its middle, where the room is too small for all of it.
export function cut(label, room) {
  if (widthOf(label) <= room - 14) return label;
  const letters = [...label];
  for (let most = letters.length - 1; most > 3; most -= 1) {
    const short = `${letters.slice(0, Math.ceil(most * 0.6)).join("")}…${letters.slice(letters.length - Math.floor(most * 0.4)).join("")}`;
    if (most === 4 || widthOf(short) <= room - 14) return short;
  }
  return label;
}

// The part of an axis that is shown. middle: where, as a share of the whole; null for the centre.
export function inSight([low, high], zoom, middle) {
  const pad = (high - low) * 0.04 || Math.abs(high) * 0.05 || 1;
  const [from, to] = [low - pad, high + pad];
  const size = (to - from) / zoom;
  const at = from + (middle ?? 0.5) * (to - from);
  const start = Math.min(Math.max(at - size / 2, from), to - size);
  return [start, start + size];
}
