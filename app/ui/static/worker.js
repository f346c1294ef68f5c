// While the network is away, the task page and the files that it is made of come from here. Nothing else does: requests
// to the interface are none of this worker's business.

const PREFIX = "plumbline-rate-";
const CACHE = PREFIX + new URL(location.href).searchParams.get("v");
const PAGES = ["/rate", "/rate/guidelines"];
const ANY = { ignoreVary: true };
let thrownAway = 0; // times; what was asked for before the last of them is not kept

async function takeOver() {
  const others = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(others.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function keep(path, answer, asked) {
  if (asked !== thrownAway) return;
  const cache = await caches.open(CACHE);
  await cache.put(path, answer);
  if (asked !== thrownAway) await cache.delete(path, ANY); // meanwhile
}

async function throwAway() {
  thrownAway += 1;
  const cache = await caches.open(CACHE);
  await Promise.all(PAGES.map((one) => cache.delete(one, ANY)));
}

async function keepAll(paths) {
  const asked = thrownAway;
  const cache = await caches.open(CACHE);
  for (const path of paths) {
    if (await cache.match(path, ANY)) continue;
    try {
      const answer = await fetch(path, { credentials: "same-origin", headers: { Accept: "text/html, */*" } });
      if (answer.ok && !answer.redirected) await keep(path, answer, asked);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // the network went away; the next page keeps it
    }
  }
}

// Pages come from the network where there is one; who is led elsewhere is signed out, and nothing of theirs stays.
async function page(request, path) {
  const asked = thrownAway;
  const cache = await caches.open(CACHE);
  const kept = await cache.match(path, ANY);
  let answer;
  try {
    answer = await fetch(request);
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
  if (answer.status >= 500 && kept) return kept;
  if (answer.ok && !answer.redirected) await keep(path, answer.clone(), asked);
  else if (answer.status < 500) await throwAway();
  return answer;
}

// An address holds a digest of what it names, so what was kept is right.
async function asset(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request, ANY);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(takeOver()));
self.addEventListener("message", (event) => event.waitUntil(keepAll(event.data.keep)));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate" && PAGES.includes(url.pathname)) event.respondWith(page(request, url.pathname));
  else if (url.pathname.startsWith("/assets/")) event.respondWith(asset(request));
});
