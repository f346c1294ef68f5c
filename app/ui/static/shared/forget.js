// What the browser keeps so that a rater's page works without a network: gone at sign-out, and when somebody signs in.
// Answers that are not sent yet are none of it: they stay until the server has them.

const CACHES = "plumbline-";
const STORED = /^plumbline:[^:]*:[^:]*:s:/;

export async function forgetKept() {
  if ("caches" in globalThis) {
    const names = (await caches.keys()).filter((name) => name.startsWith(CACHES));
    await Promise.all(names.map((name) => caches.delete(name)));
  }
  try {
    for (const key of Object.keys(localStorage)) if (STORED.test(key)) localStorage.removeItem(key);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error; // storage is forbidden: nothing was kept
  }
}

// How many answers wait in this browser for their rater's next session.
const UNSENT = /^plumbline:[^:]*:[^:]*:a:([^@]*)@/;

export function unsent() {
  try {
    return new Set(Object.keys(localStorage).filter((key) => UNSENT.test(key)).map((key) => key.split("@")[0])).size;
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return 0;
  }
}
