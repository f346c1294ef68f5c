// A small form of a rater's, sent once however often it is tried; what is refused is said beside its fields.

import { call, comesBack, Unreachable, why } from "../shared/api.js";
import { refuseFields, unmark } from "../shared/fields.js";
import { t } from "../shared/messages.js";

// What the fields do not say of a refusal.
export function saidElsewhere(form, answer) {
  const rest = refuseFields(form, answer);
  return rest ? why(rest) : "";
}

// said: where the rest is told. → whether it is stored.
export async function sendForm(form, said, path, { body, key }) {
  said.textContent = "";
  unmark(form);
  let answer;
  try {
    answer = await call("POST", path, { body, headers: { "Idempotency-Key": key } });
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
  }
  if (answer?.ok) return true;
  const away = !answer || comesBack(answer.status);
  said.textContent = away ? t("The server cannot be reached. Try again in a moment.") : saidElsewhere(form, answer);
  return false;
}
