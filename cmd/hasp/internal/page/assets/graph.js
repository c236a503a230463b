// Shows the last events of an object, and draws who held it when, with those that waited below.
const most = 100, step = 22, label = 130;
const rows = document.getElementById("events");
const graph = document.getElementById("graph");
let events = [];

document.addEventListener("hasp-stream", () => {
  events = [];
  rows.replaceChildren();
});

document.addEventListener("hasp-event", ({ detail }) => {
  events.push(detail);
  events = events.slice(-most);
  const row = document.createElement("tr");
  const at = new Date(detail.at);
  for (const text of [at.toLocaleTimeString([], { hour12: false }), detail.kind, detail.error || detail.owner]) {
    row.insertCell().textContent = text;
  }
  rows.prepend(row);
  while (rows.rows.length > most) rows.deleteRow(-1);
  draw();
});

function element(parent, name, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  if (text !== undefined) e.textContent = text;
  return parent.appendChild(e);
}

const holders = (object) => object.holders;
const waiters = (object) => object.queue?.first;

// spans returns for each owner from when to when it was in a list of the states.
function spans(list, now) {
  const all = new Map();
  events.forEach((event, i) => {
    if (event.kind === "gap") return;
    const begin = Date.parse(event.at), end = i + 1 < events.length ? Date.parse(events[i + 1].at) : now;
    for (const h of list(event.object) ?? []) {
      const owner = h.revoked ? "revoked" : h.owner;
      if (!all.has(owner)) all.set(owner, []);
      const last = all.get(owner).at(-1);
      if (last?.[1] === begin) last[1] = end;
      else all.get(owner).push([begin, end]);
    }
  });
  return all;
}

function draw() {
  const first = events.find(({ object }) => holders(object) || waiters(object));
  if (!first) return;
  const width = Math.max(300, graph.clientWidth);
  const begin = Date.parse(first.at), now = Math.max(Date.now(), begin + 1000);
  const held = spans(holders, now), waits = spans(waiters, now);
  const lanes = [...held].map(([owner, all]) => ["held", owner, all]).concat([...waits].map(([owner, all]) => ["waits", owner, all])).slice(0, 30);
  const height = lanes.length * step + 20;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${held.size} owners held it, and ${waits.size} waited, in ${Math.round((now - begin) / 1000)} s. The table below has the events.`);
  const x = (at) => label + ((at - begin) / (now - begin)) * (width - label);
  lanes.forEach(([kind, owner, all], i) => {
    const y = i * step;
    element(svg, "text", { x: 0, y: y + 14 }, (kind === "held" ? "" : "waits: ") + (owner.length > 8 ? "\u2026" : "") + owner.slice(-8));
    for (const [from, to] of all) {
      const bar = element(svg, "rect", { class: kind, x: x(from), y: y + (kind === "held" ? 2 : 7), width: Math.max(2, x(to) - x(from)), height: kind === "held" ? 16 : 6 });
      element(bar, "title", {}, owner);
    }
  });
  element(svg, "text", { x: label, y: height - 4 }, new Date(begin).toLocaleTimeString([], { hour12: false }));
  element(svg, "text", { x: width, y: height - 4, "text-anchor": "end" }, "now");
  graph.replaceChildren(svg);
}

setInterval(draw, 1000);
addEventListener("resize", draw);
