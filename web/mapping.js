// --- The page of `flopcast map`: graph, partitions, roofline, timeline, shardings. -----------------

const data = JSON.parse(document.getElementById("data").textContent);
const LANES = [["compute", "compute_s"], ["memory", "memory_s"], ["network", "network_s"]];
/** Switches of the model that leave nothing out where they are off. */
const FORMS = ["pieces_traffic", "sharding_by_time", "published_bubble", "hide_gradients"];
const colourAt = (i) => SERIES_COLOURS[i % SERIES_COLOURS.length];
const proof = data.exact ? "optimal: no mapping is faster" : `within ${percent(data.gap, 2)} of the optimum`;
const shapeText = `TP ${data.shape.tp} × PP ${data.shape.pp} × DP ${data.shape.dp}`;

function head() {
  const w = data.workload, s = data.system;
  const facts = [["chips", `${grouped(s.chips)} × ${s.chip}`], ["shape", shapeText],
    ["microbatch", `${data.shape.microbatch}, ${grouped(data.shape.microbatches)} a step`], ["tile", counted(data.shape.tile, "token")],
    ["layers", `${w.layers}, ${data.shape.layers_per_stage} a stage`], ["model", data.model.name]];
  return el("div", { class: "head" },
    el("div", {}, el("h1", {}, document.title.split(" · ")[0]),
      el("p", { class: "facts" }, `${counted(w.kernels, "kernel")}, ${counted(w.uses, "use")} of tensors, ${counted(w.global_batch, "sample")} a step`),
      el("div", { class: "chips" }, ...facts.map(([k, v]) => el("span", { class: "chip" }, k + " ", el("b", {}, v))))),
    themeButton());
}

function tiles() {
  const used = data.memory_bytes.total, capacity = data.system.memory_capacity_bytes;
  return el("div", { class: "tiles" }, tile(secondsText(data.step_s), `a step; ${proof}`),
    tile(percent(data.utilisation), "of the chips' peak"),
    tile(Number(data.samples_per_second.toPrecision(4)).toLocaleString("en-US"), "samples per second"),
    tile(bytes(used), capacity > 0 ? `of ${bytes(capacity)} of the fullest chip` : "in the fullest chip"),
    data.price_usd > 0 ? tile(usd(data.price_usd), "the system's price") : null,
    data.power_w > 0 ? tile(watts(data.power_w), "the system's power") : null);
}

function graphSection() {
  const graph = document.getElementById("graph");
  return section("Kernels and tensors", "One layer: every box is a kernel with its work for one sample, coloured by the partition " +
    "in which it is on the chip. Dashed tensors leave the chip and come back. Point at a box or a line for its size.", graph);
}

/** What a partition's bars are: start and length of each lane, by how the model lets them overlap. */
function barsOf(partition, start) {
  const { compute_s: compute, memory_s: memory, network_s: network } = partition;
  const overlap = data.model.overlap;
  const memoryAt = overlap === "none" ? start + compute : start;
  const networkAt = overlap === "none" ? memoryAt + memory : overlap === "perfect" ? start : start + Math.max(compute, memory);
  return [[start, compute], [memoryAt, memory], [networkAt, network]];
}

function partitionTip(p, i) {
  return [el("b", {}, `partition ${i}: ${p.kernels.length > 8 ? counted(p.kernels.length, "kernel") : p.kernels.join(", ")}`),
    tipRow("time", secondsText(p.time_s)), ...LANES.map(([lane, field]) => tipRow(lane, secondsText(p[field]))), tipRow("limited by", p.limit)];
}

function timelineSection() {
  const gutter = 76, height = 30, room = 8, top = 6, axis = 24;
  const width = CHART.width, bottom = top + LANES.length * (height + room);
  const xs = scaleOf({ from: 0, to: data.times.layer_s || 1 }, gutter, width - 8);
  const root = svg("svg", { viewBox: `0 0 ${width} ${bottom + axis}`, class: "chart", role: "img", "aria-label": "timeline of a layer" });
  LANES.forEach(([lane], i) => root.append(svg("text", { x: gutter - 8, y: top + i * (height + room) + 19, class: "tick end" }, lane)));
  for (const t of ticksOf({ from: 0, to: data.times.layer_s }, 9)) {
    root.append(svg("line", { x1: xs(t), x2: xs(t), y1: top, y2: bottom, class: "grid" }),
      svg("text", { x: xs(t), y: bottom + 16, class: "tick middle" }, secondsText(t)));
  }
  let start = 0;
  data.partitions.forEach((p, i) => {
    barsOf(p, start).forEach(([from, length], lane) => {
      if (length <= 0) return;
      const limits = LANES[lane][0] === p.limit;
      const bar = svg("rect", { x: xs(from), y: top + lane * (height + room), width: Math.max(0.6, xs(from + length) - xs(from)), height,
        rx: 2, style: `fill:var(--${colourAt(i)});opacity:${limits ? 1 : 0.55}` });
      root.append(withTip(bar, ...partitionTip(p, i)));
      if (xs(from + length) - xs(from) > 26) {
        root.append(svg("text", { x: xs(from + length / 2), y: top + lane * (height + room) + 20, class: "tick middle",
          style: "fill:var(--ink-on-colour);pointer-events:none" }, String(i)));
      }
    });
    start += p.time_s;
    root.append(svg("line", { x1: xs(start), x2: xs(start), y1: top, y2: bottom, class: "marker" }));
  });
  return section("One microbatch through one layer", "Partitions one after the other; in each, what the chip computes, moves to and from DRAM, " +
    "and sends. The strong bar is the one that limits the partition.", root);
}

const decade = (v, round) => 10 ** round(Math.log10(v));

/** Roofs of memory and network under the peak, and where layer and partitions stand. */
function rooflineSection() {
  const r = data.roofline;
  const roofs = [["memory", r.memory_bandwidth_bytes_per_s, r.memory_intensity_flop_per_byte, "copy", "dram_bytes"],
    ["network", r.network_bandwidth_bytes_per_s, r.network_intensity_flop_per_byte, "communication", "wire_bytes"]].filter(([, rate]) => rate > 0);
  const dots = [];
  for (const [roof, , intensity, colour, field] of roofs) {
    if (intensity > 0) dots.push({ name: `the layer against ${roof}`, x: intensity, y: r.achieved_flop_per_s, colour, size: 7 });
    data.partitions.forEach((p, i) => {
      if (p[field] > 0 && p.work_flop > 0) dots.push({ name: `partition ${i} against ${roof}`, x: p.work_flop / p[field], y: p.work_flop / p.time_s, colour, size: 3.5 });
    });
  }
  if (dots.length === 0) return null;
  const xAll = [...dots.map((d) => d.x), ...roofs.map(([, rate]) => r.peak_flop_per_s / rate)];
  const x = { title: "FLOP a byte", log: true, format: (v) => quantity(v, ""), from: decade(Math.min(...xAll) / 1.5, Math.floor), to: decade(Math.max(...xAll) * 1.5, Math.ceil) };
  const y = { log: true, format: (v) => quantity(v, "FLOP/s"), from: decade(Math.min(...dots.map((d) => d.y)) / 1.5, Math.floor), to: decade(r.peak_flop_per_s * 1.2, Math.ceil) };
  const xs = scaleOf(x, CHART.left + 24, CHART.width - CHART.right), ys = scaleOf(y, CHART.height - CHART.bottom, CHART.top);
  const root = svg("svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, class: "chart", role: "img", "aria-label": "roofline" },
    ...gridLines(x, y, xs, ys, CHART.left + 24));
  for (const [, rate, , colour] of roofs) {
    const ridge = r.peak_flop_per_s / rate, low = Math.max(x.from, y.from / rate);
    root.append(svg("polyline", { class: "line bold", style: `stroke:var(--${colour})`,
      points: [[low, low * rate], [ridge, r.peak_flop_per_s], [x.to, r.peak_flop_per_s]].map(([a, b]) => `${xs(a).toFixed(1)},${ys(b).toFixed(1)}`).join(" ") }));
  }
  for (const d of dots) {
    root.append(withTip(svg("circle", { cx: xs(d.x), cy: ys(d.y), r: d.size, style: `fill:var(--${d.colour});stroke:var(--card)` }),
      el("b", {}, d.name), tipRow("FLOP a byte", quantity(d.x, "")), tipRow("reached", quantity(d.y, "FLOP/s"))));
  }
  return section("Hierarchical roofline of a chip", `Reached: ${quantity(r.achieved_flop_per_s, "FLOP/s")} of ${quantity(r.peak_flop_per_s, "FLOP/s")}. ` +
    "Large dots: the whole layer against each roof; small ones: its partitions.",
    legend(roofs.map(([roof, rate, , colour]) => [`${roof}, ${quantity(rate, "B/s")}`, colour])), root);
}

function partitionsSection() {
  const sram = data.system.kernel_by_kernel ? 0 : data.system.sram_bytes;  // streamed through there, no limit
  const rows = data.partitions.map((p, i) => [
    el("span", {}, el("i", { class: "swatch", style: `background:var(--${colourAt(i)});margin-right:6px` }), `${i} ${p.pass}`),
    el("div", { style: "white-space:normal;min-width:260px" }, p.kernels.join(", ")), secondsText(p.compute_s), secondsText(p.memory_s),
    secondsText(p.network_s), secondsText(p.time_s), p.limit, bytes(p.sram_bytes), sram > 0 ? percent(p.sram_bytes / sram) : "–",
    bytes(p.dram_bytes), bytes(p.wire_bytes)]);
  return section("Partitions", "Kernels that are on the chip together. A partition takes as long as what limits it, or as the model's overlap says.",
    tableOf(["partition", "kernels", "compute", "memory", "network", "time", "limit", "SRAM", "of it", "DRAM traffic", "sent"], rows, 2));
}

function networkSection() {
  const rows = data.system.dimensions.map((d, i) => [`${i}: ${d.kind}`, String(d.size), quantity(d.bandwidth_bytes_per_s, "B/s"),
    secondsText(d.latency_s), ...["tp", "pp", "dp"].map((p) => String(d[p] ?? "–"))]);
  return section("What the network's dimensions do", "Chips of each dimension that each kind of parallelism spans.",
    tableOf(["dimension", "chips", "bandwidth", "latency", "TP", "PP", "DP"], rows));
}

function shardingSection() {
  const shape = (k) => `${k.outer > 1 ? k.outer + " × " : ""}[${k.m} × ${k.n}]${k.k > 0 ? ` over ${k.k}` : ""}`;
  const layouts = new Map();
  for (const t of data.tensors) layouts.set(t.producer, (layouts.get(t.producer) || []).concat(t.layout));
  const rows = data.kernels.map((k) => [k.name, k.kind, shape(k), quantity(k.sample_flop, "FLOP"), bytes(k.weight_bytes), String(k.partition),
    k.sharding, (layouts.get(k.name) || []).join(", ") || "–"]);
  return section("Sharding", `How each kernel is divided among the ${data.shape.tp} chips of a tensor-parallel group, and how its output then lies on them.`,
    tableOf(["kernel", "kind", "[m × n] over k", "work a sample", "weights", "partition", "sharded", "output lies"], rows, 3));
}

function restsSection() {
  const facts = data.system.facts.map((f) => [f.key, f.source, f.basis, `${quantity(f.value, f.unit)}`]);
  const off = Object.entries(data.model).filter(([k, v]) => v === false && !FORMS.includes(k)).map(([k]) => k.replaceAll("_", " "));
  return section("What this rests on", `Times: ${data.basis}. ${data.search.shapes} shapes, ${grouped(data.search.candidates)} candidates, ` +
    `${grouped(data.search.transitions)} transitions between order ideals.` + (off.length > 0 ? ` Not in this model: ${off.join(", ")}.` : ""),
    facts.length > 0 ? tableOf(["fact", "source", "basis", "value"], facts, 3) : null);
}

showPage(head(), tiles(), graphSection(), timelineSection(), partitionsSection(), rooflineSection(), networkSection(), shardingSection(), restsSection());
