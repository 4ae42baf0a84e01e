// The page: its state, and the controls that change it.

const state = {
  coverage: Math.max(0, report.levels.indexOf(0.9)),
  reliability: 0, feature: 0, effect: 0,
  view: -1, search: "", sort: null, direction: 1, page: 0,
};

const pictures = {
  "reliability-chart": reliabilityChart,
  "coverage-chart": coverageChart,
  "uncertainty-chart": uncertaintyChart,
  "importance-chart": importanceChart,
  "correlation-chart": correlationChart,
  "effects-chart": effectsChart,
};

function draw(...ids) {
  for (const id of ids.length ? ids : Object.keys(pictures)) {
    const holder = document.getElementById(id);
    if (holder && holder.clientWidth) pictures[id](holder, state); // closed parts have no width
  }
}

// All coverage controls share one value.
for (const choice of document.querySelectorAll('[data-pick="coverage"] input')) {
  choice.addEventListener("change", () => {
    state.coverage = Number(choice.value);
    for (const twin of document.querySelectorAll(`[data-pick="coverage"] input[value="${choice.value}"]`)) twin.checked = true;
    drawTable(state);
    draw("uncertainty-chart", "importance-chart", "effects-chart");
  });
}

function onChoice(id, change) {
  const select = document.getElementById(id);
  if (select) select.addEventListener("change", () => change(Number(select.value)));
}
onChoice("reliability-view", (value) => { state.reliability = value; draw("reliability-chart"); });
onChoice("effect-feature", (value) => { state.feature = value; draw("effects-chart"); });
onChoice("effect-view", (value) => { state.effect = value; draw("effects-chart"); });
onChoice("table-view", (value) => { state.view = value; drawTable(state); });

document.getElementById("table-search").addEventListener("input", (event) => {
  Object.assign(state, { search: event.target.value, page: 0 });
  drawTable(state);
});
const turns = { first: () => 0, previous: () => state.page - 1, next: () => state.page + 1, last: () => Infinity };
for (const [id, turn] of Object.entries(turns)) {
  document.getElementById(`table-${id}`).addEventListener("click", () => { state.page = turn(); drawTable(state); });
}

// Charts are drawn when their part is opened; links open the part that they lead to.
for (const part of document.querySelectorAll("#details > details")) {
  part.addEventListener("toggle", () => { if (part.open) draw(); });
}
function openTarget() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();

// Highlight the current section in the table of contents.
const links = new Map([...document.querySelectorAll(".toc a")].map((link) => [link.hash.slice(1), link]));
const inView = new Set();
const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) inView[isIntersecting ? "add" : "delete"](target.id);
  const first = [...links.keys()].find((id) => inView.has(id));
  for (const [id, link] of links) if (id === first) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
}, { rootMargin: "-10% 0px -60% 0px" });
for (const id of links.keys()) watcher.observe(document.getElementById(id));

drawTable(state);
draw();
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  draw();
});
