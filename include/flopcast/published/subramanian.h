// Floor 6: paper mode of the analytical door. The transformer model of S. Subramanian et al.,
// "Comprehensive Performance Modeling and System Design Insights for Foundation Models" (PMBS at
// SC24, arXiv:2410.00273), as its published code computes it (transformer-perf-estimates, commit
// 54278b0), and its exhaustive search. docs/theory/subramanian.md has every equation.
//
//   time of an operator   max(20 us + flops / (0.8 peak), bytes / HBM bandwidth) + communication
//   iteration             (t_forward + t_backward) m D + t_p2p  +  bubble  +  data parallel
//                         m microbatches, D layers of a stage
//
// Worked number, repeated in published/subramanian/iteration_test.cc: GPT3-1T on 16,384 B200 in NVLink domains of
// 8, 1-D tensor parallelism, (tp, pp, dp) = (8, 128, 16), microbatch 1: 3.2665 s.
//
// What the published code gets wrong is kept, and can be switched off: PaperDefects.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// How the tensors of one layer are cut (paper, section III-B and appendix A).
enum class PaperStrategy : std::uint8_t {
  k1d,     ///< tp1 GPUs share weights and heads, with sequence parallelism (Megatron)
  k2d,     ///< besides, tp2 GPUs share the sequence; weights are replicated over tp2
  kSumma,  ///< every matrix on a tp1 x tp2 grid, multiplied panel by panel
};
std::string_view name(PaperStrategy strategy);  ///< "1d", "2d", "summa"
/// Also the spellings of the published code and its data: "1D", "2d-seqp", "2D-SUMMA".
std::optional<PaperStrategy> parse_paper_strategy(std::string_view text);

/// A stack of `depth` equal transformer layers; neither embedding nor head is modelled.
struct PaperModel {
  std::string name;             ///< "gpt3_1T"
  std::int64_t sequence = 0;    ///< l
  std::int64_t embed = 0;       ///< e
  std::int64_t heads = 0;       ///< h
  std::int64_t depth = 0;       ///< layers
  std::int64_t hidden = 0;      ///< f
  double training_samples = 0;  ///< of a whole training, for days; 0: unknown
};

/// Two-level machine: NVLink domains of `domain` GPUs, joined by NICs.
struct PaperSystem {
  /// NVLink, or InfiniBand.
  struct Network {
    BytesPerSecond bandwidth;  ///< per GPU
    double efficiency = 0.7;   ///< achievable share of `bandwidth`
    Seconds latency;           ///< of one message
  };
  std::string name;               ///< "B200-NVS64"
  FlopsPerSecond matrix, vector;  ///< fp16 peaks
  BytesPerSecond hbm_bandwidth;   ///< of one GPU
  Bytes hbm_capacity;             ///< of one GPU
  Network nvlink, infiniband;     ///< within a domain; between domains
  std::int64_t domain = 8;        ///< GPUs of one NVLink domain
  double nics_per_gpu = 1;        ///< that a GPU has to itself
};

/// Built in: gpt3 (also gpt3_175B), gpt3_1T, vit_era5. Error: lists them.
Result<PaperModel> paper_model(std::string_view name);
/// Built in: A100, H200, B200, B200-next, each also as "B200-NVS64"; a bare name has domains of 8.
Result<PaperSystem> paper_system(std::string_view name);

/// Degrees of parallelism. In `domain` the GPUs of each group that share an NVLink domain.
struct PaperPlan {
  /// One number for each dimension.
  struct Groups {
    /// tensor-parallel in one and in the other dimension, stages, replicas
    std::int64_t tp1 = 1, tp2 = 1, pp = 1, dp = 1;
    bool operator==(const Groups&) const = default;
  };
  Groups size, domain;          ///< of the whole plan; of them in one NVLink domain
  std::int64_t microbatch = 1;  ///< samples
  std::int64_t panels = 1;      ///< SUMMA only
  /// of the whole plan
  std::int64_t gpus() const { return size.tp1 * size.tp2 * size.pp * size.dp; }
  bool operator==(const PaperPlan&) const = default;
};

/// Defects of the published code, each on or off.
struct PaperDefects {
  /// Pipeline transfers between NVLink domains take no time (layers.py).
  bool p2p_between_domains_free = true;
  /// SUMMA's layer norm is as wide as its share of the sequence, not of the embedding (layers.py).
  bool summa_norm_as_wide_as_sequence = true;
  /// An all-reduce moves its bytes once, not twice, unless it crosses domains with several GPUs in
  /// each (estimates.py).
  bool allreduce_moves_once = true;
  /// 1-D adds the biases behind fc2 and vproj on every GPU for all rows, 2-D on each GPU's share
  /// (modules.py): 2-D with tp2 = 1 is not 1-D. Off: both cut them.
  bool replicated_biases_1d = true;
  /// 2-D optimiser states are cut over dp alone, not dp tp2 (a cell of stats.ipynb; the search of
  /// the same repository has it right).
  bool optimizer_not_cut_over_tp2 = false;
  /// A study that goes through systems in turn drops, for the later ones, the sizes at which the
  /// first found nothing (serial mode of run_configs.py; the published results were not made so).
  bool serial_study_drops_sizes = false;

  /// What the published results were made with: the defaults.
  static PaperDefects published() { return {}; }
  /// The three errors of the model repaired: the first three off.
  static PaperDefects repaired();
};
/// Switches by name, in the order above: "p2p-free", "summa-norm", "allreduce-once", "biases-1d",
/// "notebook-optimizer", "serial-study".
std::span<const std::string_view> paper_defect_names();
/// "published", "repaired", "none", or a comma-separated list of those that shall be on.
Result<PaperDefects> parse_paper_defects(std::string_view text);

/// What a group of GPUs does together.
enum class PaperCollective : std::uint8_t {
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kBroadcast,
  kReduce,
  kPointToPoint  ///< group of 2
};
std::optional<PaperCollective> parse_paper_collective(std::string_view text);  ///< "allgather", ...

/// Time of one collective: ring over `group` GPUs, `in_domain` of them in each NVLink domain.
/// @param volume bytes of the whole tensor (section III-C).
Seconds paper_collective_time(const PaperSystem& system, PaperCollective kind, Bytes volume,
                              std::int64_t group, std::int64_t in_domain,
                              const PaperDefects& defects = {});

/// One operator of one layer and one microbatch on one GPU.
struct PaperOperator {
  /// The forward, or the backward pass.
  struct Phase {
    Flops flops;   ///< attention: vector work counted as the matrix work of the same time
    Seconds time;  ///< the sum of the three below
    /// running; memory traffic beyond that; exposed
    Seconds compute, exposed_memory, communication;
  };
  std::string_view name;       ///< as in the published code: "fc1", "fc1-bias", "act1", ...
  Phase forward, backward;     ///< its passes
  Bytes weights, activations;  ///< of this operator; activations: kept for backward
};

/// One training iteration on one GPU. The six times below sum to `time`.
struct PaperEstimate {
  Seconds time;            ///< one iteration
  Seconds compute;         ///< of operators
  Seconds exposed_memory;  ///< of memory traffic, as far as it lasts longer
  Seconds tensor_communication, pipeline_communication, data_communication;  ///< not hidden
  Seconds bubble;                                    ///< waiting in the pipeline
  Flops flops;                                       ///< of one GPU
  Bytes memory;                                      ///< the sum of the four below
  Bytes weights, gradients, optimizer, activations;  ///< of one GPU
  std::int64_t microbatches = 0;                     ///< of one iteration
  bool fits = false;                                 ///< memory <= capacity
};

/// What is asked of one training run.
struct PaperCase {
  PaperModel model;                             ///< what is trained
  PaperSystem system;                           ///< what it is trained on
  PaperStrategy strategy = PaperStrategy::k1d;  ///< how layers are cut
  std::int64_t global_batch = 4096;             ///< samples
  PaperDefects defects;                         ///< of the published code
};

/// Section III: time and memory of one plan. Does not require that the plan fits.
/// Error (kUsage): a degree below 1, or one that does not divide what it cuts.
Result<PaperEstimate> paper_estimate(const PaperCase& c, const PaperPlan& plan);
/// The operators of one layer in the published order: MLP, then attention. Errors as above.
Result<std::vector<PaperOperator>> paper_operators(const PaperCase& c, const PaperPlan& plan);
/// Days of a whole training: model.training_samples / (global batch / iteration).
double paper_training_days(const PaperCase& c, Seconds iteration);

/// What paper_search tries.
struct PaperSearchOptions {
  std::size_t best = 10;  ///< how many plans to return
  /// Only plans with these degrees; 0: any. `microbatch` and `panels` likewise.
  PaperPlan::Groups fixed{0, 0, 0, 0}, fixed_domain{0, 0, 0, 0};
  std::int64_t microbatch = 0;  ///< samples; 0: any
  std::int64_t panels = 0;      ///< taken even where the published search would not try it
  bool beyond_memory = false;   ///< keep plans that do not fit
};

/// A plan, and what it takes.
struct PaperCandidate {
  PaperPlan plan;          ///< degrees and their places
  PaperEstimate estimate;  ///< its time and memory
};
/// What a search found.
struct PaperSearch {
  std::uint64_t candidates = 0, feasible = 0;  ///< plans tried; of these, those that fit
  /// Fastest first. Equal times: in the order of the published enumeration (tp1, tp2, pp,
  /// microbatch, panels, then GPUs in the domain of tp1, tp2, dp), smaller degrees first.
  std::vector<PaperCandidate> best;
  /// Where nothing fits: the plan that needs the least memory.
  std::optional<PaperCandidate> leanest;
};

/// Section III-D: every plan of `gpus` GPUs that the published code tries. Exhaustive.
/// Error (kUsage): a dimension, a degree or a rate below 1.
Result<PaperSearch> paper_search(const PaperCase& c, std::int64_t gpus,
                                 const PaperSearchOptions& options = {});

/// One cell of a study.
/// Model, system, strategy, batch.
struct PaperCell {
  PaperCase c;                   ///< the training run
  std::int64_t gpus = 0;         ///< in all
  PaperSearchOptions options{};  ///< of its search
};
/// Searches many cells on `threads` threads (0: all cores). Results in the order of the cells, and
/// the same for any number of threads. Cells that were not searched have no candidates. Errors as
/// of paper_search.
Result<std::vector<PaperSearch>> paper_study(std::span<const PaperCell> cells,
                                             unsigned threads = 0);
/// The cells of the paper's study: 3 strategies x 2 models x 9 systems x 13 sizes, 702 in all.
std::vector<PaperCell> paper_study_cells(const PaperDefects& defects = {});

/// The cells of a figure of the paper ("4a"), each a point or a bar, of which the best plan is shown: figures 1 to 5 and A2 to
/// A6. examples/paper_subramanian/README.md has the list. Error (kUsage): no such figure; lists them.
Result<std::vector<PaperCell>> paper_figure_cells(std::string_view figure,
                                                  const PaperDefects& defects = {});

}  // namespace flopcast
