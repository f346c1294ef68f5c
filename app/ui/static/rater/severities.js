// Severities in words.

import { t } from "../shared/messages.js";

const SEVERITIES = {
  minor: () => t("Minor"),
  major: () => t("Major"),
  critical: () => t("Critical"),
  neutral: () => t("Neutral"),
  undecided: () => t("Undecided"),
};

// The class that a severity is drawn by. A campaign's own severities, from light to grave, look like the usual ones.
export function lookOf(name, severities = []) {
  if (name in SEVERITIES) return `is-${name}`;
  const at = severities.indexOf(name);
  if (at < 0) return "is-major";
  return at === severities.length - 1 && severities.length > 2 ? "is-critical" : at === 0 ? "is-minor" : "is-major";
}

export const severityName = (name) => SEVERITIES[name]?.() ?? name;
