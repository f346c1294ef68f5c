// Tokens: make one, whose secret is shown once; see and revoke them.

import { call } from "../shared/api.js";
import { $, bringIntoView, button, fill, h } from "../shared/dom.js";
import { count, t } from "../shared/messages.js";
import { Browse } from "./browse.js";
import { copyButton } from "./copying.js";
import { each } from "./each.js";
import { badge, brief, change, get, moment, icon, resting, sure } from "./parts.js";
import { tried } from "./reading.js";
import { toast } from "./toast.js";

const form = $("#new");
const said = $("#said");
const DAY = 86_400_000; // milliseconds
const ROLES = {
  admin: t("admin"), manager: t("manager"), coordinator: t("coordinator"), viewer: t("viewer"), frontend: t("frontend"), rater: t("rater"),
};
const STAFF = Object.keys(ROLES).filter((role) => role !== "rater");

const state = (one) => (one.live ? badge("active", t("valid")) : badge("left", one.revoked_at ? t("revoked") : t("ended")));

// Whose campaign it opens, and of that only a team's or a rater's part.
const scope = (one) => [one.campaign ?? t("all"), one.team ?? one.rater].filter(Boolean).join(" · ");

// Links of raters are many, and are asked for.
const tokens = new Browse($("#tokens"), {
  label: t("Tokens"),
  path: "/v1/tokens",
  key: (one) => one.prefix,
  sort: "-made",
  search: t("Search by purpose, campaign, team or rater"),
  filters: [
    { name: "role", label: t("Role"), value: "staff", options: [["staff", t("all but raters")], ...Object.entries(ROLES), ["", t("all")]], send: (value) => (value === "staff" ? STAFF : [value]).map((role) => ["role", role]) },
    { name: "live", label: t("State"), value: "true", options: [["true", t("valid")], ["false", t("ended or revoked")], ["", t("all")]] },
  ],
  columns: [
    { head: t("For"), cell: (one) => one.name || null, look: "text" },
    { head: t("Role"), cell: (one) => ROLES[one.role] ?? one.role },
    { head: t("State"), cell: state },
    { head: t("Campaign"), cell: scope, look: "wide" },
    { head: t("Token"), cell: (one) => h("code", {}, `${one.prefix}…`), look: "wide" },
    { head: t("Created"), sort: "made", cell: (one) => brief(one.created_at), look: "wide" },
    { head: t("Last used"), cell: (one) => brief(one.last_used_at), look: "wide" },
    { head: t("Ends"), cell: (one) => brief(one.expires_at), look: "wide" },
    { head: t("What to do"), cell: (one) => (one.live ? button(icon("exclude"), () => revoke([one]), { class: "ghost only-icon", title: t("Revoke …"), "aria-label": t("Revoke {token}", { token: one.prefix }) }) : null), look: "steps" },
  ],
  actions: [{ label: t("Revoke …"), icon: "exclude", look: "danger", run: (rows) => revoke(rows) }],
  choosable: (one) => one.live,
  nothing: { icon: "key", title: t("There are no tokens that you manage."), text: t("A token gives a person or a program the rights of its role. Create one above.") },
});

function revoke(rows) {
  const end = async () => {
    const { done, left } = await each(rows, said, (one, refused) => change("DELETE", `/v1/tokens/${one.prefix}`, { said, refused }));
    if (done.length) toast(count(done.length, "{n} token is revoked.", "{n} tokens are revoked."));
    await tokens.done(left);
  };
  sure(count(rows.length, "Revoke this token?", "Revoke {n} tokens?"), count(rows.length, "The token and all its sessions end at once. You cannot undo this.", "These tokens and all their sessions end at once. You cannot undo this."), t("Revoke"), end);
}

async function make() {
  const body = { role: form.elements.role.value, name: form.elements.name.value.trim() };
  for (const name of ["campaign", "team"]) if (form.elements[name].value.trim()) body[name] = form.elements[name].value.trim();
  const { expires_at: own } = await get("/v1/me"); // no token outlives the one that made it
  if (own) body.expires_at = own;
  if (form.elements.days.value) body.expires_at = new Date(Date.now() + Number(form.elements.days.value) * DAY).toISOString();
  const answer = await change("POST", "/v1/tokens", { body, said, form });
  if (!answer) return;
  const { token } = answer.body;
  const link = `${location.origin}/#token=${token}`;
  const shown = (title, secret, copy) => [h("p", {}, title), h("p", { class: "secret" }, secret), h("p", { class: "actions" }, copyButton(copy, () => secret))];
  const ends = body.expires_at ? h("p", {}, body.expires_at === own ? t("It ends on {when}, with your own token.", { when: moment(own) }) : t("It ends on {when}.", { when: moment(body.expires_at) })) : null;
  fill($("#made"), ends, shown(t("For a person, a link that signs in; shown only once:"), link, t("Copy the link")), shown(t("For a program, the token:"), token, t("Copy the token")));
  bringIntoView($("#made"), "nearest");
  await tokens.show();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", form), () => tried(make, said));
});

// The teams of the campaign that is named, to choose from.
async function suggest() {
  const campaign = form.elements.campaign.value.trim();
  const answer = campaign ? await call("GET", `/v1/campaigns/${encodeURIComponent(campaign)}/teams?limit=200`) : null;
  const teams = answer?.ok ? answer.body.items : [];
  fill($("#teams"), teams.map((one) => h("option", { value: one.key }, one.name)));
  if (teams.length === 1 && form.elements.role.value === "coordinator") form.elements.team.value ||= teams[0].key;
}
form.elements.campaign.addEventListener("change", () => tried(suggest, said));
await tokens.open();
if (form.elements.campaign.value) await tried(suggest, said);
