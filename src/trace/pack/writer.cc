#include "trace/pack/writer.h"

#include <algorithm>
#include <limits>

#include "trace/pack/block.h"
#include "trace/raw/append.h"

namespace flopcast::trace {
namespace {

std::int64_t end_of_row(const RawTrace& raw, std::size_t row) {
  std::int64_t end = 0;
  return __builtin_add_overflow(raw.start_ns[row], raw.duration_ns[row], &end)
             ? std::numeric_limits<std::int64_t>::max()
             : end;
}

BlockPlace place_of_block(const RawTrace& raw, bool python) {
  const Events& events = raw.trace.events;
  BlockPlace place;
  place.rows = raw.events();
  place.python = python;
  place.always = !raw.begins.empty() || !raw.ends.empty() || !raw.names.empty();
  place.first_ns = std::numeric_limits<std::int64_t>::max();
  place.last_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t row = 0; row < raw.events(); ++row) {
    place.first_ns = std::min(place.first_ns, raw.start_ns[row]);
    place.last_ns = std::max(place.last_ns, end_of_row(raw, row));
    const std::int64_t correlation = events.correlation[row];
    const bool paired = is_gpu_work(events.category[row]) || is_host_call(events.category[row]);
    if (correlation == kNoId || !paired) continue;
    const bool first = place.first_correlation > place.last_correlation;
    place.first_correlation = first ? correlation : std::min(place.first_correlation, correlation);
    place.last_correlation = first ? correlation : std::max(place.last_correlation, correlation);
  }
  return place;
}

void add_steps(const RawTrace& raw, std::vector<StepPlace>& steps) {
  for (std::size_t row = 0; row < raw.events(); ++row) {
    if (raw.trace.events.category[row] != Category::kUserAnnotation) continue;
    const std::string_view name = raw.strings[raw.trace.events.name[row]];
    if (!name.starts_with("ProfilerStep#")) continue;
    steps.push_back({std::string(name), raw.start_ns[row], raw.duration_ns[row]});
  }
}

}  // namespace

bool BlockWriter::write(RawTrace& raw, bool python) {
  if (raw.events() + raw.flows.size() + raw.names.size() + raw.ends.size() == 0) return true;
  BlockPlace place = place_of_block(raw, python);
  add_steps(raw, member_.steps);
  const std::string bytes = packed_block(raw);
  place.offset = written_;
  place.bytes = bytes.size();
  member_.blocks.push_back(place);
  written_ += bytes.size();
  clear_rows(raw);
  return sink_(bytes);
}

}  // namespace flopcast::trace
