#include "hardware/cluster/spoken.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "hardware/entry/catalog_entry.h"

namespace flopcast::hardware {
namespace {

using Words = std::vector<std::string_view>;

template <std::size_t N>
bool is_any(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, name_key(word)) != words.end();
}

constexpr std::array<std::string_view, 14> kNodeWords = {
    "node",  "nodes", "server", "servers", "machine", "machines", "host",
    "hosts", "box",   "boxes",  "system",  "systems", "rack",     "racks"};
constexpr std::array<std::string_view, 8> kChipWords = {
    "gpu", "gpus", "chip", "chips", "accelerator", "accelerators", "card", "cards"};
constexpr std::array<std::string_view, 8> kGlue = {"of",  "with", "on",     "in",
                                                   "and", "a",    "having", "the"};

bool is_sign(std::string_view word) {
  return word == "x" || word == "X" || word == "*" || word == "\xC3\x97";
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Words, with "64x8xH100" and "8xH100" cut at their signs.
Words words_of(std::string_view text) {
  Words words;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ' || text[at] == '\t') {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    const bool sign = end > at && end < text.size() && is_sign(text.substr(end, 1));
    if (sign) {
      words.push_back(text.substr(at, end - at));
      words.push_back(text.substr(end, 1));
      at = end + 1;
      continue;
    }
    end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// Takes words one after the other.
class MachineReader {
 public:
  /// @param may_name whether a number may belong to the name before it: "RTX 4090", and not "H100, 64 nodes"
  bool take(std::string_view word, bool may_name) {
    const bool behind_name = std::exchange(named_, false);
    if (const auto number = parse_whole<unsigned>(word)) {
      if (!behind_name || !may_name) return take_number(*number);
      return take_name(word);
    }
    if (is_sign(word)) return ++signs_ <= 2;
    if (is_any(word, kNodeWords)) return take_nodes();
    if (is_any(word, kChipWords)) return take_chips();
    const std::string key = name_key(word);
    if (key == "per" || key == "a") return per_ = true;
    if (key == "each") return take_each();
    if (is_any(word, kGlue)) return true;
    if (pending_ > 0 && (!out_.name.empty() || out_.named > 0)) return false;
    if (pending_ > 0) out_.named = std::exchange(pending_, 0);
    return take_name(word);
  }
  std::optional<SpokenMachine> finish() {
    if (pending_ > 0 && !take_trailing()) return std::nullopt;
    if (out_.nodes > 0 && out_.named > 0 && out_.per_node == 0) {
      out_.per_node = std::exchange(out_.named, 0);
    }
    if (out_.per_node > 0 && out_.named > 0) return std::nullopt;
    return out_;
  }

 private:
  bool take_name(std::string_view word) {
    out_.name += (out_.name.empty() ? "" : " ") + std::string(word);
    return named_ = true;
  }
  bool take_number(unsigned number) {
    if (number == 0) return false;
    // "64 x 8 H100": so many nodes of so many.
    if (pending_ > 0 && out_.nodes == 0) out_.nodes = std::exchange(pending_, 0);
    if (pending_ > 0) return false;
    pending_ = number;
    return true;
  }
  bool take_nodes() {
    if (std::exchange(per_, false)) return take_each();
    if (pending_ > 0 && out_.nodes > 0) return false;
    if (pending_ > 0) out_.nodes = std::exchange(pending_, 0);
    // "64 DGX H100 nodes": the count stands before the name.
    if (out_.nodes == 0 && out_.named > 0) out_.nodes = std::exchange(out_.named, 0);
    return true;
  }
  bool take_chips() {
    if (pending_ > 0) {
      if (out_.named > 0) return false;
      out_.named = std::exchange(pending_, 0);
    }
    out_.chips = out_.chips || out_.nodes == 0;
    return true;
  }
  /// "8 H100 each", "8 H100 per node".
  bool take_each() {
    if (out_.named == 0 || out_.per_node > 0) return false;
    out_.per_node = std::exchange(out_.named, 0);
    out_.chips = false;
    return true;
  }
  /// "H100 x 512", "H100, 64 nodes of 8".
  bool take_trailing() {
    if (out_.nodes > 0 && out_.per_node == 0 && out_.named == 0) {
      out_.per_node = pending_;
    } else if (signs_ > 0 && out_.named == 0 && out_.nodes == 0) {
      out_.named = pending_;
    } else {
      return false;
    }
    pending_ = 0;
    return true;
  }

  SpokenMachine out_;
  unsigned pending_ = 0, signs_ = 0;
  bool per_ = false;
  bool named_ = false;  ///< the word before is of the name
};

// --- Chips ------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 24> kAdornments = {
    "nvidia", "amd",  "intel", "google", "aws",   "instinct", "tesla", "geforce",
    "gpu",    "gpus", "chip",  "chips",  "card",  "cards",    "sxm",   "sxm2",
    "sxm4",   "sxm5", "oam",   "hbm2",   "hbm2e", "hbm3",     "hbm3e", "accelerators"};

/// "80GB", "80 GB" of a memory.
std::optional<double> gigabytes(std::string_view word) {
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  const std::string unit = name_key(word.substr(digits));
  if (digits == 0 || (unit != "gb" && unit != "g" && unit != "gib")) return std::nullopt;
  return parse_number(word.substr(0, digits));
}

bool has_memory(const Chip& chip, double gigabytes) {
  constexpr double kNear = 0.1;  // a driver's 96 GB are a data sheet's 95.8
  return std::abs(chip.hbm_capacity.value / (gigabytes * 1e9) - 1) < kNear;
}

bool begins_with(const Chip& chip, const std::string& key) {
  return name_key(chip.name).starts_with(key) ||
         std::ranges::any_of(chip.aliases, [&](const std::string& alias) {
           return name_key(alias).starts_with(key);
         });
}

/// "H100s" is many an H100.
const Chip* chip_or_many(std::span<const Chip> chips, const std::string& name) {
  if (const Chip* found = find_entry(chips, name, kItself)) return found;
  if (!name.ends_with('s')) return nullptr;
  return find_entry(chips, name.substr(0, name.size() - 1), kItself);
}

// --- Links ------------------------------------------------------------------------------------------

struct Generation {
  std::string_view family, word;  ///< word: what the generation is called by itself; "": nothing
  double gbit;                    ///< a second and port
  std::string_view link;
};
constexpr std::array<Generation, 9> kLinkWords = {{
    {"InfiniBand", "edr", 100, "edr"},
    {"InfiniBand", "hdr", 200, "hdr"},
    {"InfiniBand", "ndr", 400, "ndr"},
    {"InfiniBand", "xdr", 800, "xdr"},
    {"Ethernet", "", 100, "roce-100"},
    {"Ethernet", "", 200, "roce-200"},
    {"Ethernet", "", 400, "roce-400"},
    {"Ethernet", "", 800, "roce-800"},
    {"Slingshot", "slingshot11", 200, "slingshot-11"},
}};
constexpr std::array<std::string_view, 14> kLinkGlue = {
    "network", "networking", "fabric", "interconnect", "link",  "links", "nic",
    "nics",    "ports",      "port",   "adapters",     "cards", "over",  "at"};

std::string_view family_of(std::string_view key) {
  if (key == "infiniband" || key == "ib") return "InfiniBand";
  if (key == "ethernet" || key == "roce" || key == "rocev2" || key == "gbe") return "Ethernet";
  if (key == "slingshot") return "Slingshot";
  return {};
}

/// Gbit/s of "400G", "400Gb/s", "400GbE", "3.2T"; the word behind it where that is a family's.
struct Rate {
  double gbit = 0;
  std::string_view family;
};
std::optional<Rate> rate_of(std::string_view word) {
  std::string_view rest = word;
  const std::optional<double> number = take_number(rest);
  if (!number || *number <= 0 || rest.empty()) return std::nullopt;
  const double scale = rest.front() == 'T' || rest.front() == 't' ? 1000 : 1;
  const std::string unit = name_key(rest);
  constexpr std::array<std::string_view, 10> kUnits = {"g",      "gb",    "gbit", "gbps", "gb/s",
                                                       "gbit/s", "gbits", "gbe",  "t",    "tb/s"};
  const bool bits = rest.find('B') == rest.npos || unit == "gbe";  // bytes are a link's bandwidth
  if (!bits || std::ranges::find(kUnits, unit) == kUnits.end()) return std::nullopt;
  return Rate{*number * scale, unit == "gbe" ? "Ethernet" : ""};
}

/// Reads the words of a link.
class LinkReader {
 public:
  /// @return false where the word is about something else
  bool take(std::string_view word) {
    const std::string key = name_key(word);
    if (is_sign(word) || is_any(word, kLinkGlue)) return true;
    if (const auto number = parse_whole<unsigned>(word)) {
      ports_seen_ = out_.ports == 0 && *number > 0;
      out_.ports = *number;
      return ports_seen_;
    }
    if (const auto rate = rate_of(word)) {
      if (out_.gbit > 0 && out_.gbit != rate->gbit) return false;
      out_.gbit = rate->gbit;
      return rate->family.empty() || take_family(rate->family);
    }
    if (const std::string_view family = family_of(key); !family.empty()) return take_family(family);
    if (const auto gbit = key.starts_with("roce") ? parse_number(key.substr(4)) : std::nullopt) {
      out_.gbit = *gbit;
      return take_family("Ethernet");
    }
    // "NDR", "HDR200", "XDR800".
    for (const Generation& known : kLinkWords) {
      if (known.word.empty() || !key.starts_with(known.word)) continue;
      const std::string_view behind = std::string_view(key).substr(known.word.size());
      if (!behind.empty() && parse_number(behind) != known.gbit) return false;
      generation_ = &known;
      return take_family(known.family);
    }
    return false;
  }
  SpokenLink finish() {
    if (generation_ != nullptr && out_.gbit == 0) out_.gbit = generation_->gbit;
    std::string near;
    for (const Generation& known : kLinkWords) {
      const bool family = out_.family.empty() || known.family == out_.family;
      if (!family) continue;
      const bool rate = out_.gbit == 0 || known.gbit == out_.gbit;
      if (rate && !out_.family.empty() && out_.gbit > 0 &&
          (generation_ == nullptr || generation_ == &known)) {
        out_.link = known.link;
      }
      if (rate || !out_.family.empty()) {
        near += fmt::format("{}'{}' ({:g}G {})", near.empty() ? "" : ", ", known.link, known.gbit,
                            known.family);
      }
    }
    if (out_.link.empty()) {
      out_.wrong = out_.family.empty() ? fmt::format("{:g}G of what is not said", out_.gbit)
                   : out_.gbit == 0
                       ? fmt::format("{} of what rate is not said", out_.family)
                       : fmt::format("no {} of {:g}G is known", out_.family, out_.gbit);
      out_.hint = near.empty() ? "write it like '400G InfiniBand' or '200G Ethernet'"
                               : "write one of " + near;
    }
    return out_;
  }
  bool said() const { return out_.gbit > 0 || !out_.family.empty(); }

 private:
  bool take_family(std::string_view family) {
    if (!out_.family.empty() && out_.family != family) return false;
    out_.family = family;
    return true;
  }
  SpokenLink out_;
  const Generation* generation_ = nullptr;
  bool ports_seen_ = false;
};

}  // namespace

std::optional<SpokenMachine> spoken_machine(std::string_view text) {
  MachineReader reader;
  const Words words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool of_nodes = i + 1 < words.size() && is_any(words[i + 1], kNodeWords);
    if (!reader.take(words[i], !of_nodes)) return std::nullopt;
  }
  return reader.finish();
}

const Chip* spoken_chip(const Catalog& catalog, std::string_view text) {
  if (const Chip* known = find_entry(catalog.chips(), text, kItself)) return known;
  std::string base;
  double memory = 0;
  const Words words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool apart =
        i + 1 < words.size() && parse_whole<unsigned>(words[i]) && name_key(words[i + 1]) == "gb";
    const std::string word = apart ? fmt::format("{}GB", words[i++]) : std::string(words[i]);
    if (const auto size = gigabytes(word)) {
      memory = *size;
    } else if (!is_any(word, kAdornments)) {
      base += (base.empty() ? "" : " ") + word;
    }
  }
  const Chip* chip = chip_or_many(catalog.chips(), base);
  if (chip == nullptr || memory == 0 || has_memory(*chip, memory)) return chip;
  const std::string key = name_key(base);
  const auto other = std::ranges::find_if(catalog.chips(), [&](const Chip& one) {
    return begins_with(one, key) && has_memory(one, memory);
  });
  return other == catalog.chips().end() ? nullptr : &*other;
}

std::optional<SpokenLink> spoken_link(const Catalog& catalog, std::string_view text) {
  LinkReader reader;
  const Words words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    // "400 Gb/s" is one word more.
    const bool apart = i + 1 < words.size() && parse_number(words[i]) &&
                       rate_of(fmt::format("{}{}", words[i], words[i + 1]));
    const std::string word =
        apart ? fmt::format("{}{}", words[i], words[i + 1]) : std::string(words[i]);
    if (apart) ++i;
    if (!reader.take(word)) return std::nullopt;
  }
  if (!reader.said()) return std::nullopt;
  SpokenLink out = reader.finish();
  if (!out.link.empty() && !catalog.link(out.link)) out.link.clear();
  return out;
}

}  // namespace flopcast::hardware
