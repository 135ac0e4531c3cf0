#include "network/fit/mean_time.h"

#include <fmt/format.h>

#include <mutex>
#include <optional>

#include "network/collective/engine_all_reduce.h"
#include "network/collective/levels.h"
#include "network/collective/systems.h"
#include "network/fit/constants.h"

namespace flopcast::network {
namespace {

Seconds nccl_seconds(const NcclGraph& graph, CollectiveOp op, Bytes size) {
  const NcclChoice best = nccl_choices(graph, op, size).front();
  const bool low_latency = best.protocol == CollectiveProtocol::kLl && graph.nodes == 1;
  if (!low_latency || graph.nvlink) return best.cost.time();
  const double passes = op == CollectiveOp::kAllReduce ? 2 : 1;
  const FitConstants& c = fit_constants();
  const Seconds step{graph.intra_hop.of(c.pcie_step_s * 1e6) * 1e-6};
  return Seconds{c.pcie_start_s} + passes * (graph.ranks - 1.0) * step + best.cost.transfer;
}

}  // namespace

/// A node of the catalogue, as many of them as a case needs, or those of a given cluster; groups made
/// when first asked for.
class MeanTime::Node {
 public:
  explicit Node(std::string name) : name_(std::move(name)) {}
  explicit Node(const Cluster& given) : given_(given) {}

  double at(const CollectiveCase& what, double bytes) {
    const Group& group = of(what.ranks, what.nodes);
    const bool engine = what.library != "NCCL" && what.op == CollectiveOp::kAllReduce;
    const auto own = engine && group.shape
                         ? engine_all_reduce({what.library, what.version}, *group.shape, {bytes})
                         : std::nullopt;
    const double time = (own ? *own : nccl_seconds(group.graph, what.op, {bytes})).value;
    return launch_mode(what) == "eager"
               ? std::max(fit_constants().eager_floor_s, fit_constants().eager_factor * time)
               : time;
  }

 private:
  struct Group {
    std::optional<Cluster> cluster;  // whose levels the shape points to
    std::optional<GroupShape> shape;
    NcclGraph graph;
  };

  const Group& of(unsigned ranks, unsigned nodes) {
    const std::scoped_lock lock(mutex_);
    const auto [found, fresh] = groups_.try_emplace({ranks, nodes});
    if (fresh) make(ranks, nodes, found->second);
    return found->second;
  }

  void make(unsigned ranks, unsigned nodes, Group& group) const {
    const Result<Cluster> cluster =
        given_ ? Result<Cluster>(*given_)
               : Catalog::builtin().cluster(fmt::format("{} x {}", nodes, name_));
    if (cluster) {
      group.cluster = *cluster;
      const auto chips = first_chips_of_nodes(*group.cluster, ranks, nodes);
      const auto shape =
          chips ? group_shape(*group.cluster, *chips) : Result<GroupShape>(chips.error());
      if (shape) {
        group.shape = *shape;
        group.graph = nccl_graph(*group.cluster, *shape);
        return;
      }
    }
    // More ranks than the catalogue's node holds, or ports it has no bandwidth of: any machine's growth
    // with size will do.
    group.graph.ranks = ranks, group.graph.nodes = nodes, group.graph.channels = 16;
    group.graph.intra_gbs = 10, group.graph.inter_gbs = 1;
    group.graph.rank_inside_gbs = 160, group.graph.rank_outside_gbs = 16.0 * nodes / ranks;
  }

  std::string name_;
  std::optional<Cluster> given_;
  std::mutex mutex_;
  std::map<std::pair<unsigned, unsigned>, Group> groups_;
};

MeanTime::MeanTime(std::string_view system, PooledForms forms) : forms_(std::move(forms)) {
  const std::string node = CollectiveSystems::builtin().node_of(system);
  if (!node.empty() && Catalog::builtin().cluster(node)) node_ = std::make_unique<Node>(node);
}

MeanTime::MeanTime(const Cluster& cluster) : node_(std::make_unique<Node>(cluster)) {}

MeanTime::~MeanTime() = default;

double MeanTime::at(const CollectiveCase& what, double bytes) const {
  if (node_) return node_->at(what, bytes);
  const std::string mode = launch_mode(what);
  const PooledForm* best = nullptr;
  int likeness = -1;
  for (const auto& [of, form] : forms_) {
    const int same = (of.first == what.op ? 2 : 0) + (of.second == mode ? 1 : 0);
    if (same > likeness) likeness = same, best = &form;
  }
  return best->at(what.op, what.ranks, what.nodes, bytes);
}

}  // namespace flopcast::network
