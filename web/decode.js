// --- Data: the JSON document with the timelines of two runs, and the rows packed in it. ----------
// The packing is that of src/report/replay/page_rows.h.

import { documentOf } from "./page.js";

/** @type {RowsDocument} */
export const data = documentOf("rows");
/** Texts of rows; those that only the second run has come after all others. */
export const names = [...data.names, ...(data.names_after || [])];

export const CLASSES = ["compute", "communication", "copy", "operator", "launch", "sync", "call", "annotation", "merged"];
export const CLASS_TITLES = ["compute", "communication", "copy or set", "operator", "launch", "waits for the GPU",
  "other host call", "annotation", "short rows"];
export const COMMUNICATION = 1;
export const NO_ROW = -1;

export function bytesOf(/** @type {string} */ base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Reads LEB128 numbers; they may exceed 32 bits, so they are summed, not shifted. */
class Numbers {
  constructor(/** @type {string} */ base64) {
    this.bytes = bytesOf(base64);
    this.at = 0;
  }
  get more() { return this.at < this.bytes.length; }
  next() {
    let value = 0, scale = 1, byte = 0;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte & 128);
    return value;
  }
  signed() {
    const z = this.next();
    return z % 2 === 0 ? z / 2 : -(z + 1) / 2;
  }
}

/**
 * @typedef {object} Lane
 * @property {string} name
 * @property {boolean} stream
 * @property {number} n
 * @property {Float64Array[]} start
 * @property {Float64Array[]} length
 * @property {Float64Array[]} wait
 * @property {Uint32Array} text
 * @property {Uint8Array} kind
 * @property {Uint8Array} depth
 * @property {number} levels
 * @property {number[]} runs  which of the two it is drawn for
 * @property {number} first  its first row, counted through all lanes of the rank
 */

/**
 * Columns of one lane; times in ns since the page's origin, [0] in the first run and [1] in the second.
 * @param {Numbers} numbers
 * @param {PackedLane} lane
 * @param {number[]} runs
 * @returns {Lane}
 */
function decodeLane(numbers, lane, runs) {
  const n = lane.rows;
  const column = () => new Float64Array(n);
  const out = {
    name: lane.name, stream: lane.stream, n,
    start: [column(), column()], length: [column(), column()], wait: [column(), column()],
    text: new Uint32Array(n), kind: new Uint8Array(n), depth: new Uint8Array(n), levels: 1, first: 0, runs,
  };
  let start = 0, shift = 0;
  for (let i = 0; i < n; i++) {
    start += numbers.signed();
    const length = numbers.next();
    out.text[i] = numbers.next();
    out.kind[i] = numbers.next();
    shift += numbers.signed();
    out.start[0][i] = start;
    out.length[0][i] = length;
    out.start[1][i] = start + shift;
    out.length[1][i] = length + numbers.signed();
    if (out.kind[i] === COMMUNICATION) {
      out.wait[0][i] = numbers.next();
      out.wait[1][i] = numbers.next();
    }
  }
  if (!lane.stream) nest(out);
  return out;
}

/** Depth of each row of a thread: how many rows it lies in. Parents come before their children. */
function nest(/** @type {Lane} */ lane) {
  const open = [];
  for (let i = 0; i < lane.n; i++) {
    const start = lane.start[0][i], end = start + lane.length[0][i];
    while (open.length > 0 && open[open.length - 1] <= start) open.pop();
    lane.depth[i] = Math.min(open.length, 255);
    lane.levels = Math.max(lane.levels, open.length + 1);
    open.push(end);
  }
}

/** @type {Map<RowsRank, Lane[]>} */
const decoded = new Map();

/** Lanes of a rank, decoded when first asked for. `place` of a row counts through all lanes. */
export function lanesOf(/** @type {RowsRank} */ rank) {
  let lanes = decoded.get(rank);
  if (!lanes) {
    lanes = unpacked(rank, data.names_after ? [0] : [0, 1]);
    const later = rank.after ? unpacked(rank.after, [1]) : [];
    for (const lane of later) for (let i = 0; i < lane.n; i++) lane.text[i] += data.names.length;
    let first = 0;
    for (const lane of [...lanes, ...later]) {
      lane.first = first;
      first += lane.n;
    }
    lanes = sideBySide(lanes, later);
    decoded.set(rank, lanes);
  }
  return lanes;
}

function unpacked(/** @type { { lanes: PackedLane[], rows: string }} */ packed, /** @type {number[]} */ runs) {
  const numbers = new Numbers(packed.rows);
  const lanes = packed.lanes.map((lane) => decodeLane(numbers, lane, runs));
  packed.rows = "";
  return lanes;
}

/** Every lane of the first run followed by its like of the second, then what only the second has. */
function sideBySide(/** @type {Lane[]} */ lanes, /** @type {Lane[]} */ later) {
  const left = [...later];
  const all = lanes.flatMap((lane) => {
    const like = left.findIndex((other) => other.name === lane.name);
    return like < 0 ? [lane] : [lane, ...left.splice(like, 1)];
  });
  return [...all, ...left];
}

/** Pieces of the critical path as columns; `place` is NO_ROW where the page has no row for one. */
export const path = (() => {
  const numbers = new Numbers(data.path.pieces);
  /** @type {Record<"trace" | "place" | "kind" | "start" | "end", number[]>} */
  const out = { trace: [], place: [], kind: [], start: [], end: [] };
  let end = 0;
  while (numbers.more) {
    out.trace.push(numbers.next());
    out.place.push(numbers.next() - 1);
    out.kind.push(numbers.next());
    const start = end + numbers.signed();
    end = start + numbers.next();
    out.start.push(start);
    out.end.push(end);
  }
  return out;
})();
