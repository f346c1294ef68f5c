// Whether somebody has just asked for what a page shows, by a form of it, or has only opened it.

const ASKED = "asked"; // the page that was asked, until it is there again

export const asks = () => sessionStorage.setItem(ASKED, location.pathname);

// → whether this page was asked; it is told once.
export function hasAsked() {
  const asked = sessionStorage.getItem(ASKED) === location.pathname;
  sessionStorage.removeItem(ASKED);
  return asked;
}
