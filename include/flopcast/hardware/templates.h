// Floor 1: files to fill in: complete, with units and comments, and read as they are by the readers of such files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// Names of hardware's: "chip", "node", "cluster", "link"; of what is mapped onto what: "graph", "system".
std::vector<std::string> hardware_templates();
std::vector<std::string> mapping_templates();  ///< likewise
/// The text, TOML. Errors (kUsage): no such template, with those of `known`.
Result<std::string> template_text(std::string_view name, const std::vector<std::string>& known);

}  // namespace flopcast
