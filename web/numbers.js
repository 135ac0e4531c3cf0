// --- Quantities as text: the same on every page. ---------------------------------------------------

/** Seconds with three decimals of the unit that suits them. */
export function span(/** @type {number} */ ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  if (size >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
  if (size >= 1e3) return (ns / 1e3).toFixed(2) + " µs";
  return Math.round(ns) + " ns";
}

/** Milliseconds, whatever the size: for columns that are compared. */
export function ms(/** @type {number} */ s) {
  const value = s * 1e3;
  return value.toFixed(value >= 100 ? 1 : value >= 1 ? 2 : 3) + " ms";
}

/** Four digits and the unit of time that suits them. */
export function seconds(/** @type {number} */ s) {
  if (s >= 9999.5) return grouped(Math.round(s)) + " s";
  if (s >= 1) return s.toPrecision(4) + " s";
  if (s >= 1e-3) return (s * 1e3).toPrecision(4) + " ms";
  return s >= 1e-6 ? (s * 1e6).toPrecision(4) + " µs" : Math.round(s * 1e9) + " ns";
}

export const percent = (/** @type {number} */ ratio, digits = 1) => (ratio * 100).toFixed(digits) + " %";

/** A change in percent with its sign. */
export function signed(/** @type {number | null | undefined} */ ratio) {
  if (ratio === null || ratio === undefined) return "–";
  const value = ratio * 100;
  return (value >= 0.005 ? "+" : value <= -0.005 ? "−" : "±") + Math.abs(value).toFixed(2) + " %";
}

export const grouped = (/** @type {number} */ count) => count.toLocaleString("en-US");

/** Four digits, in groups of three. */
export const rounded = (/** @type {number} */ value) => value.toLocaleString("en-US", { maximumSignificantDigits: 4 });

/** "1 rank", "8 ranks". */
export const counted = (/** @type {number} */ count, /** @type {string} */ noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

export function bytes(/** @type {number} */ count) {
  if (!count) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let value = count, unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit++; }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export const gigabytes = (/** @type {number} */ count) => (count / 1e9).toFixed(1) + " GB";

/** Four digits and an SI prefix: 307.2 TFLOP/s. */
export function quantity(/** @type {number} */ amount, /** @type {string} */ unit) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let value = amount, i = 0;
  while (Math.abs(value) >= 999.95 && i < prefixes.length - 1) { value /= 1000; i++; }
  return `${Number(value.toPrecision(4))} ${prefixes[i]}${unit}`.trimEnd();
}

/** Bytes a second. */
export function rate(/** @type {number} */ v) {
  if (v >= 1e12) return (v / 1e12).toFixed(2) + " TB/s";
  if (v >= 1e9) return (v / 1e9).toFixed(v >= 1e11 ? 0 : 1) + " GB/s";
  return v >= 1e6 ? (v / 1e6).toFixed(0) + " MB/s" : (v / 1e3).toFixed(0) + " kB/s";
}

export const usd = (/** @type {number} */ v) => (v > 0 ? grouped(Math.round(v)) + " USD" : "–");
export const watts = (/** @type {number} */ v) => (v > 0 ? quantity(v, "W") : "–");

/** "100.000 ms" as "100 ms": round numbers need no zeros. */
export const tidy = (/** @type {string} */ text) => text.replace(/(\d)\.0+(?!\d)/, "$1").replace(/(\.\d*?[1-9])0+(?!\d)/, "$1");
