// --- Timeline, second half: drawing, zooming, hovering. -------------------------------------------
import { freshContext } from "./canvas.js";
import { PATH_COLOURS, colourIn } from "./colours.js";
import { CLASSES, CLASS_TITLES, COMMUNICATION, NO_ROW, data, names, path } from "./decode.js";
import { AXIS, RUNS, STRIP, bandsOfAll, bandsOfRank, tickStep } from "./lanes.js";
import { span, tidy } from "./numbers.js";
import { colourOf, drawnTo, el, hideTip, legend, section, showTip, tipRow, wide } from "./page.js";

const FONT = "system-ui, -apple-system, \"Segoe UI\", Roboto, \"DejaVu Sans\", sans-serif";

/** @typedef {import("./decode.js").Lane} Lane */
/** @typedef {import("./lanes.js").Band} Band */
/** A row of a lane of a rank. @typedef { { lane: Lane, trace: number, row: number }} Place */

class Timeline {
  constructor(/** @type {HTMLCanvasElement} */ canvas) {
    this.canvas = canvas;
    this.view = [0, Math.max(1, data.length_ns)];
    this.trace = 0;  // -1: all ranks
    this.showPath = true;
    this.waiting = false;
    /** @type {Place | null} */
    this.hovered = null;
    this.layout = bandsOfRank(0, 0, 0);
    this.colours = coloursNow();
    this.g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.choose(0);
    this.listen();
  }

  choose(/** @type {number} */ trace) {
    this.trace = trace;
    const top = AXIS + STRIP, width = this.canvas.clientWidth;
    this.layout = trace < 0 ? bandsOfAll(top, width) : bandsOfRank(trace, top, width);
    this.canvas.style.height = this.layout.bottom + "px";
    this.draw();
  }

  // Time and pixels.
  get gutter() { return this.layout.gutter; }
  get width() { return this.canvas.clientWidth - this.gutter; }
  get perPixel() { return (this.view[1] - this.view[0]) / Math.max(1, this.width); }
  x(/** @type {number} */ time) { return this.gutter + (time - this.view[0]) / this.perPixel; }
  time(/** @type {number} */ x) { return this.view[0] + (x - this.gutter) * this.perPixel; }

  show(/** @type {number} */ from, /** @type {number} */ to) {
    const whole = Math.max(1, data.length_ns);
    const length = Math.min(Math.max(to - from, 200), whole * 1.04);
    const start = Math.min(Math.max((from + to - length) / 2, -whole * 0.02), whole * 1.02 - length);
    this.view = [start, start + length];
    this.draw();
  }
  zoom(/** @type {number} */ factor, at = (this.view[0] + this.view[1]) / 2) {
    this.show(at - (at - this.view[0]) * factor, at + (this.view[1] - at) * factor);
  }
  pan(/** @type {number} */ time) { this.show(this.view[0] + time, this.view[1] + time); }

  // Drawing.
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    const width = this.canvas.clientWidth, height = this.layout.bottom;
    const g = freshContext(this.canvas, width, height);
    this.g = g;
    this.colours = coloursNow();
    g.fillStyle = colourOf("card");
    g.fillRect(0, 0, width, height);
    this.paintAxis(height);
    g.save();
    g.beginPath();
    g.rect(this.gutter, 0, this.width, height);
    g.clip();
    for (const b of this.layout.bands) this.paintBand(b);
    this.paintStrip();
    if (this.showPath) this.paintPath();
    this.paintHovered();
    g.restore();
    this.paintLabels();
  }

  paintAxis(/** @type {number} */ height) {
    const g = this.g, right = this.gutter + this.width, step = tickStep(this.perPixel);
    g.font = `11px ${FONT}`;
    g.textBaseline = "middle";
    g.lineWidth = 1;
    for (let t = Math.ceil(this.view[0] / step) * step; t <= this.view[1]; t += step) {
      const x = Math.round(this.x(t)) + 0.5, text = tidy(span(t)), half = g.measureText(text).width / 2;
      g.strokeStyle = colourOf("line");
      g.beginPath();
      g.moveTo(x, AXIS - 12);
      g.lineTo(x, height);
      g.stroke();
      g.fillStyle = this.colours.soft;
      g.textAlign = "center";
      if (x - half >= this.gutter - 20 && x + half <= right) g.fillText(text, x, AXIS - 10);
    }
    const rank = data.ranks[Math.max(0, this.trace)];
    for (const [name, ...ends] of rank.steps) {
      if (!data.runs) {
        this.paintStep(name, ends[0], ends[1], 2);
        continue;
      }
      data.runs.forEach((run, i) => {
        this.paintStep(`${name} ${run}, ${span(ends[2 * i + 1] - ends[2 * i])}`, ends[2 * i], ends[2 * i + 1], 2 + 18 * i);
      });
    }
  }

  /**
   * @param {string} name
   * @param {number} start
   * @param {number} end
   * @param {number} y
   */
  paintStep(name, start, end, y) {
    const g = this.g, from = Math.max(this.x(start), this.gutter), to = Math.min(this.x(end), this.gutter + this.width);
    if (to <= from) return;
    g.fillStyle = colourOf("hover");
    g.fillRect(from + 1, y, to - from - 2, 16);
    g.fillStyle = this.colours.soft;
    g.textAlign = "left";
    if (to - from > 40) g.fillText(this.fit(name, to - from - 10), from + 6, y + 8);
  }

  /** As much of a text as fits, in the font that is set. */
  fit(/** @type {string} */ text, /** @type {number} */ width) {
    const whole = this.g.measureText(text).width;
    if (whole <= width) return text;
    let letters = Math.floor((text.length * width) / whole);
    while (letters > 2 && this.g.measureText(text.slice(0, letters - 1) + "…").width > width) letters--;
    return letters < 3 ? "" : text.slice(0, letters - 1) + "…";
  }

  paintLabels() {
    const g = this.g, narrow = this.gutter < 100;
    g.textBaseline = "middle";
    g.font = `11px ${FONT}`;
    g.fillStyle = this.colours.soft;
    g.textAlign = "left";
    g.fillText(narrow ? "path" : "critical path", 0, AXIS + 8);
    for (const label of this.layout.labels) {
      g.fillStyle = label.strong ? this.colours.ink : this.colours.soft;
      g.font = `${label.strong ? "600 12px" : "11px"} ${FONT}`;
      g.textAlign = label.right ? "right" : "left";
      const room = label.right ? 58 : narrow ? this.gutter + this.width : this.gutter - 74, text = this.fit(label.text, room);
      if (narrow && !label.right) this.clear(label.y, g.measureText(text).width);
      g.fillText(text, label.right ? this.gutter - 6 : 0, label.y + 7);
    }
  }

  /** Takes the path's line from under a name that stands above its rows. */
  clear(/** @type {number} */ y, /** @type {number} */ width) {
    const g = this.g, ink = g.fillStyle;
    g.fillStyle = colourOf("card");
    g.fillRect(0, y, width + 3, 14);
    g.fillStyle = ink;
  }

  /** Rows narrower than a pixel that fall on one already painted are skipped: a pixel shows the longest. */
  paintBand(/** @type {Band} */ b) {
    const g = this.g, { lane, run, levels, height } = b;
    const starts = lane.start[run], lengths = lane.length[run];
    const [from, to] = this.view, perPixel = this.perPixel;
    const painted = new Float64Array(levels).fill(-1);
    for (let i = 0; i < lane.n; i++) {
      const start = starts[i], end = start + lengths[i];
      if (end < from || start > to || lane.depth[i] >= levels) continue;
      const level = lane.depth[i];
      const x0 = this.x(start), x1 = Math.max(this.x(end), x0 + 0.7);
      if (x1 <= painted[level] + 0.25) continue;
      painted[level] = x1;
      const y = b.y + level * height, wide = x1 - x0;
      g.fillStyle = this.colours.fill[lane.kind[i]];
      g.fillRect(x0, y, wide > 3 ? wide - 0.6 : wide, height - 1);
      const waiting = Math.min(wide, lane.wait[run][i] / perPixel);
      if (waiting > 0) {
        g.fillStyle = this.colours.wait;
        g.fillRect(x0, y, waiting, height - 1);
      }
      if (wide <= 34 || height <= 9 || x1 < this.gutter) continue;
      // The name stands on one colour: on the larger of waiting and the rest.
      const onWait = waiting > wide / 2;
      g.fillStyle = onWait ? this.colours.onWait : this.colours.on[lane.kind[i]];
      this.paintName(lane, i, onWait ? x0 : x0 + waiting, y, onWait ? waiting : wide - waiting, height);
    }
  }

  /**
   * @param {Lane} lane
   * @param {number} i
   * @param {number} x0
   * @param {number} y
   * @param {number} wide
   * @param {number} height
   */
  paintName(lane, i, x0, y, wide, height) {
    const g = this.g, left = Math.max(x0, this.gutter), right = Math.min(x0 + wide, this.gutter + this.width);
    g.font = `10.5px ${FONT}`;
    g.textAlign = "left";
    g.textBaseline = "middle";
    g.fillText(this.fit(names[lane.text[i]], right - left - 6), left + 4, y + height / 2);
  }

  paintStrip() {
    const g = this.g;
    let painted = -1;
    for (let i = 0; i < path.start.length; i++) {
      if (path.end[i] < this.view[0] || path.start[i] > this.view[1]) continue;
      const x0 = this.x(path.start[i]), x1 = this.x(path.end[i]);
      if (x1 < painted + 0.4) continue;
      g.fillStyle = this.colours.path[path.kind[i]];
      g.fillRect(x0, AXIS + 2, Math.max(0.7, x1 - x0), 12);
      painted = x1;
    }
  }

  /** Marks the path's tasks in the replayed bands, and joins those that follow one another. */
  paintPath() {
    const g = this.g;
    g.strokeStyle = colourOf("accent");
    g.lineWidth = 1.3;
    /** @type { { x: number, y: number, next: number } | null} */
    let last = null;
    let painted = -9;
    g.beginPath();
    for (const p of this.pathPlaces()) {
      const x0 = this.x(p.start), x1 = Math.max(this.x(p.end), x0 + 1), y = p.y + 1;
      if (x1 < painted + 0.5 && last && last.y === y) {
        last.next = p.next;
        continue;
      }
      if (last && last.next === p.index) {
        g.moveTo(last.x, last.y);
        g.lineTo(x0, y);
      }
      g.moveTo(x0, y);
      g.lineTo(x1, y);
      painted = x1;
      last = { x: x1, y, next: p.next };
    }
    g.stroke();
  }

  /** Where the path's visible tasks are drawn: bands are found by rank and row. */
  pathPlaces() {
    /** @type {Map<number, Band[]>} */
    const shown = new Map();
    for (const b of this.layout.bands) {
      if (b.run !== 1) continue;
      shown.set(b.trace, [...(shown.get(b.trace) || []), b]);
    }
    const places = [];
    for (let i = 0; i < path.start.length; i++) {
      if (path.place[i] === NO_ROW || path.end[i] < this.view[0] || path.start[i] > this.view[1]) continue;
      let next = i + 1;  // the piece after this one that is a task
      while (next < path.place.length && path.place[next] === NO_ROW) next++;
      const bands = shown.get(path.trace[i]);
      const b = bands?.find((c) => path.place[i] >= c.lane.first && path.place[i] < c.lane.first + c.lane.n);
      if (!b) continue;
      const level = Math.min(b.lane.depth[path.place[i] - b.lane.first], b.levels - 1);
      places.push({ index: i, next, start: path.start[i], end: path.end[i], y: b.y + level * b.height });
    }
    return places;
  }

  paintHovered() {
    if (!this.hovered) return;
    const g = this.g, { lane, trace, row } = this.hovered;
    g.strokeStyle = this.colours.ink;
    g.lineWidth = 1.5;
    /** @type {[number, number][]} */
    const ends = [];
    for (const b of this.layout.bands) {
      if (b.lane !== lane || b.trace !== trace) continue;
      const level = Math.min(lane.depth[row], b.levels - 1);
      const x0 = this.x(lane.start[b.run][row]), x1 = this.x(lane.start[b.run][row] + lane.length[b.run][row]);
      const y = b.y + level * b.height;
      g.strokeRect(x0 - 0.5, y - 0.5, Math.max(2, x1 - x0 + 1), b.height);
      ends.push([x0, b.run === 0 ? y + b.height : y]);
    }
    if (ends.length === 2) {
      g.beginPath();
      g.moveTo(...ends[0]);
      g.lineTo(...ends[1]);
      g.stroke();
    }
  }

  // Hovering.
  /** @returns {Place | null} */
  rowAt(/** @type {number} */ x, /** @type {number} */ y) {
    for (const b of this.layout.bands) {
      if (y < b.y || y >= b.y + b.levels * b.height) continue;
      const level = Math.floor((y - b.y) / b.height), slack = this.perPixel * 2;
      const time = this.time(x), starts = b.lane.start[b.run], lengths = b.lane.length[b.run];
      let best = -1, distance = Number.POSITIVE_INFINITY;
      for (let i = 0; i < b.lane.n; i++) {
        if (b.lane.depth[i] !== level && b.lane.levels > 1) continue;
        const off = Math.max(starts[i] - time, time - starts[i] - lengths[i], 0);
        if (off <= slack && (off < distance || (off === distance && lengths[i] < lengths[best]))) {
          best = i;
          distance = off;
        }
      }
      return best < 0 ? null : { lane: b.lane, trace: b.trace, row: best };
    }
    return null;
  }

  tell(/** @type {PointerEvent} */ event, /** @type {Place} */ { lane, trace, row }) {
    const kind = lane.kind[row], moved = lane.start[1][row] - lane.start[0][row];
    const lines = [el("b", {}, names[lane.text[row]]),
      el("div", {}, `${CLASS_TITLES[kind]} · rank ${data.ranks[trace].rank} · ${lane.name}`)];
    for (const run of lane.runs) {
      lines.push(tipRow(RUNS[run], `${span(lane.start[run][row])}, lasts ${span(lane.length[run][row])}`));
      if (kind === COMMUNICATION && lane.wait[run][row] > 0) lines.push(tipRow("  of it waiting", span(lane.wait[run][row])));
    }
    if (moved !== 0) lines.push(tipRow(data.runs ? "starts" : "replay starts", `${span(Math.abs(moved))} ${moved > 0 ? "later" : "earlier"}`));
    showTip(event, ...lines);
  }

  listen() {
    const canvas = this.canvas;
    /** @type { { x: number, view: number[] } | null} */
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, view: [...this.view] };
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add("dragging");
    });
    canvas.addEventListener("pointerup", () => {
      drag = null;
      canvas.classList.remove("dragging");
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const by = (drag.x - event.clientX) * this.perPixel;
        this.show(drag.view[0] + by, drag.view[1] + by);
        return;
      }
      const found = this.rowAt(event.offsetX, event.offsetY);
      if (found) this.tell(event, found); else hideTip();
      const changed = found?.row !== this.hovered?.row || found?.lane !== this.hovered?.lane;
      this.hovered = found;
      if (changed) this.draw();
    });
    canvas.addEventListener("pointerleave", () => {
      hideTip();
      this.hovered = null;
      this.draw();
    });
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, this.time(event.offsetX)));
    canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.zoom(1.0015 ** event.deltaY, this.time(event.offsetX));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.pan(event.deltaX * this.perPixel);
      }
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const length = this.view[1] - this.view[0];
      /** @type {Record<string, () => void>} */
      const actions = { ArrowLeft: () => this.pan(-length / 5), ArrowRight: () => this.pan(length / 5),
        "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1.7), "0": () => this.show(0, data.length_ns) };
      if (!(event.key in actions)) return;
      event.preventDefault();
      actions[event.key]();
    });
  }
}

/** What the canvas is painted with, as the theme has it now. */
function coloursNow() {
  return { fill: CLASSES.map(colourOf), on: CLASSES.map((name) => colourOf(name + "-ink")), wait: colourOf("wait"), onWait: colourOf("wait-ink"),
    path: data.path.classes.map((name) => colourOf(colourIn(PATH_COLOURS, name))), ink: colourOf("ink"), soft: colourOf("soft") };
}

/** Shows what the address names: #rank=3&from_ms=10&to_ms=20, rank=all for all. */
function showAsked(/** @type {Timeline} */ timeline, /** @type {HTMLSelectElement} */ ranks) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const place = asked.get("rank") === "all" ? -1 : data.ranks.findIndex((r) => String(r.rank) === asked.get("rank"));
  const named = asked.get("rank") === "all" || place >= 0, shown = named ? place : rankOfPath();
  ranks.value = String(shown);
  timeline.choose(shown);
  const from = Number(asked.get("from_ms")) * 1e6, to = Number(asked.get("to_ms")) * 1e6;
  if (to > from) timeline.show(from, to);
}

/** Where the most of the critical path runs: the first rank that is shown. */
function rankOfPath() {
  const time = data.ranks.map(() => 0);
  for (let i = 0; i < path.trace.length; i++) time[path.trace[i]] += path.end[i] - path.start[i];
  return Math.max(0, time.indexOf(Math.max(...time)));
}

/** "rank 3", or all of them. */
function rankChooser(/** @type {(trace: number) => void} */ choose) {
  const ranks = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": "Rank" },
    ...data.ranks.map((rank, i) => el("option", { value: i }, `rank ${rank.rank}`)),
    data.ranks.length > 1 ? el("option", { value: -1 }, "all ranks, GPU only") : null));
  ranks.addEventListener("change", () => choose(Number(ranks.value)));
  return ranks;
}

/** A step to zoom to, or the whole run; nothing to choose where the page holds one step. */
function stepChooser(/** @type {() => Timeline} */ timeline) {
  if (data.runs) return null;
  const steps = /** @type {HTMLSelectElement} */ (el("select", { "aria-label": "Step" }, el("option", { value: "" }, "whole run"),
    ...data.ranks[0].steps.map(([name], i) => el("option", { value: i }, name))));
  steps.addEventListener("change", () => {
    const step = steps.value === "" ? undefined : data.ranks[Math.max(0, timeline().trace)].steps[Number(steps.value)];
    if (step) timeline().show(Math.min(step[1], step[3]), Math.max(step[2], step[4]));
    else timeline().show(0, data.length_ns);
  });
  return steps;
}

/**
 * Both runs on one axis.
 * @param {string} title
 * @param {string} lead
 */
export function timelineSection(title, lead) {
  const canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { tabindex: "0", role: "img",
    "aria-label": `Timeline of the run ${RUNS[0]} and ${RUNS[1]}; arrow keys move, plus and minus zoom, 0 shows all` }));
  const place = el("div", { id: "timeline" }, canvas);
  /** @type {Timeline | null} */
  let shown = null;
  const timeline = () => (shown ??= new Timeline(canvas));
  const ranks = rankChooser((trace) => timeline().choose(trace)), steps = stepChooser(timeline);
  const pathButton = el("button", { "aria-pressed": "true", onclick: () => {
    timeline().showPath = !timeline().showPath;
    pathButton.setAttribute("aria-pressed", String(timeline().showPath));
    timeline().draw();
  } }, "critical path");
  /** @param {string} title @param {string} label @param {(t: Timeline) => void} action */
  const button = (title, label, action) => el("button", { title: label, "aria-label": label, onclick: () => action(timeline()) }, title);
  drawnTo(canvas, () => {
    if (shown === null) showAsked(timeline(), ranks);
    timeline().choose(timeline().trace);
  });
  const merged = Math.max(...data.ranks.map((rank) => rank.merged_below_ns));
  return wide(section(title, lead,
    el("div", { class: "controls" }, ranks, steps, el("span", { class: "gap" }), button("+", "zoom in", (t) => t.zoom(0.5)),
      button("−", "zoom out", (t) => t.zoom(2)), button("◀", "earlier", (t) => t.pan(-0.3 * (t.view[1] - t.view[0]))),
      button("▶", "later", (t) => t.pan(0.3 * (t.view[1] - t.view[0]))), pathButton,
      el("span", {}, "drag to move, Ctrl + wheel or double-click to zoom")),
    legend([["compute", "compute"], ["communication", "communication"], ["waiting in it", "wait"], ["copy or set", "copy"],
      ["operator", "operator"], ["launch", "launch"], ["waits for the GPU", "sync"], ["other host call", "call"],
      ["critical path", "accent"]]),
    place,
    merged > 0 ? el("p", { class: "note" }, `To keep this page small, GPU rows shorter than ${span(merged)} are drawn together ` +
      "and host rows shorter than that are left out; --trace-out writes all of them.") : null));
}
