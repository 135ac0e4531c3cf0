#include "network/fit/kinship.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/collective/levels.h"
#include "network/collective/systems.h"
#include "network/fit/constants.h"

namespace flopcast::network {
namespace {

const FitConstants& constants() { return fit_constants(); }

double between_operations(CollectiveOp a, CollectiveOp b) {
  if (a == b) return 1;
  if (a == CollectiveOp::kSendRecv || b == CollectiveOp::kSendRecv)
    return constants().point_to_point;
  return mirrored(a, b) ? constants().mirrored_op : constants().other_op;
}

/// One system, or across nodes one network.
bool at_home(const Kin& a, const Kin& b) {
  if (a.platform->system == b.platform->system) return true;
  const bool across = a.what.nodes > 1 && b.what.nodes > 1;
  return across && !a.platform->network.empty() && a.platform->network == b.platform->network;
}

double between_systems(const Kin& a, const Kin& b) {
  if (at_home(a, b)) return 1;
  if (!a.platform->known() || !b.platform->known()) return 0;
  if (a.joint->fabric != b.joint->fabric) return constants().any_system;
  return constants().any_system + constants().same_fabric +
         (a.joint->generation == b.joint->generation ? constants().same_generation : 0);
}

/// Bridges between PCIe cards that a group's data cross: one where there are three or four cards, and
/// one more with every doubling.
double bridges(const Kin& kin) {
  return kin.joint->over_pcie ? std::max(std::log2(kin.per_node()) - 1, 0.0) : 0;
}

/// What a box's bridges leave over, which catalogues do not tell: those of few cards are among those of
/// many.
double between_bridges(const Kin& a, const Kin& b, Sizes sizes) {
  if (sizes == Sizes::kSmall || a.what.nodes > 1 || b.what.nodes > 1) return 0;
  return constants().bridge * std::min(bridges(a), bridges(b));
}

/// Large messages are NCCL's whoever asks, but for launches from Python.
bool same_mode(const Kin& a, const Kin& b, bool large) {
  return large ? (a.mode == "eager") == (b.mode == "eager") : a.mode == b.mode;
}

double between_libraries(const Kin& a, const Kin& b, bool large) {
  if (!same_mode(a, b, large)) return constants().any_library;
  return constants().any_library + constants().same_mode +
         (large || a.kernel == b.kernel ? constants().same_kernel : 0) +
         (a.build == b.build ? constants().same_build : 0) +
         (large || a.what.library == b.what.library ? constants().same_library() : 0);
}

double doublings(unsigned a, unsigned b) {
  return std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

std::string without_launch(std::string library) {
  for (const std::string_view launch : {"_eager", "_graph"}) {
    const std::size_t at = library.find(launch);
    if (at != library.npos) library.erase(at, launch.size());
  }
  return library;
}

}  // namespace

bool mirrored(CollectiveOp a, CollectiveOp b) {
  const auto is_pass = [](CollectiveOp op) {
    return op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter;
  };
  return a == b || (is_pass(a) && is_pass(b));
}

const Joint& Platform::joint(unsigned ranks, unsigned nodes) const {
  static const Joint kNone;
  if (joints.empty()) return kNone;
  if (nodes > 1) return joints.back();
  const auto wide = std::ranges::find_if(joints, [&](const Joint& j) { return j.chips >= ranks; });
  return wide != joints.end() ? *wide : joints.back();
}

Platform platform_of(const Cluster& cluster) {
  Platform platform;
  Joint joint{1, 1, "", ""};
  for (std::size_t l = 0; l < cluster.node_levels; ++l) {
    const Level& level = cluster.levels[l];
    joint.chips *= level.size;
    if (joint.fabric.empty()) joint.fabric = name(level.fabric);
    if (level.transport == Transport::kPcie) {
      joint.over_pcie = true;
      joint.fabric = "pcie";
      joint.paired = joint.chips / level.size;
    }
    const Level& tells = joint.over_pcie ? level : cluster.levels[0];
    joint.generation = fmt::format("{} {} {} {} {}", cluster.chip.vendor,
                                   static_cast<int>(nccl_architecture(cluster.chip.architecture)),
                                   name(tells.transport), name(tells.attachment), joint.fabric);
    platform.joints.push_back(joint);
  }
  return platform;
}

Platform platform_of(std::string_view system) {
  const CollectiveSystems& systems = CollectiveSystems::builtin();
  const std::string node = systems.node_of(system);
  Platform platform;
  if (!node.empty()) {
    const Result<Cluster> cluster = Catalog::builtin().cluster(node);
    if (cluster) platform = platform_of(*cluster);
  }
  platform.system = system;
  platform.network = systems.network_of(system);
  return platform;
}

Kin::Kin(const CollectiveCase& of, const Platform& on)
    : what(of),
      platform(&on),
      joint(&on.joint(of.ranks, of.nodes)),
      mode(launch_mode(of)),
      kernel(without_launch(of.library)) {
  build = kernel + ' ' + of.version;
  if (kernel == "SGLang_CustomAllReduce") kernel = "vLLM_custom";
}

unsigned Kin::per_node() const {
  const unsigned chips = std::max(what.ranks / what.nodes, 1U);
  return joint->over_pcie && what.nodes == 1 ? std::max(chips / joint->paired, 1U) : chips;
}

double Kin::octaves() const {
  constexpr double kRanks = 3;  // log2 of the ranks that stand for none
  const bool pass = what.op == CollectiveOp::kAllGather || what.op == CollectiveOp::kReduceScatter;
  return pass && what.nodes > 1 ? std::log2(what.ranks) - kRanks : 0;
}

Sizes sizes_of(int power) {
  return power < constants().middle_log2  ? Sizes::kSmall
         : power < constants().large_log2 ? Sizes::kMiddle
                                          : Sizes::kLarge;
}

double kinship(const Kin& a, const Kin& b, Sizes sizes) {
  const bool large = sizes == Sizes::kLarge;
  const double systems = between_systems(a, b);
  if (!(systems > 0)) return 0;
  const double operations = between_operations(a.what.op, b.what.op);
  const double ranks = doublings(a.per_node(), b.per_node());
  const double nodes = doublings(a.what.nodes, b.what.nodes);
  const double near =
      operations * std::exp(-constants().per_ranks * ranks - constants().per_nodes * nodes);
  const bool launched_alike = same_mode(a, b, large);
  const bool one_build = launched_alike && a.build == b.build;
  double shared = constants().shape * systems * between_libraries(a, b, large) * near;
  if (one_build && !large) shared += constants().build * systems * near;
  if (at_home(a, b)) {
    const bool alone = operations == constants().point_to_point;
    shared += constants().system * (alone            ? constants().point_to_point
                                    : launched_alike ? 1
                                                     : constants().other_mode);
    if (one_build) {
      shared += constants().run * operations *
                std::exp(-constants().run_per_ranks * ranks - constants().run_per_nodes * nodes);
    }
  }
  const bool other_links =
      (a.what.nodes > 1) != (b.what.nodes > 1) || a.joint->over_pcie != b.joint->over_pcie;
  if (other_links) shared *= constants().other_links;
  if (a.platform->system == b.platform->system) shared += between_bridges(a, b, sizes);
  return shared;
}

double run_noise(const Kin& kin, Sizes sizes) {
  return constants().noise +
         (kin.mode == "eager" && sizes != Sizes::kLarge ? constants().host_noise : 0);
}

}  // namespace flopcast::network
