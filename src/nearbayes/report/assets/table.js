// The table of predictions, with sorting, search and paging; only one page is in the DOM.

const PAGE = 15;
const isClasses = report.task === "classification";

const observedText = (k) => (isClasses ? report.classes[report.predictions.observed[k]] : digits(report.predictions.observed[k]));
const predictedText = (k) => (isClasses ? report.classes[report.predictions.predicted[k]] : digits(report.predictions.mean[k]));

// With several classes, the view of the most likely class differs by row.
function probabilityView(state) {
  const { views, predicted } = report.predictions;
  const of = (k) => (state.view >= 0 || views.length === 1 ? views[Math.max(0, state.view)] : views[predicted[k]]);
  return {
    mean: (k) => of(k).mean[k],
    lower: (k) => of(k).credible[state.coverage].lower[k],
    upper: (k) => of(k).credible[state.coverage].upper[k],
  };
}

function probabilityTitle(state) {
  const { views } = report.predictions;
  if (views.length === 1 && views[0].class !== null) return `Probability of ${report.classes[views[0].class]}`;
  return state.view >= 0 ? `Probability of ${report.classes[views[state.view].class]}` : "Probability of the most likely";
}

function setText(k, level) {
  const size = report.predictions.set_size[level][k];
  const named = report.predictions.ranked.slice(0, size).map((codes) => report.classes[codes[k]]);
  return named.join(", ") + (size > named.length ? ` and ${size - named.length} more` : "");
}

function classColumns(state) {
  const rows = report.predictions, view = probabilityView(state);
  const columns = [
    { key: "row", title: rows.called, value: (k) => rows.row[k], text: (k) => String(rows.row[k]) },
    { key: "observed", title: "Observed", value: observedText, text: observedText },
    { key: "predicted", title: "Answer", wide: true, value: predictedText, text: predictedText },
    { key: "mean", title: probabilityTitle(state), number: true, value: view.mean, text: (k) => likely(view.mean(k)) },
    { key: "credible", title: "Interval", number: true, value: (k) => view.upper(k) - view.lower(k), text: (k) => `${likely(view.lower(k))} to ${likely(view.upper(k))}` },
    { key: "picture", title: "", wide: true, picture: (k) => spark([0, 1], { inner: [view.lower(k), view.upper(k)], middle: view.mean(k) }) },
  ];
  if (report.classes.length === 2) return columns;
  return [...columns, { key: "set", title: "Plausible classes", wide: true, value: (k) => rows.set_size[state.coverage][k], text: (k) => setText(k, state.coverage) }];
}

function outcomeColumns(state) {
  const rows = report.predictions, [inner, outer] = [rows.credible[state.coverage], rows.predictive[state.coverage]];
  const widest = rows.predictive[report.levels.length - 1];
  const domain = extent([...widest.lower, ...widest.upper, ...rows.observed]);
  return [
    { key: "row", title: rows.called, value: (k) => rows.row[k], text: (k) => String(rows.row[k]) },
    { key: "observed", title: "Observed", number: true, value: (k) => rows.observed[k], text: observedText },
    { key: "mean", title: "Predicted", number: true, value: (k) => rows.mean[k], text: predictedText },
    { key: "predictive", title: "Range of the value", number: true, value: (k) => outer.upper[k] - outer.lower[k], text: (k) => between(outer.lower[k], outer.upper[k]) },
    { key: "credible", title: "Range of the average", number: true, wide: true, value: (k) => inner.upper[k] - inner.lower[k], text: (k) => between(inner.lower[k], inner.upper[k]) },
    { key: "picture", title: "", wide: true, picture: (k) => spark(domain, { outer: [outer.lower[k], outer.upper[k]], inner: [inner.lower[k], inner.upper[k]], middle: rows.mean[k], seen: rows.observed[k] }) },
  ];
}

const kinds = (column) => [column.number && "number", column.wide && "wide"].filter(Boolean).join(" ");

// Intervals of a row: thin line for y, thick line for its mean, dark tick for the observed value.
function spark(domain, { outer, inner, middle, seen }) {
  const at = scale(domain, [3, 125]);
  const svg = shape("svg", { class: "spark", viewBox: "0 0 128 16", "aria-hidden": "true" });
  svg.append(segment("rail", 3, 8, 125, 8));
  if (outer) svg.append(segment("outer", at(outer[0]), 8, at(outer[1]), 8));
  svg.append(segment("inner", at(inner[0]), 8, Math.max(at(inner[1]), at(inner[0]) + 1), 8));
  svg.append(segment("middle", at(middle), 4.5, at(middle), 11.5));
  if (seen !== undefined) svg.append(segment("seen", at(seen), 1, at(seen), 15));
  return svg;
}

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function chosenRows(columns, state) {
  const rows = report.predictions, wanted = state.search.trim().toLowerCase();
  const all = rows.row.map((_, k) => k);
  const found = wanted === "" ? all : all.filter((k) => [String(rows.row[k]), observedText(k), predictedText(k)].some((text) => text.toLowerCase().includes(wanted)));
  const by = columns.find((column) => column.key === state.sort);
  if (!by) return found;
  const values = new Map(found.map((k) => [k, by.value(k)]));
  return found.sort((a, b) => state.direction * compared(values.get(a), values.get(b)) || a - b);
}

function tableHead(columns, state, again) {
  const row = element("tr");
  for (const column of columns) {
    const head = element("th", { scope: "col", "data-key": column.key, class: kinds(column) });
    if (column.picture) head.append(element("span", { class: "skip" }, "Picture"));
    else {
      const sorted = state.sort === column.key;
      head.setAttribute("aria-sort", sorted ? (state.direction > 0 ? "ascending" : "descending") : "none");
      const button = element("button", { type: "button" }, column.title);
      button.addEventListener("click", () => {
        Object.assign(state, { direction: sorted ? -state.direction : 1, sort: column.key, page: 0 });
        again();
        document.querySelector(`#table th[data-key="${column.key}"] button`).focus();
      });
      head.append(button);
    }
    row.append(head);
  }
  return row;
}

function tableRow(columns, k) {
  const row = element("tr");
  columns.forEach((column, place) => {
    const cell = element(place === 0 ? "th" : "td", { ...(place === 0 ? { scope: "row" } : {}), class: kinds(column) });
    if (column.picture) cell.append(column.picture(k)); else cell.textContent = column.text(k);
    row.append(cell);
  });
  return row;
}

function drawTable(state) {
  const columns = isClasses ? classColumns(state) : outcomeColumns(state);
  const rows = chosenRows(columns, state), table = document.getElementById("table");
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  state.page = Math.max(0, Math.min(state.page, pages - 1));
  const start = state.page * PAGE, shown = rows.slice(start, start + PAGE);
  table.tHead.replaceChildren(tableHead(columns, state, () => drawTable(state)));
  table.tBodies[0].replaceChildren(...shown.map((k) => tableRow(columns, k)));
  const count = (number) => number.toLocaleString("en");
  document.getElementById("table-where").textContent = rows.length === 0 ? "No row matches" : `${count(start + 1)}–${count(start + shown.length)} of ${count(rows.length)}`;
  for (const id of ["first", "previous"]) document.getElementById(`table-${id}`).disabled = state.page === 0;
  for (const id of ["next", "last"]) document.getElementById(`table-${id}`).disabled = state.page === pages - 1;
}
