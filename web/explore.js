// --- The page of `flopcast explore`: heat maps over two sweeps, the Pareto front, every point. -----

const data = JSON.parse(document.getElementById("data").textContent);
const points = data.points;
const fitting = points.filter((p) => p.fits);
const names = Object.keys(points.length > 0 ? points[0].sweep : {});
/** Values of a sweep in its order. */
const valuesOf = (name) => [...new Set(points.map((p) => p.sweep[name]))];
const axes = names.filter((name) => valuesOf(name).length > 1);
const MOST_MAPS = 24, MOST_ROWS = 400;

const MEASURES = [
  { key: "step_s", title: "Step time", lead: "Seconds a step; the stronger the colour, the faster.", less: true, format: secondsText },
  { key: "utilisation", title: "Utilisation", lead: "Model FLOP over the peak of all chips; the stronger the colour, the higher.", format: (v) => percent(v) },
  { key: "flop_per_s_per_usd", title: "Cost efficiency", lead: "Model FLOP/s for each dollar of the system; the stronger the colour, the higher.",
    format: (v) => quantity(v, "FLOP/s/USD") },
  { key: "flop_per_s_per_w", title: "Power efficiency", lead: "Model FLOP/s for each watt of the system; the stronger the colour, the higher.",
    format: (v) => quantity(v, "FLOP/s/W") },
];

const placeOf = (p) => names.map((n) => `${n} ${p.sweep[n]}`).join(", ") || "the only point";

function pointTip(p) {
  if (!p.fits) return [el("b", {}, placeOf(p)), p.problem];
  return [el("b", {}, placeOf(p)), ...MEASURES.filter((m) => p[m.key] > 0).map((m) => tipRow(m.title, m.format(p[m.key]))),
    p.price_usd > 0 ? tipRow("price", usd(p.price_usd)) : "", p.power_w > 0 ? tipRow("power", watts(p.power_w)) : "", tipRow("shape", p.shape), p.why];
}

/** 0 to 1 by the logarithm of a value within all of its measure; `less`: the smallest is 1. */
function scaleOfMeasure(measure) {
  const all = fitting.map((p) => p[measure.key]).filter((v) => v > 0).map(Math.log);
  const low = Math.min(...all), high = Math.max(...all);
  return (v) => {
    const share = high > low ? (Math.log(v) - low) / (high - low) : 0.5;
    return measure.less ? 1 - share : share;
  };
}

/** One map: a cell for each point of `chosen`, columns along `x`, rows along `y` (or a single one). */
function cellMap(chosen, x, y, measure, scale, title) {
  const columns = valuesOf(x), rows = y ? valuesOf(y) : [""];
  const left = y ? 16 + 7 * Math.max(...rows.map((r) => r.length), 4) : 8;
  const side = Math.max(30, Math.min(title ? 78 : 104, (title ? 480 : 900) / columns.length)), height = Math.max(20, Math.min(42, 520 / rows.length));
  const top = title ? 22 : 4, width = left + columns.length * side + 8, bottom = top + rows.length * height;
  const root = svg("svg", { viewBox: `0 0 ${width} ${bottom + 40}`, class: "chart", style: `width:${width}px;max-width:100%`, role: "img",
    "aria-label": `${measure.title} ${title}` });
  if (title) root.append(svg("text", { x: left, y: 14, class: "tick" }, title));
  rows.forEach((r, i) => root.append(svg("text", { x: left - 6, y: top + i * height + height / 2 + 4, class: "tick end" }, r)));
  const every = Math.ceil((7 * Math.max(...columns.map((c) => c.length)) + 6) / side);
  columns.forEach((c, i) => {
    if (i % every === 0) root.append(svg("text", { x: left + i * side + side / 2, y: bottom + 15, class: "tick middle" }, c));
  });
  root.append(svg("text", { x: left + (columns.length * side) / 2, y: bottom + 33, class: "tick middle" }, y ? `${x}  (rows: ${y})` : x));
  for (const p of chosen) {
    const at = { x: left + columns.indexOf(p.sweep[x]) * side, y: top + (y ? rows.indexOf(p.sweep[y]) : 0) * height };
    const value = p[measure.key], known = p.fits && value > 0, dark = known ? scale(value) : 0;
    const cell = svg("rect", { x: at.x, y: at.y, width: side - 2, height: height - 2, rx: 3,
      style: known ? `fill:var(--compute);fill-opacity:${(0.08 + 0.92 * dark).toFixed(3)}` : "fill:var(--idle)" });
    if (p.front) cell.style.stroke = "var(--accent)", cell.style.strokeWidth = 2;
    root.append(withTip(cell, ...pointTip(p)));
    const text = known ? measure.format(value).replace(/FLOP\/s\/.*/, "") : "–";
    if (7 * text.length < side) {
      root.append(svg("text", { x: at.x + side / 2 - 1, y: at.y + height / 2 + 3, class: "tick middle",
        style: `pointer-events:none;fill:var(--${dark > 0.55 ? "ink-on-colour" : "ink"})` }, text));
    }
  }
  return root;
}

/** Points that agree in every sweep but those two, with what they agree in. */
function multiples(x, y) {
  const others = axes.filter((a) => a !== x && a !== y);
  const groups = new Map();
  for (const p of points) {
    const key = others.map((a) => `${a} ${p.sweep[a]}`).join(", ");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(p);
  }
  return [...groups];
}

function chooser(label, chosen, choices, change) {
  const select = el("select", { onchange: () => change(select.value), "aria-label": label },
    ...choices.map((c) => el("option", { value: c, selected: c === chosen }, c || "nothing")));
  return el("span", {}, label + " ", select);
}

function heatSections() {
  if (axes.length === 0 || fitting.length === 0) return [];
  const state = { x: axes[axes.length - 1], y: axes[axes.length - 2] || "" };
  const shown = MEASURES.filter((m) => fitting.some((p) => p[m.key] > 0)).map((m) => ({ ...m, box: el("div", { class: "maps" }), scale: scaleOfMeasure(m) }));
  const controls = el("div", { class: "controls" });
  const draw = () => {
    const groups = multiples(state.x, state.y);
    const left = groups.length - MOST_MAPS;
    for (const m of shown) {
      m.box.replaceChildren(...groups.slice(0, MOST_MAPS).map(([title, chosen]) => cellMap(chosen, state.x, state.y, m, m.scale, title)),
        left > 0 ? el("p", { class: "note" }, `${counted(left, "more map")} not drawn; the table and --csv have all.`) : "");
    }
    controls.replaceChildren(
      chooser("columns", state.x, axes, (v) => { if (v === state.y) state.y = state.x; state.x = v; draw(); }),
      axes.length > 1 ? chooser("rows", state.y, axes.filter((a) => a !== state.x), (v) => { state.y = v; draw(); }) : "");
  };
  draw();
  return [axes.length > 1 ? el("section", { class: "card" }, controls,
    el("p", { class: "note" }, "Other sweeps make maps of their own. Framed: no other point is faster, cheaper and leaner in power at once.")) : null,
  ...shown.map((m) => section(m.title, m.lead, m.box))];
}

/** From the least to the most, with room; logarithmic where they are far apart. */
function axisOf(axis, values) {
  const least = Math.min(...values), most = Math.max(...values), log = most > 30 * least, room = (most - least) * 0.04 || most * 0.04;
  return { ...axis, log, from: log ? least / 1.2 : least - room, to: log ? most * 1.2 : most + room };
}

/** Time of a step over what the system costs; the line joins those that are best in both. */
function scatter(key, title, format) {
  const dots = fitting.filter((p) => p[key] > 0);
  if (dots.length < 2) return null;
  const x = axisOf({ title, format }, dots.map((p) => p[key]));
  const y = axisOf({ title: "time of a step", format: secondsText }, dots.map((p) => p.step_s));
  const xs = scaleOf(x, CHART.left, CHART.width - CHART.right), ys = scaleOf(y, CHART.height - CHART.bottom, CHART.top);
  const root = svg("svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, class: "chart", role: "img", "aria-label": title }, ...gridLines(x, y, xs, ys));
  let fastest = Infinity;
  const front = [...dots].sort((a, b) => a[key] - b[key] || a.step_s - b.step_s).filter((p) => p.step_s < fastest && (fastest = p.step_s, true));
  root.append(svg("polyline", { class: "line", style: "stroke:var(--accent)",
    points: front.map((p) => `${xs(p[key]).toFixed(1)},${ys(p.step_s).toFixed(1)}`).join(" ") }));
  for (const p of dots) {
    root.append(withTip(svg("circle", { cx: xs(p[key]), cy: ys(p.step_s), r: p.front ? 5 : 3, style: `fill:var(--${p.front ? "accent" : "compute"})` }),
      ...pointTip(p)));
  }
  return root;
}

function frontSection() {
  const charts = [scatter("price_usd", "price of the system, USD", (v) => quantity(v, "")), scatter("power_w", "power of the system", (v) => watts(v))];
  if (charts.every((c) => c === null)) return null;
  return section("Time against price and power", "Coloured points: none is better in time, price and power together. The line joins those that " +
    "are best in the two that are drawn.", ...charts);
}

function tableSection(title, lead, rows) {
  const cells = rows.slice(0, MOST_ROWS).map((p) => (p.fits
    ? [...names.map((n) => p.sweep[n]), secondsText(p.step_s), p.exact ? "optimal" : `gap ${percent(p.gap, 2)}`, percent(p.utilisation), usd(p.price_usd),
      watts(p.power_w), p.shape, el("div", { style: "white-space:normal;min-width:260px;text-align:left" }, p.why)]
    : [...names.map((n) => p.sweep[n]), "does not fit", "", "", "", "", "", el("div", { style: "white-space:normal;text-align:left" }, p.problem)]));
  return section(title, lead, tableOf([...names, "step", "proof", "utilisation", "price", "power", "shape", "why"], cells, names.length),
    rows.length > MOST_ROWS ? el("p", { class: "note" }, `${counted(rows.length - MOST_ROWS, "more point")} not shown; --csv has all.`) : null);
}

function best(key, less) {
  const known = fitting.filter((p) => p[key] > 0);
  return known.reduce((a, b) => ((less ? b[key] < a[key] : b[key] > a[key]) ? b : a), known[0]);
}

function tiles() {
  return el("div", { class: "tiles" }, tile(`${grouped(fitting.length)} of ${grouped(points.length)}`, "points fit"),
    ...MEASURES.map((m) => {
      const p = best(m.key, m.less);
      return p === undefined ? null : tile(m.format(p[m.key]), `best ${m.title.toLowerCase()}: ${placeOf(p)}`);
    }));
}

showPage(el("div", { class: "head" }, el("div", {}, el("h1", {}, document.title.split(" · ")[0]), el("p", { class: "facts" }, data.asked)), themeButton()),
  tiles(), ...heatSections(), frontSection(),
  fitting.some((p) => p.front) ? tableSection("Pareto front", "No other point is at least as good in time, price and power, and better in one.",
    fitting.filter((p) => p.front)) : null,
  tableSection("All points", "In the order of the sweep.", points));
