// Floor 0: physical quantities from text, as people write them in cluster files and on command
// lines.
//
//   parse_bandwidth("400Gb/s")   is BytesPerSecond{50e9}
//   parse_bandwidth("3us")       is an error: a bandwidth was expected, a time was found
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

/// What a number counts. `kNone`: a plain number; `kWatts`, `kDollars`: no unit, or "W", "USD".
enum class UnitKind : std::uint8_t {
  kNone,
  kBytes,
  kBytesPerSecond,
  kSeconds,
  kFlopsPerSecond,
  kWatts,
  kDollars,
  kHertz,
};
std::string_view unit_name(UnitKind kind);  ///< "B", "B/s", "s", "FLOP/s", "W", "USD", "Hz", ""

/// A finite number that is not negative, in the SI unit of `kind`. The unit may be left out. Bytes
/// are B, bits are b: "50GB/s" is "400Gb/s". SI prefixes are powers of 1000, KiB to PiB of 1024.
Result<double> parse_quantity(std::string_view text, UnitKind kind);

Result<Bytes> parse_bytes(std::string_view text);               ///< "1GB" 1e9, "64MiB", "512"
Result<BytesPerSecond> parse_bandwidth(std::string_view text);  ///< "50GB/s", "400Gb/s", "400Gbps"
Result<Seconds> parse_seconds(
    std::string_view text);  ///< "2us", "1.5 ms", "3e-6", "10min", "50000h", "2 days"

/// What a quantity may be: what is outside of it is a mistaken unit.
struct Limits {
  double least = 0, most = 1.7976931348623157e308;  ///< in the SI unit, both allowed
};
/// What is wrong with the value, which was read from `text`, and how to write it. Nothing where it is within.
std::optional<Diagnostic> outside(const Limits& limits, double value, UnitKind kind,
                                  std::string_view text);

/// A quantity that replaces another, or a factor of it.
struct QuantityChange {
  double value = 1;     ///< in the SI unit, or the factor
  bool factor = false;  ///< whether `value` is one
  /// what becomes of `now`
  double of(double now) const { return factor ? now * value : value; }
};
/// "2x" as a factor, else a quantity of this unit, which must be written unless it is of watts or dollars: 40 may be meant
/// as MB or as a factor. Errors (kUsage): no number above zero; no unit; the unit's.
Result<QuantityChange> parse_change(std::string_view text, UnitKind kind);

/// Four significant digits and a prefix that suits: "3.35 TB/s", "2.5 us". For people.
std::string quantity_text(double value, UnitKind kind);

}  // namespace flopcast
