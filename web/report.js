// --- The page of `flopcast replay`. ------------------------------------------------------------------
import { curvesSection } from "./curves.js";
import { counted, grouped, ms, percent, span } from "./numbers.js";
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

/** Shares of all GPUs' recorded time. */
function numbers() {
  const ranks = report.ranks, whole = ranks.reduce((sum, rank) => sum + rank.window.measured_s, 0) || 1;
  const share = (/** @type {(parts: Breakdown) => number} */ of) =>
    percent(ranks.reduce((sum, rank) => sum + of(rank.window.breakdown_s.measured), 0) / whole);
  const list = [tile(share((b) => b.exposed_compute + b.overlapped), "of GPU time computes")];
  if (ranks.some((rank) => rank.window.breakdown_s.measured.exposed_communication > 0)) {
    list.push(tile(share((b) => b.transfer), "transfers, no compute beside it"),
      tile(share((b) => b.waiting_for_rank), "waits for another rank's GPU"), tile(share((b) => b.waiting_for_host), "waits for another rank's host"));
  }
  if (ranks.some((rank) => rank.window.breakdown_s.measured.waiting_for_stage > 0)) list.push(tile(share((b) => b.waiting_for_stage), "waits for another stage"));
  list.push(tile(share((b) => b.idle), "is idle"));
  if (report.sensitivity) list.push(tile(ms(report.sensitivity.gpu_step_s), "is the GPU step, the mean of ranks and usual steps"));
  return tiles(...list);
}

function recordedLagsNote() {
  if (report.mode !== "recorded") return null;
  return el("section", { class: "card damage" }, el("h2", {}, "Recorded lags"),
    el("p", {}, "Every delay is as recorded, which makes any replay nearly exact: these errors say nothing of accuracy."));
}

showPage(header(), truncatedWarning(), damage(), recordedLagsNote(), verdict(), numbers(), breakdownSection(), timelineSection("Timeline",
  "Every stream and thread twice: as recorded above, as replayed below. Hover a task to see both. The line is the " +
  "critical path through the replayed run; the strip at the top shows what it runs through."), sensitivitySection(),
  pathSection(), collectivesSection(), curvesSection(), kernelsSection(), stepsSection(), restsSection());
