// --- The page of `flopcast estimate`. ---------------------------------------------------------------
import { barRows, stackedBar } from "./bars.js";
import { MEMORY_COLOURS, PART_COLOURS, colourIn } from "./colours.js";
import { bytes, counted, grouped, percent, seconds } from "./numbers.js";
import { bandText, documentOf, el, legend, pageHead, section, showPage, tile, tiles, tipRow, wide, withShare } from "./page.js";
import { odds, runTiles } from "./runs.js";

/** @type {EstimatePage} */
const data = documentOf();
const usable = data.usable_bytes;

function head() {
  return pageHead(data.title, data.words + (data.hint ? `. ${data.hint}` : ""), [["chips", `${grouped(data.chips)} × ${data.chip}`], ["software", data.software],
    ["parameters", (data.parameters * 1e-9).toFixed(1) + " B"], ["sequences a step", grouped(data.plan.global_batch)],
    ["tokens", grouped(data.plan.sequence)], ["precision", data.plan.precision]]);
}

function problem() {
  if (!data.problem) return null;
  return el("section", { class: "card damage" }, el("h2", {}, "This plan does not fit into memory"), el("p", {}, data.problem),
    data.fitting.length > 0 ? el("h3", {}, "What would make it fit") : null,
    el("ul", {}, ...data.fitting.map((f) => el("li", {}, `${f.change}: ${seconds(f.time_s)} a step, ${bytes(f.memory_bytes.total)}`))));
}

function energyText(/** @type {number} */ joules) {
  return joules >= 1e6 ? (joules * 1e-6).toPrecision(3) + " MJ" : (joules * 1e-3).toPrecision(3) + " kJ";
}

function numbers() {
  const need = data.stages[data.fullest].memory_bytes.total;
  return tiles(tile(seconds(data.time_s), `a step; ${bandText(seconds(data.low_s), seconds(data.high_s))}`),
    tile(grouped(Math.round(data.tokens_per_second)), `tokens a second; ${grouped(Math.round(data.tokens_per_second / data.chips))} a chip`),
    tile(percent(data.mfu), `MFU; HFU ${percent(data.hfu)}`),
    tile(percent(need / usable), `of memory: ${bytes(need)} of ${bytes(usable)}; ${bandText(bytes(data.memory_low_bytes), bytes(data.memory_high_bytes))}`),
    tile(odds(data.fit_odds), "how likely it fits"),
    data.energy_j > 0 ? tile(energyText(data.energy_j), "a step, chips at their power limit") : null,
    data.cost_usd > 0 ? tile(data.cost_usd.toPrecision(4) + " USD", "a step") : null, ...runTiles(data.run, data.run_asked));
}

function timeSection() {
  const parts = Object.entries(data.parts_s).filter(([, s]) => s > 0).sort((a, b) => b[1] - a[1]);
  const longest = parts.length > 0 ? parts[0][1] : 1;
  const whole = stackedBar(parts.map(([name, s]) => ({ value: s, colour: colourIn(PART_COLOURS, name), label: percent(s / data.time_s, 0),
    tip: [el("b", {}, data.part_meanings[name]), tipRow(percent(s / data.time_s), seconds(s))] })), data.time_s);
  const rows = parts.map(([name, s]) => ({ name: [data.part_meanings[name]], total: withShare(seconds(s), s / data.time_s),
    bar: stackedBar([{ value: s, colour: colourIn(PART_COLOURS, name) }], s, longest, "clear") }));
  return section("Where the time goes", "The step of the chip that is busy longest, from the first microbatch to the end of the " +
    "optimizer step. Transfers count where nothing hides them.",
  barRows([{ name: [el("b", {}, "step")], bar: whole, total: seconds(data.time_s), last: true }, ...rows]));
}

/** Where a bar of `scale` bytes passes what may be used. */
function limit(/** @type {number} */ scale) {
  return scale <= usable ? "" : el("i", { class: "limit", style: `left:${(usable / scale) * 100}%` });
}

function memorySection() {
  const scale = Math.max(usable, ...data.stages.map((stage) => stage.memory_bytes.total));
  const classes = Object.keys(data.memory_meanings);
  const rows = data.stages.map(({ memory_bytes: memory, layers }, i) => {
    const bar = stackedBar(classes.map((name) => ({ value: memory[name], colour: colourIn(MEMORY_COLOURS, name), label: bytes(memory[name]),
      tip: [el("b", {}, data.memory_meanings[name]), tipRow("bytes", bytes(memory[name])), tipRow("of the stage", percent(memory[name] / memory.total))] })),
    memory.total, scale);
    bar.append(limit(scale));
    return { name: [el("b", {}, `stage ${i}`), ` ${counted(layers, "layer")}`], bar, total: withShare(bytes(memory.total), memory.total / usable) };
  });
  return section("Memory of a chip of each stage", `At its fullest moment, of ${bytes(usable)} that it may use` + (scale > usable ? " (red line)" : "") + ". Activations of up to " +
    `${counted(data.stages[data.fullest].in_flight, "microbatch chunk")} are kept at once.`,
  legend(classes.map((name) => [data.memory_meanings[name], colourIn(MEMORY_COLOURS, name)])), barRows(rows),
  ...data.memory_notes.map((text) => el("p", {}, `${text}.`)));
}

function pipelineSection() {
  const end = Math.max(...data.stages.map((stage) => stage.end_s));
  if (data.stages.length < 2 || !(end > 0)) return null;
  const rows = data.stages.map((stage, i) => {
    const there = stage.end_s - stage.start_s, waits = Math.max(0, there - stage.busy_s);
    const bar = stackedBar([{ value: stage.start_s, colour: "" },
      { value: stage.busy_s, colour: "compute", label: `${percent(stage.busy_s / there, 0)} busy`, tip: [el("b", {}, `stage ${i}`),
        tipRow("begins", seconds(stage.start_s)), tipRow("ends", seconds(stage.end_s)), tipRow("busy", seconds(stage.busy_s)),
        tipRow("forward of a microbatch", seconds(stage.forward_s)), tipRow("backward of a microbatch", seconds(stage.backward_s))] },
      { value: waits, colour: "idle", label: "waits", tip: [tipRow("waits", seconds(waits))] }], stage.end_s, end, "clear");
    return { name: [el("b", {}, `stage ${i}`)], bar, total: `${seconds(stage.forward_s)} + ${seconds(stage.backward_s)}` };
  });
  return section("The pipeline", `From the first forward to the last backward of each stage, ${data.plan.schedule}. Blue: busy, all ` +
    "microbatches together; grey: waiting for other stages. At the right: forward and backward of one microbatch.", barRows(rows));
}

function restsSection() {
  const shares = Object.entries(data.rests_on).filter(([, share]) => share >= 0.0005);
  return section("What this rests on", "Kernel and transfer time by where it comes from: " +
    shares.map(([basis, share]) => `${percent(share)} ${basis}`).join(", ") + ". What nobody told and nothing measured:",
  data.assumed.length > 0 ? el("ul", {}, ...data.assumed.map((text) => el("li", {}, text))) : el("p", {}, "nothing"));
}

const pipeline = pipelineSection();
showPage(head(), problem(), numbers(), timeSection(), memorySection(), pipeline, pipeline ? restsSection() : wide(restsSection()));
