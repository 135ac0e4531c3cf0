#include "report/mapping/drawing.h"

#include <algorithm>
#include <limits>

#include "base/numeric/isotonic.h"

namespace flopcast::report::drawing {
namespace {

constexpr double kNodeHeight = 38, kRowHeight = 74, kGap = 22, kSlot = 8, kMargin = 16;
constexpr int kSweeps = 12, kMoves = 80;

/// A kernel, or where a tensor passes a row.
struct Slot {
  std::size_t row = 0;
  double width = kSlot, x = 0;
  std::vector<std::size_t> above, below;
};

struct Rows {
  std::vector<Slot> slots;  ///< kernels first, by their number
  std::vector<std::vector<std::size_t>> rows;
  std::vector<std::vector<std::size_t>> ways;  ///< slots of each line
};

void join(Rows& rows, std::size_t above, std::size_t below) {
  rows.slots[above].below.push_back(below);
  rows.slots[below].above.push_back(above);
}

std::size_t add_slot(Rows& rows, std::size_t row, double width) {
  rows.slots.push_back({row, width, 0, {}, {}});
  rows.rows[row].push_back(rows.slots.size() - 1);
  return rows.slots.size() - 1;
}

Rows rows_of(const DataflowGraph& graph, double node_width, std::vector<Line>& lines) {
  const std::vector<std::uint32_t> levels = kernel_levels(graph);
  Rows rows;
  rows.rows.resize(levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end()) + 1);
  for (const std::uint32_t level : levels) add_slot(rows, level, node_width);
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const DataflowTensor& tensor = graph.tensors[t];
    for (const DataflowUse& use : tensor.uses) {
      std::vector<std::size_t> way = {tensor.producer};
      for (std::size_t row = levels[tensor.producer] + 1; row < levels[use.kernel]; ++row) {
        way.push_back(add_slot(rows, row, kSlot));
      }
      way.push_back(use.kernel);
      for (std::size_t i = 1; i < way.size(); ++i) join(rows, way[i - 1], way[i]);
      rows.ways.push_back(std::move(way));
      lines.push_back({t, use.kernel, {}});
    }
  }
  return rows;
}

std::vector<double> places(const Rows& rows) {
  std::vector<double> place(rows.slots.size());
  for (const auto& row : rows.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) place[row[i]] = static_cast<double>(i);
  }
  return place;
}

std::size_t crossings(const Rows& rows) {
  const std::vector<double> place = places(rows);
  std::size_t count = 0;
  for (const auto& row : rows.rows) {
    std::vector<std::pair<double, double>> ends;
    for (const std::size_t slot : row) {
      for (const std::size_t below : rows.slots[slot].below) {
        ends.emplace_back(place[slot], place[below]);
      }
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        count += (ends[i].first - ends[j].first) * (ends[i].second - ends[j].second) < 0;
      }
    }
  }
  return count;
}

double mean_of(const std::vector<std::size_t>& slots, const std::vector<double>& of,
               double otherwise) {
  if (slots.empty()) return otherwise;
  double sum = 0;
  for (const std::size_t slot : slots) sum += of[slot];
  return sum / static_cast<double>(slots.size());
}

/// Orders every row by its neighbours in the row before it on the way down, or up.
void sweep(Rows& rows, bool down) {
  std::vector<double> place = places(rows);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    auto& row = rows.rows[down ? i : rows.rows.size() - 1 - i];
    std::vector<double> wish(rows.slots.size());
    for (const std::size_t slot : row) {
      const Slot& s = rows.slots[slot];
      wish[slot] = mean_of(down ? s.above : s.below, place, place[slot]);
    }
    std::stable_sort(row.begin(), row.end(),
                     [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
    for (std::size_t k = 0; k < row.size(); ++k) place[row[k]] = static_cast<double>(k);
  }
}

void order(Rows& rows) {
  auto best = rows.rows;
  std::size_t fewest = crossings(rows);
  for (int i = 0; i < kSweeps && fewest > 0; ++i) {
    sweep(rows, i % 2 == 0);
    const std::size_t now = crossings(rows);
    if (now < fewest) {
      fewest = now;
      best = rows.rows;
    }
  }
  rows.rows = std::move(best);
}

/// Moves a row's slots to their neighbours. All count alike: else the drawing would wander.
void settle(Rows& rows, const std::vector<std::size_t>& row, bool down, bool both) {
  std::vector<double> wishes, offsets, x(rows.slots.size());
  for (std::size_t i = 0; i < rows.slots.size(); ++i) x[i] = rows.slots[i].x;
  double offset = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Slot& slot = rows.slots[row[i]];
    if (i > 0) offset += (rows.slots[row[i - 1]].width + slot.width) / 2 + kGap;
    std::vector<std::size_t> near = down ? slot.above : slot.below;
    const auto& other = down ? slot.below : slot.above;
    if (both || near.empty()) near.insert(near.end(), other.begin(), other.end());
    offsets.push_back(offset);
    wishes.push_back(mean_of(near, x, slot.x) - offset);
  }
  IsotonicRegression().fit(wishes, std::vector<double>(wishes.size(), 1.0));
  for (std::size_t i = 0; i < row.size(); ++i) rows.slots[row[i]].x = wishes[i] + offsets[i];
}

void spread(Rows& rows) {
  for (const auto& row : rows.rows) {
    double x = 0;
    for (const std::size_t slot : row) x += rows.slots[slot].width + kGap;
    x = -x / 2;
    for (const std::size_t slot : row) {
      rows.slots[slot].x = x + rows.slots[slot].width / 2;
      x += rows.slots[slot].width + kGap;
    }
  }
  for (int move = 0; move < kMoves; ++move) {
    const bool down = move % 2 == 0;
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      settle(rows, rows.rows[down ? i : rows.rows.size() - 1 - i], down, move >= kMoves / 2);
    }
  }
}

}  // namespace

Drawing draw(const DataflowGraph& graph, double letter) {
  std::size_t longest = 8;
  for (const DataflowKernel& kernel : graph.kernels)
    longest = std::max(longest, kernel.name.size());
  Drawing drawing;
  drawing.node_width = letter * static_cast<double>(longest) + 18;
  drawing.node_height = kNodeHeight;
  Rows rows = rows_of(graph, drawing.node_width, drawing.lines);
  order(rows);
  spread(rows);
  double left = std::numeric_limits<double>::infinity(), right = -left;
  for (const Slot& slot : rows.slots) {
    left = std::min(left, slot.x - slot.width / 2);
    right = std::max(right, slot.x + slot.width / 2);
  }
  const auto point = [&](std::size_t slot) {
    const Slot& s = rows.slots[slot];
    return Point{s.x - left + kMargin,
                 kMargin + kNodeHeight / 2 + kRowHeight * static_cast<double>(s.row)};
  };
  for (std::size_t k = 0; k < graph.kernels.size(); ++k) drawing.kernels.push_back(point(k));
  for (std::size_t l = 0; l < drawing.lines.size(); ++l) {
    for (const std::size_t slot : rows.ways[l]) drawing.lines[l].way.push_back(point(slot));
  }
  drawing.width = std::max(right - left, 0.0) + 2 * kMargin;
  const auto count = static_cast<double>(std::max<std::size_t>(rows.rows.size(), 1));
  drawing.height = kRowHeight * (count - 1) + kNodeHeight + 2 * kMargin;
  return drawing;
}

}  // namespace flopcast::report::drawing
