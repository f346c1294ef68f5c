// Webhooks: added with a secret that is shown once, tested, sent again from an event on, deleted; and what deliveries met.

import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { Browse } from "./browse.js";
import { all, api, badge, change, empty, fetched, figure, foreign, listed, moment, resting, sure, table } from "./parts.js";
import { reading } from "./reading.js";

const form = $("#hook");
const said = $("#said");
const path = (one) => `${api}/webhooks/${one.webhook}`;
const named = (one) => new URL(one.url).host;

async function make() {
  const events = [...form.querySelectorAll("input[name=events]:checked")].map((box) => box.value);
  const body = { url: form.elements.url.value.trim(), events };
  const answer = await change("POST", `${api}/webhooks`, { body, said: $(".said", form) });
  if (!answer) return;
  fill($("#made"), h("p", {}, t("The secret that signs its messages, shown only once:")), h("p", { class: "secret" }, answer.body.secret));
  form.reset();
  await show();
}

function state(one) {
  if (one.stopped_at) {
    const why = one.stopped_because === "gone" ? t("the receiver wants no more messages") : t("the receiver accepted nothing for 3 days");
    return [badge("fail", t("stopped")), h("small", { class: "beside" }, t("{when}: {why}", { when: moment(one.stopped_at), why }))];
  }
  if (one.failing_since) return [badge("waiting", t("failing")), h("small", { class: "beside" }, t("since {when}; will be sent again", { when: moment(one.failing_since) }))];
  return badge("pass", t("working"));
}

const every = form.querySelectorAll("input[name=events]").length;
const told = (one) => (one.events.length === every ? t("all") : one.events.map((kind) => h("div", {}, kind)));

async function test(one) {
  if (await change("POST", `${path(one)}/test`, { said })) await deliveries(one);
}

async function again(one, body) {
  if (!(await change("POST", `${path(one)}/replay`, { body, said }))) return;
  await show();
  await deliveries(one);
}

function remove(one) {
  const then = async () => {
    if (!(await change("DELETE", path(one), { said }))) return;
    fill($("#deliveries"));
    await show();
  };
  sure(t("Delete this webhook?"), t("Nothing more is sent to {host}, and the list of its messages is deleted.", { host: named(one) }), t("Delete it"), then);
}

function actions(one) {
  const quiet = (label, name, work) => button(label, work, { class: "ghost", "aria-label": name });
  return h("span", { class: "actions wrapped" },
    quiet(t("Messages"), t("Messages to {host}", { host: named(one) }), () => deliveries(one)),
    quiet(t("Send a test"), t("Send a test to {host}", { host: named(one) }), () => test(one)),
    one.stopped_at ? quiet(t("Start again"), t("Start again with {host}", { host: named(one) }), () => again(one, {})) : null,
    quiet(t("Delete …"), t("Delete the webhook to {host}", { host: named(one) }), () => remove(one)));
}

const place = $("#webhooks");
// A campaign has 20 webhooks at most, which are shown whole.
const show = reading(place, async () => {
  const found = await all(`${api}/webhooks`);
  fill(place, found.length ? table(t("Webhooks"), [
    [t("Address"), (one) => one.url, "address"], [t("Events"), told], [t("State"), state], [t("What to do"), actions],
  ], found) : empty({ icon: "message", title: t("There are no webhooks yet."), text: t("Add one above to have tasks, milestones and failed checks reported to your own systems.") }),
  fetched([listed(`${api}/webhooks`)]));
});

const taken = (delivery) => delivery.status >= 200 && delivery.status < 300;
const met = (delivery) => (delivery.status === null
  ? [badge("fail", t("none|answer to a message")), h("small", { class: "beside" }, foreign(delivery.error))]
  : badge(taken(delivery) ? "pass" : "fail", figure(delivery.status)));
const kinds = [...form.elements.events].map((box) => box.value);

// What was sent to a webhook, in a list of its own.
async function deliveries(one) {
  const list = new Browse(h("div", { class: "browse short" }), {
    name: "sent",
    label: t("Messages to {host}", { host: named(one) }),
    path: `${path(one)}/deliveries`,
    key: (delivery) => String(delivery.id),
    filters: [
      { name: "taken", label: t("Answer"), options: [["", t("all")], ["true", t("taken")], ["false", t("not taken")]] },
      { name: "kind", label: t("Kind"), options: [["", t("all")], ...[...kinds, "webhook.test"].map((kind) => [kind, kind])] },
    ],
    columns: [
      { head: t("When"), cell: (delivery) => moment(delivery.at) },
      { head: t("Kind"), cell: (delivery) => delivery.kind },
      { head: t("Event"), cell: (delivery) => figure(delivery.event), look: "right" },
      { head: t("Attempt"), cell: (delivery) => figure(delivery.attempt), look: "right" },
      { head: t("Answer"), cell: met },
      { head: t("Milliseconds"), cell: (delivery) => figure(delivery.milliseconds), look: "right" },
      { head: t("What to do"), cell: (delivery) => button(t("Send again from here"), () => again(one, { from: delivery.event }), { class: "ghost", "aria-label": t("Send again from event {n}", { n: delivery.event }) }), look: "steps" },
    ],
    nothing: { icon: "message", title: t("Nothing has been sent yet."), text: t("A test shows whether messages arrive.") },
  });
  const refresh = button(t("Refresh"), () => resting(refresh, () => list.show()), { class: "quiet" });
  fill($("#deliveries"), h("div", { class: "headline" }, h("h2", {}, t("Messages to {host}", { host: named(one) })), refresh), list.place);
  await list.open();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", form), make);
});
await show();
