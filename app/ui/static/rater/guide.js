// What is asked, and what the scale means, above the segments: open until the rater closes it, and closed on a phone.

import { $, h } from "../shared/dom.js";
import * as keep from "./keep.js";
import { languageOf, t } from "../shared/messages.js";

const NARROW = "(max-width: 46rem)";
const CLOSED = "guide-closed";

export function guide({ instructions, rubric }) {
  const box = h(
    "details",
    { class: "guide", open: !matchMedia(NARROW).matches && !keep.get(CLOSED) },
    h("summary", {}, t("What you are asked")),
    h(
      "p",
      { class: "instructions" },
      instructions.map((sentence) => [t(sentence), " "]),
      h("a", { href: `${$("main").dataset.home}/guidelines` }, t("Guidelines")),
    ),
    scaleOf(rubric),
  );
  box.addEventListener("toggle", () => !matchMedia(NARROW).matches && keep.put(CLOSED, !box.open));
  return box;
}

export function scaleOf(rubric) {
  return h(
    "dl",
    { class: "rubric" },
    rubric.map(([value, meaning]) => [
      h("dt", { lang: languageOf(value) }, t(value)),
      h("dd", { lang: languageOf(meaning) }, t(meaning)),
    ]),
  );
}
