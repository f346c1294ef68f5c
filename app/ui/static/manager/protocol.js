// The protocol of a campaign: one of the field's, or one that its manager writes, with the rater's screen beside it.

import { call, Unreachable } from "../shared/api.js";
import { $, fill, h } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import * as keep from "../rater/keep.js";
import { api, get, main, Refused, resting, say, tell, told } from "./parts.js";
import { showTask } from "./preview_task.js";
import { drawParts } from "./protocol_parts.js";
import { reading } from "./reading.js";
import { saveWhole } from "./saving.js";

const SOON = 500; // milliseconds without another key before the task is drawn anew
const form = $("#protocol");
const [place, said, refused] = [$("#parts"), $(".said", form), $("#refused")];
const send = $("button[type=submit]", form);
keep.keepFor(main.dataset.campaign, "protocol");
let seen = null; // the ETag of the campaign
let written = null; // {protocol, options}
let chosen = false; // whether somebody chose what to begin with before it was known what is stored
let waiting = 0;

function draw() {
  drawForm();
  later();
}

function drawForm() {
  if (written.protocol === "custom") drawParts(place, written.options, { changed: later, drawn: draw });
  else {
    const title = [...$("#start").options].find((one) => one.value === written.protocol)?.textContent ?? written.protocol;
    fill(place, h("p", {}, t("Judged by: {protocol}", { protocol: title })), h("p", { class: "quiet" }, t("To change the questions, write your own protocol from this one.")));
  }
}

function later() {
  $("#saved").textContent = "";
  clearTimeout(waiting);
  waiting = setTimeout(preview, SOON);
}

async function preview() {
  if (!refused) return;
  const sideBySide = (written.options.preference ?? "none") !== "none";
  try {
    const answer = await call("POST", `${api}/protocol/preview${sideBySide ? "?presentation=side_by_side" : ""}`, { body: written });
    if (answer.ok) {
      say(refused, "");
      showTask(answer.body, preview);
    } else tell(refused, told(answer));
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    say(refused, t("The server cannot be reached. Try again in a moment."));
  } finally {
    $("#work").removeAttribute("aria-busy");
  }
}

async function save() {
  seen = await saveWhole("protocol", written, seen, said);
}

$("#start").addEventListener("change", () => (chosen = true));
$("#take").addEventListener("click", () => {
  written = { protocol: $("#start").value, options: {} };
  draw();
});
$("#write").addEventListener("click", (event) => resting(event.currentTarget, async () => {
  written = await get(`/v1/protocols/${$("#start").value}/as-custom`);
  draw();
}));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting(send, save);
});
send.disabled = true;
await reading(place, async () => {
  const now = await call("GET", `${api}/protocol`);
  if (!now.ok) throw new Refused(told(now));
  seen = now.etag;
  if (!chosen) $("#start").value = now.body.protocol === "custom" ? "mqm" : now.body.protocol;
  send.disabled = false;
  if (written) return; // it was begun meanwhile
  written = { protocol: now.body.protocol, options: now.body.options };
  drawForm();
  await preview();
})();
main.dataset.ready = "yes";
