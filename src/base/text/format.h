// Numbers as text: exact for machines, short for people. Never through the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

/// Seconds as an exact decimal without trailing zeros: 1500 ps is "0.0000000015".
std::string exact_seconds(Time time);
/// The shortest text that reads back as the same number.
std::string exact_number(double value);
/// Nine significant digits, as JSON wants it.
std::string exact_ratio(double value);

/// Milliseconds with three decimals, the unit of every table column of times.
std::string in_ms(Time time);
/// A time with a unit that suits it: "12.3 us", "4.56 ms", "1.20 s".
std::string short_time(Time time);
std::string short_time(Seconds time);
/// "450.0 GB/s"; SI.
std::string short_rate(BytesPerSecond rate);
/// "+0.31 %"; "-" where there is none.
std::string signed_percent(std::optional<double> ratio);
/// "12.3 %".
std::string percent(double ratio);
/// "1,234,567".
std::string grouped(std::uint64_t count);
/// "1 step", "2 steps".
std::string counted(std::uint64_t count, std::string_view noun);
/// "1.5 MB"; SI.
std::string short_bytes(std::int64_t bytes);

/// part / whole, 0 where there is no whole.
double share(Time part, Time whole);
/// (replayed - measured) / measured; none where nothing was measured.
std::optional<double> relative_error(Time measured, Time replayed);

}  // namespace flopcast
