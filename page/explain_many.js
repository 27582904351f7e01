/* ---- one of several explanations at a time ---- */
(() => {
const view = document.getElementById("view"), rows = [...document.querySelectorAll("#index tbody tr")];
let now = -1, until = new AbortController();

/* The page's own script on a copy of the template. What it listens to ends when the next one is shown. */
function show(n) {
  if (n === now) return;
  until.abort();
  until = new AbortController();
  if (now >= 0) rows[now].classList.remove("shown");
  now = n;
  rows[n].classList.add("shown");
  rows[n].scrollIntoView({block: "nearest"});
  view.replaceChildren(document.getElementById(`e${n + 1}`).content.cloneNode(true));
  document.getElementById("which").textContent = `${n + 1} of ${rows.length}`;
  const listen = to => (event, act, options) => to.addEventListener(event, act, {...options, signal: until.signal});
  const media = query => {
    const found = matchMedia(query);
    return {get matches() { return found.matches; }, addEventListener: listen(found)};
  };
  explain({
    documentElement: document.documentElement,
    getElementById: id => view.querySelector(`#${id}`),
    querySelector: what => view.querySelector(what),
    querySelectorAll: what => view.querySelectorAll(what),
    addEventListener: listen(document),
  }, listen(window), media);
}
function turn(by) { location.hash = `#${Math.min(rows.length, Math.max(1, now + 1 + by))}`; }
function follow() {
  const wanted = +location.hash.slice(1);
  if (now >= 0 && isNaN(wanted)) return; /* a place in the page */
  show(wanted >= 1 && wanted <= rows.length ? Math.floor(wanted) - 1 : 0);
}
document.getElementById("left").onclick = () => turn(-1);
document.getElementById("right").onclick = () => turn(1);
document.getElementById("index").addEventListener("click", event => {
  const row = event.target.closest("tbody tr");
  if (row) location.hash = `#${rows.indexOf(row) + 1}`;
});
document.addEventListener("keydown", event => {
  if (event.target.id === "find" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "ArrowLeft") turn(-1);
  else if (event.key === "ArrowRight") turn(1);
});
addEventListener("hashchange", follow);
follow();
})();
