// The charts. Each function takes a container and the state of the page, and redraws its chart.

const dot = (x, y, r = 4.5, kind = "dot") => shape("circle", { class: kind, cx: x, cy: y, r });
const segment = (kind, x1, y1, x2, y2) => shape("line", { class: kind, x1, y1, x2, y2 });

function reliabilityChart(holder, state) {
  const view = report.reliability.views[state.reliability];
  const side = Math.min(460, Math.max(300, holder.clientWidth));
  const picture = frame(holder, {
    title: `Reliability diagram of the ${view.name}. Arrow keys walk through groups.`,
    x: { domain: [0, 1], title: `predicted ${view.name}` },
    y: { domain: [0, 1], title: "observed share of rows" },
    height: side, most: 520,
  });
  const { svg, at } = picture;
  svg.append(segment("ideal", at.x(0), at.y(0), at.x(1), at.y(1)));
  for (const group of view.groups) {
    const [x, y] = [at.x(group.predicted), at.y(group.seen)];
    svg.append(segment("whisker faint", at.x(group.credible[0]), y, at.x(group.credible[1]), y));
    svg.append(segment("whisker", x, at.y(group.band[0]), x, at.y(group.band[1])));
  }
  const marks = view.groups.map((group) => ({
    x: at.x(group.predicted), y: at.y(group.seen),
    text: () => [`${group.rows} rows`, `predicted ${digits(group.predicted)} (${between(...group.credible)})`, `observed ${digits(group.seen)}`, `by chance ${between(...group.band)}`],
  }));
  for (const mark of marks) svg.append(dot(mark.x, mark.y, 5));
  inspect(picture, marks);
}

function coverageChart(holder) {
  const levels = report.coverage.levels;
  const picture = frame(holder, {
    title: "Coverage of predictive intervals against their level. Arrow keys walk through levels.",
    x: { domain: [0, 1], title: "stated coverage" },
    y: { domain: [0, 1], title: "share of values inside" },
    height: Math.min(440, Math.max(300, holder.clientWidth)), most: 520,
  });
  const { svg, at } = picture;
  const corner = (level, k) => `${at.x(level.level)},${at.y(level.band[k])}`;
  const outline = [...levels.map((l) => corner(l, 0)), ...[...levels].reverse().map((l) => corner(l, 1))];
  svg.append(shape("polygon", { class: "band", points: outline.join(" ") }));
  svg.append(segment("ideal", at.x(0), at.y(0), at.x(1), at.y(1)));
  svg.append(shape("polyline", { class: "line", points: levels.map((l) => `${at.x(l.level)},${at.y(l.covered)}`).join(" ") }));
  const marks = levels.map((level) => ({
    x: at.x(level.level), y: at.y(level.covered),
    text: () => [`${percent(level.level)} intervals`, `covered ${percent(level.covered)}`, `by chance ${percent(level.band[0])} to ${percent(level.band[1])}`, `mean width ${digits(level.width)}`],
  }));
  for (const mark of marks) svg.append(dot(mark.x, mark.y, 5));
  inspect(picture, marks);
}

function isMissed(index, state) {
  const rows = report.predictions;
  if (report.task === "classification") return rows.observed[index] !== rows.predicted[index];
  const bounds = rows.predictive[state.coverage];
  return rows.observed[index] < bounds.lower[index] || rows.observed[index] > bounds.upper[index];
}

function uncertaintyChart(holder, state) {
  const rows = report.predictions;
  const [low, high] = extent(rows.aleatoric);
  // equal noise everywhere would give a vertical line of points: use the prediction instead
  const flat = rows.mean !== undefined && high - low < 0.12 * Math.abs(high);
  const across = flat ? rows.mean : rows.aleatoric;
  const unit = report.task === "classification" ? "nats" : `sd, in units of ${report.target}`;
  const picture = frame(holder, {
    title: "Uncertainty of each row that comes from few rows, against chance. Arrow keys walk through rows.",
    x: { domain: padded(extent(across)), title: flat ? `prediction (noise is ${digits((low + high) / 2, 3)} ± ${digits((high - low) / 2, 1)} everywhere)` : `chance (${unit})` },
    y: { domain: padded(extent([0, ...rows.epistemic])), title: `from few rows (${unit})` },
    height: 380, left: 64,
  });
  const { svg, at } = picture;
  const order = across.map((_, k) => k).sort((a, b) => across[a] - across[b]);
  const marks = order.map((k) => ({
    x: at.x(across[k]), y: at.y(rows.epistemic[k]), index: k,
    text: () => [`row ${rows.row[k]}`, `epistemic ${digits(rows.epistemic[k])}`, `aleatoric ${digits(rows.aleatoric[k])}`, `observed ${observedText(k)}`, `predicted ${predictedText(k)}`],
  }));
  const misses = shape("g", {});
  for (const { x, y, index } of marks) {
    if (isMissed(index, state)) misses.append(shape("path", { class: "miss", d: `M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7` }));
    else svg.append(dot(x, y, 3.2, "point"));
  }
  svg.append(misses);
  inspect(picture, marks);
}

function importanceChart(holder, state) {
  const found = report.importance, bounds = found.intervals[state.coverage];
  const n = found.name.length, wide = Math.min(832, holder.clientWidth);
  const left = Math.min(210, Math.max(90, wide * 0.36));
  const picture = frame(holder, {
    title: "Importance of features with credible intervals. Arrow keys walk through features.",
    x: { domain: padded(extent([0, ...bounds.lower, ...bounds.upper])), title: "importance" },
    y: { domain: [n - 0.5, -0.5], ticks: [], silent: true },
    height: n * 27 + 70, left,
  });
  const { svg, at } = picture;
  svg.append(segment("zero", at.x(0), at.y(-0.5), at.x(0), at.y(n - 0.5)));
  const marks = found.name.map((name, k) => {
    const y = at.y(k);
    svg.append(shape("text", { class: "name", x: left - 12, y: y + 4, "text-anchor": "end" }, shortened(name, left / 8 - 1)));
    svg.append(segment("whisker", at.x(bounds.lower[k]), y, at.x(bounds.upper[k]), y));
    svg.append(dot(at.x(found.mean[k]), y));
    return { x: at.x(found.mean[k]), y, text: () => [name, `mean ${digits(found.mean[k])}`, `${percent(report.levels[state.coverage])} interval ${between(bounds.lower[k], bounds.upper[k])}`, `largest of all in ${percent(found.largest[k])} of draws`] };
  });
  inspect(picture, marks);
}

const correlationText = (value) => value.toFixed(2).replace(/^-0\.00$/, "0.00").replace("-", "−");

function correlationChart(holder) {
  const { correlation, name } = report.importance;
  const n = correlation.length, left = Math.min(200, holder.clientWidth * 0.36);
  const wide = Math.min(left + 46 * n + 16, holder.clientWidth), side = (wide - left - 16) / n;
  const picture = frame(holder, {
    title: "Posterior correlations of importances. Arrow keys walk through pairs.",
    x: { domain: [-0.5, n - 0.5], ticks: correlation.map((_, k) => k), label: (k) => String(k + 1) },
    y: { domain: [n - 0.5, -0.5], ticks: [], silent: true },
    height: side * n + 44, left, most: wide,
  });
  const { svg, at } = picture, marks = [], size = at.x(1) - at.x(0) - 2;
  for (let i = 0; i < n; i++) {
    svg.append(shape("text", { class: "name", x: left - 8, y: at.y(i) + 4, "text-anchor": "end" }, `${shortened(name[i], left / 8 - 3)} ${i + 1}`));
    for (let j = 0; j < i; j++) {
      const value = correlation[i][j], [x, y] = [at.x(j) - size / 2, at.y(i) - size / 2];
      const cell = shape("rect", { class: value === null ? "empty" : value < 0 ? "cell negative" : "cell", x, y, width: size, height: size, rx: 2 });
      if (value !== null) cell.setAttribute("fill-opacity", 0.05 + 0.9 * Math.abs(value));
      svg.append(cell);
      if (value !== null && size > 32) svg.append(shape("text", { class: Math.abs(value) > 0.6 ? "cell-text strong" : "cell-text", x: at.x(j), y: at.y(i) + 4 }, correlationText(value)));
      marks.push({ x: at.x(j), y: at.y(i), text: () => [`${name[i]} and ${name[j]}`, `correlation ${value === null ? "unknown: one does not vary" : correlationText(value)}`] });
    }
  }
  inspect(picture, marks);
}

function effectsChart(holder, state) {
  const feature = report.effects.features[state.feature];
  const curve = feature.curves[state.effect], bounds = curve.intervals[state.coverage];
  const places = feature.numeric ? feature.at : feature.at.map((_, k) => k);
  const whole = feature.curves.length ? feature.curves[state.effect].intervals[report.levels.length - 1] : bounds;
  const room = Math.floor(Math.min(832, holder.clientWidth) / places.length / 7.5);
  const picture = frame(holder, {
    title: `Effect of ${feature.name} with its credible band. Arrow keys walk through values.`,
    x: { domain: feature.numeric ? padded(extent(places), 0.02) : [-0.5, places.length - 0.5], title: feature.name, ...(feature.numeric ? {} : { ticks: places, label: (k) => shortened(feature.at[k], room) }) },
    y: { domain: padded(extent([...whole.lower, ...whole.upper]), 0.06), title: report.task === "classification" ? report.effects.views[state.effect] : report.target },
    height: 360, left: 64,
  });
  const { svg, at, height, bottom } = picture;
  const line = (values) => values.map((value, k) => `${at.x(places[k])},${at.y(value)}`);
  if (feature.numeric) {
    svg.append(shape("polygon", { class: "band", points: [...line(bounds.lower), ...line(bounds.upper).reverse()].join(" ") }));
    svg.append(shape("polyline", { class: "line", points: line(curve.mean).join(" ") }));
    for (const decile of feature.deciles) svg.append(segment("tick", at.x(decile), height - bottom, at.x(decile), height - bottom - 7));
  } else {
    places.forEach((place, k) => svg.append(segment("whisker", at.x(place), at.y(bounds.lower[k]), at.x(place), at.y(bounds.upper[k]))));
  }
  const marks = places.map((place, k) => ({
    x: at.x(place), y: at.y(curve.mean[k]),
    text: () => [`${feature.name} = ${feature.numeric ? digits(feature.at[k]) : feature.at[k]}`, `mean ${digits(curve.mean[k])}`, `${percent(report.levels[state.coverage])} band ${between(bounds.lower[k], bounds.upper[k])}`],
  }));
  for (const mark of marks) svg.append(dot(mark.x, mark.y, feature.numeric ? 3.2 : 5));
  inspect(picture, marks);
}
