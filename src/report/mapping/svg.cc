// A dataflow graph as SVG. Colours are those of web/report.css where the drawing stands in a page,
// and fixed where it stands alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "flopcast/report/mapping.h"
#include "report/mapping/drawing.h"
#include "report/render/page_template.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr std::uint32_t kNoPartition = std::numeric_limits<std::uint32_t>::max();
constexpr double kLegend = 34;

struct Colour {
  const char* name;   ///< in web/report.css
  const char* alone;  ///< without it
  const char* ink;    ///< that is read on it
};
/// In the order of web/colours.js, so that a partition has one colour all over a page.
constexpr std::array<Colour, 10> kColours = {{{"compute", "#3b78c2", "#ffffff"},
                                              {"communication", "#e08a1e", "#10141a"},
                                              {"copy", "#2a9d8f", "#10141a"},
                                              {"overlapped", "#7d55b5", "#ffffff"},
                                              {"accent", "#c2185b", "#ffffff"},
                                              {"good", "#2e7d4f", "#ffffff"},
                                              {"sync", "#d06a5b", "#10141a"},
                                              {"launch", "#55759d", "#ffffff"},
                                              {"operator", "#93a3b8", "#10141a"},
                                              {"lag", "#c7a6c9", "#10141a"}}};

constexpr const char* kStyle = R"(<style>
.flow { font: 12px/1.2 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
.flow text { text-anchor: middle; }
.flow .small { font-size: 10px; }
.flow .note { text-anchor: start; fill: var(--soft, #5c6775); }
.flow path { fill: none; }
.flow .hover { stroke: transparent; stroke-width: 10; pointer-events: stroke; }
.flow g.line:hover .seen { stroke-width: 3.6; }
.flow .cut { stroke: var(--soft, #5c6775); stroke-width: 1.3; stroke-dasharray: 5 4; }
.flow .kept { stroke-width: 2; }
.flow .arrow { fill: var(--soft, #5c6775); }
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
 markerUnits="userSpaceOnUse" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>
)";

const Colour& colour_of(std::uint32_t partition) {
  return partition == kNoPartition ? kColours[7] : kColours[partition % kColours.size()];
}

std::string paint(std::uint32_t partition) {
  const Colour& colour = colour_of(partition);
  return fmt::format("var(--{}, {})", colour.name, colour.alone);
}

std::string ink_on(std::uint32_t partition) {
  const Colour& colour = colour_of(partition);
  return fmt::format("var(--{}-ink, {})", colour.name, colour.ink);
}

std::string work_text(Flops work) {
  static constexpr std::array<const char*, 6> kUnits = {"", " K", " M", " G", " T", " P"};
  double value = work.value;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{}{}", value, kUnits[unit], unit == 0 ? " FLOP" : "FLOP");
}

std::string shape_text(const DataflowKernel& kernel) {
  std::string text = kernel.outer > 1 ? fmt::format("{} x ", kernel.outer) : "";
  text += fmt::format("[{} x {}]", kernel.m, kernel.n);
  if (kernel.k > 0) text += fmt::format(", sums over {}", kernel.k);
  return text;
}

std::string kernel_tip(const DataflowKernel& kernel, std::uint32_t partition) {
  std::string tip = fmt::format("{}: {}\n{}, {}", html_escaped(kernel.name), name(kernel.kind),
                                shape_text(kernel), work_text(kernel.work()));
  if (kernel.weight.value > 0) {
    tip += fmt::format("\nweights {}", quantity_text(kernel.weight.value, UnitKind::kBytes));
  }
  if (partition != kNoPartition) tip += fmt::format("\npartition {}", partition);
  return tip;
}

std::string node(const DataflowKernel& kernel, const drawing::Drawing& d, drawing::Point at,
                 std::uint32_t partition) {
  std::string label = work_text(kernel.work());
  if (partition != kNoPartition) label = fmt::format("{} · {}", partition, label);
  return fmt::format(
      "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"6\" style=\"fill:{}\"/><g style=\"fill:{}\"><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
      "<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g></g>\n",
      kernel_tip(kernel, partition), at.x - d.node_width / 2, at.y - d.node_height / 2,
      d.node_width, d.node_height, paint(partition), ink_on(partition), at.x, at.y - 2,
      html_escaped(kernel.name), at.x, at.y + 12, label);
}

/// Straight through the rows it passes, bent between them.
std::string way_of(const drawing::Line& line, double node_height) {
  const double half = node_height / 2;
  std::string way;
  for (std::size_t i = 0; i + 1 < line.way.size(); ++i) {
    const drawing::Point from = line.way[i], to = line.way[i + 1];
    const double top = from.y + half, bottom = to.y - half, bend = (bottom - top) / 2;
    if (i == 0) way += fmt::format("M{:.1f} {:.1f}", from.x, top);
    way += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, top + bend, to.x,
                       bottom - bend, to.x, bottom);
    if (i + 2 < line.way.size()) way += fmt::format("L{:.1f} {:.1f}", to.x, to.y + half);
  }
  return way;
}

std::string edge(const DataflowGraph& graph, const drawing::Line& line, double node_height,
                 std::span<const std::uint32_t> partition) {
  const DataflowTensor& tensor = graph.tensors[line.tensor];
  const std::string way = way_of(line, node_height);
  const bool known = !partition.empty();
  const bool cut = known && partition[tensor.producer] != partition[line.to];
  const std::string tip =
      fmt::format("{}: {}\n{} to {}{}", html_escaped(tensor.name),
                  quantity_text(tensor.bytes.value, UnitKind::kBytes),
                  html_escaped(graph.kernels[tensor.producer].name),
                  html_escaped(graph.kernels[line.to].name), cut ? "\nthrough DRAM" : "");
  return fmt::format(
      "<g class=\"line\"><title>{}</title><path class=\"hover\" d=\"{}\"/><path class=\"seen {}\" "
      "d=\"{}\"{} marker-end=\"url(#arrow)\"/></g>\n",
      tip, way, cut ? "cut" : "kept", way,
      cut ? ""
          : fmt::format(" style=\"stroke:{}\"", paint(known ? partition[line.to] : kNoPartition)));
}

std::string legend(double y) {
  return fmt::format(
      "<text class=\"note\" x=\"16\" y=\"{:.1f}\">Number and colour: partition. Dashed: through "
      "DRAM.</text>\n",
      y);
}

}  // namespace

std::string dataflow_svg(const DataflowGraph& graph, std::span<const std::uint32_t> partition) {
  const drawing::Drawing d = drawing::draw(graph);
  const double width = std::max(d.width, partition.empty() ? 0.0 : 440.0);
  const double height = d.height + (partition.empty() ? 0 : kLegend);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flow\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\">\n<desc>{2}</desc>\n",
      width, height, html_escaped(graph.name));
  svg += kStyle;
  for (const drawing::Line& line : d.lines) svg += edge(graph, line, d.node_height, partition);
  for (std::size_t k = 0; k < graph.kernels.size(); ++k) {
    svg += node(graph.kernels[k], d, d.kernels[k], partition.empty() ? kNoPartition : partition[k]);
  }
  if (!partition.empty()) svg += legend(d.height + kLegend / 2);
  return svg + "</svg>\n";
}

}  // namespace flopcast
