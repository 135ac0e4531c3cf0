// Floor 8: mappings of dataflow graphs as tables, JSON, CSV, a drawing and a page.
//
//   mapping_text({request, mapping}); mapping_json({request, mapping}); ...
//
// Nothing here depends on how long or on how many threads the search ran.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flopcast/mapping.h"

namespace flopcast {

/// A problem and its answer.
struct MappingReport {
  MappingRequest request;  ///< the problem
  Mapping mapping;         ///< the answer
};

/// For people: the answer, what each network dimension does, partitions, where the step goes, what
/// fills the memory, the roofline in words, and what it all rests on.
std::string mapping_text(const MappingReport& report);
/// One document; docs/reference/json.md names every field.
std::string mapping_json(const MappingReport& report);
/// One row for each partition.
std::string mapping_csv(const MappingReport& report);
/// Partition of every kernel of the workload's graph.
std::vector<std::uint32_t> kernel_partitions(const MappingReport& report);
/// A page: the graph coloured by partition, the roofline, the timeline of a layer, the shardings.
std::string mapping_html(const MappingReport& report);

/// The graph as an SVG document: producers above consumers, tensors as lines with their sizes as
/// tooltips. @param partition of each kernel, for colours; empty: all alike
std::string dataflow_svg(const DataflowGraph& graph, std::span<const std::uint32_t> partition = {});

}  // namespace flopcast
