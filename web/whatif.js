// --- The page of `flopcast whatif`. -------------------------------------------------------------------
import { barRows, stackedBar } from "./bars.js";
import { STEP_COLOURS, colourIn } from "./colours.js";
import { data } from "./decode.js";
import { bytes, counted, grouped, ms, percent, seconds, signed } from "./numbers.js";
import { documentOf, el, legend, pageHead, section, showPage, tile, tiles, tipRow, wide } from "./page.js";
import { dataTable, tableOf } from "./sortable.js";
import { timelineSection } from "./timeline.js";

/** @typedef {import("./page.js").Content} Content */

/** @type {WhatIfDocument} */
const answer = documentOf("answer");
const refused = answer.refused.length > 0, asked = answer.changes.length > 0;
const gpu = !refused && answer.before_s > 0;
const before = gpu ? answer.before_s : answer.host_before_s, after = gpu ? answer.after_s : answer.host_after_s;
const hasBand = !refused && answer.band.high_s > answer.band.low_s;

/** A difference with its sign. */
const difference = (/** @type {number} */ s) => (s === 0 ? "0" : (s > 0 ? "+" : "−") + ms(Math.abs(s)));
const changeOf = (/** @type {number} */ from, /** @type {number} */ to) => signed(from > 0 ? (to - from) / from : null);

function head() {
  const ranks = answer.ranks_before === answer.ranks_after ? counted(answer.ranks_before, "rank")
    : `${counted(answer.ranks_before, "rank")} → ${counted(answer.ranks_after, "rank")}`;
  return pageHead(answer.recording, `What if: ${answer.asked}; ${ranks}.`);
}

function refusals() {
  if (!refused) return null;
  return el("section", { class: "card damage" }, el("h2", {}, "No answer: this recording does not hold what it would take"),
    el("ul", {}, ...answer.refused.map((each) => el("li", {}, el("b", {}, `${each.change}: `), each.missing))));
}

/** What the run comes to beside its time; nothing where that is not known. */
function totalTile(/** @type {keyof WhatIfTotals} */ name, /** @type {string} */ what, /** @type {(n: number) => string} */ shown) {
  const was = answer.totals_before[name], is = answer.totals[name];
  if (is === null) return null;
  return tile(shown(is), `${what} after${was === null ? "" : `; ${shown(was)} before`}`);
}

function numbers() {
  if (refused) return null;
  if (!asked) return tiles(tile(seconds(before), `a ${answer.step_kind} as recorded`));
  const band = hasBand ? `; the band: ${seconds(answer.band.low_s)} to ${seconds(answer.band.high_s)}` : "";
  return tiles(tile(seconds(before), `a ${answer.step_kind} before`), tile(seconds(after), `after${band}`),
    tile(changeOf(before, after), answer.change.split(", ").slice(1).join(", ") || "no change"),
    gpu && answer.host_before_s > 0 ? tile(seconds(answer.host_after_s), `a host step after; ${seconds(answer.host_before_s)} before`) : null,
    totalTile("tokens_per_s", "tokens a second", (n) => grouped(Math.round(n))),
    totalTile("mfu", "MFU", percent),
    totalTile("memory_bytes", "memory of the fullest rank", bytes),
    totalTile("energy_j", "energy of a step", (n) => `${(n * 1e-3).toPrecision(3)} kJ`),
    totalTile("cost_usd", "cost of a step", (n) => `${n.toPrecision(3)} USD`),
    totalTile("usd_per_million_tokens", "cost of a million tokens", (n) => `${n.toPrecision(3)} USD`));
}

/** The answer in sentences: what becomes of the step, what of it is moved elsewhere, which part of it changes most. */
function verdict() {
  if (refused) return null;
  const lines = [];
  if (asked) {
    lines.push(`The ${answer.step_kind} is ${seconds(after)} after ${seconds(before)}: ${answer.change}.`);
    if (answer.caution) lines.push(`But ${answer.caution}.`);
    const moved = answer.parts.reduce((a, b) => (Math.abs(b.after_s - b.before_s) > Math.abs(a.after_s - a.before_s) ? b : a), answer.parts[0]);
    if (moved && moved.after_s !== moved.before_s) lines.push(`Most of the change is in one part of the step: ${moved.title}, ${difference(moved.after_s - moved.before_s)}.`);
  }
  const first = answer.sensitivity?.[0];
  if (first && first.limit_s !== null && first.limit_s < before)
    lines.push(`Most to gain: ${first.title}, ${changeOf(before, first.less_s ?? before)} with a tenth less of it, ${changeOf(before, first.limit_s)} with none.`);
  return lines.length === 0 ? null : el("section", { class: "card" }, el("h2", {}, "Verdict"), el("ul", {}, ...lines.map((line) => el("li", {}, line))));
}

// Where the step goes: the same parts, before and after, on one scale.

function partsBar(/** @type {"before_s" | "after_s"} */ run, /** @type {number} */ scale) {
  const total = answer.parts.reduce((sum, part) => sum + part[run], 0);
  return stackedBar(answer.parts.map((part) => ({ value: part[run], colour: colourIn(STEP_COLOURS, part.part),
    label: percent(part[run] / total, 0), tip: [el("b", {}, part.title), tipRow("before", ms(part.before_s)), tipRow("after", ms(part.after_s)),
      tipRow("change", difference(part.after_s - part.before_s))] })), total, scale, "clear");
}

function partsSection() {
  if (refused || !asked || answer.parts.length === 0) return null;
  const sum = (/** @type {"before_s" | "after_s"} */ run) => answer.parts.reduce((all, part) => all + part[run], 0);
  const scale = Math.max(sum("before_s"), sum("after_s"));
  const rows = answer.parts.map((part) => [part.title, ms(part.before_s), percent(part.before_s / before), ms(part.after_s),
    percent(part.after_s / after), difference(part.after_s - part.before_s)]);
  return wide(section("Where the step goes", "On the mean rank. Communication counts where no kernel hides it: transfer once all ranks " +
    "are there, waiting before. Idle is what the host and the order of work cost.",
  legend(answer.parts.map((part) => [part.title, colourIn(STEP_COLOURS, part.part)])),
  barRows([{ name: [el("b", {}, "before")], bar: partsBar("before_s", scale), total: ms(sum("before_s")) },
    { name: [el("b", {}, "after")], bar: partsBar("after_s", scale), total: ms(sum("after_s")), last: true }]),
  tableOf([["part", "left"], ["before"], ["share"], ["after"], ["share"], ["change"]], rows)));
}

// The waterfall: what each change is worth, put after those before it and put last of all.

/**
 * A bar that begins where the step was and ends where it is then.
 * @param {number} from
 * @param {number} to
 * @param {number} scale
 * @param {Content[]} tip
 * @param {"clear" | "thin clear"} look
 */
function fallingBar(from, to, scale, tip, look) {
  const low = Math.min(from, to), high = Math.max(from, to);
  return stackedBar([{ value: low, colour: "" }, { value: high - low, colour: to <= from ? "good" : "bad", tip }], high, scale, look);
}

function wholeBar(/** @type {number} */ s, /** @type {number} */ scale) {
  return stackedBar([{ value: s, colour: "launch", label: ms(s) }], s, scale, "clear");
}

function causesSection() {
  if (refused || answer.causes.length === 0) return null;
  let at = before;
  const ends = answer.causes.map((cause) => { at += cause.forwards_s; return at; });
  const lasts = answer.causes.map((cause) => after - (cause.backwards_s || 0));
  const scale = Math.max(before, after, ...ends, ...lasts);
  const rows = answer.causes.map((cause, i) => {
    const from = i === 0 ? before : ends[i - 1];
    const tip = [el("b", {}, cause.change), tipRow("after those above", difference(cause.forwards_s)),
      tipRow("last of all", cause.backwards_s === null ? "no plan without it" : difference(cause.backwards_s))];
    return { name: [cause.change], total: `${difference(cause.forwards_s)} · ${cause.backwards_s === null ? "–" : difference(cause.backwards_s)}`,
      last: true, bar: el("div", { class: "both" }, fallingBar(from, ends[i], scale, tip, "clear"),
        cause.backwards_s === null ? null : fallingBar(lasts[i], after, scale, tip, "thin clear")) };
  });
  return wide(section("What each change is worth", "Upper bar: what it adds to the step when it is put after those above it. Lower bar: " +
    "what it adds when it is put last of all. Where the two differ, changes share a gain: a decision should hold under both.",
  legend([["shorter", "good"], ["longer", "bad"]]),
  barRows([{ name: [el("b", {}, "before")], bar: wholeBar(before, scale), total: ms(before), last: true }, ...rows,
    { name: [el("b", {}, "after")], bar: wholeBar(after, scale), total: ms(after) }])));
}

function runsSection() {
  if (data.ranks.length === 0) return null;
  const lead = "One step of both runs, each from where its GPU work begins: before above, after below, on the same scale. " +
    (data.names_after ? "The run after is a new one, with ranks and tasks of its own. " : "Hover a task to see it in both. ") +
    "The line is the critical path of the run after.";
  return timelineSection("Before and after", lead);
}

function stepsSection() {
  if (refused || answer.steps.length < 2) return null;
  const rows = answer.steps.map((step) => [step.name, ms(step.gpu_before_s), ms(step.gpu_after_s), changeOf(step.gpu_before_s, step.gpu_after_s),
    ms(step.host_before_s), ms(step.host_after_s), changeOf(step.host_before_s, step.host_after_s)]);
  return section("Steps", "Means over ranks. The answer is the mean of the usual ones, those within a quarter of their median.",
    dataTable([["step", "left"], ["GPU before"], ["after"], ["change"], ["host before"], ["after"], ["change"]], rows, "steps"));
}

function bandSection() {
  if (refused || answer.band.sources.length === 0) return null;
  const most = Math.max(...answer.band.sources.map((each) => each.below_s + each.above_s));
  const rows = answer.band.sources.map((each) => [each.what, ms(each.below_s), ms(each.above_s),
    stackedBar([{ value: each.below_s, colour: "operator" }, { value: each.above_s, colour: "launch" }], each.below_s + each.above_s, most, "thin clear")]);
  return section("How sure it is", `The step after lies between ${seconds(answer.band.low_s)} and ${seconds(answer.band.high_s)}, as far as these ` +
    "sources tell, taken as independent. What no run can tell is in no band.",
  tableOf([["source of doubt", "words"], ["below"], ["above"], ["", "wide"]], rows));
}

function notesSection() {
  if (refused || answer.notes.length === 0) return null;
  const rows = answer.notes.map((note) => [note.how, note.what, note.tasks > 0 ? grouped(note.tasks) : "–", note.share > 0 ? percent(note.share) : "–"]);
  return section("What it rests on", "Copied: taken from the recording as it stands. Modelled: from a formula or a fit. Assumed: neither; check it. " +
    (answer.totals.basis ? `Totals: ${answer.totals.basis}. ` : "") +
    answer.totals.missing.map((each) => `Not known: ${each.total} (${each.why}).`).join(" "),
  dataTable([["how", "left"], ["what", "words"], ["tasks"], ["of the GPU time"]], rows, "notes"));
}

function worthSection() {
  const parts = answer.sensitivity;
  if (!parts || refused) return null;
  const gain = (/** @type {number | null} */ step) => Math.max(0, step === null ? 0 : before - step);
  const most = Math.max(...parts.map((part) => gain(part.limit_s)));
  const stepOf = (/** @type {number | null} */ step) => (step === null ? "cannot finish" : ms(step));
  const rows = parts.map((part) => [part.title, ms(part.work_s), { show: stepOf(part.less_s), by: part.less_s ?? 0 },
    signed(part.less_s === null ? null : (part.less_s - before) / before), { show: stepOf(part.limit_s), by: part.limit_s ?? 0 },
    signed(part.limit_s === null ? null : (part.limit_s - before) / before),
    { by: gain(part.limit_s), show: stackedBar([{ value: gain(part.limit_s), colour: "good",
      tip: [el("b", {}, part.title), tipRow("step without it", stepOf(part.limit_s))] }], gain(part.limit_s), most, "thin clear") }]);
  const cautions = parts.filter((part) => part.caution !== "").map((part) => el("li", {}, el("b", {}, `${part.title}: `), part.caution));
  return wide(section("What is worth working on", `The recorded step, ${ms(before)}, once more for each part of the work: with a tenth less of it, ` +
    "and with none. The second is the limit of all optimisation of that part; most to gain first.",
  dataTable([["part", "words"], ["work, all ranks"], ["step with 10 % less"], ["change"], ["step with none"], ["change"], ["", "wide"]], rows, "parts"), cautions.length > 0 ? el("ul", { class: "note" }, ...cautions) : null));
}

showPage(head(), refusals(), verdict(), numbers(), partsSection(), causesSection(), runsSection(), worthSection(), stepsSection(), bandSection(), notesSection());
