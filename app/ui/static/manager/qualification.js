// The test before the first task as a form; who passed it, and sparing somebody the test.

import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { ask } from "./asking.js";
import { Unfinished } from "./judging.js";
import { Items } from "./known.js";
import { api, change, fetched, figure, get, listed, moment, percent, resting, say, table } from "./parts.js";
import { Listing, reading } from "./reading.js";

const form = $("#test");
const said = $(".said", form);
const items = new Items($("#items"), form.dataset, (n) => t("Item {n}", { n }));
const takers = new Listing(`${api}/qualification/results`);

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

function waive(one) {
  ask(t("Spare {rater} the test", { rater: one.rater }), t("Reason"), t("Spare the test"), async (reason, wrong) => {
    const path = `${api}/raters/${encodeURIComponent(one.rater)}/qualification/waive`;
    if (!(await change("POST", path, { body: { reason }, said: wrong }))) return false;
    await results();
    return true;
  });
}

function outcome(one) {
  if (one.waived) return t("spared: {reason}", { reason: one.waived });
  return one.passed ? t("passed version {n}", { n: figure(one.version) }) : one.attempts ? t("not passed") : t("not tried");
}

const place = $("#results");
const results = reading(place, async () => {
  const found = items.items.length ? await takers.read() : [];
  fill(place, found.length ? table(t("Who passed"), [
    [t("Rater"), (one) => one.rater], [t("Team"), (one) => one.team], [t("Attempts"), (one) => figure(one.attempts), "right"],
    [t("Best"), (one) => percent(one.best), "right"], [t("Outcome"), outcome, "text"], [t("When"), (one) => moment(one.at)],
    [t("What to do"), (one) => (one.passed ? null : button(t("Spare the test …"), () => waive(one), { class: "quiet", "aria-label": t("Spare {rater} the test", { rater: one.rater }) }))],
  ], found) : h("p", {}, items.items.length ? t("Nobody is enrolled yet.") : t("There is no test yet, so raters get tasks right away.")), takers.rest(results),
  items.items.length ? fetched([[t("The test as JSON"), `${api}/qualification`], [t("Who passed, as JSON"), listed(takers.path)[1]]]) : null);
});

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
