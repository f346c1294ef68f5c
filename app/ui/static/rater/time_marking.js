// Marking stretches of time in audio and video: where the player is, an error starts or ends.

import { announce, button, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { clock } from "./player.js";
import { stretchesOf } from "./text_view.js";

export class TimeMarking {
  // owner: the widget, with views, settings, errors, pending, chosen, isActive(), selectTime(side, from, to), key(event, at)
  constructor(owner, signal) {
    this.owner = owner;
    this.views = owner.views.filter((view) => view.player?.timed && view.player.media.id);
    this.buttons = this.views.map((view) => this.pair(view));
    this.element = this.views.length ? h("div", { class: "bar times" }, this.buttons) : null;
    for (const view of this.views) view.player.element.addEventListener("keydown", (event) => owner.isActive() && this.key(event, view), { signal });
  }

  // What to do where there is nothing but files.
  get hint() {
    return this.views.length && this.owner.views.every((view) => view.player) ? t("Play it, and mark where an error starts and ends.") : null;
  }

  get first() {
    return this.buttons[0]?.querySelector("button");
  }

  pair(view) {
    const keys = (letter) => [h("kbd", {}, letter), " "];
    return h("span", { class: "pair", role: "group", "aria-label": view.label },
      this.views.length > 1 ? h("span", { class: "label" }, t(view.label)) : null,
      button([keys("I"), t("Start of an error")], () => this.start(view), { class: "quiet" }),
      button([keys("O"), t("End of the error")], () => this.end(view), { class: "quiet" }));
  }

  start(view) {
    const { now } = view.player;
    this.owner.selectTime(view.side, now, now);
    announce(clock(now));
  }

  // Without a start it is a point in time.
  end(view) {
    const { now } = view.player;
    const { pending } = this.owner;
    const from = pending?.side === view.side && typeof pending.start_ms === "number" ? Math.min(pending.start_ms, now) : now;
    view.player.shown.pause();
    this.owner.selectTime(view.side, from, now);
    announce(`${clock(from)}–${clock(now)}`);
  }

  key(event, view) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const letter = event.key.toLowerCase();
    if (letter === "i") this.start(view);
    else if (letter === "o") this.end(view);
    else if (/^[1-9]$/.test(letter) || event.key === "Escape") this.owner.key(event, { side: view.side, unit: null });
  }

  draw(view, marks) {
    if (!view.player) return;
    const { errors, settings, pending, chosen } = this.owner;
    const shown = stretchesOf(errors, view.side, settings.severities).map((mark) => (mark.index === chosen ? { ...mark, kinds: [...mark.kinds, "chosen"] } : mark));
    if (pending?.side === view.side && typeof pending.start_ms === "number") shown.push({ ...pending, kinds: ["pending"] });
    view.player.draw([...shown, ...marks.filter((mark) => typeof mark.start_ms === "number")]);
  }
}
