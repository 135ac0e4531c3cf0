// --- One table of colours: a thing has the same one on every page. ----------------------------------
// Names are those of report.css, where each has its value for light and dark and the ink that is read on it.

/** Parts of a step's time. */
export const PART_COLOURS = {
  matrix: "compute", attention: "copy", memory_bound: "operator", recompute: "again", tensor: "communication",
  context: "accent", expert: "sync", weights: "launch", gradients: "overlapped", bubble: "idle", optimizer: "good",
  host: "call", contention: "wait",
};

/** What fills a chip's memory: weights, gradients and optimizer as their parts of the time. */
export const MEMORY_COLOURS = {
  weights: PART_COLOURS.weights, gradients: PART_COLOURS.gradients, optimizer: PART_COLOURS.optimizer,
  activations: "communication", working: "copy", buffers: "operator", allocator: "call",
};

/** Where a GPU's time goes. */
export const GPU_COLOURS = {
  exposed_compute: "compute", overlapped: "overlapped", transfer: "communication", waiting_for_rank: "wait", waiting_for_host: "call",
  waiting_for_stage: "sync", copies: "copy", idle: "idle",
};

/** Where a step of a what-if goes. */
export const STEP_COLOURS = {
  gemm: "compute", attention: "copy", other_kernels: "operator", copies: "launch", transfer: "communication", waiting: "wait", idle: "idle",
};

/** What bounds a part of a serving engine's iteration. */
export const BOUND_COLOURS = {
  bytes: "copy", compute: "compute", floor: "launch", latency: "communication", links: "wait", host: "call",
};

/** Classes of the pieces of a critical path. */
export const PATH_COLOURS = {
  operator: "operator", host_call: "call", launch: "launch", sync: "sync", host_gap: "annotation",
  compute: "compute", copy: "copy", communication: "communication", lag: "lag", pinned: "idle",
};

/** Things that are told apart and mean nothing by themselves: curves, partitions (as src/report/mapping/svg.cc). */
export const SERIES_COLOURS = ["compute", "communication", "copy", "overlapped", "accent", "good", "sync", "launch", "operator", "lag"];
export const seriesColour = (/** @type {number} */ i) => SERIES_COLOURS[i % SERIES_COLOURS.length];

/** The colour of a name in a table, for names that newer files may have too. */
export function colourIn(/** @type {Record<string, string>} */ table, /** @type {string} */ name) {
  return table[name] || "merged";
}
