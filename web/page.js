// --- What every page uses: elements, head, sections, the tooltip, light and dark. --------------------
import { percent } from "./numbers.js";

/** @typedef {Node | string} Content */

/**
 * @param {string} tag
 * @param {Record<string, any>} attributes  `on...` is a listener; undefined and false are left out
 * @param {(Content | null | undefined)[]} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * @param {string} title
 * @param {string} lead
 * @param {(Content | null | undefined)[]} children
 */
export function section(title, lead, ...children) {
  return el("section", { class: "card" }, el("h2", {}, title), el("p", { class: "lead" }, lead), ...children);
}

/** A section that takes the whole width where two would stand side by side. */
export function wide(/** @type {HTMLElement} */ node) {
  node.classList.add("wide");
  return node;
}

/** A high section that leaves the other side to those after it. */
export function tall(/** @type {HTMLElement} */ node) {
  node.classList.add("tall");
  return node;
}

/** The value of a colour of report.css, as the theme has it now. */
export const colourOf = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/** A JSON document of the page. */
export function documentOf(id = "data") {
  return JSON.parse(/** @type {HTMLElement} */ (document.getElementById(id)).textContent || "null");
}

/**
 * The head of a page: what it is about, in a line, and facts as chips.
 * @param {string} title
 * @param {string} facts
 * @param {[string, string | number][]} chips
 */
export function pageHead(title, facts, chips = []) {
  return el("div", { class: "head" },
    el("div", {}, el("h1", {}, title), el("p", { class: "facts" }, facts),
      chips.length === 0 ? null : el("div", { class: "chips" },
        ...chips.map(([name, value]) => el("span", { class: "chip" }, name + " ", el("b", {}, String(value)))))),
    el("button", { id: "theme", onclick: () => setTheme(isDark() ? "light" : "dark") }, "light / dark"));
}

/** The page's title without the name of the program. */
export const pageTitle = () => document.title.split(" · ")[0];

/** A text to take elsewhere, with a button that does it. */
export function copyable(/** @type {string} */ text, /** @type {string} */ what) {
  const button = el("button", { class: "copy", "aria-label": `Copy ${what}` }, "Copy");
  const code = el("code", {}, text);
  button.addEventListener("click", async () => {
    button.textContent = (await copied(text, code)) ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  return el("div", { class: "copyable" }, code, button);
}

/** Whether the clipboard has the text now; if not, the text is selected. */
async function copied(/** @type {string} */ text, /** @type {HTMLElement} */ where) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {  // pages from a disk have no clipboard everywhere
    getSelection()?.selectAllChildren(where);
    return false;
  }
}

// --- Tooltip. -----------------------------------------------------------------------------------

const tip = /** @type {HTMLElement} */ (document.getElementById("tip"));

export function showTip(/** @type {MouseEvent} */ event, /** @type {Content[]} */ ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = event.clientX + 16 + box.width < innerWidth;
  const below = event.clientY + 18 + box.height < innerHeight;
  tip.style.left = Math.max(4, right ? event.clientX + 16 : event.clientX - 16 - box.width) + "px";
  tip.style.top = Math.max(4, below ? event.clientY + 18 : event.clientY - 14 - box.height) + "px";
}

export const hideTip = () => { tip.hidden = true; };

export function tipRow(/** @type {string} */ label, /** @type {string} */ value) {
  return el("div", { class: "row" }, el("span", {}, label), el("span", {}, value));
}

/**
 * @template {Element} T
 * @param {T} node
 * @param {Content[]} content
 */
export function withTip(node, ...content) {
  node.addEventListener("mousemove", (event) => showTip(/** @type {MouseEvent} */ (event), ...content));
  node.addEventListener("mouseleave", hideTip);
  return node;
}

// --- Light and dark, wide and narrow. -------------------------------------------------------------

/** @type {(() => void)[]} called when the theme changes */
export const redrawers = [];

function isDark() { return document.documentElement.dataset.theme === "dark"; }
function setTheme(/** @type {string} */ theme) {
  document.documentElement.dataset.theme = theme;
  for (const draw of redrawers) draw();
}

/** Calls `draw` with the width of `place` when it is first laid out and whenever that changes. */
export function drawnTo(/** @type {HTMLElement} */ place, /** @type {(width: number) => void} */ draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (place.clientWidth === width || place.clientWidth === 0) return;
    width = place.clientWidth;
    draw(width);
  }).observe(place);
  redrawers.push(() => { if (width > 0) draw(width); });
}

// --- Small pieces. ----------------------------------------------------------------------------------

export function legend(/** @type {string[][]} */ entries) {
  return el("div", { class: "legend" }, ...entries.map(([title, colour]) =>
    el("span", {}, el("i", { class: "swatch", style: `background:var(--${colour})` }), title)));
}

export function tile(/** @type {string} */ number, /** @type {string} */ label) {
  return el("div", { class: "tile" }, el("div", { class: "number" }, number), el("div", { class: "label" }, label));
}

export function tiles(/** @type {(HTMLElement | null)[]} */ ...list) {
  return el("div", { class: "tiles" }, ...list);
}

/** "10–90 %: 8.6 s to 10.5 s" */
export const bandText = (/** @type {string} */ low, /** @type {string} */ high) => `10–90 %: ${low} to ${high}`;

/** "1.5 GB, 37.0 %" */
export const withShare = (/** @type {string} */ text, /** @type {number} */ share) => `${text}, ${percent(share)}`;

/** Puts the parts, those that are not null, on the page. */
export function showPage(/** @type {(HTMLElement | null)[]} */ ...parts) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const asked = new URLSearchParams(location.hash.slice(1)).get("theme");
  document.documentElement.dataset.theme = asked || (dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  main.append(...parts.filter((part) => part !== null),
    el("footer", {}, "Everything on this page is in this file; `flopcast schema` says what each number of its JSON means."));
  reachScrolled(main);
}

/** What scrolls sideways can be reached and scrolled with the keyboard; what fits needs no stop there. */
function reachScrolled(/** @type {HTMLElement} */ main) {
  const look = () => {
    for (const box of /** @type {NodeListOf<HTMLElement>} */ (main.querySelectorAll(".scroll"))) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0; else box.removeAttribute("tabindex");
    }
  };
  new ResizeObserver(look).observe(main);
}
