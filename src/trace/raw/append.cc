#include "trace/raw/append.h"

#include <algorithm>
#include <map>
#include <utility>

namespace flopcast::trace {
namespace {

template <typename T>
void add_all(const std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

template <typename T, typename Change>
void add_changed(const std::vector<T>& from, std::vector<T>& to, Change change) {
  const std::size_t before = to.size();
  add_all(from, to);
  for (std::size_t i = before; i < to.size(); ++i) change(to[i]);
}

void add_tracks(const RawTrace& piece, const std::vector<std::uint32_t>& text, RawTrace& raw,
                std::vector<std::uint32_t>& place) {
  std::vector<Track>& tracks = raw.trace.tracks;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    known.emplace(std::pair(tracks[i].pid, tracks[i].tid), static_cast<std::uint32_t>(i));
  }
  for (const Track& track : piece.trace.tracks) {
    const std::uint32_t pid = text[track.pid], tid = text[track.tid];
    const auto [at, fresh] =
        known.emplace(std::pair(pid, tid), static_cast<std::uint32_t>(tracks.size()));
    if (fresh) tracks.push_back({pid, tid, 0, 0});
    place.push_back(at->second);
  }
}

void add_events(const RawTrace& piece, const std::vector<std::uint32_t>& text,
                const std::vector<std::uint32_t>& track, RawTrace& raw) {
  const Events& from = piece.trace.events;
  Events& to = raw.trace.events;
  TableSizes before = TableSizes::of(raw.trace);
  add_changed(from.name, to.name, [&](std::uint32_t& id) { id = text[id]; });
  add_changed(from.track, to.track, [&](std::uint32_t& id) { id = track[id]; });
  const std::size_t first = to.detail.size();
  add_all(from.detail, to.detail);
  for (std::size_t row = 0; row < from.detail.size(); ++row) {
    if (from.detail[row] == kNoDetail) continue;
    to.detail[first + row] += static_cast<std::uint32_t>(*before.of(from.category[row]));
  }
  const auto collectives = static_cast<std::uint32_t>(raw.trace.collectives.size());
  add_changed(from.collective, to.collective, [&](std::uint32_t& id) {
    if (id != kNoDetail) id += collectives;
  });
  add_all(from.category, to.category);
  add_all(from.stream, to.stream);
  add_all(from.device, to.device);
  add_all(from.correlation, to.correlation);
  add_all(from.external_id, to.external_id);
}

void add_tables(const RawTrace& piece, const std::vector<std::uint32_t>& text, RawTrace& raw) {
  const Trace& from = piece.trace;
  Trace& to = raw.trace;
  add_all(from.kernels, to.kernels);
  add_all(from.copies, to.copies);
  add_all(from.syncs, to.syncs);
  add_changed(from.ops, to.ops, [&](OpDetail& op) {
    for (std::uint32_t* id : {&op.input_dims, &op.input_types, &op.concrete_inputs})
      *id = text[*id];
  });
  add_changed(from.collectives, to.collectives, [&](CollectiveDetail& c) {
    for (std::uint32_t* id : {&c.name, &c.dtype, &c.group_name, &c.group_desc, &c.group_ranks}) {
      *id = text[*id];
    }
  });
  add_changed(piece.names, raw.names, [&](RawTrace::NameRow& row) {
    for (std::uint32_t* id : {&row.pid, &row.tid, &row.name}) *id = text[*id];
  });
}

}  // namespace

std::size_t* TableSizes::of(Category category) {
  switch (category) {
    case Category::kKernel:
      return &kernels;
    case Category::kMemcpy:
    case Category::kMemset:
      return &copies;
    case Category::kSync:
      return &syncs;
    case Category::kCpuOp:
      return &ops;
    default:
      return nullptr;
  }
}

std::size_t rows_held(const RawTrace& raw) {
  return std::max(
      {raw.events(), raw.flows.size(), raw.ends.size(), raw.names.size(), raw.strings.size()});
}

void reserve_rows(RawTrace& raw, std::size_t rows) {
  Events& events = raw.trace.events;
  raw.start_ns.reserve(rows);
  raw.duration_ns.reserve(rows);
  events.name.reserve(rows);
  events.track.reserve(rows);
  events.category.reserve(rows);
  events.stream.reserve(rows);
  events.device.reserve(rows);
  events.correlation.reserve(rows);
  events.external_id.reserve(rows);
  events.detail.reserve(rows);
  events.collective.reserve(rows);
}

void append_rows(const RawTrace& piece, RawTrace& raw) {
  std::vector<std::uint32_t> text, track;
  text.reserve(piece.strings.size());
  for (std::uint32_t id = 0; id < piece.strings.size(); ++id) {
    text.push_back(raw.strings.intern(piece.strings[id]));
  }
  add_tracks(piece, text, raw, track);
  const auto rows = static_cast<std::uint32_t>(raw.events());
  if (!piece.row_rank.empty()) raw.row_rank.resize(rows, kNoRank);
  add_all(piece.row_rank, raw.row_rank);
  add_all(piece.order, raw.order);
  add_all(piece.start_ns, raw.start_ns);
  add_all(piece.duration_ns, raw.duration_ns);
  add_events(piece, text, track, raw);
  add_tables(piece, text, raw);
  add_changed(piece.flows, raw.flows,
              [&](RawTrace::Flow& flow) { flow.track = track[flow.track]; });
  add_changed(piece.begins, raw.begins, [&](RawTrace::Begin& begin) { begin.row += rows; });
  add_changed(piece.ends, raw.ends, [&](RawTrace::End& end) { end.track = track[end.track]; });
}

void clear_rows(RawTrace& raw) {
  Trace& t = raw.trace;
  t.events = {};
  t.kernels.clear();
  t.copies.clear();
  t.syncs.clear();
  t.ops.clear();
  t.collectives.clear();
  raw.start_ns.clear();
  raw.duration_ns.clear();
  raw.flows.clear();
  raw.row_rank.clear();
  raw.order.clear();
  raw.names.clear();
  raw.begins.clear();
  raw.ends.clear();
}

}  // namespace flopcast::trace
