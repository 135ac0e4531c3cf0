// --- The page of `flopcast serve-plan`: the smallest fleet, its rivals, what no other beats, how it is started. ---
import { dot, drawing, fitted, frameOf, limitLine, polyline, roomy } from "./charts.js";
import { counted, grouped, percent, rounded, seconds, usd } from "./numbers.js";
import { copyable, documentOf, el, pageHead, section, showPage, tile, tiles, tipRow, wide } from "./page.js";
import { dataTable } from "./sortable.js";

/** @type {FleetsDocument} */
const data = documentOf();
/** Searches on several clusters, of which the one above is the best to read first.
 * @type {ComparedFleets | null} */
const compared = document.getElementById("clusters") ? documentOf("clusters") : null;
const asked = data.asked;
const priced = asked.usd_per_chip_hour > 0;
const rate = (/** @type {FoundFleet} */ f) => f.output_tokens_per_s_per_chip;
const costText = (/** @type {FoundFleet} */ f) => (priced ? `${rounded(f.cost_per_million_tokens)} USD` : "–");

function head() {
  const load = asked.settings.map((s) => `${s.name} ${s.value}`).join(", ");
  return pageHead(`${asked.model} on ${asked.on}`, load || `the largest ${asked.load_unit}`, [[asked.largest ? "chips" : "chips at most", grouped(asked.chips)],
    ...(asked.limits.length > 0 ? [/** @type {[string, string]} */ (["limits", asked.limits.join(", ")])] : []),
    ["configurations", grouped(data.search.configurations)]]);
}

function problemSection() {
  if (data.found) return null;
  const nearest = data.nearest ? el("p", {}, `The nearest: ${data.nearest.words}: TTFT p99 ${seconds(data.nearest.ttft.p99_s)}, ` +
    `TPOT p99 ${seconds(data.nearest.tpot.p99_s)}.`) : null;
  return el("section", { class: "card damage" }, el("h2", {}, "No fleet of these chips keeps the limits"),
    data.problem ? el("p", {}, `${data.problem.what}. ${data.problem.hint}`) : null, nearest);
}

function numbers() {
  const winner = data.best[0];
  if (!winner) return null;
  const band = asked.limits.length > 0 && !asked.largest ? tile(percent(winner.limit_ratio), `of the limits; ${percent(winner.slow_limit_ratio)} at the slow end of the band: ` +
    (winner.slow_limit_ratio < 1 ? "they hold surely" : "they hold there no more")) : null;
  const most = asked.largest ? tile(`${winner.largest_load} ${asked.load_unit}`, `the most within the limits; ${winner.slow_largest_load} to ${winner.fast_largest_load} ` +
    "from the slow to the fast end of the 10–90 % band") : null;
  return tiles(most, tile(counted(winner.chips, "chip"), winner.words), band, tile(seconds(winner.ttft.p99_s), `TTFT p99; mean ${seconds(winner.ttft.mean_s)}`),
    tile(seconds(winner.tpot.p99_s), `TPOT p99; mean ${seconds(winner.tpot.mean_s)}`),
    tile(rounded(winner.output_tokens_per_s), `output tokens/s; ${rounded(rate(winner))} a chip`),
    priced ? tile(costText(winner), "per million output tokens") : null,
    priced ? tile(usd(winner.chips * asked.usd_per_chip_hour * 24 * 30), "a month of 30 days") : null);
}

const CLUSTER_COLUMNS = /** @type {import("./sortable.js").Column[]} */ ([["cluster", "words"], ["chips"], ["the best fleet", "words"], ["an hour"],
  ["a million"], ["tokens/s"], ["TTFT p99"], ["TPOT p99"]]);

function clusterRow(/** @type {FleetsDocument} */ one) {
  const best = one.best[0];
  const price = one.asked.usd_per_chip_hour;
  if (!best) return [one.asked.on, "–", one.problem ? one.problem.what : "none keeps the limits", "–", "–", "–", "–", "–"];
  const paid = (/** @type {number} */ value) => (price > 0 ? { show: `${rounded(value)} USD`, by: value } : "–");
  return [one.asked.on, grouped(best.chips), best.words, paid(best.chips * price), paid(best.cost_per_million_tokens),
    { show: rounded(best.output_tokens_per_s), by: best.output_tokens_per_s }, time(best.ttft.p99_s), time(best.tpot.p99_s)];
}

function clustersSection() {
  if (!compared) return null;
  const named = (/** @type {number} */ i) => compared.clusters[i].asked.on;
  const words = [compared.largest !== null ? `Largest load: ${named(compared.largest)}.` : null, compared.cheapest !== null ? `Cheapest: ${named(compared.cheapest)}.` : null,
    compared.largest !== null ? null : compared.fewest_chips !== null ? `Fewest chips: ${named(compared.fewest_chips)}.` : "None keeps the limits.",
    `What follows is of ${asked.on}.`].filter((text) => text !== null).join(" ");
  return wide(section("Clusters side by side", words, dataTable(CLUSTER_COLUMNS, compared.clusters.map(clusterRow), "clusters")));
}

/** @type {import("./sortable.js").Column[]} */
const HELD = asked.largest ? [[asked.load_unit], ["slow end"], ["fast end"]] : asked.limits.length > 0 ? [["of limits"], ["slow end"]] : [];
/** @type {import("./sortable.js").Column[]} */
const COLUMNS = [["#", "left"], ["fleet", "words"], ["chips"], ...HELD, ["TTFT"], ["p99"], ["TPOT"], ["p99"], ["tokens/s"], ["a chip"], ["a million"]];
const time = (/** @type {number} */ s) => ({ show: seconds(s), by: s });

function rowOf(/** @type {FoundFleet} */ f, /** @type {number} */ i) {
  const load = (/** @type {number} */ value) => ({ show: String(value), by: value });
  const share = (/** @type {number} */ value) => ({ show: value > 0 ? percent(value) : "–", by: value });
  const held = asked.largest ? [load(f.largest_load), load(f.slow_largest_load), load(f.fast_largest_load)] :
    asked.limits.length > 0 ? [share(f.limit_ratio), share(f.slow_limit_ratio)] : [];
  const same = f.same.length > 0 ? ` (and ${counted(f.same.length, "other")} with the same numbers)` : "";
  return [`${i + 1}`, f.words + same, grouped(f.chips), ...held, time(f.ttft.mean_s), time(f.ttft.p99_s), time(f.tpot.mean_s), time(f.tpot.p99_s),
    { show: rounded(f.output_tokens_per_s), by: f.output_tokens_per_s }, { show: rounded(rate(f)), by: rate(f) },
    { show: costText(f), by: f.cost_per_million_tokens }];
}

function bestSection() {
  if (data.best.length === 0) return null;
  const order = asked.largest ? "Of all chips; the largest load first." : asked.front ? "Of least cost first." : "Fewest chips first, those farthest below the limits first.";
  const title = asked.limits.length > 0 ? "The fleets that keep the limits" : "The best fleets";
  return wide(section(title, order, dataTable(COLUMNS, data.best.map(rowOf), "fleets")));
}

/** A time over throughput: left and up is worse. */
function frontChart(/** @type {string} */ title, /** @type {"ttft" | "tpot"} */ key) {
  const of = (/** @type {FoundFleet} */ f) => f[key].mean_s;
  const limits = asked.limits.map((name, i) => ({ name, below_s: asked.limits_s[i] })).filter(({ name }) => name.startsWith(`${key}.`));
  const points = [...data.pareto].sort((a, b) => rate(a) - rate(b));
  const best = data.best.filter((b) => !points.some((p) => p.number === b.number));
  const all = [...points, ...best];
  const x = roomy(fitted({ title: "output tokens/s of a chip", log: true, base: 2, format: rounded }, all.map(rate)));
  const y = roomy(fitted({ title, log: true, base: 2, format: seconds }, [...all.map(of), ...limits.map((l) => l.below_s)]), 1.1);
  let least = Number.POSITIVE_INFINITY;
  /** @type {[number, number][]} */
  const line = [];
  for (const f of [...points].reverse()) {
    if (of(f) >= least) continue;
    least = of(f);
    line.unshift([rate(f), of(f)]);
  }
  const tip = (/** @type {FoundFleet} */ f) => [el("b", {}, f.words), tipRow("chips", grouped(f.chips)), tipRow("tokens/s a chip", rounded(rate(f))),
    tipRow("TTFT", seconds(f.ttft.mean_s)), tipRow("TPOT", seconds(f.tpot.mean_s)), tipRow("a million tokens", costText(f))];
  return drawing((width) => {
    const frame = frameOf(x, y, width, title);
    frame.root.append(polyline(frame, line, "accent"), ...points.map((f) => dot(frame, [rate(f), of(f)], 5, "accent", ...tip(f))),
      ...best.map((f) => dot(frame, [rate(f), of(f)], 3.5, "soft", ...tip(f))), ...limits.map((l) => limitLine(frame, l.below_s, l.name)));
    return frame.root;
  });
}

function frontSection() {
  if (data.pareto.length < 2) return null;
  return wide(section("What no other fleet beats", "Coloured: nothing is better in cost, time to first token and time per token at once; grey: the fleets " +
    "above. The line joins those that are best in the two that are drawn.",
  el("div", { class: "two" }, frontChart("mean time to first token", "ttft"), frontChart("mean time per output token", "tpot")),
  dataTable(COLUMNS, data.pareto.map(rowOf), "fleets")));
}

function launchSection() {
  if (data.launch.length === 0) return null;
  return wide(section("How the best is started", "Flags that mean the fleet that was forecast, and no others.", ...data.launch.flatMap((one) => [
    el("h3", {}, `${counted(one.replicas, one.role === "prefill and decode" ? "replica" : `${one.role} replica`)}, ${one.checkpoint}`), copyable(one.command, "the command"),
    one.file ? el("p", { class: "lead" }, `${one.file_name}:`) : null, one.file ? copyable(one.file, one.file_name) : null,
    ...one.lacks.map((text) => el("p", { class: "lead" }, text))])));
}

function searchSection() {
  const s = data.search;
  return section("What was gone through", `${counted(s.configurations, "configuration")}: ${grouped(s.impossible)} cannot be cut so, ` +
    `${grouped(s.out_of_memory)} do not fit into memory.`,
  data.assumed.length > 0 ? el("ul", {}, ...data.assumed.map((text) => el("li", {}, text))) : null);
}

showPage(head(), clustersSection(), problemSection(), numbers(), bestSection(), frontSection(), launchSection(), searchSection());
