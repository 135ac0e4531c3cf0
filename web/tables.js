// --- Bars and tables of a replay: everything that is not drawn on a canvas. ---------------------------
import { barRows, stackedBar } from "./bars.js";
import { GPU_COLOURS, PATH_COLOURS, colourIn } from "./colours.js";
import { data } from "./decode.js";
import { bytes, counted, grouped, ms, percent, signed, span } from "./numbers.js";
import { el, legend, section, tipRow, wide, withTip } from "./page.js";
import { report } from "./replayed.js";
import { dataTable, tableOf } from "./sortable.js";

export const MOST_RANKS = 64;  // bars and curves of more are left out, with a note

/** @type {[keyof typeof GPU_COLOURS, string, string][]} */
const PARTS = [
  ["exposed_compute", "compute alone", "compute kernels run, no communication beside them"],
  ["overlapped", "both at once", "communication hidden behind compute"],
  ["transfer", "transfer alone", "data moves between ranks, and compute has nothing to do"],
  ["waiting_for_rank", "waiting for a rank", "a collective waits for the GPU of its last rank, which has more to do or takes longer for it"],
  ["waiting_for_host", "waiting for a host", "a collective waits for its last rank, whose GPU stood idle: its host is late"],
  ["waiting_for_stage", "waiting for a stage", "what another stage of the pipeline computes is waited for: no plan can do without"],
  ["copies", "copies alone", "copies and sets, no kernel"],
  ["idle", "idle", "nothing runs on the GPU"],
];

/** "other" of the report is copies alone and idle. */
const partsOf = (/** @type {Breakdown} */ breakdown) => ({ ...breakdown, copies: breakdown.other - breakdown.idle });

/** What the engine makes of a part: nothing is promised that no run has shown. */
function worthOf(/** @type {string} */ part, /** @type {string} */ what) {
  const row = report.sensitivity?.parts.find((each) => each.part === part);
  return row ? ` ${what}: the GPU step changes by ${signed(row.change)} with a tenth less of it, by ${signed(row.limit_change)} with none.` : "";
}

function worthOfRank() {
  const like = report.sensitivity?.straggler || report.sensitivity?.late;
  if (!like || like.change === null) return "";
  const next = like.next === null || like.next === like.rank ? "" : `, since rank ${like.next} is last then`;
  return ` Rank ${like.rank}, made like its equals, changes it by ${signed(like.change)}${next}.`;
}

function breakdownBar(/** @type {Breakdown} */ breakdown, /** @type {number} */ length, /** @type {string} */ whose) {
  const parts = partsOf(breakdown);
  return stackedBar(PARTS.map(([key, title, meaning]) => ({ value: parts[key], colour: GPU_COLOURS[key], label: percent(parts[key] / length),
    tip: [el("b", {}, `${title}, ${whose}`), tipRow(percent(parts[key] / length), ms(parts[key])), meaning] })), length);
}

export function breakdownSection() {
  const rows = report.ranks.slice(0, MOST_RANKS).flatMap(({ rank, window }) => {
    const { measured, replayed } = window.breakdown_s;
    return [{ name: [el("b", {}, `rank ${rank}`), " recorded"], total: ms(window.measured_s),
      bar: breakdownBar(measured, window.measured_s, `rank ${rank} recorded`) },
    { name: ["replayed"], total: ms(window.replayed_s), last: true, bar: breakdownBar(replayed, window.replayed_s, `rank ${rank} replayed`) }];
  });
  return wide(section("Where the GPU time goes",
    "Each bar is one rank's time from its first to its last GPU task. What a part is worth is told by runs of the engine." +
    worthOf("network", "Transfers") + worthOfRank() + worthOf("host", "The host, which idle GPUs and others' hosts wait for"),
    legend(PARTS.map(([key, title]) => [title, GPU_COLOURS[key]])), barRows(rows), leftOut()));
}

export function leftOut() {
  const more = report.ranks.length - MOST_RANKS;
  return more > 0 ? el("p", { class: "note" }, `${counted(more, "more rank")} not drawn; --json has all.`) : null;
}

// Steps: a matrix of ranks and steps.

function tint(/** @type {number | null} */ error) {
  if (error === null) return "";
  const part = Math.min(1, Math.abs(error) / 0.03);
  return `background:color-mix(in srgb, var(--bad) ${Math.round(part * 40)}%, var(--hover))`;
}

function stepCell(/** @type {ReplayRank} */ rank, /** @type {ReplayStep} */ step, /** @type {boolean} */ gpu) {
  const error = gpu ? step.gpu_step_error : step.error;
  const measured = gpu ? step.gpu_measured_s : step.measured_s;
  const replayed = gpu ? step.gpu_replayed_s : step.replayed_s;
  if (measured === null || replayed === null) return el("td", {}, "–");
  return withTip(el("td", { style: tint(error) }, ms(measured), el("small", {}, signed(error))),
    el("b", {}, `rank ${rank.rank}, ${step.name}, ${gpu ? "GPU" : "host"} step`),
    tipRow("measured", ms(measured)), tipRow("replayed", ms(replayed)),
    tipRow("GPU starts off by (median)", span(step.start_error_median_s * 1e9)));
}

function stepMatrix(/** @type {boolean} */ gpu) {
  const names = [...new Set(report.ranks.flatMap((rank) => rank.steps.map((step) => step.name)))];
  const head = el("tr", {}, el("th", { class: "left", scope: "col" }, "rank"), ...names.map((name) => el("th", { scope: "col" }, name)));
  const rows = report.ranks.map((rank) => el("tr", {}, el("th", { class: "left", scope: "row" }, String(rank.rank)),
    ...names.map((name) => {
      const step = rank.steps.find((s) => s.name === name);
      return step ? stepCell(rank, step, gpu) : el("td", {}, "–");
    })));
  return el("table", { class: "matrix" }, head, ...rows);
}

export function stepsSection() {
  const place = el("div", { class: "scroll" });
  const buttons = ["Host steps", "GPU steps"].map((title, i) => el("button", { onclick: () => show(i === 1) }, title));
  const show = (/** @type {boolean} */ gpu) => {
    buttons.forEach((button, i) => { button.setAttribute("aria-pressed", String((i === 1) === gpu)); });
    place.replaceChildren(stepMatrix(gpu));
  };
  show(report.baseline === "dpro");
  const q = report.summary;
  const errors = [q.steps > 0 ? `Host steps are off by ${percent(q.mean_abs_error || 0, 2)} in the mean, ${percent(q.max_abs_error || 0, 2)} at worst. ` : "",
    q.gpu_steps > 0 ? `GPU steps: ${percent(q.mean_abs_gpu_step_error || 0, 2)}, ${percent(q.max_abs_gpu_step_error || 0, 2)}; a GPU task starts ` +
      `${percent(q.start_error_median_of_window || 0, 3)} of the run from where it did (median). ` : ""];
  return section("How near the replay comes, step by step", errors.join("") +
    "Measured length of every step on every rank, and by how much the replay is off. A host step is what the " +
    "training loop sees; a GPU step runs from the last GPU task of one step to the last of the next, and is the " +
    "harder test. Cells redden towards 3 %.",
    el("div", { class: "controls" }, ...buttons), place);
}

// Collectives: waiting for the last rank against transfer.

/**
 * @param {number} wait
 * @param {number} transfer
 * @param {number} most
 * @param {string} whose
 */
function waitBar(wait, transfer, most, whose) {
  return stackedBar([{ value: wait, colour: "wait", tip: [el("b", {}, `waiting, ${whose}`), ms(wait)] },
    { value: transfer, colour: "communication", tip: [el("b", {}, `transfer, ${whose}`), ms(transfer)] }], wait + transfer, most, "thin clear");
}

/** Recorded above, replayed below it, sorted by what was recorded. */
function bothRuns(/** @type {TwoRuns} */ time) {
  return { show: el("span", {}, ms(time.measured), el("small", {}, ms(time.replayed))), by: time.measured };
}

const MOST_COLLECTIVES = 40;

export function collectivesSection() {
  const list = report.collectives.slice(0, MOST_COLLECTIVES);
  if (list.length === 0) return null;
  /** @type {(c: ReplayCollective, run: "measured" | "replayed") => number} */
  const together = (c, run) => c.wait_s[run] + c.transfer_s[run];
  const most = Math.max(...list.flatMap((c) => [together(c, "measured"), together(c, "replayed")]));
  const rows = list.map((c) => [c.name, c.group || "–", grouped(c.count), String(c.ranks), { show: bytes(c.bytes), by: c.bytes },
    bothRuns(c.wait_s), bothRuns(c.transfer_s), { by: together(c, "measured"), show: el("div", { class: "both" },
      waitBar(c.wait_s.measured, c.transfer_s.measured, most, "recorded"), waitBar(c.wait_s.replayed, c.transfer_s.replayed, most, "replayed")) }]);
  return wide(section("Collectives: waiting or transferring?",
    "A collective starts to transfer when its last rank arrives; until then the others wait inside its kernel. " +
    "Waiting is imbalance between ranks, transfer is the network. Sums over all ranks.",
    legend([["waiting for the last rank", "wait"], ["transfer", "communication"]]),
    dataTable([["collective", "words"], ["group", "left"], ["times"], ["ranks"], ["bytes"], ["waiting"], ["transfer"],
      ["recorded above, replayed below", "wide"]], rows, "collectives")));
}

// Critical path.

const pathTitle = (/** @type {string} */ name) => data.path_titles[name] || name;

export function pathSection() {
  const whole = report.critical_path;
  if (whole.pieces === 0) return null;
  const entries = Object.entries(whole.classes);
  const bar = stackedBar(entries.map(([name, c]) => ({ value: c.time_s, colour: colourIn(PATH_COLOURS, name), label: percent(c.time_s / whole.length_s),
    tip: [el("b", {}, pathTitle(name)), tipRow(percent(c.time_s / whole.length_s), ms(c.time_s)), counted(c.pieces, "piece")] })), whole.length_s);
  return section("What the run is bound by",
    `The critical path: the chain of tasks, each held back by the one before it, that ends with the run. It is ` +
    `${ms(whole.length_s)} long and changes rank ${counted(whole.rank_changes, "time")}; rank ${whole.last_rank} ends last, ` +
    `its window is ${ms(whole.window_s)}. Only what lies on it can make the run faster.` +
    (whole.pinned_starts > 0 ? ` Its first ${percent(whole.pinned_s / whole.length_s)} is pinned, up to the last of ` +
      `${counted(whole.pinned_starts, "start")} as recorded: nothing there makes the run shorter.` : ""),
    legend(entries.map(([name]) => [pathTitle(name), colourIn(PATH_COLOURS, name)])), bar, ...pathRanks());
}

function pathRanks() {
  const whole = report.critical_path, ranks = Object.entries(whole.ranks).slice(0, MOST_RANKS);
  if (ranks.length < 2) return [];
  const most = Math.max(...ranks.map(([, r]) => r.time_s));
  return [el("h3", {}, "On which rank it runs"), barRows(ranks.map(([rank, r]) => ({ name: [`rank ${rank}`], total: percent(r.time_s / whole.length_s),
    bar: stackedBar([{ value: r.time_s, colour: "operator", tip: [el("b", {}, `rank ${rank}`), ms(r.time_s)] }], r.time_s, most, "thin clear") })))];
}

/** Both ends of a long name. */
const briefly = (/** @type {string} */ name) => (name.length <= 90 ? name : name.slice(0, 58) + " … " + name.slice(-28));

/** A kernel's name: in brief, whole in its tooltip and for the filter. */
function nameCell(/** @type {string} */ name) {
  return { show: withTip(el("span", {}, briefly(name)), el("b", {}, name)), by: name };
}

export function kernelsSection() {
  const list = report.top_kernels;
  if (list.length === 0) return null;
  const most = list[0].measured_s;
  const rows = list.map((k) => [nameCell(k.name), grouped(k.count), { show: ms(k.measured_s), by: k.measured_s },
    { show: ms(k.measured_s / k.count), by: k.measured_s / k.count },
    stackedBar([{ value: k.measured_s, colour: /nccl|rccl/i.test(k.name) ? "communication" : "compute",
      tip: [el("b", {}, k.name), tipRow("recorded", ms(k.measured_s)), tipRow("replayed", ms(k.replayed_s))] }], k.measured_s, most, "thin clear")]);
  return wide(section("Kernels that take the most time", "Summed over all ranks and steps of the recording.",
    dataTable([["kernel", "mono"], ["times"], ["together"], ["each"], ["", "wide"]], rows, "kernels")));
}

// What the forecast rests on.

const spaced = (/** @type {string} */ name) => name.replaceAll("_", " ");

function edgesTable() {
  return tableOf([["dependency", "left"], ["kept"], ["contradicted, dropped"]],
    Object.entries(report.edges).map(([kind, e]) => [spaced(kind), grouped(e.count), grouped(e.contradicted)]));
}

function lagsTable() {
  /** @type {Map<string, { samples: number, least: number, most: number }>} */
  const kinds = new Map();
  for (const lag of report.lags) {
    if (lag.samples === 0) continue;
    const k = kinds.get(lag.edge) || { samples: 0, least: lag.typical_s, most: lag.typical_s };
    kinds.set(lag.edge, { samples: k.samples + lag.samples, least: Math.min(k.least, lag.typical_s), most: Math.max(k.most, lag.typical_s) });
  }
  return tableOf([["delay after", "left"], ["samples"], ["typical, over ranks"]],
    [...kinds].map(([kind, k]) => [spaced(kind), grouped(k.samples), `${span(k.least * 1e9)} – ${span(k.most * 1e9)}`]));
}

function anomaliesList() {
  /** @type {Map<string, { count: number, first: string }>} */
  const kinds = new Map();
  for (const a of report.anomalies) {
    const k = kinds.get(a.kind) || { count: 0, first: a.first };
    kinds.set(a.kind, { count: k.count + a.count, first: k.first });
  }
  return el("ul", {}, ...[...kinds].map(([kind, k]) =>
    el("li", {}, `${spaced(kind)}: ${counted(k.count, "time")} `, el("small", { class: "note" }, `first: ${k.first}`))));
}

const MOST_LATE = 15;

function lateTable() {
  return tableOf([["rank"], ["at"], ["late by"], ["task", "mono"]], report.late_starts.tasks.slice(0, MOST_LATE).map((late) =>
    [String(late.rank), ms(late.recorded_start_s), span(late.late_s * 1e9), briefly(late.name)]));
}

export function restsSection() {
  const late = report.late_starts;
  const pins = report.pinned.map((p) => el("li", {}, `${p.what} (${counted(p.tasks, "task")})`));
  return wide(section("What this rests on",
    "A replay that copies enough from its recording is exact, whatever else is wrong. This is what was copied, what " +
    "was computed from which dependencies, and what nobody could explain.",
    el("div", { class: "two" },
      el("div", {}, el("h3", {}, "Dependencies"), edgesTable(), el("h3", {}, `Delays (mode: ${report.mode})`), lagsTable()),
      el("div", {}, el("h3", {}, "Taken from the recording"), pins.length ? el("ul", {}, ...pins) : el("p", {}, "Nothing but durations and host time."),
        late.count > 0 ? el("h3", {}, `Starts later than anything explains: ${grouped(late.count)}, ${percent(late.share_of_windows, 2)} of the time`) : null,
        late.count > 0 ? lateTable() : null,
        report.anomalies.length ? el("h3", {}, "Oddities in the input") : null,
        report.anomalies.length ? anomaliesList() : null))));
}
