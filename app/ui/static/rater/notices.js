// What happened, in a sentence, where it can be read and is read out; each by a name, so that it can go again.

import { $, button, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";

const shown = new Map(); // name → element

// The same said again stays as it stands, with the focus that it may have.
export function notice(name, text, { actions = [], close = true } = {}) {
  const element = h("div", { class: "note", data: { notice: name } }, h("p", {}, text), actions.length || close
    ? h(
      "p",
      { class: "actions" },
      actions,
      close ? button(t("Close"), () => clear(name), { class: "quiet" }) : null,
    ) : null);
  const before = shown.get(name);
  if (before && !actions.length && before.textContent === element.textContent) return;
  shown.set(name, element);
  if (before) before.replaceWith(element);
  else $("#notices").append(element);
}

export function clear(name) {
  shown.get(name)?.remove();
  shown.delete(name);
}

export function clearAll() {
  for (const name of [...shown.keys()]) clear(name);
}
