// What the forms of charts share: colours, labels, addresses of marks, and the part of an axis that is in sight.

import { figure, here, main } from "./parts.js";

const MANAGES = !["viewer", "coordinator"].includes(main.dataset.role);
const COLOURS = 6;
const LETTER = 6.6; // pixels, of a label
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

export const labelRoom = (labels, width) => Math.min(Math.max(40, ...labels.map((label) => label.length * LETTER + 16)), 0.42 * width);

export function cut(label, room) {
  const most = Math.max(4, Math.floor((room - 14) / LETTER));
  return label.length <= most ? label : `${label.slice(0, Math.ceil(most * 0.6))}…${label.slice(label.length - Math.floor(most * 0.4) + 1)}`;
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
