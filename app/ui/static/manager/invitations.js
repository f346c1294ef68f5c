// Invitations by count: made, with a link that is shown once; looked at and ended; and codes of completion, to pay by.

import { call, Unreachable } from "../shared/api.js";
import { $, button, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { absolute } from "./asking.js";
import { Browse } from "./browse.js";
import { copyButton } from "./copying.js";
import { each } from "./each.js";
import { all, api, badge, brief, change, figure, here, moment, numeral, refuse, Refused, resting, say, sure, told, written } from "./parts.js";
import { reading } from "./reading.js";
import { toast } from "./toast.js";

const form = $("#invite");
const said = $("#said");
const PLATFORMS = Object.fromEntries([...form.elements.platform.options].filter((one) => one.value).map((one) => [one.value, one.text]));

async function make() {
  const { count: seats, platform, team, completion_url: address, expires_at: last, per_hour: rate, signed } = form.elements;
  const body = { count: Number(seats.value) };
  if (platform.value) body.platform = platform.value;
  if (team.value) body.team = team.value;
  if (address.value.trim()) body.completion_url = address.value.trim();
  if (last.value) body.expires_at = absolute(last.value);
  if (rate.value) body.per_hour = Number(rate.value);
  if (signed.checked) body.signed = true;
  const answer = await change("POST", `${api}/invitations`, { body, said: $(".said", form) });
  if (!answer) return;
  const key = answer.body.signing_key;
  fill($("#made"), h("p", {}, t("The link for the platform, shown only once:")), h("p", { class: "secret" }, answer.body.link),
    h("p", { class: "actions" }, copyButton(t("Copy the link"), () => answer.body.link)),
    ...(key ? [h("p", {}, t("The key with which the platform signs its ids, shown only once:")), h("p", { class: "secret" }, key), h("p", { class: "actions" }, copyButton(t("Copy the key"), () => key))] : []));
  form.reset();
  await invitations.show();
}

function state(one) {
  if (one.revoked_at) return h("span", { title: moment(one.revoked_at) }, badge("left", t("ended|invitation")));
  return one.live ? badge("active", t("open")) : badge("none", t("expired"));
}

function end(rows) {
  const then = async () => {
    const { done, left } = await each(rows, said, (one, refused) => change("DELETE", `${api}/invitations/${one.invitation}`, { said, refused }));
    if (done.length) toast(count(done.length, "{n} invitation is ended.", "{n} invitations are ended."));
    await invitations.done(left);
  };
  sure(count(rows.length, "End this invitation?", "End {n} invitations?"), t("Nobody else can use it. Raters who have joined stay enrolled."), t("End it"), then);
}

const invitations = new Browse($("#invitations"), {
  label: t("Invitations"),
  path: `${api}/invitations`,
  key: (one) => one.invitation,
  called: (one) => t("the invitation of {when}", { when: moment(one.created_at) }),
  sort: "-made",
  search: t("Search by platform, team or id"),
  filters: [{ name: "live", label: t("State"), options: [["", t("all")], ["true", t("open")], ["false", t("ended or expired")]] }],
  async prepare() {
    const teams = await all(`${api}/teams`);
    form.elements.team.append(...teams.map((one) => h("option", { value: one.key }, one.name)));
  },
  columns: [
    { head: t("Created"), sort: "made", cell: (one) => brief(one.created_at) },
    { head: t("State"), cell: state },
    { head: t("Platform"), cell: (one) => PLATFORMS[one.platform] ?? one.platform },
    { head: t("Places"), cell: (one) => figure(one.count), look: "right" },
    { head: t("Taken"), cell: (one) => figure(one.taken), look: "right" },
    { head: t("New per hour"), cell: (one) => figure(one.per_hour), look: "right" },
    { head: t("Ids"), cell: (one) => (one.signed ? t("signed") : t("not signed")), look: "wide" },
    { head: t("Team"), cell: (one) => one.team, look: "wide" },
    { head: t("Ends"), cell: (one) => brief(one.expires_at), look: "wide" },
    { head: t("What to do"), cell: (one) => (one.live ? button(t("End …"), () => end([one]), { class: "ghost", "aria-label": t("End the invitation of {when}", { when: moment(one.created_at) }) }) : null), look: "steps" },
  ],
  actions: [{ label: t("End …"), icon: "exclude", look: "danger", run: end }],
  choosable: (one) => one.live,
  nothing: { icon: "link", title: t("There are no invitations."), text: t("An invitation is one link for many raters, as crowd platforms need it.") },
});

const completions = new Browse($("#completions"), {
  name: "codes",
  label: t("Completion codes"),
  path: `${api}/completions`,
  key: (one) => one.task,
  search: t("Search by rater, id, code or platform"),
  columns: [
    { head: t("Handed in"), cell: (one) => brief(one.handed_in_at) },
    { head: t("Rater"), cell: (one) => h("a", { href: `${here}/raters/${encodeURIComponent(one.rater)}` }, one.rater) },
    { head: t("Id on the platform"), cell: (one) => one.external_id },
    { head: t("Code"), cell: (one) => h("code", {}, one.code) },
    { head: t("Platform"), cell: (one) => PLATFORMS[one.platform] ?? one.platform, look: "wide" },
  ],
  nothing: { icon: "check", title: t("No task has been handed in yet."), text: t("Each task that was handed in is listed here with its rater's code.") },
});

// Which code tells what: kept among the campaign's settings of quality control.
const codes = $("#codes");
const SHARES = ["code_tutorial", "code_attention"];
let seen = null; // {settings, etag}

function readCodes({ body, etag }) {
  seen = { settings: body.settings, etag };
  const quality = body.settings.quality ?? {};
  const checks = quality.code_checks ?? ["controls"];
  for (const name of ["code_pass", "code_fail"]) codes.elements[name].value = quality[name] ?? "";
  for (const name of SHARES) codes.elements[name].value = quality[name] === undefined || quality[name] === null ? "" : written(quality[name] * 100);
  for (const box of codes.elements.code_checks) box.checked = checks.includes(box.value);
}

async function saveCodes() {
  const place = $(".said", codes);
  say(place, "");
  $("#saved").textContent = "";
  const { code_pass: _, code_fail: __, code_checks: ___, code_tutorial: ____, code_attention: _____, ...rest } = seen.settings.quality ?? {};
  const quality = { ...rest, code_checks: [...codes.elements.code_checks].filter((box) => box.checked).map((box) => box.value) };
  for (const name of ["code_pass", "code_fail"]) if (codes.elements[name].value.trim()) quality[name] = codes.elements[name].value.trim();
  for (const name of SHARES) {
    const share = codes.elements[name].value.trim();
    if (share) quality[name] = numeral(share) / 100;
  }
  try {
    const answer = await call("PATCH", api, { body: { settings: { ...seen.settings, quality } }, headers: { "If-Match": seen.etag } });
    if (answer.ok) {
      readCodes(answer);
      $("#saved").textContent = t("Saved.");
    } else if (answer.status === 412) say(place, t("Somebody else has changed these settings. Reload the page to see them."));
    else refuse(place, answer);
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
await Promise.all([invitations.open(), completions.open()]);
const unread = $("#codes-read");
$("button[type=submit]", codes).disabled = true;
await reading(unread, async () => {
  const campaign = await call("GET", api);
  if (!campaign.ok) throw new Refused(told(campaign));
  readCodes(campaign);
  fill(unread);
  $("button[type=submit]", codes).disabled = false;
})();
