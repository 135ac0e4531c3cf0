// --- The page of `flopcast plan`: time against memory, where time goes, curves over a sweep. -------

const data = JSON.parse(document.getElementById("data").textContent);
const points = data.points;
const first = points[0];
const sweeps = first.asked.sweep;

const seconds = (s) => (s >= 1 ? Number(s.toPrecision(4)) + " s" : span(s * 1e9));
const gigabytes = (b) => (b / 1e9).toFixed(1) + " GB";
const count = (v) => v.toLocaleString("en-US", { maximumSignificantDigits: 4 });
const pointName = (p) => Object.entries(p.asked.sweep).map(([name, value]) => `${name} ${value}`).join(", ") || "best";
const fitting = points.filter((p) => p.best.length > 0);

// Colours by what a part is: compute, transfers, waiting, the rest.
const PART_COLOURS = { matrix: "compute", attention: "copy", memory_bound: "operator", recompute: "overlapped",
  tensor: "communication", context: "accent", expert: "sync", weights: "wait", gradients: "lag", bubble: "idle",
  optimizer: "good", host: "launch", contention: "merged" };
const MEMORY_COLOURS = { weights: "compute", gradients: "communication", optimizer: "copy", activations: "overlapped",
  working: "sync", buffers: "launch", allocator: "idle" };
const colourOfPart = (name, i) => PART_COLOURS[name] || SERIES_COLOURS[i % SERIES_COLOURS.length];

/** One bar a row: [name, { part: value }, text at its end]; as wide as its sum against the largest. */
function stackedBars(rows, colour, describe, format) {
  const sum = (parts) => Object.values(parts).reduce((a, b) => a + b, 0);
  const most = Math.max(...rows.map(([, parts]) => sum(parts)));
  const used = [...new Set(rows.flatMap(([, parts]) => Object.keys(parts).filter((k) => parts[k] > 0)))];
  const bars = rows.flatMap(([name, parts, total]) => {
    const bar = el("div", { class: "bar", style: `width:${(100 * sum(parts)) / most}%` },
      ...Object.entries(parts).filter(([, v]) => v > 0).map(([key, v], i) =>
        withTip(el("div", { style: `flex:${v};background:var(--${colour(key, i)})` }),
          el("b", {}, name), tipRow(describe(key), format(v)), tipRow("share", percent(v / sum(parts))))));
    return [el("div", { class: "name" }, name), bar, el("div", { class: "total" }, total)];
  });
  return el("div", {}, legend(used.map((key, i) => [describe(key), colour(key, i)])), el("div", { class: "bars" }, ...bars));
}

/** Every plan that nothing beats in both, and the best ones: seconds over bytes. */
function paretoChart(report) {
  const dots = [...report.pareto.map((p) => ({ ...p, front: true })), ...report.best];
  const gb = (dot) => dot.memory_bytes / 1e9;
  const x = fitted({ title: "memory of a chip", format: (v) => `${v} GB`, log: true, base: 2 }, dots.map(gb));
  const y = fitted({ title: "time of a step", format: seconds, log: true, base: 2 }, dots.map((d) => d.time_s));
  const room = (axis) => { axis.from /= 1.03; axis.to *= 1.03; };
  room(x);
  room(y);
  const xs = scaleOf(x, CHART.left, CHART.width - CHART.right), ys = scaleOf(y, CHART.height - CHART.bottom, CHART.top);
  const root = svg("svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, class: "chart", role: "img", "aria-label": "time against memory" },
    ...gridLines(x, y, xs, ys));
  const front = [...report.pareto].sort((a, b) => a.memory_bytes - b.memory_bytes);
  root.append(svg("polyline", { class: "line", style: "stroke:var(--compute)",
    points: front.map((p) => `${xs(gb(p)).toFixed(1)},${ys(p.time_s).toFixed(1)}`).join(" ") }));
  for (const dot of dots) {
    const node = svg("circle", { cx: xs(gb(dot)), cy: ys(dot.time_s), r: dot.front ? 5 : 3,
      style: `fill:var(--${dot.front ? "compute" : "soft"})` });
    root.append(withTip(node, el("b", {}, dot.words), tipRow("time", seconds(dot.time_s)), tipRow("memory", gigabytes(dot.memory_bytes))));
  }
  return root;
}

function head() {
  const a = first.asked;
  const facts = `${counted(a.global_batch, "sequence")} of ${grouped(a.sequence)} tokens a step` +
    (a.constraints.length > 0 ? `; ${a.constraints.join(", ")}` : "");
  return el("div", { class: "head" }, el("div", {}, el("h1", {}, document.title.split(" · ")[0]), el("p", { class: "facts" }, facts)),
    themeButton());
}

function bestSections(report) {
  const winner = report.best[0];
  const bars = report.best.map((b, i) => [`${i + 1}`, b.parts_s, seconds(b.time_s)]);
  const memory = report.best.map((b, i) => [`${i + 1}`,
    Object.fromEntries(Object.keys(MEMORY_COLOURS).map((k) => [k, b.memory[k]])), gigabytes(b.memory_bytes)]);
  return [
    el("div", { class: "tiles" }, tile(seconds(winner.time_s), `a step; 10–90 %: ${seconds(winner.low_s)} to ${seconds(winner.high_s)}`),
      tile(count(winner.tokens_per_second), "tokens per second"), tile(percent(winner.mfu), "MFU"),
      tile(gigabytes(winner.memory_bytes), `of ${gigabytes(report.asked.capacity_bytes)} of a chip`)),
    section("The best plans", "Fastest first.", tableOf(["", "plan", "time", "behind", "tokens/s", "MFU", "memory"],
      report.best.map((b, i) => [`${i + 1}`, b.words, seconds(b.time_s), i === 0 ? "" : signed(b.time_s / winner.time_s - 1),
        count(b.tokens_per_second), percent(b.mfu), gigabytes(b.memory_bytes)]), 2),
      el("h3", {}, "The best as Megatron-LM flags"), el("code", {}, winner.megatron)),
    section("Time against memory", "The line joins plans that no other is both faster and leaner than; grey: the other best ones.",
      paretoChart(report)),
    section("Where the time goes", "One bar for each of the best plans, by its number in the table.",
      stackedBars(bars, colourOfPart, (k) => data.meanings[k] || k, seconds)),
    section("What fills the memory", "The fullest chip of each of the best plans.",
      stackedBars(memory, (k) => MEMORY_COLOURS[k], (k) => k, gigabytes)),
    report.sensitivities.length === 0 ? null : section("What it hangs on", "Change of the step for +10 % of one hardware number, all else equal.",
      tableOf(["number", "", "change of the step"], report.sensitivities.map((s) => [s.number, "", signed(s.change)]), 2)),
  ];
}

/** Over the first sweep whose values are numbers; one line for each combination of the others. */
function sweepCurves(field, title, format) {
  const names = Object.keys(sweeps);
  const along = names.find((n) => fitting.every((p) => Number.isFinite(parseFloat(p.asked.sweep[n]))));
  if (along === undefined || fitting.length < 2) return null;
  const lines = new Map();
  for (const p of fitting) {
    const key = names.filter((n) => n !== along).map((n) => `${n} ${p.asked.sweep[n]}`).join(", ") || "best plan";
    if (!lines.has(key)) lines.set(key, []);
    lines.get(key).push([parseFloat(p.asked.sweep[along]), field(p)]);
  }
  const series = [...lines].map(([name, xy]) => ({ name, bold: lines.size === 1, points: xy.sort((a, b) => a[0] - b[0]) }));
  return section(title, `Of the best plan at each ${along}.`,
    lineChart(series, { title: along, log: true, base: 2, format: (v) => grouped(Math.round(v * 1000) / 1000) }, { title, format }));
}

function sweepPage() {
  const rows = points.map((p) => {
    const b = p.best[0];
    return b === undefined ? [pointName(p), "nothing fits", "–", "–", "–", "–"]
      : [pointName(p), b.words, seconds(b.time_s), count(b.tokens_per_second), percent(b.mfu), gigabytes(b.memory_bytes)];
  });
  showPage(head(),
    sweepCurves((p) => p.best[0].time_s, "Time of a step", seconds),
    sweepCurves((p) => p.best[0].tokens_per_second, "Tokens per second", count),
    sweepCurves((p) => p.best[0].mfu, "MFU", (v) => percent(v)),
    fitting.length === 0 ? null : section("Where the time goes", "Shares of the step of the best plan at each point.",
      stackedBars(fitting.map((p) => {
        const b = p.best[0];
        return [pointName(p), Object.fromEntries(Object.entries(b.parts_s).map(([k, v]) => [k, v / b.time_s])), seconds(b.time_s)];
      }), colourOfPart, (k) => data.meanings[k] || k, (v) => percent(v))),
    section("Best plans", "One row a point.", tableOf(["point", "plan", "time", "tokens/s", "MFU", "memory"], rows, 2)));
}

if (points.length > 1) sweepPage();
else showPage(head(), ...(fitting.length > 0 ? bestSections(first) : [section("Nothing fits",
  `${grouped(first.search.plans)} plans are possible; ${grouped(first.search.too_big)} of them need more memory than there is.`)]));
