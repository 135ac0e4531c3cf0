// --- The foot of every page: how it came about, and what it holds as files for programs. ---------------
import { copyable, el } from "./page.js";

/** @type { { flopcast: string, command: string, date: string, inputs: string[] }} */
const origin = JSON.parse(document.getElementById("origin")?.textContent || "null");
const kind = (document.title.split(" · ")[1] || "Flopcast").replace("Flopcast ", "");

function save(/** @type {string} */ name, /** @type {string} */ text, /** @type {string} */ type) {
  const link = /** @type {HTMLAnchorElement} */ (el("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) }));
  link.click();
  URL.revokeObjectURL(link.href);
}

/** A cell as RFC 4180 has it; what it shows in a second line stands behind a blank. */
function csvCell(/** @type {Element} */ cell) {
  const text = [...cell.childNodes].map((node) => (node.textContent || "").trim()).filter((part) => part !== "").join(" ");
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvOf = (/** @type {HTMLTableElement} */ table) => [...table.rows].map((row) => [...row.cells].map(csvCell).join(",") + "\r\n").join("");

/** What a table is called: the heading of its section. */
const nameOf = (/** @type {Element} */ table) => (table.closest("section")?.querySelector("h2")?.textContent || kind).toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

for (const table of document.querySelectorAll("main table")) {
  const button = el("button", { class: "save", "aria-label": "Save this table as CSV",
    onclick: () => save(`${nameOf(table)}.csv`, csvOf(/** @type {HTMLTableElement} */ (table)), "text/csv") }, "CSV");
  (table.closest(".scroll") || table).after(button);
}

function facts() {
  const words = [`Made by Flopcast ${origin.flopcast}${origin.date === "" ? "" : ` on ${origin.date}`}.`];
  if (origin.inputs.length > 0) words.push(`It read ${origin.inputs.join(", ")}.`);
  return words.join(" ");
}

/** The answer; rows of a timeline are a picture's. */
const data = [...document.querySelectorAll('script[type="application/json"]')].filter((node) => !["origin", "rows"].includes(node.id)).pop();
document.querySelector("footer")?.append(
  el("p", {}, facts(), " ", data === undefined ? null : el("button", { class: "save",
    onclick: () => save(`${kind}.json`, data.textContent || "", "application/json") }, "JSON")),
  ...(origin.command === "" ? [] : [copyable(origin.command, "the command")]));
