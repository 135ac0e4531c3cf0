// Seconds of the parts of an iteration by number of tokens: what docs/theory/serving.md calls t(n).
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "serving/iteration/cluster_models.h"
#include "serving/iteration/constants.h"
#include "serving/iteration/work.h"

namespace flopcast::serving {

/// What people read of an iteration, in the order in which it is shown.
enum class Part : std::uint8_t {
  kProjections,  ///< linear layers of attention
  kAttentionDecode,
  kAttentionPrefill,
  kFeedForward,  ///< dense and shared ones
  kExperts,      ///< with router
  kElementWise,  ///< norms, sums, rotation, quantisation, sorting of copies
  kAllReduce,
  kExchange,  ///< dispatch and combine, gathers of attention's data parallelism
  kHead,
  kDrafts,
  kPipeline,  ///< what stages hand on
  kLaunch,    ///< of kernels outside graphs, where they take longer than what they do
  kHost,
};
inline constexpr std::size_t kParts = 13;
std::string_view name(Part part);

/// A time and what it is made of: the larger bounds it.
struct Cost {
  double seconds = 0, compute = 0, bytes = 0, floor = 0, links = 0;
  Cost& operator+=(const Cost& o);
  Cost operator*(double factor) const;
  std::string_view bound() const;
};
using PartCosts = std::array<Cost, kParts>;
inline Cost& of(PartCosts& costs, Part part) { return costs[static_cast<std::size_t>(part)]; }
inline const Cost& of(const PartCosts& costs, Part part) {
  return costs[static_cast<std::size_t>(part)];
}

/// Prices one deployment.
class Pricer {
 public:
  Pricer(const Deployment& deployment, std::shared_ptr<const ClusterModels> models,
         const Constants& constants);

  /// What every rank does with its `rows` tokens.
  PartCosts own(double rows) const;
  /// What is done with `rows` tokens of all ranks, the longest of which brings `longest`.
  PartCosts all(double rows, double longest) const;
  /// The output matrix for `rows` tokens of a rank.
  Cost head(double rows) const;
  /// All drafts of a step for `requests` of a rank.
  Cost drafts(double requests) const;
  /// What a stage hands on.
  Cost pipeline(double rows) const;

  /// Per token of context of a decode with its drafts; `capped` in layers with a cap; `mixed` beside prefills.
  Cost decode_context(bool capped, bool mixed) const;
  Cost decode_state() const;  ///< per decode
  Cost decode_fixed() const;  ///< of attention where anything decodes
  Cost prefill_pair(bool capped) const;
  Cost prefill_context() const;
  Cost prefill_token() const;  ///< recurrent states
  Cost prefill_fixed() const;
  double launch_seconds(
      bool captures) const;  ///< of an iteration outside graphs, where any are captured

  const StageWork& work() const { return work_; }
  const Constants& constants() const { return constants_; }
  Basis basis() const { return basis_; }

 private:
  struct Tabled {
    double strip = 0;  ///< what a measured table holds of launches
  };
  Cost kernel(double flops, double bytes, double peak, double byte_share, double floors) const;
  Cost linear(const LinearWork& work, double rows, const Tabled& tabled) const;
  Cost experts(const ExpertWork& work, double rows, const Tabled& tabled) const;
  Cost moved(double bytes, double floors) const;
  Cost transfer(CollectiveOp op, unsigned count, unsigned stride, double bytes) const;
  Cost exchange(const ExpertWork& w, double longest) const;
  PartCosts own_of(const StageWork& work, const std::vector<Tabled>* tabled, double rows) const;
  PartCosts all_of(const StageWork& work, const std::vector<Tabled>* tabled, double rows,
                   double longest) const;
  double kernels() const;  ///< of an iteration
  Cost head_of(const StageWork& work, double rows) const;
  void strip_tables();
  GemmType run_type(GemmType type) const;
  /// Share of its rates that a product keeps where weights are unpacked; launches for its inputs' scales.
  double unpacking(GemmType type) const;
  double quantising(GemmType type) const;
  double linear_share(GemmType type) const;
  double attention_peak() const;

  ServingLayout layout_;
  double queries_ = 1;  ///< of a decode: with its drafts
  unsigned draft_count_ = 0;
  StageWork work_, draft_;
  Constants constants_;
  std::shared_ptr<const ClusterModels> models_;
  double bandwidth_ = 0, floor_ = 0;
  DataType head_type_ = DataType::kBf16;
  bool joined_ = false;  ///< chips of a stage share a fast fabric
  double prefill_share_ = 0.5;
  std::vector<Tabled> linear_tables_, expert_tables_;
  Basis basis_ = Basis::kFitted;
};

}  // namespace flopcast::serving
