#include "base/text/format.h"

#include <fmt/format.h>

#include <cmath>

#include "base/numeric/clock.h"
#include "base/text/amounts.h"

namespace flopcast {
namespace {

constexpr std::int64_t kPsPerSecond = 1'000'000'000'000;

/// Of microseconds, which may be more than a Time holds.
std::string short_time_of(double us) {
  const double size = std::abs(us);
  if (size < 0.5e-6) return "0";
  if (size < 0.5e-3) return fmt::format("{:.0f} ps", us * 1e6);
  if (size < 0.9995) return fmt::format("{:.0f} ns", us * 1e3);
  if (size < 999.5) return fmt::format("{:.1f} us", us);
  if (size < 999.5e3) return fmt::format("{:.2f} ms", us * 1e-3);
  return size < 1e13 ? fmt::format("{:.2f} s", us * 1e-6) : fmt::format("{:.3g} s", us * 1e-6);
}

}  // namespace

std::string exact_seconds(Time time) {
  // Unsigned, so that the smallest time has a magnitude too.
  const auto magnitude =
      time.ps < 0 ? 0 - static_cast<std::uint64_t>(time.ps) : static_cast<std::uint64_t>(time.ps);
  std::string text = fmt::format("{}{}.{:012}", time.ps < 0 ? "-" : "", magnitude / kPsPerSecond,
                                 magnitude % kPsPerSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string exact_number(double value) { return fmt::format("{}", value == 0 ? 0.0 : value); }

std::string exact_ratio(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value == 0 ? 0.0 : value) : "null";
}

std::string in_ms(Time time) { return fmt::format("{:.3f}", time.us() * 1e-3); }

std::string short_time(Time time) { return short_time_of(time.us()); }

std::string short_time(Seconds time) {
  const Time on = on_clock(time);
  return fits_clock(on) ? short_time(on) : short_time_of(time.value * 1e6);
}

std::string short_rate(BytesPerSecond rate) { return short_bytes(Bytes{rate.value}) + "/s"; }

std::string signed_percent(std::optional<double> ratio) {
  if (!ratio) return "-";
  const double value = *ratio * 100;
  return fmt::format("{:+.2f} %", std::abs(value) < 0.005 ? 0.0 : value);
}

std::string percent(double ratio) { return fmt::format("{:.1f} %", ratio * 100); }

std::string grouped(std::uint64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string short_bytes(std::int64_t bytes) {
  return short_bytes(Bytes{static_cast<double>(bytes)});
}

double share(Time part, Time whole) {
  return whole.ps == 0 ? 0.0 : static_cast<double>(part.ps) / static_cast<double>(whole.ps);
}

std::optional<double> relative_error(Time measured, Time replayed) {
  if (measured.ps <= 0) return std::nullopt;
  return static_cast<double>(replayed.ps - measured.ps) / static_cast<double>(measured.ps);
}

}  // namespace flopcast
