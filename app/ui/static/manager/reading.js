// Reading what a page shows.

import { Unreachable } from "../shared/api.js";
import { button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { figure, Refused, resting, say, some, tell } from "./parts.js";

// Do what reads, and say what does not come. → whether all came.
export async function tried(work, said) {
  say(said, "");
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof Unreachable) say(said, t("The server cannot be reached. Try again in a moment."));
    else if (error instanceof Refused) tell(said, error.said);
    else throw error;
    return false;
  }
}

// → a function that does the work which fills a place; what does not come is said there, with a button that asks again.
export function reading(place, work) {
  const read = async () => {
    const missed = h("p", { class: "said", role: "alert" });
    if (!(await tried(work, missed))) {
      const again = button(t("Retry"), () => resting(again, read), { class: "quiet" });
      fill(place, missed, h("p", { class: "actions" }, again));
    }
    place.removeAttribute("aria-busy");
  };
  return read;
}

// A list that may be long: read as far as it is wanted, with a button for more of it.
export class Listing {
  constructor(path, step = 1000) {
    Object.assign(this, { path, step, most: step, n: 0, next: null });
  }

  // → its entries so far.
  async read() {
    const { items, next } = await some(this.path, this.most);
    Object.assign(this, { n: items.length, next });
    return items;
  }

  // Below what is shown: how much of it that is, and more of it, for which `show` shows all anew. → null where it is all.
  rest(show) {
    if (!this.next) return null;
    const go = async () => {
      this.most = this.n + this.step;
      await show();
      if (this.next) this.more.focus({ preventScroll: true });
    };
    this.more = button(t("More"), () => resting(this.more, go), { class: "quiet" });
    return h("p", { class: "actions" }, t("The first {n} are shown.", { n: figure(this.n) }), " ", this.more);
  }
}
