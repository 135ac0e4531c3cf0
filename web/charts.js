// --- Charts: SVG in the width there is, one or both axes logarithmic, values under the pointer. -------
import { seriesColour } from "./colours.js";
import { tidy } from "./numbers.js";
import { colourOf, drawnTo, el, hideTip, legend, showTip, tipRow, withTip } from "./page.js";

/** @typedef {import("./page.js").Content} Content */
/**
 * @typedef {object} Axis
 * @property {string} title
 * @property {(value: number) => string} format
 * @property {boolean} [log]
 * @property {number} [base]  of a logarithmic axis
 * @property {number} [from]
 * @property {number} [to]
 */
/** @typedef {Axis & { from: number, to: number }} FittedAxis */
/** @typedef {(value: number) => number} Scale */
/** @typedef { { root: SVGElement, xs: Scale, ys: Scale, left: number, right: number, top: number, bottom: number }} Frame */
/** @typedef { { name: string, points: [number, number][], bold?: boolean }} Series */

const TEXT_PX = 12;
const ruler = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/** How wide a label is in the page's font. */
export function textWidth(/** @type {string} */ text, size = TEXT_PX) {
  ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {Content[]} children
 */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return /** @type {SVGElement} */ (node);
}

/** A place whose drawing is as wide as it, now and later. */
export function drawing(/** @type {(width: number) => Element} */ draw) {
  const place = el("div", { class: "drawing" });
  drawnTo(place, (width) => place.replaceChildren(draw(width)));
  return place;
}

export function canvasOf(/** @type {number} */ width, /** @type {number} */ height, /** @type {string} */ name) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart", role: "img", "aria-label": name });
}

// --- Axes. ------------------------------------------------------------------------------------------

/** 1, 2, 5 times powers of ten, about `most` of them. */
function roundTicks(/** @type {FittedAxis} */ { from, to }, /** @type {number} */ most) {
  const rough = (to - from) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) || 10 * power;
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) ticks.push(i * step || 0);  // no -0
  return ticks;
}

/** Round numbers along an axis: powers of its base where it is logarithmic and spans some. */
export function ticksOf(/** @type {FittedAxis} */ axis, /** @type {number} */ most) {
  if (!axis.log) return roundTicks(axis, most);
  const base = axis.base || 10, at = (/** @type {number} */ v) => Math.log(v) / Math.log(base);
  const first = Math.ceil(at(axis.from) - 1e-9), last = Math.floor(at(axis.to) + 1e-9);
  if (last - first < 2) return roundTicks(axis, most).filter((v) => v > 0);
  const every = Math.max(1, Math.ceil((last - first + 1) / most));
  const ticks = [];
  for (let i = first; i <= last; i += every) ticks.push(base ** i);
  return ticks;
}

/** @returns {Scale} from values of the axis to pixels between `start` and `end` */
export function scaleOf(/** @type { { from: number, to: number, log?: boolean }} */ axis, /** @type {number} */ start, /** @type {number} */ end) {
  const at = axis.log ? Math.log : (/** @type {number} */ v) => v;
  const low = at(axis.from), high = at(axis.to);
  return (v) => start + ((at(v) - low) / (high - low || 1)) * (end - start);
}

/** Fills in the ends of an axis from the data: [0, most] where linear, [least, most] otherwise. @returns {FittedAxis} */
export function fitted(/** @type {Axis} */ axis, /** @type {number[]} */ values) {
  const usable = axis.log ? values.filter((v) => v > 0) : values;
  const least = Math.min(...usable), most = Math.max(...usable);
  return { from: axis.log ? least : Math.min(0, least), to: axis.log ? most : most * 1.04 || 1, ...axis };
}

/** The ends of an axis with some room around the data. */
export function roomy(/** @type {FittedAxis} */ axis, factor = 1.03) {
  return { ...axis, from: axis.from / factor, to: axis.to * factor };
}

/** As many ticks as stand side by side with room between their labels. */
function ticksThatFit(/** @type {FittedAxis} */ axis, /** @type {Scale} */ scale) {
  const labelled = (/** @type {number} */ most) => ticksOf(axis, most).map((v) => ({ v, text: tidy(axis.format(v)) }));
  const fits = (/** @type { { v: number, text: string }[]} */ ticks) => ticks.every(({ v, text }, i) => i === 0 ||
    scale(v) - scale(ticks[i - 1].v) >= (textWidth(text) + textWidth(ticks[i - 1].text)) / 2 + 14);
  let most = 11, ticks = labelled(most);
  while (most > 1 && !fits(ticks)) ticks = labelled(--most);
  return fits(ticks) ? ticks : ticks.slice(0, 1);
}

/** A time axis of a drawing of one's own: lines from `top` to `bottom` and labels below, between `from` and `to` pixels. */
export function ruled(/** @type {SVGElement} */ root, /** @type {FittedAxis} */ axis, /** @type {Scale} */ xs,
  /** @type {number} */ top, /** @type {number} */ bottom, /** @type {number} */ end) {
  for (const { v, text } of ticksThatFit(axis, xs)) {
    root.append(svg("line", { x1: xs(v), x2: xs(v), y1: top, y2: bottom, class: "grid" }));
    // The last label may lean to the left rather than leave the drawing.
    const half = textWidth(text) / 2, x = Math.min(xs(v), end - half - 1);
    root.append(svg("text", { x, y: bottom + 18, class: "tick middle" }, text));
  }
}

/** Both axes with their grids in `width` pixels, and what places values between them. @returns {Frame} */
export function frameOf(/** @type {FittedAxis} */ x, /** @type {FittedAxis} */ y, /** @type {number} */ width, /** @type {string} */ name) {
  const height = Math.round(Math.max(250, Math.min(400, width * 0.45)));
  const rows = ticksOf(y, height < 300 ? 4 : 6).map((v) => ({ v, text: tidy(y.format(v)) }));
  const left = Math.ceil(Math.max(...rows.map((row) => textWidth(row.text)), 8)) + 12;
  const top = 26, bottom = height - 46, right = width - Math.max(16, Math.ceil(textWidth(tidy(x.format(x.to))) / 2));
  const xs = scaleOf(x, left, right), ys = scaleOf(y, bottom, top);
  const root = canvasOf(width, height, name);
  root.append(svg("text", { x: 0, y: 13, class: "tick" }, y.title));
  for (const { v, text } of rows) {
    root.append(svg("line", { x1: left, x2: right, y1: ys(v), y2: ys(v), class: "grid" }),
      svg("text", { x: left - 8, y: ys(v) + 4, class: "tick end" }, text));
  }
  ruled(root, x, xs, top, bottom, width);
  root.append(svg("text", { x: (left + right) / 2, y: height - 8, class: "tick middle" }, x.title));
  return { root, xs, ys, left, right, top, bottom };
}

export function polyline(/** @type {Frame} */ { xs, ys }, /** @type {[number, number][]} */ points, /** @type {string} */ colour, bold = false) {
  return svg("polyline", { points: points.map(([a, b]) => `${xs(a).toFixed(1)},${ys(b).toFixed(1)}`).join(" "),
    class: bold ? "line bold" : "line", style: `stroke:var(--${colour})` });
}

/** A point with its tooltip. */
export function dot(/** @type {Frame} */ { xs, ys }, /** @type {[number, number]} */ at, /** @type {number} */ size,
  /** @type {string} */ colour, /** @type {Content[]} */ ...told) {
  return withTip(svg("circle", { cx: xs(at[0]), cy: ys(at[1]), r: size, style: `fill:var(--${colour});stroke:var(--card)` }), ...told);
}

/** A limit across the drawing, with what it is. */
export function limitLine(/** @type {Frame} */ { ys, left, right }, /** @type {number} */ at, /** @type {string} */ words) {
  return svg("g", {}, svg("line", { x1: left, x2: right, y1: ys(at), y2: ys(at), class: "line", "stroke-dasharray": "5 4", style: "stroke:var(--bad)" }),
    svg("text", { x: right, y: ys(at) - 5, class: "tick end" }, words));
}

// --- Charts. ----------------------------------------------------------------------------------------

/** Lines over one axis, each sorted by it. */
export function lineChart(/** @type {Series[]} */ series, /** @type {Axis} */ x, /** @type {Axis} */ y) {
  const across = fitted(x, series.flatMap((s) => s.points.map((p) => p[0])));
  const up = fitted(y, series.flatMap((s) => s.points.map((p) => p[1])));
  return el("div", {}, legend(series.map((s, i) => [s.name, seriesColour(i)])), drawing((width) => {
    const frame = frameOf(across, up, width, y.title);
    frame.root.append(...series.map((s, i) => polyline(frame, s.points, seriesColour(i), s.bold)));
    followPointer(frame, series, x, y);
    return frame.root;
  }));
}

/** A line at the values nearest to the pointer, which are told beside it. */
function followPointer(/** @type {Frame} */ { root, xs, top, bottom }, /** @type {Series[]} */ series, /** @type {Axis} */ x, /** @type {Axis} */ y) {
  const marker = svg("line", { y1: top, y2: bottom, class: "marker", visibility: "hidden" });
  root.append(marker);
  root.addEventListener("mouseleave", () => { hideTip(); marker.setAttribute("visibility", "hidden"); });
  root.addEventListener("mousemove", (event) => {
    const at = event.clientX - root.getBoundingClientRect().left;
    const near = (/** @type {Series} */ s) =>
      s.points.reduce((best, p) => (Math.abs(xs(p[0]) - at) < Math.abs(xs(best[0]) - at) ? p : best), s.points[0]);
    const nearest = near(series[0])[0];
    marker.setAttribute("x1", String(xs(nearest)));
    marker.setAttribute("x2", String(xs(nearest)));
    marker.setAttribute("visibility", "visible");
    showTip(event, el("b", {}, x.format(nearest)), ...series.map((s) => tipRow(s.name, y.format(near(s)[1]))));
  });
}

// --- Colours that mix. --------------------------------------------------------------------------------

/** "#3b78c2" as three numbers. */
function channels(/** @type {string} */ colour) {
  return [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16));
}

/** A colour of report.css over the card, `strength` of it, and the ink that is read on that. */
export function mixed(/** @type {string} */ name, /** @type {number} */ strength) {
  const over = channels(colourOf(name)), under = channels(colourOf("card"));
  const mix = over.map((c, i) => Math.round(c * strength + under[i] * (1 - strength)));
  const light = mix.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];
  return { fill: `rgb(${mix.join(",")})`, ink: luminance > 0.183 ? "#000000" : "#ffffff" };
}
