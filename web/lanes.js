// --- Timeline, first half: which lanes are shown, and where. --------------------------------------

const GUTTER = 196, AXIS = 34, STRIP = 22;
const STREAM_HEIGHT = 15, LEVEL_HEIGHT = 11, MOST_LEVELS = 6, ALL_HEIGHT = 9;
const MOST_LANES = 240;
const RUNS = ["recorded", "replayed"];

/** One band: a lane's rows of one run, at `y`, `levels` rows high. */
function band(lane, trace, run, y, height, levels) {
  return { lane, trace, run, y, height, levels };
}

/** All lanes of one rank: each recorded above, replayed below. */
function bandsOfRank(trace, top) {
  const bands = [], labels = [];
  let y = top;
  for (const lane of lanesOf(data.ranks[trace])) {
    const levels = lane.stream ? 1 : Math.min(lane.levels, MOST_LEVELS);
    const height = lane.stream ? STREAM_HEIGHT : LEVEL_HEIGHT;
    labels.push({ text: lane.name, y, strong: true });
    for (const run of [0, 1]) {
      labels.push({ text: RUNS[run], y, right: true });
      bands.push(band(lane, trace, run, y, height, levels));
      y += levels * height + (run === 0 ? 2 : 10);
    }
  }
  return { bands, labels, bottom: y };
}

/** The streams of every rank, thin. */
function bandsOfAll(top) {
  const bands = [], labels = [];
  let y = top;
  for (let trace = 0; trace < data.ranks.length && bands.length < MOST_LANES; trace++) {
    const streams = lanesOf(data.ranks[trace]).filter((lane) => lane.stream);
    labels.push({ text: `rank ${data.ranks[trace].rank}`, y, strong: true });
    for (const run of [0, 1]) {
      labels.push({ text: RUNS[run], y, right: true });
      for (const lane of streams) {
        bands.push(band(lane, trace, run, y, ALL_HEIGHT, 1));
        y += ALL_HEIGHT;
      }
      if (streams.length === 0) y += ALL_HEIGHT;
      y += run === 0 ? 3 : 9;
    }
  }
  return { bands, labels, bottom: y };
}

/** First row that may reach into the time from `from` on: rows are sorted by their recorded start. */
function firstAt(starts, from) {
  let low = 0, high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] < from) low = middle + 1; else high = middle;
  }
  return low;
}

/** Round steps of a time axis: 1, 2 or 5 times a power of ten. */
function tickStep(perPixel) {
  const least = perPixel * 110;
  let step = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10]) {
    if (step * factor >= least) return step * factor;
  }
  return step * 10;
}
