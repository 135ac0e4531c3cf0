// Files that a launch configuration names, and what stands in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "parallel/launch/text.h"

namespace flopcast::parallel {

/// A document of YAML, JSON or TOML that lies beside a configuration.
struct NamedDocument {
  std::string name;             ///< as the configuration has it
  nlohmann::ordered_json root;  ///< an object
  LaunchSettings settings;      ///< its leaves
};
/// The document of this name, or of its last part (configs/zero3.json is often kept beside its script). None:
/// there is none, or its name is a value that the caller gives. Errors: it is there, and no document.
Result<std::optional<NamedDocument>> find_document(const LaunchText& text, std::string_view name);

/// Puts a document's settings ahead of the configuration's own, which count more; with a prefix, as members of
/// a key ("fsdp_config"). Messages name the file.
void put_ahead(LaunchText& text, const NamedDocument& document, std::string_view prefix = {});

/// The last value of a setting; empty: there is none.
std::string_view value_of(const LaunchSettings& settings, std::string_view key);
/// The document that a command starts with: the first word that ends as documents do and is no flag's value, or
/// the value of one of these flags ("config|config_file"). Empty: it names none.
std::string document_name(const LaunchText& text, std::string_view flags);
/// Reads it and puts it ahead. Errors: a command names one that is not there.
std::optional<Diagnostic> open_document(LaunchText& text, std::string_view flags);

}  // namespace flopcast::parallel
