"""What answers hold. By tools/make_answers.py from catalog/answers: change those."""

from __future__ import annotations

from typing import Any, Optional

from ._documents import Document, Field, Part, list_of, map_of


class OwnFit(Part):
    """OwnFit of docs/reference/json.md."""

    file: Field[str] = Field("as it was named")
    kind: Field[str] = Field("`collectives`, `kernels`, `host calls`, `serving deployments` or `constants`")


class Plan(Part):
    """Plan of docs/reference/json.md."""

    tp: Field[int] = Field("tensor-parallel chips")
    tp2: Field[int] = Field("chips of the second dimension of 2-D and SUMMA tensor parallelism")
    cp: Field[int] = Field("context-parallel chips")
    pp: Field[int] = Field("pipeline stages")
    dp: Field[int] = Field("replicas")
    ep: Field[int] = Field("expert-parallel chips, within `dp` x `cp` x `tp`")
    etp: Field[int] = Field("chips that split one expert; 0: as `tp`")
    vpp: Field[int] = Field("virtual stages of a chip")
    micro_batch: Field[int] = Field("sequences of one microbatch")
    global_batch: Field[int] = Field("sequences of one step, over all replicas")
    sequence: Field[int] = Field("tokens of a sequence")
    schedule: Field[str] = Field("of the pipeline: `gpipe`, `1f1b`, `interleaved`, `zb-h1`, `zb-v` or `dualpipev`")
    stage_layers: Field[list[int]] = Field(
        "layers of each virtual stage, in the order of the layers; empty: dealt evenly (in CSV: separated by blanks)"
    )
    count_embedding: Field[bool] = Field("the embedding counts as a layer when layers are dealt to stages")
    count_loss: Field[bool] = Field("output matrix and loss count as a layer when layers are dealt to stages")
    zero: Field[str] = Field(
        "what replicas share, as ZeRO counts it: `0` nothing, `1` optimizer states, `2` gradients too, `3` weights too (FSDP)"
    )
    shard: Field[int] = Field(
        "chips that share one copy of what `zero` shards, the others replicate it; 0: all replicas"
    )
    reshard: Field[bool] = Field("with `zero` 3, weights are dropped after the forward pass and gathered again")
    recompute: Field[str] = Field("activations dropped after forward and computed again: `none`, `selective` or `full`")
    recompute_modules: Field[int] = Field(
        "what selective recompute drops, bits added up: 1 core attention, 2 norms, 4 activation, 8 feed-forward, 16 latent up-projections, 32 every second product"
    )
    recompute_layers: Field[int] = Field("with full recompute, only so many layers of each stage; 0: all")
    sequence_parallel: Field[bool] = Field("norms are sharded over tensor-parallel chips along the sequence")
    tensor: Field[str] = Field("how matrices are cut: `1d`, `2d` or `summa`")
    panels: Field[int] = Field("panels that SUMMA moves a matrix in")
    context: Field[str] = Field(
        "how context-parallel chips exchange keys and values: `all_gather`, `ring` or `ulysses`"
    )
    precision: Field[str] = Field(
        "of linear layers: `fp32`, `tf32`, `fp16`, `bf16`, `fp8`, `fp8_block`, `mxfp8`, `nvfp4`, `mxfp4` or `int8`"
    )
    optimizer: Field[str] = Field("`adam`, `sgd` or `muon`")
    fp32_gradients: Field[bool] = Field("gradients are added up in fp32; else in the type of the weights")
    gradient_type: Field[str] = Field(
        "in which gradients are reduced over replicas: `fp32`, `bf16` or `fp16`; `summed`: as they are added up"
    )
    fp32_master: Field[bool] = Field("the optimizer keeps weights in fp32")
    split_master: Field[bool] = Field("of fp32 weights only the 16 bits that bf16 ones lack are kept")
    moment_bytes: Field[float] = Field("of all of the optimizer's moments of one weight; 0: the optimizer's usual (B)")
    offload: Field[float] = Field("how much of the optimizer the host keeps and updates (%)")
    fp8_gather: Field[bool] = Field("with `precision` fp8, weights are gathered in 8 bits")
    flash_attention: Field[bool] = Field("attention scores stay out of memory")
    lora_rank: Field[int] = Field("rank of low-rank adapters, all else is frozen; 0: all weights are trained")
    lora_mlp: Field[bool] = Field("adapters in feed-forwards as well as in attention")
    mtp_layers: Field[int] = Field("modules behind the last layer that predict one more token each")
    overlap_gradients: Field[bool] = Field("reducing gradients may overlap with compute")
    overlap_weights: Field[bool] = Field("gathering weights may overlap with compute")
    overlap_tensor: Field[bool] = Field("tensor-parallel transfers may overlap with compute")
    overlap_pipeline: Field[bool] = Field("sends between stages may overlap with compute")
    overlap_context: Field[bool] = Field("context-parallel transfers may overlap with compute")
    overlap_experts: Field[bool] = Field("expert-parallel transfers may overlap with compute")
    dispatcher: Field[str] = Field(
        "who sends tokens to their experts: `alltoall`, `deepep` or `hybridep`; `usual`: what the software usually has"
    )
    cuda_graph: Field[bool] = Field("passes of layers are replayed from CUDA graphs")


class Placement(Part):
    """Placement of docs/reference/json.md."""

    tiers: Field[list[int]] = Field("chips in a group of each tier of the network, innermost first")
    inside: Field[list[list[int]]] = Field("for each tier, members of tp, tp2, cp, dp and pp inside one such group")


class StepParts(Part):
    """StepParts of docs/reference/json.md."""

    matrix: Field[float] = Field("matrix products (s)")
    attention: Field[float] = Field("attention (s)")
    memory_bound: Field[float] = Field("norms, activations, loss (s)")
    recompute: Field[float] = Field("forward passes computed again (s)")
    tensor: Field[float] = Field("tensor-parallel transfers, as far as nothing hides them (s)")
    context: Field[float] = Field("context-parallel transfers, as far as nothing hides them (s)")
    expert: Field[float] = Field("expert-parallel transfers, as far as nothing hides them (s)")
    weights: Field[float] = Field("gathering weights over replicas, as far as nothing hides it (s)")
    gradients: Field[float] = Field("reducing gradients over replicas, as far as nothing hides it (s)")
    bubble: Field[float] = Field("waiting in the pipeline, and its sends (s)")
    optimizer: Field[float] = Field("the optimizer's update (s)")
    host: Field[float] = Field("launches and fixed costs (s)")
    contention: Field[float] = Field("contention and stragglers (s)")


class RestsOn(Part):
    """RestsOn of docs/reference/json.md."""

    measured: Field[float] = Field("share of kernel and transfer time whose very case was measured")
    table: Field[float] = Field("share that is interpolated between measured cases")
    fitted: Field[float] = Field("share by a formula fitted to measurements of this hardware")
    roofline: Field[float] = Field("share by published peak rates, or another chip's fit scaled by them")
    assumed: Field[float] = Field("share by constants that nobody measured")


class MemoryClasses(Part):
    """MemoryClasses of docs/reference/json.md."""

    weights: Field[float] = Field("weights (B)")
    gradients: Field[float] = Field("gradients (B)")
    optimizer: Field[float] = Field("states of the optimizer (B)")
    activations: Field[float] = Field("activations of microbatches in flight (B)")
    working: Field[float] = Field("tensors of the layer that runs (B)")
    buffers: Field[float] = Field("of communication, and the device's context (B)")
    allocator: Field[float] = Field("rounding and holes of the allocator (B)")


class StageMemory(MemoryClasses):
    """StageMemory of docs/reference/json.md."""

    total: Field[float] = Field("their sum (B)")


class Stage(Part):
    """Stage of docs/reference/json.md."""

    layers: Field[int] = Field("of the model")
    forward_s: Field[float] = Field("of one microbatch (s)")
    backward_s: Field[float] = Field("of one microbatch (s)")
    busy_s: Field[float] = Field("of all microbatches (s)")
    start_s: Field[float] = Field("of its first forward, since the step began (s)")
    end_s: Field[float] = Field("of its last backward (s)")
    in_flight: Field[int] = Field("microbatches of a chunk whose activations are kept at once")
    memory_bytes: Field[StageMemory] = Field("of one of its chips, by class", StageMemory)


class FittingPlan(Part):
    """FittingPlan of docs/reference/json.md."""

    change: Field[str] = Field("what the plan has otherwise")
    time_s: Field[float] = Field("its step (s)")
    memory_bytes: Field[StageMemory] = Field("of its fullest chip, by class", StageMemory)
    plan: Field[Plan] = Field("every setting of it", Plan)


class StepTasks(Part):
    """StepTasks of docs/reference/json.md."""

    forward: Field[float] = Field("forward passes (s)")
    backward: Field[float] = Field("backward passes (s)")
    both: Field[float] = Field("a forward and a backward pass at once (s)")
    send: Field[float] = Field("sends between stages (s)")
    gather: Field[float] = Field("gathering weights (s)")
    reduce: Field[float] = Field("reducing gradients (s)")
    optimizer: Field[float] = Field("the optimizer's update (s)")
    fixed: Field[float] = Field("fixed costs of a step (s)")


class StepGraph(Part):
    """StepGraph of docs/reference/json.md."""

    time_s: Field[float] = Field("the step as the engine runs it (s)")
    tasks: Field[int] = Field("of the graph")
    critical_s: Field[StepTasks] = Field("the chain of tasks that ends the step, by kind", StepTasks)
    busy_s: Field[list[float]] = Field("of each stage's chip (s)")


class WholeRun(Part):
    """WholeRun of docs/reference/json.md."""

    steps: Field[float] = Field("of the optimizer (steps)")
    tokens: Field[float] = Field("of all steps (tokens)")
    work_s: Field[float] = Field("of the steps alone (s)")
    time_s: Field[float] = Field("by the clock, with checkpoints, failures and restarts (s)")
    low_s: Field[float] = Field("low end of its 10-90 % band (s)")
    high_s: Field[float] = Field("high end of its 10-90 % band (s)")
    checkpoint_every_s: Field[float] = Field(
        "work between two checkpoints that makes the run shortest; 0 where no failures were told (s)"
    )
    failures: Field[float] = Field("how many are to be expected; 0 where none were told")
    chip_hours: Field[float] = Field("of the whole run (chip-hours)")
    cost_usd: Field[float] = Field("of the whole run; 0 where no price is known (USD)")
    energy_j: Field[float] = Field("of the whole run: chips at their power limit, times `--pue` (J)")
    co2_kg: Field[float] = Field("of that energy; 0 without `--co2` (kg)")


class RunAsked(Part):
    """RunAsked of docs/reference/json.md."""

    tokens: Field[float] = Field("that are trained on; 0: told by `steps` (tokens)")
    steps: Field[float] = Field("of the optimizer; 0: told by `tokens` (steps)")
    usd_per_chip_hour: Field[float] = Field("price of a chip; 0: not known (USD/h)")
    kg_co2_per_kwh: Field[float] = Field("of the electricity; 0: not told (kg/kWh)")
    power_overhead: Field[float] = Field("energy of the site over that of its chips")
    chip_between_failures_s: Field[float] = Field("mean time between failures of one chip; 0: not told (s)")
    checkpoint_s: Field[float] = Field("for which training stands still while a checkpoint is written; 0: not told (s)")
    restart_s: Field[float] = Field("from a failure until training goes on; 0: not told (s)")
    price_source: Field[str] = Field("who says the price, and of when; empty: whoever asked")


class EstimateFields(Document):
    """Training steps: `flopcast estimate --json`."""

    model: Field[str] = Field("name of the model")
    parameters: Field[int] = Field("its trainable values")
    active_parameters: Field[int] = Field("those that one token meets")
    cluster: Field[str] = Field("where it runs")
    chip: Field[str] = Field("of the cluster")
    chips: Field[int] = Field("of the plan")
    software: Field[str] = Field("the profile of the training's software")
    own_fits: Field[list[OwnFit]] = Field(
        "measurements of one's own that the answer has: `--fit`, and those of the cluster's line or file", list_of(OwnFit)
    )
    words: Field[str] = Field("the plan in short")
    plan: Field[Plan] = Field("every setting of it", Plan)
    placement: Field[Placement] = Field("where its groups lie on the network", Placement)
    time_s: Field[float] = Field("one step (s)")
    low_s: Field[float] = Field("low end of its 10-90 % band (s)")
    high_s: Field[float] = Field("high end of its 10-90 % band (s)")
    tokens_per_second: Field[float] = Field("of all chips (tokens/s)")
    mfu: Field[float] = Field("model FLOPs (causal) over the dense peak of all chips, without recomputed ones")
    hfu: Field[float] = Field("model FLOPs over the dense peak of all chips, with recomputed ones")
    energy_j: Field[float] = Field("of one step, all chips at their power limit; 0 where the power is unknown (J)")
    cost_usd: Field[float] = Field("of one step; 0 without a price (USD)")
    parts_s: Field[StepParts] = Field(
        "where the step goes on the chip that is busy longest; sums to `time_s`", StepParts
    )
    rests_on: Field[RestsOn] = Field("share of kernel and transfer time by what it rests on", RestsOn)
    fits: Field[bool] = Field("whether the fullest stage fits into `usable_bytes` with the odds asked for")
    fit_odds: Field[float] = Field("how likely it fits")
    asked_odds: Field[float] = Field("how likely it has to (`--fit-odds`)")
    memory_low_bytes: Field[float] = Field("low end of the 10-90 % band of what the fullest stage needs (B)")
    memory_high_bytes: Field[float] = Field("high end of that band (B)")
    usable_bytes: Field[float] = Field(
        "the share of a chip's memory that a plan may use (`--memory`; all of it if not given) (B)"
    )
    capacity_bytes: Field[float] = Field("memory of a chip (B)")
    fullest: Field[int] = Field("stage that needs most memory, from 0")
    stages: Field[list[Stage]] = Field("of the pipeline", list_of(Stage))
    memory_notes: Field[list[str]] = Field(
        "of the fullest stage: what of its memory is holes of the allocator or gathered by ZeRO 3, how much, and why"
    )
    fitting: Field[list[FittingPlan]] = Field(
        "where the plan does not fit: plans that do with one change, else two, else any; fastest first", list_of(FittingPlan)
    )
    graph: Field[Optional[StepGraph]] = Field("with `--engine graph`: the step run as an execution graph", StepGraph)
    run: Field[Optional[WholeRun]] = Field("with `--tokens` or `--steps`: the whole run", WholeRun)
    run_asked: Field[Optional[RunAsked]] = Field("what was asked of that", RunAsked)
    hint: Field[str] = Field(
        "in words, what a batch or a sequence that divides better would save with the same plan, where that is 3 % a token or more; else empty"
    )
    assumed: Field[list[str]] = Field("in words, what nobody told and nothing measured")
    used: Field[list[str]] = Field(
        "settings of the launch configuration (`--plan-from`) that the plan or the model is made of; empty without one"
    )
    ignored: Field[list[str]] = Field("its settings that are known and without meaning for time and memory of a step")
    unmodelled: Field[list[str]] = Field(
        "those that are known, change time or memory, and are not modelled, each with what is taken instead"
    )
    unknown: Field[list[str]] = Field(
        "those that nobody knows here: they may do anything, and nothing is made of them (`--strict` refuses these and the ones before)"
    )


class MappedWorkload(Part):
    """MappedWorkload of docs/reference/json.md."""

    name: Field[str] = Field("of its graph")
    kernels: Field[int] = Field("of the graph")
    uses: Field[int] = Field("of tensors by kernels")
    training: Field[bool] = Field("with backward passes and an optimizer")
    layers: Field[int] = Field("in series")
    global_batch: Field[int] = Field("samples of a step")
    tokens: Field[int] = Field("of a sample; of what tiles cut")
    boundary_bytes: Field[float] = Field("from layer to layer, of a sample (B)")
    resident_bytes: Field[float] = Field("kept in memory besides weights (B)")
    word_bytes: Field[float] = Field("of an element (B)")
    step_flop: Field[float] = Field("of a step, all layers and samples (FLOP)")
    assumed: Field[list[str]] = Field("in words, what the graph's file left open and what was taken")


class MappedDimension(Part):
    """MappedDimension of docs/reference/json.md."""

    kind: Field[str] = Field("how its chips are joined: `ring`, `full` or `switch`")
    size: Field[int] = Field("chips along it")
    bandwidth_bytes_per_s: Field[float] = Field(
        "of a ring, one direction; fully connected, of one link; of a switch, of a chip's port (B/s)"
    )
    latency_s: Field[float] = Field("of one message over one hop (s)")
    tp: Field[int] = Field("chips of it that tensor parallelism spans")
    pp: Field[int] = Field("chips of it that pipeline parallelism spans")
    dp: Field[int] = Field("chips of it that data parallelism spans")


class Fact(Part):
    """Fact of docs/reference/json.md."""

    key: Field[str] = Field("which number it is: `hbm_capacity`, `node.bandwidth`")
    value: Field[float] = Field("the number (as `unit` says)")
    unit: Field[str] = Field("`B/s`, `s`, `USD`; empty where it has none")
    basis: Field[str] = Field(
        "what it rests on: `measured`, `table`, `fitted`, `assumed`, and `published` or `roofline` for what makers publish"
    )
    source: Field[str] = Field("where it is from")


class MappedSystem(Part):
    """MappedSystem of docs/reference/json.md."""

    name: Field[str] = Field("as it was asked for")
    chip: Field[str] = Field("what every chip is")
    chips: Field[int] = Field("of all dimensions")
    peak_flop_per_s: Field[float] = Field("of a chip at the workload's precision (FLOP/s)")
    kernel_by_kernel: Field[bool] = Field("it runs one kernel at a time (GPUs, TPUs): partitions are kernels")
    sram_bytes: Field[float] = Field("what a partition may hold (B)")
    memory_bandwidth_bytes_per_s: Field[float] = Field("of a chip's DRAM (B/s)")
    memory_capacity_bytes: Field[float] = Field("of a chip's DRAM; 0: no limit (B)")
    dimensions: Field[list[MappedDimension]] = Field("of the network, innermost first", list_of(MappedDimension))
    facts: Field[list[Fact]] = Field("numbers of the system, with where they are from", list_of(Fact))


class MappingModel(Part):
    """MappingModel of docs/reference/json.md."""

    name: Field[str] = Field("`full`, or `paper`: DFModel as published")
    utilisation: Field[float] = Field("of the peak rate that kernels reach; 0: cycles of the chip's tiles are counted")
    overlap: Field[str] = Field(
        "what a partition does at the same time: `perfect` (compute, memory and network), `compute-memory` or `none`"
    )
    all_reduce_factor: Field[float] = Field("passes of a tensor-parallel all-reduce")
    gradient_factor: Field[float] = Field("passes of the data-parallel all-reduce")
    optimizer_bytes_per_parameter: Field[float] = Field("that the optimizer moves (B)")
    shared_tensors: Field[bool] = Field("a tensor is stored once and loaded once a partition")
    boundary_traffic: Field[bool] = Field("a layer's input and output pass DRAM")
    weight_traffic: Field[bool] = Field("a partition's weights are loaded when it starts")
    pieces_traffic: Field[bool] = Field(
        "a lone kernel whose weights pass SRAM in pieces moves all its tensors once a piece"
    )
    gradient_traffic: Field[bool] = Field("accumulating a weight gradient reads and writes it")
    latency: Field[bool] = Field("collectives pay the hops' latency")
    training_state: Field[bool] = Field("capacity counts gradients, optimizer states and activations in flight")
    whole_left_operands: Field[bool] = Field("keys and values are buffered whole, not by tile")
    reduce_scatter: Field[bool] = Field("sharding may split what it sums, so that nothing need be replicated")
    sharding_by_time: Field[bool] = Field("shardings are chosen by time; else by bytes, as published")
    send_per_microbatch: Field[bool] = Field("sends between stages are charged for each microbatch; else once a step")
    published_bubble: Field[bool] = Field("the pipeline's bubble is the published formula's")
    hide_gradients: Field[bool] = Field(
        "gradients are summed bit by bit in every microbatch's partitions, as published; else once a step, under the last backward pass"
    )
    optimizer_step: Field[bool] = Field("the optimizer's DRAM traffic ends a step")


class MappingShape(Part):
    """MappingShape of docs/reference/json.md."""

    tp: Field[int] = Field("tensor-parallel degree")
    pp: Field[int] = Field("pipeline stages")
    dp: Field[int] = Field("replicas")
    microbatch: Field[int] = Field("samples")
    microbatches: Field[int] = Field("of a step")
    tile: Field[int] = Field("tokens")
    layers_per_stage: Field[int] = Field("of a pipeline stage")


class MappingTimes(Part):
    """MappingTimes of docs/reference/json.md."""

    layer_s: Field[float] = Field("one microbatch through one layer (s)")
    stage_s: Field[float] = Field("through a stage of the pipeline, sends included (s)")
    send_s: Field[float] = Field("sends outside of stages, of a step (s)")
    bubble: Field[float] = Field("step over that of a pipeline that is always full")
    gradients_s: Field[float] = Field("summing gradients at the end of a step, not hidden (s)")
    optimizer_s: Field[float] = Field("the optimizer at the end of a step, not hidden (s)")


class Partition(Part):
    """Partition of docs/reference/json.md."""

    pass_: Field[str] = Field("`forward` or `backward`", name="pass")
    time_s: Field[float] = Field("all of it, as far as the three that follow overlap (s)")
    compute_s: Field[float] = Field("computing (s)")
    memory_s: Field[float] = Field("DRAM traffic (s)")
    network_s: Field[float] = Field("transfers (s)")
    limit: Field[str] = Field("which of them is greatest: `compute`, `memory` or `network`")
    work_flop: Field[float] = Field("of one chip (FLOP)")
    sram_bytes: Field[float] = Field("used (B)")
    dram_bytes: Field[float] = Field("moved to and from DRAM (B)")
    wire_bytes: Field[float] = Field("sent to other chips (B)")
    live_bytes: Field[float] = Field("tensors in DRAM while it runs (B)")
    kernels: Field[list[str]] = Field("names of its kernels")
    tiles: Field[list[int]] = Field("where cycles are counted, the chip's tiles that each of its kernels has")


class MappedKernel(Part):
    """MappedKernel of docs/reference/json.md."""

    name: Field[str] = Field("unique in the graph")
    kind: Field[str] = Field("what it computes: `gemm`, `softmax`, `elementwise`, ...")
    pass_: Field[str] = Field("`forward` or `backward`", name="pass")
    outer: Field[int] = Field("products at once, of one sample on all chips")
    m: Field[int] = Field("rows, of one sample on all chips")
    n: Field[int] = Field("columns, of one sample on all chips")
    k: Field[int] = Field("that is summed over; 0: nothing is")
    sample_flop: Field[float] = Field("of one sample on all chips (FLOP)")
    weight_bytes: Field[float] = Field("parameters it reads (B)")
    partition: Field[int] = Field("that it is in, from 0")
    sharding: Field[str] = Field(
        "the dimension that is divided among the tensor-parallel chips: `none`, `outer`, `m`, `n`, `k`, `k->m` (summed, then divided) or `k->n`"
    )


class MappedTensor(Part):
    """MappedTensor of docs/reference/json.md."""

    name: Field[str] = Field("of the graph")
    producer: Field[str] = Field("kernel that makes it")
    readers: Field[list[str]] = Field("kernels that read it")
    sample_bytes: Field[float] = Field("of one sample (B)")
    layout: Field[str] = Field(
        "on the tensor-parallel chips, as the producer leaves it: `replicated`, `features` or `tokens`"
    )


class MappingMemory(Part):
    """MappingMemory of docs/reference/json.md."""

    weights: Field[float] = Field("weights (B)")
    gradients: Field[float] = Field("gradients (B)")
    optimizer: Field[float] = Field("states of the optimizer (B)")
    activations: Field[float] = Field("activations in flight (B)")
    live: Field[float] = Field("tensors that pass between partitions (B)")
    total: Field[float] = Field("their sum (B)")


class MappingRoofline(Part):
    """MappingRoofline of docs/reference/json.md."""

    peak_flop_per_s: Field[float] = Field("of a chip (FLOP/s)")
    achieved_flop_per_s: Field[float] = Field("of a chip (FLOP/s)")
    memory_bandwidth_bytes_per_s: Field[float] = Field("of a chip (B/s)")
    network_bandwidth_bytes_per_s: Field[float] = Field("of the tensor-parallel group (B/s)")
    memory_intensity_flop_per_byte: Field[float] = Field("work per byte of DRAM (FLOP/B)")
    network_intensity_flop_per_byte: Field[float] = Field("work per byte sent (FLOP/B)")


class MappingCounts(Part):
    """MappingCounts of docs/reference/json.md."""

    shapes: Field[int] = Field("degrees on dimensions of the network")
    candidates: Field[int] = Field("with microbatches and tiles")
    bounded: Field[int] = Field("of these, those whose bound was no better")
    unfit: Field[int] = Field("of these, those that fit no memory")
    ideals: Field[int] = Field("order ideals of all shortest paths")
    transitions: Field[int] = Field("transitions of all shortest paths")


class MappingFields(Document):
    """Mappings: `flopcast map --json`."""

    step_s: Field[float] = Field("a step (s)")
    bound_s: Field[float] = Field("no mapping of this problem takes less (s)")
    exact: Field[bool] = Field("both are equal, so that the mapping is proven to be the fastest")
    gap: Field[float] = Field("`(step_s - bound_s) / step_s`")
    utilisation: Field[float] = Field("model FLOP over the peak of all chips")
    samples_per_second: Field[float] = Field("of all replicas (samples/s)")
    price_usd: Field[float] = Field("of chips, memories, links and switches; 0 where unknown (USD)")
    power_w: Field[float] = Field("of chips, memories, links and switches; 0 where unknown (W)")
    basis: Field[str] = Field("what the times rest on: `measured`, `table`, `fitted`, `roofline` or `assumed`")
    workload: Field[MappedWorkload] = Field("what is run", MappedWorkload)
    system: Field[MappedSystem] = Field("what it runs on", MappedSystem)
    model: Field[MappingModel] = Field("what is counted, and how", MappingModel)
    shape: Field[MappingShape] = Field("degrees of parallelism and sizes", MappingShape)
    times: Field[MappingTimes] = Field("of a layer, a stage and the end of a step", MappingTimes)
    partitions: Field[list[Partition]] = Field("in the order in which they run", list_of(Partition))
    kernels: Field[list[MappedKernel]] = Field("of the workload's graph", list_of(MappedKernel))
    tensors: Field[list[MappedTensor]] = Field("between its kernels", list_of(MappedTensor))
    memory_bytes: Field[MappingMemory] = Field("of the fullest chip, by class", MappingMemory)
    roofline: Field[MappingRoofline] = Field("where a chip stands under its three roofs", MappingRoofline)
    search: Field[MappingCounts] = Field("how much was searched", MappingCounts)


class PlanAsked(Part):
    """PlanAsked of docs/reference/json.md."""

    model: Field[str] = Field("name of the model")
    parameters: Field[int] = Field("its trainable values")
    layers: Field[int] = Field("of the model")
    on: Field[str] = Field("the cluster as named")
    cluster: Field[str] = Field("the cluster as searched: with so many chips, and changed")
    chip: Field[str] = Field("of the cluster")
    capacity_bytes: Field[float] = Field("memory of a chip; a plan may use `memory_share` of it (B)")
    chips: Field[int] = Field("that plans use")
    global_batch: Field[int] = Field("sequences of one step")
    sequence: Field[int] = Field("tokens of a sequence")
    constraints: Field[list[str]] = Field("that every plan keeps to: `pp=4`, `tp<=8`")
    sweep: Field[dict[str, str]] = Field("what this point changes of the machine: name and value")
    launchable: Field[str] = Field(
        "the launcher whose plans only are searched: `megatron`, `torchtitan` or `deepspeed`; empty: all plans"
    )
    named: Field[list[str]] = Field("choices of `base` that somebody named")
    placements: Field[bool] = Field("every placement of a plan is searched, not only the usual one")
    launches: Field[bool] = Field("whether the best of each launcher was asked for; not in sweeps")
    memory_share: Field[float] = Field("of a chip's memory that a plan may use")
    fit_odds: Field[float] = Field("with which a plan has to fit into that")
    usd_per_chip_hour: Field[float] = Field("price of a chip; 0: not told (USD/h)")
    best: Field[int] = Field("how many plans were asked for")
    run: Field[Optional[RunAsked]] = Field("what was asked of the whole run", RunAsked)
    software: Field[str] = Field("the profile of the training's software")
    own_fits: Field[list[OwnFit]] = Field(
        "measurements of one's own that the answer has: `--fit`, and those of the cluster's line or file", list_of(OwnFit)
    )
    base: Field[Plan] = Field("the plan whose choices every plan has", Plan)
    flopcast: Field[str] = Field("version that answered")


class SearchShard(Part):
    """SearchShard of docs/reference/json.md."""

    index: Field[int] = Field("which part it is, from 0")
    of: Field[int] = Field("how many parts there are")


class PlanCounts(Part):
    """PlanCounts of docs/reference/json.md."""

    plans: Field[int] = Field("possible plans")
    placed: Field[int] = Field("possible plans with each of their placements")
    too_big: Field[int] = Field(
        "plans whose weights, state and kept activations alone do not fit with the odds asked for"
    )


class PlanRefusal(Part):
    """PlanRefusal of docs/reference/json.md."""

    reason: Field[str] = Field("why plans are impossible")
    plans: Field[int] = Field("how many it refuses")


class FoundPlan(Part):
    """FoundPlan of docs/reference/json.md."""

    words: Field[str] = Field("the plan in one line")
    time_s: Field[float] = Field("one step (s)")
    memory_bytes: Field[float] = Field("of the fullest chip (B)")
    number: Field[int] = Field("of the plan in the space; breaks ties")
    plan: Field[Plan] = Field("every setting, by its short name", Plan)
    placement: Field[Placement] = Field("where its groups lie on the network", Placement)


class PlanMemory(MemoryClasses):
    """PlanMemory of docs/reference/json.md."""

    in_flight: Field[int] = Field("microbatches whose activations are kept at once")


class Sensitivity(Part):
    """Sensitivity of docs/reference/json.md."""

    number: Field[str] = Field("of the hardware: `matrix rate`, `hbm bandwidth`, `node latency`, ...")
    change: Field[float] = Field("of the step where that number is 10 % higher; -0.02: 2 % shorter")


class BestPlan(FoundPlan):
    """BestPlan of docs/reference/json.md."""

    low_s: Field[float] = Field("low end of the 10-90 % band of `time_s` (s)")
    high_s: Field[float] = Field("high end of that band (s)")
    tie: Field[bool] = Field("it is as fast as the fastest, as far as forecasts tell, and not alone in that")
    memory_low_bytes: Field[float] = Field("low end of the 10-90 % band of `memory_bytes` (B)")
    memory_high_bytes: Field[float] = Field("high end of that band (B)")
    fit_odds: Field[float] = Field("how likely the plan fits")
    tokens_per_second: Field[float] = Field("of all chips (tokens/s)")
    mfu: Field[float] = Field("model FLOPs (causal) over the dense peak of all chips, without recomputed ones")
    hfu: Field[float] = Field("model FLOPs over the dense peak of all chips, with recomputed ones")
    energy_j: Field[float] = Field("of one step, all chips at their power limit; 0 where the power is unknown (J)")
    cost_usd: Field[float] = Field("of one step; 0 without a price (USD)")
    parts_s: Field[StepParts] = Field(
        "where the step goes on the chip that is busy longest; sums to `time_s`", StepParts
    )
    memory: Field[PlanMemory] = Field("of the fullest chip, by class", PlanMemory)
    rests_on: Field[RestsOn] = Field("share of kernel and transfer time by what it rests on", RestsOn)
    megatron: Field[str] = Field("the plan as flags of Megatron-LM")
    megatron_lacks: Field[list[str]] = Field(
        "what Megatron-LM cannot run of it; where there is any, the flags are another plan"
    )
    run: Field[Optional[WholeRun]] = Field("the whole run with this plan", WholeRun)
    sensitivities: Field[list[Sensitivity]] = Field(
        "only in parts of a search: of a plan that ties, as of the best", list_of(Sensitivity)
    )
    assumed: Field[list[str]] = Field("only in parts of a search: as of the best")


class LaunchFile(Part):
    """LaunchFile of docs/reference/json.md."""

    name: Field[str] = Field("of the file")
    text: Field[str] = Field("what is in it")


class LaunchElsewhere(Part):
    """LaunchElsewhere of docs/reference/json.md."""

    name: Field[str] = Field("of the setting")
    value: Field[str] = Field("that it has to have")
    where: Field[str] = Field("what tells it")


class PlanLaunch(Part):
    """PlanLaunch of docs/reference/json.md."""

    launcher: Field[str] = Field("`megatron`, `torchtitan` or `deepspeed`")
    release: Field[str] = Field("the launcher and the release that its rules are of")
    software: Field[str] = Field("profile that its plans are priced as")
    best: Field[Optional[FoundPlan]] = Field("its fastest plan, at its own placement; null: it has none", FoundPlan)
    low_s: Field[float] = Field("low end of the 10-90 % band of its step; where there is a best (s)")
    high_s: Field[float] = Field("high end of that band (s)")
    environment: Field[list[str]] = Field("variables, `NAME=VALUE`")
    command: Field[str] = Field("the launch line, over several lines")
    files: Field[list[LaunchFile]] = Field("that the line names", list_of(LaunchFile))
    cannot_run: Field[list[str]] = Field("what of the plan the launcher cannot run: nothing, but for plans of your own")
    told_elsewhere: Field[list[LaunchElsewhere]] = Field(
        "settings that its program is told otherwise", list_of(LaunchElsewhere)
    )
    notes: Field[list[str]] = Field("in words, what is left to whoever starts it")
    why: Field[str] = Field("where there is no best: why")
    plans: Field[int] = Field("where there is no best: plans that it runs")
    refused: Field[list[PlanRefusal]] = Field("where there is no best: what refuses the others", list_of(PlanRefusal))
    assumed: Field[list[str]] = Field("in words: its software, how it numbers chips, what it sets by itself")


class RounderStep(Part):
    """RounderStep of docs/reference/json.md."""

    global_batch: Field[int] = Field("sequences of one step")
    sequence: Field[int] = Field("tokens of a sequence")
    time_s: Field[float] = Field("the step of their fastest plan (s)")


class PlanPointFields(Document):
    """Search: `flopcast plan --json`, `flopcast merge --json`."""

    asked: Field[PlanAsked] = Field("the question as it was understood", PlanAsked)
    shard: Field[SearchShard] = Field("only in parts of a search (`--shard`)", SearchShard)
    fits: Field[bool] = Field("whether any plan fits")
    search: Field[PlanCounts] = Field("how many plans were judged", PlanCounts)
    refused: Field[list[PlanRefusal]] = Field(
        "why plans are impossible, most frequent first; empty unless no plan is possible", list_of(PlanRefusal)
    )
    best: Field[list[BestPlan]] = Field(
        "plans that tie with the fastest first, of these the leanest before others, then the rest, fastest first ([why](../theory/search.md#ties)); empty where none fits. In parts of a search all that may be among the best of the whole", list_of(BestPlan)
    )
    launch: Field[list[PlanLaunch]] = Field(
        "the best plan of `megatron`, `torchtitan` and `deepspeed`, or of the one that is `launchable`; empty in sweeps", list_of(PlanLaunch)
    )
    pareto: Field[list[FoundPlan]] = Field(
        "plans that no other is both faster and leaner than, fastest first", list_of(FoundPlan)
    )
    leanest: Field[Optional[FoundPlan]] = Field(
        "the plan that needs least memory; null where no plan is possible", FoundPlan
    )
    assumed: Field[list[str]] = Field("in words, what nobody told and nothing measured")
    rounder: Field[Optional[RounderStep]] = Field(
        "sizes near those asked for that divide better; null where these divide well", RounderStep
    )
    hint: Field[str] = Field("in words, what these would save, where that is 3 % a token or more; else empty")


class Problem(Part):
    """Problem of docs/reference/json.md."""

    code: Field[int] = Field(
        "exit code of the kind of error: 2 wrong usage, 3 bad input, 4 too large for the machine, 5 no solution"
    )
    where: Field[str] = Field("the file, flag or field that it is about")
    what: Field[str] = Field("what is wrong")
    hint: Field[str] = Field("what was expected, or what to do; empty where nothing helps")


class Breakdown(Part):
    """Breakdown of docs/reference/json.md."""

    exposed_compute: Field[float] = Field("kernels, no communication beside them (s)")
    exposed_communication: Field[float] = Field("communication, no compute beside it (s)")
    transfer: Field[float] = Field(
        "part of `exposed_communication`: all ranks are there, and data moves: the most that a faster network could win back (s)"
    )
    waiting: Field[float] = Field(
        "the other part: not all ranks of the collective have come yet, so that a faster network gains nothing; the sum of the next three (s)"
    )
    waiting_for_rank: Field[float] = Field(
        "for the GPU of the last rank, which had more work since the collective before than the one that waits, or took longer for it (s)"
    )
    waiting_for_host: Field[float] = Field(
        "for the host of the last rank: by so much its GPU stood idle longer since the collective before (s)"
    )
    waiting_for_stage: Field[float] = Field(
        "for what another stage of the pipeline computes, which no plan can do without: in a send or receive between two ranks, or in a collective that stages share (s)"
    )
    overlapped: Field[float] = Field("kernels and communication at once (s)")
    other: Field[float] = Field(
        "neither: copies and sets alone, and nothing. `exposed_compute`, `exposed_communication`, `overlapped` and `other` add up to the window (s)"
    )
    idle: Field[float] = Field("nothing at all; part of `other` (s)")


class TwoBreakdowns(Part):
    """TwoBreakdowns of docs/reference/json.md."""

    measured: Field[Breakdown] = Field("as recorded", Breakdown)
    replayed: Field[Breakdown] = Field("as replayed", Breakdown)


class ReplayStep(Part):
    """ReplayStep of docs/reference/json.md."""

    name: Field[str] = Field("of the step")
    mode: Field[str] = Field("the lags it was replayed with, as of the set")
    measured_s: Field[float] = Field("the step on the host as recorded (s)")
    replayed_s: Field[float] = Field("the step on the host as replayed (s)")
    error: Field[Optional[float]] = Field("of the step on the host; null where nothing was measured")
    gpu_measured_s: Field[Optional[float]] = Field(
        "the step on the GPU as recorded: from the last end of GPU work launched in the step before to the last end of that launched in this one; null where there is no GPU step (s)"
    )
    gpu_replayed_s: Field[Optional[float]] = Field("the same as replayed (s)")
    gpu_step_error: Field[Optional[float]] = Field("of the step on the GPU; null where there is none")
    start_error_median_s: Field[float] = Field("median distance of replayed from recorded start over its GPU tasks (s)")
    breakdown_s: Field[TwoBreakdowns] = Field("GPU time within the host step by what ran", TwoBreakdowns)


class SmTimeUsed(Part):
    """SmTimeUsed of docs/reference/json.md."""

    measured: Field[Optional[float]] = Field("as recorded; null where SM count or blocks are unknown")
    replayed: Field[Optional[float]] = Field("as replayed; null where SM count or blocks are unknown")


class ReplayWindow(Part):
    """ReplayWindow of docs/reference/json.md."""

    measured_s: Field[float] = Field("its length as recorded (s)")
    replayed_s: Field[float] = Field("its length as replayed (s)")
    breakdown_s: Field[TwoBreakdowns] = Field("its GPU time by what ran", TwoBreakdowns)
    sm_time_used: Field[SmTimeUsed] = Field("share of SM time that kernels had blocks for", SmTimeUsed)


class ReplayCurve(Part):
    """ReplayCurve of docs/reference/json.md."""

    interval_s: Field[float] = Field("of one value: 1 ms, wider where there would be more than a million (s)")
    active: Field[list[float]] = Field("per interval of the window, share of it with any stream at work")
    sms_used: Field[list[float]] = Field(
        "per interval, share of SM time that kernels had blocks for; empty where SM count or blocks are unknown"
    )


class ReplayUtilisation(Part):
    """ReplayUtilisation of docs/reference/json.md."""

    measured: Field[ReplayCurve] = Field("as recorded", ReplayCurve)
    replayed: Field[ReplayCurve] = Field("as replayed", ReplayCurve)


class ReplayRank(Part):
    """ReplayRank of docs/reference/json.md."""

    rank: Field[int] = Field("its number, or its place in the set where no file tells it")
    file: Field[str] = Field("that it was read from")
    steps: Field[list[ReplayStep]] = Field(
        "training steps in order (`ProfilerStep#N`); the whole window where a trace marks none", list_of(ReplayStep)
    )
    window: Field[ReplayWindow] = Field(
        "first start to last end of any GPU task; of any task where there is none of a GPU", ReplayWindow
    )
    utilisation: Field[ReplayUtilisation] = Field("of the window over time; `replay --json` only", ReplayUtilisation)


class ReplayEdgeCount(Part):
    """ReplayEdgeCount of docs/reference/json.md."""

    count: Field[int] = Field("edges in the graph")
    contradicted: Field[int] = Field(
        "candidates that the recording contradicts (the source ends after the target starts) and that were dropped"
    )
    example: Field[str] = Field("the first of those in words")


class ReplayEdges(Part):
    """ReplayEdges of docs/reference/json.md."""

    launch: Field[ReplayEdgeCount] = Field("from a host call to the GPU work that it launches", ReplayEdgeCount)
    stream: Field[ReplayEdgeCount] = Field("from GPU work to the next of its stream", ReplayEdgeCount)
    graph: Field[ReplayEdgeCount] = Field("between GPU work inside one launch of a CUDA graph", ReplayEdgeCount)
    event: Field[ReplayEdgeCount] = Field("between streams, by an event that is known", ReplayEdgeCount)
    event_inferred: Field[ReplayEdgeCount] = Field(
        "between streams, the source found by a rule, without the event's identity", ReplayEdgeCount
    )
    occupancy: Field[ReplayEdgeCount] = Field(
        "between streams without an event: the SMs were full until the source's last wave", ReplayEdgeCount
    )
    sync: Field[ReplayEdgeCount] = Field(
        "from GPU work to a host call that waits for it: device, stream or event synchronisation, a blocking copy", ReplayEdgeCount
    )
    thread: Field[ReplayEdgeCount] = Field("from one host thread to another", ReplayEdgeCount)
    rendezvous: Field[ReplayEdgeCount] = Field("between the ranks of a collective", ReplayEdgeCount)


class ReplayPin(Part):
    """ReplayPin of docs/reference/json.md."""

    what: Field[str] = Field("that was taken from the recording")
    tasks: Field[int] = Field("how many")
    late_s: Field[float] = Field("by how much they start later than the graph explains, summed (s)")


class ReplayLag(Part):
    """ReplayLag of docs/reference/json.md."""

    rank: Field[int] = Field("whose")
    edge: Field[str] = Field("kind of the dependency, as in `edges`")
    samples: Field[int] = Field("how often it was seen")
    typical_s: Field[float] = Field("median (s)")
    smallest_s: Field[float] = Field("the least (s)")


class ReplayClock(Part):
    """ReplayClock of docs/reference/json.md."""

    rank: Field[int] = Field("whose")
    rank_offset_s: Field[float] = Field("added to its times so that collectives end together (s)")
    gpu_offset_s: Field[float] = Field("added to those of its GPU so that no kernel starts before its launch (s)")


class TwoRuns(Part):
    """TwoRuns of docs/reference/json.md."""

    measured: Field[float] = Field("as recorded (s)")
    replayed: Field[float] = Field("as replayed (s)")


class ReplayCollective(Part):
    """ReplayCollective of docs/reference/json.md."""

    name: Field[str] = Field("of the collective")
    group: Field[str] = Field("of ranks; empty where it is not known")
    count: Field[int] = Field("how many of that name and group")
    ranks: Field[int] = Field("the most that any of them has")
    bytes: Field[int] = Field("all together, B; 0 where the trace does not say")
    not_rendezvous: Field[int] = Field("how many some rank had left before another came")
    wait_s: Field[TwoRuns] = Field("time until the last rank arrives, summed over ranks", TwoRuns)
    transfer_s: Field[TwoRuns] = Field("time after that, summed over ranks", TwoRuns)


class ReplayNetworkOperation(Part):
    """ReplayNetworkOperation of docs/reference/json.md."""

    name: Field[str] = Field("of the operation: `all_reduce`, ...")
    collectives: Field[int] = Field("that were matched across ranks")
    kept: Field[int] = Field("of these, that kept their recorded transfer")
    kept_because: Field[str] = Field("why; empty where none was kept")
    recorded_s: Field[float] = Field("the transfers replaced, summed over ranks, as recorded (s)")
    modelled_s: Field[float] = Field("the same by the model (s)")
    source: Field[str] = Field("of the model's answer")


class ReplayNetwork(Part):
    """ReplayNetwork of docs/reference/json.md."""

    cluster: Field[str] = Field("whose model gave transfer times")
    operations: Field[list[ReplayNetworkOperation]] = Field("by operation", list_of(ReplayNetworkOperation))


class PathShare(Part):
    """PathShare of docs/reference/json.md."""

    pieces: Field[int] = Field("of the path")
    time_s: Field[float] = Field("theirs together (s)")


class PathClasses(Part):
    """PathClasses of docs/reference/json.md."""

    operator: Field[PathShare] = Field("host: operators", PathShare)
    host_call: Field[PathShare] = Field("host: calls other than launches and waits", PathShare)
    launch: Field[PathShare] = Field("host: calls that launch GPU work", PathShare)
    sync: Field[PathShare] = Field("host: waiting for the GPU", PathShare)
    host_gap: Field[PathShare] = Field("host: between operators", PathShare)
    compute: Field[PathShare] = Field("GPU: compute", PathShare)
    copy_: Field[PathShare] = Field("GPU: copies and sets", PathShare, name="copy")
    communication: Field[PathShare] = Field("GPU: communication", PathShare)
    lag: Field[PathShare] = Field("delays after dependencies", PathShare)
    pinned: Field[PathShare] = Field("as recorded, since nothing explains it", PathShare)


class ReplayPath(Part):
    """ReplayPath of docs/reference/json.md."""

    length_s: Field[float] = Field(
        "from the start of the path to the end of the run. The path goes back to the start of the last rank's window, or further on a rank that began before (s)"
    )
    pieces: Field[int] = Field("tasks and gaps on it")
    rank_changes: Field[int] = Field("pieces on another rank than the one before")
    last_rank: Field[int] = Field("the rank that the path ends with")
    window_s: Field[float] = Field("that rank's window (s)")
    pinned_starts: Field[int] = Field(
        "tasks on the path that start when recorded, because nothing in the trace holds them; there the path goes on with what ended last before, and the time between is of the class `pinned`"
    )
    pinned_s: Field[float] = Field(
        "first part of the path, up to the last of those starts; nothing in it makes the run shorter (s)"
    )
    classes: Field[PathClasses] = Field("pieces and time by class; they add up to the path", PathClasses)
    ranks: Field[dict[str, PathShare]] = Field(
        "pieces and time by rank, its number as the key; they add up to the path", map_of(PathShare)
    )


class ReplayStraggler(Part):
    """ReplayStraggler of docs/reference/json.md."""

    rank: Field[int] = Field("the one that the others wait for")
    share_of_path: Field[float] = Field(
        "its share of the critical path, from the last start that is as recorded to the last collective"
    )
    last: Field[int] = Field("collectives to which it comes last")
    collectives: Field[int] = Field("that several ranks join")
    waited_s: Field[float] = Field("how long the others waited in those to which it comes last, summed over them (s)")
    waited_for_host_s: Field[float] = Field("how much of that for its host (s)")
    share_of_waiting: Field[float] = Field("what share of all waiting in collectives that is")


class ReplayLate(Part):
    """ReplayLate of docs/reference/json.md."""

    rank: Field[int] = Field("that its equals wait for")
    last: Field[int] = Field("collectives to which it came last")
    waited_s: Field[float] = Field("how long they waited, as replayed (s)")
    waited_for_host_s: Field[float] = Field("of that for its host (s)")


class SensitivityPart(Part):
    """SensitivityPart of docs/reference/json.md."""

    part: Field[str] = Field(
        "`host`, `gemm`, `attention`, `other_kernels`, `copies`, `other_communication`, an operation such as `all_reduce`, or `network`: every transfer"
    )
    title: Field[str] = Field("the part in words")
    work_s: Field[float] = Field("its time in a step over all ranks (s)")
    gpu_step_s: Field[Optional[float]] = Field("GPU step with less of it; null if that run cannot finish (s)")
    change: Field[Optional[float]] = Field("of the GPU step; null if that run cannot finish")
    limit_s: Field[Optional[float]] = Field("GPU step with none of it; null if that run cannot finish (s)")
    limit_change: Field[Optional[float]] = Field("of the GPU step then")


class LikeEquals(Part):
    """LikeEquals of docs/reference/json.md."""

    rank: Field[int] = Field("that is made like its equals")
    gpu_step_s: Field[Optional[float]] = Field("GPU step then; null where it has no equals (s)")
    change: Field[Optional[float]] = Field("of the GPU step then")
    next: Field[Optional[int]] = Field("who is waited for most then")
    next_waited_s: Field[float] = Field("how long (s)")


class ReplaySensitivity(Part):
    """ReplaySensitivity of docs/reference/json.md."""

    less_time: Field[float] = Field(
        "of its time that each part takes less while the engine runs once more: 0.1, a tenth"
    )
    gpu_step_s: Field[float] = Field(
        "as recorded, the mean over ranks and over the usual steps, without the first: `before_s` of a what-if (s)"
    )
    parts: Field[list[SensitivityPart]] = Field("of the work, most gain first", list_of(SensitivityPart))
    late: Field[Optional[LikeEquals]] = Field(
        "of the rank that others wait for most (`whatif --remove straggler:RANK`)", LikeEquals
    )
    straggler: Field[Optional[LikeEquals]] = Field(
        "of the rank that `whatif --remove straggler` removes; null where it removes none", LikeEquals
    )


class ReplayLateTask(Part):
    """ReplayLateTask of docs/reference/json.md."""

    rank: Field[int] = Field("whose")
    name: Field[str] = Field("of the task")
    recorded_start_s: Field[float] = Field("when it started in the recording (s)")
    late_s: Field[float] = Field("by how much later than the graph explains (s)")


class ReplayLateStarts(Part):
    """ReplayLateStarts of docs/reference/json.md."""

    count: Field[int] = Field("how many")
    total_s: Field[float] = Field("by how much they are late, summed (s)")
    share_of_windows: Field[float] = Field("the same of all ranks' windows")
    tasks: Field[list[ReplayLateTask]] = Field("the latest first", list_of(ReplayLateTask))


class ReplayKernel(Part):
    """ReplayKernel of docs/reference/json.md."""

    name: Field[str] = Field("of the kernel")
    count: Field[int] = Field("how often it ran")
    measured_s: Field[float] = Field("its time as recorded (s)")
    replayed_s: Field[float] = Field("its time as replayed (s)")


class TraceAnomaly(Part):
    """TraceAnomaly of docs/reference/json.md."""

    rank: Field[Optional[int]] = Field("of which rank's file it is; null: of the run")
    kind: Field[str] = Field("a stable name of the oddity")
    count: Field[int] = Field("how often it was met")
    first: Field[str] = Field("the first example")


class ShareDifference(Part):
    """ShareDifference of docs/reference/json.md."""

    exposed_compute: Field[float] = Field("of that part")
    exposed_communication: Field[float] = Field("of that part")
    overlapped: Field[float] = Field("of that part")
    idle: Field[float] = Field("of that part")


class ReplayQuality(Part):
    """ReplayQuality of docs/reference/json.md."""

    steps: Field[int] = Field("host steps that have an error")
    mean_abs_error: Field[Optional[float]] = Field("mean size of `error` of host steps; null where there is none")
    max_abs_error: Field[Optional[float]] = Field("the largest")
    gpu_steps: Field[int] = Field("GPU steps that have an error")
    mean_abs_gpu_step_error: Field[Optional[float]] = Field("mean size of `gpu_step_error`; null where there is none")
    max_abs_gpu_step_error: Field[Optional[float]] = Field("the largest")
    start_error_median_of_window: Field[Optional[float]] = Field(
        "median distance of replayed from recorded start of all GPU tasks, as a share of the mean window; null where there is no GPU step"
    )
    max_share_difference: Field[ShareDifference] = Field(
        "largest difference, over ranks, between the measured and the replayed share of the window", ShareDifference
    )


class ReplayReport(Part):
    """ReplayReport of docs/reference/json.md."""

    name: Field[str] = Field("the folder, or `folder/run` where a folder holds several runs")
    failure: Field[Problem] = Field("why the run could not be replayed; there is nothing else then but `name`", Problem)
    mode: Field[str] = Field(
        "the lags it was replayed with: `typical`, `zero` or `recorded`. Errors with `recorded` say nothing of accuracy"
    )
    baseline: Field[str] = Field("the model: `full`, `single-stream`, `no-inter-stream` or `dpro`")
    structure_from: Field[str] = Field(
        "the step whose structure was replayed; only where one step was replayed with the durations of another"
    )
    durations_from: Field[str] = Field("the step whose durations those were")
    forecast: Field[bool] = Field(
        "false: the recording is damaged, its numbers are no forecast, and `summary` leaves them out"
    )
    damage: Field[list[str]] = Field("why, in words; empty where `forecast` is true")
    truncated: Field[list[str]] = Field("files that end before their trace does, and what was read of them, in words")
    verdict: Field[list[str]] = Field(
        "what the run is bound by, where the GPUs' time goes, who is last and why, the three changes worth most: a sentence each, for people"
    )
    tasks: Field[int] = Field("of the execution graph")
    task_edges: Field[int] = Field("of the execution graph")
    ranks: Field[list[ReplayRank]] = Field("in the order of the set", list_of(ReplayRank))
    edges: Field[ReplayEdges] = Field("dependencies by kind; all kinds are there", ReplayEdges)
    pinned: Field[list[ReplayPin]] = Field(
        "what was taken from the recording because nothing in it explains it", list_of(ReplayPin)
    )
    lags: Field[list[ReplayLag]] = Field(
        "delays from the end of a dependency to the task it frees, by rank and kind of edge", list_of(ReplayLag)
    )
    clocks: Field[list[ReplayClock]] = Field("what was added to the times of each rank", list_of(ReplayClock))
    clock_residual_s: Field[float] = Field(
        "by how much the ends of a collective still differ between ranks (median) (s)"
    )
    collectives: Field[list[ReplayCollective]] = Field(
        "by name and group, most transfer time first", list_of(ReplayCollective)
    )
    network: Field[ReplayNetwork] = Field(
        "what the model of the cluster replaced; only with `--network`", ReplayNetwork
    )
    critical_path: Field[ReplayPath] = Field(
        "the chain of tasks, each held back by the one before it, that ends with the replayed run", ReplayPath
    )
    straggler: Field[Optional[ReplayStraggler]] = Field(
        "the rank that the others wait for. In a pipeline it is also slower than its equals, the ranks of its stage: these wait for it, or the step gains if it is like them. Null where no rank has more than half of the critical path (from the last start that is as recorded to the last collective), or the others wait less than 1 % of the run for it", ReplayStraggler
    )
    late: Field[list[ReplayLate]] = Field(
        "every rank that its equals wait for in collectives, most first; ranks of other stages wait by plan, and so do the two of a send or receive", list_of(ReplayLate)
    )
    sensitivity: Field[Optional[ReplaySensitivity]] = Field(
        "what would shorten the GPU step: the answers of `whatif` to the recording, whatever lags the replay has; null with `--compare`, `--baseline`, `--network` and `--structure-from`, for `validate replay`, for damaged recordings and where there is no GPU step: the verdict says why", ReplaySensitivity
    )
    late_starts: Field[ReplayLateStarts] = Field(
        "GPU tasks that start later than anything in the graph explains, by more than 15 µs", ReplayLateStarts
    )
    top_kernels: Field[list[ReplayKernel]] = Field(
        "the 20 kernels with most time, all ranks together", list_of(ReplayKernel)
    )
    anomalies: Field[list[TraceAnomaly]] = Field("what was odd in the input", list_of(TraceAnomaly))
    unreadable: Field[list[Problem]] = Field("files that were found but not read", list_of(Problem))
    summary: Field[ReplayQuality] = Field(
        "how near the replay is to the recording, over all ranks and steps", ReplayQuality
    )


class ReplaySummary(Part):
    """ReplaySummary of docs/reference/json.md."""

    sets: Field[int] = Field("all of them")
    damaged_sets: Field[int] = Field("whose recording is damaged; they are in none of the errors")
    failed_sets: Field[int] = Field("that could not be replayed; they are in none of the errors")
    mean_abs_error: Field[Optional[float]] = Field("mean of the sets' means, host steps; null where there is none")
    max_abs_error: Field[Optional[float]] = Field("the largest of any host step")
    mean_abs_gpu_step_error: Field[Optional[float]] = Field(
        "mean of the sets' means, GPU steps; null where there is none"
    )
    max_abs_gpu_step_error: Field[Optional[float]] = Field("the largest of any GPU step")


class ReplayFields(Document):
    """Replay: `flopcast replay --json`, `flopcast validate replay --json`."""

    flopcast: Field[str] = Field("version that wrote the document")
    sets: Field[list[ReplayReport]] = Field(
        "one per run; with `replay --compare` one per model of the run", list_of(ReplayReport)
    )
    summary: Field[ReplaySummary] = Field("over all sets", ReplaySummary)


class FleetSetting(Part):
    """FleetSetting of docs/reference/json.md."""

    name: Field[str] = Field("of the flag")
    value: Field[str] = Field("as given")


class FleetQuestion(Part):
    """FleetQuestion of docs/reference/json.md."""

    model: Field[str] = Field("as named")
    on: Field[str] = Field("the cluster as named")
    cluster: Field[str] = Field("the same in its full name")
    chip: Field[str] = Field("of the cluster")
    chips: Field[int] = Field("at most")
    front: Field[bool] = Field("every fleet that none surpasses is asked for")
    best: Field[int] = Field("fleets to tell")
    usd_per_chip_hour: Field[float] = Field("0: no price was told (USD/h)")
    flopcast: Field[str] = Field("version that searched")
    limits: Field[list[str]] = Field("that a fleet must keep: `ttft.p99<1000ms`")
    limits_s: Field[list[float]] = Field("what they allow (s)")
    largest: Field[bool] = Field("the largest load is what is looked for")
    load_unit: Field[str] = Field("of loads: `users`, `requests/s` or `times the trace's rate`")
    settings: Field[list[FleetSetting]] = Field("as given", list_of(FleetSetting))


class FleetShard(Part):
    """FleetShard of docs/reference/json.md."""

    index: Field[int] = Field("of the part, from 0")
    of: Field[int] = Field("how many parts there are")


class FleetSearch(Part):
    """FleetSearch of docs/reference/json.md."""

    configurations: Field[int] = Field("fleets but for their counts of replicas")
    impossible: Field[int] = Field("of them, that no engine runs")
    out_of_memory: Field[int] = Field("of them, whose weights or shortest request do not fit")
    least_ratio: Field[Optional[float]] = Field(
        "what bounds leave of the limits; 1 or more: a request that is alone exceeds them; null: no configuration can run"
    )
    least_chips: Field[int] = Field("what bounds leave of chips: no fleet on fewer meets the limits")


class FleetProblem(Problem):
    """FleetProblem of docs/reference/json.md."""

    number: Field[int] = Field("of the configuration that it is about")


class ServingLayout(Part):
    """ServingLayout of docs/reference/json.md."""

    tp: Field[int] = Field("tensor-parallel chips of attention")
    dp: Field[int] = Field("data-parallel ranks of attention, with requests of their own")
    ep: Field[int] = Field("chips that share the experts out")
    pp: Field[int] = Field("pipeline stages")


class FleetPool(ServingLayout):
    """FleetPool of docs/reference/json.md."""

    replicas: Field[int] = Field("of the pool")


class SameFleet(Part):
    """SameFleet of docs/reference/json.md."""

    words: Field[str] = Field("the fleet in a line")
    chips: Field[int] = Field("of all its replicas")
    engine: Field[str] = Field("`vllm`, `sglang` or `trtllm`")
    precision: Field[str] = Field("of the weights")
    batch_tokens: Field[int] = Field("of an iteration")
    max_requests: Field[int] = Field("that run at once; 0: the engine's own")
    pool: Field[FleetPool] = Field("of all work; of prompts where `decode` is there", FleetPool)
    decode: Field[FleetPool] = Field("replicas that make answers; only where prompts are computed apart", FleetPool)
    number: Field[int] = Field("of its configuration in the space; breaks ties")


class FleetPercentiles(Part):
    """FleetPercentiles of docs/reference/json.md."""

    mean_s: Field[float] = Field("mean (s)")
    p50_s: Field[float] = Field("median (s)")
    p90_s: Field[float] = Field("90th percentile (s)")
    p95_s: Field[float] = Field("95th percentile (s)")
    p99_s: Field[float] = Field("99th percentile (s)")
    max_s: Field[float] = Field("the longest (s)")
    count: Field[int] = Field("how many times these are of")


class FoundFleet(SameFleet):
    """FoundFleet of docs/reference/json.md."""

    same: Field[list[SameFleet]] = Field("other fleets of the same chips and numbers", list_of(SameFleet))
    output_tokens_per_s: Field[float] = Field("of the fleet (tokens/s)")
    output_tokens_per_s_per_chip: Field[float] = Field("of a chip (tokens/s)")
    requests_per_s: Field[float] = Field("of the fleet (requests/s)")
    cost_per_million_tokens: Field[float] = Field("of answers (USD, or chip-hours where no price is told)")
    limit_ratio: Field[float] = Field("the largest of what the run has by what a limit allows; below 1 it meets them")
    slow_limit_ratio: Field[float] = Field("the same at the slow end of the band; below 1: surely; 0: not looked at")
    largest_load: Field[float] = Field(
        "with `largest`: the largest load that holds the limits; other numbers are of a run at that load; else 0, as the next three (load_unit)"
    )
    next_load: Field[float] = Field("the next that was tried and does not hold; 0: there is none (load_unit)")
    slow_largest_load: Field[float] = Field("the largest load at the slow end of the band (load_unit)")
    fast_largest_load: Field[float] = Field("at the fast end (load_unit)")
    preemptions: Field[int] = Field("of all replicas")
    ttft: Field[FleetPercentiles] = Field("time to the first token", FleetPercentiles)
    tpot: Field[FleetPercentiles] = Field("time per output token behind the first", FleetPercentiles)
    inter_token: Field[FleetPercentiles] = Field("gaps between tokens", FleetPercentiles)
    latency: Field[FleetPercentiles] = Field("time of the whole answer", FleetPercentiles)


class FleetLaunch(Part):
    """FleetLaunch of docs/reference/json.md."""

    role: Field[str] = Field("`prefill and decode`, or `prefill` and `decode` of two pools")
    replicas: Field[int] = Field("how many are started so")
    checkpoint: Field[str] = Field("what `$MODEL` is to name")
    command: Field[str] = Field("for a shell")
    file_name: Field[str] = Field("of a file that the command reads; empty where there is none")
    file: Field[str] = Field("what is in it, YAML")
    lacks: Field[list[str]] = Field("what of the forecast no flag says")


class FleetsDocument(Part):
    """FleetsDocument of docs/reference/json.md."""

    asked: Field[FleetQuestion] = Field("the question as it was understood", FleetQuestion)
    shard: Field[FleetShard] = Field("only in parts of a search: which", FleetShard)
    found: Field[bool] = Field("any fleet meets the limits")
    search: Field[FleetSearch] = Field("what was looked at", FleetSearch)
    problem: Field[Optional[FleetProblem]] = Field("where no configuration can run: why; else null", FleetProblem)
    best: Field[list[FoundFleet]] = Field(
        "fleets that meet the limits on the fewest chips, those farthest below them first; with `front`, of least cost first; with `largest`, of the largest load first", list_of(FoundFleet)
    )
    pareto: Field[list[FoundFleet]] = Field(
        "of all fleets found those that none surpasses in cost, mean TTFT and mean TPOT", list_of(FoundFleet)
    )
    nearest: Field[Optional[FoundFleet]] = Field(
        "where none meets them: the fleet of the least `limit_ratio` of those that bounds leave, by whole runs; else null", FoundFleet
    )
    launch: Field[list[FleetLaunch]] = Field(
        "how the best is started, an entry for each pool; empty where none was found", list_of(FleetLaunch)
    )
    assumed: Field[list[str]] = Field("what nobody told")


class FleetsDocumentFields(Document):
    """Fleets: `flopcast serve-plan --json`."""

    asked: Field[FleetQuestion] = Field("the question as it was understood", FleetQuestion)
    shard: Field[FleetShard] = Field("only in parts of a search: which", FleetShard)
    found: Field[bool] = Field("any fleet meets the limits")
    search: Field[FleetSearch] = Field("what was looked at", FleetSearch)
    problem: Field[Optional[FleetProblem]] = Field("where no configuration can run: why; else null", FleetProblem)
    best: Field[list[FoundFleet]] = Field(
        "fleets that meet the limits on the fewest chips, those farthest below them first; with `front`, of least cost first; with `largest`, of the largest load first", list_of(FoundFleet)
    )
    pareto: Field[list[FoundFleet]] = Field(
        "of all fleets found those that none surpasses in cost, mean TTFT and mean TPOT", list_of(FoundFleet)
    )
    nearest: Field[Optional[FoundFleet]] = Field(
        "where none meets them: the fleet of the least `limit_ratio` of those that bounds leave, by whole runs; else null", FoundFleet
    )
    launch: Field[list[FleetLaunch]] = Field(
        "how the best is started, an entry for each pool; empty where none was found", list_of(FleetLaunch)
    )
    assumed: Field[list[str]] = Field("what nobody told")


class ComparedFleet(Part):
    """ComparedFleet of docs/reference/json.md."""

    cluster: Field[int] = Field("place in `clusters`")
    fleet: Field[int] = Field("place in that one's `pareto`")


class ComparedFleetsFields(Document):
    """Fleets on several clusters: `flopcast serve-plan --on A --on B --json`."""

    found: Field[bool] = Field("any cluster has a fleet that meets the limits")
    largest: Field[Optional[int]] = Field(
        "place in `clusters` of the one whose best fleet holds the largest load; null unless that is looked for"
    )
    pareto: Field[list[ComparedFleet]] = Field(
        "what no fleet of any cluster surpasses; empty unless every cluster has a price", list_of(ComparedFleet)
    )


class ServePercentiles(Part):
    """ServePercentiles of docs/reference/json.md."""

    mean: Field[float] = Field("mean; 0, as all of these, where `count` is 0 (s)")
    p50: Field[float] = Field("median (nearest rank, as all below) (s)")
    p90: Field[float] = Field("90th percentile (s)")
    p95: Field[float] = Field("95th percentile (s)")
    p99: Field[float] = Field("99th percentile (s)")
    max: Field[float] = Field("the longest (s)")
    count: Field[int] = Field("how many times these are of")


class ServeSummary(Part):
    """ServeSummary of docs/reference/json.md."""

    chips: Field[int] = Field("of all replicas")
    ttft_s: Field[ServePercentiles] = Field("time to the first token", ServePercentiles)
    tpot_s: Field[ServePercentiles] = Field("time per output token behind the first", ServePercentiles)
    inter_token_s: Field[ServePercentiles] = Field("gaps between tokens, every gap of every request", ServePercentiles)
    latency_s: Field[ServePercentiles] = Field("time of the whole answer", ServePercentiles)
    output_tokens_per_s: Field[float] = Field(
        "of answers, all replicas, from the first request sent to the last answered (tokens/s)"
    )
    total_tokens_per_s: Field[float] = Field("prompts included, likewise (tokens/s)")
    requests_per_s: Field[float] = Field("likewise (requests/s)")
    within: Field[float] = Field(
        "share of requests whose own times keep every limit of `slo`; without limits those that were answered"
    )
    goodput_requests_per_s: Field[float] = Field("how many of them a second (requests/s)")
    meets: Field[bool] = Field("the percentiles keep the limits")
    usd_per_million_tokens: Field[Optional[float]] = Field("of answers; null without a price (USD)")
    answered: Field[int] = Field("requests")
    lost: Field[int] = Field("requests that died with a replica and were not sent anew")
    unanswered: Field[int] = Field("requests that were not answered at the end")
    preemptions: Field[int] = Field("how often a request lost its blocks and was computed again")


class ServeQuestion(Part):
    """ServeQuestion of docs/reference/json.md."""

    model: Field[str] = Field("as named")
    on: Field[str] = Field("the cluster, as named")
    engine: Field[str] = Field("whose rules of scheduling; `vllm` if not given; `vllm`, `sglang`, `trtllm`")
    tp: Field[str] = Field("tensor-parallel chips of a replica; 1 if not given")
    dp: Field[str] = Field("data-parallel ranks of attention inside a replica; 1 if not given")
    ep: Field[str] = Field("chips that share the experts out; 1 if not given")
    pp: Field[str] = Field("pipeline stages of a replica; 1 if not given")
    precision: Field[str] = Field("of the weights; the checkpoint's own if not given; `bf16`, `fp8`, `fp4`, `int4`")
    kv_cache: Field[str] = Field("of keys and values, such as fp8; that of the checkpoint if not given")
    replicas: Field[str] = Field("how many; as many as the cluster holds if not given")
    disaggregated: Field[str] = Field("`N:M`: N replicas compute prompts, M others make the answers")
    prefill_tp: Field[str] = Field("tensor-parallel chips of a replica that computes prompts; as `tp` if not given")
    prefill_dp: Field[str] = Field("data-parallel ranks of a replica that computes prompts; as `dp` if not given")
    prefill_ep: Field[str] = Field(
        "chips that share the experts out of a replica that computes prompts; as `ep` if not given"
    )
    prefill_pp: Field[str] = Field("pipeline stages of a replica that computes prompts; as `pp` if not given")
    decode_tp: Field[str] = Field("tensor-parallel chips of a replica that makes answers; as `tp` if not given")
    decode_dp: Field[str] = Field("data-parallel ranks of a replica that makes answers; as `dp` if not given")
    decode_ep: Field[str] = Field(
        "chips that share the experts out of a replica that makes answers; as `ep` if not given"
    )
    decode_pp: Field[str] = Field("pipeline stages of a replica that makes answers; as `pp` if not given")
    users: Field[str] = Field("clients that each wait for an answer before they ask again")
    rate: Field[str] = Field("requests a second, as they come")
    trace: Field[str] = Field("file of requests as recorded: Azure or Mooncake traces, CSV of one's own")
    rate_scale: Field[str] = Field("times the trace's rate; 1 if not given")
    max_rate: Field[str] = Field("the largest rate that holds `slo` is asked for")
    max_users: Field[str] = Field("the largest number of clients that holds `slo` is asked for")
    input: Field[str] = Field("tokens of a prompt")
    output: Field[str] = Field("tokens of an answer")
    spread: Field[str] = Field("lengths are uniform down to this share less; 0.2 if not given")
    requests: Field[str] = Field("how many are sent; 10 a user, 10 minutes of a rate, a whole trace if not given")
    warm_up: Field[str] = Field("requests before those that count; none if not given")
    burstiness: Field[str] = Field("of a rate: squared variation of the gaps; 1, Poisson, if not given")
    shared_prefix: Field[str] = Field("share of a prompt that all of a session have in common")
    sessions: Field[str] = Field("how many such sessions; 1 if not given")
    seed: Field[str] = Field("of lengths and gaps; 1 if not given")
    batch_tokens: Field[str] = Field("tokens of an iteration; the engine's own if not given")
    max_requests: Field[str] = Field("requests that run at once; the engine's own if not given")
    chunked_prefill: Field[str] = Field("prompts may be cut to fill an iteration; `true` or `false`")
    prefix_cache: Field[str] = Field("keys and values of known prompts are taken again; `true` or `false`")
    max_length: Field[str] = Field(
        "the most that a request may have, prompt and answer; what the model takes if not given"
    )
    drafts: Field[str] = Field("tokens that are drafted and checked in a step; none if not given")
    accepted: Field[str] = Field(
        "tokens that a step with drafts brings, its own included; or at several numbers of drafts"
    )
    draft_kind: Field[str] = Field("who drafts: layers of the model, a small head; mtp if not given; `mtp`, `eagle`")
    set: Field[list[str]] = Field("other settings of the engine, each `KEY=VALUE`, such as `memory_share=0.85`")
    router: Field[str] = Field(
        "who gets the next request; least-loaded if not given; `least-loaded`, `round-robin`, `prefix-aware`"
    )
    autoscale: Field[str] = Field(
        "`KEY=VALUE,...`: replicas come and go: least, most, aim (requests a replica), interval, start-up, idle"
    )
    fault: Field[list[str]] = Field(
        "`R@TIME[..TIME][:lost]`: replica R dies, is back, its requests are sent anew or lost"
    )
    slo: Field[str] = Field("what goodput is judged by: `ttft.p99<1s,tpot.p99<50ms`")
    price: Field[str] = Field("what an hour of one chip costs, USD")
    point: Field[str] = Field(
        "factors that measurements put on decode, prefill and front: of `flopcast calibrate serving`"
    )


class ServeLaunchFlags(Part):
    """ServeLaunchFlags of docs/reference/json.md."""

    used: Field[list[str]] = Field("flags that were used, as written")
    without_meaning: Field[list[str]] = Field("flags without meaning for a forecast, as written")
    unmodelled: Field[list[str]] = Field("flags that are not modelled, as written, with what is taken instead")
    unknown: Field[list[str]] = Field("flags that nobody knows here, as written")


class ServeMemory(Part):
    """ServeMemory of docs/reference/json.md."""

    capacity: Field[float] = Field("of the chip's memory (B)")
    usable: Field[float] = Field("the engine's share of it (B)")
    weights: Field[float] = Field("of the fullest stage (B)")
    activations: Field[float] = Field(
        "of an iteration with as many tokens as it may have, what libraries keep included (B)"
    )
    graphs: Field[float] = Field("of captured graphs (B)")
    drafts: Field[float] = Field("weights of what drafts (B)")
    kv: Field[float] = Field("left for keys and values, states included (B)")


class ServeIterationPart(Part):
    """ServeIterationPart of docs/reference/json.md."""

    name: Field[str] = Field("`attention decode`, `experts`, `all_reduce`, `host`, ...")
    time_s: Field[float] = Field("its share (s)")
    bound: Field[str] = Field("what it is bound by: `bytes`, `compute`, `floor`, `latency`, `links`")
    basis: Field[str] = Field("what that rests on: `measured`, `table`, `fitted`, `roofline` or `assumed`")


class ServeIteration(Part):
    """ServeIteration of docs/reference/json.md."""

    time_s: Field[float] = Field("of the iteration (s)")
    parts: Field[list[ServeIterationPart]] = Field("that add up to it", list_of(ServeIterationPart))


class ServePool(Part):
    """ServePool of docs/reference/json.md."""

    role: Field[str] = Field("`replica`, or `prefill` and `decode` where prompts are computed apart")
    replicas: Field[int] = Field("of the pool")
    engine: Field[str] = Field("`vllm`, `sglang` or `trtllm`")
    engine_version: Field[str] = Field("of the engine whose rules are taken")
    layout: Field[ServingLayout] = Field("of a replica", ServingLayout)
    batch_tokens: Field[int] = Field("the most tokens of an iteration")
    max_requests: Field[int] = Field("the most requests that run at once")
    memory_bytes: Field[ServeMemory] = Field("of the fullest chip", ServeMemory)
    kv_tokens: Field[int] = Field("tokens that the blocks of keys and values of a replica hold")
    kv_mean: Field[float] = Field("share of its blocks in use, mean over time")
    kv_peak: Field[float] = Field("share of blocks in use, the most of any replica")
    busy: Field[float] = Field("share of the time in iterations")
    iterations: Field[int] = Field("of all replicas")
    decodes: Field[float] = Field("that get a token in an iteration, mean over busy time of a replica (requests)")
    waiting: Field[float] = Field("that wait, likewise (requests)")
    prompt_tokens: Field[float] = Field("of prompts, of an iteration that has some, likewise (tokens)")
    prompt_share: Field[float] = Field("of busy time in iterations with prompts")
    context: Field[float] = Field("that an answer sees, likewise (tokens)")
    iteration: Field[Optional[ServeIteration]] = Field(
        "that mean batch without prompts; of a pool that computes prompts alone with them; null where there was none", ServeIteration
    )
    prompt_iteration: Field[Optional[ServeIteration]] = Field(
        "the same batch with prompts; null where there was none", ServeIteration
    )
    basis: Field[str] = Field("what iterations rest on: `measured`, `table`, `fitted`, `roofline` or `assumed`")
    source: Field[str] = Field("of iterations, in words")


class ServeVariant(Part):
    """ServeVariant of docs/reference/json.md."""

    change: Field[str] = Field("in words: `one replica more`, `HBM bandwidth +10 %`")
    refused: Field[str] = Field(
        "why there is no answer; empty where there is one, and then the fields of a [ServeSummary](#servesummary) follow"
    )
    chips: Field[int] = Field("of all replicas")
    ttft_s: Field[ServePercentiles] = Field("time to the first token", ServePercentiles)
    tpot_s: Field[ServePercentiles] = Field("time per output token behind the first", ServePercentiles)
    inter_token_s: Field[ServePercentiles] = Field("gaps between tokens, every gap of every request", ServePercentiles)
    latency_s: Field[ServePercentiles] = Field("time of the whole answer", ServePercentiles)
    output_tokens_per_s: Field[float] = Field(
        "of answers, all replicas, from the first request sent to the last answered (tokens/s)"
    )
    total_tokens_per_s: Field[float] = Field("prompts included, likewise (tokens/s)")
    requests_per_s: Field[float] = Field("likewise (requests/s)")
    within: Field[float] = Field(
        "share of requests whose own times keep every limit of `slo`; without limits those that were answered"
    )
    goodput_requests_per_s: Field[float] = Field("how many of them a second (requests/s)")
    meets: Field[bool] = Field("the percentiles keep the limits")
    usd_per_million_tokens: Field[Optional[float]] = Field("of answers; null without a price (USD)")
    answered: Field[int] = Field("requests")
    lost: Field[int] = Field("requests that died with a replica and were not sent anew")
    unanswered: Field[int] = Field("requests that were not answered at the end")
    preemptions: Field[int] = Field("how often a request lost its blocks and was computed again")


class ServeCurvePoint(ServeSummary):
    """ServeCurvePoint of docs/reference/json.md."""

    load: Field[float] = Field("users, requests a second, or times the trace's rate (as `curve_of` says)")


class ServeTried(Part):
    """ServeTried of docs/reference/json.md."""

    load: Field[float] = Field("that was tried (load_unit)")
    holds: Field[bool] = Field("whether the limits hold")
    limit_ratio: Field[float] = Field(
        "the largest of what the run has by what a limit allows; of what its beginning or a bound told, the least that it can be"
    )


class ServeLargest(Part):
    """ServeLargest of docs/reference/json.md."""

    load_unit: Field[str] = Field("`users`, `requests/s` or `times the trace's rate`")
    load: Field[float] = Field("the largest that holds the limits (load_unit)")
    next_load: Field[float] = Field("the next above it that was tried and does not; 0: there is none (load_unit)")
    slow_load: Field[float] = Field("the largest at the slow end of the band; 0: none (load_unit)")
    fast_load: Field[float] = Field("at the fast end (load_unit)")
    tried: Field[list[ServeTried]] = Field("loads by the forecast, in their order", list_of(ServeTried))
    tried_slow: Field[list[ServeTried]] = Field("at the slow end of the band", list_of(ServeTried))
    tried_fast: Field[list[ServeTried]] = Field("at the fast end", list_of(ServeTried))


class ServeWindow(Part):
    """ServeWindow of docs/reference/json.md."""

    from_s: Field[float] = Field("its start (s)")
    to_s: Field[float] = Field("its end (s)")
    sent: Field[int] = Field("requests, in it")
    output_tokens_per_s: Field[float] = Field("of requests answered in it (tokens/s)")
    ttft_s: Field[ServePercentiles] = Field("time to the first token, of those sent in it", ServePercentiles)
    tpot_s: Field[ServePercentiles] = Field("time per output token, of those sent in it", ServePercentiles)


class ServeTimeline(Part):
    """ServeTimeline of docs/reference/json.md."""

    interval_s: Field[float] = Field("length of an interval (s)")
    decodes: Field[list[float]] = Field("that get a token in an iteration, of all replicas (requests)")
    waiting: Field[list[float]] = Field("that wait, of all replicas (requests)")
    prompt_tokens_per_s: Field[list[float]] = Field("of all replicas (tokens/s)")
    kv: Field[list[float]] = Field("share of blocks in use, mean over replicas")
    replica_kv: Field[list[list[float]]] = Field("the same of each of the first 16 replicas")


class ServeAnomaly(Part):
    """ServeAnomaly of docs/reference/json.md."""

    kind: Field[str] = Field("a stable name")
    count: Field[int] = Field("rows")
    first: Field[str] = Field("the first example")


class ServeAnswer(ServeSummary):
    """ServeAnswer of docs/reference/json.md."""

    question: Field[ServeQuestion] = Field(
        "the settings that were given, which [`--from`](serve-files.md) reads", ServeQuestion
    )
    words: Field[str] = Field("the fleet and its load in a line")
    assumed: Field[list[str]] = Field("what nobody told, and what was taken instead of flags of a launch")
    launch: Field[Optional[ServeLaunchFlags]] = Field(
        "of a question read from what servers are started with; else null", ServeLaunchFlags
    )
    fast: Field[Optional[ServeSummary]] = Field(
        "at the fast end of the 10–90 % band that measured deployments of the engine have around their forecasts ([validation](../validation)); null where no band was asked for", ServeSummary
    )
    slow: Field[Optional[ServeSummary]] = Field("at the slow end of that band", ServeSummary)
    pools: Field[list[ServePool]] = Field("one, or `prefill` and `decode`", list_of(ServePool))
    limits: Field[list[str]] = Field("what limits the fleet, in sentences, the most important first")
    next: Field[list[ServeVariant]] = Field(
        "the same question with the next chips; empty with `--quick`", list_of(ServeVariant)
    )
    sensitivity: Field[list[ServeVariant]] = Field(
        "the same question with numbers of the machine changed by a tenth; empty with `--quick`", list_of(ServeVariant)
    )
    curve_of: Field[str] = Field("what a load is: `users`, `requests/s` or `times the trace's rate`")
    curve: Field[list[ServeCurvePoint]] = Field(
        "the same fleet under other loads; empty without `--curve`", list_of(ServeCurvePoint)
    )
    largest: Field[Optional[ServeLargest]] = Field(
        "with `max_rate` or `max_users`: the largest load that holds the limits; all else is of a run at that load", ServeLargest
    )
    holds: Field[Optional[str]] = Field(
        "how surely the limits hold: `surely` (at the slow end of the band too), `likely` (by the forecast), `unlikely` (at the fast end alone), `no`; null without limits"
    )
    windows: Field[list[ServeWindow]] = Field("the run in equal intervals", list_of(ServeWindow))
    timeline: Field[ServeTimeline] = Field("means over intervals", ServeTimeline)
    anomalies: Field[list[ServeAnomaly]] = Field("rows of a trace that were left out", list_of(ServeAnomaly))


class ServingFields(Document):
    """Serving: `flopcast serve --json`."""

    chips: Field[int] = Field("of all replicas")
    ttft_s: Field[ServePercentiles] = Field("time to the first token", ServePercentiles)
    tpot_s: Field[ServePercentiles] = Field("time per output token behind the first", ServePercentiles)
    inter_token_s: Field[ServePercentiles] = Field("gaps between tokens, every gap of every request", ServePercentiles)
    latency_s: Field[ServePercentiles] = Field("time of the whole answer", ServePercentiles)
    output_tokens_per_s: Field[float] = Field(
        "of answers, all replicas, from the first request sent to the last answered (tokens/s)"
    )
    total_tokens_per_s: Field[float] = Field("prompts included, likewise (tokens/s)")
    requests_per_s: Field[float] = Field("likewise (requests/s)")
    within: Field[float] = Field(
        "share of requests whose own times keep every limit of `slo`; without limits those that were answered"
    )
    goodput_requests_per_s: Field[float] = Field("how many of them a second (requests/s)")
    meets: Field[bool] = Field("the percentiles keep the limits")
    usd_per_million_tokens: Field[Optional[float]] = Field("of answers; null without a price (USD)")
    answered: Field[int] = Field("requests")
    lost: Field[int] = Field("requests that died with a replica and were not sent anew")
    unanswered: Field[int] = Field("requests that were not answered at the end")
    preemptions: Field[int] = Field("how often a request lost its blocks and was computed again")
    question: Field[ServeQuestion] = Field(
        "the settings that were given, which [`--from`](serve-files.md) reads", ServeQuestion
    )
    words: Field[str] = Field("the fleet and its load in a line")
    assumed: Field[list[str]] = Field("what nobody told, and what was taken instead of flags of a launch")
    launch: Field[Optional[ServeLaunchFlags]] = Field(
        "of a question read from what servers are started with; else null", ServeLaunchFlags
    )
    fast: Field[Optional[ServeSummary]] = Field(
        "at the fast end of the 10–90 % band that measured deployments of the engine have around their forecasts ([validation](../validation)); null where no band was asked for", ServeSummary
    )
    slow: Field[Optional[ServeSummary]] = Field("at the slow end of that band", ServeSummary)
    pools: Field[list[ServePool]] = Field("one, or `prefill` and `decode`", list_of(ServePool))
    limits: Field[list[str]] = Field("what limits the fleet, in sentences, the most important first")
    next: Field[list[ServeVariant]] = Field(
        "the same question with the next chips; empty with `--quick`", list_of(ServeVariant)
    )
    sensitivity: Field[list[ServeVariant]] = Field(
        "the same question with numbers of the machine changed by a tenth; empty with `--quick`", list_of(ServeVariant)
    )
    curve_of: Field[str] = Field("what a load is: `users`, `requests/s` or `times the trace's rate`")
    curve: Field[list[ServeCurvePoint]] = Field(
        "the same fleet under other loads; empty without `--curve`", list_of(ServeCurvePoint)
    )
    largest: Field[Optional[ServeLargest]] = Field(
        "with `max_rate` or `max_users`: the largest load that holds the limits; all else is of a run at that load", ServeLargest
    )
    holds: Field[Optional[str]] = Field(
        "how surely the limits hold: `surely` (at the slow end of the band too), `likely` (by the forecast), `unlikely` (at the fast end alone), `no`; null without limits"
    )
    windows: Field[list[ServeWindow]] = Field("the run in equal intervals", list_of(ServeWindow))
    timeline: Field[ServeTimeline] = Field("means over intervals", ServeTimeline)
    anomalies: Field[list[ServeAnomaly]] = Field("rows of a trace that were left out", list_of(ServeAnomaly))
    flopcast: Field[str] = Field("version that wrote the document")


class WhatIfRefusal(Part):
    """WhatIfRefusal of docs/reference/json.md."""

    change: Field[str] = Field("as the command line says it")
    missing: Field[str] = Field("the evidence that the recording lacks for it")


class WhatIfBandSource(Part):
    """WhatIfBandSource of docs/reference/json.md."""

    what: Field[str] = Field("in words")
    below_s: Field[float] = Field("how far the step may lie below the answer for its sake (s)")
    above_s: Field[float] = Field("how far above (s)")


class WhatIfBand(Part):
    """WhatIfBand of docs/reference/json.md."""

    low_s: Field[float] = Field("lower end (s)")
    high_s: Field[float] = Field("upper end (s)")
    sources: Field[list[WhatIfBandSource]] = Field("of the band, widest first", list_of(WhatIfBandSource))


class WhatIfPart(Part):
    """WhatIfPart of docs/reference/json.md."""

    part: Field[str] = Field(
        "`gemm`, `attention`, `other_kernels`, `copies`, `transfer` and `waiting` (communication that no kernel hides, once all its ranks are there and before) or `idle`"
    )
    title: Field[str] = Field("the part in words")
    before_s: Field[float] = Field("of the step before (s)")
    after_s: Field[float] = Field("of the step after (s)")


class WhatIfCause(Part):
    """WhatIfCause of docs/reference/json.md."""

    change: Field[str] = Field("as the command line says it")
    forwards_s: Field[float] = Field("added to the step when put after those before it (s)")
    backwards_s: Field[Optional[float]] = Field(
        "added when put last of all; null where the others alone are no plan (s)"
    )


class WhatIfStep(Part):
    """WhatIfStep of docs/reference/json.md."""

    name: Field[str] = Field("of the step")
    gpu_before_s: Field[float] = Field("GPU step before, mean over ranks (s)")
    gpu_after_s: Field[float] = Field("GPU step after (s)")
    host_before_s: Field[float] = Field("host step before (s)")
    host_after_s: Field[float] = Field("host step after (s)")


class WhatIfNote(Part):
    """WhatIfNote of docs/reference/json.md."""

    how: Field[str] = Field("`copied`, `modelled` or `assumed`")
    what: Field[str] = Field("in words")
    tasks: Field[int] = Field("how many; 0 where that says nothing")
    share: Field[float] = Field("of the GPU time after; 0 where that says nothing")


class WhatIfTotals(Part):
    """WhatIfTotals of docs/reference/json.md."""

    tokens_per_step: Field[Optional[float]] = Field("of the whole run (tokens)")
    tokens_per_s: Field[Optional[float]] = Field("of the whole run (tokens/s)")
    mfu: Field[Optional[float]] = Field("model FLOPs over the GPUs' dense peak")
    memory_bytes: Field[Optional[float]] = Field("of the fullest rank (B)")
    energy_j: Field[Optional[float]] = Field("of a step, all GPUs (J)")
    cost_usd: Field[Optional[float]] = Field("of a step, all GPUs (USD)")
    usd_per_million_tokens: Field[Optional[float]] = Field("cost over tokens (USD)")


class WhatIfMissing(Part):
    """WhatIfMissing of docs/reference/json.md."""

    total: Field[str] = Field("name of the field")
    why: Field[str] = Field("what is missing for it")


class WhatIfRunTotals(WhatIfTotals):
    """WhatIfRunTotals of docs/reference/json.md."""

    basis: Field[str] = Field("what they rest on")
    missing: Field[list[WhatIfMissing]] = Field(
        "totals that are null, in the order of the fields", list_of(WhatIfMissing)
    )


class WhatIfAnswer(Part):
    """WhatIfAnswer of docs/reference/json.md."""

    changes: Field[list[str]] = Field("as the command line says them, in the order in which they are made")
    refused: Field[list[WhatIfRefusal]] = Field(
        "changes that this recording holds no evidence for", list_of(WhatIfRefusal)
    )
    ranks_before: Field[int] = Field("of the recorded run")
    ranks_after: Field[int] = Field("of the run after")
    before_s: Field[float] = Field(
        "GPU step before: the mean over ranks and over the usual steps (those within a quarter of their median). 0 where the recording has no GPU work (s)"
    )
    after_s: Field[float] = Field("the same after (s)")
    host_before_s: Field[float] = Field("host step before, likewise (s)")
    host_after_s: Field[float] = Field("host step after (s)")
    caution: Field[str] = Field(
        "why the change of the step is not what it seems: the first step, which is not judged, loses what the others gain; a rank is quicker than its equals; work was taken away, and the step is longer. Mostly empty"
    )
    band: Field[WhatIfBand] = Field("of `after_s`", WhatIfBand)
    parts: Field[list[WhatIfPart]] = Field(
        "where the step goes on the mean rank; they add up to the step", list_of(WhatIfPart)
    )
    causes: Field[list[WhatIfCause]] = Field(
        "with two changes or more, in the order in which they are made; else empty", list_of(WhatIfCause)
    )
    steps: Field[list[WhatIfStep]] = Field(
        "every step judged; one, of the new run, where its structure changed", list_of(WhatIfStep)
    )
    notes: Field[list[WhatIfNote]] = Field("what the answer rests on", list_of(WhatIfNote))
    totals_before: Field[WhatIfRunTotals] = Field("of the recorded run", WhatIfRunTotals)
    totals: Field[WhatIfRunTotals] = Field("of the run after", WhatIfRunTotals)


class WhatIfWorth(Part):
    """WhatIfWorth of docs/reference/json.md."""

    part: Field[str] = Field(
        "`kernel:gemm`, `collective:all_reduce`, `network`, `host`, `rank:3`, ...: as `--scale` names it"
    )
    title: Field[str] = Field("the part in words")
    work_s: Field[float] = Field("over all ranks in a step (s)")
    less_s: Field[Optional[float]] = Field("the step with 10 % less of it; null if that run cannot finish (s)")
    limit_s: Field[Optional[float]] = Field("the step with none of it; null if that run cannot finish (s)")
    caution: Field[str] = Field("as of an answer")


class WhatIfFields(Document):
    """What-ifs: `flopcast whatif --json`."""

    changes: Field[list[str]] = Field("as the command line says them, in the order in which they are made")
    refused: Field[list[WhatIfRefusal]] = Field(
        "changes that this recording holds no evidence for", list_of(WhatIfRefusal)
    )
    ranks_before: Field[int] = Field("of the recorded run")
    ranks_after: Field[int] = Field("of the run after")
    before_s: Field[float] = Field(
        "GPU step before: the mean over ranks and over the usual steps (those within a quarter of their median). 0 where the recording has no GPU work (s)"
    )
    after_s: Field[float] = Field("the same after (s)")
    host_before_s: Field[float] = Field("host step before, likewise (s)")
    host_after_s: Field[float] = Field("host step after (s)")
    caution: Field[str] = Field(
        "why the change of the step is not what it seems: the first step, which is not judged, loses what the others gain; a rank is quicker than its equals; work was taken away, and the step is longer. Mostly empty"
    )
    band: Field[WhatIfBand] = Field("of `after_s`", WhatIfBand)
    parts: Field[list[WhatIfPart]] = Field(
        "where the step goes on the mean rank; they add up to the step", list_of(WhatIfPart)
    )
    causes: Field[list[WhatIfCause]] = Field(
        "with two changes or more, in the order in which they are made; else empty", list_of(WhatIfCause)
    )
    steps: Field[list[WhatIfStep]] = Field(
        "every step judged; one, of the new run, where its structure changed", list_of(WhatIfStep)
    )
    notes: Field[list[WhatIfNote]] = Field("what the answer rests on", list_of(WhatIfNote))
    totals_before: Field[WhatIfRunTotals] = Field("of the recorded run", WhatIfRunTotals)
    totals: Field[WhatIfRunTotals] = Field("of the run after", WhatIfRunTotals)
    flopcast: Field[str] = Field("version that wrote the document")
    recording: Field[str] = Field("the folder, or `folder/run`")
    sensitivity: Field[Optional[list[WhatIfWorth]]] = Field(
        "parts of the recorded run, most to gain first; null without `--sensitivity`", list_of(WhatIfWorth)
    )


class ExploreGains(Part):
    """ExploreGains of docs/reference/json.md."""

    sram: Field[Optional[float]] = Field("with twice the SRAM; null: only then does it fit, 0: not even then")
    memory_bandwidth: Field[float] = Field(
        "with twice the bandwidth of DRAM; only where a mapping fits", name="memory-bandwidth"
    )
    memory_capacity: Field[Optional[float]] = Field(
        "with twice the DRAM, only where none fits; null: only then does it, 0: not even then", name="memory-capacity"
    )
    link_bandwidth: Field[float] = Field(
        "with twice the bandwidth of the links; only where a mapping fits", name="link-bandwidth"
    )
    peak: Field[float] = Field("with twice the peak rate; only where a mapping fits")


class ExplorePoint(Part):
    """ExplorePoint of docs/reference/json.md."""

    asked: Field[str] = Field("the question in words, the same for all points")
    index: Field[int] = Field("number of the point, from 0")
    of: Field[int] = Field("how many points there are")
    fits: Field[bool] = Field("whether any mapping fits")
    why: Field[str] = Field("what limits the point, in a sentence")
    sweep: Field[dict[str, str]] = Field("what this point changes: name and value")
    step_s: Field[float] = Field(
        "of the fastest mapping; absent, as all but `problem` and `gains` below, where none fits (s)"
    )
    bound_s: Field[float] = Field("no mapping takes less (s)")
    exact: Field[bool] = Field("both are equal, so that the mapping is proven to be the fastest")
    utilisation: Field[float] = Field("model FLOP over the peak of all chips")
    samples_per_second: Field[float] = Field("of all replicas (samples/s)")
    flop_per_s: Field[float] = Field("model FLOP a second of all chips (FLOP/s)")
    price_usd: Field[float] = Field("of chips, memories, links and switches; 0 where unknown (USD)")
    power_w: Field[float] = Field("of chips, memories, links and switches; 0 where unknown (W)")
    shape: Field[str] = Field("degrees of parallelism in words")
    compute_share: Field[float] = Field("of a layer's time, partitions that are limited by computing")
    memory_share: Field[float] = Field("of a layer's time, partitions that are limited by DRAM")
    network_share: Field[float] = Field("of a layer's time, partitions that are limited by transfers")
    gap: Field[float] = Field("`(step_s - bound_s) / step_s`")
    flop_per_s_per_usd: Field[float] = Field(
        "`flop_per_s` for a dollar of the system; 0 where the price is unknown (FLOP/s/USD)"
    )
    flop_per_s_per_w: Field[float] = Field(
        "`flop_per_s` for a watt of the system; 0 where the power is unknown (FLOP/s/W)"
    )
    problem: Field[str] = Field("where none fits: why, and what to do")
    gains: Field[ExploreGains] = Field(
        "with `--explain`: the step's speedup with twice of a resource, greatest first; empty without it", ExploreGains
    )


class Flow(Part):
    """Flow of docs/reference/json.md."""

    id: Field[str] = Field("its name in the file")
    bytes: Field[float] = Field("sent (B)")
    start_s: Field[float] = Field("of its first byte (s)")
    end_s: Field[float] = Field("of its last (s)")


class UsedLink(Part):
    """UsedLink of docs/reference/json.md."""

    name: Field[str] = Field("of the link")
    carried_bytes: Field[float] = Field("over the run (B)")
    mean: Field[float] = Field("use of its capacity over the run")
    used: Field[list[float]] = Field("the same per interval")


class Traffic(Part):
    """Traffic of docs/reference/json.md."""

    cluster: Field[str] = Field("as it was asked for")
    end_s: Field[float] = Field("when the last flow was complete (s)")
    flows: Field[list[Flow]] = Field("in the file's order", list_of(Flow))
    interval_s: Field[float] = Field("length of the intervals of `links` (s)")
    links: Field[list[UsedLink]] = Field("that carried anything, busiest first", list_of(UsedLink))


class CollectivePart(Part):
    """CollectivePart of docs/reference/json.md."""

    level: Field[str] = Field("of the cluster")
    latency_s: Field[float] = Field("that no bandwidth shortens (s)")
    transfer_s: Field[float] = Field("in which bytes move (s)")


class CollectiveCandidate(Part):
    """CollectiveCandidate of docs/reference/json.md."""

    algorithm: Field[str] = Field("ring, tree, ...")
    protocol: Field[str] = Field("ll, ll128, simple")
    time_s: Field[float] = Field("with these (s)")


class Collective(Part):
    """Collective of docs/reference/json.md."""

    op: Field[str] = Field("the operation: all_reduce, all_gather, ...")
    cluster: Field[str] = Field("as it was asked for")
    ranks: Field[int] = Field("that take part")
    bytes: Field[float] = Field("as nccl-tests count them (B)")
    time_s: Field[float] = Field("until the last rank is done (s)")
    low_s: Field[float] = Field("10 % of measured runs like it are faster (s)")
    high_s: Field[float] = Field("10 % are slower (s)")
    algorithm_bandwidth: Field[float] = Field("bytes over time (B/s)")
    bus_bandwidth: Field[float] = Field("what the links see of it (nccl-tests) (B/s)")
    basis: Field[str] = Field("measured, table, fitted, roofline or assumed")
    source: Field[str] = Field("where the numbers are from, in words")
    own_fits: Field[list[OwnFit]] = Field(
        "measurements of one's own that the answer has: `--fit`, and those of the cluster's line or file", list_of(OwnFit)
    )
    algorithm: Field[str] = Field("that the library takes")
    protocol: Field[str] = Field("that it takes with it")
    parts: Field[list[CollectivePart]] = Field("the time by level of the cluster", list_of(CollectivePart))
    candidates: Field[list[CollectiveCandidate]] = Field(
        "every algorithm and protocol considered, fastest first", list_of(CollectiveCandidate)
    )
