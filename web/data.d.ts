// The documents that the program writes into the pages: src/report/*/json.cc and page.cc beside them.
// What a page does not read is left out.

type Sums = Record<string, number>;
type Words = Record<string, string>;

// --- estimate, plan ---

interface PlanSettings { global_batch: number; sequence: number; precision: string; schedule: string }

interface RunAsked { usd_per_chip_hour: number; price_source: string }
interface WholeRun {
  time_s: number; low_s: number; high_s: number; checkpoint_every_s: number; failures: number; chip_hours: number; cost_usd: number;
  energy_j: number; co2_kg: number;
}

interface Stage {
  layers: number; forward_s: number; backward_s: number; busy_s: number; start_s: number; end_s: number; in_flight: number;
  memory_bytes: Sums;
}

interface EstimateDocument {
  title: string; parameters: number; chip: string; chips: number; software: string; words: string; plan: PlanSettings;
  time_s: number; low_s: number; high_s: number; tokens_per_second: number; mfu: number; hfu: number;
  energy_j: number; cost_usd: number; parts_s: Sums; rests_on: Sums; usable_bytes: number; memory_low_bytes: number; memory_high_bytes: number; fit_odds: number;
  run: WholeRun | null; run_asked: RunAsked | null; fullest: number; stages: Stage[];
  fitting: { change: string; time_s: number; memory_bytes: Sums }[];
  memory_notes: string[]; hint: string; assumed: string[]; part_meanings: Words; memory_meanings: Words; problem?: string;
}

interface FoundPlan { words: string; time_s: number; memory_bytes: number }

interface BestPlan extends FoundPlan {
  low_s: number; high_s: number; tokens_per_second: number; mfu: number; parts_s: Sums; memory: Sums; megatron: string;
  megatron_lacks: string[]; tie: boolean; memory_low_bytes: number; memory_high_bytes: number; fit_odds: number; run: WholeRun | null;
}

interface PlanPoint {
  asked: { global_batch: number; sequence: number; constraints: string[]; on: string; sweep: Words; capacity_bytes: number; run: RunAsked | null };
  search: { plans: number; too_big: number }; hint: string;
  best: BestPlan[]; pareto: FoundPlan[]; sensitivities: { number: string; change: number }[];
}

interface PlanDocument { meanings: Words; verdict: string; points: PlanPoint[] }

// --- map, explore ---

interface Partition {
  pass: string; time_s: number; compute_s: number; memory_s: number; network_s: number; limit: string; work_flop: number;
  sram_bytes: number; dram_bytes: number; wire_bytes: number; kernels: string[];
}

interface MappedKernel {
  name: string; kind: string; outer: number; m: number; n: number; k: number; sample_flop: number; weight_bytes: number;
  partition: number; sharding: string;
}

interface MappingDocument {
  step_s: number; exact: boolean; gap: number; utilisation: number; samples_per_second: number; price_usd: number; power_w: number; basis: string;
  workload: { kernels: number; uses: number; layers: number; global_batch: number };
  system: {
    chip: string; chips: number; kernel_by_kernel: boolean; sram_bytes: number; memory_capacity_bytes: number;
    dimensions: { kind: string; size: number; bandwidth_bytes_per_s: number; latency_s: number; tp?: number; pp?: number; dp?: number }[];
    facts: { key: string; value: number; unit: string; basis: string; source: string }[];
  };
  model: { name: string; overlap: string } & Record<string, unknown>;
  shape: { tp: number; pp: number; dp: number; microbatch: number; microbatches: number; tile: number; layers_per_stage: number };
  times: { layer_s: number };
  partitions: Partition[]; kernels: MappedKernel[]; tensors: { producer: string; layout: string }[];
  memory_bytes: Sums;
  roofline: {
    peak_flop_per_s: number; achieved_flop_per_s: number; memory_bandwidth_bytes_per_s: number; network_bandwidth_bytes_per_s: number;
    memory_intensity_flop_per_byte: number; network_intensity_flop_per_byte: number;
  };
  search: { shapes: number; candidates: number; transitions: number };
}

interface ExplorePoint {
  fits: boolean; problem?: string; why: string; sweep: Words; step_s: number; exact: boolean; gap: number; utilisation: number;
  flop_per_s_per_usd: number; flop_per_s_per_w: number; price_usd: number; power_w: number; shape: string; front: boolean;
}

interface ExploreBest { measure: string; point: number; equals: number }

interface ExploreDocument { asked: string; best: ExploreBest[]; points: ExplorePoint[] }

// --- net time, net run ---

interface CollectiveDocument {
  kind: "time"; title: string; op: string; cluster: string; ranks: number; bytes: number; time_s: number; low_s: number; high_s: number;
  algorithm_bandwidth: number; bus_bandwidth: number; basis: string; source: string; algorithm: string; protocol: string;
  parts: { level: string; latency_s: number; transfer_s: number }[];
  curves: { name: string; chosen: boolean; points: { bytes: number; time_s: number; bus_bandwidth: number }[] }[];
}

interface TrafficDocument {
  kind: "run"; title: string; cluster: string; end_s: number; interval_s: number;
  flows: { id: string; bytes: number; start_s: number; end_s: number }[];
  links: { name: string; carried_bytes: number; mean: number; used: number[] }[];
}

// --- replay ---

interface PackedLane { name: string; stream: boolean; rows: number }

interface RowsRank {
  rank: number; merged_below_ns: number; lanes: PackedLane[]; rows: string;
  /** Where the second run has other rows: its own. */
  after?: { merged_below_ns: number; lanes: PackedLane[]; rows: string };
  /** Name, start and end in the first run and in the second, in ns. */
  steps: [string, number, number, number, number][];
  /** Of a replay: recorded and replayed, a byte an interval. */
  curve: { interval_ns: number; active: [string, string]; sms: [string, string] };
}

interface RowsDocument {
  length_ns: number; ranks: RowsRank[]; path: { classes: string[]; pieces: string }; path_titles: Words; names: string[];
  /** Of the rows that the second run alone has. */
  names_after?: string[];
  /** What the two runs are called, if not recorded and replayed: the page holds one step of both then. */
  runs?: [string, string];
}

interface TwoRuns { measured: number; replayed: number }

interface Breakdown { exposed_compute: number; exposed_communication: number; waiting: number; overlapped: number; other: number; idle: number }

interface ReplayStep {
  name: string; measured_s: number | null; replayed_s: number | null; error: number | null;
  gpu_measured_s: number | null; gpu_replayed_s: number | null; gpu_step_error: number | null; start_error_median_s: number;
}

interface ReplayRank {
  rank: number; steps: ReplayStep[];
  window: { measured_s: number; replayed_s: number; breakdown_s: { measured: Breakdown; replayed: Breakdown } };
}

interface ReplayCollective {
  name: string; group: string; count: number; ranks: number; bytes: number; wait_s: TwoRuns; transfer_s: TwoRuns;
}

interface SensitivityPart { part: string; title: string; work_s: number; gpu_step_s: number | null; change: number | null }

interface ReplayReport {
  name: string; mode: string; baseline: string; structure_from?: string; durations_from?: string; damage: string[]; truncated: string[]; verdict: string[];
  straggler: { rank: number; share_of_path: number; last: number; collectives: number; waited_s: number; share_of_waiting: number } | null;
  sensitivity: { less_time: number; gpu_step_s: number; parts: SensitivityPart[] } | null;
  tasks: number; task_edges: number; ranks: ReplayRank[]; edges: Record<string, { count: number; contradicted: number }>;
  pinned: { what: string; tasks: number }[]; lags: { edge: string; samples: number; typical_s: number }[]; clock_residual_s: number;
  collectives: ReplayCollective[];
  critical_path: {
    length_s: number; pieces: number; rank_changes: number; last_rank: number; window_s: number; pinned_starts: number; pinned_s: number;
    classes: Record<string, { pieces: number; time_s: number }>; ranks: Record<string, { pieces: number; time_s: number }>;
  };
  late_starts: {
    count: number; share_of_windows: number; tasks: { rank: number; recorded_start_s: number; late_s: number; name: string }[];
  };
  top_kernels: { name: string; count: number; measured_s: number; replayed_s: number }[];
  anomalies: { kind: string; count: number; first: string }[];
  summary: {
    steps: number; mean_abs_error: number; max_abs_error: number; gpu_steps: number; mean_abs_gpu_step_error: number;
    max_abs_gpu_step_error: number; start_error_median_of_window: number;
  };
}

// --- whatif ---

interface WhatIfWorth { part: string; title: string; work_s: number; less_s: number | null; limit_s: number | null }

interface WhatIfTotals {
  tokens_per_step: number | null; tokens_per_s: number | null; mfu: number | null; memory_bytes: number | null;
  energy_j: number | null; cost_usd: number | null; usd_per_million_tokens: number | null;
}
interface WhatIfTotalsBasis { basis: string; missing: { total: string; why: string }[] }

interface WhatIfDocument {
  recording: string; asked: string; step_kind: string; change: string; changes: string[];
  refused: { change: string; missing: string }[]; ranks_before: number; ranks_after: number;
  sensitivity: WhatIfWorth[] | null;
  // What a refused question lacks:
  before_s: number; after_s: number; host_before_s: number; host_after_s: number;
  band: { low_s: number; high_s: number; sources: { what: string; below_s: number; above_s: number }[] };
  parts: { part: string; title: string; before_s: number; after_s: number }[];
  causes: { change: string; forwards_s: number; backwards_s: number | null }[];
  steps: { name: string; gpu_before_s: number; gpu_after_s: number; host_before_s: number; host_after_s: number }[];
  notes: { how: string; what: string; tasks: number; share: number }[];
  totals_before: WhatIfTotals & WhatIfTotalsBasis; totals: WhatIfTotals & WhatIfTotalsBasis;
}

// --- serve ---

interface ServePercentiles { mean: number; p50: number; p90: number; p95: number; p99: number; max: number; count: number }

interface ServeSummary {
  chips: number; ttft_s: ServePercentiles; tpot_s: ServePercentiles; inter_token_s: ServePercentiles; latency_s: ServePercentiles;
  output_tokens_per_s: number; total_tokens_per_s: number; requests_per_s: number; within: number; goodput_requests_per_s: number;
  meets: boolean; usd_per_million_tokens: number | null; answered: number; lost: number; unanswered: number; preemptions: number;
}

interface ServeCurvePoint extends ServeSummary { load: number }

/** Without the summary where it is refused. */
interface ServeVariant extends ServeSummary { change: string; refused: string }

interface ServeIteration { time_s: number; parts: { name: string; time_s: number; bound: string; basis: string }[] }

interface ServePool {
  role: string; replicas: number; engine: string; engine_version: string; memory_bytes: Sums; kv_tokens: number; kv_mean: number;
  kv_peak: number; busy: number; decodes: number; context: number; prompt_tokens: number; prompt_share: number;
  iteration: ServeIteration | null; prompt_iteration: ServeIteration | null; basis: string; source: string;
}

interface ServeDocument extends ServeSummary {
  title: string; slo: string; words: string; assumed: string[];
  launch: { used: string[]; without_meaning: string[]; unmodelled: string[]; unknown: string[] } | null; fast: ServeSummary | null; slow: ServeSummary | null; pools: ServePool[];
  limits: string[]; next: ServeVariant[]; sensitivity: ServeVariant[]; curve_of: string; curve: ServeCurvePoint[];
  windows: { from_s: number; to_s: number; sent: number; output_tokens_per_s: number; ttft_s: ServePercentiles; tpot_s: ServePercentiles }[];
  timeline: {
    interval_s: number; decodes: number[]; waiting: number[]; prompt_tokens_per_s: number[]; kv: number[]; replica_kv: number[][];
  };
}

// --- serve-plan ---

interface FleetPercentiles { mean_s: number; p50_s: number; p90_s: number; p95_s: number; p99_s: number; max_s: number; count: number }

interface FoundFleet {
  words: string; chips: number; number: number; engine: string; precision: string; output_tokens_per_s: number;
  output_tokens_per_s_per_chip: number; cost_per_million_tokens: number; ttft: FleetPercentiles; tpot: FleetPercentiles;
}

interface ComparedFleets {
  found: boolean; fewest_chips: number | null; cheapest: number | null; pareto: { cluster: number; fleet: number }[]; clusters: FleetsDocument[];
}
interface FleetsDocument {
  asked: {
    model: string; on: string; chips: number; usd_per_chip_hour: number; limits: string[]; front: boolean; settings: { name: string; value: string }[];
  };
  found: boolean; search: { configurations: number; impossible: number; out_of_memory: number };
  problem: { what: string; hint: string } | null; best: FoundFleet[]; pareto: FoundFleet[]; nearest: FoundFleet | null;
  launch: { role: string; replicas: number; checkpoint: string; command: string; file_name: string; file: string; lacks: string[] }[];
  assumed: string[];
}
