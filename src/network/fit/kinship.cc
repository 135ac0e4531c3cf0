#include "network/fit/kinship.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/collective/levels.h"
#include "network/collective/systems.h"

namespace flopcast::network {
namespace {

// Found by leaving curves, rank counts, libraries and systems out of the public measurements, whole.
constexpr double kShape = 0.64;  // what operation, library and ranks leave over, on any system
constexpr double kSystem =
    0.15;  // what a system leaves over of all of that, by the way of launching
constexpr double kBuild = 0.01;                        // what one build does, on any system
constexpr double kRun = 0.006;                         // what one build does on one system
constexpr double kNoise = 0.006, kHostNoise = 0.0126;  // of runs; of launches from Python, on top
constexpr double kOverPcie = 1.35;                     // as much again: boxes are not alike
// Shares of kShape that systems have in common.
constexpr double kAnySystem = 0.255, kSameFabric = 0.106, kSameGeneration = 0.622;
constexpr double kSameSystem = 1 - kAnySystem - kSameFabric - kSameGeneration;
// ... that libraries have in common; the last three where they are launched alike.
constexpr double kAnyLibrary = 0.65, kSameMode = 0.017, kSameKernel = 0.279, kSameBuild = 0.02,
                 kSameLibrary = 1 - kAnyLibrary - kSameMode - kSameKernel - kSameBuild;
constexpr double kMirroredOp = 0.994, kOtherOp = 0.82, kOtherMode = 0.02;
constexpr double kPointToPoint = 0.3;  // one message with what many ranks do together
// Per doubling of ranks on a node and of nodes; of one build on one system.
constexpr double kPerRanks = 0.32, kPerNodes = 0.23, kRunPerRanks = 0.19, kRunPerNodes = 0.04;
constexpr double kAcrossNodes = 0.1;  // inside a node with across nodes: other links

double between_operations(CollectiveOp a, CollectiveOp b) {
  if (a == b) return 1;
  if (a == CollectiveOp::kSendRecv || b == CollectiveOp::kSendRecv) return kPointToPoint;
  return mirrored(a, b) ? kMirroredOp : kOtherOp;
}

double between_systems(const Platform& a, const Platform& b) {
  if (a.system == b.system) return 1;
  if (!a.known || !b.known) return 0;
  if (a.fabric != b.fabric) return kAnySystem;
  return kAnySystem + kSameFabric + (a.generation == b.generation ? kSameGeneration : 0);
}

/// Large messages are NCCL's whoever asks, but for launches from Python.
bool same_mode(const Kin& a, const Kin& b, bool large) {
  return large ? (a.mode == "eager") == (b.mode == "eager") : a.mode == b.mode;
}

double between_libraries(const Kin& a, const Kin& b, bool large) {
  if (!same_mode(a, b, large)) return kAnyLibrary;
  return kAnyLibrary + kSameMode + (large || a.kernel == b.kernel ? kSameKernel : 0) +
         (a.build == b.build ? kSameBuild : 0) +
         (large || a.what.library == b.what.library ? kSameLibrary : 0);
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

Platform platform_of(std::string_view system) {
  Platform platform{std::string(system), "", "", false};
  const std::string node = CollectiveSystems::builtin().node_of(system);
  if (node.empty()) return platform;
  const Result<Cluster> cluster = Catalog::builtin().cluster(node);
  if (!cluster || cluster->levels.empty()) return platform;
  const Level& inner = cluster->levels[0];
  platform.fabric = name(inner.fabric);
  for (const Level& level : cluster->levels) {
    if (is_pcie(level)) platform.fabric = "pcie";
  }
  platform.generation =
      fmt::format("{} {} {}", cluster->chip.architecture, inner.link, platform.fabric);
  platform.known = true;
  return platform;
}

Kin::Kin(const CollectiveCase& of, const Platform& on)
    : what(of), platform(&on), mode(launch_mode(of)), kernel(without_launch(of.library)) {
  build = kernel + ' ' + of.version;
  if (kernel == "SGLang_CustomAllReduce") kernel = "vLLM_custom";
}

double kinship(const Kin& a, const Kin& b, int power) {
  const bool large = power >= kHandedOver;
  const double systems = between_systems(*a.platform, *b.platform);
  if (!(systems > 0)) return 0;
  const double operations = between_operations(a.what.op, b.what.op);
  const double ranks = doublings(std::max(a.what.ranks / a.what.nodes, 1U),
                                 std::max(b.what.ranks / b.what.nodes, 1U));
  const double nodes = doublings(a.what.nodes, b.what.nodes);
  const double near = operations * std::exp(-kPerRanks * ranks - kPerNodes * nodes);
  const bool launched_alike = same_mode(a, b, large);
  const bool one_build = launched_alike && a.build == b.build;
  double shared = kShape * systems * between_libraries(a, b, large) * near;
  if (one_build && !large) shared += kBuild * systems * near;
  if (a.platform->system == b.platform->system) {
    const bool alone = operations == kPointToPoint;
    shared += kSystem * (alone ? kPointToPoint : launched_alike ? 1 : kOtherMode);
    if (one_build) {
      shared += kRun * operations * std::exp(-kRunPerRanks * ranks - kRunPerNodes * nodes);
    }
  }
  if ((a.what.nodes > 1) != (b.what.nodes > 1)) shared *= kAcrossNodes;
  for (const Kin* kin : {&a, &b}) shared *= kin->platform->fabric == "pcie" ? kOverPcie : 1;
  return shared;
}

double run_noise(const Kin& kin, int power) {
  return kNoise + (kin.mode == "eager" && power < kHandedOver ? kHostNoise : 0);
}

}  // namespace flopcast::network
