// Make a campaign, then go on to its texts.

import { $ } from "../shared/dom.js";
import { idempotencyKey } from "../shared/api.js";
import { t } from "../shared/messages.js";
import { checkKey } from "./keys.js";
import { offerLanguages } from "./languages.js";
import { change, resting, say } from "./parts.js";

const form = $("#new");
const said = $(".said", form);

function body() {
  const given = { key: form.elements.key.value.trim(), protocol: form.elements.protocol.value, basis: form.elements.basis.value };
  for (const name of ["name", "source_language", "target_language"]) {
    if (form.elements[name].value.trim()) given[name] = form.elements[name].value.trim();
  }
  if (form.elements.options.value.trim()) given.options = JSON.parse(form.elements.options.value);
  return given;
}

async function make() {
  let given;
  try {
    given = body();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    say(said, t("The options are not valid JSON: {why}", { why: error.message }));
    return;
  }
  const answer = await change("POST", "/v1/campaigns", { body: given, said, key: idempotencyKey() });
  if (answer) location.assign(`/campaigns/${encodeURIComponent(given.key)}/texts`);
}

checkKey(form);
offerLanguages(form);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  resting($("button[type=submit]", form), make);
});
