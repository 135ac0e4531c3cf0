#include "live/standin/triton/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace flopcast::live::triton {
namespace {

// --- Functions ----------------------------------------------------------------------------------

double reciprocal_root(double x) { return 1 / std::sqrt(x); }
double reciprocal_cube_root(double x) { return 1 / std::cbrt(x); }
double ten_to(double x) { return std::pow(10, x); }
double of_pi_sine(double x) { return std::sin(std::numbers::pi * x); }
double of_pi_cosine(double x) { return std::cos(std::numbers::pi * x); }
double is_nan(double x) { return std::isnan(x) ? 1 : 0; }
double is_infinite(double x) { return std::isinf(x) ? 1 : 0; }
double is_finite(double x) { return std::isfinite(x) ? 1 : 0; }
double is_negative(double x) { return std::signbit(x) ? 1 : 0; }
double bits_of_exponent(double x) { return std::logb(x); }
double negative(double x) { return -x; }
double itself(double x) { return x; }
double held_to_one(double x) { return std::isnan(x) ? 0 : std::clamp(x, 0.0, 1.0); }
double normal_up_to(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double scaled_complement(double x) { return std::exp(x * x) * std::erfc(x); }

/// By Newton's method on a first guess by Winitzki's formula.
double inverse_error(double x) {
  if (!(std::fabs(x) < 1)) {
    if (std::fabs(x) == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
    return std::numeric_limits<double>::quiet_NaN();
  }
  constexpr double kA = 0.147;
  const double logarithm = std::log1p(-x * x);
  const double half = 2 / (std::numbers::pi * kA) + logarithm / 2;
  double y = std::copysign(std::sqrt(std::sqrt(half * half - logarithm / kA) - half), x);
  for (int i = 0; i < 4; ++i) {
    const double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-y * y);
    if (!(slope > 0)) break;
    const double step = (std::erf(y) - x) / slope;
    y -= step / (1 + y * step);
  }
  return y;
}
double inverse_complement(double x) { return inverse_error(1 - x); }
double inverse_normal(double x) { return -std::numbers::sqrt2 * inverse_error(1 - 2 * x); }
double bessel_i0(double x) { return std::cyl_bessel_i(0.0, std::fabs(x)); }
double bessel_i1(double x) { return std::copysign(std::cyl_bessel_i(1.0, std::fabs(x)), x); }

double larger_or_nan(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return std::max(a, b);
}
double smaller_or_nan(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  return std::min(a, b);
}
double sum(double a, double b) { return a + b; }
double difference(double a, double b) { return a - b; }
double product(double a, double b) { return a * b; }
double quotient(double a, double b) { return a / b; }
double scaled_by_power(double a, double b) {
  if (std::isnan(b)) return b;
  return std::ldexp(a, static_cast<int>(std::clamp(b, -5000.0, 5000.0)));
}

double multiplied_and_added(double a, double b, double c) { return std::fma(a, b, c); }
double length_of_three(double a, double b, double c) { return std::hypot(a, b, c); }

struct Function {
  std::string_view name;
  double (*one)(double) = nullptr;
  double (*two)(double, double) = nullptr;
  double (*three)(double, double, double) = nullptr;
};

/// By their names in the dialects "arith" and "math", or in CUDA's libdevice without "__nv_" and the "f" of single precision.
constexpr Function kFunctions[] = {
    {"exp", std::exp},
    {"exp2", std::exp2},
    {"exp10", ten_to},
    {"expm1", std::expm1},
    {"log", std::log},
    {"log2", std::log2},
    {"log10", std::log10},
    {"log1p", std::log1p},
    {"logb", bits_of_exponent},
    {"ilogb", bits_of_exponent},
    {"sqrt", std::sqrt},
    {"sqrt_rn", std::sqrt},
    {"precise_sqrt", std::sqrt},
    {"rsqrt", reciprocal_root},
    {"rsqrt_rn", reciprocal_root},
    {"cbrt", std::cbrt},
    {"rcbrt", reciprocal_cube_root},
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"sinpi", of_pi_sine},
    {"cospi", of_pi_cosine},
    {"asin", std::asin},
    {"acos", std::acos},
    {"atan", std::atan},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"tanh", std::tanh},
    {"asinh", std::asinh},
    {"acosh", std::acosh},
    {"atanh", std::atanh},
    {"erf", std::erf},
    {"erfc", std::erfc},
    {"erfcx", scaled_complement},
    {"erfinv", inverse_error},
    {"erfcinv", inverse_complement},
    {"normcdf", normal_up_to},
    {"normcdfinv", inverse_normal},
    {"tgamma", std::tgamma},
    {"lgamma", std::lgamma},
    {"j0", ::j0},
    {"j1", ::j1},
    {"y0", ::y0},
    {"y1", ::y1},
    {"cyl_bessel_i0", bessel_i0},
    {"cyl_bessel_i1", bessel_i1},
    {"floor", std::floor},
    {"ceil", std::ceil},
    {"trunc", std::trunc},
    {"round", std::round},
    {"llround", std::round},
    {"rint", std::nearbyint},
    {"llrint", std::nearbyint},
    {"nearbyint", std::nearbyint},
    {"roundeven", std::nearbyint},
    {"abs", std::fabs},
    {"fabs", std::fabs},
    {"absf", std::fabs},
    {"negf", negative},
    {"truncf", itself},
    {"extf", itself},
    {"fp_to_fp", itself},
    {"saturate", held_to_one},
    {"isnan", is_nan},
    {"isinf", is_infinite},
    {"finite", is_finite},
    {"isfinite", is_finite},
    {"signbit", is_negative},
    {"addf", nullptr, sum},
    {"subf", nullptr, difference},
    {"mulf", nullptr, product},
    {"divf", nullptr, quotient},
    {"precise_divf", nullptr, quotient},
    {"approx_divf", nullptr, quotient},
    {"fdiv_rn", nullptr, quotient},
    {"div_rn", nullptr, quotient},
    {"fdivide", nullptr, quotient},
    {"fadd_rn", nullptr, sum},
    {"fsub_rn", nullptr, difference},
    {"fmul_rn", nullptr, product},
    {"remf", nullptr, std::fmod},
    {"fmod", nullptr, std::fmod},
    {"remainder", nullptr, std::remainder},
    {"maximumf", nullptr, larger_or_nan},
    {"minimumf", nullptr, smaller_or_nan},
    {"maxnumf", nullptr, std::fmax},
    {"minnumf", nullptr, std::fmin},
    {"fmax", nullptr, std::fmax},
    {"fmin", nullptr, std::fmin},
    {"pow", nullptr, std::pow},
    {"powf", nullptr, std::pow},
    {"powi", nullptr, std::pow},
    {"fpowi", nullptr, std::pow},
    {"atan2", nullptr, std::atan2},
    {"hypot", nullptr, std::hypot},
    {"copysign", nullptr, std::copysign},
    {"nextafter", nullptr, std::nextafter},
    {"fdim", nullptr, std::fdim},
    {"ldexp", nullptr, scaled_by_power},
    {"scalbn", nullptr, scaled_by_power},
    {"fma", nullptr, nullptr, multiplied_and_added},
    {"fma_rn", nullptr, nullptr, multiplied_and_added},
    {"norm3d", nullptr, nullptr, length_of_three},
};

const Function* function_named(std::string_view name) {
  for (const Function& one : kFunctions)
    if (one.name == name) return &one;
  return nullptr;
}

/// "symbol = "__nv_fast_expf"" is expf.
std::string_view symbol_of_device(std::string_view text) {
  constexpr std::string_view kSymbol = "symbol = \"__nv_";
  const std::size_t at = text.find(kSymbol);
  if (at == text.npos) return {};
  std::string_view name = text.substr(at + kSymbol.size());
  name = name.substr(0, name.find('"'));
  if (name.starts_with("fast_")) name.remove_prefix(5);
  return name;
}

// --- Integers -----------------------------------------------------------------------------------

using Integers = std::int64_t (*)(std::int64_t, std::int64_t, unsigned);
constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();

std::int64_t of_natural(std::uint64_t value) { return static_cast<std::int64_t>(value); }
/// Sums and products wrap.
std::int64_t added(std::int64_t a, std::int64_t b, unsigned) {
  return of_natural(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t taken_off(std::int64_t a, std::int64_t b, unsigned) {
  return of_natural(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t times(std::int64_t a, std::int64_t b, unsigned) {
  return of_natural(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
/// By zero a GPU's quotient is all ones.
std::int64_t quotient_of(std::int64_t a, std::int64_t b, unsigned) {
  if (b == 0) return -1;
  return b == -1 ? taken_off(0, a, 64) : a / b;
}
std::int64_t rest_of(std::int64_t a, std::int64_t b, unsigned) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}
std::int64_t natural_quotient(std::int64_t a, std::int64_t b, unsigned bits) {
  return b == 0 ? -1 : of_natural(natural(a, bits) / natural(b, bits));
}
std::int64_t natural_rest(std::int64_t a, std::int64_t b, unsigned bits) {
  return b == 0 ? a : of_natural(natural(a, bits) % natural(b, bits));
}
std::int64_t quotient_below(std::int64_t a, std::int64_t b, unsigned bits) {
  const bool rests = rest_of(a, b, bits) != 0;
  return quotient_of(a, b, bits) - (b != 0 && rests && (a < 0) != (b < 0) ? 1 : 0);
}
std::int64_t quotient_above(std::int64_t a, std::int64_t b, unsigned bits) {
  const bool rests = rest_of(a, b, bits) != 0;
  return quotient_of(a, b, bits) + (b != 0 && rests && (a < 0) == (b < 0) ? 1 : 0);
}
std::int64_t natural_quotient_above(std::int64_t a, std::int64_t b, unsigned bits) {
  return natural_quotient(a, b, bits) + (b != 0 && natural_rest(a, b, bits) != 0 ? 1 : 0);
}
std::int64_t least(std::int64_t a, std::int64_t b, unsigned) { return std::min(a, b); }
std::int64_t most(std::int64_t a, std::int64_t b, unsigned) { return std::max(a, b); }
std::int64_t natural_least(std::int64_t a, std::int64_t b, unsigned bits) {
  return natural(a, bits) < natural(b, bits) ? a : b;
}
std::int64_t natural_most(std::int64_t a, std::int64_t b, unsigned bits) {
  return natural(a, bits) > natural(b, bits) ? a : b;
}
std::int64_t bits_of_both(std::int64_t a, std::int64_t b, unsigned) { return a & b; }
std::int64_t bits_of_either(std::int64_t a, std::int64_t b, unsigned) { return a | b; }
std::int64_t bits_that_differ(std::int64_t a, std::int64_t b, unsigned) { return a ^ b; }
std::int64_t moved_up(std::int64_t a, std::int64_t b, unsigned bits) {
  const std::uint64_t by = natural(b, bits);
  return by >= bits ? 0 : of_natural(static_cast<std::uint64_t>(a) << by);
}
std::int64_t moved_down(std::int64_t a, std::int64_t b, unsigned bits) {
  return a >> std::min<std::uint64_t>(natural(b, bits), 63);
}
std::int64_t natural_moved_down(std::int64_t a, std::int64_t b, unsigned bits) {
  const std::uint64_t by = natural(b, bits);
  return by >= bits ? 0 : of_natural(natural(a, bits) >> by);
}
__extension__ using Wide = unsigned __int128;
std::int64_t upper_half(std::int64_t a, std::int64_t b, unsigned bits) {
  return of_natural(
      static_cast<std::uint64_t>(Wide{natural(a, bits)} * Wide{natural(b, bits)} >> bits));
}
__extension__ using SignedWide = __int128;
std::int64_t signed_upper_half(std::int64_t a, std::int64_t b, unsigned bits) {
  return static_cast<std::int64_t>(SignedWide{a} * SignedWide{b} >> bits);
}

struct IntegerFunction {
  std::string_view name;
  Integers of;
};
constexpr IntegerFunction kIntegerFunctions[] = {
    {"addi", added},
    {"subi", taken_off},
    {"muli", times},
    {"divsi", quotient_of},
    {"divui", natural_quotient},
    {"floordivsi", quotient_below},
    {"ceildivsi", quotient_above},
    {"ceildivui", natural_quotient_above},
    {"remsi", rest_of},
    {"remui", natural_rest},
    {"minsi", least},
    {"minui", natural_least},
    {"maxsi", most},
    {"maxui", natural_most},
    {"andi", bits_of_both},
    {"ori", bits_of_either},
    {"xori", bits_that_differ},
    {"shli", moved_up},
    {"shrsi", moved_down},
    {"shrui", natural_moved_down},
    {"mulhiui", upper_half},
    {"umulhi", upper_half},
    {"mulhi", signed_upper_half},
};
Integers integers_named(std::string_view name) {
  for (const IntegerFunction& one : kIntegerFunctions)
    if (one.name == name) return one.of;
  return nullptr;
}

std::optional<std::int64_t> of_one_integer(std::string_view name, std::int64_t a, unsigned bits) {
  const std::uint64_t plain = natural(a, bits);
  if (name == "absi" || name == "abs" || name == "llabs") return a < 0 ? taken_off(0, a, 64) : a;
  if (name == "ctpop" || name == "popc" || name == "popcll") return std::popcount(plain);
  if (name == "ctlz" || name == "clz" || name == "clzll")
    return std::countl_zero(plain) - static_cast<int>(64 - bits);
  if (name == "cttz") return plain == 0 ? bits : static_cast<unsigned>(std::countr_zero(plain));
  return std::nullopt;
}

// --- Comparisons --------------------------------------------------------------------------------

bool holds(std::string_view how, bool less, bool same) {
  if (how == "eq") return same;
  if (how == "ne") return !same;
  if (how == "lt") return less;
  if (how == "le") return less || same;
  if (how == "gt") return !less && !same;
  if (how == "ge") return !less;
  throw Refusal("a comparison " + std::string(how));
}

bool compared_numbers(std::string_view how, double a, double b) {
  if (how == "true") return true;
  if (how == "false") return false;
  const bool unordered = std::isnan(a) || std::isnan(b);
  if (how == "ord") return !unordered;
  if (how == "uno") return unordered;
  if (unordered) return how.starts_with('u');
  return holds(how.substr(1), a < b, a == b);
}

bool compared_integers(std::string_view how, std::int64_t a, std::int64_t b, unsigned bits) {
  if (how == "eq" || how == "ne") return (a == b) == (how == "eq");
  if (how.starts_with('u')) {
    const std::uint64_t x = natural(a, bits), y = natural(b, bits);
    return holds(how.substr(1), x < y, x == y);
  }
  // A bit with a sign is 0 or -1.
  if (bits == 1) std::swap(a, b);
  return holds(how.substr(1), a < b, a == b);
}

std::string_view first_word(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_first_of(", "));
}

// --- Elements -----------------------------------------------------------------------------------

const Format& format(const Type& type) {
  const Format* const known = format_of(type);
  if (!known) throw Refusal("numbers of type " + type.element);
  return *known;
}

/// Operands side by side.
class Lines {
 public:
  explicit Lines(const std::vector<const Array*>& in) : in_(in) {
    if (in.empty()) throw Refusal("an operation of nothing");
    shaped_ = in.front();
    for (const Array* const one : in)
      if (one->words.size() > shaped_->words.size() ||
          one->type.shape.size() > shaped_->type.shape.size())
        shaped_ = one;
    for (const Array* const one : in)
      if (one->words.size() != 1 && one->words.size() != shaped_->words.size())
        throw Refusal("shapes that differ");
  }
  std::int64_t word(std::size_t operand, std::size_t i) const {
    const std::vector<std::int64_t>& words = in_[operand]->words;
    return words[words.size() == 1 ? 0 : i];
  }
  template <typename Of>
  Array make(const Type& element, Of&& of) const {
    Type type = element;
    type.shape = shaped_->type.shape;
    Array made(std::move(type), std::vector<std::int64_t>(shaped_->words.size()));
    for (std::size_t i = 0; i < made.words.size(); ++i) made.words[i] = of(i);
    return made;
  }

 private:
  const std::vector<const Array*>& in_;
  const Array* shaped_;
};

/// A number as a double, whatever its type.
double as_double(std::int64_t word, const Format& of) {
  return of.floats ? double_of(word) : static_cast<double>(word);
}
/// Toward zero, and to the nearest that there is; NaN is 0.
std::int64_t as_integer(double value, unsigned bits, bool with_sign) {
  if (std::isnan(value)) return 0;
  const double end = std::ldexp(1.0, static_cast<int>(with_sign ? bits - 1 : bits));
  const double whole = std::trunc(value);
  if (bits == 1) return whole != 0 ? 1 : 0;
  if (with_sign && whole < -end) return wrapped(kLowest >> (64 - bits), bits);
  if (!with_sign && whole <= 0) return 0;
  if (whole >= end) {
    const std::uint64_t ones = ~std::uint64_t{0} >> (64 - bits);
    return wrapped(of_natural(with_sign ? ones >> 1 : ones), bits);
  }
  if (with_sign) return static_cast<std::int64_t>(whole);
  return wrapped(of_natural(static_cast<std::uint64_t>(whole)), bits);
}
std::int64_t as_word(double value, const Format& of) {
  return of.floats ? word_of(rounded(value, of)) : as_integer(value, of.bits, true);
}

Array apply(const Function& function, const std::vector<const Array*>& in, const Type& result) {
  const Lines rows(in);
  const Format& to = format(result);
  std::vector<const Format*> from;
  for (const Array* const one : in) from.push_back(&format(one->type));
  const auto at = [&](std::size_t operand, std::size_t i) {
    return as_double(rows.word(operand, i), *from[operand]);
  };
  if (in.size() == 1 && function.one)
    return rows.make(result, [&](std::size_t i) { return as_word(function.one(at(0, i)), to); });
  if (in.size() == 2 && function.two)
    return rows.make(result,
                     [&](std::size_t i) { return as_word(function.two(at(0, i), at(1, i)), to); });
  if (in.size() == 3 && function.three)
    return rows.make(result, [&](std::size_t i) {
      return as_word(function.three(at(0, i), at(1, i), at(2, i)), to);
    });
  throw Refusal(std::string(function.name) + " of so many operands");
}

Array clamped(const std::vector<const Array*>& in, bool keeps_nan) {
  const Lines rows(in);
  return rows.make(in.front()->type, [&](std::size_t i) {
    const double x = double_of(rows.word(0, i)), low = double_of(rows.word(1, i)),
                 high = double_of(rows.word(2, i));
    if (keeps_nan && std::isnan(x)) return word_of(x);
    return word_of(std::fmin(std::fmax(x, low), high));
  });
}

/// Between integers, and between them and floating-point numbers.
std::optional<Array> converted(std::string_view name, const std::vector<const Array*>& in,
                               const Type& result) {
  const Lines rows(in);
  const Format &from = format(in.front()->type), &to = format(result);
  const auto make = [&](auto&& of) {
    return rows.make(result, [&](std::size_t i) { return of(rows.word(0, i)); });
  };
  const auto with_sign = [&](std::int64_t word) { return from.bits == 1 ? -word : word; };
  if (name == "extsi" || name == "index_cast" || name == "trunci")
    return make([&](std::int64_t word) { return wrapped(with_sign(word), to.bits); });
  if (name == "extui" || name == "index_castui")
    return make(
        [&](std::int64_t word) { return wrapped(of_natural(natural(word, from.bits)), to.bits); });
  if (name == "sitofp")
    return make([&](std::int64_t word) {
      return word_of(rounded(static_cast<double>(with_sign(word)), to));
    });
  if (name == "uitofp")
    return make([&](std::int64_t word) {
      return word_of(rounded(static_cast<double>(natural(word, from.bits)), to));
    });
  if (name == "fptosi" || name == "fptoui")
    return make(
        [&](std::int64_t word) { return as_integer(double_of(word), to.bits, name == "fptosi"); });
  if (name == "bitcast" || name == "int_to_ptr" || name == "ptr_to_int") {
    if (from.bits != to.bits) throw Refusal("a cast of bits that are more or fewer");
    return make([&](std::int64_t word) { return word_of_bits(bits_of_word(word, from), to); });
  }
  return std::nullopt;
}

Array chosen(const std::vector<const Array*>& in) {
  const Lines rows(in);
  return rows.make(in[1]->type,
                   [&](std::size_t i) { return rows.word(rows.word(0, i) != 0 ? 1 : 2, i); });
}

Array compared_elements(const Operation& op, const std::vector<const Array*>& in) {
  const Lines rows(in);
  const Format& of = format(in.front()->type);
  const std::string_view how = first_word(op.text);
  return rows.make(element_type("i1"), [&](std::size_t i) -> std::int64_t {
    const std::int64_t a = rows.word(0, i), b = rows.word(1, i);
    return of.floats ? compared_numbers(how, double_of(a), double_of(b))
                     : compared_integers(how, a, b, of.bits);
  });
}

std::optional<Array> of_integers(std::string_view name, const std::vector<const Array*>& in,
                                 const Type& result) {
  const Lines rows(in);
  const Format &of = format(in.front()->type), &to = format(result);
  if (of.floats) return std::nullopt;
  if (in.size() == 1 && of_one_integer(name, 0, of.bits))
    return rows.make(result, [&](std::size_t i) {
      return wrapped(*of_one_integer(name, rows.word(0, i), of.bits), to.bits);
    });
  const Integers combined = in.size() == 2 ? integers_named(name) : nullptr;
  if (!combined) return std::nullopt;
  return rows.make(result, [&](std::size_t i) {
    return wrapped(combined(rows.word(0, i), rows.word(1, i), of.bits), to.bits);
  });
}

/// Both halves of a product, or a sum and what it carries.
std::vector<Array> extended(std::string_view name, const std::vector<const Array*>& in) {
  const Lines rows(in);
  const Type& type = in.front()->type;
  const unsigned bits = format(type).bits;
  const auto make = [&](const Type& of, Integers function) {
    return rows.make(of, [&](std::size_t i) {
      return wrapped(function(rows.word(0, i), rows.word(1, i), bits), bits);
    });
  };
  if (name == "mului_extended") return {make(type, times), make(type, upper_half)};
  if (name == "mulsi_extended") return {make(type, times), make(type, signed_upper_half)};
  if (name != "addui_extended") return {};
  const auto carried = [&](std::size_t i) -> std::int64_t {
    const std::uint64_t a = natural(rows.word(0, i), bits), b = natural(rows.word(1, i), bits);
    return natural(of_natural(a + b), bits) < a;
  };
  return {make(type, added), rows.make(element_type("i1"), carried)};
}

std::optional<Array> named(std::string_view name, const std::vector<const Array*>& in,
                           const Type& result) {
  if (auto made = of_integers(name, in, result)) return made;
  const Function* const function = function_named(name);
  return function ? std::optional(apply(*function, in, result)) : std::nullopt;
}

/// A function of CUDA's libdevice; those of single precision end in f, questions about doubles in d.
Array of_device(const Operation& op, const std::vector<const Array*>& in, const Type& result) {
  std::string_view name = symbol_of_device(op.text);
  if (name.ends_with("powf") || name.ends_with("truncf")) name.remove_suffix(1);
  if (auto made = named(name, in, result)) return *made;
  if (name.ends_with('f') || name.ends_with('d')) {
    if (auto made = named(name.substr(0, name.size() - 1), in, result)) return *made;
  }
  throw Refusal("the function " + std::string(name));
}

std::string_view dialect_of(std::string_view name) { return name.substr(0, name.find('.')); }

}  // namespace

bool combine_integers(std::string_view name, std::int64_t a, std::int64_t b, unsigned bits,
                      std::int64_t& out) {
  const Integers of = integers_named(name);
  if (of) out = wrapped(of(a, b, bits), bits);
  return of != nullptr;
}

std::vector<Array> elementwise(const Operation& op, const std::vector<const Array*>& in) {
  if (op.types.empty() || op.results.empty() || in.empty() || !op.regions.empty()) return {};
  const std::string_view dialect = dialect_of(op.name);
  const std::string_view name = std::string_view(op.name).substr(dialect.size() + 1);
  // Of several types one is each operand's.
  const Type& result = op.types.size() > 1 ? in.front()->type : op.types.back();
  if (op.results.size() == 2) return extended(name, in);
  if (op.results.size() != 1) return {};
  if (name == "extern_elementwise") return {of_device(op, in, result)};
  if (dialect != "arith" && dialect != "math" && dialect != "tt") return {};
  if (name == "select" && in.size() == 3) return {chosen(in)};
  if ((name == "cmpi" || name == "cmpf") && in.size() == 2) return {compared_elements(op, in)};
  if (name == "clampf" && in.size() == 3)
    return {clamped(in, op.text.find("propagateNan = all") != op.text.npos)};
  if (auto made = converted(name, in, result)) return {std::move(*made)};
  if (auto made = named(name, in, result)) return {std::move(*made)};
  return {};
}

}  // namespace flopcast::live::triton
