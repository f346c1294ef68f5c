// A slider that is unset until it is touched: a value that nobody chose would be an answer that nobody gave.

import { fresh, h } from "../shared/dom.js";
import { number, t } from "../shared/messages.js";

const MOVING = /^(Home|End|PageUp|PageDown|Arrow\w+)$/;
const TYPING = 1200; // milliseconds between digits of one number

export function scale({ label, minimum, maximum, step, ticks }, value, said) {
  const id = fresh("slider");
  const middle = minimum + Math.round((maximum - minimum) / 2 / (step || 1)) * (step || 1);
  const input = h(
    "input",
    {
      id,
      type: "range",
      min: String(minimum),
      max: String(maximum),
      step: String(step || "any"),
      "aria-describedby": `${id}-ticks`,
    },
  );
  const shown = h("output", { for: id });
  const meaning = h("p", { class: "meaning", "aria-hidden": "true" });
  const track = h("div", { class: "track" }, input, marks(ticks, minimum, maximum));
  const element = h(
    "div",
    { class: "slider" },
    h("div", { class: "head" }, h("label", { for: id }, label), shown),
    meaning,
    track,
    legend(ticks, `${id}-ticks`, minimum, maximum),
  );

  let compared = "";
  const show = (now) => {
    const unset = now === undefined;
    input.value = String(unset ? middle : now);
    element.classList.toggle("unset", unset);
    shown.textContent = unset ? t("not set") : number(now, 2);
    const near = unset ? "" : nearest(ticks, now);
    meaning.textContent = near ? t(near) : "";
    input.setAttribute(
      "aria-valuetext",
      unset ? t("not set") : [number(now, 2), exact(ticks, now), compared].filter(Boolean).join(", "),
    );
  };
  const touch = () => {
    show(Number(input.value));
    said(Number(input.value));
  };
  input.addEventListener("input", touch);
  // A click where the handle stands already, and unset, moves nothing and yet says something.
  input.addEventListener("click", () => element.classList.contains("unset") && touch());
  input.addEventListener("keydown", keys(input, element, touch));
  show(value);
  const relation = h("span", { class: "relation", "aria-hidden": "true" });
  element.querySelector(".head").append(relation);
  // share: where the value lies between the lowest (0) and the highest (1) of several columns; null where nobody can say.
  const relate = (share) => {
    element.classList.toggle("related", share !== null);
    element.style.setProperty("--share", `${100 * (share ?? 0)}%`);
    relation.textContent = share === 1 ? "▲" : share === 0 ? "▼" : "";
    compared = share === 1 ? t("the highest so far") : share === 0 ? t("the lowest so far") : "";
    show(element.classList.contains("unset") ? undefined : Number(input.value));
  };
  return { element, show, relate, focus: () => input.focus() };
}

// Digits set the value, as if typed into a box; space or enter takes the middle where nothing is set yet.
function keys(input, element, touch) {
  let typed = "";
  let last = 0;
  return (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === " " && element.classList.contains("unset")) {
      event.preventDefault();
      touch();
    } else if (/^[0-9]$/.test(event.key)) {
      event.preventDefault();
      event.stopPropagation();
      typed = event.timeStamp - last < TYPING ? typed + event.key : event.key;
      last = event.timeStamp;
      if (Number(typed) > Number(input.max)) typed = event.key;
      input.value = typed;
      touch();
    } else if (MOVING.test(event.key)) {
      // The same value again is a touch too: Home on a handle that stands at the start, say.
      if (element.classList.contains("unset")) requestAnimationFrame(
        () => element.classList.contains("unset") && touch(),
      );
    }
  };
}

// What the mark next to a value says.
const nearest = (ticks, value) => [...ticks].sort(([a], [b]) => Math.abs(a - value) - Math.abs(b - value))[0]?.[1];
const exact = (ticks, value) => ticks.find(([at]) => Math.abs(at - value) < 0.5)?.[1];

function marks(ticks, minimum, maximum) {
  return h("div", { class: "ticks", "aria-hidden": "true" }, ticks.map(([at]) => {
    const mark = h("i");
    mark.style.insetInlineStart = `${(100 * (at - minimum)) / (maximum - minimum)}%`;
    return mark;
  }));
}

// What the ticks mean, each below its tick; on a phone one below the other, with its value.
function legend(ticks, id, minimum, maximum) {
  const list = h(
    "ul",
    { class: "legend", id },
    ticks.map(([at, label]) => h("li", {}, h("b", {}, number(at)), h("span", {}, " ", label ? t(label) : ""))),
  );
  const at = ticks.map(([value]) => value);
  const ends = at.map((value, i) => (i + 1 < at.length ? (value + at[i + 1]) / 2 : maximum));
  const widths = ends.map((end, i) => end - (i ? ends[i - 1] : minimum));
  list.style.gridTemplateColumns = widths.map((width) => `minmax(0, ${Math.max(width, 0.01)}fr)`).join(" ");
  return list;
}

export function make(widget, { answer, set, label }) {
  const { field, settings } = widget;
  const made = scale(
    { label: label ?? t("Score"), ...settings },
    answer.values[field],
    (value) => set({ [field]: value }, "score"),
  );
  return { ...made, show: () => made.show(answer.values[field]), relate: (shareOf) => made.relate(shareOf(field)) };
}
