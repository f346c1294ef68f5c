// While the network is away, the task page and the files that it is made of come from here. Nothing else does: requests
// to the interface are none of this worker's business.

const PREFIX = "plumbline-rate-";
const CACHE = PREFIX + new URL(location.href).searchParams.get("v");
const MEDIA = "plumbline-media";
const MEDIA_PATH = /^\/v1\/tasks\/[\w-]+\/media\/m_[0-9a-f]{32}$/;
const MOST_MEDIA = 200 * 1024 * 1024; // bytes of one task that are kept
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

// The files of the task at hand, by their paths: what is signed changes, what it names does not.
async function keepMedia(addresses, client) {
  const cache = await caches.open(MEDIA);
  const paths = new Set(addresses.map((one) => new URL(one, location.origin).pathname));
  for (const request of await cache.keys()) if (!paths.has(new URL(request.url).pathname)) await cache.delete(request);
  let size = 0;
  for (const address of addresses) {
    const path = new URL(address, location.origin).pathname;
    const kept = await cache.match(path);
    const answer = kept ?? await fetch(address, { credentials: "same-origin" }).catch(() => null);
    if (!answer?.ok) continue;
    size += Number(answer.headers.get("content-length"));
    if (size > MOST_MEDIA) {
      await answer.body?.cancel();
      client?.postMessage({ media: "too large" });
      return;
    }
    if (!kept) await cache.put(path, answer).catch(() => null); // no room
  }
  client?.postMessage({ media: "kept" });
}

// From the network where there is one; without, the part of the kept file that is asked for.
async function media(request, path) {
  try {
    const answer = await fetch(request);
    if (answer.status < 500) return answer;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const kept = await (await caches.open(MEDIA)).match(path);
  if (!kept) return Response.error();
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
  if (!range) return kept;
  const body = await kept.blob();
  const start = Number(range[1]);
  const end = Math.min(range[2] ? Number(range[2]) : body.size - 1, body.size - 1);
  const headers = { "Content-Type": kept.headers.get("content-type"), "Accept-Ranges": "bytes" };
  if (start > end) return new Response(null, { status: 416, headers: { ...headers, "Content-Range": `bytes */${body.size}` } });
  return new Response(body.slice(start, end + 1), {
    status: 206,
    headers: { ...headers, "Content-Range": `bytes ${start}-${end}/${body.size}`, "Content-Length": String(end + 1 - start) },
  });
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
self.addEventListener("message", (event) => event.waitUntil(
  event.data.media ? keepMedia(event.data.media, event.source) : keepAll(event.data.keep),
));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate" && PAGES.includes(url.pathname)) event.respondWith(page(request, url.pathname));
  else if (MEDIA_PATH.test(url.pathname)) event.respondWith(media(request, url.pathname));
  else if (url.pathname.startsWith("/assets/")) event.respondWith(asset(request));
});
