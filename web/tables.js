// --- Bars and tables: everything that is not drawn on a canvas. -----------------------------------

const MOST_RANKS = 64;  // bars and curves of more are left out, with a note

const PARTS = [
  ["exposed_compute", "compute alone", "compute", "compute kernels run, no communication beside them"],
  ["overlapped", "both at once", "overlapped", "communication hidden behind compute"],
  ["exposed_communication", "communication alone", "communication", "communication runs, and compute has nothing to do"],
  ["copies", "copies alone", "copy", "copies and sets, no kernel"],
  ["idle", "idle", "idle", "nothing runs on the GPU"],
];

/** "other" of the report is copies alone and idle. */
function partsOf(breakdown) {
  return { ...breakdown, copies: breakdown.other - breakdown.idle };
}

function segment(width, colour, label, ...tipContent) {
  const dark = ["idle", "wait", "annotation"].includes(colour);
  const node = el("div", { style: `width:${width * 100}%;background:var(--${colour})`, class: dark ? "dark" : "" },
    width > 0.055 ? label : "");
  return withTip(node, ...tipContent);
}

function breakdownBar(breakdown, window, whose) {
  const parts = partsOf(breakdown);
  return el("div", { class: "bar" }, ...PARTS.map(([key, title, colour, meaning]) =>
    segment(parts[key] / window, colour, percent(parts[key] / window),
      el("b", {}, `${title}, ${whose}`), tipRow(percent(parts[key] / window), ms(parts[key])), meaning)));
}

function breakdownSection() {
  const grid = el("div", { class: "bars" });
  for (const rank of report.ranks.slice(0, MOST_RANKS)) {
    const { measured, replayed } = rank.window.breakdown_s;
    grid.append(
      el("div", { class: "name" }, el("b", {}, `rank ${rank.rank}`), " recorded"),
      breakdownBar(measured, rank.window.measured_s, `rank ${rank.rank} recorded`),
      el("div", { class: "total" }, ms(rank.window.measured_s)),
      el("div", { class: "name" }, "replayed"),
      breakdownBar(replayed, rank.window.replayed_s, `rank ${rank.rank} replayed`),
      el("div", { class: "total" }, ms(rank.window.replayed_s)),
      el("div", { class: "space" }));
  }
  return section("Where the GPU time goes",
    "Each bar is one rank's time from its first to its last GPU task. Communication alone is the part that " +
    "faster networks or better overlap could win back; idle is what the host or other ranks cost.",
    legend(PARTS.map(([, title, colour]) => [title, colour])), grid, leftOut());
}

function leftOut() {
  const more = report.ranks.length - MOST_RANKS;
  return more > 0 ? el("p", { class: "note" }, `${counted(more, "more rank")} not drawn; --json has all.`) : null;
}

// Steps: a matrix of ranks and steps.

function tint(error) {
  if (error === null) return "";
  const part = Math.min(1, Math.abs(error) / 0.03);
  return `background:color-mix(in srgb, var(--bad) ${Math.round(part * 55)}%, var(--hover))`;
}

function stepCell(rank, step, gpu) {
  const error = gpu ? step.gpu_step_error : step.error;
  const measured = gpu ? step.gpu_measured_s : step.measured_s;
  const replayed = gpu ? step.gpu_replayed_s : step.replayed_s;
  if (measured === null) return el("td", {}, "–");
  return withTip(el("td", { style: tint(error) }, ms(measured), el("small", {}, signed(error))),
    el("b", {}, `rank ${rank.rank}, ${step.name}, ${gpu ? "GPU" : "host"} step`),
    tipRow("measured", ms(measured)), tipRow("replayed", ms(replayed)),
    tipRow("GPU starts off by (median)", span(step.start_error_median_s * 1e9)));
}

function stepMatrix(gpu) {
  const names = [...new Set(report.ranks.flatMap((rank) => rank.steps.map((step) => step.name)))];
  const head = el("tr", {}, el("th", { class: "left" }, "rank"), ...names.map((name) => el("th", {}, name)));
  const rows = report.ranks.map((rank) => el("tr", {}, el("th", { class: "left" }, String(rank.rank)),
    ...names.map((name) => {
      const step = rank.steps.find((s) => s.name === name);
      return step ? stepCell(rank, step, gpu) : el("td", {}, "–");
    })));
  return el("table", { class: "matrix" }, head, ...rows);
}

function stepsSection() {
  const place = el("div", { class: "scroll" });
  const buttons = [["Host steps", false], ["GPU steps", true]].map(([title, gpu]) =>
    el("button", { onclick: () => show(gpu), "aria-pressed": "false" }, title));
  const show = (gpu) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String((i === 1) === gpu)));
    place.replaceChildren(stepMatrix(gpu));
  };
  show(report.baseline === "dpro");
  return section("How near the replay comes, step by step",
    "Measured length of every step on every rank, and by how much the replay is off. A host step is what the " +
    "training loop sees; a GPU step runs from the last GPU task of one step to the last of the next, and is the " +
    "harder test. Cells redden towards 3 %.",
    el("div", { class: "controls" }, ...buttons), place);
}

// Collectives: waiting for the last rank against transfer.

function waitBar(wait, transfer, most, whose) {
  const part = (value) => (most > 0 ? value / most : 0);
  return el("div", { class: "bar thin clear" },
    segment(part(wait), "wait", "", el("b", {}, `waiting, ${whose}`), ms(wait)),
    segment(part(transfer), "communication", "", el("b", {}, `transfer, ${whose}`), ms(transfer)));
}

function collectivesSection() {
  const list = report.collectives.slice(0, 40);
  if (list.length === 0) return null;
  const most = Math.max(...list.flatMap((c) =>
    ["measured", "replayed"].map((run) => c.wait_s[run] + c.transfer_s[run])));
  const head = el("tr", {}, ...["collective", "group"].map((t) => el("th", { class: "left" }, t)),
    ...["times", "ranks", "bytes", "waiting", "transfer"].map((t) => el("th", {}, t)),
    el("th", { class: "left" }, "recorded above, replayed below"));
  const rows = list.map((c) => el("tr", {},
    el("td", { class: "left wrap" }, c.name), el("td", { class: "left" }, c.group || "–"),
    el("td", {}, grouped(c.count)), el("td", {}, String(c.ranks)), el("td", {}, bytes(c.bytes)),
    el("td", {}, ms(c.wait_s.measured), el("small", {}, ms(c.wait_s.replayed))),
    el("td", {}, ms(c.transfer_s.measured), el("small", {}, ms(c.transfer_s.replayed))),
    el("td", { class: "left wide" }, waitBar(c.wait_s.measured, c.transfer_s.measured, most, "recorded"),
      el("div", { style: "height:3px" }), waitBar(c.wait_s.replayed, c.transfer_s.replayed, most, "replayed"))));
  return section("Collectives: waiting or transferring?",
    "A collective starts to transfer when its last rank arrives; until then the others wait inside its kernel. " +
    "Waiting is imbalance between ranks, transfer is the network. Sums over all ranks.",
    legend([["waiting for the last rank", "wait"], ["transfer", "communication"]]),
    el("div", { class: "scroll" }, el("table", {}, head, ...rows)));
}

// Critical path.

const PATH_COLOURS = {
  operator: "operator", host_call: "call", launch: "launch", sync: "sync", host_gap: "annotation",
  compute: "compute", copy: "copy", communication: "communication", lag: "lag",
};

function pathSection() {
  const whole = report.critical_path;
  if (whole.pieces === 0) return null;
  const entries = Object.entries(whole.classes);
  const title = (name) => data.path_titles[name] || name;
  const bar = el("div", { class: "bar" }, ...entries.map(([name, c]) =>
    segment(c.time_s / whole.length_s, PATH_COLOURS[name] || "merged", percent(c.time_s / whole.length_s),
      el("b", {}, title(name)), tipRow(percent(c.time_s / whole.length_s), ms(c.time_s)), counted(c.pieces, "piece"))));
  const ranks = Object.entries(whole.ranks).slice(0, MOST_RANKS);
  const most = Math.max(...ranks.map(([, r]) => r.time_s));
  const grid = el("div", { class: "bars" }, ...ranks.flatMap(([rank, r]) => [
    el("div", { class: "name" }, `rank ${rank}`),
    el("div", { class: "bar thin clear" }, segment(r.time_s / most, "operator", "", el("b", {}, `rank ${rank}`), ms(r.time_s))),
    el("div", { class: "total" }, percent(r.time_s / whole.length_s))]));
  return section("What the run is bound by",
    `The critical path: the chain of tasks, each held back by the one before it, that ends with the run. It is ` +
    `${ms(whole.length_s)} long and changes rank ${counted(whole.rank_changes, "time")}. Only what lies on it can make the run faster.`,
    legend(entries.map(([name]) => [title(name), PATH_COLOURS[name] || "merged"])), bar,
    ranks.length > 1 ? el("h3", {}, "On which rank it runs") : null, ranks.length > 1 ? grid : null);
}

/** Both ends of a long name. */
const briefly = (name) => (name.length <= 90 ? name : name.slice(0, 58) + " … " + name.slice(-28));

function kernelsSection() {
  const list = report.top_kernels;
  if (list.length === 0) return null;
  const most = list[0].measured_s;
  const rows = list.map((k) => el("tr", {}, 
    withTip(el("td", { class: "left wrap mono" }, briefly(k.name)), el("b", {}, k.name)), el("td", {}, grouped(k.count)),
    el("td", {}, ms(k.measured_s)), el("td", {}, ms(k.measured_s / k.count)),
    el("td", { class: "left wide" }, el("div", { class: "bar thin clear" },
      segment(most > 0 ? k.measured_s / most : 0, /nccl|rccl/i.test(k.name) ? "communication" : "compute", "",
        el("b", {}, k.name), tipRow("recorded", ms(k.measured_s)), tipRow("replayed", ms(k.replayed_s)))))));
  return section("Kernels that take the most time", "Summed over all ranks and steps of the recording.",
    el("div", { class: "scroll" }, el("table", {}, el("tr", {}, el("th", { class: "left" }, "kernel"),
      ...["times", "together", "each"].map((t) => el("th", {}, t)), el("th")), ...rows)));
}

// What the forecast rests on.

function edgesTable() {
  const rows = Object.entries(report.edges).map(([kind, e]) => el("tr", {}, el("td", { class: "left" }, kind.replace("_", " ")),
    el("td", {}, grouped(e.count)), el("td", {}, grouped(e.contradicted))));
  return el("table", {}, el("tr", {}, el("th", { class: "left" }, "dependency"), el("th", {}, "kept"),
    el("th", {}, "contradicted, dropped")), ...rows);
}

function lagsTable() {
  const kinds = new Map();
  for (const lag of report.lags) {
    if (lag.samples === 0) continue;
    const k = kinds.get(lag.edge) || { samples: 0, least: Infinity, most: -Infinity };
    kinds.set(lag.edge, { samples: k.samples + lag.samples, least: Math.min(k.least, lag.typical_s), most: Math.max(k.most, lag.typical_s) });
  }
  const rows = [...kinds].map(([kind, k]) => el("tr", {}, el("td", { class: "left" }, kind.replace("_", " ")),
    el("td", {}, grouped(k.samples)), el("td", {}, `${span(k.least * 1e9)} – ${span(k.most * 1e9)}`)));
  return el("table", {}, el("tr", {}, el("th", { class: "left" }, "delay after"), el("th", {}, "samples"),
    el("th", {}, "typical, over ranks")), ...rows);
}

function anomaliesList() {
  const kinds = new Map();
  for (const a of report.anomalies) {
    const k = kinds.get(a.kind) || { count: 0, first: a.first };
    kinds.set(a.kind, { count: k.count + a.count, first: k.first });
  }
  return el("ul", {}, ...[...kinds].map(([kind, k]) =>
    el("li", {}, `${kind.replaceAll("_", " ")}: ${counted(k.count, "time")} `, el("small", { class: "note" }, `first: ${k.first}`))));
}

function lateTable() {
  const rows = report.late_starts.tasks.slice(0, 15).map((late) => el("tr", {}, el("td", {}, String(late.rank)),
    el("td", {}, ms(late.recorded_start_s)), el("td", {}, span(late.late_s * 1e9)), el("td", { class: "left wrap mono" }, briefly(late.name))));
  return el("table", {}, el("tr", {}, ...["rank", "at", "late by"].map((t) => el("th", {}, t)), el("th", { class: "left" }, "task")), ...rows);
}

function restsSection() {
  const late = report.late_starts;
  const pins = report.pinned.map((p) => el("li", {}, `${p.what} (${counted(p.tasks, "task")})`));
  return section("What this rests on",
    "A replay that copies enough from its recording is exact, whatever else is wrong. This is what was copied, what " +
    "was computed from which dependencies, and what nobody could explain.",
    el("div", { class: "two" },
      el("div", {}, el("h3", {}, "Dependencies"), edgesTable(), el("h3", {}, `Delays (mode: ${report.mode})`), lagsTable()),
      el("div", {}, el("h3", {}, "Taken from the recording"), pins.length ? el("ul", {}, ...pins) : el("p", {}, "Nothing but durations and host time."),
        late.count > 0 ? el("h3", {}, `Starts later than anything explains: ${grouped(late.count)}, ${percent(late.share_of_windows, 2)} of the time`) : null,
        late.count > 0 ? el("div", { class: "scroll" }, lateTable()) : null,
        report.anomalies.length ? el("h3", {}, "Oddities in the input") : null,
        report.anomalies.length ? anomaliesList() : null)));
}
