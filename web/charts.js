// --- Line charts: SVG, one or both axes logarithmic, values under the pointer. --------------------

const SERIES_COLOURS = ["compute", "communication", "copy", "overlapped", "accent", "good", "sync", "launch", "operator", "lag"];
const CHART = { width: 1180, height: 380, left: 76, right: 16, top: 12, bottom: 46 };

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

/** 1, 2, 5 times powers of ten (linear), or powers of `base` (logarithmic), about `most` of them. */
function ticksOf(axis, most) {
  const { from, to } = axis;
  const ticks = [];
  if (axis.log) {
    const base = axis.base || 10;
    const first = Math.ceil(Math.log(from) / Math.log(base) - 1e-9), last = Math.floor(Math.log(to) / Math.log(base) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / most));
    for (let i = first; i <= last; i += every) ticks.push(base ** i);
    return ticks;
  }
  const rough = (to - from) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  for (let v = Math.ceil(from / step) * step; v <= to + step * 1e-9; v += step) ticks.push(v);
  return ticks;
}

function scaleOf(axis, start, end) {
  const at = axis.log ? Math.log : (v) => v;
  const low = at(axis.from), high = at(axis.to);
  return (v) => start + ((at(v) - low) / (high - low || 1)) * (end - start);
}

/** Fills in the ends of an axis from the data: [0, most] where linear, [least, most] otherwise. */
function fitted(axis, values) {
  const usable = axis.log ? values.filter((v) => v > 0) : values;
  const least = Math.min(...usable), most = Math.max(...usable);
  return { from: axis.log ? least : Math.min(0, least), to: axis.log ? most : most * 1.04 || 1, ...axis };
}

function gridLines(x, y, xs, ys, left = CHART.left) {
  const lines = [];
  for (const v of ticksOf(y, 6)) {
    lines.push(svg("line", { x1: left, x2: CHART.width - CHART.right, y1: ys(v), y2: ys(v), class: "grid" }),
      svg("text", { x: left - 8, y: ys(v) + 4, class: "tick end" }, y.format(v)));
  }
  for (const v of ticksOf(x, 11)) {
    lines.push(svg("line", { x1: xs(v), x2: xs(v), y1: CHART.top, y2: CHART.height - CHART.bottom, class: "grid" }),
      svg("text", { x: xs(v), y: CHART.height - CHART.bottom + 18, class: "tick middle" }, x.format(v)));
  }
  lines.push(svg("text", { x: (left + CHART.width) / 2, y: CHART.height - 8, class: "tick middle" }, x.title));
  return lines;
}

/**
 * @param series [{ name, points: [[x, y], ...], bold }], each sorted by x
 * @param x,y { title, format, log, base }
 */
function lineChart(series, x, y) {
  x = fitted(x, series.flatMap((s) => s.points.map((p) => p[0])));
  y = fitted(y, series.flatMap((s) => s.points.map((p) => p[1])));
  const xs = scaleOf(x, CHART.left, CHART.width - CHART.right);
  const ys = scaleOf(y, CHART.height - CHART.bottom, CHART.top);
  const root = svg("svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, class: "chart", role: "img", "aria-label": y.title },
    ...gridLines(x, y, xs, ys));
  series.forEach((s, i) => {
    const points = s.points.map(([a, b]) => `${xs(a).toFixed(1)},${ys(b).toFixed(1)}`).join(" ");
    root.append(svg("polyline", { points, class: s.bold ? "line bold" : "line",
      style: `stroke:var(--${SERIES_COLOURS[i % SERIES_COLOURS.length]})` }));
  });
  const marker = svg("line", { y1: CHART.top, y2: CHART.height - CHART.bottom, class: "marker", visibility: "hidden" });
  root.append(marker);
  root.addEventListener("mouseleave", () => { hideTip(); marker.setAttribute("visibility", "hidden"); });
  root.addEventListener("mousemove", (event) => {
    const box = root.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * CHART.width;
    const near = (s) => s.points.reduce((best, p) => Math.abs(xs(p[0]) - at) < Math.abs(xs(best[0]) - at) ? p : best, s.points[0]);
    const nearest = near(series[0])[0];
    marker.setAttribute("x1", xs(nearest));
    marker.setAttribute("x2", xs(nearest));
    marker.setAttribute("visibility", "visible");
    showTip(event, el("b", {}, x.format(nearest)), ...series.map((s) => tipRow(s.name, y.format(near(s)[1]))));
  });
  return el("div", {}, legend(series.map((s, i) => [s.name, SERIES_COLOURS[i % SERIES_COLOURS.length]])), root);
}

/** Rows of numbers between 0 and 1 as a strip of colours each, darkest at 1. */
function heatMap(rows, names, describe) {
  const canvas = el("canvas", { class: "heat" });
  const height = 14;
  const draw = () => {
    const width = canvas.clientWidth, scale = devicePixelRatio || 1;
    canvas.style.height = rows.length * height + "px";
    canvas.width = width * scale;
    canvas.height = rows.length * height * scale;
    const g = canvas.getContext("2d");
    g.scale(scale, scale);
    rows.forEach((row, r) => row.forEach((value, i) => {
      g.globalAlpha = 0.06 + 0.94 * Math.min(1, value);
      g.fillStyle = colourOf(value > 0 ? "communication" : "idle");
      g.fillRect((i / row.length) * width, r * height, width / row.length + 0.5, height - 2);
    }));
  };
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("mousemove", (event) => {
    const r = Math.min(rows.length - 1, Math.floor(event.offsetY / height));
    const i = Math.min(rows[r].length - 1, Math.floor((event.offsetX / canvas.clientWidth) * rows[r].length));
    showTip(event, el("b", {}, names[r]), ...describe(r, i));
  });
  redrawers.push(draw);
  afterLayout.push(draw);
  return canvas;
}
