// What was done, in a corner of the page for a while; what can be undone, with a button for that, for 30 seconds.

import { button, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { icon, resting } from "./parts.js";

const SHORT = 6_000; // milliseconds
const UNDO = 30_000;

function corner() {
  const there = document.querySelector("#toasts");
  if (there) return there;
  const made = h("div", { id: "toasts", role: "status", "aria-live": "polite" });
  document.body.append(made);
  return made;
}

// undo: does the opposite → whether it is done. While somebody points at it or has the focus in it, it stays.
export function toast(text, undo = null) {
  const close = button(icon("close"), () => card.remove(), { class: "ghost", "aria-label": t("Close") });
  const back = undo && button([icon("undo"), t("Undo")], () => resting(back, async () => {
    if (await undo()) card.remove();
  }), { class: "quiet" });
  const card = h("div", { class: "toast" }, h("span", {}, text), back, close);
  corner().append(card);
  const end = Date.now() + (undo ? UNDO : SHORT);
  const look = setInterval(() => {
    if (Date.now() < end || card.matches(":hover, :focus-within")) return;
    clearInterval(look);
    card.remove();
  }, 500);
  return card;
}
