// What `flopcast map` and `flopcast explore` ask alike: a workload, a system, a model, a search.
#pragma once

#include <filesystem>
#include <optional>

#include "cli/terminal/cli11.h"
#include "flopcast/question/mapping.h"

namespace flopcast::cli {

struct MapFlags {
  MappingQuestion question;
  std::string precision;
  std::optional<double> utilisation;
  bool cycles = false;
  std::filesystem::path dfmodel;  ///< a setup.txt instead of workload and system
};
/// WORKLOAD, --on, and every flag of a question.
void add_mapping(CLI::App& command, MapFlags& flags);
/// The question, with what the flags say in other words. Errors (kUsage): a precision that is none,
/// no workload; with --dfmodel what it brings of its own; as mapping_model and parse_mapping_pin.
Result<MappingQuestion> mapping_question(const MapFlags& flags);
/// Errors: those of mapping_question, mapping_request and, with --dfmodel, of the file.
Result<MappingRequest> mapping_request(const MapFlags& flags);
/// Adds a flag whose every use adds one text.
void add_mapping_texts(CLI::App& command, const std::string& flag, std::vector<std::string>& texts,
                       const std::string& help, const std::string& type);

}  // namespace flopcast::cli
