#include "trace/raw/gather.h"

namespace flopcast::trace {
namespace {

template <typename T>
std::uint32_t move_detail(const std::vector<T>& from, std::uint32_t detail, std::vector<T>& to) {
  if (detail == kNoDetail) return kNoDetail;
  to.push_back(from[detail]);
  return static_cast<std::uint32_t>(to.size() - 1);
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
  // Nearly always all of them.
  to.kernels.reserve(from.kernels.size());
  to.copies.reserve(from.copies.size());
  to.syncs.reserve(from.syncs.size());
  to.ops.reserve(from.ops.size());
  to.collectives.reserve(from.collectives.size());
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
