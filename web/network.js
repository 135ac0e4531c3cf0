// --- The page of `flopcast net time` and `flopcast net run`. ---------------------------------------
import { strips } from "./canvas.js";
import { lineChart } from "./charts.js";
import { bytes, counted, percent, rate, span } from "./numbers.js";
import { bandText, documentOf, el, pageHead, section, showPage, tile, tiles, tipRow, wide } from "./page.js";
import { dataTable, tableOf } from "./sortable.js";

/** @type {CollectivePage | TrafficPage} */
const data = documentOf();
const timeText = (/** @type {number} */ s) => span(s * 1e9);
const timeCell = (/** @type {number} */ s) => ({ show: timeText(s), by: s });

function timePage(/** @type {CollectivePage} */ found) {
  const sizes = { title: "size", log: true, base: 4, format: bytes };
  /** @param {"time_s" | "bus_bandwidth"} field */
  const curves = (field) => found.curves.map((c) => ({ name: c.name, bold: c.chosen,
    points: c.points.map((p) => /** @type {[number, number]} */ ([p.bytes, p[field]])) }));
  showPage(
    pageHead(found.title, `${found.op} of ${bytes(found.bytes)} over ${counted(found.ranks, "chip")} of ${found.cluster}`),
    tiles(
      tile(timeText(found.time_s), `${found.algorithm}, ${found.protocol}; ${bandText(timeText(found.low_s), timeText(found.high_s))}`),
      tile(rate(found.bus_bandwidth), "bus bandwidth"), tile(rate(found.algorithm_bandwidth), "algorithm bandwidth"),
      tile(found.basis, found.source)),
    section("Bus bandwidth", "The bandwidth the links see, comparable between operations and numbers of ranks. The bold line " +
      "is the forecast; the others are what each algorithm would reach by its own model.",
    lineChart(curves("bus_bandwidth"), sizes, { title: "bus bandwidth", format: rate })),
    section("Time", "The same forecast as time; where the line is flat, latency rules.",
      lineChart(curves("time_s"), sizes, { title: "time", log: true, format: timeText })),
    wide(section("Levels", "Where the time of this size goes, by level of the cluster.",
      tableOf([["level", "left"], ["latency"], ["transfer"]], found.parts.map((p) => [p.level, timeText(p.latency_s), timeText(p.transfer_s)])))));
}

const MOST_LINKS = 48, MOST_LINES = 8, MOST_FLOWS = 200;

function usesSection(/** @type {TrafficPage} */ run) {
  const lines = run.links.slice(0, MOST_LINES).map((l) => ({ name: l.name,
    points: l.used.map((v, i) => /** @type {[number, number]} */ ([(i + 0.5) * run.interval_s, v])) }));
  if (lines.length === 0) return null;
  return section("Use of the busiest links over time", `Share of a link's capacity, averaged over each interval of ${timeText(run.interval_s)}.`,
    lineChart(lines, { title: "time", format: timeText }, { title: "use", to: 1.02, format: (v) => percent(v, 0) }));
}

function linksSection(/** @type {TrafficPage} */ run) {
  const shown = run.links.filter((l) => l.used.length > 0).slice(0, MOST_LINKS), more = run.links.length - shown.length;
  if (shown.length === 0) return null;
  return wide(section("Links", "One strip a link, busiest first, with its mean use; the stronger, the fuller.",
    strips(shown.map((l) => ({ name: l.name, values: l.used, mean: l.mean })), (r, i) => [
      tipRow("at " + timeText(i * run.interval_s), percent(shown[r].used[i])), tipRow("whole run", percent(shown[r].mean)),
      tipRow("carried", bytes(shown[r].carried_bytes))]),
    more > 0 ? el("p", { class: "note" }, `${counted(more, "more link")} not drawn; --json has all.`) : null));
}

function flowsSection(/** @type {TrafficPage} */ run) {
  const longest = [...run.flows].sort((a, b) => (b.end_s - b.start_s) - (a.end_s - a.start_s)).slice(0, MOST_FLOWS);
  return section("Flows", "Longest first.", dataTable([["flow", "left"], ["bytes"], ["start"], ["end"], ["takes"], ["mean rate"]],
    longest.map((f) => {
      const takes = f.end_s - f.start_s, mean = takes > 0 ? f.bytes / takes : 0;
      return [f.id, { show: bytes(f.bytes), by: f.bytes }, timeCell(f.start_s), timeCell(f.end_s), timeCell(takes),
        { show: mean > 0 ? rate(mean) : "–", by: mean }];
    }), "flows"));
}

function runPage(/** @type {TrafficPage} */ run) {
  showPage(pageHead(run.title, `${counted(run.flows.length, "flow")} on ${run.cluster}`),
    tiles(tile(timeText(run.end_s), "until the last is complete"), tile(String(run.links.length), "links carried something"),
      run.links.length > 0 ? tile(percent(run.links[0].mean), `of the run is ${run.links[0].name} full, the busiest link`) : null),
    usesSection(run), flowsSection(run), linksSection(run));
}

if (data.kind === "time") timePage(/** @type {CollectivePage} */ (data)); else runPage(/** @type {TrafficPage} */ (data));
