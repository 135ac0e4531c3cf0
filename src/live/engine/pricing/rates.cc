#include "live/engine/pricing/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "live/engine/pricing/device_facts.h"

namespace flopcast::live {
namespace {

constexpr std::string_view kRatesFile = "live/rates.toml";

Diagnostic bad_rates(const TomlFile& file, const toml::table& table, std::string what) {
  return {ErrorCode::kBadInput, place(file, table), std::move(what),
          "tools/fit_live_rates.py writes such files"};
}

/// The tables of [[name]].
std::vector<const toml::table*> tables_in(const toml::table& root, std::string_view name) {
  std::vector<const toml::table*> tables;
  const toml::array* all = root[name].as_array();
  for (std::size_t i = 0; all != nullptr && i < all->size(); ++i) {
    if (const toml::table* table = all->get(i)->as_table()) tables.push_back(table);
  }
  return tables;
}

std::vector<std::string> texts_in(const toml::table& table, std::string_view name) {
  std::vector<std::string> texts;
  const toml::array* all = table[name].as_array();
  for (std::size_t i = 0; all != nullptr && i < all->size(); ++i)
    texts.push_back(all->get(i)->value_or(std::string()));
  return texts;
}

std::string text_in(const toml::table& table, std::string_view name) {
  return table[name].value_or(std::string());
}

Rates::Class named_class(const toml::table& table) {
  Rates::Class made;
  made.name = text_in(table, "name");
  for (const std::string& word : texts_in(table, "kernels")) {
    if (word.starts_with('!')) {
      made.without.push_back(word.substr(1));
    } else if (!word.empty()) {
      made.with.push_back(word);
    }
  }
  return made;
}

/// A class that was measured, or one like another before it.
Result<Rates::Class> class_of(const TomlFile& file, const toml::table& table, const Chip& chip,
                              const std::vector<Rates::Class>& before) {
  Rates::Class made = named_class(table);
  if (made.with.empty()) return bad_rates(file, table, "has no words of its kernels' names");
  const std::vector<std::string> chips = texts_in(table, "chips");
  if (std::find(chips.begin(), chips.end(), chip.name) != chips.end())
    made.streaming.basis = Basis::kFitted;
  const double elements = table["elements"].value_or(0.0);
  if (!(elements >= 0 && std::isfinite(elements)))
    return bad_rates(file, table, "its elements are no rate");
  made.streaming.elements_per_second =
      elements * std::max<double>(1, chip.cores) * highest_hertz(chip);
  if (const std::string like = text_in(table, "like"); !like.empty()) {
    const auto other = std::find_if(before.begin(), before.end(),
                                    [&like](const Rates::Class& one) { return one.name == like; });
    if (other == before.end())
      return bad_rates(file, table, fmt::format("there is no class '{}' before it", like));
    made.streaming.bytes_per_second = other->streaming.bytes_per_second;
    return made;
  }
  const double share = table["share"].value_or(0.0);
  if (!(share > 0.01 && share <= 1))
    return bad_rates(file, table, "its share is not between 0.01 and 1");
  made.streaming.bytes_per_second = share * std::max(1.0, chip.hbm_bandwidth.value);
  return made;
}

/// What the model says of the attention that rates were measured with: FLOP/s.
double modelled_rate(const KernelModel& model, bool backward) {
  double flops = 0, seconds = 0;
  for (const std::int64_t tokens : {4096, 8192}) {
    Attention attention;
    attention.batch = 16384 / tokens;
    attention.query_length = attention.kv_length = tokens;
    attention.heads = attention.kv_heads = 16;
    attention.backward = backward;
    // Half of the pairs of tokens; backward has five products where forward has two.
    flops += 2.0 * 16384 * static_cast<double>(tokens * attention.heads * attention.head_dim) *
             (backward ? 2.5 : 1);
    seconds += model.time(attention).time.value;
  }
  return flops / seconds;
}

/// None for chips of another architecture than the one that was measured.
Result<std::optional<Rates::Attends>> attention_of(const TomlFile& file, const toml::table& table,
                                                   const Chip& chip, const Catalog& catalog) {
  const double forward = table["forward_flops"].value_or(0.0);
  const double backward = table["backward_flops"].value_or(0.0);
  Rates::Attends made{text_in(table, "kernel"), {}};
  if (made.kernel.empty() || !(forward > 0) || !(backward > 0))
    return bad_rates(file, table, "needs kernel, forward_flops and backward_flops");
  const Result<Chip> measured = catalog.chip(text_in(table, "chip"));
  if (!measured) return measured.error();
  if (measured->architecture != chip.architecture) return std::optional<Rates::Attends>();
  const Result<Machine> machine = Machine::of(*measured, catalog);
  if (!machine) return machine.error();
  made.rate.forward = forward / modelled_rate(machine->kernels(), false);
  made.rate.backward = backward / modelled_rate(machine->kernels(), true);
  if (measured->name == chip.name) made.rate.basis = Basis::kFitted;
  return std::optional(std::move(made));
}

}  // namespace

double Streaming::seconds(double bytes, double elements) const {
  const double worked_out = elements_per_second > 0 ? elements / elements_per_second : 0;
  return std::max(bytes / bytes_per_second, worked_out);
}

Result<Rates> Rates::parse(std::string_view text, const std::string& where, const Chip& chip,
                           const Catalog& catalog) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  Rates rates;
  for (const toml::table* table : tables_in(file->root, "memory")) {
    Result<Class> made = class_of(*file, *table, chip, rates.classes_);
    if (!made) return made.error();
    rates.classes_.push_back(std::move(*made));
  }
  for (const toml::table* table : tables_in(file->root, "attention")) {
    Result<std::optional<Attends>> made = attention_of(*file, *table, chip, catalog);
    if (!made) return made.error();
    if (*made) rates.attention_.push_back(std::move(**made));
  }
  return rates;
}

Result<Rates> Rates::make(const Chip& chip, const Catalog& catalog) {
  for (const CatalogFile& file : catalog_files()) {
    if (file.path == kRatesFile)
      return parse(file.text, "catalog/" + std::string(kRatesFile), chip, catalog);
  }
  return Diagnostic{ErrorCode::kBadInput, std::string(kRatesFile), "is not built in", "rebuild"};
}

std::optional<Streaming> Rates::streaming(std::string_view kernel) const {
  const auto has = [kernel](const std::string& word) {
    return kernel.find(word) != std::string_view::npos;
  };
  for (const Class& one : classes_) {
    if (std::all_of(one.with.begin(), one.with.end(), has) &&
        std::none_of(one.without.begin(), one.without.end(), has))
      return one.streaming;
  }
  return std::nullopt;
}

std::optional<AttentionRate> Rates::attention(std::string_view signature) const {
  for (const Attends& one : attention_) {
    if (signature.find(one.kernel) != std::string_view::npos) return one.rate;
  }
  return std::nullopt;
}

}  // namespace flopcast::live
