#include "whatif/structure/plan/reshape.h"

#include <algorithm>
#include <set>

#include "flopcast/replay/network_times.h"
#include "whatif/structure/plan/transfers.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::kNoIndex;

std::uint32_t top_row(const Stretch& stretch, std::uint32_t row) {
  while (stretch.rows[row].parent != kNoIndex) row = stretch.rows[row].parent;
  return row;
}

/// The rows around a call up to, without it, the outermost: they are the call's own.
std::set<std::uint32_t> own_rows(const Stretch& stretch, const StretchCall& call) {
  std::set<std::uint32_t> rows;
  for (std::uint32_t row = call.row; stretch.rows[row].parent != kNoIndex;
       row = stretch.rows[row].parent) {
    rows.insert(row);
  }
  return rows;
}

/// What is left with these pieces and tasks alone. Calls go with their first piece.
Stretch part_of(const Stretch& whole, const std::vector<bool>& pieces,
                const std::vector<bool>& tasks) {
  Stretch out = whole;
  out.pieces.clear();
  out.calls.clear();
  out.tasks.clear();
  std::vector<std::uint32_t> piece_place(whole.pieces.size(), kNoIndex);
  for (std::size_t p = 0; p < whole.pieces.size(); ++p) {
    if (!pieces[p]) continue;
    piece_place[p] = static_cast<std::uint32_t>(out.pieces.size());
    out.pieces.push_back(whole.pieces[p]);
  }
  std::vector<std::uint32_t> task_place(whole.tasks.size(), kNoIndex);
  for (std::size_t t = 0; t < whole.tasks.size(); ++t) {
    if (!tasks[t]) continue;
    task_place[t] = static_cast<std::uint32_t>(out.tasks.size());
    out.tasks.push_back(whole.tasks[t]);
  }
  for (const StretchCall& call : whole.calls) {
    if (piece_place[call.first_piece] == kNoIndex || piece_place[call.last_piece] == kNoIndex) {
      continue;
    }
    StretchCall& copy = out.calls.emplace_back(call);
    copy.first_piece = piece_place[call.first_piece];
    copy.last_piece = piece_place[call.last_piece];
    copy.tasks.clear();
    for (const std::uint32_t t : call.tasks) {
      if (task_place[t] == kNoIndex) continue;
      copy.tasks.push_back(task_place[t]);
      out.tasks[task_place[t]].call = static_cast<std::uint32_t>(out.calls.size() - 1);
    }
  }
  return out;
}

/// Without these tasks: their calls go, and the operators that held nothing else.
Stretch without(const Stretch& whole, const std::vector<bool>& gone) {
  std::vector<bool> pieces(whole.pieces.size(), true);
  std::vector<bool> tasks(whole.tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) tasks[t] = !gone[t];
  std::set<std::uint32_t> kept_rows;
  std::set<std::uint32_t> gone_rows;
  for (const StretchCall& call : whole.calls) {
    if (call.tasks.empty()) continue;
    const bool all =
        std::all_of(call.tasks.begin(), call.tasks.end(), [&](std::uint32_t t) { return gone[t]; });
    std::uint32_t row = call.row;
    for (; row != kNoIndex; row = whole.rows[row].parent) {
      (all ? gone_rows : kept_rows).insert(row);
    }
  }
  for (const std::uint32_t row : kept_rows) gone_rows.erase(row);
  // A row inside one that goes has launched nothing that stays.
  const auto goes = [&](std::uint32_t row) {
    for (; row != kNoIndex; row = whole.rows[row].parent) {
      if (gone_rows.contains(row)) return true;
    }
    return false;
  };
  for (std::size_t p = 0; p < pieces.size(); ++p) pieces[p] = !goes(whole.pieces[p].row);
  return part_of(whole, pieces, tasks);
}

/// Which tasks make gradients of weights.
std::vector<bool> weight_tasks(const TraceSet& set, const replaying::Recording& recording,
                               const Stretch& stretch) {
  std::vector<bool> weights(stretch.tasks.size(), false);
  std::map<std::uint32_t, std::vector<std::uint32_t>> products;  // by outermost operator
  for (std::uint32_t t = 0; t < stretch.tasks.size(); ++t) {
    const RowRef& row = stretch.tasks[t].row;
    const Events& events = recording.ranks[row.rank].trace->events;
    if (stretch.tasks[t].communication ||
        kernel_kind(set.strings[events.name[row.row]]) != KernelKind::kGemm) {
      continue;
    }
    products[top_row(stretch, stretch.calls[stretch.tasks[t].call].row)].push_back(t);
  }
  for (const auto& [row, list] : products) {
    if (list.size() > 1) weights[list.back()] = true;
  }
  return weights;
}

}  // namespace

void split_backward(const TraceSet& set, const replaying::Recording& recording, Library& library) {
  const std::size_t recorded = library.stretches.size();
  for (std::uint32_t s = 0; s < recorded; ++s) {
    const StretchKey key = library.stretches[s].key;
    const bool of_model = key.part == UnitPart::kLayer || key.part == UnitPart::kBefore ||
                          key.part == UnitPart::kAfter || key.part == UnitPart::kWhole;
    if (key.pass != Pass::kBackward || key.bucket || !of_model) continue;
    const std::vector<bool> weights = weight_tasks(set, recording, library.stretches[s]);
    Stretch inputs = without(library.stretches[s], weights);
    // Of the weights' half the operators that have a part in it.
    const Stretch& whole = library.stretches[s];
    std::set<std::uint32_t> tops;
    std::set<std::uint32_t> others;
    for (const StretchCall& call : whole.calls) {
      for (const std::uint32_t t : call.tasks) {
        if (weights[t]) tops.insert(top_row(whole, call.row));
      }
      const bool none = std::none_of(call.tasks.begin(), call.tasks.end(),
                                     [&](std::uint32_t t) { return weights[t]; });
      if (none) others.merge(own_rows(whole, call));
    }
    for (const StretchCall& call : whole.calls) {
      const bool some = std::any_of(call.tasks.begin(), call.tasks.end(),
                                    [&](std::uint32_t t) { return weights[t]; });
      if (!some) continue;
      for (const std::uint32_t row : own_rows(whole, call)) others.erase(row);
    }
    std::vector<bool> pieces(whole.pieces.size());
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const std::uint32_t row = whole.pieces[p].row;
      pieces[p] = tops.contains(top_row(whole, row)) && !others.contains(row);
    }
    Stretch late = part_of(whole, pieces, weights);
    late.key.pass = Pass::kWeights;
    const auto at = static_cast<std::uint32_t>(library.stretches.size());
    library.halves[s] = {at, at + 1};
    library.stretches.push_back(std::move(inputs));
    library.stretches.push_back(std::move(late));
  }
}

void strip_recompute(const TraceModel& model, Library& library) {
  std::set<std::uint32_t> done;
  for (const ModelStage& stage : model.stages) {
    for (const auto& program : library.programs[stage.rank]) {
      for (const RecordedStretch& at : program) {
        const ModelUnit& unit = stage.units[stage.segments[at.segment].unit];
        if (!unit.recomputes || at.bucket != kNoIndex || !done.insert(at.stretch).second) continue;
        Stretch& stretch = library.stretches[at.stretch];
        std::vector<bool> again(stretch.tasks.size(), false);
        for (std::size_t t = 0; t < again.size() && t < unit.kernels.size(); ++t) {
          again[t] = unit.kernels[t].recomputed;
        }
        const StretchKey key = stretch.key;
        stretch = without(stretch, again);
        stretch.key = key;
        stretch.key.recomputes = false;
      }
    }
  }
}

void drop_lone_collectives(const NewPlan& plan, Library& library) {
  for (Stretch& stretch : library.stretches) {
    if (stretch.key.part == UnitPart::kExchange) continue;
    std::vector<bool> lone(stretch.tasks.size(), false);
    bool any = false;
    for (std::size_t t = 0; t < lone.size(); ++t) {
      const DimensionSet group = stretch.tasks[t].group;
      lone[t] = group != 0 && plan.grid.group(0, group).size() == 1;
      any = any || lone[t];
    }
    if (any) stretch = without(stretch, lone);
  }
}

void make_bucket(const TraceSet& set, const replaying::Recording& recording, const NewPlan& plan,
                 Sizes& sizes, Library& library) {
  const std::uint32_t replicas = plan.grid.degree(Dimension::kData);
  if (plan.before.degree(Dimension::kData) > 1 || replicas == 1 || sizes.layer_bytes <= 0) return;
  const Transfers transfers(set);
  StreamKey stream = 0;
  for (const Stretch& s : library.stretches) {
    for (const StretchTask& task : s.tasks) stream = std::max(stream, task.stream & 0xffff);
  }
  ++stream;
  for (const Stretch& whole : library.stretches) {
    if (whole.key.pass != Pass::kBackward || whole.key.part != UnitPart::kLayer) continue;
    const auto like = std::find_if(whole.tasks.begin(), whole.tasks.end(), [&](const auto& task) {
      return task.group != 0 && task.bytes > 0 &&
             replaying::operation_of(transfers.operation(recording, task.row)) ==
                 CollectiveOp::kAllReduce;
    });
    if (like == whole.tasks.end()) continue;
    const std::uint32_t top = top_row(whole, whole.calls[like->call].row);
    std::vector<bool> pieces(whole.pieces.size());
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      pieces[p] = top_row(whole, whole.pieces[p].row) == top;
    }
    std::vector<bool> tasks(whole.tasks.size(), false);
    tasks[static_cast<std::size_t>(like - whole.tasks.begin())] = true;
    Stretch bucket = part_of(whole, pieces, tasks);
    bucket.key.bucket = true;
    StretchTask& task = bucket.tasks.front();
    const std::size_t ranks = plan.before.group(0, task.group).size();
    const double factor = sizes.layer_bytes / static_cast<double>(task.bytes);
    task.time.scale(transfers.ratio("allreduce", task.time.median(), ranks, factor, replicas));
    task.bytes = static_cast<std::int64_t>(sizes.layer_bytes);
    task.group = bit(Dimension::kData);
    task.stream = stream;
    task.out.clear();
    library.made_bucket = static_cast<std::uint32_t>(library.stretches.size());
    library.made_bucket_bytes = sizes.layer_bytes;
    library.stretches.push_back(std::move(bucket));
    sizes.time.emplace_back(1, 1.0);
    sizes.bytes.emplace_back(1, 1.0);
    break;
  }
  if (!library.made_bucket) return;
  for (Stretch& s : library.stretches) {
    if (s.key.pass != Pass::kOptimizer || s.tasks.empty()) continue;
    s.tasks.front().in.push_back({stream, 0, EdgeKind::kEvent});
  }
  if (!sizes.assumed.empty()) sizes.assumed += "; ";
  sizes.assumed +=
      "the gradients of each layer are reduced together, as fast as the collectives of layers";
}

}  // namespace flopcast::whatif::structure
