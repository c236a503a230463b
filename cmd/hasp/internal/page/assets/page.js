// Shows objects live. The server renders and escapes each card; this script only puts it into its place.
const objects = document.getElementById("objects");
const state = document.getElementById("state");
const one = objects.dataset.name;
const most = 100; // names that a page may show at a time
const listed = 500; // names that stay on the page when they are no longer found
const cards = new Map(); // name: its element, its HTML, the longest leases that were seen, by label, and when it was found
const visible = new Set();
let id, reporting, reopening, since, source, failed, round = 0;

const sight = new IntersectionObserver((entries) => {
  for (const e of entries) {
    e.isIntersecting ? visible.add(e.target.dataset.name) : visible.delete(e.target.dataset.name);
  }
  clearTimeout(reporting);
  reporting = setTimeout(report, 100);
});

// report tells the server which names are seen.
function report() {
  if (!id || one) return;
  const names = JSON.stringify([...visible].slice(0, most));
  fetch("seen?stream=" + encodeURIComponent(id), { method: "POST", body: names }).catch(() => {});
}

// placed returns the card of a name, which at first has only the name.
function placed(name) {
  let card = cards.get(name);
  if (card) return card;
  const place = document.createElement("li");
  place.dataset.name = name;
  place.append(document.createElement("article"));
  place.firstChild.textContent = name;
  const next = [...cards.keys()].filter((other) => other > name).sort()[0];
  objects.insertBefore(place, next === undefined ? null : cards.get(next).place);
  card = { place };
  cards.set(name, card);
  sight.observe(place);
  return card;
}

function show({ name, html, left }) {
  const card = placed(name);
  if (card.html !== html) replace(card, html);
  card.html = html;
  const longest = {};
  card.place.querySelectorAll("progress").forEach((bar, i) => {
    bar.ends = performance.now() + left[i];
    const label = bar.getAttribute("aria-label");
    bar.max = longest[label] = Math.max(left[i], card.longest?.[label] ?? 1);
  });
  card.longest = longest;
  tick();
}

// leave takes names off the page that the last round did not find, if there are too many.
function leave() {
  for (const [name, card] of cards) {
    if (cards.size <= listed) return;
    if (card.round === round) continue;
    sight.unobserve(card.place);
    visible.delete(name);
    card.place.remove();
    cards.delete(name);
  }
}

// replace keeps the focus where it was.
function replace(card, html) {
  const all = () => [...card.place.querySelectorAll("a, button")];
  const focused = all().indexOf(document.activeElement);
  card.place.innerHTML = html;
  if (focused >= 0) (all()[focused] ?? all()[0])?.focus();
}

// tick runs the bars down.
function tick() {
  for (const bar of objects.querySelectorAll("progress")) {
    const left = Math.max(0, bar.ends - performance.now());
    bar.value = left;
    bar.nextElementSibling.textContent = left > 0 ? (left / 1000).toFixed(1) + " s left" : ""; // It may just not be read.
  }
}

function open() {
  clearTimeout(reopening);
  source?.close();
  const query = one ? "name=" + encodeURIComponent(one) : "q=" + encodeURIComponent(objects.dataset.text);
  source = new EventSource("live?" + query);
  const on = (event, f) => source.addEventListener(event, (e) => f(JSON.parse(e.data)));
  on("stream", (text) => {
    id = text;
    failed = false;
    if (!document.body.classList.contains("old")) state.textContent = "Live.";
    document.dispatchEvent(new Event("hasp-stream"));
    report();
  });
  on("found", (name) => { placed(name).round = round; });
  on("object", (object) => {
    fresh();
    show(object);
  });
  on("failed", (text) => {
    failed = true;
    old(text);
  });
  on("listed", (more) => {
    if (failed) return failed = false;
    fresh();
    leave();
    round++;
    const n = cards.size;
    state.textContent = n === 0 ? "No objects." : `Live: ${n} ${n === 1 ? "name" : "names"}.` + (more ? " There are more: search." : "");
  });
  on("happened", (event) => document.dispatchEvent(new CustomEvent("hasp-event", { detail: event })));
  source.onerror = () => {
    old("No connection to hasp serve. Trying again.");
    if (source.readyState === EventSource.CLOSED) reopening = setTimeout(reopen, 2000); // As after any answer but 200.
  };
}

// reopen opens the stream again, or has the token asked for.
async function reopen() {
  const answer = await fetch("object", { method: "HEAD" }).catch(() => {});
  if (answer?.status === 401) location.reload();
  else if (!document.hidden) open();
}

// old marks what is shown as old.
function old(text) {
  if (!document.body.classList.contains("old")) since = new Date().toLocaleTimeString([], { hour12: false });
  document.body.classList.add("old");
  state.textContent = `${text} What is below is of ${since}, or older.`;
}

function fresh() {
  if (document.body.classList.contains("old")) state.textContent = "Live.";
  document.body.classList.remove("old");
}

objects.addEventListener("click", async (e) => {
  const button = e.target.closest("button[data-kind]");
  if (!button) return;
  const { kind, name, owner } = button.dataset;
  if (!confirm(`Free ${name} at once, which ${owner} holds? Its command may run until its next renewal.`)) return;
  const answer = await fetch("release", { method: "POST", body: new URLSearchParams({ kind, name, owner }) });
  state.textContent = answer.ok ? `${name} was freed.` : await answer.text();
});

document.addEventListener("visibilitychange", () => {
  clearTimeout(reopening);
  document.hidden ? source.close() : open(); // A page that nobody sees costs no reads.
});
setInterval(tick, 100);
open();
