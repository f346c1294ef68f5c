// The rater's own hours by day, what was said about them, and a way to say that they are wrong.

import { idempotencyKey, insist, why } from "../shared/api.js";
import { $, fill, fresh, h } from "../shared/dom.js";
import { loadMessages, locale, t } from "../shared/messages.js";
import { duration } from "./duration.js";
import { sendForm } from "./sending.js";

const LONGEST = 4000;
const OFFSET = -new Date().getTimezoneOffset();

await loadMessages();

async function show() {
  const answer = await insist("GET", `/v1/me/hours?utc_offset=${OFFSET}`);
  if (!answer.ok) return fill($("#content"), h("p", {}, why(answer)));
  const { hours, entries } = answer.body;
  return fill(
    $("#content"),
    h("p", { class: "big" }, t("Paid time: {time}", { time: duration(hours.payable_seconds) })),
    h("p", { class: "quiet" }, rule()),
    days(hours.days),
    said(entries),
    disputeForm(),
  );
}

function rule() {
  return [
    t("Time is measured from your activity on the page. Reading counts:"),
    " ",
    t("a pause counts up to 30 seconds and 0.8 seconds for each word on the screen."),
  ];
}

function day(iso) {
  const style = { dateStyle: "medium", timeZone: "UTC" };
  return new Intl.DateTimeFormat(locale(), style).format(new Date(`${iso}T00:00:00Z`));
}

function days(found) {
  if (!found.length) return h("p", {}, t("Nothing is counted yet."));
  const head = [t("Day"), t("Measured"), t("Adjusted")].map((label) => h("th", { scope: "col" }, label));
  const rows = found.map(
    (one) => h(
      "tr",
      {},
      h("th", { scope: "row" }, day(one.day)),
      h("td", {}, duration(one.active_seconds)),
      h("td", {}, one.adjusted_seconds ? signed(one.adjusted_seconds) : "–"),
    ),
  );
  return h(
    "div",
    { class: "scroll", role: "region", tabindex: "0", "aria-label": t("Hours by day") },
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
  );
}

const signed = (seconds) => (seconds < 0 ? "−" : "+") + duration(Math.abs(seconds));

const KINDS = {
  adjustment: () => t("Adjusted by the manager"),
  dispute: () => t("You reported missing time"),
  refusal: () => t("Refused by the manager"),
};

function said(entries) {
  if (!entries.length) return null;
  const lines = entries.map(
    (one) => h(
      "li",
      {},
      h("b", {}, KINDS[one.kind]()),
      one.seconds ? ` (${signed(one.seconds)})` : "",
      `, ${day(one.at.slice(0, 10))}: `,
      h("span", { dir: "auto" }, one.reason),
      one.kind === "dispute" && !one.answered ? h("i", {}, " ", t("not answered yet")) : null,
    ),
  );
  return h("section", {}, h("h2", {}, t("Messages about your hours")), h("ul", {}, lines));
}

function disputeForm() {
  const [minutesId, reasonId] = [fresh("minutes"), fresh("reason")];
  const minutes = h(
    "input",
    { id: minutesId, name: "seconds", type: "number", min: "1", max: "10000", step: "1", required: true, inputmode: "numeric" },
  );
  const reason = h("textarea", { id: reasonId, name: "reason", rows: "3", maxlength: String(LONGEST), required: true });
  const note = h("p", { class: "said", role: "alert" });
  const form = h(
    "form",
    { class: "narrow-form" },
    h("label", { for: minutesId }, t("How many minutes are missing?")),
    minutes,
    h("label", { for: reasonId }, t("Why?")),
    reason,
    note,
    h("p", { class: "actions" }, h("button", { type: "submit" }, t("Send"))),
  );
  const key = idempotencyKey();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = { seconds: Math.round(Number(minutes.value) * 60), reason: reason.value.trim() };
    if (await sendForm(form, note, "/v1/me/hours/disputes", { body, key })) await show();
  });
  return h("section", { id: "dispute" }, h("h2", {}, t("Is something wrong?")), form);
}

await show();
