// A design, in fields and as JSON, which counts; the report on its plan before it is frozen; the plan in force.

import { $, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { api, change, decimal, facts, fetched, figure, foreign, get, here, inHand, NONE, numeral, percent, refuseField, resting, say, table, warned, written } from "./parts.js";
import { shaded } from "./shades.js";
import { reading } from "./reading.js";
import { settled } from "./waiting.js";

const form = $("#design");
const running = !["draft", "planned"].includes(form.dataset.state); // its plan is changed by a replan
const said = $(".said", form);
const json = $("#json");
const place = $("#plan");
const LONG = 300_000; // milliseconds
const FIELDS = "[data-place]:not(#json)";

// Put a value where a dotted path leads; an empty one takes away what it stood in.
function put(design, path, value) {
  const [name, ...rest] = path.split(".");
  if (!rest.length) {
    if (value === null) delete design[name];
    else design[name] = value;
    return;
  }
  if (value === null && !design[name]) return;
  design[name] = design[name] ?? {};
  put(design[name], rest.join("."), value);
  if (!Object.keys(design[name]).length) delete design[name];
}

// What stands where a dotted path leads.
const at = (design, path) => path.split(".").reduce((part, name) => part?.[name], design);

// The fields show what the design says; a structure fixes the grouping, so that cannot be chosen beside it.
function toFields() {
  const design = JSON.parse(json.value);
  for (const field of form.querySelectorAll(FIELDS)) {
    const value = at(design, field.dataset.place);
    field.value = typeof value === "number" && field.tagName === "INPUT" ? written(value) : value ?? "";
  }
  const fixed = design.structure && design.structure !== "free";
  form.querySelector("[data-place=grouping]").disabled = Boolean(fixed);
}

function fromFields() {
  let design;
  try {
    design = JSON.parse(json.value);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    refuseField(form, "", t("The design is not valid JSON: {why}", { why: error.message }));
    return;
  }
  for (const field of form.querySelectorAll(`:is(${FIELDS}):enabled`)) {
    const given = field.value.trim();
    const value = given === "" ? null : "number" in field.dataset ? numeral(given) : given;
    put(design, field.dataset.place, Number.isNaN(value) ? given : value);
  }
  if (design.overlap && !("share" in design.overlap)) design.overlap = null;
  json.value = JSON.stringify(design, null, 2);
}

// JSON that cannot be read stays as it is, and is told of when it is sent.
function tryFields() {
  try {
    toFields();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
}

async function compile(dryRun) {
  let body;
  try {
    body = JSON.parse(json.value);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    refuseField(form, "", t("The design is not valid JSON: {why}", { why: error.message }));
    return;
  }
  const answer = await settled(() => change("POST", `${api}/plan?dry_run=${dryRun}`, { body, said, timeout: LONG }), { place, said });
  if (answer) draw(answer.body);
}

function together(report) {
  return [
    h("h3", {}, t("Items of each system by rater")), shaded(t("Items of each system by rater"), t("Rater"), report.rater_system),
    h("h3", {}, t("Tasks that contain both systems")), shaded(t("Tasks that contain both systems"), t("System"), report.system_system),
  ];
}

// How many control items of each kind stand in each tenth of their tasks; a plan of an earlier release does not say.
function places(found) {
  const kinds = { degraded: t("degraded items"), repeat: t("repeats"), reference: t("references") };
  const tenths = (counts) => Object.fromEntries(counts.map((n, i) => [`${figure(10 * i)}–${figure(10 * i + 10)} %`, n]));
  const rows = Object.entries(found ?? {}).map(([kind, counts]) => [kinds[kind], tenths(counts)]);
  if (!rows.length) return null;
  const title = t("Control items in each tenth of their tasks");
  return [h("h3", {}, title), shaded(title, t("Kind"), Object.fromEntries(rows))];
}

const FEW = 1; // significant pairs of a study

function ahead({ forecast, srp }) {
  return [
    [t("Smallest detectable difference"), forecast.detectable === null ? NONE : figure(forecast.detectable, 2), forecast.detectable === null ? foreign(forecast.reason) : t("with 80 % power")],
    [t("Forecast SRP"), srp.value === null ? NONE : figure(srp.value, 2), srp.value === null ? foreign(srp.reason)
      : [t("{n} of {total} pairs significant", { n: figure(srp.mean_significant_pairs, 1), total: figure(srp.pairs) }),
        srp.mean_significant_pairs < FEW ? `. ${t("Studies that claim almost nothing hardly contradict each other: a high SRP says little here. Plan more documents or raters.")}` : null]],
  ];
}

function draw(plan) {
  const { report, version } = plan;
  const frozen = version !== null;
  fill(place,
    h("h2", {}, frozen ? t("Plan {version}, frozen", { version }) : t("Preview of the plan")),
    plan.stale?.length ? h("p", { class: "note" }, `${t("Since it was compiled:")} `, foreign(`${plan.stale.join("; ")}.`)) : null,
    facts([
      [t("Tasks"), figure(report.total.tasks)], [t("Items"), figure(report.total.items)], [t("Segments"), figure(report.total.segments)],
      [t("Hours"), figure(report.total.hours, 1), t("expected, over all raters")],
      [t("Balance"), figure(report.balance.normalized_entropy, 3), t("normalized entropy")],
      [t("Controls"), report.controls ? percent(report.controls.mean_share) : t("none"), report.controls ? t("at least {share} of a task", { share: percent(report.controls.least_share) }) : null],
      [t("Systems in one task"), percent(report.least_together), t("for the pair that meets least often")],
      ...ahead(report),
    ]),
    report.unmet.map((one) => h("p", { class: "note" }, `${t("Not met:")} `, foreign(`${one.what}: ${one.why}`))),
    warned(report.notes),
    frozen ? h("div", { class: "scroll picture", role: "region", tabindex: "0", "aria-label": t("Picture of the plan") },
      h("img", { src: `${api}/plan.svg`, alt: t("Work by rater, and how often each rater judges each system") })) : null,
    h("h3", {}, t("Load")),
    table(t("Load of each rater"), [
      [t("Rater"), (one) => one.rater], [t("Tasks"), (one) => figure(one.tasks), "right"], [t("Groups"), (one) => figure(one.groups), "right"],
      [t("Items"), (one) => figure(one.items), "right"], [t("Segments"), (one) => figure(one.segments), "right"],
      [t("Words"), (one) => figure(one.words), "right"], [t("Hours"), (one) => decimal(one.hours, 1), "right"],
    ], report.raters),
    places(report.controls?.places),
    together(report),
    report.recommendations.length ? [h("h3", {}, t("Recommendations that this design does not follow")), table(t("Recommendations that this design does not follow"), [
      [t("Recommendation"), (one) => foreign(one.recommendation), "text"], [t("Instead"), (one) => foreign(one.instead), "text"], [t("Cost"), (one) => foreign(one.cost), "text"],
    ], report.recommendations)] : null,
    h("p", { class: "words" }, t("Seed {seed}, {hash}, data version {version}.", { seed: plan.seed, hash: plan.hash, version: figure(plan.data_version) })),
    frozen ? fetched([["JSON", `${api}/plan`], ["SVG", `${api}/plan.svg`]]) : inHand(plan, "plan"),
    frozen && !running ? h("p", { class: "actions" }, h("a", { class: "button", href: `${here}/overview` }, t("Continue: open the campaign"))) : null,
  );
}

toFields();
form.addEventListener("change", (event) => {
  say(said, "");
  if (event.target !== json) fromFields();
  else tryFields();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running) resting($("button[type=submit]", form), () => compile(false));
});
$("[data-look]", form).addEventListener("click", (event) => resting(event.currentTarget, () => compile(true)));

await reading(place, async () => {
  const now = await get(`${api}/plan`, { absent: null });
  if (now && Object.keys(now.report).length) draw(now);
  else fill(place, h("p", {}, t("There is no plan yet. Preview one before you freeze it; a preview costs nothing.")));
})();
