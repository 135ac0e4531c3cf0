// Settings of a document's keys, and files that a configuration names.
#include <filesystem>

#include "base/files/read_file.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using Lines = std::map<std::string, unsigned, std::less<>>;

/// Deeper documents are no launch configurations; their inner members are left out.
constexpr int kDeepest = 16;

std::string scalar_words(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

bool is_scalar_list(const ordered_json& value) {
  return value.is_array() && std::none_of(value.begin(), value.end(), [](const ordered_json& one) {
           return one.is_structured();
         });
}

class Leaves {
 public:
  explicit Leaves(const Lines& lines) : lines_(lines) {}

  void add(const ordered_json& value, const std::string& path, int depth) {
    if (value.is_structured() && !value.empty() && !is_scalar_list(value)) {
      if (depth == kDeepest) return;
      std::size_t place = 0;
      for (const auto& [key, member] : value.items()) {
        const std::string name = value.is_array() ? std::to_string(place++) : key;
        add(member, path.empty() ? name : path + "." + name, depth + 1);
      }
      return;
    }
    LaunchSetting setting{setting_key(path), {}, path, 0, value.is_null()};
    if (const auto line = lines_.find(path); line != lines_.end()) setting.line = line->second;
    if (value.is_array()) {
      for (const ordered_json& one : value) setting.values.push_back(scalar_words(one));
    } else if (!value.is_null() && !value.is_object()) {
      setting.values.push_back(scalar_words(value));
    }
    all.push_back(std::move(setting));
  }

  LaunchSettings all;

 private:
  const Lines& lines_;
};

}  // namespace

LaunchSettings document_settings(const ordered_json& root, const Lines& lines) {
  Leaves leaves(lines);
  if (root.is_structured() && !root.empty()) leaves.add(root, {}, 0);
  return std::move(leaves.all);
}

std::optional<std::string> LaunchText::beside(std::string_view name) const {
  for (const ShellFile& file : written) {
    if (file.name == name) return file.text;
  }
  if (folder.empty() || name.empty() || has_unknown(name)) return std::nullopt;
  const fs::path path = fs::path(folder) / fs::path(std::string(name));
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  Result<std::string> text = read_file(path.string());
  if (!text) return std::nullopt;
  return std::move(*text);
}

std::string_view LaunchText::variable(std::string_view name) const {
  for (const auto& [known, value] : variables) {
    if (known == name) return value;
  }
  return {};
}

}  // namespace flopcast::parallel
