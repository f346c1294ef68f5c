// Quality of the raters' work: verdicts with their evidence; an exclusion, after a look at what it would do, with a reason.

import { $, button, dialog, fill, fresh, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { beforeAndAfter } from "./before_after.js";
import { all, api, badge, change, decimal, figure, filledColumns, foreign, get, here, main, moment, NONE, percent, resting, table, warned } from "./parts.js";
import { reading } from "./reading.js";
import { outcome } from "./waiting.js";

const place = $("#quality");
const manages = main.dataset.role !== "coordinator";
const VERDICTS = { pass: t("passed"), fail: t("failed"), not_testable: t("not testable") };
const NOUNS = { rater: t("rater"), task: t("task"), document: t("document"), system: t("system") };
const COMPARED = {
  calibration: (n) => count(n, "{n} calibration item", "{n} calibration items"),
  panel: (n) => count(n, "{n} shared item", "{n} shared items"),
  consensus: (n) => count(n, "{n} item, consensus", "{n} items, consensus"),
};
const LONG = 120_000; // milliseconds
const EVERY = 1000; // milliseconds

const chance = (p) => (p !== null && p !== undefined && p < 0.0001 ? `<${figure(0.0001, 4)}` : figure(p, 4)); // never 0

const signed = (value) => figure(value, 2);

// A figure, and below it in small what it is to be read with.
const over = (value, beside) => [value, h("small", { class: "beside" }, beside)];

const verdict = (one) => badge(one.verdict, VERDICTS[one.verdict] ?? one.verdict);

function verdicts(found) {
  return table(t("Verdicts of your team"), [
    [t("Rater"), (one) => one.rater], [t("Judgments"), (one) => figure(one.n_judgments), "right"],
    [t("Verdict"), verdict], [t("Why"), (one) => foreign(one.why), "text"], [t("Checks that failed"), (one) => (one.beyond.length ? foreign(one.beyond.join(", ")) : NONE)],
  ], found);
}

function evidence(found, standing) {
  return table(t("Quality of each rater's work"), filledColumns([
    [t("Rater"), (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.rater)}` }, one.rater)], [t("Judgments"), (one) => figure(one.n_judgments), "right"],
    [t("Verdict"), verdict],
    [t("What to do"), (one) => (standing.has(one.rater) ? t("excluded") : button(t("Exclude …"), () => exclude("rater", one.rater), { class: "quiet", "aria-label": t("Exclude {rater}", { rater: one.rater }) }))],
    [t("Controls"), (one) => (one.control ? over(count(one.control.n_pairs, "{n} pair", "{n} pairs"), t("q {q}", { q: chance(one.control.q_value) })) : NONE)],
    [t("Scored worse"), (one) => percent(one.control?.share_worse), "right"],
    [t("Repeats"), (one) => (one.repeats ? over(figure(one.repeats.n), t("{share} alike", { share: percent(one.repeats.within) })) : NONE)],
    [t("Offset"), (one) => (one.panel ? over(signed(one.panel.offset), COMPARED[one.panel.basis](one.panel.n_items)) : NONE)],
    [t("Pace"), (one) => (one.speed ? over(t("{seconds} s", { seconds: figure(one.speed.seconds, 1) }), t("{ratio} × median", { ratio: figure(one.speed.ratio, 2) })) : NONE)],
    [t("Longest run"), (one) => over(figure(one.habits.longest_run), t("expected {expected}", { expected: figure(one.habits.expected_run, 1) }))],
    [t("Flags"), (one) => flagged(one), "text"],
  ], found), found);
}

function copied(found) {
  if (!found.length) return null;
  return [h("h2", {}, t("Raters with suspiciously similar answers")), table(t("Raters with suspiciously similar answers"), [
    [t("Raters"), (one) => one.raters.join(" / ")], [t("Outputs that both judged"), (one) => figure(one.n), "right"], [t("Equal scores"), (one) => percent(one.equal), "right"],
    [t("Distance (chance is 1)"), (one) => decimal(one.distance, 2), "right"], [t("Usual distance"), (one) => decimal(one.usual, 2), "right"], [t("q"), (one) => figure(one.q_value, 4), "right"],
  ], found)];
}

function flagged(one) {
  const texts = [one.why, ...one.flags].filter(Boolean);
  return texts.length ? foreign(texts.join("; ")) : NONE;
}

function effect(body) {
  return [
    h("p", {}, `${t("{before} ratings before, {after} after.", { before: figure(body.n_ratings_before), after: figure(body.n_ratings_after) })} `,
      h("b", {}, body.order_changed ? t("The order of the systems changes.") : t("The order of the systems does not change.")),
      ` ${body.pairs.length ? count(body.pairs.length, "{n} pair changes.", "{n} pairs change.") : t("No pair changes.")}`),
    warned(body.warnings),
    beforeAndAfter(body.systems),
    body.pairs.length ? table(t("Pairs that change"), [[t("Pair"), (one) => one.pair.join(" / ")], [t("What changes"), (one) => foreign(one.change)]], body.pairs) : null,
  ];
}

// Nothing can be excluded before its preview was seen.
function exclude(what, key) {
  const [recipeId, reasonId] = [fresh("recipe"), fresh("reason")];
  const recipe = h("select", { id: recipeId }, place.dataset.recipes.split(",").map((name) => h("option", {}, name)));
  recipe.value = "recommended";
  const reason = h("textarea", { id: reasonId, name: "reason", rows: "3", maxlength: "2000", required: true });
  const wrong = h("p", { class: "said", role: "alert" });
  const shown = h("div", { role: "status" });
  const done = h("button", { type: "submit", class: "danger", disabled: true }, t("Exclude"));
  const preview = button(t("Preview the effect"), () => resting(preview, look), { class: "quiet" });
  const form = h("form", { class: "field" }, h("label", { for: reasonId }, t("Reason")), reason, h("label", { for: recipeId }, t("Ranking by")), recipe,
    wrong, h("p", { class: "actions", data: { answers: "" } }, preview, done), shown);
  const box = dialog(t("Exclude {rater}", { rater: key }), form, { closeLabel: t("Back"), wide: true });
  const ask = (query) => change("POST", `${api}/exclusions${query}`, { body: { [what]: key, reason: reason.value.trim() }, said: wrong, timeout: LONG });

  async function look() {
    if (!form.reportValidity()) return;
    const answer = await ask(`?${new URLSearchParams({ dry_run: true, recipe: recipe.value })}`);
    const waits = () => box.open; // who closes it asks nothing more
    const body = await outcome(answer, { place: shown, said: wrong, waits });
    if (!body || !waits()) return;
    fill(shown, effect(body));
    done.disabled = false;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (done.disabled) return;
    resting(done, async () => {
      if (!(await ask(""))) return;
      box.close();
      await show();
    });
  });
}

function exclusions(found) {
  if (!found.length) return null;
  return [h("h2", {}, t("Exclusions")), table(t("Exclusions"), [
    [t("What"), (one) => `${NOUNS[one.what] ?? one.what} ${one.key}`], [t("Reason"), (one) => one.reason, "text"], [t("Since"), (one) => moment(one.at)],
    [t("Lifted"), (one) => (one.lifted ? `${moment(one.lifted.at)}: ${one.lifted.reason}` : button(t("Lift …"), () => lift(one), { class: "quiet", "aria-label": t("Lift the exclusion of {rater}", { rater: one.key }) })), "text"],
  ], found)];
}

function lift(one) {
  const id = fresh("reason");
  const reason = h("textarea", { id, name: "reason", rows: "3", maxlength: "2000", required: true });
  const wrong = h("p", { class: "said", role: "alert" });
  const form = h("form", { class: "field" }, h("label", { for: id }, t("Why it no longer holds")), reason, wrong, h("p", { class: "actions" }, h("button", { type: "submit" }, t("Lift"))));
  const box = dialog(t("Lift the exclusion of {rater}", { rater: one.key }), form, { closeLabel: t("Back") });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const query = new URLSearchParams({ reason: reason.value.trim() });
    if (!(await change("DELETE", `${api}/exclusions/${one.exclusion}?${query}`, { said: wrong }))) return;
    box.close();
    await show();
  });
}

const SHAPES = [["CSV", ".csv"], ["LaTeX", ".tex"], ["Markdown", ".md"], ["SVG", ".svg"], ["JSON", ""]];

function fetched(name, alt) {
  const at = `${api}/reports/${name}`;
  return [
    h("p", { class: "fetch" }, t("Fetch:"), SHAPES.map(([label, end]) => h("a", { href: at + end }, label))),
    h("div", { class: "scroll picture", role: "region", tabindex: "0", "aria-label": alt }, h("img", { src: `${at}.svg`, alt, loading: "lazy" })),
  ];
}

function timing() {
  return [
    h("h2", {}, t("Judging times")), fetched("timing", t("Time of judging by rater")),
    h("h2", {}, t("Revised answers")), fetched("revisions", t("Revised answers, by rater")),
  ];
}

// A long report is made by a job, of which a coordinator sees nothing: whoever waits asks for the report again.
async function report() {
  for (;;) {
    const answer = await get(`${api}/reports/quality`, { timeout: LONG });
    if (!("job" in answer)) return answer;
    fill(place, h("p", { class: "note" }, t("The report is being computed and appears here when it is ready.")));
    await new Promise((again) => setTimeout(again, EVERY));
  }
}

const show = reading(place, async () => {
  const { raters, warnings, alike } = await report();
  if (!raters.length) fill(place, h("p", {}, t("Nobody has judged yet.")));
  else if (!manages) fill(place, verdicts(raters));
  else {
    const made = await all(`${api}/exclusions`);
    const standing = new Set(made.filter((one) => one.what === "rater" && !one.lifted).map((one) => one.key));
    fill(place, warned(warnings), evidence(raters, standing), copied(alike), fetched("quality", t("Control items by rater")), exclusions(made), timing());
  }
});

await show();
