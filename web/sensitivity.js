// --- What would make a run faster: who is waited for, what each part of the work is worth. ------------
import { stackedBar } from "./bars.js";
import { counted, grouped, ms, percent, signed } from "./numbers.js";
import { el, section, tipRow } from "./page.js";
import { report } from "./replayed.js";
import { tableOf } from "./sortable.js";

function stragglerText() {
  const s = report.straggler;
  if (!s) return null;
  return el("p", { class: "note" }, el("b", {}, `Rank ${s.rank} is the straggler: `),
    `${percent(s.share_of_path)} of the critical path up to the last collective runs on it. It comes last to ` +
    `${grouped(s.last)} of ${counted(s.collectives, "collective")}, where the others wait ${ms(s.waited_s)}, ` +
    `${percent(s.share_of_waiting)} of all waiting.`);
}

export function sensitivitySection() {
  const table = report.sensitivity;
  if (!table) return null;
  const gainOf = (/** @type {SensitivityPart} */ part) => Math.max(0, -(part.change || 0));
  const most = Math.max(...table.parts.map(gainOf));
  const rows = table.parts.map((part) => [part.title, ms(part.work_s),
    part.gpu_step_s === null ? "cannot finish" : ms(part.gpu_step_s), signed(part.change),
    stackedBar([{ value: gainOf(part), colour: "compute", tip: [el("b", {}, part.title), tipRow("GPU step", signed(part.change))] }],
      gainOf(part), most, "thin clear")]);
  return section("What would shorten the GPU step",
    `The run, simulated once more for each part of the work, which then takes ${percent(table.less_time, 0)} less ` +
    `time. The GPU step is ${ms(table.gpu_step_s)} now, the mean over ranks and steps.`,
    tableOf([["if this takes less time", "left"], ["work, all ranks"], ["GPU step then"], ["change"], ["", "wide"]], rows),
    stragglerText());
}

/** Said first: what is missing from the recording. */
export function truncatedWarning() {
  if (report.truncated.length === 0) return null;
  return el("section", { class: "card damage" }, el("h2", {}, "This recording is cut short: what came after the cut is missing below"),
    el("ul", {}, ...report.truncated.map((file) => el("li", {}, file))));
}
