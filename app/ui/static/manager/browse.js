// A list that the server searches, filters and sorts, a hundred rows at a time. The address keeps what is asked, so that
// it can be sent to somebody; rows that are chosen stay chosen from page to page.

import { announce, button, fill, fresh, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { empty, fetched, figure, get, icon, NONE } from "./parts.js";
import { reading } from "./reading.js";

const ROWS = 100;
const PAUSE = 250; // milliseconds after the last key, before the list is searched
const LOOKS = 20; // pages that are asked for at most until one screen is full, where the server looks through much

// label: of the table. path: of the list. key: of a row, for the choice. columns: {head, cell, look, sort}. filters:
// {name, label, options: [value, text]}. actions: {label, icon, look, run(rows)}; nothing: {title, text}, where there
// are no rows at all. prepare: reads what filters offer.
export class Browse {
  constructor(place, { label, path, key, columns, filters = [], actions = [], sort = "key", search = null, nothing, prepare = () => {} }) {
    Object.assign(this, { place, label, path, key, columns, filters, actions, usual: sort, search, nothing, prepare });
    this.chosen = new Map();
    this.cursors = [null]; // where the pages up to this one begin
    this.results = h("div", { class: "results" });
    this.show = reading(this.results, () => this.read());
  }

  // Draw the tools once, so that the focus stays where somebody types, and read the first page.
  open() {
    const given = new URLSearchParams(location.search);
    return reading(this.place, async () => {
      await this.prepare();
      this.asked = { sort: given.get("sort") ?? this.usual, q: given.get("q") ?? "" };
      for (const { name, value = "" } of this.filters) this.asked[name] = given.get(name) ?? value;
      const [tools, bulk] = [this.tools(), this.bulk()];
      await this.read();
      fill(this.place, tools, this.results, bulk);
    })();
  }

  tools() {
    return h("div", { class: "list-tools", role: "search" }, this.search && this.searchField(), this.filters.map((one) => this.filter(one)));
  }

  searchField() {
    const id = fresh("search");
    let waiting = null;
    const field = h("input", { id, type: "search", value: this.asked.q, placeholder: this.search, maxlength: "200", autocomplete: "off", spellcheck: "false" });
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.ask({ q: field.value.trim() }), PAUSE);
    });
    return h("div", { class: "search" }, icon("search"), h("label", { for: id, class: "hidden" }, this.search), field);
  }

  filter({ name, label, options }) {
    const field = h("select", { onchange: () => this.ask({ [name]: field.value }) }, options.map(([value, text]) => h("option", { value }, text)));
    field.value = this.asked[name];
    return h("label", { class: "filter" }, h("span", {}, label), field);
  }

  // Ask for something else: from the first page on.
  ask(values) {
    Object.assign(this.asked, values);
    this.cursors = [null];
    const shown = new URLSearchParams(Object.entries(this.asked).filter(([name, value]) => value && !(name === "sort" && value === this.usual)));
    const others = new URLSearchParams(location.search);
    if (others.get("lang")) shown.set("lang", others.get("lang"));
    history.replaceState(null, "", `${location.pathname}${shown.size ? `?${shown}` : ""}`);
    return this.show();
  }

  get filtered() {
    return Object.entries(this.asked).some(([name, value]) => name !== "sort" && value);
  }

  address(cursor, limit) {
    const query = new URLSearchParams(Object.entries(this.asked).filter(([name, value]) => value && !(name === "sort" && value === this.usual)));
    query.set("limit", String(limit));
    if (cursor) query.set("cursor", cursor);
    return `${this.path}?${query}`;
  }

  async read() {
    const asked = JSON.stringify([this.asked, this.cursors]);
    const rows = [];
    let cursor = this.cursors.at(-1);
    for (let looks = 0; looks < LOOKS && rows.length < ROWS; looks += 1) {
      const page = await get(this.address(cursor, ROWS - rows.length));
      rows.push(...page.items);
      cursor = page.next;
      if (!cursor) break;
    }
    if (asked !== JSON.stringify([this.asked, this.cursors])) return; // something else is asked meanwhile
    Object.assign(this, { rows, next: cursor });
    this.draw();
  }

  draw() {
    const first = (this.cursors.length - 1) * ROWS;
    const left = this.rows.length || !this.filtered ? null : button(t("Clear the search and filters"), () => this.clear(), { class: "quiet" });
    fill(this.results,
      this.rows.length ? this.table() : this.filtered || first ? empty({ icon: "search", title: t("Nothing is like this."), text: t("Try other words, or fewer filters."), action: left }) : empty(this.nothing),
      this.pages(first), fetched([["JSON", this.address(null, 200)]]));
    this.tell();
    if (this.filtered) announce(count(this.rows.length, "{n} row", "{n} rows"));
  }

  clear() {
    for (const field of this.place.querySelectorAll(".list-tools input, .list-tools select")) field.value = "";
    return this.ask(Object.fromEntries(Object.keys(this.asked).filter((name) => name !== "sort").map((name) => [name, ""])));
  }

  pages(first) {
    if (!this.rows.length || (!first && !this.next)) return null;
    const go = (cursors) => {
      this.cursors = cursors;
      this.place.scrollIntoView({ block: "start", behavior: "instant" });
      return this.show();
    };
    return h("nav", { class: "pages-of-list", "aria-label": t("Pages of the list") },
      button([icon("back"), t("Previous")], () => go(this.cursors.slice(0, -1)), { class: "quiet", disabled: this.cursors.length < 2 }),
      h("span", { class: "quiet" }, t("{first} to {last}", { first: figure(first + 1), last: figure(first + this.rows.length) })),
      button([t("Next"), icon("forward")], () => go([...this.cursors, this.next]), { class: "quiet", disabled: !this.next }));
  }

  heading({ head, sort, look }) {
    if (!sort) return h("th", { scope: "col", class: look }, head);
    const way = { [sort]: "ascending", [`-${sort}`]: "descending" }[this.asked.sort];
    const next = this.asked.sort === sort ? `-${sort}` : sort;
    return h("th", { scope: "col", class: look, "aria-sort": way }, button(head, () => this.ask({ sort: next }), { class: "sort" }));
  }

  table() {
    const all = this.actions.length ? h("input", { type: "checkbox", "aria-label": t("Choose all rows of this page"), onchange: () => this.choose(this.rows, all.checked) }) : null;
    const lines = this.rows.map((row) => h("tr", {}, this.actions.length ? h("td", { class: "pick" }, this.box(row)) : null,
      this.columns.map(({ cell, look }) => h("td", { class: look, dir: look === "text" ? "auto" : null }, cell(row) ?? NONE))));
    this.all = all;
    return h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": this.label },
      h("table", { class: "list" }, h("thead", {}, h("tr", {}, all ? h("td", { class: "pick" }, all) : null, this.columns.map((one) => this.heading(one)))), h("tbody", {}, lines)));
  }

  box(row) {
    const box = h("input", { type: "checkbox", value: this.key(row), "aria-label": t("Choose {row}", { row: this.key(row) }), onchange: () => this.choose([row], box.checked) });
    box.checked = this.chosen.has(this.key(row));
    return box;
  }

  choose(rows, whether) {
    for (const row of rows) {
      if (whether) this.chosen.set(this.key(row), row);
      else this.chosen.delete(this.key(row));
    }
    this.tell();
  }

  bulk() {
    this.bar = h("div", { class: "bulk", role: "region", "aria-label": t("What to do with the chosen rows"), hidden: true });
    return this.actions.length ? this.bar : null;
  }

  // How many rows are chosen, and what can be done with them.
  tell() {
    const here = this.rows?.filter((row) => this.chosen.has(this.key(row))).length ?? 0;
    for (const box of this.results.querySelectorAll("tbody .pick input")) {
      box.checked = this.chosen.has(box.value);
      box.closest("tr").classList.toggle("is-chosen", box.checked);
    }
    if (this.all) Object.assign(this.all, { checked: here > 0 && here === this.rows.length, indeterminate: here > 0 && here < this.rows.length });
    this.bar.hidden = !this.chosen.size;
    if (this.bar.hidden) return;
    const run = (act) => act.run([...this.chosen.values()]);
    fill(this.bar, h("b", { role: "status" }, count(this.chosen.size, "{n} chosen", "{n} chosen")),
      this.actions.map((act) => button([icon(act.icon), act.label], () => run(act), { class: `quiet ${act.look ?? ""}` })),
      button(t("Choose none"), () => this.choose([...this.chosen.values()], false), { class: "quiet" }));
  }

  // After something was done with rows: they are read again, and none is chosen.
  async done() {
    this.chosen.clear();
    await this.show();
  }
}
