// --- What the pages of `flopcast map` and `flopcast explore` share: quantities as text. ------------

const secondsText = (s) => (s >= 1 ? Number(s.toPrecision(4)) + " s" : span(s * 1e9));
/** Four digits and an SI prefix: 307.2 TFLOP/s. */
function quantity(value, unit) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let i = 0;
  while (Math.abs(value) >= 999.95 && i < prefixes.length - 1) { value /= 1000; i++; }
  return `${Number(value.toPrecision(4))} ${prefixes[i]}${unit}`;
}
const usd = (v) => (v > 0 ? grouped(Math.round(v)) + " USD" : "–");
const watts = (v) => (v > 0 ? quantity(v, "W") : "–");
