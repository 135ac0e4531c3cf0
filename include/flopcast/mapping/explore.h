// Floor 5: the hardware design space: the best mapping at every point of a sweep, the points that
// nothing beats in time, price and power, and what limits each.
//
//   ExploreRequest request;
//   request.workload = "gpt3-175b";
//   request.on = "8 x sn10";
//   request.system.topology = "torus:4x2";
//   request.sweeps = {"sram=150MB..500MB:50MB", "memory-bandwidth=100GB/s,300GB/s"};
//   explore(request, Catalog::builtin(), [](const ExplorePoint& point) { ...; return true; });
//
// Sweeps:
//   sweep = name "=" value {"," value}
//   value = text | from ".." to            doubled from one to the next
//                | from ".." to ":" step   "150MB..500MB:50MB", "1x..8x", "1..8:1"
//                | from ".." to "/" count  so many, both ends included: "1x..4x/7"
// Names are those of set_system (sram, memory-bandwidth, tiles, link-bandwidth-1, ...; values may be
// factors, "2x"), and topology, memory, link, chip, chips, workload, sequence, global-batch, tp, pp,
// dp, microbatch, tile, partitions, overlap, utilisation, mode. A value that needs commas itself has
// '+' instead: "topology=torus:8x4,ring:8+switch:4". The last sweep varies fastest.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/mapping.h"

namespace flopcast {

/// One sweep: what is varied, and the values as they are applied, in order, none twice.
struct ExploreAxis {
  std::string name;                 ///< one of explore_names()
  std::vector<std::string> values;  ///< as parse_explore_sweep read them
};
/// Errors (kUsage): no such name, a value that is none of its kind, an empty or endless range, more
/// than 1,000 values.
Result<ExploreAxis> parse_explore_sweep(std::string_view text);
/// Errors: parse_explore_sweep's; a name swept twice; more than 100,000 points; chips, memories, links
/// and workloads that the catalogue does not have.
Result<std::vector<ExploreAxis>> explore_axes(const std::vector<std::string>& sweeps,
                                              const Catalog& catalog);
/// Names that can be swept, for help.
std::vector<std::string> explore_names();
/// 1 without axes.
std::size_t explore_points(std::span<const ExploreAxis> axes);
/// The values of one point, one per axis. @pre point < explore_points(axes)
std::vector<std::string> explore_values(std::span<const ExploreAxis> axes, std::size_t point);

/// A sweep over mapping problems.
struct ExploreRequest {
  std::string workload;      ///< for load_dataflow
  DataflowOptions dataflow;  ///< its sequence, batch and layers
  std::string on;            ///< for mapping_system; a sweep of chip or chips changes its text
  SystemOptions system;      ///< topology, memory, link and numbers
  MappingModel model = full_model();  ///< what is counted
  MappingSearch search;               ///< what is tried at each point
  std::vector<std::string> sweeps;    ///< for parse_explore_sweep
  bool explain = false;               ///< maps each point again with twice of every resource
  std::size_t first = 0;              ///< points to leave out: those an earlier run has done
  unsigned threads = 0;               ///< 0: all cores
};

/// What one more of a resource would bring.
struct ExploreGain {
  std::string resource;  ///< a setting of set_system that was doubled: "sram", "link-bandwidth"
  double speedup = 1;    ///< of the step; 0: still does not fit; infinite: fits now
};

/// One point, mapped.
struct ExplorePoint {
  std::size_t index = 0;            ///< from 0, in the order of the sweep
  std::vector<std::string> values;  ///< one per axis
  std::optional<Mapping> mapping;   ///< nothing where none fits
  Diagnostic refusal;               ///< where there is no mapping: why
  unsigned chips = 0;               ///< of the system
  FlopsPerSecond peak;              ///< of one chip
  std::string bottleneck;           ///< a sentence
  std::vector<ExploreGain> gains;   ///< the greatest first, if explanations are asked for

  FlopsPerSecond achieved() const;  ///< by all chips together; 0 without a mapping
};

/// The problem of one point. Errors: load_dataflow's, mapping_system's; a batch that is no number.
Result<MappingRequest> explore_request(const ExploreRequest& request,
                                       std::span<const ExploreAxis> axes, std::size_t point,
                                       const Catalog& catalog);

/// Maps every point from `first` on and hands them over in order, until `take` returns false.
/// Points are mapped side by side, each by one thread: what is handed over does not depend on how
/// many. Errors: explore_axes'. What is wrong at one point only is that point's refusal.
/// @return how many points there are in all.
Result<std::size_t> explore(const ExploreRequest& request, const Catalog& catalog,
                            const std::function<bool(const ExplorePoint&)>& take);

/// How much of a layer's time goes by in partitions limited by each MappingLimit; sums to 1.
std::array<double, 3> limit_shares(const Mapping& mapping);

/// Less is better in all three. Seconds per sample: workloads of any batch compare.
struct ExploreCost {
  double time = 0, price = 0, power = 0;  ///< s per sample, USD, W
};
/// For every point whether no other is at most as much in all three and less in one. What is infinite
/// or no number is never on the front. O(n log n).
std::vector<bool> pareto_front(std::span<const ExploreCost> costs);

}  // namespace flopcast
