// --- The page of `flopcast explore`: heat maps over two sweeps, the Pareto front, every point. -----
import { canvasOf, dot, drawing, frameOf, mixed, polyline, svg, textWidth } from "./charts.js";
import { counted, grouped, percent, quantity, seconds, usd, watts } from "./numbers.js";
import { documentOf, drawnTo, el, pageHead, pageTitle, section, showPage, tile, tiles, tipRow, wide, withTip } from "./page.js";
import { dataTable } from "./sortable.js";

/** @typedef {import("./charts.js").FittedAxis} FittedAxis */
/**
 * @typedef {object} Measure
 * @property {"step_s" | "utilisation" | "flop_per_s_per_usd" | "flop_per_s_per_w"} key
 * @property {string} title
 * @property {string} lead
 * @property {(value: number) => string} format
 * @property {boolean} [less]  the least is the best
 */

/** @type {ExplorePage} */
const data = documentOf();
const points = data.points;
const fitting = points.filter((p) => p.fits);
const names = Object.keys(points.length > 0 ? points[0].sweep : {});
/** Values of a sweep in its order. */
const valuesOf = (/** @type {string} */ name) => [...new Set(points.map((p) => p.sweep[name]))];
const axes = names.filter((name) => valuesOf(name).length > 1);
const MOST_MAPS = 24, MOST_ROWS = 400;

/** @type {Measure[]} */
const MEASURES = [
  { key: "step_s", title: "Step time", lead: "Seconds a step; the stronger the colour, the faster.", less: true, format: seconds },
  { key: "utilisation", title: "Utilisation", lead: "Model FLOP over the peak of all chips; the stronger the colour, the higher.", format: (v) => percent(v) },
  { key: "flop_per_s_per_usd", title: "Cost efficiency", lead: "Model FLOP/s for each dollar of the system; the stronger the colour, the higher.",
    format: (v) => quantity(v, "FLOP/s/USD") },
  { key: "flop_per_s_per_w", title: "Power efficiency", lead: "Model FLOP/s for each watt of the system; the stronger the colour, the higher.",
    format: (v) => quantity(v, "FLOP/s/W") },
];

const placeOf = (/** @type {ExplorePagePoint} */ p) => names.map((n) => `${n} ${p.sweep[n]}`).join(", ") || "the only point";

function pointTip(/** @type {ExplorePagePoint} */ p) {
  if (!p.fits) return [el("b", {}, placeOf(p)), p.problem || ""];
  return [el("b", {}, placeOf(p)), ...MEASURES.filter((m) => p[m.key] > 0).map((m) => tipRow(m.title, m.format(p[m.key]))),
    p.price_usd > 0 ? tipRow("price", usd(p.price_usd)) : "", p.power_w > 0 ? tipRow("power", watts(p.power_w)) : "", tipRow("shape", p.shape), p.why];
}

/** 0 to 1 by the logarithm of a value within all of its measure; 1 is the best. */
function strengthOf(/** @type {Measure} */ measure) {
  const all = fitting.map((p) => p[measure.key]).filter((v) => v > 0).map(Math.log);
  const low = Math.min(...all), high = Math.max(...all);
  return (/** @type {number} */ v) => {
    const share = high > low ? (Math.log(v) - low) / (high - low) : 0.5;
    return measure.less ? 1 - share : share;
  };
}

const TITLE_HEIGHT = 16;

/** Titles are the names of both sweeps, in a line or in two.
 * @typedef { { x: string, y: string, titles: string[], columns: string[], rows: string[], left: number, top: number, side: number, height: number, width: number }} Grid */

/** Where the cells of a map of `width` pixels lie; `y` may be "". @returns {Grid} */
function gridOf(/** @type {string} */ x, /** @type {string} */ y, /** @type {boolean} */ titled, /** @type {number} */ width) {
  const columns = valuesOf(x), rows = y ? valuesOf(y) : [""];
  const left = y ? 10 + Math.ceil(Math.max(...rows.map((r) => textWidth(r)))) : 4;
  const both = `${x}  (rows: ${y})`, titles = !y ? [x] : textWidth(both) < width - 2 ? [both] : [x, `(rows: ${y})`];
  return { x, y, titles, columns, rows, width, left, top: titled ? 24 : 4, side: Math.min(150, (width - left - 4) / columns.length),
    height: Math.max(20, Math.min(42, 520 / rows.length)) };
}

/** What stands around the cells: the values of both sweeps and their names. */
function labelsOf(/** @type {Grid} */ { titles, columns, rows, left, top, side, height, width }) {
  const bottom = top + rows.length * height, across = columns.length * side;
  // Under the middle of the cells, as far as it does not stick out.
  const middleOf = (/** @type {string} */ title) => {
    const half = textWidth(title) / 2 + 1;
    return Math.min(Math.max(left + across / 2, half), width - half);
  };
  const every = Math.ceil((Math.max(...columns.map((c) => textWidth(c))) + 8) / side);
  return [...rows.map((r, i) => svg("text", { x: left - 6, y: top + i * height + height / 2 + 4, class: "tick end" }, r)),
    ...columns.flatMap((c, i) => (i % every === 0 ? [svg("text", { x: left + i * side + side / 2, y: bottom + 16, class: "tick middle" }, c)] : [])),
    ...titles.map((title, i) => svg("text", { x: middleOf(title), y: bottom + 36 + i * TITLE_HEIGHT, class: "tick middle" }, title))];
}

/** A point's cell: its colour, its value where that fits, a frame where it is on the front. */
function cellOf(/** @type {Grid} */ grid, /** @type {ExplorePagePoint} */ p, /** @type {Measure} */ measure, /** @type {(v: number) => number} */ strength) {
  const { left, top, side, height } = grid, value = p[measure.key], known = p.fits && value > 0;
  const x = left + grid.columns.indexOf(p.sweep[grid.x]) * side;
  const y = top + (grid.y ? grid.rows.indexOf(p.sweep[grid.y]) : 0) * height;
  const { fill, ink } = known ? mixed("compute", 0.08 + 0.92 * strength(value)) : mixed("idle", 1);
  const cell = svg("rect", { x: x + 1, y: y + 1, width: side - 2, height: height - 2, rx: 3, style: `fill:${fill}`, class: p.front ? "front" : "" });
  const text = known ? measure.format(value).replace(/FLOP\/s\/.*/, "").trim() : "–";
  return [withTip(cell, ...pointTip(p)), textWidth(text) + 6 > side ? ""
    : svg("text", { x: x + side / 2, y: y + height / 2 + 4, class: "tick middle through", style: `fill:${ink}` }, text)];
}

/**
 * One map: a cell for each point of `chosen`, columns along one sweep, rows along another (or a single one).
 * @param {ExplorePagePoint[]} chosen
 * @param {string} title
 * @param { { x: string, y: string }} along
 * @param {Measure} measure
 * @param {number} width
 */
function cellMap(chosen, title, along, measure, width) {
  const grid = gridOf(along.x, along.y, title !== "", width), strength = strengthOf(measure);
  const root = canvasOf(width, grid.top + grid.rows.length * grid.height + 26 + grid.titles.length * TITLE_HEIGHT, `${measure.title} ${title}`);
  if (title) root.append(svg("text", { x: 0, y: 14, class: "tick" }, title));
  root.append(...labelsOf(grid), ...chosen.flatMap((p) => cellOf(grid, p, measure, strength)));
  return root;
}

/** Points that agree in every sweep but those two, with what they agree in. */
function multiples(/** @type {string} */ x, /** @type {string} */ y) {
  const others = axes.filter((a) => a !== x && a !== y);
  /** @type {Map<string, ExplorePagePoint[]>} */
  const groups = new Map();
  for (const p of points) {
    const key = others.map((a) => `${a} ${p.sweep[a]}`).join(", ");
    groups.set(key, [...(groups.get(key) || []), p]);
  }
  return [...groups];
}

/**
 * @param {string} label
 * @param {string} chosen
 * @param {string[]} choices
 * @param {(value: string) => void} change
 */
function chooser(label, chosen, choices, change) {
  const select = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": label },
    ...choices.map((c) => el("option", { value: c, selected: c === chosen }, c || "nothing"))));
  select.addEventListener("change", () => change(select.value));
  return el("span", {}, label + " ", select);
}

/** The maps of a measure, as many abreast as there is room for. */
function drawMaps(/** @type {HTMLElement} */ box, /** @type {Measure} */ measure, /** @type { { x: string, y: string }} */ along, /** @type {number} */ width) {
  const groups = multiples(along.x, along.y), left = groups.length - MOST_MAPS, gap = 20;
  const least = Math.max(190, 60 + 34 * valuesOf(along.x).length);
  const abreast = Math.max(1, Math.min(groups.length, Math.floor((width + gap) / (least + gap))));
  const each = Math.floor((width - gap * (abreast - 1)) / abreast);
  box.replaceChildren(...groups.slice(0, MOST_MAPS).map(([title, chosen]) => cellMap(chosen, title, along, measure, each)),
    left > 0 ? el("p", { class: "note" }, `${counted(left, "more map")} not drawn; the table and --csv have all.`) : "");
}

function heatSections() {
  if (axes.length === 0 || fitting.length === 0) return [];
  const along = { x: axes[axes.length - 1], y: axes[axes.length - 2] || "" };
  const maps = MEASURES.filter((m) => fitting.some((p) => p[m.key] > 0)).map((measure) => ({ measure, box: el("div", { class: "maps" }) }));
  for (const { measure, box } of maps) drawnTo(box, (width) => drawMaps(box, measure, along, width));
  const controls = el("div", { class: "controls" });
  const choose = (/** @type {string} */ x, /** @type {string} */ y) => {
    Object.assign(along, { x, y });
    controls.replaceChildren(
      chooser("columns", x, axes, (v) => choose(v, v === y ? x : y)),
      axes.length > 1 ? chooser("rows", y, axes.filter((a) => a !== x), (v) => choose(x, v)) : "");
    for (const { measure, box } of maps) if (box.clientWidth > 0) drawMaps(box, measure, along, box.clientWidth);
  };
  choose(along.x, along.y);
  return [axes.length > 1 ? wide(el("section", { class: "card" }, controls,
    el("p", { class: "note" }, "Other sweeps make maps of their own. Framed: no other point is faster, cheaper and leaner in power at once."))) : null,
  wide(el("div", { class: "measures" }, ...maps.map(({ measure, box }) => section(measure.title, measure.lead, box))))];
}

/** From the least to the most, with room; logarithmic where they are far apart. @returns {FittedAxis} */
function axisOf(/** @type {string} */ title, /** @type {(v: number) => string} */ format, /** @type {number[]} */ values) {
  const least = Math.min(...values), most = Math.max(...values), log = most > 30 * least, room = (most - least) * 0.04 || most * 0.04;
  return { title, format, log, from: log ? least / 1.2 : least - room, to: log ? most * 1.2 : most + room };
}

/** Time of a step over what the system costs; the line joins those that are best in both. */
function scatter(/** @type {"price_usd" | "power_w"} */ key, /** @type {string} */ title, /** @type {(v: number) => string} */ format) {
  const known = fitting.filter((p) => p[key] > 0);
  if (known.length < 2) return null;
  const x = axisOf(title, format, known.map((p) => p[key]));
  const y = axisOf("time of a step", seconds, known.map((p) => p.step_s));
  let fastest = Number.POSITIVE_INFINITY;
  /** @type {[number, number][]} */
  const front = [];
  for (const p of [...known].sort((a, b) => a[key] - b[key] || a.step_s - b.step_s)) {
    if (p.step_s >= fastest) continue;
    fastest = p.step_s;
    front.push([p[key], p.step_s]);
  }
  return drawing((width) => {
    const frame = frameOf(x, y, width, title);
    frame.root.append(polyline(frame, front, "accent"), ...known.map((p) =>
      dot(frame, [p[key], p.step_s], p.front ? 5 : 3.5, p.front ? "accent" : "compute", ...pointTip(p))));
    return frame.root;
  });
}

function frontSection() {
  const charts = [scatter("price_usd", "price of the system, USD", (v) => quantity(v, "")), scatter("power_w", "power of the system", (v) => watts(v))];
  if (charts.every((c) => c === null)) return null;
  return wide(section("Time against price and power", "Coloured points: none is better in time, price and power together. The line joins those that " +
    "are best in the two that are drawn.", el("div", { class: "two" }, ...charts)));
}

function rowOf(/** @type {ExplorePagePoint} */ p) {
  const swept = names.map((n) => ({ show: p.sweep[n], by: valuesOf(n).indexOf(p.sweep[n]) }));
  if (!p.fits) return [...swept, "does not fit", "", "", "", "", "", p.problem || ""];
  return [...swept, { show: seconds(p.step_s), by: p.step_s }, p.exact ? "optimal" : `gap ${percent(p.gap, 2)}`, percent(p.utilisation), usd(p.price_usd),
    { show: watts(p.power_w), by: p.power_w }, p.shape, p.why];
}

function tableSection(/** @type {string} */ title, /** @type {string} */ lead, /** @type {ExplorePagePoint[]} */ rows) {
  /** @type {import("./sortable.js").Column[]} */
  const columns = [...names.map((n) => /** @type {import("./sortable.js").Column} */ ([n, "left"])), ["step"], ["proof"], ["utilisation"], ["price"], ["power"], ["shape", "left"], ["why", "words"]];
  return wide(section(title, lead, dataTable(columns, rows.slice(0, MOST_ROWS).map(rowOf), "points"),
    rows.length > MOST_ROWS ? el("p", { class: "note" }, `${counted(rows.length - MOST_ROWS, "more point")} not shown; --csv has all.`) : null));
}

/** What the fastest point is bound by. */
function verdict() {
  const best = data.best.find((one) => one.measure === "step_s");
  if (best === undefined) return section("Nothing fits", points[0]?.problem || "");
  const p = points[best.point];
  return wide(section(`Fastest: ${placeOf(p)}`, `${seconds(p.step_s)} a step as ${p.shape}. ${p.why}`));
}

function numbers() {
  return tiles(tile(`${grouped(fitting.length)} of ${grouped(points.length)}`, "points fit"), ...MEASURES.map((m) => {
    const best = data.best.find((one) => one.measure === m.key);
    if (best === undefined) return null;
    const p = points[best.point], others = best.equals > 0 ? `, the cheapest of ${best.equals + 1} equal points` : "";
    return tile(m.format(p[m.key]), `best ${m.title.toLowerCase()}: ${placeOf(p)}${others}`);
  }));
}

showPage(pageHead(pageTitle(), data.asked), verdict(), numbers(), ...heatSections(), frontSection(),
  fitting.some((p) => p.front) ? tableSection("Pareto front", "No other point is at least as good in time, price and power, and better in one.",
    fitting.filter((p) => p.front)) : null,
  tableSection("All points", "In the order of the sweep.", points));
