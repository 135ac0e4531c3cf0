// --- What every page uses: elements, numbers as text, the tooltip, light and dark. ----------------

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function section(title, lead, ...children) {
  return el("section", { class: "card" }, el("h2", {}, title), el("p", { class: "lead" }, lead), ...children);
}

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

function ms(seconds) {
  const value = seconds * 1e3;
  return value.toFixed(value >= 100 ? 1 : value >= 1 ? 2 : 3) + " ms";
}
function span(ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  if (size >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
  if (size >= 1e3) return (ns / 1e3).toFixed(2) + " µs";
  return Math.round(ns) + " ns";
}
const percent = (ratio, digits = 1) => (ratio * 100).toFixed(digits) + " %";
function signed(ratio) {
  if (ratio === null || ratio === undefined) return "–";
  const value = ratio * 100;
  return (value >= 0.005 ? "+" : value <= -0.005 ? "−" : "±") + Math.abs(value).toFixed(2) + " %";
}
const grouped = (count) => count.toLocaleString("en-US");
function bytes(count) {
  if (!count) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (count >= 999.5 && unit < units.length - 1) { count /= 1000; unit++; }
  return (unit === 0 ? count : count.toFixed(1)) + " " + units[unit];
}
const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

// --- Tooltip. -----------------------------------------------------------------------------------

const tip = document.getElementById("tip");
function showTip(event, ...content) {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = event.clientX + 16 + box.width < innerWidth;
  const below = event.clientY + 18 + box.height < innerHeight;
  tip.style.left = Math.max(4, right ? event.clientX + 16 : event.clientX - 16 - box.width) + "px";
  tip.style.top = Math.max(4, below ? event.clientY + 18 : event.clientY - 14 - box.height) + "px";
}
const hideTip = () => { tip.hidden = true; };
function tipRow(label, value) {
  return el("div", { class: "row" }, el("span", {}, label), el("span", {}, value));
}
function withTip(node, ...content) {
  node.addEventListener("mousemove", (event) => showTip(event, ...content));
  node.addEventListener("mouseleave", hideTip);
  return node;
}

// --- Light and dark. ----------------------------------------------------------------------------

const redrawers = [];    // called when size or theme change
const afterLayout = [];  // called once, when canvases have a size

function isDark() { return document.documentElement.dataset.theme === "dark"; }
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  redrawers.forEach((draw) => draw());
}
const themeButton = () => el("button", { id: "theme", onclick: () => setTheme(isDark() ? "light" : "dark") }, "light / dark");

function legend(entries) {
  return el("div", { class: "legend" }, ...entries.map(([title, colour]) =>
    el("span", {}, el("i", { class: "swatch", style: `background:var(--${colour})` }), title)));
}

function tile(number, label) {
  return el("div", { class: "tile" }, el("div", { class: "number" }, number), el("div", { class: "label" }, label));
}

/** Rows of texts or elements; the first `left` columns are words, the others numbers. */
function tableOf(titles, rows, left = 1) {
  const cell = (tag, text, i) => el(tag, i < left ? { class: "left" } : {}, text);
  return el("div", { class: "scroll" }, el("table", {}, el("tr", {}, ...titles.map((t, i) => cell("th", t, i))),
    ...rows.map((row) => el("tr", {}, ...row.map((t, i) => cell("td", t, i))))));
}

/** Puts the parts, those that are not null, on the page. */
function showPage(...parts) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const asked = new URLSearchParams(location.hash.slice(1)).get("theme");
  document.documentElement.dataset.theme = asked || (dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  document.getElementById("main").append(...parts.filter((part) => part !== null),
    el("footer", {}, "Made by Flopcast. Everything on this page is in this file; --json prints the same numbers for programs."));
  afterLayout.forEach((run) => run());
  addEventListener("resize", () => redrawers.forEach((draw) => draw()));
}
