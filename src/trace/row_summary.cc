#include "trace/row_summary.h"

#include "trace/steps.h"

namespace flopcast::trace {

void RowSummary::merge(const RowSummary& other) {
  all.add(other.all.first, other.all.last);
  activity.add(other.activity.first, other.activity.last);
  for (int c = 0; c < kCategoryCount; ++c) counts[c] += other.counts[c];
  gpu_rows += other.gpu_rows;
  communication_rows += other.communication_rows;
  shapes |= other.shapes;
  event_records |= other.event_records;
  communication |= other.communication;
  collectives |= other.collectives;
  launch_shapes |= other.launch_shapes;
  threads.insert(other.threads.begin(), other.threads.end());
  streams.insert(other.streams.begin(), other.streams.end());
  for (const auto& [names, theirs] : other.groups) {
    const auto [ours, fresh] = groups.try_emplace(names, theirs);
    if (fresh) continue;
    ours->second.rows += theirs.rows;
    if (theirs.last < ours->second.last) continue;
    ours->second.size = theirs.size;
    ours->second.last = theirs.last;
  }
  marks.insert(marks.end(), other.marks.begin(), other.marks.end());
}

void RowSummary::tell(Time tick, TraceSummary& out) const {
  const auto time = [tick](std::int64_t ticks) { return Time{ticks * tick.ps}; };
  if (!all.empty()) out.span = time(all.last - all.first);
  out.gpu_rows = gpu_rows;
  out.communication_rows = communication_rows;
  out.threads = threads.size();
  out.streams = streams.size();
  std::vector<Mark> sorted = marks;
  std::sort(sorted.begin(), sorted.end(), [](const Mark& a, const Mark& b) { return a.at < b.at; });
  StepFilter<std::int64_t> filter;
  for (const Mark& mark : sorted) {
    if (!filter.is_new(mark.name, mark.at.start, mark.at.end())) continue;
    out.steps.push_back({mark.name, time(mark.at.duration)});
  }
  out.has_steps = !out.steps.empty();
  const Extent& window = activity.empty() ? all : activity;
  if (out.steps.empty() && !window.empty()) {
    out.steps.push_back({kWholeWindow, time(window.last - window.first)});
  }
  for (const auto& [names, group] : groups) {
    const auto& [name, description, ranks] = names;
    out.groups.push_back({name, description, ranks, group.size, group.rows});
  }
  out.has_shapes = shapes;
  out.has_event_records = event_records;
  out.has_communication = communication;
  out.has_collectives = collectives;
  out.has_launch_shapes = launch_shapes;
}

bool RowCounter::is_communication(std::uint32_t name) {
  signed char& known = talks_[name];
  if (known < 0) known = is_communication_kernel(strings_[name]) ? 1 : 0;
  return known == 1;
}

void RowCounter::add_gpu_row(std::size_t row) {
  const Events& events = trace_.events;
  const bool communication = is_communication(events.name[row]);
  const bool kernel = events.category[row] == Category::kKernel;
  ++sums_.gpu_rows;
  sums_.communication_rows += communication ? 1 : 0;
  sums_.communication |= communication && kernel;
  sums_.streams.insert({events.device[row], events.stream[row]});
  if (const std::uint32_t detail = events.detail[row]; kernel && detail != kNoDetail) {
    sums_.launch_shapes |= trace_.kernels[detail].blocks > 0;
  }
}

void RowCounter::add_collective(const CollectiveDetail& detail, const RowPlace& at) {
  sums_.collectives = true;
  if (detail.is_wait || (detail.group_name == 0 && detail.group_ranks == 0)) return;
  const auto text = [this](std::uint32_t id) { return std::string(strings_[id]); };
  RowSummary::Group& group =
      sums_.groups[{text(detail.group_name), text(detail.group_desc), text(detail.group_ranks)}];
  if (group.rows++ > 0 && at < group.last) return;
  group.size = detail.group_size;
  group.last = at;
}

void RowCounter::add(std::size_t row, std::int64_t start, std::int64_t duration,
                     std::uint64_t order) {
  const Events& events = trace_.events;
  const Category category = events.category[row];
  const RowPlace at{start, duration, events.correlation[row], events.external_id[row], order};
  sums_.all.add(start, at.end());
  if (is_activity(category)) sums_.activity.add(start, at.end());
  ++sums_.counts[static_cast<int>(category)];
  const std::string_view name = strings_[events.name[row]];
  if (is_gpu_work(category)) {
    add_gpu_row(row);
  } else if (is_host_call(category) || category == Category::kCpuOp) {
    busy_[events.track[row]] = true;
  }
  if (is_host_call(category)) {
    sums_.event_records |=
        name.starts_with("cudaEventRecord") || name.starts_with("hipEventRecord");
  }
  if (const std::uint32_t detail = events.detail[row];
      category == Category::kCpuOp && detail != kNoDetail) {
    sums_.shapes |= trace_.ops[detail].input_dims != 0;
  }
  if (const std::uint32_t detail = events.collective[row]; detail != kNoDetail) {
    add_collective(trace_.collectives[detail], at);
  }
  if (marks_step(category, name)) sums_.marks.push_back({at, std::string(name)});
}

RowSummary RowCounter::take() {
  for (std::size_t i = 0; i < busy_.size(); ++i) {
    if (!busy_[i]) continue;
    const Track& track = trace_.tracks[i];
    sums_.threads.insert({std::string(strings_[track.pid]), std::string(strings_[track.tid])});
  }
  return std::move(sums_);
}

}  // namespace flopcast::trace
