#include "flopcast/hardware/templates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "catalog_files.h"

namespace flopcast {

std::vector<std::string> hardware_templates() { return {"chip", "node", "cluster", "link"}; }
std::vector<std::string> mapping_templates() { return {"graph", "system"}; }

Result<std::string> template_text(std::string_view name, const std::vector<std::string>& known) {
  const std::string path = fmt::format("templates/{}.toml", name);
  if (std::ranges::find(known, name) != known.end()) {
    for (const CatalogFile& file : catalog_files()) {
      if (file.path == path) return std::string(file.text);
    }
  }
  return usage_error("template", fmt::format("there is none of '{}'", name),
                     fmt::format("one of {}", fmt::join(known, ", ")));
}

}  // namespace flopcast
