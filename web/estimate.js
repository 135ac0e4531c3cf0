// --- The page of `flopcast estimate`. ---------------------------------------------------------------

const data = JSON.parse(document.getElementById("data").textContent);
function seconds(s) {
  const [scale, unit] = s >= 1 ? [1, "s"] : s >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return (s * scale).toPrecision(4) + " " + unit;
}
const usable = data.usable_bytes;

// One colour a part and a class of memory, the same everywhere on the page.
const PART_COLOURS = {
  matrix: "compute", attention: "copy", memory_bound: "operator", recompute: "launch", tensor: "communication",
  context: "sync", expert: "bad", weights: "lag", gradients: "overlapped", bubble: "idle", optimizer: "good",
  host: "call", contention: "wait",
};
const MEMORY_COLOURS = {
  weights: "compute", gradients: "overlapped", optimizer: "good", activations: "communication", working: "copy",
  buffers: "operator", allocator: "lag",
};
const DARK_TEXT = ["idle", "wait", "call"];

/** Part of a bar: `share` of its width. */
function piece(share, colour, label, ...tips) {
  const node = el("div", { style: `width:${share * 100}%;background:var(--${colour})`, class: DARK_TEXT.includes(colour) ? "dark" : "" },
    share > 0.05 ? label : "");
  return withTip(node, ...tips);
}

function header() {
  const facts = [["chips", `${grouped(data.chips)} × ${data.chip}`], ["software", data.software],
    ["parameters", (data.parameters * 1e-9).toFixed(1) + " B"], ["sequences a step", grouped(data.plan.global_batch)],
    ["tokens", grouped(data.plan.sequence)], ["precision", data.plan.precision]];
  return el("div", { class: "head" },
    el("div", {}, el("h1", {}, data.title), el("p", { class: "facts" }, data.words),
      el("div", { class: "chips" }, ...facts.map(([k, v]) => el("span", { class: "chip" }, k + " ", el("b", {}, v))))),
    themeButton());
}

function problem() {
  if (!data.problem) return null;
  return el("section", { class: "card damage" }, el("h2", {}, "This plan does not fit into memory"), el("p", {}, data.problem),
    data.fitting.length > 0 ? el("h3", {}, "What would make it fit") : null,
    el("ul", {}, ...data.fitting.map((f) => el("li", {}, `${f.change}: ${seconds(f.time_s)} a step, ${bytes(f.memory_bytes.total)}`))));
}

function tiles() {
  const need = data.stages[data.fullest].memory_bytes.total;
  const list = [
    tile(seconds(data.time_s), `a step; 10–90 %: ${seconds(data.low_s)} to ${seconds(data.high_s)}`),
    tile(grouped(Math.round(data.tokens_per_second)), `tokens a second; ${grouped(Math.round(data.tokens_per_second / data.chips))} a chip`),
    tile(percent(data.mfu), `MFU; HFU ${percent(data.hfu)}`),
    tile(percent(need / usable), `of memory: ${bytes(need)} of ${bytes(usable)}`),
  ];
  if (data.energy_j > 0) list.push(tile(data.energy_j >= 1e6 ? (data.energy_j * 1e-6).toPrecision(3) + " MJ" : (data.energy_j * 1e-3).toPrecision(3) + " kJ", "a step, chips at their power limit"));
  if (data.cost_usd > 0) list.push(tile(data.cost_usd.toPrecision(4) + " USD", "a step"));
  return el("div", { class: "tiles" }, ...list);
}

function timeSection() {
  const parts = Object.entries(data.parts_s).filter(([, s]) => s > 0).sort((a, b) => b[1] - a[1]);
  const longest = parts.length > 0 ? parts[0][1] : 1;
  const whole = el("div", { class: "bar" }, ...parts.map(([name, s]) => piece(s / data.time_s, PART_COLOURS[name], percent(s / data.time_s, 0),
    el("b", {}, data.part_meanings[name]), tipRow(percent(s / data.time_s), seconds(s)))));
  const rows = parts.flatMap(([name, s]) => [
    el("div", { class: "name" }, data.part_meanings[name]),
    el("div", { class: "bar clear" }, piece(s / longest, PART_COLOURS[name], "")),
    el("div", { class: "total" }, `${seconds(s)}, ${percent(s / data.time_s)}`)]);
  return section("Where the time goes", "The step of the chip that is busy longest, from the first microbatch to the end of the " +
    "optimizer step. Transfers count where nothing hides them.",
  el("div", { class: "bars" }, el("div", { class: "name" }, el("b", {}, "step")), whole, el("div", { class: "total" }, seconds(data.time_s)),
    el("div", { class: "space" }), ...rows));
}

/** Where a bar of `scale` bytes passes what may be used. */
function limit(scale) {
  if (scale <= usable) return null;
  return el("div", { style: `position:absolute;left:${(usable / scale) * 100}%;width:2px;height:100%;background:var(--bad)` });
}

function memorySection() {
  const scale = Math.max(usable, ...data.stages.map((stage) => stage.memory_bytes.total));
  const classes = Object.keys(data.memory_meanings);
  const grid = el("div", { class: "bars" });
  data.stages.forEach((stage, i) => {
    const memory = stage.memory_bytes;
    grid.append(el("div", { class: "name" }, el("b", {}, `stage ${i}`), ` ${counted(stage.layers, "layer")}`),
      el("div", { class: "bar", style: "position:relative" }, limit(scale), ...classes.map((name) => piece(memory[name] / scale, MEMORY_COLOURS[name], bytes(memory[name]),
        el("b", {}, data.memory_meanings[name]), tipRow("bytes", bytes(memory[name])), tipRow("of the stage", percent(memory[name] / memory.total))))),
      el("div", { class: "total" }, `${bytes(memory.total)}, ${percent(memory.total / usable)}`));
  });
  return section("Memory of a chip of each stage", `At its fullest moment, of ${bytes(usable)} that it may use` + (scale > usable ? " (red line)" : "") + `. Activations of up to ` +
    `${counted(data.stages[data.fullest].in_flight, "microbatch chunk")} are kept at once.`,
  legend(classes.map((name) => [data.memory_meanings[name], MEMORY_COLOURS[name]])), grid);
}

function pipelineSection() {
  const end = Math.max(...data.stages.map((stage) => stage.end_s));
  if (data.stages.length < 2 || !(end > 0)) return null;
  const grid = el("div", { class: "bars" });
  data.stages.forEach((stage, i) => {
    const there = stage.end_s - stage.start_s;
    grid.append(el("div", { class: "name" }, el("b", {}, `stage ${i}`)),
      el("div", { class: "bar clear" }, el("div", { style: `width:${(stage.start_s / end) * 100}%` }),
        piece(stage.busy_s / end, "compute", `${percent(stage.busy_s / there, 0)} busy`, el("b", {}, `stage ${i}`),
          tipRow("begins", seconds(stage.start_s)), tipRow("ends", seconds(stage.end_s)), tipRow("busy", seconds(stage.busy_s)),
          tipRow("forward of a microbatch", seconds(stage.forward_s)), tipRow("backward of a microbatch", seconds(stage.backward_s))),
        piece(Math.max(0, there - stage.busy_s) / end, "idle", "waits", tipRow("waits", seconds(there - stage.busy_s)))),
      el("div", { class: "total" }, `${seconds(stage.forward_s)} + ${seconds(stage.backward_s)}`));
  });
  return section("The pipeline", `From the first forward to the last backward of each stage, ${data.plan.schedule}. Blue: busy, all ` +
    "microbatches together; grey: waiting for other stages. At the right: forward and backward of one microbatch.", grid);
}

function restsSection() {
  const shares = Object.entries(data.rests_on).filter(([, share]) => share >= 0.0005);
  return section("What this rests on", "Kernel and transfer time by where it comes from: " +
    shares.map(([basis, share]) => `${percent(share)} ${basis}`).join(", ") + ". What nobody told and nothing measured:",
  data.assumed.length > 0 ? el("ul", {}, ...data.assumed.map((text) => el("li", {}, text))) : el("p", {}, "nothing"));
}

showPage(header(), problem(), tiles(), timeSection(), memorySection(), pipelineSection(), restsSection());
