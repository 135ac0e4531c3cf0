// By tools/make_answers.py from catalog/answers: the documents that the program writes into the pages.

interface OwnFit {
  [name: string]: string;
  /** as it was named */
  file: string;
  /** `collectives`, `kernels`, `host calls`, `serving deployments` or `constants` */
  kind: string;
}

interface Plan {
  /** tensor-parallel chips */
  tp: number;
  /** chips of the second dimension of 2-D and SUMMA tensor parallelism */
  tp2: number;
  /** context-parallel chips */
  cp: number;
  /** pipeline stages */
  pp: number;
  /** replicas */
  dp: number;
  /** expert-parallel chips, within `dp` x `cp` x `tp` */
  ep: number;
  /** chips that split one expert; 0: as `tp` */
  etp: number;
  /** virtual stages of a chip */
  vpp: number;
  /** sequences of one microbatch */
  micro_batch: number;
  /** sequences of one step, over all replicas */
  global_batch: number;
  /** tokens of a sequence */
  sequence: number;
  /** of the pipeline: `gpipe`, `1f1b`, `interleaved`, `zb-h1`, `zb-v` or `dualpipev` */
  schedule: string;
  /** layers of each virtual stage, in the order of the layers; empty: dealt evenly (in CSV: separated by blanks) */
  stage_layers: number[];
  /** the embedding counts as a layer when layers are dealt to stages */
  count_embedding: boolean;
  /** output matrix and loss count as a layer when layers are dealt to stages */
  count_loss: boolean;
  /** what replicas share, as ZeRO counts it: `0` nothing, `1` optimizer states, `2` gradients too, `3` weights too (FSDP) */
  zero: string;
  /** chips that share one copy of what `zero` shards, the others replicate it; 0: all replicas */
  shard: number;
  /** with `zero` 3, weights are dropped after the forward pass and gathered again */
  reshard: boolean;
  /** activations dropped after forward and computed again: `none`, `selective` or `full` */
  recompute: string;
  /** what selective recompute drops, bits added up: 1 core attention, 2 norms, 4 activation, 8 feed-forward, 16 latent up-projections, 32 every second product */
  recompute_modules: number;
  /** with full recompute, only so many layers of each stage; 0: all */
  recompute_layers: number;
  /** norms are sharded over tensor-parallel chips along the sequence */
  sequence_parallel: boolean;
  /** how matrices are cut: `1d`, `2d` or `summa` */
  tensor: string;
  /** panels that SUMMA moves a matrix in */
  panels: number;
  /** how context-parallel chips exchange keys and values: `all_gather`, `ring` or `ulysses` */
  context: string;
  /** of linear layers: `fp32`, `tf32`, `fp16`, `bf16`, `fp8`, `fp8_block`, `mxfp8`, `nvfp4`, `mxfp4` or `int8` */
  precision: string;
  /** `adam`, `sgd` or `muon` */
  optimizer: string;
  /** gradients are added up in fp32; else in the type of the weights */
  fp32_gradients: boolean;
  /** in which gradients are reduced over replicas: `fp32`, `bf16` or `fp16`; `summed`: as they are added up */
  gradient_type: string;
  /** the optimizer keeps weights in fp32 */
  fp32_master: boolean;
  /** of fp32 weights only the 16 bits that bf16 ones lack are kept */
  split_master: boolean;
  /** of all of the optimizer's moments of one weight; 0: the optimizer's usual (B) */
  moment_bytes: number;
  /** how much of the optimizer the host keeps and updates (%) */
  offload: number;
  /** with `precision` fp8, weights are gathered in 8 bits */
  fp8_gather: boolean;
  /** attention scores stay out of memory */
  flash_attention: boolean;
  /** rank of low-rank adapters, all else is frozen; 0: all weights are trained */
  lora_rank: number;
  /** adapters in feed-forwards as well as in attention */
  lora_mlp: boolean;
  /** modules behind the last layer that predict one more token each */
  mtp_layers: number;
  /** reducing gradients may overlap with compute */
  overlap_gradients: boolean;
  /** gathering weights may overlap with compute */
  overlap_weights: boolean;
  /** tensor-parallel transfers may overlap with compute */
  overlap_tensor: boolean;
  /** sends between stages may overlap with compute */
  overlap_pipeline: boolean;
  /** context-parallel transfers may overlap with compute */
  overlap_context: boolean;
  /** expert-parallel transfers may overlap with compute */
  overlap_experts: boolean;
  /** who sends tokens to their experts: `alltoall`, `deepep` or `hybridep`; `usual`: what the software usually has */
  dispatcher: string;
  /** passes of layers are replayed from CUDA graphs */
  cuda_graph: boolean;
}

interface Placement {
  /** chips in a group of each tier of the network, innermost first */
  tiers: number[];
  /** for each tier, members of tp, tp2, cp, dp and pp inside one such group */
  inside: number[][];
}

interface StepParts {
  [name: string]: number;
  /** matrix products (s) */
  matrix: number;
  /** attention (s) */
  attention: number;
  /** norms, activations, loss (s) */
  memory_bound: number;
  /** forward passes computed again (s) */
  recompute: number;
  /** tensor-parallel transfers, as far as nothing hides them (s) */
  tensor: number;
  /** context-parallel transfers, as far as nothing hides them (s) */
  context: number;
  /** expert-parallel transfers, as far as nothing hides them (s) */
  expert: number;
  /** gathering weights over replicas, as far as nothing hides it (s) */
  weights: number;
  /** reducing gradients over replicas, as far as nothing hides it (s) */
  gradients: number;
  /** waiting in the pipeline, and its sends (s) */
  bubble: number;
  /** the optimizer's update (s) */
  optimizer: number;
  /** launches and fixed costs (s) */
  host: number;
  /** contention and stragglers (s) */
  contention: number;
}

interface RestsOn {
  [name: string]: number;
  /** share of kernel and transfer time whose very case was measured */
  measured: number;
  /** share that is interpolated between measured cases */
  table: number;
  /** share by a formula fitted to measurements of this hardware */
  fitted: number;
  /** share by published peak rates, or another chip's fit scaled by them */
  roofline: number;
  /** share by constants that nobody measured */
  assumed: number;
}

interface MemoryClasses {
  [name: string]: number;
  /** weights (B) */
  weights: number;
  /** gradients (B) */
  gradients: number;
  /** states of the optimizer (B) */
  optimizer: number;
  /** activations of microbatches in flight (B) */
  activations: number;
  /** tensors of the layer that runs (B) */
  working: number;
  /** of communication, and the device's context (B) */
  buffers: number;
  /** rounding and holes of the allocator (B) */
  allocator: number;
}

interface StageMemory extends MemoryClasses {
  /** their sum (B) */
  total: number;
}

interface Stage {
  /** of the model */
  layers: number;
  /** of one microbatch (s) */
  forward_s: number;
  /** of one microbatch (s) */
  backward_s: number;
  /** of all microbatches (s) */
  busy_s: number;
  /** of its first forward, since the step began (s) */
  start_s: number;
  /** of its last backward (s) */
  end_s: number;
  /** microbatches of a chunk whose activations are kept at once */
  in_flight: number;
  /** of one of its chips, by class */
  memory_bytes: StageMemory;
}

interface FittingPlan {
  /** what the plan has otherwise */
  change: string;
  /** its step (s) */
  time_s: number;
  /** of its fullest chip, by class */
  memory_bytes: StageMemory;
  /** every setting of it */
  plan: Plan;
}

interface StepTasks {
  [name: string]: number;
  /** forward passes (s) */
  forward: number;
  /** backward passes (s) */
  backward: number;
  /** a forward and a backward pass at once (s) */
  both: number;
  /** sends between stages (s) */
  send: number;
  /** gathering weights (s) */
  gather: number;
  /** reducing gradients (s) */
  reduce: number;
  /** the optimizer's update (s) */
  optimizer: number;
  /** fixed costs of a step (s) */
  fixed: number;
}

interface StepGraph {
  /** the step as the engine runs it (s) */
  time_s: number;
  /** of the graph */
  tasks: number;
  /** the chain of tasks that ends the step, by kind */
  critical_s: StepTasks;
  /** of each stage's chip (s) */
  busy_s: number[];
}

interface WholeRun {
  [name: string]: number;
  /** of the optimizer (steps) */
  steps: number;
  /** of all steps (tokens) */
  tokens: number;
  /** of the steps alone (s) */
  work_s: number;
  /** by the clock, with checkpoints, failures and restarts (s) */
  time_s: number;
  /** low end of its 10-90 % band (s) */
  low_s: number;
  /** high end of its 10-90 % band (s) */
  high_s: number;
  /** work between two checkpoints that makes the run shortest; 0 where no failures were told (s) */
  checkpoint_every_s: number;
  /** how many are to be expected; 0 where none were told */
  failures: number;
  /** of the whole run (chip-hours) */
  chip_hours: number;
  /** of the whole run; 0 where no price is known (USD) */
  cost_usd: number;
  /** of the whole run: chips at their power limit, times `--pue` (J) */
  energy_j: number;
  /** of that energy; 0 without `--co2` (kg) */
  co2_kg: number;
}

interface RunAsked {
  /** that are trained on; 0: told by `steps` (tokens) */
  tokens: number;
  /** of the optimizer; 0: told by `tokens` (steps) */
  steps: number;
  /** price of a chip; 0: not known (USD/h) */
  usd_per_chip_hour: number;
  /** of the electricity; 0: not told (kg/kWh) */
  kg_co2_per_kwh: number;
  /** energy of the site over that of its chips */
  power_overhead: number;
  /** mean time between failures of one chip; 0: not told (s) */
  chip_between_failures_s: number;
  /** for which training stands still while a checkpoint is written; 0: not told (s) */
  checkpoint_s: number;
  /** from a failure until training goes on; 0: not told (s) */
  restart_s: number;
  /** who says the price, and of when; empty: whoever asked */
  price_source: string;
}

interface Estimate {
  /** name of the model */
  model: string;
  /** its trainable values */
  parameters: number;
  /** those that one token meets */
  active_parameters: number;
  /** where it runs */
  cluster: string;
  /** of the cluster */
  chip: string;
  /** of the plan */
  chips: number;
  /** the profile of the training's software */
  software: string;
  /** measurements of one's own that the answer has: `--fit`, and those of the cluster's line or file */
  own_fits: OwnFit[];
  /** the plan in short */
  words: string;
  /** every setting of it */
  plan: Plan;
  /** where its groups lie on the network */
  placement: Placement;
  /** one step (s) */
  time_s: number;
  /** low end of its 10-90 % band (s) */
  low_s: number;
  /** high end of its 10-90 % band (s) */
  high_s: number;
  /** of all chips (tokens/s) */
  tokens_per_second: number;
  /** model FLOPs (causal) over the dense peak of all chips, without recomputed ones */
  mfu: number;
  /** model FLOPs over the dense peak of all chips, with recomputed ones */
  hfu: number;
  /** of one step, all chips at their power limit; 0 where the power is unknown (J) */
  energy_j: number;
  /** of one step; 0 without a price (USD) */
  cost_usd: number;
  /** where the step goes on the chip that is busy longest; sums to `time_s` */
  parts_s: StepParts;
  /** share of kernel and transfer time by what it rests on */
  rests_on: RestsOn;
  /** whether the fullest stage fits into `usable_bytes` with the odds asked for */
  fits: boolean;
  /** how likely it fits */
  fit_odds: number;
  /** how likely it has to (`--fit-odds`) */
  asked_odds: number;
  /** low end of the 10-90 % band of what the fullest stage needs (B) */
  memory_low_bytes: number;
  /** high end of that band (B) */
  memory_high_bytes: number;
  /** the share of a chip's memory that a plan may use (`--memory`; all of it if not given) (B) */
  usable_bytes: number;
  /** memory of a chip (B) */
  capacity_bytes: number;
  /** stage that needs most memory, from 0 */
  fullest: number;
  /** of the pipeline */
  stages: Stage[];
  /** of the fullest stage: what of its memory is holes of the allocator or gathered by ZeRO 3, how much, and why */
  memory_notes: string[];
  /** where the plan does not fit: plans that do with one change, else two, else any; fastest first */
  fitting: FittingPlan[];
  /** with `--engine graph`: the step run as an execution graph */
  graph: StepGraph | null;
  /** with `--tokens` or `--steps`: the whole run */
  run: WholeRun | null;
  /** what was asked of that */
  run_asked: RunAsked | null;
  /** in words, what a batch or a sequence that divides better would save with the same plan, where that is 3 % a token or more; else empty */
  hint: string;
  /** in words, what nobody told and nothing measured */
  assumed: string[];
  /** settings of the launch configuration (`--plan-from`) that the plan or the model is made of; empty without one */
  used: string[];
  /** its settings that are known and without meaning for time and memory of a step */
  ignored: string[];
  /** those that are known, change time or memory, and are not modelled, each with what is taken instead */
  unmodelled: string[];
  /** those that nobody knows here: they may do anything, and nothing is made of them (`--strict` refuses these and the ones before) */
  unknown: string[];
}

interface StepPartMeanings {
  [name: string]: string;
  /** words for `matrix` of the parts of a step */
  matrix: string;
  /** words for `attention` */
  attention: string;
  /** words for `memory_bound` */
  memory_bound: string;
  /** words for `recompute` */
  recompute: string;
  /** words for `tensor` */
  tensor: string;
  /** words for `context` */
  context: string;
  /** words for `expert` */
  expert: string;
  /** words for `weights` */
  weights: string;
  /** words for `gradients` */
  gradients: string;
  /** words for `bubble` */
  bubble: string;
  /** words for `optimizer` */
  optimizer: string;
  /** words for `host` */
  host: string;
  /** words for `contention` */
  contention: string;
}

interface MemoryMeanings {
  [name: string]: string;
  /** words for `weights` of the classes of memory */
  weights: string;
  /** words for `gradients` */
  gradients: string;
  /** words for `optimizer` */
  optimizer: string;
  /** words for `activations` */
  activations: string;
  /** words for `working` */
  working: string;
  /** words for `buffers` */
  buffers: string;
  /** words for `allocator` */
  allocator: string;
}

interface EstimatePage extends Estimate {
  /** the question in a line */
  title: string;
  /** words for the fields of `parts_s` */
  part_meanings: StepPartMeanings;
  /** words for the classes of memory */
  memory_meanings: MemoryMeanings;
  /** where the plan does not fit: which memory is too small, and the nearest plan that fits, or absent */
  problem: string;
}

interface ExploreBest {
  /** which number: `step_s` (the least), `utilisation`, `flop_per_s_per_usd` or `flop_per_s_per_w` (the greatest) */
  measure: string;
  /** the best point, from 0; of equal ones the cheapest, then the leanest in power */
  point: number;
  /** how many others are as good */
  equals: number;
}

interface ExploreGains {
  /** with twice the SRAM; null: only then does it fit, 0: not even then, or absent */
  sram: number | null;
  /** with twice the bandwidth of DRAM; only where a mapping fits, or absent */
  "memory-bandwidth": number;
  /** with twice the DRAM, only where none fits; null: only then does it, 0: not even then, or absent */
  "memory-capacity": number | null;
  /** with twice the bandwidth of the links; only where a mapping fits, or absent */
  "link-bandwidth": number;
  /** with twice the peak rate; only where a mapping fits, or absent */
  peak: number;
}

interface ExplorePoint {
  /** the question in words, the same for all points */
  asked: string;
  /** number of the point, from 0 */
  index: number;
  /** how many points there are */
  of: number;
  /** whether any mapping fits */
  fits: boolean;
  /** what limits the point, in a sentence */
  why: string;
  /** what this point changes: name and value */
  sweep: Record<string, string>;
  /** of the fastest mapping; absent, as all but `problem` and `gains` below, where none fits (s), or absent */
  step_s: number;
  /** no mapping takes less (s), or absent */
  bound_s: number;
  /** both are equal, so that the mapping is proven to be the fastest, or absent */
  exact: boolean;
  /** model FLOP over the peak of all chips, or absent */
  utilisation: number;
  /** of all replicas (samples/s), or absent */
  samples_per_second: number;
  /** model FLOP a second of all chips (FLOP/s), or absent */
  flop_per_s: number;
  /** of chips, memories, links and switches; 0 where unknown (USD), or absent */
  price_usd: number;
  /** of chips, memories, links and switches; 0 where unknown (W), or absent */
  power_w: number;
  /** degrees of parallelism in words, or absent */
  shape: string;
  /** of a layer's time, partitions that are limited by computing, or absent */
  compute_share: number;
  /** of a layer's time, partitions that are limited by DRAM, or absent */
  memory_share: number;
  /** of a layer's time, partitions that are limited by transfers, or absent */
  network_share: number;
  /** `(step_s - bound_s) / step_s`, or absent */
  gap: number;
  /** `flop_per_s` for a dollar of the system; 0 where the price is unknown (FLOP/s/USD), or absent */
  flop_per_s_per_usd: number;
  /** `flop_per_s` for a watt of the system; 0 where the power is unknown (FLOP/s/W), or absent */
  flop_per_s_per_w: number;
  /** where none fits: why, and what to do, or absent */
  problem: string;
  /** with `--explain`: the step's speedup with twice of a resource, greatest first; empty without it */
  gains: ExploreGains;
}

interface ExplorePagePoint extends ExplorePoint {
  /** no other point is faster, cheaper and leaner in power at once */
  front: boolean;
}

interface ExplorePage {
  /** the question in words */
  asked: string;
  /** of each number that points can be best in, where any fits; empty where none does */
  best: ExploreBest[];
  /** in the order of the sweep */
  points: ExplorePagePoint[];
}

interface MappedWorkload {
  /** of its graph */
  name: string;
  /** of the graph */
  kernels: number;
  /** of tensors by kernels */
  uses: number;
  /** with backward passes and an optimizer */
  training: boolean;
  /** in series */
  layers: number;
  /** samples of a step */
  global_batch: number;
  /** of a sample; of what tiles cut */
  tokens: number;
  /** from layer to layer, of a sample (B) */
  boundary_bytes: number;
  /** kept in memory besides weights (B) */
  resident_bytes: number;
  /** of an element (B) */
  word_bytes: number;
  /** of a step, all layers and samples (FLOP) */
  step_flop: number;
  /** in words, what the graph's file left open and what was taken */
  assumed: string[];
}

interface MappedDimension {
  /** how its chips are joined: `ring`, `full` or `switch` */
  kind: string;
  /** chips along it */
  size: number;
  /** of a ring, one direction; fully connected, of one link; of a switch, of a chip's port (B/s) */
  bandwidth_bytes_per_s: number;
  /** of one message over one hop (s) */
  latency_s: number;
  /** chips of it that tensor parallelism spans */
  tp: number;
  /** chips of it that pipeline parallelism spans */
  pp: number;
  /** chips of it that data parallelism spans */
  dp: number;
}

interface Fact {
  /** which number it is: `hbm_capacity`, `node.bandwidth` */
  key: string;
  /** the number (as `unit` says) */
  value: number;
  /** `B/s`, `s`, `USD`; empty where it has none */
  unit: string;
  /** what it rests on: `measured`, `table`, `fitted`, `assumed`, and `published` or `roofline` for what makers publish */
  basis: string;
  /** where it is from */
  source: string;
}

interface MappedSystem {
  /** as it was asked for */
  name: string;
  /** what every chip is */
  chip: string;
  /** of all dimensions */
  chips: number;
  /** of a chip at the workload's precision (FLOP/s) */
  peak_flop_per_s: number;
  /** it runs one kernel at a time (GPUs, TPUs): partitions are kernels */
  kernel_by_kernel: boolean;
  /** what a partition may hold (B) */
  sram_bytes: number;
  /** of a chip's DRAM (B/s) */
  memory_bandwidth_bytes_per_s: number;
  /** of a chip's DRAM; 0: no limit (B) */
  memory_capacity_bytes: number;
  /** of the network, innermost first */
  dimensions: MappedDimension[];
  /** numbers of the system, with where they are from */
  facts: Fact[];
}

interface MappingModel {
  /** `full`, or `paper`: DFModel as published */
  name: string;
  /** of the peak rate that kernels reach; 0: cycles of the chip's tiles are counted */
  utilisation: number;
  /** what a partition does at the same time: `perfect` (compute, memory and network), `compute-memory` or `none` */
  overlap: string;
  /** passes of a tensor-parallel all-reduce */
  all_reduce_factor: number;
  /** passes of the data-parallel all-reduce */
  gradient_factor: number;
  /** that the optimizer moves (B) */
  optimizer_bytes_per_parameter: number;
  /** a tensor is stored once and loaded once a partition */
  shared_tensors: boolean;
  /** a layer's input and output pass DRAM */
  boundary_traffic: boolean;
  /** a partition's weights are loaded when it starts */
  weight_traffic: boolean;
  /** a lone kernel whose weights pass SRAM in pieces moves all its tensors once a piece */
  pieces_traffic: boolean;
  /** accumulating a weight gradient reads and writes it */
  gradient_traffic: boolean;
  /** collectives pay the hops' latency */
  latency: boolean;
  /** capacity counts gradients, optimizer states and activations in flight */
  training_state: boolean;
  /** keys and values are buffered whole, not by tile */
  whole_left_operands: boolean;
  /** sharding may split what it sums, so that nothing need be replicated */
  reduce_scatter: boolean;
  /** shardings are chosen by time; else by bytes, as published */
  sharding_by_time: boolean;
  /** sends between stages are charged for each microbatch; else once a step */
  send_per_microbatch: boolean;
  /** the pipeline's bubble is the published formula's */
  published_bubble: boolean;
  /** gradients are summed bit by bit in every microbatch's partitions, as published; else once a step, under the last backward pass */
  hide_gradients: boolean;
  /** the optimizer's DRAM traffic ends a step */
  optimizer_step: boolean;
}

interface MappingShape {
  [name: string]: number;
  /** tensor-parallel degree */
  tp: number;
  /** pipeline stages */
  pp: number;
  /** replicas */
  dp: number;
  /** samples */
  microbatch: number;
  /** of a step */
  microbatches: number;
  /** tokens */
  tile: number;
  /** of a pipeline stage */
  layers_per_stage: number;
}

interface MappingTimes {
  [name: string]: number;
  /** one microbatch through one layer (s) */
  layer_s: number;
  /** through a stage of the pipeline, sends included (s) */
  stage_s: number;
  /** sends outside of stages, of a step (s) */
  send_s: number;
  /** step over that of a pipeline that is always full */
  bubble: number;
  /** summing gradients at the end of a step, not hidden (s) */
  gradients_s: number;
  /** the optimizer at the end of a step, not hidden (s) */
  optimizer_s: number;
}

interface Partition {
  /** `forward` or `backward` */
  pass: string;
  /** all of it, as far as the three that follow overlap (s) */
  time_s: number;
  /** computing (s) */
  compute_s: number;
  /** DRAM traffic (s) */
  memory_s: number;
  /** transfers (s) */
  network_s: number;
  /** which of them is greatest: `compute`, `memory` or `network` */
  limit: string;
  /** of one chip (FLOP) */
  work_flop: number;
  /** used (B) */
  sram_bytes: number;
  /** moved to and from DRAM (B) */
  dram_bytes: number;
  /** sent to other chips (B) */
  wire_bytes: number;
  /** tensors in DRAM while it runs (B) */
  live_bytes: number;
  /** names of its kernels */
  kernels: string[];
  /** where cycles are counted, the chip's tiles that each of its kernels has, or absent */
  tiles: number[];
}

interface MappedKernel {
  /** unique in the graph */
  name: string;
  /** what it computes: `gemm`, `softmax`, `elementwise`, ... */
  kind: string;
  /** `forward` or `backward` */
  pass: string;
  /** products at once, of one sample on all chips */
  outer: number;
  /** rows, of one sample on all chips */
  m: number;
  /** columns, of one sample on all chips */
  n: number;
  /** that is summed over; 0: nothing is */
  k: number;
  /** of one sample on all chips (FLOP) */
  sample_flop: number;
  /** parameters it reads (B) */
  weight_bytes: number;
  /** that it is in, from 0 */
  partition: number;
  /** the dimension that is divided among the tensor-parallel chips: `none`, `outer`, `m`, `n`, `k`, `k->m` (summed, then divided) or `k->n` */
  sharding: string;
}

interface MappedTensor {
  /** of the graph */
  name: string;
  /** kernel that makes it */
  producer: string;
  /** kernels that read it */
  readers: string[];
  /** of one sample (B) */
  sample_bytes: number;
  /** on the tensor-parallel chips, as the producer leaves it: `replicated`, `features` or `tokens` */
  layout: string;
}

interface MappingMemory {
  [name: string]: number;
  /** weights (B) */
  weights: number;
  /** gradients (B) */
  gradients: number;
  /** states of the optimizer (B) */
  optimizer: number;
  /** activations in flight (B) */
  activations: number;
  /** tensors that pass between partitions (B) */
  live: number;
  /** their sum (B) */
  total: number;
}

interface MappingRoofline {
  [name: string]: number;
  /** of a chip (FLOP/s) */
  peak_flop_per_s: number;
  /** of a chip (FLOP/s) */
  achieved_flop_per_s: number;
  /** of a chip (B/s) */
  memory_bandwidth_bytes_per_s: number;
  /** of the tensor-parallel group (B/s) */
  network_bandwidth_bytes_per_s: number;
  /** work per byte of DRAM (FLOP/B) */
  memory_intensity_flop_per_byte: number;
  /** work per byte sent (FLOP/B) */
  network_intensity_flop_per_byte: number;
}

interface MappingCounts {
  [name: string]: number;
  /** degrees on dimensions of the network */
  shapes: number;
  /** with microbatches and tiles */
  candidates: number;
  /** of these, those whose bound was no better */
  bounded: number;
  /** of these, those that fit no memory */
  unfit: number;
  /** order ideals of all shortest paths */
  ideals: number;
  /** transitions of all shortest paths */
  transitions: number;
}

interface Mapping {
  /** a step (s) */
  step_s: number;
  /** no mapping of this problem takes less (s) */
  bound_s: number;
  /** both are equal, so that the mapping is proven to be the fastest */
  exact: boolean;
  /** `(step_s - bound_s) / step_s` */
  gap: number;
  /** model FLOP over the peak of all chips */
  utilisation: number;
  /** of all replicas (samples/s) */
  samples_per_second: number;
  /** of chips, memories, links and switches; 0 where unknown (USD) */
  price_usd: number;
  /** of chips, memories, links and switches; 0 where unknown (W) */
  power_w: number;
  /** what the times rest on: `measured`, `table`, `fitted`, `roofline` or `assumed` */
  basis: string;
  /** what is run */
  workload: MappedWorkload;
  /** what it runs on */
  system: MappedSystem;
  /** what is counted, and how */
  model: MappingModel;
  /** degrees of parallelism and sizes */
  shape: MappingShape;
  /** of a layer, a stage and the end of a step */
  times: MappingTimes;
  /** in the order in which they run */
  partitions: Partition[];
  /** of the workload's graph */
  kernels: MappedKernel[];
  /** between its kernels */
  tensors: MappedTensor[];
  /** of the fullest chip, by class */
  memory_bytes: MappingMemory;
  /** where a chip stands under its three roofs */
  roofline: MappingRoofline;
  /** how much was searched */
  search: MappingCounts;
}

interface Flow {
  /** its name in the file */
  id: string;
  /** sent (B) */
  bytes: number;
  /** of its first byte (s) */
  start_s: number;
  /** of its last (s) */
  end_s: number;
}

interface UsedLink {
  /** of the link */
  name: string;
  /** over the run (B) */
  carried_bytes: number;
  /** use of its capacity over the run */
  mean: number;
  /** the same per interval */
  used: number[];
}

interface Traffic {
  /** as it was asked for */
  cluster: string;
  /** when the last flow was complete (s) */
  end_s: number;
  /** in the file's order */
  flows: Flow[];
  /** length of the intervals of `links` (s) */
  interval_s: number;
  /** that carried anything, busiest first */
  links: UsedLink[];
}

interface TrafficPage extends Traffic {
  /** run */
  kind: string;
  /** the question in a line */
  title: string;
}

interface CollectivePart {
  /** of the cluster */
  level: string;
  /** that no bandwidth shortens (s) */
  latency_s: number;
  /** in which bytes move (s) */
  transfer_s: number;
}

interface CollectiveCandidate {
  /** ring, tree, ... */
  algorithm: string;
  /** ll, ll128, simple */
  protocol: string;
  /** with these (s) */
  time_s: number;
}

interface Collective {
  /** the operation: all_reduce, all_gather, ... */
  op: string;
  /** as it was asked for */
  cluster: string;
  /** that take part */
  ranks: number;
  /** as nccl-tests count them (B) */
  bytes: number;
  /** until the last rank is done (s) */
  time_s: number;
  /** 10 % of measured runs like it are faster (s) */
  low_s: number;
  /** 10 % are slower (s) */
  high_s: number;
  /** bytes over time (B/s) */
  algorithm_bandwidth: number;
  /** what the links see of it (nccl-tests) (B/s) */
  bus_bandwidth: number;
  /** measured, table, fitted, roofline or assumed */
  basis: string;
  /** where the numbers are from, in words */
  source: string;
  /** measurements of one's own that the answer has: `--fit`, and those of the cluster's line or file */
  own_fits: OwnFit[];
  /** that the library takes */
  algorithm: string;
  /** that it takes with it */
  protocol: string;
  /** the time by level of the cluster */
  parts: CollectivePart[];
  /** every algorithm and protocol considered, fastest first */
  candidates: CollectiveCandidate[];
}

interface CollectivePoint {
  [name: string]: number;
  /** of the message (B) */
  bytes: number;
  /** forecast (s) */
  time_s: number;
  /** as above (B/s) */
  bus_bandwidth: number;
}

interface CollectiveCurve {
  /** forecast, or an algorithm and protocol */
  name: string;
  /** the forecast itself */
  chosen: boolean;
  /** by size */
  points: CollectivePoint[];
}

interface CollectivePage extends Collective {
  /** time */
  kind: string;
  /** the question in a line */
  title: string;
  /** times over sizes */
  curves: CollectiveCurve[];
}

interface PlanAsked {
  /** name of the model */
  model: string;
  /** its trainable values */
  parameters: number;
  /** of the model */
  layers: number;
  /** the cluster as named */
  on: string;
  /** the cluster as searched: with so many chips, and changed */
  cluster: string;
  /** of the cluster */
  chip: string;
  /** memory of a chip; a plan may use `memory_share` of it (B) */
  capacity_bytes: number;
  /** that plans use */
  chips: number;
  /** sequences of one step */
  global_batch: number;
  /** tokens of a sequence */
  sequence: number;
  /** that every plan keeps to: `pp=4`, `tp<=8` */
  constraints: string[];
  /** what this point changes of the machine: name and value */
  sweep: Record<string, string>;
  /** the launcher whose plans only are searched: `megatron`, `torchtitan` or `deepspeed`; empty: all plans */
  launchable: string;
  /** choices of `base` that somebody named */
  named: string[];
  /** every placement of a plan is searched, not only the usual one */
  placements: boolean;
  /** whether the best of each launcher was asked for; not in sweeps */
  launches: boolean;
  /** of a chip's memory that a plan may use */
  memory_share: number;
  /** with which a plan has to fit into that */
  fit_odds: number;
  /** price of a chip; 0: not told (USD/h) */
  usd_per_chip_hour: number;
  /** how many plans were asked for */
  best: number;
  /** what was asked of the whole run */
  run: RunAsked | null;
  /** the profile of the training's software */
  software: string;
  /** measurements of one's own that the answer has: `--fit`, and those of the cluster's line or file */
  own_fits: OwnFit[];
  /** the plan whose choices every plan has */
  base: Plan;
  /** version that answered */
  flopcast: string;
}

interface SearchShard {
  [name: string]: number;
  /** which part it is, from 0 */
  index: number;
  /** how many parts there are */
  of: number;
}

interface PlanCounts {
  [name: string]: number;
  /** possible plans */
  plans: number;
  /** possible plans with each of their placements */
  placed: number;
  /** plans whose weights, state and kept activations alone do not fit with the odds asked for */
  too_big: number;
}

interface PlanRefusal {
  /** why plans are impossible */
  reason: string;
  /** how many it refuses */
  plans: number;
}

interface FoundPlan {
  /** the plan in one line */
  words: string;
  /** one step (s) */
  time_s: number;
  /** of the fullest chip (B) */
  memory_bytes: number;
  /** of the plan in the space; breaks ties */
  number: number;
  /** every setting, by its short name */
  plan: Plan;
  /** where its groups lie on the network */
  placement: Placement;
}

interface PlanMemory extends MemoryClasses {
  /** microbatches whose activations are kept at once */
  in_flight: number;
}

interface Sensitivity {
  /** of the hardware: `matrix rate`, `hbm bandwidth`, `node latency`, ... */
  number: string;
  /** of the step where that number is 10 % higher; -0.02: 2 % shorter */
  change: number;
}

interface BestPlan extends FoundPlan {
  /** low end of the 10-90 % band of `time_s` (s) */
  low_s: number;
  /** high end of that band (s) */
  high_s: number;
  /** it is as fast as the fastest, as far as forecasts tell, and not alone in that */
  tie: boolean;
  /** low end of the 10-90 % band of `memory_bytes` (B) */
  memory_low_bytes: number;
  /** high end of that band (B) */
  memory_high_bytes: number;
  /** how likely the plan fits */
  fit_odds: number;
  /** of all chips (tokens/s) */
  tokens_per_second: number;
  /** model FLOPs (causal) over the dense peak of all chips, without recomputed ones */
  mfu: number;
  /** model FLOPs over the dense peak of all chips, with recomputed ones */
  hfu: number;
  /** of one step, all chips at their power limit; 0 where the power is unknown (J) */
  energy_j: number;
  /** of one step; 0 without a price (USD) */
  cost_usd: number;
  /** where the step goes on the chip that is busy longest; sums to `time_s` */
  parts_s: StepParts;
  /** of the fullest chip, by class */
  memory: PlanMemory;
  /** share of kernel and transfer time by what it rests on */
  rests_on: RestsOn;
  /** the plan as flags of Megatron-LM */
  megatron: string;
  /** what Megatron-LM cannot run of it; where there is any, the flags are another plan */
  megatron_lacks: string[];
  /** the whole run with this plan */
  run: WholeRun | null;
  /** only in parts of a search: of a plan that ties, as of the best, or absent */
  sensitivities: Sensitivity[];
  /** only in parts of a search: as of the best, or absent */
  assumed: string[];
}

interface LaunchFile {
  [name: string]: string;
  /** of the file */
  name: string;
  /** what is in it */
  text: string;
}

interface LaunchElsewhere {
  [name: string]: string;
  /** of the setting */
  name: string;
  /** that it has to have */
  value: string;
  /** what tells it */
  where: string;
}

interface PlanLaunch {
  /** `megatron`, `torchtitan` or `deepspeed` */
  launcher: string;
  /** the launcher and the release that its rules are of */
  release: string;
  /** profile that its plans are priced as */
  software: string;
  /** its fastest plan, at its own placement; null: it has none */
  best: FoundPlan | null;
  /** low end of the 10-90 % band of its step; where there is a best (s), or absent */
  low_s: number;
  /** high end of that band (s), or absent */
  high_s: number;
  /** variables, `NAME=VALUE`, or absent */
  environment: string[];
  /** the launch line, over several lines, or absent */
  command: string;
  /** that the line names, or absent */
  files: LaunchFile[];
  /** what of the plan the launcher cannot run: nothing, but for plans of your own, or absent */
  cannot_run: string[];
  /** settings that its program is told otherwise, or absent */
  told_elsewhere: LaunchElsewhere[];
  /** in words, what is left to whoever starts it, or absent */
  notes: string[];
  /** where there is no best: why, or absent */
  why: string;
  /** where there is no best: plans that it runs, or absent */
  plans: number;
  /** where there is no best: what refuses the others, or absent */
  refused: PlanRefusal[];
  /** in words: its software, how it numbers chips, what it sets by itself */
  assumed: string[];
}

interface RounderStep {
  [name: string]: number;
  /** sequences of one step */
  global_batch: number;
  /** tokens of a sequence */
  sequence: number;
  /** the step of their fastest plan (s) */
  time_s: number;
}

interface PlanPoint {
  /** the question as it was understood */
  asked: PlanAsked;
  /** only in parts of a search (`--shard`), or absent */
  shard: SearchShard;
  /** whether any plan fits */
  fits: boolean;
  /** how many plans were judged */
  search: PlanCounts;
  /** why plans are impossible, most frequent first; empty unless no plan is possible */
  refused: PlanRefusal[];
  /** plans that tie with the fastest first, of these the leanest before others, then the rest, fastest first ([why](../theory/search.md#ties)); empty where none fits. In parts of a search all that may be among the best of the whole */
  best: BestPlan[];
  /** the best plan of `megatron`, `torchtitan` and `deepspeed`, or of the one that is `launchable`; empty in sweeps */
  launch: PlanLaunch[];
  /** plans that no other is both faster and leaner than, fastest first */
  pareto: FoundPlan[];
  /** the plan that needs least memory; null where no plan is possible */
  leanest: FoundPlan | null;
  /** what the best plan's step gains by better hardware, most important first */
  sensitivities: Sensitivity[];
  /** in words, what nobody told and nothing measured */
  assumed: string[];
  /** sizes near those asked for that divide better; null where these divide well */
  rounder: RounderStep | null;
  /** in words, what these would save, where that is 3 % a token or more; else empty */
  hint: string;
}

interface PlanPage {
  /** words for the fields of `parts_s` */
  meanings: StepPartMeanings;
  /** which point is fastest, which are as fast, and which of these costs least; empty where nothing fits */
  verdict: string;
  /** of the sweep, in its order; one where nothing is swept */
  points: PlanPoint[];
}

interface Problem {
  /** exit code of the kind of error: 2 wrong usage, 3 bad input, 4 too large for the machine, 5 no solution */
  code: number;
  /** the file, flag or field that it is about */
  where: string;
  /** what is wrong */
  what: string;
  /** what was expected, or what to do; empty where nothing helps */
  hint: string;
}

interface Breakdown {
  [name: string]: number;
  /** kernels, no communication beside them (s) */
  exposed_compute: number;
  /** communication, no compute beside it (s) */
  exposed_communication: number;
  /** part of `exposed_communication`: all ranks are there, and data moves: the most that a faster network could win back (s) */
  transfer: number;
  /** the other part: not all ranks of the collective have come yet, so that a faster network gains nothing; the sum of the next three (s) */
  waiting: number;
  /** for the GPU of the last rank, which had more work since the collective before than the one that waits, or took longer for it (s) */
  waiting_for_rank: number;
  /** for the host of the last rank: by so much its GPU stood idle longer since the collective before (s) */
  waiting_for_host: number;
  /** for what another stage of the pipeline computes, which no plan can do without: in a send or receive between two ranks, or in a collective that stages share (s) */
  waiting_for_stage: number;
  /** kernels and communication at once (s) */
  overlapped: number;
  /** neither: copies and sets alone, and nothing. `exposed_compute`, `exposed_communication`, `overlapped` and `other` add up to the window (s) */
  other: number;
  /** nothing at all; part of `other` (s) */
  idle: number;
}

interface TwoBreakdowns {
  /** as recorded */
  measured: Breakdown;
  /** as replayed */
  replayed: Breakdown;
}

interface ReplayStep {
  /** of the step */
  name: string;
  /** the lags it was replayed with, as of the set */
  mode: string;
  /** the step on the host as recorded (s) */
  measured_s: number;
  /** the step on the host as replayed (s) */
  replayed_s: number;
  /** of the step on the host; null where nothing was measured */
  error: number | null;
  /** the step on the GPU as recorded: from the last end of GPU work launched in the step before to the last end of that launched in this one; null where there is no GPU step (s) */
  gpu_measured_s: number | null;
  /** the same as replayed (s) */
  gpu_replayed_s: number | null;
  /** of the step on the GPU; null where there is none */
  gpu_step_error: number | null;
  /** median distance of replayed from recorded start over its GPU tasks (s) */
  start_error_median_s: number;
  /** GPU time within the host step by what ran */
  breakdown_s: TwoBreakdowns;
}

interface SmTimeUsed {
  /** as recorded; null where SM count or blocks are unknown */
  measured: number | null;
  /** as replayed; null where SM count or blocks are unknown */
  replayed: number | null;
}

interface ReplayWindow {
  /** its length as recorded (s) */
  measured_s: number;
  /** its length as replayed (s) */
  replayed_s: number;
  /** its GPU time by what ran */
  breakdown_s: TwoBreakdowns;
  /** share of SM time that kernels had blocks for */
  sm_time_used: SmTimeUsed;
}

interface ReplayCurve {
  /** of one value: 1 ms, wider where there would be more than a million (s) */
  interval_s: number;
  /** per interval of the window, share of it with any stream at work */
  active: number[];
  /** per interval, share of SM time that kernels had blocks for; empty where SM count or blocks are unknown */
  sms_used: number[];
}

interface ReplayUtilisation {
  /** as recorded */
  measured: ReplayCurve;
  /** as replayed */
  replayed: ReplayCurve;
}

interface ReplayRank {
  /** its number, or its place in the set where no file tells it */
  rank: number;
  /** that it was read from */
  file: string;
  /** training steps in order (`ProfilerStep#N`); the whole window where a trace marks none */
  steps: ReplayStep[];
  /** first start to last end of any GPU task; of any task where there is none of a GPU */
  window: ReplayWindow;
  /** of the window over time; `replay --json` only, or absent */
  utilisation: ReplayUtilisation;
}

interface ReplayEdgeCount {
  /** edges in the graph */
  count: number;
  /** candidates that the recording contradicts (the source ends after the target starts) and that were dropped */
  contradicted: number;
  /** the first of those in words, or absent */
  example: string;
}

interface ReplayEdges {
  /** from a host call to the GPU work that it launches */
  launch: ReplayEdgeCount;
  /** from GPU work to the next of its stream */
  stream: ReplayEdgeCount;
  /** between GPU work inside one launch of a CUDA graph */
  graph: ReplayEdgeCount;
  /** between streams, by an event that is known */
  event: ReplayEdgeCount;
  /** between streams, the source found by a rule, without the event's identity */
  event_inferred: ReplayEdgeCount;
  /** between streams without an event: the SMs were full until the source's last wave */
  occupancy: ReplayEdgeCount;
  /** from GPU work to a host call that waits for it: device, stream or event synchronisation, a blocking copy */
  sync: ReplayEdgeCount;
  /** from one host thread to another */
  thread: ReplayEdgeCount;
  /** between the ranks of a collective */
  rendezvous: ReplayEdgeCount;
}

interface ReplayPin {
  /** that was taken from the recording */
  what: string;
  /** how many */
  tasks: number;
  /** by how much they start later than the graph explains, summed (s) */
  late_s: number;
}

interface ReplayLag {
  /** whose */
  rank: number;
  /** kind of the dependency, as in `edges` */
  edge: string;
  /** how often it was seen */
  samples: number;
  /** median (s) */
  typical_s: number;
  /** the least (s) */
  smallest_s: number;
}

interface ReplayClock {
  [name: string]: number;
  /** whose */
  rank: number;
  /** added to its times so that collectives end together (s) */
  rank_offset_s: number;
  /** added to those of its GPU so that no kernel starts before its launch (s) */
  gpu_offset_s: number;
}

interface TwoRuns {
  [name: string]: number;
  /** as recorded (s) */
  measured: number;
  /** as replayed (s) */
  replayed: number;
}

interface ReplayCollective {
  /** of the collective */
  name: string;
  /** of ranks; empty where it is not known */
  group: string;
  /** how many of that name and group */
  count: number;
  /** the most that any of them has */
  ranks: number;
  /** all together, B; 0 where the trace does not say */
  bytes: number;
  /** how many some rank had left before another came */
  not_rendezvous: number;
  /** time until the last rank arrives, summed over ranks */
  wait_s: TwoRuns;
  /** time after that, summed over ranks */
  transfer_s: TwoRuns;
}

interface ReplayNetworkOperation {
  /** of the operation: `all_reduce`, ... */
  name: string;
  /** that were matched across ranks */
  collectives: number;
  /** of these, that kept their recorded transfer */
  kept: number;
  /** why; empty where none was kept */
  kept_because: string;
  /** the transfers replaced, summed over ranks, as recorded (s) */
  recorded_s: number;
  /** the same by the model (s) */
  modelled_s: number;
  /** of the model's answer */
  source: string;
}

interface ReplayNetwork {
  /** whose model gave transfer times */
  cluster: string;
  /** by operation */
  operations: ReplayNetworkOperation[];
}

interface PathShare {
  [name: string]: number;
  /** of the path */
  pieces: number;
  /** theirs together (s) */
  time_s: number;
}

interface PathClasses {
  /** host: operators, or absent */
  operator: PathShare;
  /** host: calls other than launches and waits, or absent */
  host_call: PathShare;
  /** host: calls that launch GPU work, or absent */
  launch: PathShare;
  /** host: waiting for the GPU, or absent */
  sync: PathShare;
  /** host: between operators, or absent */
  host_gap: PathShare;
  /** GPU: compute, or absent */
  compute: PathShare;
  /** GPU: copies and sets, or absent */
  copy: PathShare;
  /** GPU: communication, or absent */
  communication: PathShare;
  /** delays after dependencies, or absent */
  lag: PathShare;
  /** as recorded, since nothing explains it, or absent */
  pinned: PathShare;
}

interface ReplayPath {
  /** from the start of the path to the end of the run. The path goes back to the start of the last rank's window, or further on a rank that began before (s) */
  length_s: number;
  /** tasks and gaps on it */
  pieces: number;
  /** pieces on another rank than the one before */
  rank_changes: number;
  /** the rank that the path ends with */
  last_rank: number;
  /** that rank's window (s) */
  window_s: number;
  /** tasks on the path that start when recorded, because nothing in the trace holds them; there the path goes on with what ended last before, and the time between is of the class `pinned` */
  pinned_starts: number;
  /** first part of the path, up to the last of those starts; nothing in it makes the run shorter (s) */
  pinned_s: number;
  /** pieces and time by class; they add up to the path */
  classes: PathClasses;
  /** pieces and time by rank, its number as the key; they add up to the path */
  ranks: Record<string, PathShare>;
}

interface ReplayStraggler {
  [name: string]: number;
  /** the one that the others wait for */
  rank: number;
  /** its share of the critical path, from the last start that is as recorded to the last collective */
  share_of_path: number;
  /** collectives to which it comes last */
  last: number;
  /** that several ranks join */
  collectives: number;
  /** how long the others waited in those to which it comes last, summed over them (s) */
  waited_s: number;
  /** how much of that for its host (s) */
  waited_for_host_s: number;
  /** what share of all waiting in collectives that is */
  share_of_waiting: number;
}

interface ReplayLate {
  [name: string]: number;
  /** that its equals wait for */
  rank: number;
  /** collectives to which it came last */
  last: number;
  /** how long they waited, as replayed (s) */
  waited_s: number;
  /** of that for its host (s) */
  waited_for_host_s: number;
}

interface SensitivityPart {
  /** `host`, `gemm`, `attention`, `other_kernels`, `copies`, `other_communication`, an operation such as `all_reduce`, or `network`: every transfer */
  part: string;
  /** the part in words */
  title: string;
  /** its time in a step over all ranks (s) */
  work_s: number;
  /** GPU step with less of it; null if that run cannot finish (s) */
  gpu_step_s: number | null;
  /** of the GPU step; null if that run cannot finish */
  change: number | null;
  /** GPU step with none of it; null if that run cannot finish (s) */
  limit_s: number | null;
  /** of the GPU step then */
  limit_change: number | null;
}

interface LikeEquals {
  /** that is made like its equals */
  rank: number;
  /** GPU step then; null where it has no equals (s) */
  gpu_step_s: number | null;
  /** of the GPU step then */
  change: number | null;
  /** who is waited for most then */
  next: number | null;
  /** how long (s) */
  next_waited_s: number;
}

interface ReplaySensitivity {
  /** of its time that each part takes less while the engine runs once more: 0.1, a tenth */
  less_time: number;
  /** as recorded, the mean over ranks and over the usual steps, without the first: `before_s` of a what-if (s) */
  gpu_step_s: number;
  /** of the work, most gain first */
  parts: SensitivityPart[];
  /** of the rank that others wait for most (`whatif --remove straggler:RANK`) */
  late: LikeEquals | null;
  /** of the rank that `whatif --remove straggler` removes; null where it removes none */
  straggler: LikeEquals | null;
}

interface ReplayLateTask {
  /** whose */
  rank: number;
  /** of the task */
  name: string;
  /** when it started in the recording (s) */
  recorded_start_s: number;
  /** by how much later than the graph explains (s) */
  late_s: number;
}

interface ReplayLateStarts {
  /** how many */
  count: number;
  /** by how much they are late, summed (s) */
  total_s: number;
  /** the same of all ranks' windows */
  share_of_windows: number;
  /** the latest first */
  tasks: ReplayLateTask[];
}

interface ReplayKernel {
  /** of the kernel */
  name: string;
  /** how often it ran */
  count: number;
  /** its time as recorded (s) */
  measured_s: number;
  /** its time as replayed (s) */
  replayed_s: number;
}

interface TraceAnomaly {
  /** of which rank's file it is; null: of the run */
  rank: number | null;
  /** a stable name of the oddity */
  kind: string;
  /** how often it was met */
  count: number;
  /** the first example */
  first: string;
}

interface ShareDifference {
  [name: string]: number;
  /** of that part */
  exposed_compute: number;
  /** of that part */
  exposed_communication: number;
  /** of that part */
  overlapped: number;
  /** of that part */
  idle: number;
}

interface ReplayQuality {
  /** host steps that have an error */
  steps: number;
  /** mean size of `error` of host steps; null where there is none */
  mean_abs_error: number | null;
  /** the largest */
  max_abs_error: number | null;
  /** GPU steps that have an error */
  gpu_steps: number;
  /** mean size of `gpu_step_error`; null where there is none */
  mean_abs_gpu_step_error: number | null;
  /** the largest */
  max_abs_gpu_step_error: number | null;
  /** median distance of replayed from recorded start of all GPU tasks, as a share of the mean window; null where there is no GPU step */
  start_error_median_of_window: number | null;
  /** largest difference, over ranks, between the measured and the replayed share of the window */
  max_share_difference: ShareDifference;
}

interface ReplayReport {
  /** the folder, or `folder/run` where a folder holds several runs */
  name: string;
  /** why the run could not be replayed; there is nothing else then but `name`, or absent */
  failure: Problem;
  /** the lags it was replayed with: `typical`, `zero` or `recorded`. Errors with `recorded` say nothing of accuracy, or absent */
  mode: string;
  /** the model: `full`, `single-stream`, `no-inter-stream` or `dpro`, or absent */
  baseline: string;
  /** the step whose structure was replayed; only where one step was replayed with the durations of another, or absent */
  structure_from: string;
  /** the step whose durations those were, or absent */
  durations_from: string;
  /** false: the recording is damaged, its numbers are no forecast, and `summary` leaves them out, or absent */
  forecast: boolean;
  /** why, in words; empty where `forecast` is true, or absent */
  damage: string[];
  /** files that end before their trace does, and what was read of them, in words, or absent */
  truncated: string[];
  /** what the run is bound by, where the GPUs' time goes, who is last and why, the three changes worth most: a sentence each, for people, or absent */
  verdict: string[];
  /** of the execution graph, or absent */
  tasks: number;
  /** of the execution graph, or absent */
  task_edges: number;
  /** in the order of the set, or absent */
  ranks: ReplayRank[];
  /** dependencies by kind; all kinds are there, or absent */
  edges: ReplayEdges;
  /** what was taken from the recording because nothing in it explains it, or absent */
  pinned: ReplayPin[];
  /** delays from the end of a dependency to the task it frees, by rank and kind of edge, or absent */
  lags: ReplayLag[];
  /** what was added to the times of each rank, or absent */
  clocks: ReplayClock[];
  /** by how much the ends of a collective still differ between ranks (median) (s), or absent */
  clock_residual_s: number;
  /** by name and group, most transfer time first, or absent */
  collectives: ReplayCollective[];
  /** what the model of the cluster replaced; only with `--network`, or absent */
  network: ReplayNetwork;
  /** the chain of tasks, each held back by the one before it, that ends with the replayed run, or absent */
  critical_path: ReplayPath;
  /** the rank that the others wait for. In a pipeline it is also slower than its equals, the ranks of its stage: these wait for it, or the step gains if it is like them. Null where no rank has more than half of the critical path (from the last start that is as recorded to the last collective), or the others wait less than 1 % of the run for it, or absent */
  straggler: ReplayStraggler | null;
  /** every rank that its equals wait for in collectives, most first; ranks of other stages wait by plan, and so do the two of a send or receive, or absent */
  late: ReplayLate[];
  /** what would shorten the GPU step: the answers of `whatif` to the recording, whatever lags the replay has; null with `--compare`, `--baseline`, `--network` and `--structure-from`, for `validate replay`, for damaged recordings and where there is no GPU step: the verdict says why, or absent */
  sensitivity: ReplaySensitivity | null;
  /** GPU tasks that start later than anything in the graph explains, by more than 15 µs, or absent */
  late_starts: ReplayLateStarts;
  /** the 20 kernels with most time, all ranks together, or absent */
  top_kernels: ReplayKernel[];
  /** what was odd in the input, or absent */
  anomalies: TraceAnomaly[];
  /** files that were found but not read, or absent */
  unreadable: Problem[];
  /** how near the replay is to the recording, over all ranks and steps, or absent */
  summary: ReplayQuality;
}

interface ReplaySummary {
  /** all of them */
  sets: number;
  /** whose recording is damaged; they are in none of the errors */
  damaged_sets: number;
  /** that could not be replayed; they are in none of the errors */
  failed_sets: number;
  /** mean of the sets' means, host steps; null where there is none */
  mean_abs_error: number | null;
  /** the largest of any host step */
  max_abs_error: number | null;
  /** mean of the sets' means, GPU steps; null where there is none */
  mean_abs_gpu_step_error: number | null;
  /** the largest of any GPU step */
  max_abs_gpu_step_error: number | null;
}

interface Replay {
  /** version that wrote the document */
  flopcast: string;
  /** one per run; with `replay --compare` one per model of the run */
  sets: ReplayReport[];
  /** over all sets */
  summary: ReplaySummary;
}

interface PackedLane {
  /** of the stream or the thread */
  name: string;
  /** it is a stream of the GPU, else a thread */
  stream: boolean;
  /** how many it has */
  rows: number;
}

interface PackedRows {
  /** as of a rank, ns */
  merged_below_ns: number;
  /** as of a rank */
  lanes: PackedLane[];
  /** as of a rank */
  rows: string;
}

interface PackedCurve {
  /** of one value, ns */
  interval_ns: number;
  /** recorded and replayed, base64 of a byte an interval: share of the time with any stream at work, 200 is all */
  active: string[];
  /** recorded and replayed, in the same form: share of SM time that kernels had blocks for; empty where SM count or blocks are unknown */
  sms: string[];
}

interface RowsRank {
  /** whose rows these are */
  rank: number;
  /** rows of streams that are shorter, ns, are drawn as runs, those of threads not at all; 0: all rows are there */
  merged_below_ns: number;
  /** streams by number, then threads, those with most rows first */
  lanes: PackedLane[];
  /** base64 of variable-length integers, six a row, lane after lane: start after the start of the row before, length, number of the name, class, and by how much start (after that of the row before) and length differ in the second run; of communication also the waiting in both; all in ns */
  rows: string;
  /** of a what-if whose run after has rows of its own: those, or absent */
  after: PackedRows;
  /** a list a step: name, start and end in the first run, start and end in the second, ns */
  steps: any[];
  /** utilisation over time; absent in what-ifs, or absent */
  curve: PackedCurve;
}

interface PackedPath {
  /** of its pieces, by number */
  classes: string[];
  /** base64 of variable-length integers, five a piece: place of the rank, 1 + place of the row (0: none is drawn), number of the class, start after the end of the piece before, length; ns */
  pieces: string;
}

interface PathTitles {
  [name: string]: string;
  /** words for `operator`, or absent */
  operator: string;
  /** words for `host_call`, or absent */
  host_call: string;
  /** words for `launch`, or absent */
  launch: string;
  /** words for `sync`, or absent */
  sync: string;
  /** words for `host_gap`, or absent */
  host_gap: string;
  /** words for `compute`, or absent */
  compute: string;
  /** words for `copy`, or absent */
  copy: string;
  /** words for `communication`, or absent */
  communication: string;
  /** words for `lag`, or absent */
  lag: string;
  /** words for `pinned`, or absent */
  pinned: string;
}

interface RowsDocument {
  /** from the first to the last row that is drawn, ns */
  length_ns: number;
  /** that are drawn */
  ranks: RowsRank[];
  /** the critical path; of a what-if that of the run after */
  path: PackedPath;
  /** classes of the critical path, for people */
  path_titles: PathTitles;
  /** of rows; these have numbers of the list */
  names: string[];
  /** of the rows that the run after alone has, where its structure is another one, or absent */
  names_after: string[];
  /** what the two runs are called, if not recorded and replayed: the page holds one step of both then, or absent */
  runs: string[];
}

interface FleetSetting {
  [name: string]: string;
  /** of the flag */
  name: string;
  /** as given */
  value: string;
}

interface FleetQuestion {
  /** as named */
  model: string;
  /** the cluster as named */
  on: string;
  /** the same in its full name */
  cluster: string;
  /** of the cluster */
  chip: string;
  /** at most */
  chips: number;
  /** every fleet that none surpasses is asked for */
  front: boolean;
  /** fleets to tell */
  best: number;
  /** 0: no price was told (USD/h) */
  usd_per_chip_hour: number;
  /** version that searched */
  flopcast: string;
  /** that a fleet must keep: `ttft.p99<1000ms` */
  limits: string[];
  /** what they allow (s) */
  limits_s: number[];
  /** the largest load is what is looked for */
  largest: boolean;
  /** of loads: `users`, `requests/s` or `times the trace's rate` */
  load_unit: string;
  /** as given */
  settings: FleetSetting[];
}

interface FleetShard {
  [name: string]: number;
  /** of the part, from 0 */
  index: number;
  /** how many parts there are */
  of: number;
}

interface FleetSearch {
  /** fleets but for their counts of replicas */
  configurations: number;
  /** of them, that no engine runs */
  impossible: number;
  /** of them, whose weights or shortest request do not fit */
  out_of_memory: number;
  /** what bounds leave of the limits; 1 or more: a request that is alone exceeds them; null: no configuration can run */
  least_ratio: number | null;
  /** what bounds leave of chips: no fleet on fewer meets the limits */
  least_chips: number;
}

interface FleetProblem extends Problem {
  /** of the configuration that it is about */
  number: number;
}

interface ServingLayout {
  [name: string]: number;
  /** tensor-parallel chips of attention */
  tp: number;
  /** data-parallel ranks of attention, with requests of their own */
  dp: number;
  /** chips that share the experts out */
  ep: number;
  /** pipeline stages */
  pp: number;
}

interface FleetPool extends ServingLayout {
  /** of the pool */
  replicas: number;
}

interface SameFleet {
  /** the fleet in a line */
  words: string;
  /** of all its replicas */
  chips: number;
  /** `vllm`, `sglang` or `trtllm` */
  engine: string;
  /** of the weights */
  precision: string;
  /** of an iteration */
  batch_tokens: number;
  /** that run at once; 0: the engine's own */
  max_requests: number;
  /** of all work; of prompts where `decode` is there */
  pool: FleetPool;
  /** replicas that make answers; only where prompts are computed apart, or absent */
  decode: FleetPool;
  /** of its configuration in the space; breaks ties */
  number: number;
}

interface FleetPercentiles {
  [name: string]: number;
  /** mean (s) */
  mean_s: number;
  /** median (s) */
  p50_s: number;
  /** 90th percentile (s) */
  p90_s: number;
  /** 95th percentile (s) */
  p95_s: number;
  /** 99th percentile (s) */
  p99_s: number;
  /** the longest (s) */
  max_s: number;
  /** how many times these are of */
  count: number;
}

interface FoundFleet extends SameFleet {
  /** other fleets of the same chips and numbers */
  same: SameFleet[];
  /** of the fleet (tokens/s) */
  output_tokens_per_s: number;
  /** of a chip (tokens/s) */
  output_tokens_per_s_per_chip: number;
  /** of the fleet (requests/s) */
  requests_per_s: number;
  /** of answers (USD, or chip-hours where no price is told) */
  cost_per_million_tokens: number;
  /** the largest of what the run has by what a limit allows; below 1 it meets them */
  limit_ratio: number;
  /** the same at the slow end of the band; below 1: surely; 0: not looked at */
  slow_limit_ratio: number;
  /** with `largest`: the largest load that holds the limits; other numbers are of a run at that load; else 0, as the next three (load_unit) */
  largest_load: number;
  /** the next that was tried and does not hold; 0: there is none (load_unit) */
  next_load: number;
  /** the largest load at the slow end of the band (load_unit) */
  slow_largest_load: number;
  /** at the fast end (load_unit) */
  fast_largest_load: number;
  /** of all replicas */
  preemptions: number;
  /** time to the first token */
  ttft: FleetPercentiles;
  /** time per output token behind the first */
  tpot: FleetPercentiles;
  /** gaps between tokens */
  inter_token: FleetPercentiles;
  /** time of the whole answer */
  latency: FleetPercentiles;
}

interface FleetLaunch {
  /** `prefill and decode`, or `prefill` and `decode` of two pools */
  role: string;
  /** how many are started so */
  replicas: number;
  /** what `$MODEL` is to name */
  checkpoint: string;
  /** for a shell */
  command: string;
  /** of a file that the command reads; empty where there is none */
  file_name: string;
  /** what is in it, YAML */
  file: string;
  /** what of the forecast no flag says */
  lacks: string[];
}

interface FleetsDocument {
  /** the question as it was understood */
  asked: FleetQuestion;
  /** only in parts of a search: which, or absent */
  shard: FleetShard;
  /** any fleet meets the limits */
  found: boolean;
  /** what was looked at */
  search: FleetSearch;
  /** where no configuration can run: why; else null */
  problem: FleetProblem | null;
  /** fleets that meet the limits on the fewest chips, those farthest below them first; with `front`, of least cost first; with `largest`, of the largest load first */
  best: FoundFleet[];
  /** of all fleets found those that none surpasses in cost, mean TTFT and mean TPOT */
  pareto: FoundFleet[];
  /** where none meets them: the fleet of the least `limit_ratio` of those that bounds leave, by whole runs; else null */
  nearest: FoundFleet | null;
  /** how the best is started, an entry for each pool; empty where none was found */
  launch: FleetLaunch[];
  /** what nobody told */
  assumed: string[];
}

interface ComparedFleet {
  [name: string]: number;
  /** place in `clusters` */
  cluster: number;
  /** place in that one's `pareto` */
  fleet: number;
}

interface ComparedFleets {
  /** any cluster has a fleet that meets the limits */
  found: boolean;
  /** place in `clusters` of the one whose best fleet has the fewest chips, of equals the cheapest; null where there is none */
  fewest_chips: number | null;
  /** place in `clusters` of the cheapest, by rent, with `front` by cost of a million tokens; null unless every cluster has a price */
  cheapest: number | null;
  /** place in `clusters` of the one whose best fleet holds the largest load; null unless that is looked for */
  largest: number | null;
  /** what no fleet of any cluster surpasses; empty unless every cluster has a price */
  pareto: ComparedFleet[];
  /** the search on each, in the order asked */
  clusters: FleetsDocument[];
}

interface ServePercentiles {
  [name: string]: number;
  /** mean; 0, as all of these, where `count` is 0 (s) */
  mean: number;
  /** median (nearest rank, as all below) (s) */
  p50: number;
  /** 90th percentile (s) */
  p90: number;
  /** 95th percentile (s) */
  p95: number;
  /** 99th percentile (s) */
  p99: number;
  /** the longest (s) */
  max: number;
  /** how many times these are of */
  count: number;
}

interface ServeSummary {
  /** of all replicas */
  chips: number;
  /** time to the first token */
  ttft_s: ServePercentiles;
  /** time per output token behind the first */
  tpot_s: ServePercentiles;
  /** gaps between tokens, every gap of every request */
  inter_token_s: ServePercentiles;
  /** time of the whole answer */
  latency_s: ServePercentiles;
  /** of answers, all replicas, from the first request sent to the last answered (tokens/s) */
  output_tokens_per_s: number;
  /** prompts included, likewise (tokens/s) */
  total_tokens_per_s: number;
  /** likewise (requests/s) */
  requests_per_s: number;
  /** share of requests whose own times keep every limit of `slo`; without limits those that were answered */
  within: number;
  /** how many of them a second (requests/s) */
  goodput_requests_per_s: number;
  /** the percentiles keep the limits */
  meets: boolean;
  /** of answers; null without a price (USD) */
  usd_per_million_tokens: number | null;
  /** requests */
  answered: number;
  /** requests that died with a replica and were not sent anew */
  lost: number;
  /** requests that were not answered at the end */
  unanswered: number;
  /** how often a request lost its blocks and was computed again */
  preemptions: number;
}

interface ServeQuestion {
  /** as named */
  model: string;
  /** the cluster, as named */
  on: string;
  /** whose rules of scheduling; `vllm` if not given; `vllm`, `sglang`, `trtllm`, or absent */
  engine: string;
  /** tensor-parallel chips of a replica; 1 if not given, or absent */
  tp: string;
  /** data-parallel ranks of attention inside a replica; 1 if not given, or absent */
  dp: string;
  /** chips that share the experts out; 1 if not given, or absent */
  ep: string;
  /** pipeline stages of a replica; 1 if not given, or absent */
  pp: string;
  /** of the weights; the checkpoint's own if not given; `bf16`, `fp8`, `fp4`, `int4`, or absent */
  precision: string;
  /** of keys and values, such as fp8; that of the checkpoint if not given, or absent */
  kv_cache: string;
  /** how many; as many as the cluster holds if not given, or absent */
  replicas: string;
  /** `N:M`: N replicas compute prompts, M others make the answers, or absent */
  disaggregated: string;
  /** tensor-parallel chips of a replica that computes prompts; as `tp` if not given, or absent */
  prefill_tp: string;
  /** data-parallel ranks of a replica that computes prompts; as `dp` if not given, or absent */
  prefill_dp: string;
  /** chips that share the experts out of a replica that computes prompts; as `ep` if not given, or absent */
  prefill_ep: string;
  /** pipeline stages of a replica that computes prompts; as `pp` if not given, or absent */
  prefill_pp: string;
  /** tensor-parallel chips of a replica that makes answers; as `tp` if not given, or absent */
  decode_tp: string;
  /** data-parallel ranks of a replica that makes answers; as `dp` if not given, or absent */
  decode_dp: string;
  /** chips that share the experts out of a replica that makes answers; as `ep` if not given, or absent */
  decode_ep: string;
  /** pipeline stages of a replica that makes answers; as `pp` if not given, or absent */
  decode_pp: string;
  /** clients that each wait for an answer before they ask again, or absent */
  users: string;
  /** requests a second, as they come, or absent */
  rate: string;
  /** file of requests as recorded: Azure or Mooncake traces, CSV of one's own, or absent */
  trace: string;
  /** times the trace's rate; 1 if not given, or absent */
  rate_scale: string;
  /** the largest rate that holds `slo` is asked for, or absent */
  max_rate: string;
  /** the largest number of clients that holds `slo` is asked for, or absent */
  max_users: string;
  /** tokens of a prompt, or absent */
  input: string;
  /** tokens of an answer, or absent */
  output: string;
  /** lengths are uniform down to this share less; 0.2 if not given, or absent */
  spread: string;
  /** how many are sent; 10 a user, 10 minutes of a rate, a whole trace if not given, or absent */
  requests: string;
  /** requests before those that count; none if not given, or absent */
  warm_up: string;
  /** of a rate: squared variation of the gaps; 1, Poisson, if not given, or absent */
  burstiness: string;
  /** share of a prompt that all of a session have in common, or absent */
  shared_prefix: string;
  /** how many such sessions; 1 if not given, or absent */
  sessions: string;
  /** of lengths and gaps; 1 if not given, or absent */
  seed: string;
  /** tokens of an iteration; the engine's own if not given, or absent */
  batch_tokens: string;
  /** requests that run at once; the engine's own if not given, or absent */
  max_requests: string;
  /** prompts may be cut to fill an iteration; `true` or `false`, or absent */
  chunked_prefill: string;
  /** keys and values of known prompts are taken again; `true` or `false`, or absent */
  prefix_cache: string;
  /** the most that a request may have, prompt and answer; what the model takes if not given, or absent */
  max_length: string;
  /** tokens that are drafted and checked in a step; none if not given, or absent */
  drafts: string;
  /** tokens that a step with drafts brings, its own included; or at several numbers of drafts, or absent */
  accepted: string;
  /** who drafts: layers of the model, a small head; mtp if not given; `mtp`, `eagle`, or absent */
  draft_kind: string;
  /** other settings of the engine, each `KEY=VALUE`, such as `memory_share=0.85`, or absent */
  set: string[];
  /** who gets the next request; least-loaded if not given; `least-loaded`, `round-robin`, `prefix-aware`, or absent */
  router: string;
  /** `KEY=VALUE,...`: replicas come and go: least, most, aim (requests a replica), interval, start-up, idle, or absent */
  autoscale: string;
  /** `R@TIME[..TIME][:lost]`: replica R dies, is back, its requests are sent anew or lost, or absent */
  fault: string[];
  /** what goodput is judged by: `ttft.p99<1s,tpot.p99<50ms`, or absent */
  slo: string;
  /** what an hour of one chip costs, USD, or absent */
  price: string;
  /** factors that measurements put on decode, prefill and front: of `flopcast calibrate serving`, or absent */
  point: string;
}

interface ServeLaunchFlags {
  /** flags that were used, as written */
  used: string[];
  /** flags without meaning for a forecast, as written */
  without_meaning: string[];
  /** flags that are not modelled, as written, with what is taken instead */
  unmodelled: string[];
  /** flags that nobody knows here, as written */
  unknown: string[];
}

interface ServeMemory {
  [name: string]: number;
  /** of the chip's memory (B) */
  capacity: number;
  /** the engine's share of it (B) */
  usable: number;
  /** of the fullest stage (B) */
  weights: number;
  /** of an iteration with as many tokens as it may have, what libraries keep included (B) */
  activations: number;
  /** of captured graphs (B) */
  graphs: number;
  /** weights of what drafts (B) */
  drafts: number;
  /** left for keys and values, states included (B) */
  kv: number;
}

interface ServeIterationPart {
  /** `attention decode`, `experts`, `all_reduce`, `host`, ... */
  name: string;
  /** its share (s) */
  time_s: number;
  /** what it is bound by: `bytes`, `compute`, `floor`, `latency`, `links` */
  bound: string;
  /** what that rests on: `measured`, `table`, `fitted`, `roofline` or `assumed` */
  basis: string;
}

interface ServeIteration {
  /** of the iteration (s) */
  time_s: number;
  /** that add up to it */
  parts: ServeIterationPart[];
}

interface ServePool {
  /** `replica`, or `prefill` and `decode` where prompts are computed apart */
  role: string;
  /** of the pool */
  replicas: number;
  /** `vllm`, `sglang` or `trtllm` */
  engine: string;
  /** of the engine whose rules are taken */
  engine_version: string;
  /** of a replica */
  layout: ServingLayout;
  /** the most tokens of an iteration */
  batch_tokens: number;
  /** the most requests that run at once */
  max_requests: number;
  /** of the fullest chip */
  memory_bytes: ServeMemory;
  /** tokens that the blocks of keys and values of a replica hold */
  kv_tokens: number;
  /** share of its blocks in use, mean over time */
  kv_mean: number;
  /** share of blocks in use, the most of any replica */
  kv_peak: number;
  /** share of the time in iterations */
  busy: number;
  /** of all replicas */
  iterations: number;
  /** that get a token in an iteration, mean over busy time of a replica (requests) */
  decodes: number;
  /** that wait, likewise (requests) */
  waiting: number;
  /** of prompts, of an iteration that has some, likewise (tokens) */
  prompt_tokens: number;
  /** of busy time in iterations with prompts */
  prompt_share: number;
  /** that an answer sees, likewise (tokens) */
  context: number;
  /** that mean batch without prompts; of a pool that computes prompts alone with them; null where there was none */
  iteration: ServeIteration | null;
  /** the same batch with prompts; null where there was none */
  prompt_iteration: ServeIteration | null;
  /** what iterations rest on: `measured`, `table`, `fitted`, `roofline` or `assumed` */
  basis: string;
  /** of iterations, in words */
  source: string;
}

interface ServeVariant {
  /** in words: `one replica more`, `HBM bandwidth +10 %` */
  change: string;
  /** why there is no answer; empty where there is one, and then the fields of a [ServeSummary](#servesummary) follow */
  refused: string;
  /** of all replicas, or absent */
  chips: number;
  /** time to the first token, or absent */
  ttft_s: ServePercentiles;
  /** time per output token behind the first, or absent */
  tpot_s: ServePercentiles;
  /** gaps between tokens, every gap of every request, or absent */
  inter_token_s: ServePercentiles;
  /** time of the whole answer, or absent */
  latency_s: ServePercentiles;
  /** of answers, all replicas, from the first request sent to the last answered (tokens/s), or absent */
  output_tokens_per_s: number;
  /** prompts included, likewise (tokens/s), or absent */
  total_tokens_per_s: number;
  /** likewise (requests/s), or absent */
  requests_per_s: number;
  /** share of requests whose own times keep every limit of `slo`; without limits those that were answered, or absent */
  within: number;
  /** how many of them a second (requests/s), or absent */
  goodput_requests_per_s: number;
  /** the percentiles keep the limits, or absent */
  meets: boolean;
  /** of answers; null without a price (USD), or absent */
  usd_per_million_tokens: number | null;
  /** requests, or absent */
  answered: number;
  /** requests that died with a replica and were not sent anew, or absent */
  lost: number;
  /** requests that were not answered at the end, or absent */
  unanswered: number;
  /** how often a request lost its blocks and was computed again, or absent */
  preemptions: number;
}

interface ServeCurvePoint extends ServeSummary {
  /** users, requests a second, or times the trace's rate (as `curve_of` says) */
  load: number;
}

interface ServeTried {
  /** that was tried (load_unit) */
  load: number;
  /** whether the limits hold */
  holds: boolean;
  /** the largest of what the run has by what a limit allows; of what its beginning or a bound told, the least that it can be */
  limit_ratio: number;
}

interface ServeLargest {
  /** `users`, `requests/s` or `times the trace's rate` */
  load_unit: string;
  /** the largest that holds the limits (load_unit) */
  load: number;
  /** the next above it that was tried and does not; 0: there is none (load_unit) */
  next_load: number;
  /** the largest at the slow end of the band; 0: none (load_unit) */
  slow_load: number;
  /** at the fast end (load_unit) */
  fast_load: number;
  /** loads by the forecast, in their order */
  tried: ServeTried[];
  /** at the slow end of the band */
  tried_slow: ServeTried[];
  /** at the fast end */
  tried_fast: ServeTried[];
}

interface ServeWindow {
  /** its start (s) */
  from_s: number;
  /** its end (s) */
  to_s: number;
  /** requests, in it */
  sent: number;
  /** of requests answered in it (tokens/s) */
  output_tokens_per_s: number;
  /** time to the first token, of those sent in it */
  ttft_s: ServePercentiles;
  /** time per output token, of those sent in it */
  tpot_s: ServePercentiles;
}

interface ServeTimeline {
  /** length of an interval (s) */
  interval_s: number;
  /** that get a token in an iteration, of all replicas (requests) */
  decodes: number[];
  /** that wait, of all replicas (requests) */
  waiting: number[];
  /** of all replicas (tokens/s) */
  prompt_tokens_per_s: number[];
  /** share of blocks in use, mean over replicas */
  kv: number[];
  /** the same of each of the first 16 replicas */
  replica_kv: number[][];
}

interface ServeAnomaly {
  /** a stable name */
  kind: string;
  /** rows */
  count: number;
  /** the first example */
  first: string;
}

interface ServeAnswer extends ServeSummary {
  /** the settings that were given, which [`--from`](serve-files.md) reads */
  question: ServeQuestion;
  /** the fleet and its load in a line */
  words: string;
  /** what nobody told, and what was taken instead of flags of a launch */
  assumed: string[];
  /** of a question read from what servers are started with; else null */
  launch: ServeLaunchFlags | null;
  /** at the fast end of the 10–90 % band that measured deployments of the engine have around their forecasts ([validation](../validation)); null where no band was asked for */
  fast: ServeSummary | null;
  /** at the slow end of that band */
  slow: ServeSummary | null;
  /** one, or `prefill` and `decode` */
  pools: ServePool[];
  /** what limits the fleet, in sentences, the most important first */
  limits: string[];
  /** the same question with the next chips; empty with `--quick` */
  next: ServeVariant[];
  /** the same question with numbers of the machine changed by a tenth; empty with `--quick` */
  sensitivity: ServeVariant[];
  /** what a load is: `users`, `requests/s` or `times the trace's rate` */
  curve_of: string;
  /** the same fleet under other loads; empty without `--curve` */
  curve: ServeCurvePoint[];
  /** with `max_rate` or `max_users`: the largest load that holds the limits; all else is of a run at that load */
  largest: ServeLargest | null;
  /** how surely the limits hold: `surely` (at the slow end of the band too), `likely` (by the forecast), `unlikely` (at the fast end alone), `no`; null without limits */
  holds: string | null;
  /** the run in equal intervals */
  windows: ServeWindow[];
  /** means over intervals */
  timeline: ServeTimeline;
  /** rows of a trace that were left out */
  anomalies: ServeAnomaly[];
}

interface ServeLimit {
  /** of the percentile: `ttft.p99` */
  name: string;
  /** what it has to stay below (s) */
  below_s: number;
}

interface ServeDocument extends ServeAnswer {
  /** the question in a line */
  title: string;
  /** limits that goodput is judged by, as written; empty without */
  slo: string;
  /** the same, in seconds */
  slo_limits: ServeLimit[];
}

interface WhatIfRefusal {
  [name: string]: string;
  /** as the command line says it */
  change: string;
  /** the evidence that the recording lacks for it */
  missing: string;
}

interface WhatIfBandSource {
  /** in words */
  what: string;
  /** how far the step may lie below the answer for its sake (s) */
  below_s: number;
  /** how far above (s) */
  above_s: number;
}

interface WhatIfBand {
  /** lower end (s) */
  low_s: number;
  /** upper end (s) */
  high_s: number;
  /** of the band, widest first */
  sources: WhatIfBandSource[];
}

interface WhatIfPart {
  /** `gemm`, `attention`, `other_kernels`, `copies`, `transfer` and `waiting` (communication that no kernel hides, once all its ranks are there and before) or `idle` */
  part: string;
  /** the part in words */
  title: string;
  /** of the step before (s) */
  before_s: number;
  /** of the step after (s) */
  after_s: number;
}

interface WhatIfCause {
  /** as the command line says it */
  change: string;
  /** added to the step when put after those before it (s) */
  forwards_s: number;
  /** added when put last of all; null where the others alone are no plan (s) */
  backwards_s: number | null;
}

interface WhatIfStep {
  /** of the step */
  name: string;
  /** GPU step before, mean over ranks (s) */
  gpu_before_s: number;
  /** GPU step after (s) */
  gpu_after_s: number;
  /** host step before (s) */
  host_before_s: number;
  /** host step after (s) */
  host_after_s: number;
}

interface WhatIfNote {
  /** `copied`, `modelled` or `assumed` */
  how: string;
  /** in words */
  what: string;
  /** how many; 0 where that says nothing */
  tasks: number;
  /** of the GPU time after; 0 where that says nothing */
  share: number;
}

interface WhatIfTotals {
  /** of the whole run (tokens) */
  tokens_per_step: number | null;
  /** of the whole run (tokens/s) */
  tokens_per_s: number | null;
  /** model FLOPs over the GPUs' dense peak */
  mfu: number | null;
  /** of the fullest rank (B) */
  memory_bytes: number | null;
  /** of a step, all GPUs (J) */
  energy_j: number | null;
  /** of a step, all GPUs (USD) */
  cost_usd: number | null;
  /** cost over tokens (USD) */
  usd_per_million_tokens: number | null;
}

interface WhatIfMissing {
  [name: string]: string;
  /** name of the field */
  total: string;
  /** what is missing for it */
  why: string;
}

interface WhatIfRunTotals extends WhatIfTotals {
  /** what they rest on */
  basis: string;
  /** totals that are null, in the order of the fields */
  missing: WhatIfMissing[];
}

interface WhatIfAnswer {
  /** as the command line says them, in the order in which they are made */
  changes: string[];
  /** changes that this recording holds no evidence for */
  refused: WhatIfRefusal[];
  /** of the recorded run */
  ranks_before: number;
  /** of the run after */
  ranks_after: number;
  /** GPU step before: the mean over ranks and over the usual steps (those within a quarter of their median). 0 where the recording has no GPU work (s), or absent */
  before_s: number;
  /** the same after (s), or absent */
  after_s: number;
  /** host step before, likewise (s), or absent */
  host_before_s: number;
  /** host step after (s), or absent */
  host_after_s: number;
  /** why the change of the step is not what it seems: the first step, which is not judged, loses what the others gain; a rank is quicker than its equals; work was taken away, and the step is longer. Mostly empty, or absent */
  caution: string;
  /** of `after_s`, or absent */
  band: WhatIfBand;
  /** where the step goes on the mean rank; they add up to the step, or absent */
  parts: WhatIfPart[];
  /** with two changes or more, in the order in which they are made; else empty, or absent */
  causes: WhatIfCause[];
  /** every step judged; one, of the new run, where its structure changed, or absent */
  steps: WhatIfStep[];
  /** what the answer rests on, or absent */
  notes: WhatIfNote[];
  /** of the recorded run, or absent */
  totals_before: WhatIfRunTotals;
  /** of the run after, or absent */
  totals: WhatIfRunTotals;
}

interface WhatIfWorth {
  /** `kernel:gemm`, `collective:all_reduce`, `network`, `host`, `rank:3`, ...: as `--scale` names it */
  part: string;
  /** the part in words */
  title: string;
  /** over all ranks in a step (s) */
  work_s: number;
  /** the step with 10 % less of it; null if that run cannot finish (s) */
  less_s: number | null;
  /** the step with none of it; null if that run cannot finish (s) */
  limit_s: number | null;
  /** as of an answer */
  caution: string;
}

interface WhatIfDocument extends WhatIfAnswer {
  /** the folder, or `folder/run` */
  recording: string;
  /** the changes in a line */
  asked: string;
  /** the step that is talked of: `GPU step`, or `host step` where there is none */
  step_kind: string;
  /** of that step, in words: `-25.18 %, 1.34 x faster`; of two steps of 0 where the question was refused */
  change: string;
  /** as of the document */
  sensitivity: WhatIfWorth[] | null;
}
