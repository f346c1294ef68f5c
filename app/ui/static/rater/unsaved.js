// What to do where answers are not on the server: said at once where a session ends, and where the rater hands in.

import { count, t } from "../shared/messages.js";
import * as keep from "./keep.js";
import { clear, notice } from "./notices.js";
import { unsaved } from "./saving.js";

const ADVICE = {
  saving: () => t("Your answers are being sent. Hand in again in a moment."),
  offline: () => t("The server cannot be reached. Your answers are sent when the connection returns; then hand in again."),
  "signed-out": () => t("This link has expired. Ask the person who sent it for a new one and open it in this browser. Your unsent answers are sent then."),
  conflict: () => t("Choose above which of the two answers to keep."),
  refused: () => t("The server did not accept your answers; the reason is shown above."),
};

// → sentences: how many answers are kept here alone, and what the rater can do.
export function advice({ state, facts }) {
  const kept = unsaved(facts);
  const counted = kept ? count(kept, "One answer is not saved: it is in this browser only.", "{n} answers are not saved: they are in this browser only.") : null;
  const lasts = kept && !keep.lasting() ? t("This browser cannot store your answers, so keep this page open.") : null;
  return [counted, lasts, ADVICE[state]?.()].filter(Boolean).join(" ");
}

// Who is signed out is told so, for as long as it lasts.
export function tellSignedOut(outbox) {
  if (!outbox.signedOut) return clear("signed-out");
  return notice("signed-out", [t("You are signed out."), " ", advice(outbox)], { close: false });
}
