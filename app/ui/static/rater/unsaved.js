// What to do where answers are not on the server: said at once where a session ends, and where the rater hands in.

import { count, t } from "../shared/messages.js";
import * as keep from "./keep.js";
import { clear, notice } from "./notices.js";
import { unsaved } from "./saving.js";

const ADVICE = {
  saving: () => t("They are on their way. Hand in again in a moment."),
  offline: () => t("The server cannot be reached. They are sent once it can; then hand in again."),
  "signed-out": () => t("This link has ended. Ask whoever gave it to you for a new one and open it in this browser: what waits here is sent then."),
  conflict: () => t("Choose above which of two answers stands."),
  refused: () => t("The server did not accept them; above stands why."),
};

// → sentences: how many answers are kept here alone, and what the rater can do.
export function advice({ state, facts }) {
  const kept = unsaved(facts);
  const counted = kept ? count(kept, "One answer is not saved: it is in this browser only.", "{n} answers are not saved: they are in this browser only.") : null;
  const lasts = kept && !keep.lasting() ? t("This browser keeps nothing: leave this page open.") : null;
  return [counted, lasts, ADVICE[state]?.()].filter(Boolean).join(" ");
}

// Who is signed out is told so, for as long as it lasts.
export function tellSignedOut(outbox) {
  if (!outbox.signedOut) return clear("signed-out");
  return notice("signed-out", [t("You are signed out."), " ", advice(outbox)], { close: false });
}
