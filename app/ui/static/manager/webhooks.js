// Webhooks: added with a secret that is shown once, tested, sent again from an event on, deleted; and what deliveries met.

import { $, button, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { all, api, change, empty, fetched, figure, get, listed, moment, resting, sure, table } from "./parts.js";
import { reading, tried } from "./reading.js";

const form = $("#hook");
const said = $("#said");
const path = (one) => `${api}/webhooks/${one.webhook}`;
const named = (one) => new URL(one.url).host;

async function make() {
  const events = [...form.querySelectorAll("input[name=events]:checked")].map((box) => box.value);
  const body = { url: form.elements.url.value.trim(), events };
  const answer = await change("POST", `${api}/webhooks`, { body, said: $(".said", form) });
  if (!answer) return;
  fill($("#made"), h("p", {}, t("The secret that signs its messages, shown this once:")), h("p", { class: "secret" }, answer.body.secret));
  form.reset();
  await show();
}

function state(one) {
  if (one.stopped_at) {
    const why = one.stopped_because === "gone" ? t("the receiver wants no more messages") : t("the receiver took nothing for 3 days");
    return t("stopped {when}: {why}", { when: moment(one.stopped_at), why });
  }
  if (one.failing_since) return t("failing since {when}; will be sent again", { when: moment(one.failing_since) });
  return t("working");
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
  sure(t("Delete this webhook?"), t("Nothing more is sent to {host}, and the list of its messages is lost.", { host: named(one) }), t("Delete it"), then);
}

function actions(one) {
  const quiet = (label, name, work) => button(label, work, { class: "quiet", "aria-label": name });
  return [
    quiet(t("Messages"), t("Messages to {host}", { host: named(one) }), () => deliveries(one)),
    quiet(t("Send a test"), t("Send a test to {host}", { host: named(one) }), () => test(one)),
    one.stopped_at ? quiet(t("Start again"), t("Start again with {host}", { host: named(one) }), () => again(one, {})) : null,
    quiet(t("Delete …"), t("Delete the webhook to {host}", { host: named(one) }), () => remove(one)),
  ];
}

const place = $("#webhooks");
const show = reading(place, async () => {
  const found = await all(`${api}/webhooks`);
  fill(place, found.length ? table(t("Webhooks"), [
    [t("Address"), (one) => one.url, "text"], [t("Events"), told], [t("State"), state], [t("What to do"), actions],
  ], found) : empty({ icon: "message", title: t("There are no webhooks yet."), text: t("Add one above to have tasks, milestones and failed checks reported to your own systems.") }),
  fetched([listed(`${api}/webhooks`)]));
});

const met = (delivery) => (delivery.status === null ? delivery.error : figure(delivery.status));

async function deliveries(one) {
  const here = $("#deliveries");
  await tried(async () => {
    const { items } = await get(`${path(one)}/deliveries?limit=50`);
    const resend = (delivery) => button(t("Send again from here"), () => again(one, { from: delivery.event }),
      { class: "quiet", "aria-label": t("Send again from event {n}", { n: delivery.event }) });
    const refresh = button(t("Refresh"), () => resting(refresh, () => deliveries(one)), { class: "quiet" });
    fill(here, h("h2", {}, t("Messages to {host}", { host: named(one) })), items.length ? table(t("Messages to {host}", { host: named(one) }), [
      [t("When"), (delivery) => moment(delivery.at)], [t("Event"), (delivery) => figure(delivery.event), "right"], [t("Kind"), (delivery) => delivery.kind],
      [t("Attempt"), (delivery) => figure(delivery.attempt), "right"], [t("Answer"), met], [t("Milliseconds"), (delivery) => figure(delivery.milliseconds), "right"],
      [t("What to do"), resend],
    ], items) : h("p", {}, t("Nothing has been sent yet. A test shows whether messages arrive.")),
    h("p", { class: "actions" }, refresh), fetched([listed(`${path(one)}/deliveries`)]));
  }, said);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button", form), make);
});
await show();
