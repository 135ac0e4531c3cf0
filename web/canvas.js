// --- Canvases: what is too much for elements, and strips of colour over time. ------------------------
import { percent } from "./numbers.js";
import { colourOf, drawnTo, el, hideTip, showTip } from "./page.js";

/** @typedef {import("./page.js").Content} Content */

/** A canvas in the pixels of the screen, cleared, with one unit a CSS pixel. */
export function freshContext(/** @type {HTMLCanvasElement} */ canvas, /** @type {number} */ width, /** @type {number} */ height) {
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  g.scale(scale, scale);
  return g;
}

/** Values between 0 and 1 over time as a strip of colour, strongest at 1. */
function strip(/** @type {number[]} */ values, /** @type {(i: number) => Content[]} */ describe) {
  const canvas = /** @type {HTMLCanvasElement} */ (el("canvas"));
  drawnTo(canvas, (width) => {
    const height = canvas.clientHeight, g = freshContext(canvas, width, height);
    const [full, none] = [colourOf("communication"), colourOf("idle")];
    values.forEach((value, i) => {
      g.globalAlpha = value > 0 ? 0.12 + 0.88 * Math.min(1, value) : 0.35;
      g.fillStyle = value > 0 ? full : none;
      const from = Math.round((i / values.length) * width), to = Math.round(((i + 1) / values.length) * width);
      g.fillRect(from, 0, to - from, height);
    });
  });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("mousemove", (event) => {
    const i = Math.min(values.length - 1, Math.floor((event.offsetX / canvas.clientWidth) * values.length));
    showTip(event, ...describe(i));
  });
  return canvas;
}

/**
 * Strips under one another with their names, and their means at the right.
 * @param { { name: string, values: number[], mean: number }[]} rows
 * @param {(row: number, i: number) => Content[]} describe
 */
export function strips(rows, describe) {
  return el("div", { class: "curves strips" }, ...rows.flatMap((row, r) => [el("div", { class: "name" }, row.name),
    strip(row.values, (i) => [el("b", {}, row.name), ...describe(r, i)]), el("div", { class: "total" }, percent(row.mean))]));
}
