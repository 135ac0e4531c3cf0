// Where the kernels and tensors of a dataflow graph are drawn.
//
// Rows are levels of the graph (longest path from a source). A tensor that skips rows passes them as
// a narrow slot of its own. Slots of a row are ordered by the mean place of their neighbours, a few
// sweeps down and up, and the order with the fewest crossings is kept; then each is moved as near
// to its neighbours as the distances in its row allow (isotonic regression: pool adjacent
// violators). Method: Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical
// system structures", 1981.
#pragma once

#include <cstdint>
#include <vector>

#include "flopcast/workload/dataflow.h"

namespace flopcast::report::drawing {

struct Point {
  double x = 0, y = 0;
};

struct Line {
  std::uint32_t tensor = 0, to = 0;  ///< its producer is the tensor's
  std::vector<Point> way;            ///< centres of producer, slots passed, consumer
};

struct Drawing {
  double width = 0, height = 0, node_width = 0, node_height = 0;
  std::vector<Point> kernels;  ///< centres
  std::vector<Line> lines;
};

/// Lengths are in pixels of a font of `letter` pixels a character. @pre no cycle
Drawing draw(const DataflowGraph& graph, double letter = 7.4);

}  // namespace flopcast::report::drawing
