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
