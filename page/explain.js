"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const sections = [...document.querySelectorAll("main section")], tokens = [...document.querySelectorAll("pre i")];
const map = $("map"), count = tokens.length, sum = data.norm.reduceRight((all, one) => all + one, 0);
const share = data.norm.map(one => one / sum), from = new Array(count);
tokens.forEach((token, i) => { token.n = i; });
/* the end of a token that the block before holds */
document.querySelectorAll("pre s").forEach(rest => { rest.n = rest.parentNode.querySelector("i").n - 1; });
for (let i = count - 1, all = 0; i >= 0; i--) from[i] = all += share[i];
for (let i = 0, whole = from[0]; i < count; i++) from[i] /= whole;
const order = [...share.keys()].sort((a, b) => share[b] - share[a] || b - a), rank = new Array(count);
order.forEach((i, k) => { rank[i] = k; });

function text_of(i) {
  const next = tokens[i].nextElementSibling ? null : tokens[i].closest("section").nextElementSibling;
  const rest = next && next.querySelector("s");
  return tokens[i].textContent + (rest ? rest.textContent : "");
}

/* ---- values of one token ---- */
const percent = value => (100 * value).toPrecision(3) + "\u00a0%";
function values(i) {
  const text = JSON.stringify(text_of(i)).slice(0, 60);
  return `${text}  id ${data.id[i]}\nposition ${i + 1}, distance ${count - 1 - i}, line ${data.line[i]}\n` +
    `share ${percent(share[i])}, rank ${rank[i] + 1} of ${count}\nfrom here on ${percent(from[i])}\nnorm ${data.norm[i].toPrecision(6)}` +
    (data.change && data.change[i] !== null ? `\nleft out, log p changes by ${data.change[i].toPrecision(4)}` : "");
}
let held = -1; /* a token that was picked keeps its values in sight */
function tell(i) {
  const tip = $("tip"), box = tokens[i].getClientRects()[0] || tokens[i].getBoundingClientRect();
  tip.textContent = values(i);
  tip.hidden = false;
  const left = Math.min(box.left, innerWidth - tip.offsetWidth - (map.clientWidth || 0) - 16), below = box.bottom + 8;
  tip.style.left = Math.max(8, left) + "px";
  tip.style.top = (below + tip.offsetHeight > innerHeight ? box.top - tip.offsetHeight - 8 : below) + "px";
}
document.querySelector("main").addEventListener("mouseover", event => {
  const token = event.target.closest("pre i, pre s");
  held = -1;
  if (token) tell(token.n);
  else $("tip").hidden = true;
});
document.querySelector("main").addEventListener("mouseleave", () => { $("tip").hidden = true; });
document.querySelector("main").addEventListener("click", event => {
  const token = event.target.closest("pre i, pre s");
  if (token) pick(token.n, false);
});

/* ---- one token after the other by share ---- */
let now = -1;
function pick(i, scroll = true) {
  if (now >= 0) tokens[now].classList.remove("now");
  now = i;
  tokens[i].classList.add("now");
  if (scroll) tokens[i].scrollIntoView({block: "center"});
  held = i;
  $("at").textContent = `${rank[i] + 1} of ${count}: ${percent(share[i])}`;
  requestAnimationFrame(() => { tell(i); draw(); });
}
const step = by => pick(order[now < 0 ? 0 : Math.min(count - 1, Math.max(0, rank[now] + by))]);
$("down").onclick = () => step(1);
$("up").onclick = () => step(-1);
$("top").addEventListener("click", event => {
  const row = event.target.closest("tr[data-i]");
  if (!row) return;
  event.preventDefault();
  pick(+row.dataset.i);
});

/* ---- search ---- */
let whole = "", starts = null, places = [], place = -1, marked = [];
function prepare() { /* the text as it is seen, and where each token begins in it */
  if (starts) return;
  const texts = tokens.map((token, i) => text_of(i).toLowerCase());
  let at = 0;
  starts = texts.map(text => { const start = at; at += text.length; return start; });
  whole = texts.join("");
}
function token_at(offset) {
  let low = 0, high = count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle; else high = middle - 1;
  }
  return low;
}
function find(text) {
  prepare();
  marked.forEach(token => token.classList.remove("hit"));
  marked = [];
  places = [];
  place = -1;
  const wanted = text.toLowerCase();
  for (let at = wanted ? whole.indexOf(wanted) : -1; at >= 0; at = whole.indexOf(wanted, at + wanted.length)) {
    const first = token_at(at), last = token_at(at + wanted.length - 1);
    places.push(first);
    for (let i = first; i <= last; i++) { tokens[i].classList.add("hit"); marked.push(tokens[i]); }
  }
  $("found").textContent = wanted ? `${places.length} found` : "";
  if (places.length) go(1);
  draw();
}
function go(by) {
  if (!places.length) return;
  place = (place + by + places.length) % places.length;
  held = -1;
  $("tip").hidden = true;
  tokens[places[place]].scrollIntoView({block: "center"});
  $("found").textContent = `${place + 1} of ${places.length}`;
}
let later;
$("find").oninput = event => { clearTimeout(later); later = setTimeout(find, 120, event.target.value); };
$("find").onkeydown = event => {
  if (event.key === "Enter") { if (place < 0) find(event.target.value); else go(event.shiftKey ? -1 : 1); }
  if (event.key === "Escape") { event.target.value = ""; find(""); event.target.blur(); }
};
$("on").onclick = () => go(1);
$("back").onclick = () => go(-1);
document.addEventListener("keydown", event => {
  if (event.target === $("find") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "n" || event.key === "j") step(1);
  else if (event.key === "p" || event.key === "k") step(-1);
  else if (event.key === "l") pick(Math.min(count - 1, now + 1));
  else if (event.key === "h") pick(Math.max(0, now - 1));
  else if (event.key === "/") { $("find").focus(); event.preventDefault(); }
  else if (event.key === "Escape") { held = -1; $("tip").hidden = true; }
});

/* ---- the whole text at a glance: a bar a row, by the largest share in it; a frame around what is in sight ---- */
const dark = matchMedia("(prefers-color-scheme: dark)");
function in_sight() {
  const first = sections.findIndex(one => one.getBoundingClientRect().bottom > 0);
  let last = first;
  while (last + 1 < sections.length && sections[last + 1].getBoundingClientRect().top < innerHeight) last++;
  const part = (one, y) => {
    const box = one.getBoundingClientRect(), start = one.id.slice(1) - 1, next = one.nextElementSibling;
    const end = next ? next.id.slice(1) - 1 : count;
    return start + (end - start) * Math.min(1, Math.max(0, (y - box.top) / (box.height || 1)));
  };
  return first < 0 ? [count, count] : [part(sections[first], 0), part(sections[last], innerHeight)];
}
function draw() {
  const ratio = devicePixelRatio || 1, width = map.clientWidth, height = map.clientHeight, context = map.getContext("2d");
  if (!width) return;
  map.width = width * ratio;
  map.height = height * ratio;
  context.scale(ratio, ratio);
  const rows = Math.min(count, Math.floor(height / 2)), each = height / rows, most = share[order[0]];
  context.fillStyle = dark.matches ? "#f4b13d" : "#c02b18";
  for (let row = 0; row < rows; row++) {
    let largest = 0;
    for (let i = Math.floor(row * count / rows); i < Math.floor((row + 1) * count / rows); i++) largest = Math.max(largest, share[i]);
    const long = Math.sqrt(largest / most) * (width - 10);
    context.fillRect(width - 4 - long, row * each, long, Math.max(1, each - .5));
  }
  const style = getComputedStyle(document.documentElement), [top, bottom] = in_sight();
  context.fillStyle = style.getPropertyValue("--frame");
  context.fillRect(0, top / count * height, width, Math.max(4, (bottom - top) / count * height));
  context.fillStyle = style.getPropertyValue("--pick");
  const step = Math.max(1, Math.ceil(places.length / 2000));
  for (let i = 0; i < places.length; i += step) context.fillRect(0, places[i] / count * height, 4, 2);
  if (now >= 0) context.fillRect(0, now / count * height - 1, width, 2);
}
let waiting = false;
const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } };
function jump(event) {
  const i = Math.min(count - 1, Math.max(0, Math.floor(event.clientY / map.clientHeight * count)));
  tokens[i].scrollIntoView({block: "center"});
}
map.addEventListener("pointerdown", event => { map.setPointerCapture(event.pointerId); jump(event); });
map.addEventListener("pointermove", event => { if (event.buttons) jump(event); });
addEventListener("scroll", () => {
  if (held >= 0) tell(held);
  else $("tip").hidden = true;
  redraw();
}, {passive: true});
function fit() { /* a map only where there is something to scroll */
  const root = document.documentElement;
  root.classList.remove("mapped");
  root.classList.toggle("mapped", document.querySelector("main").scrollHeight > innerHeight);
  draw();
}
addEventListener("resize", fit);
dark.addEventListener("change", redraw);
fit();
})();
