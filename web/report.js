// --- The page of `flopcast replay`. ------------------------------------------------------------------
import { curvesSection } from "./curves.js";
import { counted, grouped, percent, span } from "./numbers.js";
import { el, pageHead, showPage, tile, tiles } from "./page.js";
import { report } from "./replayed.js";
import { sensitivitySection, truncatedWarning } from "./sensitivity.js";
import { breakdownSection, collectivesSection, kernelsSection, pathSection, restsSection, stepsSection } from "./tables.js";
import { timelineSection } from "./timeline.js";

function header() {
  const quality = report.summary;
  /** @type {[string, string | number][]} */
  const chips = [["lags", report.mode], ["model", report.baseline], ["tasks", grouped(report.tasks)],
    ["edges", grouped(report.task_edges)], ["clocks agree within", span(report.clock_residual_s * 1e9)]];
  if (report.structure_from) {
    chips.push(["structure of", report.structure_from], ["durations of", report.durations_from || ""]);
  }
  return pageHead(report.name, `The recorded run, simulated again task by task: ${counted(report.ranks.length, "rank")}, ` +
    `${counted(quality.steps || quality.gpu_steps, "step")} in all.`, chips);
}

function damage() {
  if (report.damage.length === 0) return null;
  return el("section", { class: "card damage" }, el("h2", {}, "This recording is damaged: the numbers below are no forecast"),
    el("ul", {}, ...report.damage.map((why) => el("li", {}, why))));
}

function verdict() {
  if (report.verdict.length === 0) return null;
  return el("section", { class: "card" }, el("h2", {}, "Verdict"), el("ul", {}, ...report.verdict.map((line) => el("li", {}, line))));
}

function numbers() {
  const q = report.summary, ranks = report.ranks;
  const transfer = (/** @type {Breakdown} */ { exposed_communication, waiting }) => exposed_communication - waiting;
  const exposed = ranks.map((rank) => transfer(rank.window.breakdown_s.measured) / (rank.window.measured_s || 1));
  const most = exposed.indexOf(Math.max(...exposed));
  const list = [];
  if (q.steps > 0) list.push(tile(percent(q.mean_abs_error || 0, 2), `mean error of host steps; worst ${percent(q.max_abs_error || 0, 2)}`));
  if (q.gpu_steps > 0) {
    list.push(tile(percent(q.mean_abs_gpu_step_error || 0, 2), `mean error of GPU steps; worst ${percent(q.max_abs_gpu_step_error || 0, 2)}`));
    list.push(tile(percent(q.start_error_median_of_window || 0, 3), "of the run is how far a GPU task's start is off (median)"));
  }
  if (Math.max(...exposed) > 0.0005) {
    list.push(tile(percent(exposed.reduce((a, b) => a + b, 0) / exposed.length), ranks.length > 1
      ? `of GPU time is transfers alone; most on rank ${ranks[most].rank}, ${percent(exposed[most])}`
      : "of GPU time is transfers alone"));
  }
  return tiles(...list);
}

function recordedLagsNote() {
  if (report.mode !== "recorded") return null;
  return el("section", { class: "card damage" }, el("h2", {}, "Recorded lags"),
    el("p", {}, "Every delay is as recorded, which makes any replay nearly exact: these errors say nothing of accuracy."));
}

showPage(header(), truncatedWarning(), damage(), recordedLagsNote(), verdict(), numbers(), breakdownSection(), timelineSection("Timeline",
  "Every stream and thread twice: as recorded above, as replayed below. Hover a task to see both. The line is the " +
  "critical path through the replayed run; the strip at the top shows what it runs through."), stepsSection(),
  pathSection(), sensitivitySection(), collectivesSection(), curvesSection(), kernelsSection(), restsSection());
