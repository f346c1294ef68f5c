// Whether what the rater said is on the server: six states, worked out from what is known of the answers on their way.
// This module draws nothing and sends nothing, so that the rule can be read, and tested, in one place.
//
// saved: the server has every answer. saving: some are on their way. offline: no answer comes from the server.
// signed-out: it knows this page's session no more. conflict: another window said otherwise, and the rater has not
// chosen. refused: the server does not take an answer. In the last four something waits for more than a moment.

export const STATES = ["saved", "saving", "offline", "signed-out", "conflict", "refused"];

// waiting, conflicts, refused: numbers of answers that are kept in this browser alone.
export function stateOf({ waiting, conflicts, refused, away, signedOut }) {
  if (signedOut) return "signed-out";
  if (conflicts) return "conflict";
  if (refused) return "refused";
  if (!waiting) return "saved";
  return away ? "offline" : "saving";
}

export const unsaved = ({ waiting, conflicts, refused }) => waiting + conflicts + refused;

// What an answer of the server comes to. A page whose proof is of an earlier session is as good as signed out.
export function outcome({ status, ok, body }) {
  if (ok) return "stored";
  if (status === 412) return "overtaken";
  if (status === 401 || (status === 403 && body?.type?.endsWith(":not-our-page"))) return "signed-out";
  return "refused";
}
