// --- Bars: parts of a sum side by side, each as wide as its share. ------------------------------------
import { el, withTip } from "./page.js";

/** @typedef {import("./page.js").Content} Content */
/**
 * @typedef {object} Part
 * @property {number} value
 * @property {string} colour  of report.css; "" leaves a gap
 * @property {string} [label]  shown where it fits
 * @property {Content[]} [tip]
 */

/**
 * Parts side by side, which sum to `total`; `scale` is what the whole width stands for.
 * @param {Part[]} parts
 * @param {number} total
 * @param {number} scale
 * @param {"" | "thin" | "clear" | "thin clear"} look  clear: no ground under the part that is left
 */
export function stackedBar(parts, total, scale = total, look = "") {
  return el("div", { class: `bar ${look}`, "data-total": total, "data-scale": scale }, ...parts.filter((part) => part.value > 0).map((part) => {
    const paint = part.colour === "" ? "" : `;background:var(--${part.colour});color:var(--${part.colour}-ink)`;
    const node = el("div", { style: `width:${scale > 0 ? (part.value / scale) * 100 : 0}%${paint}`, "data-value": part.value },
      part.label ? el("span", {}, part.label) : null);
    return part.tip ? withTip(node, ...part.tip) : node;
  }));
}

/**
 * Rows of a name, a bar and the text at its end. Long names stand above their bars where room is short.
 * @param { { name: Content[], bar: HTMLElement, total: string, last?: boolean }[]} rows  last: of a group
 */
export function barRows(rows) {
  const cells = rows.flatMap((row) => [el("div", { class: "name" }, ...row.name), row.bar, el("div", { class: "total" }, row.total),
    row.last ? el("div", { class: "space" }) : null]);
  const longest = Math.max(0, ...cells.map((cell) => (cell?.className === "name" ? (cell.textContent || "").length : 0)));
  return el("div", { class: longest > 14 ? "bars long" : "bars" }, ...cells);
}
