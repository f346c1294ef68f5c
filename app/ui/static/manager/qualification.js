// The test before the first task as a form; who passed it, and sparing somebody the test.

import { $, button, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { ask } from "./asking.js";
import { Browse } from "./browse.js";
import { each } from "./each.js";
import { Unfinished } from "./judging.js";
import { Items } from "./known.js";
import { api, badge, brief, change, empty, figure, get, here, moment, percent, resting, say } from "./parts.js";
import { reading } from "./reading.js";
import { toast } from "./toast.js";

const form = $("#test");
const said = $(".said", form);
const items = new Items($("#items"), form.dataset, (n) => t("Item {n}", { n }));
const PASSED = "urn:plumbline:problem:passed-already";

function show(test) {
  $("#version").textContent = t("Version {n} of {when}", { n: figure(test.version), when: moment(test.at) });
  form.elements.pass_mark.value = test.pass_mark;
  form.elements.attempts.value = test.attempts ?? "";
  items.set(test.items);
}

async function save() {
  let body;
  try {
    const { pass_mark: mark, attempts } = form.elements;
    body = { items: items.values, pass_mark: Number(mark.value), attempts: attempts.value.trim() ? Number(attempts.value) : null };
  } catch (error) {
    if (!(error instanceof Unfinished)) throw error;
    say(said, error.message);
    return;
  }
  const answer = await change("PUT", `${api}/qualification`, { body, said });
  if (!answer) return;
  show(answer.body);
  await results();
}

const path = (one) => `${api}/raters/${encodeURIComponent(one.rater)}/qualification/waive`;

function waive(rows) {
  const title = rows.length === 1 ? t("Waive the test for {rater}", { rater: rows[0].rater }) : count(rows.length, "Waive the test for {n} rater", "Waive the test for {n} raters");
  ask(title, t("Reason"), t("Waive the test"), async (reason, wrong) => {
    const { done, before, left } = await each(rows, wrong, (one, refused) => change("POST", path(one), { body: { reason }, said: wrong, refused }), (answer) => answer.body?.type === PASSED);
    rows = left;
    if (done.length) toast(count(done.length, "The test is waived for {n} rater.", "The test is waived for {n} raters."));
    if (before.length) toast(count(before.length, "{n} rater had passed already.", "{n} raters had passed already."));
    await takers.done(left);
    return !left.length;
  });
}

function outcome(one) {
  if (one.waived) return t("waived");
  return one.passed ? t("passed version {n}", { n: figure(one.version) }) : one.attempts ? t("not passed") : t("not attempted");
}

const look = (one) => (one.passed ? "pass" : one.attempts ? "fail" : "none");
const place = $("#results");
const takers = new Browse(place, {
  label: t("Who passed"),
  path: `${api}/qualification/results`,
  key: (one) => one.rater,
  sort: "rater",
  search: t("Search by rater or team"),
  filters: [{ name: "passed", label: t("Outcome"), options: [["", t("all")], ["false", t("not passed")], ["true", t("passed or waived")]] }],
  columns: [
    { head: t("Rater"), sort: "rater", cell: (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.rater)}` }, one.rater) },
    { head: t("Team"), sort: "team", cell: (one) => one.team, look: "wide" },
    { head: t("Attempts"), sort: "attempts", cell: (one) => figure(one.attempts), look: "right" },
    { head: t("Best"), sort: "best", cell: (one) => percent(one.best), look: "right" },
    { head: t("Outcome"), cell: (one) => [badge(look(one), outcome(one)), one.waived && ` ${one.waived}`], look: "text" },
    { head: t("When"), sort: "at", cell: (one) => brief(one.at), look: "wide" },
    { head: t("What to do"), cell: (one) => (one.passed ? null : button(t("Waive the test …"), () => waive([one]), { class: "ghost", "aria-label": t("Waive the test for {rater}", { rater: one.rater }) })), look: "steps" },
  ],
  actions: [{ label: t("Waive the test …"), icon: "skipped", run: waive }],
  choosable: (one) => !one.passed,
  links: (query) => [[t("Test as JSON"), `${api}/qualification`], [t("Results as JSON"), `${takers.path}?${new URLSearchParams([...query, ["limit", "200"]])}`]],
  nothing: { icon: "people", title: t("Nobody is enrolled yet."), text: t("Each enrolled rater is listed here with attempts and outcome.") },
});

// Without a test nobody can have passed.
let opened = false;
async function results() {
  if (!items.items.length) {
    fill(place, empty({ icon: "check", title: t("There is no test yet."), text: t("Raters get tasks right away.") }));
    return;
  }
  await (opened ? takers.show() : takers.open());
  opened = true;
}

for (const add of form.querySelectorAll("[data-add]")) add.addEventListener("click", () => items.add(add.dataset.add, {}, { focus: true }));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", form), save);
});
const send = $("button[type=submit]", form);
send.disabled = true; // until it is seen what a new version takes the place of
await reading($("#items"), async () => {
  const now = await get(`${api}/qualification`, { absent: null });
  if (now) show(now);
  else items.set([]);
  send.disabled = false;
  await results();
})();
place.removeAttribute("aria-busy"); // where it is not known what the test is, neither is who passed
