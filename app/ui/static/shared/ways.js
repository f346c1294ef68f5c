// Where the ways to the pages of a campaign do not all fit a screen, the one to this page is in sight.

const way = document.querySelector(".tabs [aria-current]");
if (way) {
  const ways = way.closest(".tabs");
  ways.scrollTop = way.offsetTop - ways.offsetTop - way.offsetHeight;
}
