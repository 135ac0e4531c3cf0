#include "cost/model/constants.h"

#include <fmt/format.h>

#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast::cost {

Result<KernelConstants> parse_kernel_constants(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  const auto moved = file->root["moved"];
  const auto per_fold = moved["per_fold"].value<double>();
  const std::string source = moved["source"].value_or(std::string());
  if (!per_fold || !(*per_fold >= 0) || !file->sources.contains(source)) {
    return Diagnostic{ErrorCode::kBadInput, fmt::format("{}: [moved] per_fold", where),
                      "is no number from 0 on with a source",
                      "give a number with a source of [sources]"};
  }
  return KernelConstants{*per_fold};
}

const KernelConstants& kernel_constants() {
  static const KernelConstants constants = [] {
    // Compiled in and read by a test.
    const auto read =
        parse_kernel_constants(catalog_data::cost_constants_toml(), "catalog/cost/constants.toml");
    return read ? *read : KernelConstants{};
  }();
  return constants;
}

}  // namespace flopcast::cost
