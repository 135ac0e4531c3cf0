// The drawing of a dataflow graph: nothing overlaps, lines end at their kernels, text is escaped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>

#include "report/mapping/drawing.h"
#include "report/mapping/testing.h"

namespace flopcast::report {
namespace {

using testing::HasSubstr;

/// A random graph without cycles: tensor i is read by later kernels.
DataflowGraph random_graph() {
  const int kernels = *rc::gen::inRange(1, 24);
  DataflowGraph graph;
  for (int k = 0; k < kernels; ++k) {
    graph.kernels.push_back(test::made_kernel(("kernel_" + std::to_string(k)).c_str(), k % 3 * 10));
    DataflowTensor tensor{"t" + std::to_string(k), static_cast<std::uint32_t>(k), {1e3}, {}, true};
    for (int reader = k + 1; reader < kernels; ++reader) {
      if (*rc::gen::weightedElement<bool>({{3, false}, {1, true}})) {
        tensor.uses.push_back({static_cast<std::uint32_t>(reader), Operand::kPointwise});
      }
    }
    graph.tensors.push_back(tensor);
  }
  return graph;
}

RC_GTEST_PROP(Drawing, KernelsDoNotOverlapAndLinesGoDown, ()) {
  const DataflowGraph graph = random_graph();
  const drawing::Drawing d = drawing::draw(graph);
  RC_ASSERT(d.kernels.size() == graph.kernels.size());
  for (std::size_t a = 0; a < d.kernels.size(); ++a) {
    RC_ASSERT(d.kernels[a].x >= d.node_width / 2);
    RC_ASSERT(d.kernels[a].x <= d.width - d.node_width / 2);
    RC_ASSERT(d.kernels[a].y <= d.height - d.node_height / 2);
    for (std::size_t b = 0; b < a; ++b) {
      const bool apart = std::abs(d.kernels[a].x - d.kernels[b].x) >= d.node_width ||
                         std::abs(d.kernels[a].y - d.kernels[b].y) >= d.node_height;
      RC_ASSERT(apart);
    }
  }
  RC_ASSERT(d.lines.size() == graph.uses());
  for (const drawing::Line& line : d.lines) {
    const std::uint32_t producer = graph.tensors[line.tensor].producer;
    RC_ASSERT(line.way.front().x == d.kernels[producer].x);
    RC_ASSERT(line.way.back().x == d.kernels[line.to].x);
    for (std::size_t i = 1; i < line.way.size(); ++i) {
      RC_ASSERT(line.way[i].y > line.way[i - 1].y);
    }
  }
}

RC_GTEST_PROP(Drawing, IsAsWideAsWhatIsOnIt, ()) {
  const drawing::Drawing d = drawing::draw(random_graph());
  double left = d.width, right = 0;
  const auto take = [&](double x, double width) {
    left = std::min(left, x - width / 2);
    right = std::max(right, x + width / 2);
  };
  for (const drawing::Point kernel : d.kernels) take(kernel.x, d.node_width);
  for (const drawing::Line& line : d.lines) {
    for (const drawing::Point point : line.way) take(point.x, 8);
  }
  RC_ASSERT(std::abs(left - 16) < 1e-6);
  RC_ASSERT(std::abs(d.width - right - 16) < 1e-6);
}

RC_GTEST_PROP(Drawing, LinesPassKernelsBy, ()) {
  const DataflowGraph graph = random_graph();
  const drawing::Drawing d = drawing::draw(graph);
  for (const drawing::Line& line : d.lines) {
    for (std::size_t i = 1; i + 1 < line.way.size(); ++i) {
      for (const drawing::Point kernel : d.kernels) {
        const bool by =
            kernel.y != line.way[i].y || std::abs(kernel.x - line.way[i].x) >= d.node_width / 2;
        RC_ASSERT(by);
      }
    }
  }
}

TEST(Drawing, AChainIsStraight) {
  DataflowGraph graph;
  for (std::uint32_t k = 0; k < 4; ++k) {
    graph.kernels.push_back(test::made_kernel(std::to_string(k).c_str(), 0));
    if (k > 0) graph.tensors.push_back({"t", k - 1, {1}, {{k, Operand::kPointwise}}, true});
  }
  const drawing::Drawing d = drawing::draw(graph);
  for (const drawing::Point kernel : d.kernels) EXPECT_DOUBLE_EQ(kernel.x, d.kernels[0].x);
}

TEST(DataflowSvg, IsXmlWithEveryKernelAndTensor) {
  const MappingReport report = test::made_mapping();
  const DataflowGraph& graph = report.request.workload.graph;
  for (const bool mapped : {false, true}) {
    const std::string svg =
        mapped ? dataflow_svg(graph, kernel_partitions(report)) : dataflow_svg(graph);
    pugi::xml_document document;
    ASSERT_TRUE(document.load_string(svg.c_str())) << svg;
    EXPECT_EQ(document.select_nodes("//rect").size(), graph.kernels.size());
    EXPECT_EQ(document.select_nodes("//g[@class='line']").size(), graph.uses());
    EXPECT_TRUE(document.select_node("//text[.='down <b>']"));
    // in -> out and gelu -> down <b> are cut, three lines stay on the chip.
    EXPECT_EQ(document.select_nodes("//path[@class='seen cut']").size(), mapped ? 2u : 0u);
    EXPECT_EQ(document.select_nodes("//path[@class='seen kept']").size(), mapped ? 3u : 5u);
  }
}

TEST(DataflowSvg, TooltipsHaveSizes) {
  const std::string svg = dataflow_svg(test::made_workload().graph);
  EXPECT_THAT(svg, HasSubstr("t_up: 1 MB\nup to gelu"));
  EXPECT_THAT(svg, HasSubstr("up: gemm\n[1000 x 500], sums over 100, 100 MFLOP"));
}

TEST(DataflowSvg, AnEmptyGraphIsStillADocument) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(dataflow_svg({}).c_str()));
}

}  // namespace
}  // namespace flopcast::report
