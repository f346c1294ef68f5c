// A list that the server searches, filters and sorts, a hundred rows at a time. The address keeps what is asked, so that
// it can be sent to somebody; rows that are chosen stay chosen from page to page.

import { announce, button, fill, fresh, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { copyButton, tableText } from "./copying.js";
import { empty, figure, get, icon, labelled, NONE } from "./parts.js";
import { reading } from "./reading.js";

const ROWS = 100;
const PAUSE = 250; // milliseconds after the last key, before the list is searched
const LOOKS = 1000; // milliseconds for further looks until a page is full, where the server looks through much

// label: of the table. path: of the list. key: of a row, for the choice; called: the row in words. columns: {head, cell, look, sort, sparse}: a
// sparse one is left out while no row of the page has anything in it. filters:
// {name, label, options: [value, text], value, send}: a select, or a field where there are no options; value is the
// usual one, and send says what the server is asked for a value. actions: {label, icon, look, run(rows)}; choosable:
// whether a row can be chosen. nothing: {title, text}, where there are no rows at all. prepare: reads what filters
// offer. drawn: hears when rows are shown. links: where what is shown is fetched, from the query. name: of the list, where a page has several.
export class Browse {
  constructor(place, { label, path, key, called = key, columns, filters = [], actions = [], choosable = () => true, sort = "key", search = null, nothing, prepare = () => {}, drawn = () => {}, links = null, name = "" }) {
    Object.assign(this, { place, label, path, key, called, columns, filters, actions, choosable, search, nothing, prepare, drawn, links, name });
    this.sorts = columns.some((one) => one.sort);
    this.usual = this.sorts ? { sort } : {};
    this.chosen = new Map();
    this.pages = [{ cursor: null, first: 0 }]; // where the pages up to this one begin
    this.main = h("div");
    this.pager = h("nav", { class: "pages-of-list", "aria-label": t("Pages of the list"), hidden: true });
    this.files = h("p", { class: "fetch list-files", role: "group", "aria-label": t("Files of {list}", { list: label }) });
    this.results = h("div", { class: "results" });
    this.show = reading(this.results, () => this.read());
  }

  // Draw the tools once, so that the focus stays where somebody types, and read the first page.
  open() {
    return reading(this.place, async () => {
      await this.prepare();
      if (this.search) this.usual.q = "";
      for (const { name, value = "" } of this.filters) this.usual[name] = value;
      const given = new URLSearchParams(location.search);
      this.asked = Object.fromEntries(Object.entries(this.usual).map(([name, value]) => [name, given.get(this.inAddress(name)) ?? value]));
      const [tools, bulk] = [this.tools(), this.bulk()];
      await this.read();
      fill(this.place, tools, this.results, bulk);
    })();
  }

  inAddress(name) {
    return this.name ? `${this.name}-${name}` : name;
  }

  tools() {
    this.toolbar = h("div", { class: "list-tools", role: "search", "aria-label": this.label }, this.search && this.searchField(), this.filters.map((one) => this.filter(one)));
    return this.toolbar;
  }

  searchField() {
    const id = fresh("search");
    const field = h("input", { id, type: "search", value: this.asked.q, placeholder: this.search, maxlength: "200", autocomplete: "off", spellcheck: "false" });
    this.asksFor(field, "q");
    return h("div", { class: "search" }, icon("search"), h("label", { for: id, class: "hidden" }, this.search), field);
  }

  asksFor(field, name) {
    let waiting = null;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.ask({ [name]: field.value.trim() }), PAUSE);
    });
  }

  filter({ name, label, options, ...props }) {
    const field = options ? h("select", {}, options.map(([value, text]) => h("option", { value }, text))) : h("input", { maxlength: "200", autocomplete: "off", spellcheck: "false", inputmode: props.inputmode });
    field.name = name;
    field.value = this.asked[name];
    if (options) field.addEventListener("change", () => (props.chosen ? props.chosen(field.value) : this.ask({ [name]: field.value })));
    else this.asksFor(field, name);
    return h("label", { class: "filter" }, h("span", {}, label), field);
  }

  // Ask for something else: from the first page on.
  ask(values) {
    Object.assign(this.asked, values);
    this.pages = [{ cursor: null, first: 0 }];
    const shown = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(this.asked)) {
      if (value === this.usual[name]) shown.delete(this.inAddress(name));
      else shown.set(this.inAddress(name), value);
    }
    history.replaceState(null, "", `${location.pathname}${shown.size ? `?${shown}` : ""}`);
    return this.show();
  }

  get filtered() {
    return Object.entries(this.asked).some(([name, value]) => name !== "sort" && value !== this.usual[name]);
  }

  // Whether there is nothing, whatever is asked for.
  get hasNothing() {
    return !this.rows.length && !this.next && this.pages.length === 1 && Object.entries(this.asked).every(([name, value]) => name === "sort" || value === "");
  }

  get query() {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(this.asked)) {
      const send = this.filters.find((one) => one.name === name)?.send ?? (() => [[name, value]]);
      if (value) for (const [key, sent] of send(value)) query.append(key, sent);
    }
    return query;
  }

  address(cursor, limit) {
    const query = this.query;
    query.set("limit", String(limit));
    if (cursor) query.set("cursor", cursor);
    return `${this.path}${this.path.includes("?") ? "&" : "?"}${query}`;
  }

  // ended: whether what came after this page is known to be nothing.
  async read(ended = false) {
    const asked = JSON.stringify([this.asked, this.pages]);
    const rows = [];
    let { cursor } = this.pages.at(-1);
    const end = performance.now() + LOOKS;
    do {
      const page = await get(this.address(cursor, ROWS - rows.length));
      rows.push(...page.items);
      cursor = page.next;
    } while (cursor && rows.length < ROWS && performance.now() < end);
    if (asked !== JSON.stringify([this.asked, this.pages])) return; // something else is asked meanwhile
    const { first } = this.pages.at(-1);
    if (!rows.length && !cursor && first) { // what was on this page is not so any more: back to the last that had rows
      this.pages = this.pages.filter((page) => page.first < first);
      await this.read(true);
      return;
    }
    Object.assign(this, { rows, next: ended ? null : cursor });
    this.draw();
    this.drawn();
  }

  // What stays as it was is left alone, so that the focus stays in it.
  draw() {
    if (this.main.parentNode !== this.results) fill(this.results, this.main, this.pager, this.files);
    if (this.rows.length) this.drawTable();
    else fill(this.main, this.without());
    this.toolbar.hidden = this.hasNothing; // there is nothing to search in
    this.drawPager();
    this.drawFiles();
    this.tell();
    if (this.filtered) announce(count(this.rows.length, "{n} row", "{n} rows"));
  }

  // What stands in place of rows: the server looks further, or nothing is so, or there is nothing at all.
  without() {
    if (this.next) return empty({ icon: "search", title: t("None so far."), text: t("There is more to search."), action: button(t("Search further"), () => this.forth(), { class: "quiet" }) });
    if (!this.filtered && this.pages.length === 1) return empty(this.nothing);
    const clear = this.filtered ? button(t("Clear the search and filters"), () => this.clear(), { class: "quiet" }) : null;
    return empty({ icon: "search", title: t("Nothing matches."), text: t("Try other words, or fewer filters."), action: clear });
  }

  clear() {
    for (const field of this.place.querySelectorAll(".list-tools input, .list-tools select")) field.value = this.usual[field.name || "q"];
    const { sort: _, ...usual } = this.usual;
    return this.ask(usual);
  }

  // What is shown, to take away: the rows of this page by the clipboard, all that is asked for as files.
  drawFiles() {
    const links = this.links?.(this.query) ?? [["JSON", this.address(null, 200)]];
    this.copy ??= copyButton(t("Copy as TSV"), () => tableText(this.body.closest("table")));
    fill(this.files, this.rows.length ? this.copy : null, icon("download"), links.map(([name, href]) => h("a", { href }, name)));
  }

  drawPager() {
    const { first } = this.pages.at(-1);
    this.pager.hidden = !this.rows.length || (this.pages.length === 1 && !this.next);
    if (this.pager.hidden) return;
    fill(this.pager,
      button([icon("back"), t("Previous")], () => this.go(this.pages.slice(0, -1)), { class: "quiet", disabled: this.pages.length < 2 }),
      h("span", { class: "quiet" }, t("{first} to {last}", { first: figure(first + 1), last: figure(first + this.rows.length) })),
      button([t("Next"), icon("forward")], () => this.forth(), { class: "quiet", disabled: !this.next }));
  }

  forth() {
    return this.go([...this.pages, { cursor: this.next, first: this.pages.at(-1).first + this.rows.length }]);
  }

  async go(pages) {
    this.pages = pages;
    this.place.scrollIntoView({ block: "start", behavior: "instant" });
    await this.show();
    this.region?.focus({ preventScroll: true }); // the button that was pressed is another now
  }

  drawTable() {
    if (!this.region?.isConnected || this.region.parentNode !== this.main) fill(this.main, this.frame());
    for (const { head, sort } of this.heads.filter((one) => one.sort)) {
      const way = { [sort]: "ascending", [`-${sort}`]: "descending" }[this.asked.sort];
      if (way) head.setAttribute("aria-sort", way);
      else head.removeAttribute("aria-sort");
    }
    const lines = this.rows.map((row) => this.line(row));
    this.lines = new Map(this.rows.map((row, n) => [this.key(row), lines[n]]));
    for (const [n, { sparse }] of this.columns.entries()) {
      if (!sparse) continue;
      const at = n + (this.all ? 1 : 0);
      const nothing = this.rows.every((row) => !this.columns[n].cell(row));
      for (const line of [this.heads[n].head.parentNode, ...lines]) line.cells[at].hidden = nothing;
    }
    if (lines.length !== this.body.children.length || lines.some((line, n) => line !== this.body.children[n])) fill(this.body, lines);
  }

  frame() {
    this.all = this.actions.length ? h("input", { type: "checkbox", "aria-label": t("Choose all rows of this page"), onchange: () => this.choose(this.rows.filter(this.choosable), this.all.checked) }) : null;
    this.heads = this.columns.map(({ head, sort, look }) => {
      const go = () => this.ask({ sort: this.asked.sort === sort ? `-${sort}` : sort });
      return { sort, head: h("th", { scope: "col", class: look }, sort ? button(head, go, { class: "sort" }) : head) };
    });
    this.lines = new Map();
    this.body = h("tbody");
    const table = h("table", { class: "list" }, h("thead", {}, h("tr", {}, this.all ? h("td", { class: "pick" }, this.all) : null, this.heads.map((one) => one.head))), this.body);
    table.classList.toggle("cards", this.heads.length > 3);
    this.region = h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": this.label }, table);
    return this.region;
  }

  // The line of a row that was shown before stays, and in it each cell that is as before.
  line(row) {
    const cells = this.columns.map(({ head, cell, look }) => h("td", { class: look, dir: look === "text" ? "auto" : null, data: labelled(head) }, cell(row) ?? NONE));
    if (this.actions.length) cells.unshift(h("td", { class: "pick" }, this.choosable(row) ? this.box(row) : null));
    const before = this.lines.get(this.key(row));
    if (!before) return h("tr", {}, cells);
    for (const [n, cell] of cells.entries()) if (!before.cells[n].isEqualNode(cell)) before.cells[n].replaceWith(cell);
    return before;
  }

  box(row) {
    const box = h("input", { type: "checkbox", value: this.key(row), "aria-label": t("Choose {row}", { row: this.called(row) }), onchange: () => this.choose([row], box.checked) });
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
    const [can, here] = [this.rows?.filter(this.choosable).length ?? 0, this.rows?.filter((row) => this.chosen.has(this.key(row))).length ?? 0];
    for (const box of this.results.querySelectorAll("tbody .pick input")) {
      box.checked = this.chosen.has(box.value);
      box.closest("tr").classList.toggle("is-chosen", box.checked);
    }
    if (this.all) Object.assign(this.all, { checked: here > 0 && here === can, indeterminate: here > 0 && here < can });
    this.bar.hidden = !this.chosen.size;
    if (this.bar.hidden) return;
    const run = (act) => act.run([...this.chosen.values()]);
    fill(this.bar, h("b", { role: "status" }, count(this.chosen.size, "{n} chosen", "{n} chosen")),
      this.actions.map((act) => button([icon(act.icon), act.label], () => run(act), { class: `quiet ${act.look ?? ""}` })),
      button(t("Choose none"), () => this.choose([...this.chosen.values()], false), { class: "quiet" }));
  }

  // After something was done with rows: they are read again, and none is chosen but those that are left to do.
  async done(left = []) {
    this.chosen = new Map(left.map((row) => [this.key(row), row]));
    await this.show();
  }
}
