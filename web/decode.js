// --- Data: the two JSON documents of the page, and the rows packed in one of them. ---------------
// The packing is that of src/report/replay/page_rows.h.

const data = JSON.parse(document.getElementById("rows").textContent);
const report = JSON.parse(document.getElementById("report").textContent).sets[0];

const CLASSES = ["compute", "communication", "copy", "operator", "launch", "sync", "call", "annotation", "merged"];
const CLASS_TITLES = ["compute", "communication", "copy or set", "operator", "launch", "waits for the GPU",
  "other host call", "annotation", "short rows"];
const COMMUNICATION = 1, ANNOTATION = 7;
const NO_ROW = -1;

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Reads LEB128 numbers; they may exceed 32 bits, so they are summed, not shifted. */
class Numbers {
  constructor(base64) {
    this.bytes = bytesOf(base64);
    this.at = 0;
  }
  get more() { return this.at < this.bytes.length; }
  next() {
    let value = 0, scale = 1, byte;
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

/** Columns of one lane; times in ns since the page's origin, [0] recorded and [1] replayed. */
function decodeLane(numbers, lane) {
  const n = lane.rows;
  const column = () => new Float64Array(n);
  const out = {
    name: lane.name, stream: lane.stream, n,
    start: [column(), column()], length: [column(), column()], wait: [column(), column()],
    text: new Uint32Array(n), kind: new Uint8Array(n), depth: new Uint8Array(n), levels: 1,
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
function nest(lane) {
  const open = [];
  for (let i = 0; i < lane.n; i++) {
    const start = lane.start[0][i], end = start + lane.length[0][i];
    while (open.length > 0 && open[open.length - 1] <= start) open.pop();
    lane.depth[i] = Math.min(open.length, 255);
    lane.levels = Math.max(lane.levels, open.length + 1);
    open.push(end);
  }
}

/** Lanes of a rank, decoded when first asked for. `place` of a row counts through all lanes. */
function lanesOf(rank) {
  if (!rank.decoded) {
    const numbers = new Numbers(rank.rows);
    rank.decoded = rank.lanes.map((lane) => decodeLane(numbers, lane));
    let first = 0;
    for (const lane of rank.decoded) {
      lane.first = first;
      first += lane.n;
    }
    delete rank.rows;
  }
  return rank.decoded;
}

/** Pieces of the critical path as columns; `place` is NO_ROW where the page has no row for one. */
const path = (() => {
  const numbers = new Numbers(data.path.pieces);
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
