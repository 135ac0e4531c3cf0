#include "trace/raw/gather.h"

#include <array>

namespace flopcast::trace {
namespace {

template <typename T>
std::uint32_t move_detail(const std::vector<T>& from, std::uint32_t detail, std::vector<T>& to) {
  if (detail == kNoDetail) return kNoDetail;
  to.push_back(from[detail]);
  return static_cast<std::uint32_t>(to.size() - 1);
}

/// Exactly what the rows need: of a merged file, each rank has a part of the tables.
void reserve_details(const Events& events, Trace& to) {
  std::array<std::size_t, kCategoryCount> count{};
  std::size_t collectives = 0;
  for (std::size_t row = 0; row < events.size(); ++row) {
    if (events.detail[row] != kNoDetail) ++count[static_cast<std::size_t>(events.category[row])];
    if (events.collective[row] != kNoDetail) ++collectives;
  }
  const auto of = [&count](Category category) { return count[static_cast<std::size_t>(category)]; };
  to.kernels.reserve(of(Category::kKernel));
  to.copies.reserve(of(Category::kMemcpy) + of(Category::kMemset));
  to.syncs.reserve(of(Category::kSync));
  to.ops.reserve(of(Category::kCpuOp));
  to.collectives.reserve(collectives);
}

}  // namespace

void gather_times(std::vector<std::int64_t>& from_ns, const Rows& rows, std::int64_t zero_ns,
                  bool last_use, std::vector<Time>& to) {
  to.reserve(rows.size());
  for (const std::uint32_t row : rows) to.push_back(Time::from_ns(from_ns[row] - zero_ns));
  if (last_use) std::vector<std::int64_t>().swap(from_ns);
}

void gather_details(const Trace& from, Trace& to) {
  Events& events = to.events;
  reserve_details(events, to);
  for (std::size_t row = 0; row < events.size(); ++row) {
    std::uint32_t& detail = events.detail[row];
    switch (events.category[row]) {
      case Category::kKernel:
        detail = move_detail(from.kernels, detail, to.kernels);
        break;
      case Category::kMemcpy:
      case Category::kMemset:
        detail = move_detail(from.copies, detail, to.copies);
        break;
      case Category::kSync:
        detail = move_detail(from.syncs, detail, to.syncs);
        break;
      case Category::kCpuOp:
        detail = move_detail(from.ops, detail, to.ops);
        break;
      default:
        break;
    }
    std::uint32_t& collective = events.collective[row];
    collective = move_detail(from.collectives, collective, to.collectives);
  }
}

void gather_tracks(const std::vector<Track>& from, Trace& to) {
  std::vector<std::uint32_t> place(from.size(), kNoDetail);
  const auto renumber = [&](std::uint32_t& track) {
    if (place[track] == kNoDetail) {
      place[track] = static_cast<std::uint32_t>(to.tracks.size());
      to.tracks.push_back(from[track]);
    }
    track = place[track];
  };
  for (std::uint32_t& track : to.events.track) renumber(track);
  for (FlowPoint& flow : to.flows) renumber(flow.track);
}

void gather_columns(Events& from, const Rows& rows, bool last_use, Events& to) {
  gather(from.name, rows, last_use, to.name);
  gather(from.track, rows, last_use, to.track);
  gather(from.category, rows, last_use, to.category);
  gather(from.stream, rows, last_use, to.stream);
  gather(from.device, rows, last_use, to.device);
  gather(from.correlation, rows, last_use, to.correlation);
  gather(from.external_id, rows, last_use, to.external_id);
  gather(from.detail, rows, last_use, to.detail);
  gather(from.collective, rows, last_use, to.collective);
}

}  // namespace flopcast::trace
