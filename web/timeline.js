// --- Timeline, second half: drawing, zooming, hovering. -------------------------------------------

class Timeline {
  constructor(canvas) {
    this.canvas = canvas;
    this.view = [0, Math.max(1, data.length_ns)];
    this.trace = 0;  // -1: all ranks
    this.showPath = true;
    this.hovered = null;
    this.choose(0);
    this.listen();
  }

  choose(trace) {
    this.trace = trace;
    const top = AXIS + STRIP;
    this.layout = trace < 0 ? bandsOfAll(top) : bandsOfRank(trace, top);
    this.canvas.style.height = this.layout.bottom + "px";
    this.draw();
  }

  // Time and pixels.
  get width() { return this.canvas.clientWidth - GUTTER; }
  get perPixel() { return (this.view[1] - this.view[0]) / Math.max(1, this.width); }
  x(time) { return GUTTER + (time - this.view[0]) / this.perPixel; }
  time(x) { return this.view[0] + (x - GUTTER) * this.perPixel; }

  show(from, to) {
    const whole = Math.max(1, data.length_ns);
    const length = Math.min(Math.max(to - from, 200), whole * 1.04);
    const start = Math.min(Math.max((from + to - length) / 2, -whole * 0.02), whole * 1.02 - length);
    this.view = [start, start + length];
    this.draw();
  }
  zoom(factor, at = (this.view[0] + this.view[1]) / 2) {
    this.show(at - (at - this.view[0]) * factor, at + (this.view[1] - at) * factor);
  }
  pan(time) { this.show(this.view[0] + time, this.view[1] + time); }

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
    const scale = devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.layout.bottom;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    const g = this.g = this.canvas.getContext("2d");
    g.scale(scale, scale);
    this.colours = CLASSES.map(colourOf);
    this.waitColour = colourOf("wait");
    this.ink = colourOf("ink");
    this.soft = colourOf("soft");
    this.onColour = colourOf("ink-on-colour");
    g.fillStyle = colourOf("card");
    g.fillRect(0, 0, width, height);
    this.paintAxis(height);
    g.save();
    g.beginPath();
    g.rect(GUTTER, 0, width - GUTTER, height);
    g.clip();
    for (const b of this.layout.bands) this.paintBand(b);
    this.paintStrip();
    if (this.showPath) this.paintPath();
    if (this.hovered) this.paintHovered();
    g.restore();
    this.paintLabels();
  }

  paintAxis(height) {
    const g = this.g, step = tickStep(this.perPixel);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    g.lineWidth = 1;
    for (let t = Math.ceil(this.view[0] / step) * step; t <= this.view[1]; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      g.strokeStyle = colourOf("line");
      g.beginPath();
      g.moveTo(x, AXIS - 12);
      g.lineTo(x, height);
      g.stroke();
      g.fillStyle = this.soft;
      g.textAlign = "center";
      g.fillText(span(t), x, AXIS - 8);
    }
    const rank = data.ranks[Math.max(0, this.trace)];
    for (const [name, start, end] of rank.steps) {
      const from = Math.max(this.x(start), GUTTER), to = this.x(end);
      if (to < GUTTER || from > GUTTER + this.width) continue;
      g.fillStyle = colourOf("hover");
      g.fillRect(from + 1, 2, to - from - 2, 15);
      g.fillStyle = this.soft;
      g.textAlign = "left";
      if (to - from > 40) g.fillText(this.fit(name, to - from - 10), from + 6, 10);
    }
  }

  /** As much of a text as fits, in the font that is set. */
  fit(text, width) {
    const letter = this.g.measureText("n").width;
    const letters = Math.floor(width / letter);
    return text.length <= letters ? text : letters < 3 ? "" : text.slice(0, letters - 1) + "…";
  }

  paintLabels() {
    const g = this.g;
    g.textBaseline = "middle";
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = this.soft;
    g.textAlign = "left";
    g.fillText("critical path", 0, AXIS + 8);
    for (const label of this.layout.labels) {
      g.fillStyle = label.strong ? this.ink : this.soft;
      g.font = (label.strong ? "600 12px" : "10px") + " system-ui, sans-serif";
      g.textAlign = label.right ? "right" : "left";
      g.fillText(this.fit(label.text, label.right ? 60 : GUTTER - 70), label.right ? GUTTER - 8 : 0, label.y + 6);
    }
  }

  /** Rows narrower than a pixel that fall on one already painted are skipped: a pixel shows the longest. */
  paintBand(b) {
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
      g.fillStyle = this.colours[lane.kind[i]];
      g.fillRect(x0, y, wide > 3 ? wide - 0.6 : wide, height - 1);
      if (lane.wait[run][i] > 0) {
        g.fillStyle = this.waitColour;
        g.fillRect(x0, y, Math.min(wide, lane.wait[run][i] / perPixel), height - 1);
      }
      if (wide > 34 && height > 9) this.paintName(lane, i, x0, y, wide, height);
    }
  }

  paintName(lane, i, x0, y, wide, height) {
    const g = this.g, left = Math.max(x0, GUTTER);
    g.fillStyle = lane.kind[i] === ANNOTATION || lane.wait[0][i] > 0 ? this.ink : this.onColour;
    g.font = height > 12 ? "10.5px system-ui, sans-serif" : "9px system-ui, sans-serif";
    g.textAlign = "left";
    g.textBaseline = "middle";
    g.fillText(this.fit(data.names[lane.text[i]], x0 + wide - left - 6), left + 4, y + height / 2);
  }

  paintStrip() {
    const g = this.g;
    let painted = -1;
    for (let i = 0; i < path.start.length; i++) {
      if (path.end[i] < this.view[0] || path.start[i] > this.view[1]) continue;
      const x0 = this.x(path.start[i]), x1 = this.x(path.end[i]);
      if (x1 < painted + 0.4) continue;
      g.fillStyle = colourOfPath(path.kind[i]);
      g.fillRect(x0, AXIS + 2, Math.max(0.7, x1 - x0), 12);
      painted = x1;
    }
  }

  /** Marks the path's tasks in the replayed bands, and joins those that follow one another. */
  paintPath() {
    const g = this.g;
    g.strokeStyle = colourOf("accent");
    g.lineWidth = 1.3;
    let last = null, painted = -9;
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
    const shown = new Map();
    for (const b of this.layout.bands) {
      if (b.run !== 1) continue;
      if (!shown.has(b.trace)) shown.set(b.trace, []);
      shown.get(b.trace).push(b);
    }
    const places = [];
    for (let i = 0; i < path.start.length; i++) {
      if (path.place[i] === NO_ROW || path.end[i] < this.view[0] || path.start[i] > this.view[1]) continue;
      let next = i + 1;  // the piece after this one that is a task
      while (next < path.place.length && path.place[next] === NO_ROW) next++;
      const bands = shown.get(path.trace[i]);
      const b = bands && bands.find((c) => path.place[i] >= c.lane.first && path.place[i] < c.lane.first + c.lane.n);
      if (!b) continue;
      const level = Math.min(b.lane.depth[path.place[i] - b.lane.first], b.levels - 1);
      places.push({ index: i, next, start: path.start[i], end: path.end[i], y: b.y + level * b.height });
    }
    return places;
  }

  paintHovered() {
    const g = this.g, { lane, trace, row } = this.hovered;
    g.strokeStyle = this.ink;
    g.lineWidth = 1.5;
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
  rowAt(x, y) {
    for (const b of this.layout.bands) {
      if (y < b.y || y >= b.y + b.levels * b.height) continue;
      const level = Math.floor((y - b.y) / b.height), slack = this.perPixel * 2;
      const time = this.time(x), starts = b.lane.start[b.run], lengths = b.lane.length[b.run];
      let best = null, distance = Infinity;
      for (let i = 0; i < b.lane.n; i++) {
        if (b.lane.depth[i] !== level && b.lane.levels > 1) continue;
        const off = Math.max(starts[i] - time, time - starts[i] - lengths[i], 0);
        if (off <= slack && (off < distance || (off === distance && lengths[i] < lengths[best]))) {
          best = i;
          distance = off;
        }
      }
      return best === null ? null : { lane: b.lane, trace: b.trace, row: best };
    }
    return null;
  }

  tell(event, { lane, trace, row }) {
    const kind = lane.kind[row], moved = lane.start[1][row] - lane.start[0][row];
    const lines = [el("b", {}, data.names[lane.text[row]]),
      el("div", {}, `${CLASS_TITLES[kind]} · rank ${data.ranks[trace].rank} · ${lane.name}`)];
    for (const run of [0, 1]) {
      lines.push(tipRow(RUNS[run], `${span(lane.start[run][row])}, lasts ${span(lane.length[run][row])}`));
      if (kind === COMMUNICATION && lane.wait[run][row] > 0) lines.push(tipRow("  of it waiting", span(lane.wait[run][row])));
    }
    if (moved !== 0) lines.push(tipRow("replay starts", `${span(Math.abs(moved))} ${moved > 0 ? "later" : "earlier"}`));
    showTip(event, ...lines);
  }

  listen() {
    const canvas = this.canvas;
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
      const changed = (found && found.row) !== (this.hovered && this.hovered.row) || (found && found.lane) !== (this.hovered && this.hovered.lane);
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
      const action = { ArrowLeft: () => this.pan(-length / 5), ArrowRight: () => this.pan(length / 5),
        "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1.7), "0": () => this.show(0, data.length_ns) }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }
}

const pathColours = new Map();
function colourOfPath(kind) {
  if (!pathColours.has(kind)) pathColours.set(kind, colourOf(PATH_COLOURS[data.path.classes[kind]] || "merged"));
  return pathColours.get(kind);
}

/** A view named in the address: #rank=3&from_ms=10&to_ms=20, rank=all for all. */
function askedView() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const place = asked.get("rank") === "all" ? -1 : data.ranks.findIndex((r) => String(r.rank) === asked.get("rank"));
  const named = asked.get("rank") === "all" || place >= 0;
  return { rank: named ? place : null, from: Number(asked.get("from_ms")) * 1e6, to: Number(asked.get("to_ms")) * 1e6 };
}

function timelineSection() {
  const canvas = el("canvas", { tabindex: "0", "aria-label": "Timeline of the recorded and the replayed run" });
  const place = el("div", { id: "timeline" }, canvas);
  let timeline = null;
  const ranks = el("select", { onchange: (event) => timeline.choose(Number(event.target.value)) },
    ...data.ranks.map((rank, i) => el("option", { value: i }, `rank ${rank.rank}`)),
    data.ranks.length > 1 ? el("option", { value: -1 }, "all ranks, GPU only") : null);
  const steps = el("select", { onchange: (event) => {
    const step = data.ranks[Math.max(0, timeline.trace)].steps[event.target.value];
    if (step) timeline.show(Math.min(step[1], step[3]), Math.max(step[2], step[4]));
    else timeline.show(0, data.length_ns);
  } }, el("option", { value: "" }, "whole run"),
    ...data.ranks[0].steps.map(([name], i) => el("option", { value: i }, name)));
  const pathButton = el("button", { "aria-pressed": "true", onclick: () => {
    timeline.showPath = !timeline.showPath;
    pathButton.setAttribute("aria-pressed", String(timeline.showPath));
    timeline.draw();
  } }, "critical path");
  const button = (title, label, action) => el("button", { title: label, "aria-label": label, onclick: () => action(timeline) }, title);
  afterLayout.push(() => {
    timeline = new Timeline(canvas);
    const asked = askedView();
    if (asked.rank !== null) {
      ranks.value = String(asked.rank);
      timeline.choose(asked.rank);
    }
    if (asked.to > asked.from) timeline.show(asked.from, asked.to);
  });
  redrawers.push(() => { pathColours.clear(); timeline.draw(); });
  const merged = Math.max(...data.ranks.map((rank) => rank.merged_below_ns));
  return section("Timeline",
    "Every stream and thread twice: as recorded above, as replayed below. Hover a task to see both. The line is the " +
    "critical path through the replayed run; the strip at the top shows what it runs through.",
    el("div", { class: "controls" }, ranks, steps, el("span", { class: "gap" }), button("+", "zoom in", (t) => t.zoom(0.5)),
      button("−", "zoom out", (t) => t.zoom(2)), button("◀", "earlier", (t) => t.pan(-0.3 * (t.view[1] - t.view[0]))),
      button("▶", "later", (t) => t.pan(0.3 * (t.view[1] - t.view[0]))), pathButton,
      el("span", {}, "drag to move, Ctrl + wheel or double-click to zoom")),
    legend([["compute", "compute"], ["communication", "communication"], ["waiting in it", "wait"], ["copy or set", "copy"],
      ["operator", "operator"], ["launch", "launch"], ["waits for the GPU", "sync"], ["other host call", "call"],
      ["critical path", "accent"]]),
    place,
    merged > 0 ? el("p", { class: "note" }, `To keep this page small, GPU rows shorter than ${span(merged)} are drawn together ` +
      "and host rows shorter than that are left out; --trace-out writes all of them.") : null);
}
