// --- Utilisation: one small curve per rank, recorded as an area, replayed as a line. --------------
import { freshContext } from "./canvas.js";
import { bytesOf, data } from "./decode.js";
import { percent, span } from "./numbers.js";
import { colourOf, drawnTo, el, hideTip, section, showTip, tipRow, wide } from "./page.js";
import { report } from "./replayed.js";
import { MOST_RANKS, leftOut } from "./tables.js";

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Uint8Array} recorded
 * @param {Uint8Array} replayed
 * @param {string} colour
 */
function drawCurve(canvas, recorded, replayed, colour) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const g = freshContext(canvas, width, height);
  const x = (/** @type {number} */ i, /** @type {number} */ n) => (n < 2 ? 0 : (i / n) * width);
  const y = (/** @type {number} */ v) => height - 1 - (v / 200) * (height - 3);
  const trace = (/** @type {Uint8Array} */ values) => {
    for (let i = 0; i < values.length; i++) {
      g.lineTo(x(i, values.length), y(values[i]));
      g.lineTo(x(i + 1, values.length), y(values[i]));
    }
  };
  g.fillStyle = colourOf("hover");
  g.fillRect(0, 0, width, height);
  g.beginPath();
  g.moveTo(0, height);
  trace(recorded);
  g.lineTo(width, height);
  g.fillStyle = colourOf("idle");
  g.fill();
  g.beginPath();
  trace(replayed);
  g.strokeStyle = colourOf(colour);
  g.lineWidth = 1.4;
  g.stroke();
}

/** @typedef {"sms" | "active"} Curve */

/** Over the rank's own window, as everywhere: not over the page's, which all ranks share. */
function means(/** @type {number} */ rank, /** @type {Curve} */ which) {
  const window = report.ranks.find((each) => each.rank === rank)?.window;
  if (!window) return "";
  const { sm_time_used: sms, breakdown_s: parts } = window;
  const busy = (/** @type {Breakdown} */ b, /** @type {number} */ whole) => (whole > 0 ? 1 - b.idle / whole : 0);
  const [recorded, replayed] = which === "sms" ? [sms.measured || 0, sms.replayed || 0]
    : [busy(parts.measured, window.measured_s), busy(parts.replayed, window.replayed_s)];
  return `${percent(recorded)} › ${percent(replayed)}`;
}

function curveRow(/** @type {RowsRank} */ rank, /** @type {Curve} */ which) {
  const [recorded, replayed] = rank.curve[which].map(bytesOf);
  const canvas = /** @type {HTMLCanvasElement} */ (el("canvas"));
  const interval = rank.curve.interval_ns;
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("mousemove", (event) => {
    const i = Math.min(recorded.length - 1, Math.floor((event.offsetX / canvas.clientWidth) * recorded.length));
    if (i < 0) return;
    showTip(event, el("b", {}, `rank ${rank.rank} at ${span(i * interval)}`),
      tipRow("recorded", percent(recorded[i] / 200)), tipRow("replayed", percent(replayed[i] / 200)));
  });
  drawnTo(canvas, () => drawCurve(canvas, recorded, replayed, which === "sms" ? "compute" : "copy"));
  return [el("div", { class: "name" }, `rank ${rank.rank}`), canvas,
    el("div", { class: "total" }, means(rank.rank, which))];
}

export function curvesSection() {
  const ranks = data.ranks.slice(0, MOST_RANKS).filter((rank) => rank.curve.active[0] !== "");
  if (ranks.length === 0) return null;
  const knowsSms = ranks.some((rank) => rank.curve.sms[0] !== "");
  const grid = el("div", { class: "curves" });
  /** @type {[string, Curve][]} */
  const choices = knowsSms ? [["SMs used", "sms"], ["Any stream active", "active"]] : [["Any stream active", "active"]];
  const buttons = choices.map(([title, which]) => ({ which, node: el("button", { onclick: () => show(which) }, title) }));
  const show = (/** @type {Curve} */ which) => {
    for (const b of buttons) b.node.setAttribute("aria-pressed", String(b.which === which));
    grid.replaceChildren(...ranks.filter((rank) => rank.curve[which][0] !== "").flatMap((rank) => curveRow(rank, which)));
  };
  show(choices[0][1]);
  return wide(section("How busy the GPUs are",
    "Share of each interval in which any stream was at work, or of all SMs that kernels had blocks for. Grey area: " +
    `recorded; line: replayed; at the right the means over each rank's own time. One point is ${span(ranks[0].curve.interval_ns)}.`,
    el("div", { class: "controls" }, ...buttons.map((b) => b.node)), grid, leftOut()));
}
