// Invitations by count: made, with a link that is shown once; looked at and ended; and codes of completion, to pay by.

import { call, Unreachable } from "../shared/api.js";
import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { absolute } from "./asking.js";
import { copyButton } from "./copying.js";
import { all, api, change, empty, figure, moment, numeral, Refused, resting, say, sure, table, tell, told, written } from "./parts.js";
import { Listing, reading } from "./reading.js";

const form = $("#invite");
const said = $("#said");
const made = new Listing(`${api}/invitations`);
const handedIn = new Listing(`${api}/completions`);

async function make() {
  const { count, platform, team, completion_url: address, expires_at: end, per_hour: rate, signed } = form.elements;
  const body = { count: Number(count.value) };
  if (platform.value) body.platform = platform.value;
  if (team.value) body.team = team.value;
  if (address.value.trim()) body.completion_url = address.value.trim();
  if (end.value) body.expires_at = absolute(end.value);
  if (rate.value) body.per_hour = Number(rate.value);
  if (signed.checked) body.signed = true;
  const answer = await change("POST", `${api}/invitations`, { body, said: $(".said", form) });
  if (!answer) return;
  const key = answer.body.signing_key;
  fill($("#made"), h("p", {}, t("The link for the platform, shown this once:")), h("p", { class: "secret" }, answer.body.link),
    h("p", { class: "actions" }, copyButton(t("Copy the link"), () => answer.body.link)),
    ...(key ? [h("p", {}, t("The key by which the platform signs its ids, shown this once:")), h("p", { class: "secret" }, key), h("p", { class: "actions" }, copyButton(t("Copy the key"), () => key))] : []));
  form.reset();
  await show();
}

function state(one) {
  if (one.revoked_at) return t("ended {when}", { when: moment(one.revoked_at) });
  return one.live ? t("open") : t("expired");
}

function end(one) {
  if (!one.live) return null;
  const then = async () => {
    if (await change("DELETE", `${api}/invitations/${one.invitation}`, { said })) await show();
  };
  const ask = () => sure(t("End this invitation?"), t("Nobody else can use it. Raters who have joined stay enrolled."), t("End it"), then);
  return button(t("End …"), ask, { class: "quiet", "aria-label": t("End the invitation of {when}", { when: moment(one.created_at) }) });
}

let teams = null;

async function offer() {
  if (teams) return;
  teams = await all(`${api}/teams`);
  form.elements.team.append(...teams.map((one) => h("option", { value: one.key }, one.name)));
}

const place = $("#invitations");
const show = reading(place, async () => {
  await offer();
  const found = await made.read();
  fill(place, found.length ? table(t("Invitations"), [
    [t("Made"), (one) => moment(one.created_at)], [t("Platform"), (one) => one.platform], [t("Seats"), (one) => figure(one.count), "right"],
    [t("Taken"), (one) => figure(one.taken), "right"], [t("New in an hour"), (one) => figure(one.per_hour), "right"],
    [t("Ids"), (one) => (one.signed ? t("signed") : t("not signed"))], [t("Team"), (one) => one.team], [t("Ends"), (one) => moment(one.expires_at)],
    [t("State"), state], [t("What to do"), end],
  ], found) : empty({ icon: "link", title: t("There are no invitations."), text: t("An invitation is one link for many raters, as crowd platforms want it.") }), made.rest(show));
});

const completions = reading($("#completions"), async () => {
  const found = await handedIn.read();
  fill($("#completions"), found.length ? table(t("Codes of completion"), [
    [t("Handed in"), (one) => moment(one.handed_in_at)], [t("Rater"), (one) => one.rater], [t("Id on the platform"), (one) => one.external_id],
    [t("Code"), (one) => one.code], [t("Platform"), (one) => one.platform],
  ], found) : h("p", {}, t("No task has been handed in yet.")), handedIn.rest(completions),
  h("p", { class: "fetch" }, t("Fetch:"), h("a", { href: `${api}/completions` }, "JSON")));
});

// Which code tells what: kept among the campaign's settings of quality control.
const codes = $("#codes");
let seen = null; // {settings, etag}

function readCodes({ body, etag }) {
  seen = { settings: body.settings, etag };
  const quality = body.settings.quality ?? {};
  const checks = quality.code_checks ?? ["controls"];
  for (const name of ["code_pass", "code_fail"]) codes.elements[name].value = quality[name] ?? "";
  codes.elements.code_tutorial.value = quality.code_tutorial === undefined || quality.code_tutorial === null ? "" : written(quality.code_tutorial * 100);
  for (const box of codes.elements.code_checks) box.checked = checks.includes(box.value);
}

async function saveCodes() {
  const place = $(".said", codes);
  say(place, "");
  $("#saved").textContent = "";
  const { code_pass: _, code_fail: __, code_checks: ___, code_tutorial: ____, ...rest } = seen.settings.quality ?? {};
  const quality = { ...rest, code_checks: [...codes.elements.code_checks].filter((box) => box.checked).map((box) => box.value) };
  for (const name of ["code_pass", "code_fail"]) if (codes.elements[name].value.trim()) quality[name] = codes.elements[name].value.trim();
  const share = codes.elements.code_tutorial.value.trim();
  if (share) quality.code_tutorial = numeral(share) / 100;
  try {
    const answer = await call("PATCH", api, { body: { settings: { ...seen.settings, quality } }, headers: { "If-Match": seen.etag } });
    if (answer.ok) {
      readCodes(answer);
      $("#saved").textContent = t("Saved.");
    } else if (answer.status === 412) say(place, t("Somebody else has changed these settings. Reload the page to see them."));
    else tell(place, told(answer));
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    say(place, t("The server cannot be reached. Try again in a moment."));
  }
}

codes.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", codes), saveCodes);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", form), make);
});
await show();
await completions();
const unread = $("#codes-read");
$("button[type=submit]", codes).disabled = true;
await reading(unread, async () => {
  const campaign = await call("GET", api);
  if (!campaign.ok) throw new Refused(told(campaign));
  readCodes(campaign);
  fill(unread);
  $("button[type=submit]", codes).disabled = false;
})();
