// --- The page of `flopcast plan`: time against memory, where time goes, curves over a sweep. -------
import { barRows, stackedBar } from "./bars.js";
import { dot, drawing, fitted, frameOf, lineChart, polyline, roomy } from "./charts.js";
import { MEMORY_COLOURS, PART_COLOURS, colourIn } from "./colours.js";
import { counted, gigabytes, grouped, percent, rounded, seconds, signed } from "./numbers.js";
import { bandText, copyable, documentOf, el, legend, pageHead, pageTitle, section, showPage, tile, tiles, tipRow, wide } from "./page.js";
import { MWH, days, odds, runTiles } from "./runs.js";
import { dataTable, tableOf } from "./sortable.js";

/** @type {PlanPage} */
const data = documentOf();
const points = data.points;
const first = points[0];
const sweeps = first.asked.sweep;

const clusters = new Set(points.map((p) => p.asked.on));
const pointName = (/** @type {PlanPoint} */ p) => [...(clusters.size > 1 ? [p.asked.on] : []),
  ...Object.entries(p.asked.sweep).map(([name, value]) => `${name} ${value}`)].join(", ") || "best";
const fitting = points.filter((p) => p.best.length > 0);
const meaningOf = (/** @type {string} */ part) => data.meanings[part] || part;

const sumOf = (/** @type {Record<string, number>} */ parts) => Object.values(parts).reduce((a, b) => a + b, 0);

/**
 * A bar a row, as wide as its sum against the largest.
 * @param { { name: string, parts: Record<string, number>, total: string }[]} rows
 * @param {Record<string, string>} colours
 * @param {(part: string) => string} describe
 * @param {(value: number) => string} format
 */
function stackedBars(rows, colours, describe, format) {
  const most = Math.max(...rows.map((row) => sumOf(row.parts)));
  const used = [...new Set(rows.flatMap(({ parts }) => Object.keys(parts).filter((key) => parts[key] > 0)))];
  return el("div", {}, legend(used.map((key) => [describe(key), colourIn(colours, key)])), barRows(rows.map(({ name, parts, total }) => ({
    name: [name], total, bar: stackedBar(Object.entries(parts).map(([key, value]) => ({ value, colour: colourIn(colours, key),
      tip: [el("b", {}, name), tipRow(describe(key), format(value)), tipRow("share", percent(value / sumOf(parts)))] })),
    sumOf(parts), most, "clear") }))));
}

/**
 * Columns of what a run comes to, where that was asked.
 * @returns {[string][]}
 */
function runTitles(/** @type {PlanPoint} */ report) {
  return report.asked.run === null ? [] : [["the run"], ["chip-hours"], ["USD"], ["MWh"], ["t CO2"]];
}
function runCells(/** @type {PlanPoint} */ report, /** @type {BestPlan} */ plan) {
  const run = plan.run;
  if (report.asked.run === null || run === null) return [];
  const known = (/** @type {number} */ value, /** @type {number} */ unit) => value > 0 ? { show: rounded(value / unit), by: value } : "–";
  return [{ show: days(run.time_s), by: run.time_s }, known(run.chip_hours, 1), known(run.cost_usd, 1), known(run.energy_j, MWH), known(run.co2_kg, 1000)];
}
/** Every plan that nothing beats in both, and the best ones: seconds over bytes. */
function paretoChart(/** @type {PlanPoint} */ report) {
  const dots = [...report.pareto.map((p) => ({ ...p, front: true })), ...report.best.map((p) => ({ ...p, front: false }))];
  const gb = (/** @type {FoundPlan} */ p) => p.memory_bytes / 1e9;
  const x = roomy(fitted({ title: "memory of a chip", format: (v) => `${Number(v.toPrecision(4))} GB`, log: true, base: 2 }, dots.map(gb)));
  const y = roomy(fitted({ title: "time of a step", format: seconds, log: true, base: 2 }, dots.map((d) => d.time_s)));
  const front = [...report.pareto].sort((a, b) => a.memory_bytes - b.memory_bytes);
  return drawing((width) => {
    const frame = frameOf(x, y, width, "time against memory");
    frame.root.append(polyline(frame, front.map((p) => [gb(p), p.time_s]), "compute"), ...dots.map((d) =>
      dot(frame, [gb(d), d.time_s], d.front ? 5 : 3.5, d.front ? "compute" : "soft",
        el("b", {}, d.words), tipRow("time", seconds(d.time_s)), tipRow("memory", gigabytes(d.memory_bytes)))));
    return frame.root;
  });
}

function head() {
  const a = first.asked;
  return pageHead(pageTitle(), `${counted(a.global_batch, "sequence")} of ${grouped(a.sequence)} tokens a step` +
    (a.constraints.length > 0 ? `; ${a.constraints.join(", ")}` : "") + (points.length === 1 && first.hint ? `. ${first.hint}` : ""));
}

/** A launcher's best plan, and the lines that start it. */
function launchBlock(/** @type {PlanLaunch} */ launch) {
  if (launch.best === null) return el("p", {}, `${launch.release}: none, ${launch.why}`);
  const lines = [...launch.files.map((f) => `cat > ${f.name} <<'END'\n${f.text}END`), ...launch.environment.map((e) => `export ${e}`),
    launch.command, ...launch.told_elsewhere.map((t) => `# ${t.name} ${t.value} by ${t.where}`), ...[...launch.notes, ...launch.assumed].map((n) => `# ${n}`)];
  return el("div", {}, el("p", {}, `${launch.release}: ${seconds(launch.best.time_s)}, ${launch.best.words}`), copyable(lines.join("\n"), "the launch"));
}

function launchSection(/** @type {PlanPoint} */ report) {
  if (report.launch.length === 0) return null;
  return wide(section("The best plan of each launcher", "Each at the placement that it gives chips, priced as its own software.",
    ...report.launch.map(launchBlock)));
}

function plansSection(/** @type {PlanPoint} */ report) {
  const winner = report.best[0];
  const order = winner.tie ? "= ties with the fastest, as far as forecasts tell: of these the leanest first." : "Fastest first.";
  return wide(section("The best plans", order, dataTable(
    [["#", "left"], ["tie", "left"], ["plan", "words"], ["time"], ["behind"], ["tokens/s"], ["MFU"], ["memory"], ["fits"], ...runTitles(report)],
    report.best.map((b, i) => [`${i + 1}`, b.tie ? "=" : "", b.words, { show: seconds(b.time_s), by: b.time_s }, i === 0 ? "" : signed(b.time_s / winner.time_s - 1),
      rounded(b.tokens_per_second), percent(b.mfu), gigabytes(b.memory_bytes), odds(b.fit_odds), ...runCells(report, b)]), "plans")));
}

function bestSections(/** @type {PlanPoint} */ report) {
  const winner = report.best[0];
  const memoryOf = (/** @type {BestPlan} */ b) => Object.fromEntries(Object.keys(MEMORY_COLOURS).map((key) => [key, b.memory[key]]));
  return [
    tiles(tile(seconds(winner.time_s), `a step; ${bandText(seconds(winner.low_s), seconds(winner.high_s))}`),
      tile(rounded(winner.tokens_per_second), "tokens per second"), tile(percent(winner.mfu), "MFU"),
      tile(gigabytes(winner.memory_bytes), `of ${gigabytes(report.asked.capacity_bytes)} of a chip; ` +
        `${bandText(gigabytes(winner.memory_low_bytes), gigabytes(winner.memory_high_bytes))}`),
      tile(odds(winner.fit_odds), "how likely it fits"), ...runTiles(winner.run, report.asked.run)),
    plansSection(report),
    launchSection(report),
    section("Where the time goes", "One bar for each of the best plans, by its number in the table.",
      stackedBars(report.best.map((b, i) => ({ name: `${i + 1}`, parts: b.parts_s, total: seconds(b.time_s) })), PART_COLOURS, meaningOf, seconds)),
    section("What fills the memory", "The fullest chip of each of the best plans.",
      stackedBars(report.best.map((b, i) => ({ name: `${i + 1}`, parts: memoryOf(b), total: gigabytes(b.memory_bytes) })),
        MEMORY_COLOURS, (key) => key, gigabytes)),
    section("Time against memory", "The line joins plans that no other is both faster and leaner than; grey: the other best ones.",
      paretoChart(report)),
    report.sensitivities.length === 0 ? null : section("What it hangs on", "Change of the step for +10 % of one hardware number, all else equal.",
      tableOf([["number", "left"], ["change of the step"]], report.sensitivities.map((s) => [s.number, signed(s.change)]))),
  ];
}

/**
 * Over the first sweep whose values are numbers; one line for each combination of the others.
 * @param {(best: BestPlan) => number} field
 * @param {string} title
 * @param {(value: number) => string} format
 */
function sweepCurves(field, title, format) {
  const names = Object.keys(sweeps);
  const along = names.find((n) => fitting.every((p) => Number.isFinite(Number.parseFloat(p.asked.sweep[n]))));
  if (along === undefined || fitting.length < 2) return null;
  /** @type {Map<string, [number, number][]>} */
  const lines = new Map();
  for (const p of fitting) {
    const key = names.filter((n) => n !== along).map((n) => `${n} ${p.asked.sweep[n]}`).join(", ") || "best plan";
    lines.set(key, [...(lines.get(key) || []), [Number.parseFloat(p.asked.sweep[along]), field(p.best[0])]]);
  }
  const series = [...lines].map(([name, xy]) => ({ name, bold: lines.size === 1, points: xy.sort((a, b) => a[0] - b[0]) }));
  return section(title, `Of the best plan at each ${along}.`,
    lineChart(series, { title: along, log: true, base: 2, format: (v) => grouped(Math.round(v * 1000) / 1000) }, { title, format }));
}

function sharesSection() {
  if (fitting.length === 0) return null;
  return section("Where the time goes", "Shares of the step of the best plan at each point.", stackedBars(fitting.map((p) => {
    const b = p.best[0];
    return { name: pointName(p), parts: Object.fromEntries(Object.entries(b.parts_s).map(([k, v]) => [k, v / b.time_s])), total: seconds(b.time_s) };
  }), PART_COLOURS, meaningOf, percent));
}

function pointsSection() {
  const rows = points.map((p) => {
    const b = p.best[0];
    return b === undefined ? [pointName(p), "nothing fits", "–", "–", "–", "–", "–", ...runTitles(p).map(() => "–")]
      : [pointName(p), b.words, { show: seconds(b.time_s), by: b.time_s }, rounded(b.tokens_per_second), percent(b.mfu), gigabytes(b.memory_bytes),
        odds(b.fit_odds), ...runCells(p, b)];
  });
  return wide(section("Best plans", data.verdict,
    dataTable([["point", "left"], ["plan", "words"], ["time"], ["tokens/s"], ["MFU"], ["memory"], ["fits"], ...runTitles(first)], rows, "points")));
}

if (points.length > 1) {
  showPage(head(), sweepCurves((b) => b.time_s, "Time of a step", seconds), sweepCurves((b) => b.tokens_per_second, "Tokens per second", rounded),
    sweepCurves((b) => b.mfu, "MFU", percent), sharesSection(), pointsSection());
} else if (fitting.length > 0) {
  showPage(head(), ...bestSections(first));
} else {
  showPage(head(), section("Nothing fits",
    `${grouped(first.search.plans)} plans are possible; ${grouped(first.search.too_big)} of them need more memory than there is.`));
}
