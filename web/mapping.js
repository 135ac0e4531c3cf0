// --- The page of `flopcast map`: graph, partitions, roofline, timeline, shardings. -----------------
import { canvasOf, dot, drawing, frameOf, polyline, ruled, scaleOf, svg, textWidth } from "./charts.js";
import { seriesColour } from "./colours.js";
import { bytes, counted, grouped, percent, quantity, rounded, seconds, usd, watts } from "./numbers.js";
import { documentOf, el, legend, pageHead, pageTitle, section, showPage, tall, tile, tiles, tipRow, wide, withTip } from "./page.js";
import { dataTable, tableOf } from "./sortable.js";

/** @type {Mapping} */
const data = documentOf();
/** @type {["compute" | "memory" | "network", "compute_s" | "memory_s" | "network_s"][]} */
const LANES = [["compute", "compute_s"], ["memory", "memory_s"], ["network", "network_s"]];
/** Switches of the model that leave nothing out where they are off. */
const FORMS = ["pieces_traffic", "sharding_by_time", "published_bubble", "hide_gradients"];
const proof = data.exact ? "optimal: no mapping is faster" : `within ${percent(data.gap, 2)} of the optimum`;
const shapeText = `TP ${data.shape.tp} × PP ${data.shape.pp} × DP ${data.shape.dp}`;

function head() {
  const w = data.workload, s = data.system;
  return pageHead(pageTitle(), `${counted(w.kernels, "kernel")}, ${counted(w.uses, "use")} of tensors, ${counted(w.global_batch, "sample")} a step`,
    [["chips", `${grouped(s.chips)} × ${s.chip}`], ["shape", shapeText],
      ["microbatch", `${data.shape.microbatch}, ${grouped(data.shape.microbatches)} a step`], ["tile", counted(data.shape.tile, "token")],
      ["layers", `${w.layers}, ${data.shape.layers_per_stage} a stage`], ["model", data.model.name]]);
}

function numbers() {
  const used = data.memory_bytes.total, capacity = data.system.memory_capacity_bytes;
  return tiles(tile(seconds(data.step_s), `a step; ${proof}`), tile(percent(data.utilisation), "of the chips' peak"),
    tile(rounded(data.samples_per_second), "samples per second"),
    tile(bytes(used), capacity > 0 ? `of ${bytes(capacity)} of the fullest chip` : "in the fullest chip"),
    data.price_usd > 0 ? tile(usd(data.price_usd), "the system's price") : null,
    data.power_w > 0 ? tile(watts(data.power_w), "the system's power") : null);
}

function graphSection() {
  const graph = /** @type {HTMLElement} */ (document.getElementById("graph"));
  return tall(section("Kernels and tensors", "One layer: every box is a kernel with its work for one sample, coloured by the partition " +
    "in which it is on the chip. Dashed tensors leave the chip and come back. Point at a box or a line for its size.", graph));
}

/** What a partition's bars are: start and length of each lane, by how the model lets them overlap. */
function barsOf(/** @type {Partition} */ partition, /** @type {number} */ start) {
  const { compute_s: compute, memory_s: memory, network_s: network } = partition;
  const overlap = data.model.overlap;
  const memoryAt = overlap === "none" ? start + compute : start;
  const networkAt = overlap === "none" ? memoryAt + memory : overlap === "perfect" ? start : start + Math.max(compute, memory);
  return [[start, compute], [memoryAt, memory], [networkAt, network]];
}

function partitionTip(/** @type {Partition} */ p, /** @type {number} */ i) {
  return [el("b", {}, `partition ${i}: ${p.kernels.length > 8 ? counted(p.kernels.length, "kernel") : p.kernels.join(", ")}`),
    tipRow("time", seconds(p.time_s)), ...LANES.map(([lane, field]) => tipRow(lane, seconds(p[field]))), tipRow("limited by", p.limit)];
}

/** The bars of a partition that begins at `start`; the strong one limits it. */
function partitionBars(/** @type {Partition} */ p, /** @type {number} */ i, /** @type {number} */ start, /** @type {(t: number) => number} */ xs, /** @type {(lane: number) => number} */ top) {
  const number = String(i);
  return barsOf(p, start).flatMap(([from, length], lane) => {
    if (length <= 0) return [];
    const limits = LANES[lane][0] === p.limit, width = Math.max(0.6, xs(from + length) - xs(from));
    const bar = svg("rect", { x: xs(from), y: top(lane), width, height: LANE_HEIGHT, rx: 2,
      style: `fill:var(--${seriesColour(i)});opacity:${limits ? 1 : 0.4}` });
    const ink = limits ? `${seriesColour(i)}-ink` : "ink";
    return [withTip(bar, ...partitionTip(p, i)), width < textWidth(number) + 6 ? ""
      : svg("text", { x: xs(from + length / 2), y: top(lane) + 20, class: "tick middle through", style: `fill:var(--${ink})` }, number)];
  });
}

const LANE_HEIGHT = 30, LANE_ROOM = 8;

function drawTimeline(/** @type {number} */ width) {
  const gutter = 66, first = 6, bottom = first + LANES.length * (LANE_HEIGHT + LANE_ROOM);
  const topOf = (/** @type {number} */ lane) => first + lane * (LANE_HEIGHT + LANE_ROOM);
  const axis = { title: "time", format: seconds, from: 0, to: data.times.layer_s || 1 };
  const xs = scaleOf(axis, gutter, width - 8);
  const root = canvasOf(width, bottom + 26, "timeline of a layer");
  root.append(...LANES.map(([lane], i) => svg("text", { x: gutter - 8, y: topOf(i) + 19, class: "tick end" }, lane)));
  ruled(root, axis, xs, first, bottom, width);
  let start = 0;
  data.partitions.forEach((p, i) => {
    root.append(...partitionBars(p, i, start, xs, topOf));
    start += p.time_s;
    root.append(svg("line", { x1: xs(start), x2: xs(start), y1: first, y2: bottom, class: "marker" }));
  });
  return root;
}

function timelineSection() {
  return section("One microbatch through one layer", "Partitions one after the other; in each, what the chip computes, moves to and from DRAM, " +
    "and sends. The strong bar is the one that limits the partition.", drawing(drawTimeline));
}

const decade = (/** @type {number} */ v, /** @type {(v: number) => number} */ round) => 10 ** round(Math.log10(v));

/** @typedef { { name: string, rate: number, intensity: number, colour: string, field: "dram_bytes" | "wire_bytes" }} Roof */
/** @typedef { { name: string, x: number, y: number, colour: string, size: number }} Dot */

/** @returns {Dot[]} where the layer and its partitions stand under a roof */
function dotsUnder(/** @type {Roof} */ { name, intensity, colour, field }) {
  const partitions = data.partitions.flatMap((p, i) => (p[field] > 0 && p.work_flop > 0
    ? [{ name: `partition ${i} against ${name}`, x: p.work_flop / p[field], y: p.work_flop / p.time_s, colour, size: 4 }] : []));
  return intensity > 0 ? [{ name: `the layer against ${name}`, x: intensity, y: data.roofline.achieved_flop_per_s, colour, size: 7 }, ...partitions] : partitions;
}

/** Roofs of memory and network under the peak, and where layer and partitions stand. */
function rooflineSection() {
  const r = data.roofline;
  /** @type {Roof[]} */
  const all = [{ name: "memory", rate: r.memory_bandwidth_bytes_per_s, intensity: r.memory_intensity_flop_per_byte, colour: "copy", field: "dram_bytes" },
    { name: "network", rate: r.network_bandwidth_bytes_per_s, intensity: r.network_intensity_flop_per_byte, colour: "communication", field: "wire_bytes" }];
  const roofs = all.filter((roof) => roof.rate > 0), dots = roofs.flatMap(dotsUnder);
  if (dots.length === 0) return null;
  const across = [...dots.map((d) => d.x), ...roofs.map((roof) => r.peak_flop_per_s / roof.rate)];
  const x = { title: "FLOP a byte", log: true, format: (/** @type {number} */ v) => quantity(v, ""),
    from: decade(Math.min(...across) / 1.5, Math.floor), to: decade(Math.max(...across) * 1.5, Math.ceil) };
  const y = { title: "reached", log: true, format: (/** @type {number} */ v) => quantity(v, "FLOP/s"),
    from: decade(Math.min(...dots.map((d) => d.y)) / 1.5, Math.floor), to: decade(r.peak_flop_per_s * 1.2, Math.ceil) };
  const chart = drawing((width) => {
    const frame = frameOf(x, y, width, "roofline");
    for (const { rate, colour } of roofs) {
      const low = Math.max(x.from, y.from / rate);
      frame.root.append(polyline(frame, [[low, low * rate], [r.peak_flop_per_s / rate, r.peak_flop_per_s], [x.to, r.peak_flop_per_s]], colour, true));
    }
    frame.root.append(...dots.map((d) => dot(frame, [d.x, d.y], d.size, d.colour,
      el("b", {}, d.name), tipRow("FLOP a byte", quantity(d.x, "")), tipRow("reached", quantity(d.y, "FLOP/s")))));
    return frame.root;
  });
  return section("Hierarchical roofline of a chip", `Reached: ${quantity(r.achieved_flop_per_s, "FLOP/s")} of ${quantity(r.peak_flop_per_s, "FLOP/s")}. ` +
    "Large dots: the whole layer against each roof; small ones: its partitions.",
    legend(roofs.map((roof) => [`${roof.name}, ${quantity(roof.rate, "B/s")}`, roof.colour])), chart);
}

function partitionsSection() {
  const sram = data.system.kernel_by_kernel ? 0 : data.system.sram_bytes;  // streamed through there, no limit
  const sorted = (/** @type {import("./page.js").Content} */ show, /** @type {number} */ by) => ({ show, by });
  const rows = data.partitions.map((p, i) => [
    sorted(el("span", {}, el("i", { class: "swatch", style: `background:var(--${seriesColour(i)});margin-right:6px` }), `${i} ${p.pass}`), i),
    p.kernels.join(", "), sorted(seconds(p.compute_s), p.compute_s), sorted(seconds(p.memory_s), p.memory_s),
    sorted(seconds(p.network_s), p.network_s), sorted(seconds(p.time_s), p.time_s), p.limit, sorted(bytes(p.sram_bytes), p.sram_bytes),
    sram > 0 ? percent(p.sram_bytes / sram) : "–", sorted(bytes(p.dram_bytes), p.dram_bytes), sorted(bytes(p.wire_bytes), p.wire_bytes)]);
  return section("Partitions", "Kernels that are on the chip together. A partition takes as long as what limits it, or as the model's overlap says.",
    dataTable([["partition", "left"], ["kernels", "words"], ["compute"], ["memory"], ["network"], ["time"], ["limit"], ["SRAM"], ["of it"],
      ["DRAM traffic"], ["sent"]], rows, "partitions"));
}

function networkSection() {
  const rows = data.system.dimensions.map((d, i) => [`${i}: ${d.kind}`, String(d.size), quantity(d.bandwidth_bytes_per_s, "B/s"),
    seconds(d.latency_s), String(d.tp ?? "–"), String(d.pp ?? "–"), String(d.dp ?? "–")]);
  return section("What the network's dimensions do", "Chips of each dimension that each kind of parallelism spans.",
    tableOf([["dimension", "left"], ["chips"], ["bandwidth"], ["latency"], ["TP"], ["PP"], ["DP"]], rows));
}

function shardingSection() {
  const shape = (/** @type {MappedKernel} */ k) => `${k.outer > 1 ? k.outer + " × " : ""}[${k.m} × ${k.n}]${k.k > 0 ? ` over ${k.k}` : ""}`;
  /** @type {Map<string, string[]>} */
  const layouts = new Map();
  for (const t of data.tensors) layouts.set(t.producer, (layouts.get(t.producer) || []).concat(t.layout));
  const rows = data.kernels.map((k) => [k.name, k.kind, shape(k), { show: quantity(k.sample_flop, "FLOP"), by: k.sample_flop },
    { show: bytes(k.weight_bytes), by: k.weight_bytes }, String(k.partition), k.sharding, (layouts.get(k.name) || []).join(", ") || "–"]);
  return wide(section("Sharding", `How each kernel is divided among the ${data.shape.tp} chips of a tensor-parallel group, and how its output then lies on them.`,
    dataTable([["kernel", "left"], ["kind", "left"], ["[m × n] over k", "left"], ["work a sample"], ["weights"], ["partition"],
      ["sharded", "left"], ["output lies", "left"]], rows, "kernels")));
}

function restsSection() {
  const facts = data.system.facts.map((f) => [f.key, f.source, f.basis, quantity(f.value, f.unit)]);
  const off = Object.entries(data.model).filter(([k, v]) => v === false && !FORMS.includes(k)).map(([k]) => k.replaceAll("_", " "));
  return wide(section("What this rests on", `Times: ${data.basis}. ${data.search.shapes} shapes, ${grouped(data.search.candidates)} candidates, ` +
    `${grouped(data.search.transitions)} transitions between order ideals.` + (off.length > 0 ? ` Not in this model: ${off.join(", ")}.` : ""),
    facts.length > 0 ? tableOf([["fact", "left"], ["source", "left"], ["basis", "left"], ["value"]], facts) : null));
}

showPage(head(), numbers(), graphSection(), timelineSection(), partitionsSection(), rooflineSection(), networkSection(), shardingSection(), restsSection());
