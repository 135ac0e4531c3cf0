#include "base/text/toml_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/utf8.h"

namespace flopcast {
namespace {

Diagnostic bad(const TomlFile& file, const toml::node& node, std::string what, std::string hint) {
  return {ErrorCode::kBadInput, place(file, node), std::move(what), std::move(hint)};
}

nlohmann::ordered_json json_of(const toml::node& node, const std::string& path, TomlLines* lines) {
  if (lines != nullptr) (*lines)[path] = node.source().begin.line;
  if (const auto* table = node.as_table()) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      object[name] = json_of(value, path.empty() ? name : path + "." + name, lines);
    }
    return object;
  }
  if (const auto* array = node.as_array()) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const toml::node& value : *array) {
      list.push_back(json_of(value, path + "." + std::to_string(list.size()), lines));
    }
    return list;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  return nullptr;
}

/// A scalar as the text that a one-line cluster would hold.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

bool is_table_array(const toml::node& node) {
  const toml::array* array = node.as_array();
  return array != nullptr && !array->empty() && array->get(0)->is_table();
}

class Flattener {
 public:
  Flattener(const TomlFile& file, const std::vector<std::string_view>& skip)
      : file_(file), skip_(skip) {}

  std::optional<Diagnostic> table(const toml::table& from, const std::string& prefix,
                                  const std::string& inherited_source) {
    std::string source = inherited_source;
    if (auto error = read_source(from, source)) return error;
    for (const auto& [key, node] : from) {
      if (key == "source" || is_table_array(node)) continue;
      if (prefix.empty() && std::find(skip_.begin(), skip_.end(), key.str()) != skip_.end()) {
        continue;
      }
      if (auto error = member(prefix + std::string(key.str()), node, source)) return error;
    }
    return std::nullopt;
  }

  std::optional<Diagnostic> read_source(const toml::table& from, std::string& source) const {
    const toml::node* node = from.get("source");
    if (node == nullptr) return std::nullopt;
    const auto* text = node->as_string();
    if (text == nullptr) return bad(file_, *node, "source: expected a text", "quote it");
    const auto known = file_.sources.find(text->get());
    if (known == file_.sources.end() && file_.sources_required) {
      return bad(file_, *node, fmt::format("no source is called '{}'", text->get()),
                 "add it to [sources] at the top of the file");
    }
    source = known == file_.sources.end() ? text->get() : known->second;
    return std::nullopt;
  }

  std::vector<Setting> take() && {
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Setting> settings;
    for (auto& [position, setting] : lines_) settings.push_back(std::move(setting));
    return settings;
  }

 private:
  /// A number with a source is a published one unless it says otherwise.
  static Basis usual_basis(const std::string& source) {
    return source.empty() ? Basis::kAssumed : Basis::kRoofline;
  }

  std::optional<Diagnostic> member(const std::string& key, const toml::node& node,
                                   const std::string& source) {
    if (const toml::table* inner = node.as_table()) {
      if (inner->get("value") != nullptr) return sourced(key, *inner, source);
      if (inner->empty()) {
        return bad(file_, node, fmt::format("{}: is empty", key), "give a value, or leave it out");
      }
      return table(*inner, key + ".", source);
    }
    return value(key, node, source, usual_basis(source));
  }

  /// { value = ..., source = ..., basis = ... }
  std::optional<Diagnostic> sourced(const std::string& key, const toml::table& from,
                                    std::string source) {
    if (auto error = read_source(from, source)) return error;
    Basis basis = usual_basis(source);
    for (const auto& [name_of, node] : from) {
      if (name_of == "value" || name_of == "source") continue;
      const auto* text = node.as_string();
      if (name_of != "basis" || text == nullptr) {
        return bad(file_, node, fmt::format("{}: unexpected '{}'", key, name_of.str()),
                   "a number with a source has value, source and basis");
      }
      int i = 0;
      while (i <= static_cast<int>(Basis::kAssumed) && text->get() != name(static_cast<Basis>(i))) {
        ++i;
      }
      if (i > static_cast<int>(Basis::kAssumed)) {
        return bad(file_, node, fmt::format("{}: no basis is called '{}'", key, text->get()),
                   "write measured, table, fitted, roofline or assumed");
      }
      basis = static_cast<Basis>(i);
    }
    return value(key, *from.get("value"), source, basis);
  }

  std::optional<Diagnostic> value(const std::string& key, const toml::node& node,
                                  const std::string& source, Basis basis) {
    Setting setting;
    setting.key = key;
    setting.where = place(file_, node);
    setting.source = source.empty() && !file_.sources_required ? file_.name : source;
    setting.basis = basis;
    if (const toml::array* list = node.as_array()) {
      setting.list = true;
      for (const toml::node& item : *list) {
        const auto text = scalar_text(item);
        if (!text) return bad(file_, item, fmt::format("{}: unexpected value", key), "");
        setting.values.push_back(*text);
        setting.value += (setting.value.empty() ? "" : "x") + *text;
      }
    } else if (const auto text = scalar_text(node)) {
      setting.value = *text;
      setting.values = {*text};
    } else {
      return bad(file_, node, fmt::format("{}: expected a number or a text", key), "");
    }
    const auto begin = node.source().begin;
    lines_.emplace_back(std::pair(begin.line, begin.column), std::move(setting));
    return std::nullopt;
  }

  const TomlFile& file_;
  const std::vector<std::string_view>& skip_;
  std::vector<std::pair<std::pair<toml::source_index, toml::source_index>, Setting>> lines_;
};

}  // namespace

std::string place(const TomlFile& file, const toml::node& node) {
  const auto begin = node.source().begin;
  return fmt::format("{}:{}:{}", file.name, begin.line, begin.column);
}

Result<TomlFile> parse_toml(std::string_view text, std::string name, bool sources_required) {
  if (auto failure = check_text(text, name)) return *failure;
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const auto at = parsed.error().source().begin;
    return Diagnostic{ErrorCode::kBadInput, fmt::format("{}:{}:{}", name, at.line, at.column),
                      std::string(parsed.error().description()),
                      "correct the TOML; texts need quotes, tables [brackets]"};
  }
  TomlFile file{std::move(name), std::move(parsed).table(), {}, sources_required};
  const toml::node* sources = file.root.get("sources");
  if (sources == nullptr) return file;
  if (!sources->is_table()) return bad(file, *sources, "sources: expected a table", "[sources]");
  for (const auto& [key, node] : *sources->as_table()) {
    const auto* text_of = node.as_string();
    if (text_of == nullptr) return bad(file, node, "a source is a text", "quote it");
    file.sources.emplace(key.str(), text_of->get());
  }
  return file;
}

Result<std::vector<Setting>> settings_of(const TomlFile& file, const toml::table& table,
                                         const std::vector<std::string_view>& skip,
                                         const toml::table* parent) {
  Flattener flattener(file, skip);
  std::string source;
  if (parent != nullptr) {
    if (auto error = flattener.read_source(*parent, source)) return *error;
  }
  if (auto error = flattener.table(table, "", source)) return *error;
  return std::move(flattener).take();
}

Result<std::vector<NamedTable>> tables_of(const TomlFile& file, std::string_view group) {
  std::vector<NamedTable> tables;
  const toml::node* node = file.root.get(group);
  if (node == nullptr) return tables;
  const std::string example = fmt::format("write [{}.NAME]", group);
  if (!node->is_table())
    return bad(file, *node, fmt::format("{}: expected a table", group), example);
  for (const auto& [key, entry] : *node->as_table()) {
    if (!entry.is_table()) {
      return bad(file, entry, fmt::format("{}.{}: expected a table", group, key.str()), example);
    }
    tables.push_back({std::string(key.str()), entry.as_table()});
  }
  std::stable_sort(tables.begin(), tables.end(), [](const NamedTable& a, const NamedTable& b) {
    return a.table->source().begin.line < b.table->source().begin.line;
  });
  return tables;
}

nlohmann::ordered_json toml_json(const toml::node& node, TomlLines* lines) {
  return json_of(node, {}, lines);
}

}  // namespace flopcast
