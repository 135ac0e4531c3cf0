#include "whatif/totals/forward_work.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "whatif/change/stretch.h"
#include "whatif/durations/recorded_work.h"

namespace flopcast::whatif::totals {

using namespace replaying;

namespace {

/// The type of the first tensor that has one.
DataType type_of(const RecordedKernel& kernel, const std::optional<Gemm>& gemm) {
  if (gemm && gemm->type == GemmType::kTf32) return DataType::kTf32;
  for (const OperatorInput& input : kernel.inputs) {
    if (input.type) return *input.type;
  }
  return DataType::kBf16;
}

class ForwardFinder {
 public:
  explicit ForwardFinder(const ChangedRun& recorded)
      : run_(recorded),
        model_(recorded.trace_model()),
        ranks_(find_work(*recorded.set, *recorded.recording)) {}

  ForwardWork run() {
    out_.tokens = count_tokens(run_, ranks_);
    out_.attends = model_.layers > 0;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) read(r);
    out_.told = products_ > 0 ? told_ / products_ : 0;
    out_.type = most(types_, DataType::kBf16);
    out_.sequence = most(sequences_, std::int64_t{0});
    return out_;
  }

 private:
  template <typename Key>
  static Key most(const std::map<Key, double>& weights, Key otherwise) {
    const auto found =
        std::max_element(weights.begin(), weights.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return found == weights.end() ? otherwise : found->first;
  }

  /// Which GPU tasks of a rank are of layers.
  std::vector<bool> tasks_of_layers(std::uint32_t r) const {
    std::vector<bool> of_layers(run_.recording->ranks[r].gpu.size());
    for (const ModelStage& stage : model_.stages) {
      if (stage.rank != r) continue;
      for (const ModelSegment& segment : stage.segments) {
        if (stage.units[segment.unit].part != UnitPart::kLayer) continue;
        for (const std::uint32_t task : segment.tasks) of_layers[task] = true;
      }
    }
    return of_layers;
  }

  void read(std::uint32_t r) {
    const Program& program = ranks_[r].program;
    const std::vector<bool> of_layers = tasks_of_layers(r);
    out_.mixed = out_.mixed || program.hidden_passes || program.planned;
    steps_ = std::max(1U, program.steps);
    seen_.clear();
    for (const Work& work : program.works) {
      out_.trains = out_.trains || work.pass == Pass::kBackward;
      if (work.pass != Pass::kForward || work.recomputed || work.copy || work.operation) continue;
      add(r, work, of_layers[work.task]);
    }
  }

  void add(std::uint32_t r, const Work& work, bool of_layer) {
    const RecordedKernel kernel = ranks_[r].operators.kernel(work.task);
    const auto known = operator_kernel(kernel.operation, kernel.inputs, kernel.name);
    const double time = gpu_time(run_.durations.ranks[r], work.task).seconds();
    if (work.kind == KernelKind::kAttention) out_.attends = true;
    if (known || work.kind == KernelKind::kGemm || work.kind == KernelKind::kAttention) {
      products_ += time;
      told_ += known ? time : 0;
    }
    if (!known || !is_new(r, work.task)) return;
    const double flops = kernel_flops(*known).value / steps_;
    const auto* attention = std::get_if<Attention>(&*known);
    (attention != nullptr ? out_.attention : out_.linear) += flops;
    if (of_layer)
      (attention != nullptr ? out_.attention_of_layers : out_.linear_of_layers) += flops;
    if (attention != nullptr) {
      read_sequence(*attention);
    } else {
      types_[type_of(kernel, gemm_of(kernel))] += flops;
    }
  }

  /// An operator may launch several kernels: its work is done once.
  bool is_new(std::uint32_t r, std::uint32_t task) {
    if (run_.recording->ranks[r].gpu[task].call == kNoIndex) return true;
    return seen_.insert(ranks_[r].operators.row(task)).second;
  }

  /// Which of the two middle dimensions counts heads: the tokens tell.
  void read_sequence(const Attention& attention) {
    for (const std::int64_t length : {attention.query_length, attention.heads}) {
      if (attention.batch * length != out_.tokens) continue;
      sequences_[length] += 1;
      return;
    }
  }

  const ChangedRun& run_;
  const TraceModel& model_;
  std::vector<RankWork> ranks_;
  ForwardWork out_;
  double products_ = 0, told_ = 0;  // seconds
  double steps_ = 1;                // of the rank that is read
  std::set<std::uint32_t> seen_;    // rows of operators of the rank that is read
  std::map<DataType, double> types_;
  std::map<std::int64_t, double> sequences_;
};

}  // namespace

ForwardWork find_forward_work(const ChangedRun& recorded) { return ForwardFinder(recorded).run(); }

}  // namespace flopcast::whatif::totals
