// The settings of a campaign, changed by who saw the latest of them; and the pace that the deadline asks for.

import { call, Unreachable } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { absolute, localTime } from "./asking.js";
import { fact } from "./deadline.js";
import { offerLanguages } from "./languages.js";
import { api, facts, figure, get, moment, NONE, Refused, resting, say, tell, told } from "./parts.js";
import { reading } from "./reading.js";

const form = $("#settings");
const said = $(".said", form);
const OWN = ["deadline", "notes"];
const OF_THE_SERVICE = ["created_by"];
const OF_A_DRAFT = ["series", "source_language", "target_language"];
offerLanguages(form);
let seen = null; // {body, etag}

function show({ body, etag }) {
  seen = { body, etag };
  const { settings } = body;
  form.elements.name.value = body.name;
  form.elements.deadline.value = localTime(settings.deadline);
  form.elements.notes.value = settings.notes ?? "";
  for (const name of OF_A_DRAFT) {
    form.elements[name].value = body[name] ?? "";
    form.elements[name].disabled = body.state !== "draft";
  }
  const rest = Object.entries(settings).filter(([name]) => ![...OWN, ...OF_THE_SERVICE].includes(name));
  form.elements.rest.value = JSON.stringify(Object.fromEntries(rest), null, 2);
}

function changed() {
  const settings = JSON.parse(form.elements.rest.value || "{}");
  if (form.elements.deadline.value) settings.deadline = absolute(form.elements.deadline.value);
  if (form.elements.notes.value.trim()) settings.notes = form.elements.notes.value.trim();
  const body = { name: form.elements.name.value.trim() || null, settings };
  if (seen.body.state === "draft") for (const name of OF_A_DRAFT) body[name] = form.elements[name].value.trim() || null;
  return body;
}

async function save() {
  $("#saved").textContent = "";
  let body;
  try {
    body = changed();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    say(said, t("The settings are not valid JSON: {why}", { why: error.message }));
    return;
  }
  const answer = await patch(body);
  if (!answer) return;
  show(answer);
  $("#saved").textContent = t("Saved.");
  await pace();
}

// → the answer, or null after saying what went wrong; what somebody else changed meanwhile is not overwritten.
async function patch(body) {
  say(said, "");
  let answer;
  try {
    answer = await call("PATCH", api, { body, headers: { "If-Match": seen.etag } });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    say(said, t("The server cannot be reached. Try again in a moment."));
    return null;
  }
  if (answer.ok) return answer;
  if (answer.status === 412) say(said, t("Somebody else has changed these settings. Reload the page to see them."));
  else tell(said, told(answer));
  return null;
}

// What is left, in the days that are left, beside what raters did so far.
const place = $("#pace");
const pace = reading(place, async () => {
  const { deadline, pace: now, forecast } = await get(`${api}/progress`);
  if (deadline) {
    fill(place, h("h2", {}, t("Against the deadline")), facts([
      fact(deadline), [t("Days left"), figure(deadline.days_left, 1)], [t("Tasks left"), figure(deadline.tasks_left)],
      [t("Pace"), now.tasks_a_day === null ? NONE : t("{n} tasks a day", { n: figure(now.tasks_a_day, 1) })],
      [t("End, if raters go on so"), forecast ? moment(forecast.median) : NONE],
    ]));
  } else fill(place);
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", form), save);
});
const send = $("button", form);
send.disabled = true; // until it is seen what is changed
await reading(place, async () => {
  const now = await call("GET", api);
  if (!now.ok) throw new Refused(told(now));
  show(now);
  send.disabled = false;
  await pace();
})();
