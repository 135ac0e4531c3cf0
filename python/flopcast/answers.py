"""What answers hold. By tools/make_answers.py from catalog/answers: change those."""

from __future__ import annotations

from typing import Any, Optional

from ._documents import Document, Field, Part, list_of, map_of


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
    tiles: Field[Optional[list[int]]] = Field("where cycles are counted, the chip's tiles that each of its kernels has")


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
    placements: Field[bool] = Field("every placement of a plan is searched, not only the usual one")
    memory_share: Field[float] = Field("of a chip's memory that a plan may use")
    fit_odds: Field[float] = Field("with which a plan has to fit into that")
    usd_per_chip_hour: Field[float] = Field("price of a chip; 0: not told (USD/h)")
    best: Field[int] = Field("how many plans were asked for")
    run: Field[Optional[RunAsked]] = Field("what was asked of the whole run", RunAsked)
    software: Field[str] = Field("the profile of the training's software")
    constants: Field[str] = Field("file whose constants replace those of the catalogue; empty: none")
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
    sensitivities: Field[Optional[list[Sensitivity]]] = Field(
        "only in parts of a search: of a plan that ties, as of the best", list_of(Sensitivity)
    )
    assumed: Field[Optional[list[str]]] = Field("only in parts of a search: as of the best")


class RounderStep(Part):
    """RounderStep of docs/reference/json.md."""

    global_batch: Field[int] = Field("sequences of one step")
    sequence: Field[int] = Field("tokens of a sequence")
    time_s: Field[float] = Field("the step of their fastest plan (s)")


class PlanPointFields(Document):
    """Search: `flopcast plan --json`, `flopcast merge --json`."""

    asked: Field[PlanAsked] = Field("the question as it was understood", PlanAsked)
    shard: Field[Optional[SearchShard]] = Field("only in parts of a search (`--shard`)", SearchShard)
    fits: Field[bool] = Field("whether any plan fits")
    search: Field[PlanCounts] = Field("how many plans were judged", PlanCounts)
    refused: Field[list[PlanRefusal]] = Field(
        "why plans are impossible, most frequent first; empty unless no plan is possible", list_of(PlanRefusal)
    )
    best: Field[list[BestPlan]] = Field(
        "plans that tie with the fastest first, of these the leanest before others, then the rest, fastest first ([why](../theory/search.md#ties)); empty where none fits. In parts of a search all that may be among the best of the whole", list_of(BestPlan)
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


class ExploreGains(Part):
    """ExploreGains of docs/reference/json.md."""

    sram: Field[Optional[float]] = Field("with twice the SRAM; null: only then does it fit, 0: not even then")
    memory_bandwidth: Field[Optional[float]] = Field(
        "with twice the bandwidth of DRAM; only where a mapping fits", name="memory-bandwidth"
    )
    memory_capacity: Field[Optional[float]] = Field(
        "with twice the DRAM, only where none fits; null: only then does it, 0: not even then", name="memory-capacity"
    )
    link_bandwidth: Field[Optional[float]] = Field(
        "with twice the bandwidth of the links; only where a mapping fits", name="link-bandwidth"
    )
    peak: Field[Optional[float]] = Field("with twice the peak rate; only where a mapping fits")


class ExplorePoint(Part):
    """ExplorePoint of docs/reference/json.md."""

    asked: Field[str] = Field("the question in words, the same for all points")
    index: Field[int] = Field("number of the point, from 0")
    of: Field[int] = Field("how many points there are")
    fits: Field[bool] = Field("whether any mapping fits")
    why: Field[str] = Field("what limits the point, in a sentence")
    sweep: Field[dict[str, str]] = Field("what this point changes: name and value")
    step_s: Field[Optional[float]] = Field(
        "of the fastest mapping; absent, as all but `problem` and `gains` below, where none fits (s)"
    )
    bound_s: Field[Optional[float]] = Field("no mapping takes less (s)")
    exact: Field[Optional[bool]] = Field("both are equal, so that the mapping is proven to be the fastest")
    utilisation: Field[Optional[float]] = Field("model FLOP over the peak of all chips")
    samples_per_second: Field[Optional[float]] = Field("of all replicas (samples/s)")
    flop_per_s: Field[Optional[float]] = Field("model FLOP a second of all chips (FLOP/s)")
    price_usd: Field[Optional[float]] = Field("of chips, memories, links and switches; 0 where unknown (USD)")
    power_w: Field[Optional[float]] = Field("of chips, memories, links and switches; 0 where unknown (W)")
    shape: Field[Optional[str]] = Field("degrees of parallelism in words")
    compute_share: Field[Optional[float]] = Field("of a layer's time, partitions that are limited by computing")
    memory_share: Field[Optional[float]] = Field("of a layer's time, partitions that are limited by DRAM")
    network_share: Field[Optional[float]] = Field("of a layer's time, partitions that are limited by transfers")
    gap: Field[Optional[float]] = Field("`(step_s - bound_s) / step_s`")
    flop_per_s_per_usd: Field[Optional[float]] = Field(
        "`flop_per_s` for a dollar of the system; 0 where the price is unknown (FLOP/s/USD)"
    )
    flop_per_s_per_w: Field[Optional[float]] = Field(
        "`flop_per_s` for a watt of the system; 0 where the power is unknown (FLOP/s/W)"
    )
    problem: Field[Optional[str]] = Field("where none fits: why, and what to do")
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
    algorithm: Field[str] = Field("that the library takes")
    protocol: Field[str] = Field("that it takes with it")
    parts: Field[list[CollectivePart]] = Field("the time by level of the cluster", list_of(CollectivePart))
    candidates: Field[list[CollectiveCandidate]] = Field(
        "every algorithm and protocol considered, fastest first", list_of(CollectiveCandidate)
    )
