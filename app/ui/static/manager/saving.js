// Saving the whole of something that a page shows as one form, unless somebody else changed it since.

import { call, Unreachable } from "../shared/api.js";
import { $ } from "../shared/dom.js";
import { t } from "../shared/messages.js";
import { api, refuse, say, showNextStep } from "./parts.js";

// seen: the ETag under which the page read it. → the new ETag, or `seen` where nothing was saved, and `said` says why.
export async function saveWhole(path, body, seen, said) {
  say(said, "");
  try {
    const answer = await call("PUT", `${api}/${path}`, { body, headers: { "If-Match": seen } });
    if (answer.ok) {
      $("#saved").textContent = t("Saved.");
      showNextStep();
      return answer.etag;
    }
    if (answer.status === 412) say(said, t("Somebody else has changed this campaign. Reload the page to see it."));
    else refuse(said, answer);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    say(said, t("The server cannot be reached. Try again in a moment."));
  }
  return seen;
}
