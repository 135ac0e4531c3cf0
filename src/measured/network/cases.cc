#include "measured/network/cases.h"

#include <fmt/format.h>

namespace flopcast::measured {

Result<CollectiveFit::Answer> CollectiveForecast::Case::at(Bytes size) const {
  if (curve_) return curve_->at(size);
  CollectiveQuery query = query_;
  query.size = size;
  const Result<CollectiveEstimate> found = model_->estimate(query);
  if (!found) return found.error();
  return CollectiveFit::Answer{found->time, found->low, found->high, found->basis, found->source};
}

Result<const CollectiveModel*> CollectiveForecast::model(const std::string& node, unsigned nodes) {
  const auto known = models_.find({node, nodes});
  if (known != models_.end()) return &known->second;
  const Result<Cluster> cluster = catalog_.cluster(fmt::format("{} x {}", nodes, node));
  if (!cluster) return cluster.error();
  Result<CollectiveModel> made = CollectiveModel::make(*cluster, &fit_);
  if (!made) return made.error();
  return &models_.emplace(std::pair{node, nodes}, std::move(*made)).first->second;
}

Result<CollectiveForecast::Case> CollectiveForecast::prepare(const CollectiveCase& what) {
  Case prepared;
  const bool fitted = options_.source == CollectiveSource::kBest ||
                      options_.source == CollectiveSource::kTable ||
                      options_.source == CollectiveSource::kFitted;
  if (fitted && options_.algorithm == CollectiveAlgorithm::kAuto) {
    prepared.curve_ = fit_.curve(what, options_.source);
    if (prepared.curve_) return prepared;
    if (options_.source != CollectiveSource::kBest) {
      return Diagnostic{ErrorCode::kNoAnswer, what.system, "no measurement of this case",
                        "use --source best"};
    }
  }
  const std::string node = node_of_system(what.system);
  if (node.empty()) {
    return Diagnostic{ErrorCode::kNoAnswer, what.system, "neither fitted nor in the catalogue",
                      "calibrate with rows of this system"};
  }
  const Result<const CollectiveModel*> found = model(node, what.nodes);
  if (!found) return found.error();
  prepared.model_ = *found;
  if (options_.source == CollectiveSource::kBest &&
      options_.algorithm == CollectiveAlgorithm::kAuto) {
    prepared.curve_ = fit_.curve_on(prepared.model_->cluster(), what);
    if (prepared.curve_) return prepared;
  }
  prepared.query_.op = what.op;
  prepared.query_.source = options_.source;
  prepared.query_.algorithm = options_.algorithm;
  auto chips = chips_of_case(prepared.model_->cluster(), what);
  if (!chips) return chips.error();
  prepared.query_.ranks = std::move(*chips);
  return prepared;
}

}  // namespace flopcast::measured
