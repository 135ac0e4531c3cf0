#include "base/counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/format.h"
#include "base/text/names.h"
#include "base/text/numbers.h"

namespace flopcast {
namespace {

constexpr double kMost = 1e15;

/// A number, the prefix behind it and the word behind that.
struct Written {
  double number = 0;
  int thousands = 0;  ///< 0: no prefix, 1: k, 2: M, 3: G or B, 4: T
  std::string_view unit;
};

std::optional<Written> take_written(std::string_view text) {
  text = trim(text);
  Written out;
  const std::optional<double> number = take_number(text);
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  out.number = *number;
  text = trim(text);
  constexpr std::array<std::string_view, 5> kPrefixes = {"", "kK", "mM", "gGB", "T"};
  const std::string_view behind = text.substr(std::min<std::size_t>(1, text.size()));
  const bool cut = behind.empty() || behind[0] == ' ' || behind[0] == '-' ||
                   behind.starts_with("tok");  // "Mtok"
  for (std::size_t power = 1; !text.empty() && cut && power < kPrefixes.size(); ++power) {
    if (kPrefixes[power].find(text[0]) == std::string_view::npos) continue;
    out.thousands = static_cast<int>(power);
    text = behind;
    break;
  }
  if (text.starts_with('-')) text.remove_prefix(1);
  out.unit = trim(text);
  return out;
}

/// number x base^thousands; nullopt: not whole, or beyond all that is counted.
std::optional<std::int64_t> whole_of(const Written& written, double base) {
  const double value = written.number * std::pow(base, written.thousands);
  if (value > kMost || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

bool is_tokens(std::string_view unit) {
  return unit == "tokens" || unit == "token" || unit == "tok" || unit == "toks";
}
bool is_sequences(std::string_view unit) {
  return unit == "sequences" || unit == "sequence" || unit == "seqs" || unit == "seq" ||
         unit == "samples";
}

std::string grouped_count(std::int64_t count) { return grouped(static_cast<std::uint64_t>(count)); }

constexpr double kBinary = 1024, kDecimal = 1000;

Diagnostic no_batch(std::string_view text) {
  return usage_error(text, "is no batch", "write 1024, 1024 sequences or 16M tokens");
}

}  // namespace

std::optional<std::int64_t> parse_tokens(std::string_view text) {
  const std::optional<Written> written = take_written(text);
  if (!written || (!written->unit.empty() && !is_tokens(written->unit))) return std::nullopt;
  return whole_of(*written, kBinary);
}

std::optional<double> parse_total(std::string_view text) {
  const std::optional<Written> written = take_written(text);
  const bool counts =
      written && (written->unit.empty() || is_tokens(written->unit) || written->unit == "steps");
  if (!counts) return std::nullopt;
  const double total = written->number * std::pow(kDecimal, written->thousands);
  constexpr double kMostOfRun = 1e18;
  return total <= kMostOfRun ? std::optional(total) : std::nullopt;
}

Result<BatchSize> parse_batch(std::string_view text) {
  const std::optional<Written> written = take_written(text);
  if (!written) return no_batch(text);
  const bool plain = written->thousands == 0;
  BatchSize batch;
  batch.text = trim(text);
  if (is_tokens(written->unit) || (written->unit.empty() && written->thousands > 1)) {
    batch.binary = whole_of(*written, kBinary).value_or(0);
    batch.decimal = whole_of(*written, kDecimal).value_or(0);
    if (batch.binary == 0 && batch.decimal == 0) return no_batch(text);
    return batch;
  }
  if (!written->unit.empty() && !is_sequences(written->unit)) return no_batch(text);
  if (!plain) {
    return usage_error(
        batch.text, "may be tokens, or sequences by 1,000 or by 1,024",
        fmt::format("write {:.15g} or {:.15g} for sequences, {:.15g}k tokens for tokens",
                    written->number * std::pow(kDecimal, written->thousands),
                    written->number * std::pow(kBinary, written->thousands), written->number));
  }
  const std::optional<std::int64_t> count = whole_of(*written, 1);
  if (!count || *count < 1) return no_batch(text);
  batch.sequences = *count;
  return batch;
}

Result<CountedBatch> sequences_of(const BatchSize& batch, std::int64_t sequence) {
  if (batch.sequences > 0) return CountedBatch{batch.sequences, ""};
  for (const bool binary : {true, false}) {
    const std::int64_t tokens = binary ? batch.binary : batch.decimal;
    if (tokens < sequence || sequence < 1 || tokens % sequence != 0) continue;
    const std::string_view prefix = batch.binary == batch.decimal ? ""
                                    : binary                      ? " (by 1,024)"
                                                                  : " (by 1,000)";
    return CountedBatch{tokens / sequence,
                        fmt::format("global batch {}: {} tokens{}, {} sequences of {}", batch.text,
                                    grouped_count(tokens), prefix, grouped_count(tokens / sequence),
                                    grouped_count(sequence))};
  }
  const std::int64_t tokens = batch.binary > 0 ? batch.binary : batch.decimal;
  const std::int64_t below = sequence > 0 ? tokens / sequence : 0;
  return usage_error(batch.text,
                     fmt::format("is no whole number of sequences of {} tokens", sequence),
                     fmt::format("give sequences instead, such as {} or {}",
                                 std::max<std::int64_t>(below, 1), below + 1));
}

}  // namespace flopcast
