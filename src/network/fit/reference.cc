// What a system that was measured would need by NCCL's constants.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "network/collective/levels.h"
#include "network/collective/systems.h"
#include "network/fit/fit.h"

namespace flopcast::network {
namespace {

/// Graphs by ranks and nodes, made when first asked for.
class NcclReference {
 public:
  explicit NcclReference(std::string node) : node_(std::move(node)) {}

  double at(const CollectiveCase& what, double bytes) {
    const std::scoped_lock lock(mutex_);
    const auto [found, fresh] = graphs_.try_emplace({what.ranks, what.nodes});
    if (fresh) found->second = make(what.ranks, what.nodes);
    return nccl_choices(found->second, what.op, {bytes}).front().cost.time().value;
  }

 private:
  NcclGraph make(unsigned ranks, unsigned nodes) const {
    const Result<Cluster> cluster =
        Catalog::builtin().cluster(fmt::format("{} x {}", nodes, node_));
    if (cluster) {
      const auto chips = first_chips_of_nodes(*cluster, ranks, nodes);
      const auto shape = chips ? group_shape(*cluster, *chips) : Result<GroupShape>(chips.error());
      if (shape) return nccl_graph(*cluster, *shape);
    }
    // More ranks than the catalogue's node holds: any machine's growth with size will do.
    return {.ranks = ranks, .nodes = nodes, .channels = 16, .intra_gbs = 10, .inter_gbs = 1};
  }

  std::string node_;
  std::mutex mutex_;
  std::map<std::pair<unsigned, unsigned>, NcclGraph> graphs_;
};

}  // namespace

Reference reference_of(std::string_view system) {
  const std::string node = CollectiveSystems::builtin().node_of(system);
  if (node.empty()) return {};
  const Result<Cluster> cluster = Catalog::builtin().cluster(node);
  if (!cluster) return {};
  bool switched = true;
  for (const Level& level : cluster->levels) switched = switched && !is_pcie(level);
  const auto reference = std::make_shared<NcclReference>(node);
  return {
      [reference](const CollectiveCase& what, double bytes) { return reference->at(what, bytes); },
      switched};
}

}  // namespace flopcast::network
