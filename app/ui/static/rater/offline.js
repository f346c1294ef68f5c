// The task at hand, kept in the browser, so that a page that is loaded without a network goes on with it. It is what the
// server told this rater, and no more: no system, no role, no control. Where the browser has no such storage, as on
// plain HTTP, nothing is kept and the page waits for the server.

import { placeOf } from "./answers.js";
import * as keep from "./keep.js";

const CACHE = "plumbline-task";
const MEDIA = "plumbline-media";
const PLACE = "/rate/kept";
const STORED = "s:";
const works = "caches" in globalThis;

export async function keepTask(campaign, rater, task, forms) {
  for (const key of keep.keys(STORED)) keep.drop(key); // they are in the task
  if (!works) return;
  try {
    const cache = await caches.open(CACHE);
    await cache.put(PLACE, Response.json({ campaign, rater, task, forms }));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error; // no room
  }
}

// What the server has on disk since the task was fetched.
export function noteStored({ task, place, payload, revision }) {
  if (works) keep.put(`${STORED}${task}:${place}`, { payload, revision });
}

// The same, by place; empty once the task was fetched again.
export function storedOf(task) {
  const start = `${STORED}${task}:`;
  return new Map(keep.keys(start).map((key) => [key.slice(start.length), keep.get(key)]));
}

// → {task, forms} as they stand, or null.
export async function keptTask(campaign, rater) {
  if (!works) return null;
  const answer = await caches.match(PLACE, { cacheName: CACHE });
  const found = answer ? await answer.json() : null;
  if (!found || found.campaign !== campaign || found.rater !== rater || keep.get("task") !== found.task.task) return null;
  for (const one of judged(found.task)) {
    const said = keep.get(`${STORED}${found.task.task}:${one.place}`);
    if (said) one.of.judgment = said;
  }
  const { task } = found.task;
  found.task.missing = found.task.missing.filter((one) => !keep.get(`${STORED}${task}:${placeOf(one)}`));
  return found;
}

// Whatever of a task can be judged, by the place that its answer has.
function judged(task) {
  return [
    ...task.items.map((item) => ({ place: `${item.item}`, of: item })),
    ...task.items.flatMap((item) => item.segments.map((segment) => ({ place: `${item.item}/${segment.segment}`, of: segment }))),
    ...task.screens.map((screen) => ({ place: `screens/${screen.screen}`, of: screen })),
  ];
}

export async function forgetTask() {
  if (works) await Promise.all([CACHE, MEDIA].map((name) => caches.delete(name)));
}

// The worker keeps the files of the task too, up to a limit; heard: what became of it.
export async function keepMedia(files, heard) {
  if (!works || !("serviceWorker" in navigator) || !files.shown.length) return;
  const addresses = (await files.all()).map((one) => one.address);
  const { active } = await navigator.serviceWorker.ready;
  navigator.serviceWorker.onmessage = ({ data }) => heard(data.media);
  active.postMessage({ media: addresses });
}

const loaded = () =>
  performance.getEntriesByType("resource").map((one) => new URL(one.name))
    .filter((url) => url.origin === location.origin && url.pathname.startsWith("/assets/")).map((url) => url.pathname);

// Let the page itself be there without a network, too.
export async function startWorker() {
  if (!works || !("serviceWorker" in navigator)) return;
  const version = new URL(import.meta.url).pathname.split("/")[2];
  try {
    await navigator.serviceWorker.register(`/rate/worker.js?v=${version}`, { scope: "/rate" });
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof DOMException)) throw error; // switched off, or no network
    return;
  }
  const { active } = await navigator.serviceWorker.ready;
  active.postMessage({ keep: [location.pathname, ...new Set(loaded())] });
}
