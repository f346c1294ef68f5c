// Calls to the same addresses that any front-end uses, with the session's cookie and the proof that the page is ours.

import { loadRefusals } from "./messages.js";

const TIMEOUT = 20_000; // milliseconds

export class Unreachable extends Error {}

export function csrf() {
  return document.querySelector("meta[name=csrf]")?.content ?? "";
}

// → {status, ok, body, etag, retryAfter}. Throws Unreachable where no answer came.
export async function call(method, path, { body, headers = {}, keepalive = false, timeout = TIMEOUT } = {}) {
  const given = { Accept: "application/json", ...headers };
  if (method !== "GET") given["X-CSRF-Token"] = csrf();
  if (body !== undefined) given["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: given,
      keepalive,
      cache: "no-store",
      credentials: "same-origin",
      signal: AbortSignal.timeout(timeout),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) await loadRefusals();
    return told(answer, text);
  } catch (error) {
    throw new Unreachable(String(error));
  }
}

function told(answer, text) {
  let parsed = null;
  try {
    parsed = text ? JSON.parse(text) : null;
  } catch {
    parsed = null; // a proxy's page, say
  }
  return {
    status: answer.status,
    ok: answer.ok,
    body: parsed,
    etag: answer.headers.get("ETag"),
    retryAfter: Number(answer.headers.get("Retry-After")) || null,
  };
}

export const comesBack = (status) => status === 408 || status === 429 || status === 507 || status >= 500;

export function idempotencyKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// What went wrong, in words: the problem's own, else by its number. A key alone says nothing without the title.
export function why(answer) {
  const { detail, title } = answer.body ?? {};
  if (detail && title && !detail.includes(" ")) return `${title}: ${detail}`;
  return detail || title || `HTTP ${answer.status}`;
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

// Ask until there is an answer; `waiting` hears of every failure in between.
export async function insist(method, path, options = {}, waiting = () => {}) {
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await call(method, path, options);
      if (!comesBack(answer.status)) return answer;
      waiting(answer);
      await pause(answer.retryAfter ?? Math.min(2 ** tries, 15));
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      waiting(null);
      await pause(Math.min(2 ** tries / 2, 10));
    }
  }
}
