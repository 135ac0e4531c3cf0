#include "whatif/planned/new_degrees.h"

#include <cmath>

#include <fmt/format.h>

namespace flopcast::whatif::planned {
namespace {

Diagnostic no_degrees(ErrorCode code, std::string what, std::string hint) {
  return {code, "structure", std::move(what), std::move(hint)};
}

class DegreeFinder {
 public:
  DegreeFinder(const Step& recorded, const StructureChange& change, const Cluster* cluster)
      : was_(recorded), change_(change), cluster_(cluster) {}

  Result<NewDegrees> run() {
    if (auto problem = check_sizes()) return *problem;
    out_.pp = change_.pp.value_or(was_.schedule.chips);
    out_.degrees = was_.degrees;
    if (auto problem = was_.degrees ? find_told() : find_untold()) return *problem;
    if (auto problem = find_microbatches()) return *problem;
    if (out_.degrees) count_nodes();
    return std::move(out_);
  }

 private:
  /// A pass is one task: what is inside it cannot be given another size.
  std::optional<Diagnostic> check_sizes() const {
    const Degrees known = was_.degrees.value_or(Degrees{0, 0, 0, 0, 1, 0});
    const std::tuple<const char*, const std::optional<std::uint32_t>*, std::uint32_t> sizes[] = {
        {"tp", &change_.tp, known.tp},  {"cp", &change_.cp, known.cp},
        {"ep", &change_.ep, known.ep},  {"microbatch_size", &change_.microbatch_size, 0},
        {"hidden", &change_.hidden, 0}, {"ffn", &change_.ffn, 0},
        {"heads", &change_.heads, 0},   {"sequence", &change_.sequence, 0}};
    for (const auto& [name, asked, is] : sizes) {
      if (!*asked || **asked == is) continue;
      return no_degrees(
          ErrorCode::kNoAnswer,
          fmt::format("every pass is one task: its kernels and their shapes, which {} changes, "
                      "were not recorded",
                      name),
          "ask `flopcast estimate` for that plan");
    }
    return std::nullopt;
  }

  /// What one chip of the recording stands for.
  std::uint32_t shards() const { return was_.degrees->tp * was_.degrees->cp; }

  std::optional<Diagnostic> find_told() {
    const std::uint32_t before = was_.degrees->dp;
    std::uint32_t dp = change_.dp.value_or(before);
    if (cluster_ != nullptr) {
      const std::uint32_t chips = cluster_->chips(), each = shards() * out_.pp;
      if (!change_.dp && chips % each == 0) {
        dp = chips / each;
        if (dp != before) {
          out_.assumed.push_back(
              fmt::format("the run fills {}: dp {} instead of {}", change_.on, dp, before));
        }
      } else if (!change_.dp || dp * each > chips) {
        return no_degrees(ErrorCode::kUsage,
                          fmt::format("{} chips of {} cannot be dealt to tp {}, cp {}, pp {}{}",
                                      chips, change_.on, was_.degrees->tp, was_.degrees->cp,
                                      out_.pp, change_.dp ? fmt::format(", dp {}", dp) : ""),
                          "another cluster, or other degrees");
      }
    }
    out_.degrees->dp = dp;
    out_.replicas = static_cast<double>(dp) / before;
    return std::nullopt;
  }

  /// Replicas are not told: as many chips as recorded, on a cluster; as many replicas otherwise.
  std::optional<Diagnostic> find_untold() {
    if (change_.dp) {
      return no_degrees(ErrorCode::kNoAnswer, "how many replicas ran was not recorded",
                        "record the step anew: `flopcast estimate --engine graph --trace-out` "
                        "tells them");
    }
    if (cluster_ == nullptr || out_.pp == was_.schedule.chips) return std::nullopt;
    out_.replicas = static_cast<double>(was_.schedule.chips) / out_.pp;
    out_.assumed.push_back(fmt::format("the recorded run filled {} too: replicas times {:g}",
                                       change_.on, out_.replicas));
    return std::nullopt;
  }

  std::optional<Diagnostic> find_microbatches() {
    const std::int64_t before = was_.schedule.microbatches;
    out_.microbatches = change_.microbatches.value_or(before);
    if (change_.microbatches || change_.dp || out_.replicas == 1) return std::nullopt;
    const double kept = static_cast<double>(before) / out_.replicas;
    out_.microbatches = std::llround(kept);
    constexpr double kRounding = 1e-9;
    if (out_.microbatches < 1 || std::abs(kept - std::round(kept)) > kRounding) {
      return no_degrees(
          ErrorCode::kUsage,
          fmt::format("the batch of {} microbatches cannot be dealt to {:g} times the replicas",
                      before, out_.replicas),
          "name microbatches as well");
    }
    out_.assumed.push_back(fmt::format("the batch stays: {} microbatches a replica instead of {}",
                                       out_.microbatches, before));
    return std::nullopt;
  }

  void count_nodes() {
    const double world = static_cast<double>(shards()) * out_.pp * out_.degrees->dp;
    const double before = static_cast<double>(shards()) * was_.schedule.chips * was_.degrees->dp;
    const double node =
        cluster_ != nullptr ? cluster_->chips_per_node() : before / was_.degrees->nodes;
    out_.degrees->nodes = static_cast<std::uint32_t>(std::max(1.0, std::ceil(world / node)));
    if (out_.degrees->nodes > 1 && was_.degrees->nodes == 1) {
      out_.assumed.push_back("more nodes wait for no straggler: one alone was recorded");
    }
  }

  const Step& was_;
  const StructureChange& change_;
  const Cluster* cluster_;
  NewDegrees out_;
};

}  // namespace

Result<NewDegrees> find_degrees(const Step& recorded, const StructureChange& change,
                                const Cluster* cluster) {
  return DegreeFinder(recorded, change, cluster).run();
}

double straggler_factor(const std::optional<Degrees>& before, const std::optional<Degrees>& after) {
  if (!before || !after || before->nodes <= 1) return 1;
  const double of_doubling = before->stragglers / std::log2(before->nodes);
  return (1 + of_doubling * std::log2(after->nodes)) / (1 + before->stragglers);
}

}  // namespace flopcast::whatif::planned
