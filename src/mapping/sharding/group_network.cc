#include "mapping/sharding/group_network.h"

#include <algorithm>
#include <limits>

#include "flopcast/network/closed_form.h"

namespace flopcast::mapping {
namespace {

double all_to_all_of(DimensionKind kind, unsigned n, double bytes, BytesPerSecond bandwidth) {
  const closed_form::Hop hop{{0}, bandwidth};
  switch (kind) {
    case DimensionKind::kRing:
      return closed_form::ring_all_to_all_transfer(n, {bytes}, bandwidth, true).value;
    case DimensionKind::kFullyConnected:
      return closed_form::fully_connected_pass(n, {bytes}, hop).value;
    case DimensionKind::kSwitch:
      break;
  }
  return closed_form::direct_pass(n, {bytes}, hop).value;
}

/// What DFModel's all-to-all sends over one link, in units of what a chip sends. Its rings carry
/// both directions of the bisection one way; an outer switch is one link for a whole group.
double published_share(const NetworkDimension& dimension, double inner) {
  if (dimension.kind == DimensionKind::kRing) return dimension.size / 4.0;
  return dimension.kind == DimensionKind::kSwitch && inner > 1 ? inner / 4 : 1;
}

}  // namespace

GroupNetwork::GroupNetwork(const MappingSystem& system, const MappingShape& shape,
                           Parallelism parallelism, bool latency) {
  const auto which = static_cast<std::size_t>(parallelism);
  for (std::size_t d = 0; d < system.dimensions.size(); ++d) {
    const NetworkDimension& dimension = system.dimensions[d];
    const unsigned n = shape.factors[d][which];
    if (n <= 1) continue;
    spans_.push_back(
        {dimension.kind, n, dimension.bandwidth, latency ? dimension.latency : Seconds{0}});
    size_ *= n;
  }
}

double GroupNetwork::pass_s(double bytes) const {
  double time_s = 0;
  if (bytes <= 0) return time_s;  // nothing to send waits for nobody
  for (const Span& span : spans_) {
    const closed_form::Hop hop{span.latency, span.bandwidth};
    const Bytes share{bytes};
    time_s += span.kind == DimensionKind::kFullyConnected
                  ? closed_form::fully_connected_pass(span.n, share, hop).value
                  : closed_form::ring_pass(span.n, share, hop).value;
    bytes /= span.n;
  }
  return time_s;
}

double GroupNetwork::pass_wire_bytes(double bytes) const { return bytes * (size_ - 1) / size_; }

double GroupNetwork::all_to_all_s(double bytes) const {
  double time_s = 0;
  if (bytes <= 0) return time_s;
  for (const Span& span : spans_) {
    time_s = std::max(time_s,
                      all_to_all_of(span.kind, span.n, bytes, span.bandwidth) + span.latency.value);
  }
  return time_s;
}

double GroupNetwork::send_s(double bytes) const {
  double time_s = 0;
  for (const Span& span : spans_) {
    time_s = std::max(time_s, span.latency.value + bytes / span.bandwidth.value);
  }
  return time_s;
}

double GroupNetwork::link_bandwidth() const {
  double slowest = std::numeric_limits<double>::infinity();
  for (const Span& span : spans_) slowest = std::min(slowest, span.bandwidth.value);
  return slowest;
}

double GroupNetwork::bandwidth() const {
  double slowest = std::numeric_limits<double>::infinity();
  for (const Span& span : spans_) {
    const double links = span.kind == DimensionKind::kFullyConnected ? span.n - 1 : 1;
    slowest = std::min(slowest, links * span.bandwidth.value);
  }
  return slowest;
}

double system_all_to_all_s(const MappingSystem& system, double bytes, bool published) {
  double time_s = 0;
  double inner = 1;  // chips of a group of this dimension
  for (const NetworkDimension& dimension : system.dimensions) {
    double own = all_to_all_of(dimension.kind, dimension.size, bytes, dimension.bandwidth);
    if (published) own = bytes / dimension.bandwidth.value * published_share(dimension, inner);
    if (dimension.size > 1) time_s = std::max(time_s, own);
    inner *= dimension.size;
  }
  return time_s;
}

}  // namespace flopcast::mapping
