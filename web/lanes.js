// --- Timeline, first half: which lanes are shown, and where. --------------------------------------
import { data, lanesOf } from "./decode.js";

const STEP_HEIGHT = 18;  // of the bar of a step, one a run where they are told apart
export const AXIS = data.runs ? 2 * STEP_HEIGHT + 18 : STEP_HEIGHT + 18;
export const STRIP = 24;
const STREAM_HEIGHT = 15, LEVEL_HEIGHT = 12, MOST_LEVELS = 6, ALL_HEIGHT = 9;
const NAME_HEIGHT = 16;  // of a lane's name, where it stands above its rows
const NARROW = 700;      // pixels; less leaves no room for names at the left
const MOST_LANES = 240;
/** What the two runs are called. */
export const RUNS = data.runs || ["recorded", "replayed"];

/** @typedef {import("./decode.js").Lane} Lane */
/** One band: a lane's rows of one run, at `y`, `levels` rows high.
 * @typedef { { lane: Lane, trace: number, run: number, y: number, height: number, levels: number }} Band */
/** @typedef { { text: string, y: number, strong?: boolean, right?: boolean }} Label  right: beside the rows */
/** @typedef { { bands: Band[], labels: Label[], bottom: number, gutter: number }} Layout */

/** Room for names at the left of a timeline of `width` pixels. */
const gutterOf = (/** @type {number} */ width) => (width < NARROW ? 62 : 196);

/** All lanes of one rank: each of the first run above, of the second below. @returns {Layout} */
export function bandsOfRank(/** @type {number} */ trace, /** @type {number} */ top, /** @type {number} */ width) {
  /** @type {Layout} */
  const { bands, labels, gutter } = { bands: [], labels: [], bottom: 0, gutter: gutterOf(width) };
  let y = top, named = "";
  for (const lane of lanesOf(data.ranks[trace])) {
    const levels = lane.stream ? 1 : Math.min(lane.levels, MOST_LEVELS);
    const height = lane.stream ? STREAM_HEIGHT : LEVEL_HEIGHT;
    if (lane.name === named) {
      y -= 8;  // the run after of the lane above
    } else {
      labels.push({ text: lane.name, y, strong: true });
      named = lane.name;
      if (width < NARROW) y += NAME_HEIGHT;
    }
    for (const run of lane.runs) {
      labels.push({ text: RUNS[run], y, right: true });
      bands.push({ lane, trace, run, y, height, levels });
      y += levels * height + (run === lane.runs[lane.runs.length - 1] ? 10 : 2);
    }
  }
  return { bands, labels, bottom: y, gutter };
}

/** The streams of every rank, thin. @returns {Layout} */
export function bandsOfAll(/** @type {number} */ top, /** @type {number} */ width) {
  /** @type {Layout} */
  const { bands, labels, gutter } = { bands: [], labels: [], bottom: 0, gutter: gutterOf(width) };
  let y = top;
  for (let trace = 0; trace < data.ranks.length && bands.length < MOST_LANES; trace++) {
    const streams = lanesOf(data.ranks[trace]).filter((lane) => lane.stream);
    labels.push({ text: `rank ${data.ranks[trace].rank}`, y, strong: true });
    if (width < NARROW) y += NAME_HEIGHT;
    for (const run of [0, 1]) {
      labels.push({ text: RUNS[run], y, right: true });
      const start = y;
      for (const lane of streams.filter((each) => each.runs.includes(run))) {
        bands.push({ lane, trace, run, y, height: ALL_HEIGHT, levels: 1 });
        y += ALL_HEIGHT;
      }
      y = Math.max(y, start + 12);  // at least as high as the label beside it
      y += run === 0 ? 3 : 9;
    }
  }
  return { bands, labels, bottom: y, gutter };
}

/** Round steps of a time axis: 1, 2 or 5 times a power of ten. */
export function tickStep(/** @type {number} */ perPixel) {
  const least = perPixel * 110;
  const step = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10]) {
    if (step * factor >= least) return step * factor;
  }
  return step * 10;
}
