"use strict";
// Shared by all charts: elements, numbers, scales, axes, and marks with tooltips.

document.documentElement.classList.add("scripted");
const report = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function attributed(made, attributes, text) {
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text; // never as HTML: names may hold anything
  return made;
}
const element = (name, attributes, text) => attributed(document.createElement(name), attributes, text);
const shape = (name, attributes, text) => attributed(document.createElementNS(SVG, name), attributes, text);

function digits(value, places = 4) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return value.toExponential(2);
  return String(Number(value.toPrecision(places)));
}
// A probability, rounded for people.
function likely(share) {
  if (share > 0 && share < 0.001) return "< 0.1\u00a0%";
  if (share < 1 && share > 0.999) return "> 99.9\u00a0%";
  const near = Math.min(share, 1 - share) < 0.01;
  return `${Number((100 * share).toFixed(near ? 1 : 0))}\u00a0%`;
}
const percent = (share) => `${digits(100 * share, 3)}\u00a0%`;
const between = (lower, upper) => `${digits(lower)} to ${digits(upper)}`;
const shortened = (text, most) => (text.length > most ? text.slice(0, Math.max(1, most - 1)) + "…" : text);

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  return low === high ? [low - (Math.abs(low) || 1) * 0.05, high + (Math.abs(high) || 1) * 0.05] : [low, high];
}

function padded([low, high], share = 0.04) {
  return [low - share * (high - low), high + share * (high - low)];
}

function ticks([low, high], wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

const scale = ([low, high], [from, to]) => (value) => from + ((value - low) / (high - low)) * (to - from);

// A chart with axes. x and y: {domain, title, ticks, label}; fills its container at any width.
function frame(holder, { x, y, height = 320, left = 56, most = 832, title }) {
  holder.replaceChildren();
  const width = Math.max(240, Math.min(most, holder.clientWidth));
  const bottom = x.title ? 50 : 28;
  const [top, right] = [14, 14];
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "img", "aria-label": title });
  svg.style.maxWidth = `${width}px`;
  const at = {
    x: scale(x.domain, [left, width - right]),
    y: scale(y.domain, [height - bottom, top]),
  };
  const xTicks = x.ticks || ticks(x.domain, (width - left) / 90);
  for (const value of y.ticks || ticks(y.domain, (height - bottom) / 55)) {
    const place = at.y(value);
    svg.append(shape("line", { class: "grid", x1: left, x2: width - right, y1: place, y2: place }));
    if (!y.silent) svg.append(shape("text", { x: left - 8, y: place + 4, "text-anchor": "end" }, digits(value)));
  }
  xTicks.forEach((value, k) => {
    svg.append(shape("text", { x: at.x(value), y: height - bottom + 18, "text-anchor": "middle" }, x.label ? x.label(k) : digits(value)));
  });
  if (x.title) svg.append(shape("text", { class: "axis-title", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, shortened(x.title, width / 8)));
  if (y.title) svg.append(shape("text", { class: "axis-title", x: -(top + height - bottom) / 2, y: 13, transform: "rotate(-90)", "text-anchor": "middle" }, shortened(y.title, height / 7)));
  holder.append(svg);
  return { svg, at, width, height, left, right, top, bottom };
}

const tip = document.getElementById("tip");

function showTip(lines, place) {
  tip.replaceChildren(...lines.map((line) => element("div", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(place.x + 14, document.documentElement.clientWidth - box.width - 8));
  const above = place.y - box.height - 12;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 8 ? above : place.y + 16}px`;
}
const hideTip = () => { tip.hidden = true; };

// Marks {x, y, text} that show their text on hover, or when reached with the arrow keys.
function inspect({ svg }, marks) {
  const ring = shape("circle", { class: "ring", r: 7, visibility: "hidden" });
  svg.append(ring);
  let current = -1;
  const show = (index) => {
    current = index;
    const mark = marks[index];
    attributed(ring, { cx: mark.x, cy: mark.y, visibility: "visible" });
    const box = svg.getBoundingClientRect();
    const ratio = box.width / svg.viewBox.baseVal.width;
    showTip(mark.text(), { x: box.left + mark.x * ratio, y: box.top + mark.y * ratio });
  };
  const hide = () => { ring.setAttribute("visibility", "hidden"); hideTip(); };
  const point = (event) => {
    const box = svg.getBoundingClientRect();
    const ratio = svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    let nearest = -1, least = 45 ** 2;
    marks.forEach((mark, k) => {
      const apart = (mark.x - x) ** 2 + (mark.y - y) ** 2;
      if (apart < least) [nearest, least] = [k, apart];
    });
    if (nearest < 0) hide(); else show(nearest);
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step || !marks.length) return;
    event.preventDefault();
    show((current + step + marks.length) % marks.length);
  });
}
