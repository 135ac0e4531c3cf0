// --- Tables: fixed ones, and such as are sorted by a click and filtered by a word. --------------------
import { grouped } from "./numbers.js";
import { el } from "./page.js";

/** @typedef {import("./page.js").Content} Content */
/** A cell that is sorted by something else than its text. @typedef { { show: Content, by: number | string }} SortedCell */
/** @typedef {Content | SortedCell} Cell */
/** @typedef {"left" | "words" | "mono" | "wide" | "number"} ColumnKind  words wrap; mono are names from programs */
/** @typedef {[title: string, kind?: ColumnKind]} Column */

const CLASS_OF = { left: "left", words: "left words", mono: "left words mono", wide: "left wide", number: "" };
const FEW = 8;  // rows that need no filter

const shownOf = (/** @type {Cell} */ cell) => (typeof cell === "object" && "show" in cell ? cell.show : cell);
const textOf = (/** @type {Cell} */ cell) => { const shown = shownOf(cell); return typeof shown === "string" ? shown : shown.textContent || ""; };
/** What a filter looks into: also a name that is shown in brief. */
const searchedOf = (/** @type {Cell} */ cell) => (typeof cell === "object" && "show" in cell && typeof cell.by === "string" ? cell.by : textOf(cell));

/** What a cell is sorted by: what it says, or the number its text begins with. */
function keyOf(/** @type {Cell} */ cell) {
  if (typeof cell === "object" && "show" in cell) return cell.by;
  const text = textOf(cell), number = Number.parseFloat(text.replaceAll(",", "").replace("−", "-"));
  return Number.isNaN(number) ? text : number;
}

/** Numbers before texts, each in its order. */
function compare(/** @type {number | string} */ a, /** @type {number | string} */ b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === typeof b) return String(a).localeCompare(String(b), "en", { numeric: true });
  return typeof a === "number" ? -1 : 1;
}

/**
 * @param {Column[]} columns
 * @param {Cell[][]} rows
 */
export function tableOf(columns, rows) {
  const head = el("tr", {}, ...columns.map(([title, kind = "number"]) => el("th", { class: CLASS_OF[kind], scope: "col" }, title)));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows.map((row) => rowOf(columns, row)))));
}

function rowOf(/** @type {Column[]} */ columns, /** @type {Cell[]} */ row) {
  return el("tr", {}, ...row.map((cell, i) => el("td", { class: CLASS_OF[columns[i][1] || "number"] }, shownOf(cell))));
}

/**
 * A table whose columns with a title sort its rows, numbers from the largest, words from the first. With more
 * than a few rows a field keeps those that have a text.
 * @param {Column[]} columns
 * @param {Cell[][]} rows
 * @param {string} things  what a row is: "kernels"
 */
export function dataTable(columns, rows, things) {
  const entries = rows.map((row) => ({ row, node: rowOf(columns, row), text: row.map(searchedOf).join("\n").toLowerCase() }));
  const body = el("tbody", {}, ...entries.map((entry) => entry.node));
  const heads = columns.map(([title, kind = "number"], i) => el("th", { class: CLASS_OF[kind], scope: "col" },
    title === "" ? null : el("button", { class: "sort", onclick: () => sort(i) }, title)));
  const sort = (/** @type {number} */ column) => {
    const first = columns[column][1] === undefined || columns[column][1] === "number" ? "descending" : "ascending";
    const now = heads[column].getAttribute("aria-sort");
    const order = now === null ? first : now === "ascending" ? "descending" : "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    entries.sort((a, b) => sign * compare(keyOf(a.row[column]), keyOf(b.row[column])));
    body.append(...entries.map((entry) => entry.node));
  };
  const table = el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body));
  return el("div", {}, rows.length > FEW ? filterOf(entries, things) : null, table);
}

function filterOf(/** @type { { node: HTMLElement, text: string }[]} */ entries, /** @type {string} */ things) {
  const count = el("span", { role: "status" }, `${grouped(entries.length)} ${things}`);
  const field = /** @type {HTMLInputElement} */ (el("input", { type: "search", placeholder: `Filter ${things}`, "aria-label": `Filter ${things}` }));
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const entry of entries) entry.node.hidden = !entry.text.includes(wanted);
    const left = entries.filter((entry) => !entry.node.hidden).length;
    count.textContent = wanted === "" ? `${grouped(entries.length)} ${things}` : `${grouped(left)} of ${grouped(entries.length)} ${things}`;
  });
  return el("div", { class: "controls" }, field, count);
}
