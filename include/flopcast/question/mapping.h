// Floor 7: what somebody asks about a mapping in words, read into a request for the search.
//
//   Result<MappingRequest> request = mapping_request({.workload = "gpt3-175b", .on = "8 x sn10"});
//   Result<Mapping> mapping = map_workload(*request);
//
// flopcast/report/mapping.h shows the answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/mapping.h"

namespace flopcast {

/// What somebody asks for, in words; empty and zero leave the defaults of what is named.
struct MappingQuestion {
  std::string workload;                ///< for load_dataflow
  std::string on;                      ///< for mapping_system
  DataflowOptions dataflow;            ///< sequence, batch and layers of the workload
  SystemOptions system;                ///< topology, memory, link and numbers of the system
  std::string mode = "full";           ///< "full" or "paper"
  std::string overlap;                 ///< of MappingOverlap; empty: the mode's
  double utilisation = -1;             ///< of the peak; 0: the cycle model; below 0: the mode's
  std::vector<std::string> pins;       ///< "q=0": kernel q is in partition 0 of its pass
  std::vector<std::string> forbids;    ///< "q=0": it is not
  std::vector<std::string> shardings;  ///< "ffn_up=m": kernel ffn_up is divided so
  MappingSearch search;                ///< pins are added to these
};
/// Loads workload and system. Errors: load_dataflow's, mapping_system's; kUsage: a mode, overlap or
/// pin that cannot be read, a utilisation above 1.
Result<MappingRequest> mapping_request(const MappingQuestion& question);
/// The same with a model's and a search's settings as MappingQuestion has them.
Result<MappingModel> mapping_model(const MappingQuestion& question);
/// The search's pins with those in words.
Result<std::vector<MappingPin>> mapping_pins(const MappingQuestion& question);
/// The search's pins of shardings with those in words. Errors (kUsage): no '=', no such sharding.
Result<std::vector<ShardingPin>> sharding_pins(const MappingQuestion& question);
/// "q=0" or "q=0,1". Errors (kUsage): no '=', a partition that is no whole number.
Result<std::vector<MappingPin>> parse_mapping_pin(std::string_view text, bool forbidden);

}  // namespace flopcast
