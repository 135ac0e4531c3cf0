// --- The page of `flopcast net time` and `flopcast net run`. ---------------------------------------

const data = JSON.parse(document.getElementById("data").textContent);

const rateText = (v) => (v >= 1e12 ? (v / 1e12).toFixed(2) + " TB/s" : v >= 1e9 ? (v / 1e9).toFixed(v >= 1e11 ? 0 : 1) + " GB/s"
  : v >= 1e6 ? (v / 1e6).toFixed(0) + " MB/s" : (v / 1e3).toFixed(0) + " kB/s");
const timeText = (seconds) => span(seconds * 1e9);

function head(facts) {
  return el("div", { class: "head" },
    el("div", {}, el("h1", {}, data.title), el("p", { class: "facts" }, facts)), themeButton());
}

function timePage() {
  const sizes = { title: "size", log: true, base: 4, format: bytes };
  const curves = (field) => data.curves.map((c) => ({ name: c.name, bold: c.chosen,
    points: c.points.map((p) => [p.bytes, p[field]]) }));
  showPage(
    head(`${data.op} of ${bytes(data.bytes)} over ${counted(data.ranks, "chip")} of ${data.cluster}`),
    el("div", { class: "tiles" },
      tile(timeText(data.time_s), `${data.algorithm}, ${data.protocol}; 10–90 %: ${timeText(data.low_s)} to ${timeText(data.high_s)}`),
      tile(rateText(data.bus_bandwidth), "bus bandwidth"), tile(rateText(data.algorithm_bandwidth), "algorithm bandwidth"),
      tile(data.basis, data.source)),
    section("Bus bandwidth", "The bandwidth the links see, comparable between operations and numbers of ranks. The bold line " +
      "is the forecast; the others are what each algorithm would reach by its own model.",
    lineChart(curves("bus_bandwidth"), sizes, { title: "bus bandwidth", format: rateText })),
    section("Time", "The same forecast as time; where the line is flat, latency rules.",
      lineChart(curves("time_s"), sizes, { title: "time", log: true, format: timeText })),
    section("Levels", "Where the time of this size goes, by level of the cluster.",
      tableOf(["level", "latency", "transfer"], data.parts.map((p) => [p.level, timeText(p.latency_s), timeText(p.transfer_s)]))));
}

function runPage() {
  const interval = data.interval_s;
  const shown = data.links.slice(0, 48);
  const rows = shown.map((link) => link.used);
  const lines = data.links.slice(0, 8).map((link) => ({ name: link.name, points: link.used.map((u, i) => [(i + 0.5) * interval, u]) }));
  const more = data.links.length - shown.length;
  showPage(
    head(`${counted(data.flows.length, "flow")} on ${data.cluster}`),
    el("div", { class: "tiles" }, tile(timeText(data.end_s), "until the last is complete"),
      tile(String(data.links.length), "links carried something"),
      data.links.length > 0 ? tile(percent(data.links[0].mean), `of the run is ${data.links[0].name} full, the busiest link`) : null),
    lines.length === 0 ? null : section("Use of the busiest links over time", "Share of a link's capacity, averaged over each " +
      `interval of ${timeText(interval)}.`, lineChart(lines, { title: "time", format: timeText }, { title: "use", to: 1.02, format: (v) => percent(v, 0) })),
    rows.length === 0 ? null : section("Links", "One strip a link, busiest first; the darker, the fuller.",
      heatMap(rows, shown.map((l) => l.name), (r, i) => [tipRow("at " + timeText(i * interval), percent(rows[r][i])),
        tipRow("whole run", percent(shown[r].mean)), tipRow("carried", bytes(shown[r].carried_bytes))]),
      more > 0 ? el("p", { class: "note" }, `${counted(more, "more link")} not drawn; --json has all.`) : null),
    section("Flows", "Longest first.", tableOf(["flow", "bytes", "start", "end", "takes", "mean rate"],
      [...data.flows].sort((a, b) => (b.end_s - b.start_s) - (a.end_s - a.start_s)).slice(0, 200).map((f) => [f.id, bytes(f.bytes),
        timeText(f.start_s), timeText(f.end_s), timeText(f.end_s - f.start_s),
        f.end_s > f.start_s ? rateText(f.bytes / (f.end_s - f.start_s)) : "–"]))));
}

(data.kind === "time" ? timePage : runPage)();
