// Keys, and the sheet that lists them (?). Single letters work only where they can be switched off (WCAG 2.1.4).

import { dialog, fresh, h } from "../shared/dom.js";
import * as keep from "./keep.js";
import { t } from "../shared/messages.js";

const KEYS = [
  ["Alt + ↓", () => t("next segment")],
  ["Alt + ↑", () => t("previous segment")],
  ["S", () => t("to the score")],
  ["N", () => t("nothing (else) is wrong: go to the score or the next segment")],
  ["Enter", () => t("on a score: go on to the next segment")],
  ["0 … 9", () => t("on a slider: type the score; on points: choose one")],
  ["← →", () => t("on a slider: less or more; on a text: to the next word")],
  ["Shift + ← →", () => t("on a text: mark more or less")],
  ["1 2 3 …", () => t("on a text: mark as an error of this severity, then its category")],
  ["M", () => t("on a text: something is missing")],
  ["W", () => t("on a text: an error of the whole text")],
  ["G", () => t("on a text: whole words or single characters")],
  ["I O", () => t("on a file: an error starts here, ends here")],
  ["E", () => t("on a text: change the error here")],
  ["Del", () => t("on a text: remove the error here")],
  ["Ctrl + Z", () => t("undo")],
  ["Esc", () => t("clear the selection")],
  ["?", () => t("this list of keys")],
];

const typing = (target) => target.closest(
  "input:not([type=range]):not([type=radio]):not([type=checkbox]), textarea, select, dialog",
);

const SINGLE = { "?": () => help(), s: (work) => work.toScore(), n: (work) => work.nothingMore() };

function single(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return null;
  return typing(event.target) || keep.get("single-keys") === false ? null : SINGLE[event.key.toLowerCase()];
}

export function helpOn(work, signal) {
  addEventListener("keydown", (event) => {
    if (event.altKey && (event.key === "ArrowDown" || event.key === "ArrowUp") && work.screen?.current) {
      event.preventDefault();
      work.screen.step(work.screen.current, event.key === "ArrowDown" ? 1 : -1);
      return;
    }
    const leadOn = single(event);
    if (leadOn) {
      event.preventDefault();
      leadOn(work);
    } else if (event.key === "Enter" && event.target.matches("input[type=range], input[type=radio]")) {
      event.preventDefault();
      work.goOn(event.target);
    }
  }, { signal });
  const opener = document.querySelector("[data-help]");
  opener?.addEventListener("click", help, { signal });
}

export function help() {
  if (document.querySelector("dialog[open]")) return;
  const id = fresh("keys");
  const box = h(
    "input",
    {
      id,
      type: "checkbox",
      checked: keep.get("single-keys") !== false,
      onchange: () => keep.put("single-keys", box.checked),
    },
  );
  const rows = KEYS.map(
    ([key, what]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, what())),
  );
  dialog(
    t("Keys"),
    [
      h("table", { class: "keys" }, h("tbody", {}, rows)),
      h("p", {}, h("label", { for: id }, box, " ", t("Single letters and “?” are keys"))),
    ],
    { closeLabel: t("Close") },
  );
}
