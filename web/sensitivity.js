// --- What would make a run faster: who is waited for, what each part of the work is worth. ------------
import { stackedBar } from "./bars.js";
import { counted, grouped, ms, percent, signed } from "./numbers.js";
import { el, section, tipRow, wide } from "./page.js";
import { report } from "./replayed.js";
import { tableOf } from "./sortable.js";

function stragglerText() {
  const s = report.straggler;
  if (!s) return null;
  return el("p", { class: "note" }, el("b", {}, `Rank ${s.rank} is the straggler: `),
    `${percent(s.share_of_path)} of the critical path up to the last collective runs on it. It comes last to ` +
    `${grouped(s.last)} of ${counted(s.collectives, "collective")}, where the others wait ${ms(s.waited_s)}, ` +
    `${percent(s.share_of_waiting)} of all waiting, ${ms(s.waited_for_host_s)} of it for its host.`);
}

export function sensitivitySection() {
  const table = report.sensitivity;
  if (!table) return null;
  const gainOf = (/** @type {SensitivityPart} */ part) => Math.max(0, -(part.limit_change || 0));
  const most = Math.max(...table.parts.map(gainOf));
  const stepOf = (/** @type {number | null} */ step) => (step === null ? "cannot finish" : ms(step));
  const rows = table.parts.map((part) => [part.title, ms(part.work_s), stepOf(part.gpu_step_s), signed(part.change),
    stepOf(part.limit_s), signed(part.limit_change),
    stackedBar([{ value: gainOf(part), colour: "good", tip: [el("b", {}, part.title), tipRow("step with none of it", signed(part.limit_change))] }],
      gainOf(part), most, "thin clear")]);
  return wide(section("What would shorten the GPU step",
    `The recorded GPU step, ${ms(table.gpu_step_s)}, run once more with a tenth less of each part of the work and with none of it: ` +
    "the answers of whatif --sensitivity. The step is the mean over ranks and over the usual steps, those within a quarter of " +
    "their median; the first is left out.",
    tableOf([["part of the work", "words"], ["in a step, all ranks"], [`${percent(table.less_time, 0)} less`], ["change"], ["none"], ["change"], ["", "wide"]], rows),
    stragglerText()));
}

/** Said first: what is missing from the recording. */
export function truncatedWarning() {
  if (report.truncated.length === 0) return null;
  return el("section", { class: "card damage" }, el("h2", {}, "This recording is cut short: what came after the cut is missing below"),
    el("ul", {}, ...report.truncated.map((file) => el("li", {}, file))));
}
