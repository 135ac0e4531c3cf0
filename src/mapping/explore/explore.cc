// Every point of a sweep, mapped side by side and handed over in order.
#include <algorithm>
#include <limits>
#include <thread>

#include "flopcast/mapping/explore.h"
#include "mapping/explore/words.h"

namespace flopcast {

using namespace mapping;  // the room's own names

namespace {

/// The same problem on a system with twice of one resource.
ExploreGain gain_of(const MappingRequest& request, std::string_view resource,
                    const std::optional<Mapping>& now) {
  ExploreGain gain{std::string(resource), now ? 1.0 : 0.0};
  MappingRequest more = request;
  if (!set_system(more.system, resource, "2x")) return gain;
  const Result<Mapping> mapping = map_workload(more);
  if (!mapping) return gain;
  gain.speedup = now ? now->step / mapping->step : std::numeric_limits<double>::infinity();
  return gain;
}

std::vector<ExploreGain> gains_of(const MappingRequest& request,
                                  const std::optional<Mapping>& now) {
  std::vector<std::string_view> resources = {"sram", "memory-bandwidth", "link-bandwidth", "peak"};
  if (!now) resources = {"sram", "memory-capacity"};
  std::vector<ExploreGain> gains;
  gains.reserve(resources.size());
  for (const std::string_view resource : resources) {
    gains.push_back(gain_of(request, resource, now));
  }
  std::stable_sort(gains.begin(), gains.end(), [](const ExploreGain& a, const ExploreGain& b) {
    return a.speedup > b.speedup;
  });
  return gains;
}

/// All points of one exploration; shared by the threads, written by none.
struct Plan {
  const ExploreRequest& request;
  const Catalog& catalog;
  std::vector<ExploreAxis> axes;
  unsigned threads_per_point = 1;
};

ExplorePoint explore_one(const Plan& plan, std::size_t index) {
  ExplorePoint point;
  point.index = index;
  point.values = explore_values(plan.axes, index);
  Result<MappingRequest> request = explore_request(plan.request, plan.axes, index, plan.catalog);
  if (!request) {
    point.refusal = request.error();
    point.bottleneck = mapping::refusal_text(point.refusal, {});
    return point;
  }
  request->search.threads = plan.threads_per_point;
  point.chips = request->system.chips();
  point.peak = request->system.peak;
  Result<Mapping> found = map_workload(*request);
  if (found) point.mapping = std::move(*found);
  const bool tight = !found && found.error().code == ErrorCode::kTooLarge;
  if (plan.request.explain && (found || tight)) point.gains = gains_of(*request, point.mapping);
  if (!found) point.refusal = found.error();
  point.bottleneck = found ? mapping::bottleneck_text(*point.mapping, point.gains)
                           : mapping::refusal_text(point.refusal, point.gains);
  return point;
}

}  // namespace

FlopsPerSecond ExplorePoint::achieved() const {
  return mapping ? peak * (mapping->utilisation * chips) : FlopsPerSecond{};
}

Result<std::size_t> explore(const ExploreRequest& request, const Catalog& catalog,
                            const std::function<bool(const ExplorePoint&)>& take) {
  Result<std::vector<ExploreAxis>> axes = explore_axes(request.sweeps, catalog);
  if (!axes) return axes.error();
  const std::size_t all = explore_points(*axes);
  const std::size_t left = all - std::min(request.first, all);
  const unsigned threads =
      request.threads > 0 ? request.threads : std::max(std::thread::hardware_concurrency(), 1U);
  // One point has all threads to itself.
  const Plan plan{request, catalog, std::move(*axes), left == 1 ? threads : 1};
  constexpr std::size_t kPointsPerThread = 8;  // few enough to show soon, enough to even out
  const std::size_t batch = kPointsPerThread * threads;
  std::vector<ExplorePoint> points;
  for (std::size_t begin = all - left; begin < all; begin += points.size()) {
    points.assign(std::min(batch, all - begin), {});
    parallel_for(points.size(), threads,
                 [&](std::size_t i) { points[i] = explore_one(plan, begin + i); });
    for (const ExplorePoint& point : points) {
      if (!take(point)) return all;
    }
  }
  return all;
}

}  // namespace flopcast
