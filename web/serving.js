// --- The page of `flopcast serve`: percentiles, latency against throughput, batch and memory over time. ---
import { barRows, stackedBar } from "./bars.js";
import { strips } from "./canvas.js";
import { dot, drawing, fitted, frameOf, limitLine, lineChart, polyline, roomy } from "./charts.js";
import { BOUND_COLOURS, colourIn, seriesColour } from "./colours.js";
import { bytes, counted, grouped, percent, quantity, rounded, seconds, signed } from "./numbers.js";
import { bandText, documentOf, el, legend, pageHead, section, showPage, tile, tiles, tipRow, wide } from "./page.js";
import { dataTable, tableOf } from "./sortable.js";

/** @typedef {import("./charts.js").Series} Series */

/** @type {ServeDocument} */
const data = documentOf();
const timeline = data.timeline;
const timeCell = (/** @type {number} */ s) => ({ show: seconds(s), by: s });
const tokens = (/** @type {number} */ v) => rounded(v);

/** Between both ends of the band, where it was asked for. */
function band(/** @type {(s: ServeSummary) => number} */ of, /** @type {(v: number) => string} */ format) {
  if (!data.fast || !data.slow) return "";
  const ends = [of(data.fast), of(data.slow)].sort((a, b) => a - b);
  return `; ${bandText(format(ends[0]), format(ends[1]))}`;
}

function head() {
  return pageHead(data.title, data.words, [["chips", data.chips], ...data.pools.map((pool) =>
    /** @type {[string, string]} */ ([pool.role, `${counted(pool.replicas, "replica")}, ${pool.engine} ${pool.engine_version}`]))]);
}

/** @type {Record<string, string>} */
const HOLDS = { surely: "surely, at the slow end of the band too", likely: "by the forecast, not at the slow end of the band",
  unlikely: "by the fast end of the band alone", no: "not even at the fast end of the band" };

function numbers() {
  const most = data.largest;
  return tiles(most ? tile(`${most.load} ${most.load_unit}`, `the most within ${data.slo}; ${bandText(String(most.slow_load), String(most.fast_load))}`) : null,
    tile(seconds(data.ttft_s.mean), `mean time to first token${band((s) => s.ttft_s.mean, seconds)}`),
    tile(seconds(data.tpot_s.mean), `mean time per output token${band((s) => s.tpot_s.mean, seconds)}`),
    tile(tokens(data.output_tokens_per_s), `output tokens/s${band((s) => s.output_tokens_per_s, tokens)}; ${tokens(data.output_tokens_per_s / data.chips)} a chip`),
    data.slo ? tile(percent(data.within), `of requests within ${data.slo}: ${data.meets ? "met" : "missed"}${data.holds ? `, ${HOLDS[data.holds]}` : ""}`) : null,
    data.usd_per_million_tokens !== null ? tile(`${rounded(data.usd_per_million_tokens)} USD`, "per million output tokens") : null);
}

/** @type {[string, "ttft_s" | "tpot_s" | "inter_token_s" | "latency_s"][]} */
const QUANTITIES = [["time to first token", "ttft_s"], ["time per output token", "tpot_s"], ["between two tokens", "inter_token_s"],
  ["whole answer", "latency_s"]];

function percentilesSection() {
  const rows = QUANTITIES.filter(([, key]) => data[key].count > 0).map(([title, key]) => {
    const p = data[key];
    const ends = (/** @type {"mean" | "p99"} */ pick) => (data.fast && data.slow ? `${seconds(data.fast[key][pick])} to ${seconds(data.slow[key][pick])}` : "–");
    return [title, seconds(p.mean), seconds(p.p50), seconds(p.p90), seconds(p.p95), seconds(p.p99), seconds(p.max), ends("mean"), ends("p99")];
  });
  const lost = data.lost + data.unanswered;
  return section("What clients see", `${counted(data.answered, "request")} answered` + (lost > 0 ? `, ${grouped(lost)} not` : "") + ".",
    tableOf([["", "left"], ["mean"], ["p50"], ["p90"], ["p95"], ["p99"], ["max"], ["10–90 % of the mean"], ["of p99"]], rows), limitsList());
}

function limitsList() {
  if (data.limits.length === 0) return null;
  return el("div", {}, el("h3", {}, "What limits it"), el("ul", {}, ...data.limits.map((text) => el("li", {}, text))));
}

// Latency against throughput: a point a load, joined in their order.

/**
 * @param {string} title
 * @param {"ttft_s" | "tpot_s"} key
 */
function latencyChart(title, key) {
  const points = data.curve.filter((p) => p[key].count > 0 && p.output_tokens_per_s > 0);
  const limits = data.slo_limits.filter((l) => `${l.name.split(".")[0]}_s` === key);
  const each = (/** @type {ServeSummary} */ p) => p.output_tokens_per_s / p.chips;
  const x = roomy(fitted({ title: "output tokens/s of a chip", log: true, base: 2, format: tokens }, points.map(each)));
  const y = roomy(fitted({ title, log: true, base: 2, format: seconds }, [...points.flatMap((p) => [p[key].mean, p[key].p99]), ...limits.map((l) => l.below_s)]), 1.1);
  const tip = (/** @type {ServeCurvePoint} */ p) => [el("b", {}, `${rounded(p.load)} ${data.curve_of}`), tipRow("tokens/s a chip", tokens(each(p))),
    tipRow("mean", seconds(p[key].mean)), tipRow("p99", seconds(p[key].p99)), tipRow("limits", data.slo ? (p.meets ? "met" : "missed") : "none given")];
  return el("div", {}, legend([["mean", seriesColour(0)], ["p99", seriesColour(1)]]), drawing((width) => {
    const frame = frameOf(x, y, width, title);
    for (const [i, pick] of /** @type {["mean", "p99"]} */ (["mean", "p99"]).entries()) {
      const line = points.map((p) => /** @type {[number, number]} */ ([each(p), p[key][pick]]));
      frame.root.append(polyline(frame, line, seriesColour(i), i === 0),
        ...points.map((p, n) => dot(frame, line[n], p.load === asked() ? 6 : 3.5, seriesColour(i), ...tip(p))));
    }
    frame.root.append(...limits.map((l) => limitLine(frame, l.below_s, l.name)));
    return frame.root;
  }));
}

/** The load of the question itself. */
function asked() {
  const same = data.curve.find((p) => p.output_tokens_per_s === data.output_tokens_per_s && p.ttft_s.mean === data.ttft_s.mean);
  return same ? same.load : Number.NaN;
}

function curveSection() {
  if (data.curve.length < 2) return null;
  const rows = data.curve.map((p) => [{ show: rounded(p.load), by: p.load }, timeCell(p.ttft_s.mean), timeCell(p.ttft_s.p99), timeCell(p.tpot_s.mean),
    timeCell(p.tpot_s.p99), { show: tokens(p.output_tokens_per_s), by: p.output_tokens_per_s }, tokens(p.output_tokens_per_s / p.chips),
    data.slo ? (p.meets ? "met" : "missed") : "–"]);
  return wide(section("Latency against throughput", `The same fleet under other loads, a point for each number of ${data.curve_of}; large: as asked.`,
    el("div", { class: "two" }, latencyChart("time to first token", "ttft_s"), latencyChart("time per output token", "tpot_s")),
    dataTable([[data.curve_of], ["TTFT"], ["p99"], ["TPOT"], ["p99"], ["output tokens/s"], ["a chip"], ["limits", "left"]], rows, "loads")));
}

// Over time: batch, queue and memory of the replicas; percentiles of the requests sent in each window.

const at = (/** @type {number} */ i) => (i + 0.5) * timeline.interval_s;
const overTime = (/** @type {string} */ name, /** @type {number[]} */ values) =>
  /** @type {Series} */ ({ name, points: values.map((v, i) => [at(i), v]) });

function batchSection() {
  if (timeline.decodes.length === 0) return null;
  const time = { title: "time", format: seconds };
  return wide(section("Batch and queue over time", `All replicas together; one point is ${seconds(timeline.interval_s)}.`,
    el("div", { class: "two" },
      lineChart([overTime("answers being made", timeline.decodes), overTime("requests waiting", timeline.waiting)], time,
        { title: "requests", format: tokens }),
      lineChart([overTime("prompt tokens/s", timeline.prompt_tokens_per_s)], time, { title: "prompt tokens/s", format: (v) => quantity(v, "") }))));
}

function memorySection() {
  if (timeline.replica_kv.length === 0) return null;
  const mean = (/** @type {number[]} */ values) => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
  const facts = data.pools.map((pool) => {
    const m = pool.memory_bytes;
    return [pool.role, bytes(m.weights + m.drafts), bytes(m.activations), bytes(m.graphs), bytes(m.kv), grouped(Math.max(0, pool.kv_tokens)), percent(pool.kv_mean),
      percent(pool.kv_peak)];
  });
  return wide(section("Room for keys and values", "One strip a replica, over time; the stronger, the fuller. At the right the mean.",
    tableOf([["a chip of", "left"], ["weights"], ["activations"], ["graphs"], ["keys and values"], ["tokens of a replica"], ["used"], ["at peak"]], facts),
    strips(timeline.replica_kv.map((values, i) => ({ name: `replica ${i}`, values, mean: mean(values) })), (r, i) => [
      tipRow("at " + seconds(at(i)), percent(timeline.replica_kv[r][i]))])));
}

function windowsSection() {
  if (data.windows.length < 3) return null;
  const used = data.windows.filter((w) => w.ttft_s.count > 0);
  /** @param {"ttft_s" | "tpot_s"} key */
  const series = (key) => /** @type {Series[]} */ (/** @type {["p50", "p90", "p99"]} */ (["p50", "p90", "p99"]).map((pick) => ({ name: pick,
    points: used.map((w) => [(w.from_s + w.to_s) / 2, w[key][pick]]) })));
  const time = { title: "when the request was sent", format: seconds };
  return wide(section("Percentiles over time", "Of the requests sent in each of " + counted(data.windows.length, "window") + ".",
    el("div", { class: "two" }, lineChart(series("ttft_s"), time, { title: "time to first token", format: seconds }),
      lineChart(series("tpot_s"), time, { title: "time per output token", format: seconds }))));
}

// An iteration at the operating point.

/** @param {ServeIteration} iteration */
function iterationRows(iteration) {
  const parts = [...iteration.parts].filter((p) => p.time_s > 0).sort((a, b) => b.time_s - a.time_s);
  const total = parts.reduce((sum, p) => sum + p.time_s, 0), longest = parts[0].time_s;
  const whole = stackedBar(parts.map((p) => ({ value: p.time_s, colour: colourIn(BOUND_COLOURS, p.bound), label: percent(p.time_s / total, 0),
    tip: [el("b", {}, p.name), tipRow(percent(p.time_s / total), seconds(p.time_s)), tipRow("bound by", BOUND_WORDS[p.bound] || p.bound), tipRow("basis", p.basis)] })), total);
  return barRows([{ name: [el("b", {}, "iteration")], bar: whole, total: seconds(iteration.time_s), last: true }, ...parts.map((p) => ({ name: [p.name],
    total: `${seconds(p.time_s)}, ${percent(p.time_s / total)}, ${p.basis}`,
    bar: stackedBar([{ value: p.time_s, colour: colourIn(BOUND_COLOURS, p.bound) }], p.time_s, longest, "clear") }))]);
}

/** @type {Record<string, string>} */
const BOUND_WORDS = { bytes: "reading memory", compute: "arithmetic", floor: "fixed cost of kernels", latency: "latency of links",
  links: "bandwidth of links", host: "the host" };

function boundsOf(/** @type {(ServeIteration | null)[]} */ iterations) {
  const bounds = new Set(iterations.flatMap((i) => (i ? i.parts.filter((p) => p.time_s > 0).map((p) => p.bound) : [])));
  return legend([...bounds].map((bound) => [BOUND_WORDS[bound] || bound, colourIn(BOUND_COLOURS, bound)]));
}

function poolSection(/** @type {ServePool} */ pool) {
  const plain = pool.iteration, mixed = pool.prompt_iteration;
  if (!plain && !mixed) return null;
  const of = data.pools.length > 1 ? ` of a ${pool.role} replica` : "";
  return wide(section(`An iteration${of} at the operating point`, "The mean batch over the time in which a replica is busy, and what bounds each part. " +
    `Basis: ${pool.basis}; ${pool.source}`,
  boundsOf([plain, mixed]),
  plain ? el("h3", {}, `${rounded(pool.decodes)} answers that see ${rounded(pool.context)} tokens`) : null, plain ? iterationRows(plain) : null,
  mixed ? el("h3", {}, `With ${rounded(pool.prompt_tokens)} prompt tokens: ${percent(pool.prompt_share)} of the busy time`) : null,
  mixed ? iterationRows(mixed) : null));
}

// What would change it.

function nextSection() {
  if (data.next.length === 0) return null;
  const row = (/** @type {string} */ words, /** @type {ServeSummary} */ s) => [words, grouped(s.chips), timeCell(s.ttft_s.p99), timeCell(s.tpot_s.p99),
    { show: tokens(s.output_tokens_per_s), by: s.output_tokens_per_s }, signed(s.output_tokens_per_s / data.output_tokens_per_s - 1),
    tokens(s.output_tokens_per_s / s.chips), data.slo ? (s.meets ? "met" : "missed") : "–"];
  const refused = data.next.filter((v) => v.refused);
  return section("What the next chips would bring", "The same load on more chips, or on the same chips cut another way.",
    tableOf([["with", "words"], ["chips"], ["TTFT p99"], ["TPOT p99"], ["tokens/s"], ["change"], ["a chip"], ["limits", "left"]],
      [row("as asked", data), ...data.next.filter((v) => !v.refused).map((v) => row(v.change, v))]),
    refused.length === 0 ? null : el("ul", {}, ...refused.map((v) => el("li", {}, `${v.change}: ${v.refused}`))));
}

function sensitivitySection() {
  const rows = data.sensitivity.filter((v) => !v.refused);
  if (rows.length === 0) return null;
  const change = (/** @type {number} */ now, /** @type {number} */ then) => ({ show: signed(now > 0 ? then / now - 1 : null), by: now > 0 ? then / now - 1 : 0 });
  return section("What a tenth of the machine is worth", "The run once more with one number of the machine a tenth larger or smaller; changes of the means.",
    dataTable([["with", "left"], ["TTFT"], ["TPOT"], ["output tokens/s"]], rows.map((v) => [v.change, change(data.ttft_s.mean, v.ttft_s.mean),
      change(data.tpot_s.mean, v.tpot_s.mean), change(data.output_tokens_per_s, v.output_tokens_per_s)]), "changes"));
}

function assumedSection() {
  if (data.assumed.length === 0) return null;
  return section("What was assumed", "Nobody told these:", el("ul", {}, ...data.assumed.map((text) => el("li", {}, text))));
}

showPage(head(), numbers(), wide(percentilesSection()), curveSection(), batchSection(), windowsSection(), memorySection(), ...data.pools.map(poolSection),
  nextSection(), sensitivitySection(), assumedSection());
