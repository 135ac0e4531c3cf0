#include "live/engine/pricing/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/numeric/clock.h"
#include "base/text/numbers.h"
#include "live/engine/pricing/device_facts.h"
#include "live/engine/pricing/named_kernels.h"
#include "live/engine/pricing/operator_kernels.h"
#include "live/engine/pricing/told_work.h"

namespace flopcast::live {
namespace {

/// A thread of an element-wise kernel handles a few elements of two or four bytes, and writes what it reads.
constexpr double kBytesPerThread = 16;
/// Seconds. Sizes that make it longer are no program's, and would run over the clock.
constexpr double kLongestKernel = 86400;

/// What a kernel that only moves bytes takes if there are none (the quickest of the recordings of rates.toml).
constexpr double kStreamLaunch = 2e-6;
/// "counted ": what rates.toml knows such kernels by.
constexpr std::size_t kCountedClass = 8;

/// Words from the front.
class Words {
 public:
  explicit Words(std::string_view text) : left_(text) {}
  std::string_view next() {
    const std::size_t end = std::min(left_.find(' '), left_.size());
    const std::string_view word = left_.substr(0, end);
    left_.remove_prefix(std::min(end + 1, left_.size()));
    return word;
  }
  /// A size; one that cannot be read makes the whole signature unreadable.
  std::int64_t size() {
    const auto value = parse_whole(next());
    ok_ = ok_ && value && *value >= 0;
    return value.value_or(0);
  }
  std::string_view rest() const { return left_; }
  bool ok() const { return ok_; }

 private:
  std::string_view left_;
  bool ok_ = true;
};

std::optional<Kernel> gemm_of(Words& words) {
  const auto type = parse_gemm_type(words.next());
  Gemm gemm;
  for (std::int64_t* size : {&gemm.m, &gemm.n, &gemm.k, &gemm.batch}) *size = words.size();
  if (!type || !words.ok()) return std::nullopt;
  gemm.type = *type;
  return gemm;
}

std::optional<Kernel> attention_of(Words& words) {
  const auto type = parse_data_type(words.next());
  Attention attention;
  for (std::int64_t* size : {&attention.batch, &attention.query_length, &attention.kv_length,
                             &attention.heads, &attention.kv_heads, &attention.head_dim})
    *size = words.size();
  attention.causal = words.size() != 0;
  attention.backward = words.size() != 0;
  if (!type || !words.ok()) return std::nullopt;
  attention.type = attention.kv_cache = *type;
  return attention;
}

MemoryBound moves(double read, double written) {
  MemoryBound kernel;
  kernel.rows = 1;
  kernel.columns = std::max<std::int64_t>(1, static_cast<std::int64_t>((read + written) / 4));
  kernel.read = Bytes{read};
  kernel.written = Bytes{written};
  return kernel;
}

std::optional<Kernel> memory_of(Words& words) {
  const std::int64_t read = words.size(), written = words.size();
  if (!words.ok()) return std::nullopt;
  return moves(static_cast<double>(read), static_cast<double>(written));
}

/// What a launch's arguments lead to, by a kernel of which no more is known.
std::optional<Signature> moved_by_arguments(Words& words) {
  const std::int64_t read = words.size(), written = words.size(), behind = words.size();
  if (!words.ok()) return std::nullopt;
  Signature made;
  made.kernel = moves(static_cast<double>(read), static_cast<double>(written));
  made.guessed = true;
  made.name = made.kernel_name = words.rest();
  made.behind = static_cast<double>(behind);
  return made;
}

std::optional<Signature> spin_of(Words& words) {
  const std::int64_t cycles = words.size();
  if (!words.ok()) return std::nullopt;
  Signature made;
  made.kernel = moves(0, 0);
  made.known = true;
  made.name = made.kernel_name = words.rest();
  made.cycles = static_cast<double>(cycles);
  return made;
}

std::optional<Signature> counted_of(std::string_view words, std::string_view signature) {
  auto counted = parse_counted(words);
  if (!counted) return std::nullopt;
  Signature made;
  made.kernel = moves(counted->read, counted->written);
  made.known = counted->complete();
  made.guessed = counted->state != "known";
  made.kernel_name = signature.substr(0, kCountedClass);  // one class, whatever they are called
  made.name = counted->name;
  made.behind = counted->behind;
  if (!made.known) made.lack = "not followed: " + std::string(counted->state);
  made.counted = std::move(counted);
  return made;
}

/// Bytes and products that the table tells of a kernel.
Signature told(const MemoryBound& bytes, std::vector<CountedKernel::Part> products) {
  Signature made;
  made.kernel = bytes;
  made.known = true;
  if (products.empty()) return made;
  made.counted.emplace();
  made.counted->products = std::move(products);
  return made;
}

using Numbers = std::map<std::string, double, std::less<>>;

/// By the kernel's name. @param otherwise what it moves as far as else is known
std::optional<Signature> by_kernel_rule(std::string_view kernel, const OperatorCall* call,
                                        std::uint64_t threads, Moving otherwise,
                                        const OperatorTable& table, const Numbers& arguments = {}) {
  auto found = table.of_kernel(kernel);
  if (!found) return std::nullopt;
  found->numbers.insert(arguments.begin(), arguments.end());
  found->numbers.insert_or_assign("threads", static_cast<double>(threads));
  ToldWork work = told_work(*found->rule, {call, found->numbers}, otherwise);
  Signature made;
  if (work.lack.empty()) {
    MemoryBound bytes = moves(work.read, work.written);
    bytes.op = found->rule->op;
    made = told(bytes, std::move(work.products));
  }
  made.known = work.lack.empty();
  made.guessed = work.assumed || found->rule->read.empty();
  made.kernel_name = made.name = kernel;
  made.lack = std::move(work.lack);
  made.rule = found->name;
  return made;
}

/// Of a kernel whose work nobody knows, what so many threads may move.
Signature by_threads(std::string_view name, std::uint64_t threads) {
  const double bytes = kBytesPerThread * static_cast<double>(std::max<std::uint64_t>(1, threads));
  return {moves(bytes / 2, bytes / 2), false, true, 0, {}, name};
}

Signature only_named(std::string_view name, std::uint64_t threads, const OperatorTable& table,
                     const Numbers& arguments) {
  Signature made = by_threads(name, threads);
  const auto named = named_kernel(name, threads);
  const MemoryBound otherwise = named.value_or(std::get<MemoryBound>(made.kernel));
  const auto own = by_kernel_rule(
      name, nullptr, threads, {otherwise.read.value, otherwise.written.value}, table, arguments);
  if (own && own->known) return *own;
  if (named) return {*named, true, true, 0, name, name};
  if (own) made.lack = own->lack;
  return made;
}

/// Arguments that the kernel's rule asks for.
Signature told_by_arguments(Words& words, std::uint64_t threads, const OperatorTable& table) {
  const std::string_view name = words.next();
  Numbers arguments;
  while (!words.rest().empty()) {
    const std::string_view word = words.next();
    const std::size_t equal = std::min(word.find('='), word.size());
    const auto number = parse_number(word.substr(std::min(equal + 1, word.size())));
    if (number) arguments.insert_or_assign(std::string(word.substr(0, equal)), *number);
  }
  return only_named(name, threads, table, arguments);
}

/// What people see is the operator's name; it lies in the text as it is.
std::optional<Signature> operator_of(std::string_view words, bool beside, std::uint64_t threads,
                                     const OperatorTable& table) {
  const auto call = parse_operator_call(words);
  if (!call) return std::nullopt;
  OperatorWork work = work_of(*call, beside, table);
  Signature made;
  std::optional<Signature> own;
  if (!work.known && !work.rule) {
    const Moving bytes{call->share * (call->read_bytes() - call->changed_bytes()),
                       call->share * call->written_bytes()};
    own = by_kernel_rule(call->kernel, &*call, threads, bytes, table);
  }
  if (own && own->known) {
    made = std::move(*own);
  } else if (const auto* bytes = std::get_if<MemoryBound>(&work.kernel)) {
    made = told(*bytes, std::move(work.products));
    made.known = work.known;
    made.guessed = work.assumed;
    made.rule = work.rule;
    made.lack = own ? own->lack : work.lack;
    made.behind = work.behind;
  } else {
    made.kernel = work.kernel;
    made.known = true;
    made.guessed = work.assumed;
    made.rule = work.rule;
  }
  made.elements = work.elements;
  made.kernel_name = call->kernel;
  made.name = words.substr(0, words.find(' '));
  return made;
}

/// About as many blocks as kernels cut a product into.
double product_blocks(const Kernel& kernel) {
  constexpr double kBlock = 128;
  const auto blocks = [](std::int64_t size) {
    return std::ceil(static_cast<double>(size) / kBlock);
  };
  if (const auto* gemm = std::get_if<Gemm>(&kernel))
    return blocks(gemm->m) * blocks(gemm->n) * static_cast<double>(gemm->batch);
  if (const auto* attention = std::get_if<Attention>(&kernel))
    return blocks(attention->query_length) *
           static_cast<double>(attention->batch * attention->heads);
  return std::holds_alternative<GroupedGemm>(kernel) ? std::numeric_limits<double>::infinity() : 0;
}
double product_blocks(const Signature& read) {
  double all = product_blocks(read.kernel);
  if (!read.counted) return all;
  for (const CountedKernel::Part& part : read.counted->products) all += product_blocks(part.kernel);
  return all;
}

/// Numbers between measured ones are measured as far as people are concerned.
std::string_view word_of(Basis basis) {
  return name(basis == Basis::kTable ? Basis::kMeasured : basis);
}

}  // namespace

Signature parse_signature(std::string_view signature, std::uint64_t threads,
                          const OperatorTable& table) {
  Words words(signature);
  const std::string_view kind = words.next();
  if (kind == "operator" || kind == "beside") {
    if (const auto known = operator_of(words.rest(), kind == "beside", threads, table))
      return *known;
  }
  if (kind == "counted") {
    if (const auto known = counted_of(words.rest(), signature)) return *known;
  }
  if (kind == "spin") {
    if (const auto known = spin_of(words)) return *known;
  }
  if (kind == "arguments") {
    if (const auto known = moved_by_arguments(words)) {
      const auto& bytes = std::get<MemoryBound>(known->kernel);
      const Moving moved{bytes.read.value, bytes.written.value};
      auto own = by_kernel_rule(known->name, nullptr, threads, moved, table);
      if (own && own->known) return *own;
      Signature made = *known;
      if (own) made.lack = own->lack;
      return made;
    }
  }
  if (kind == "told") return told_by_arguments(words, threads, table);
  // Of sequences of several lengths, "packed" by the longest: that is what is known without the operator.
  const bool packed = kind == "packed";
  const auto known = kind == "gemm"                  ? gemm_of(words)
                     : kind == "attention" || packed ? attention_of(words)
                     : kind == "memory"              ? memory_of(words)
                                                     : std::nullopt;
  if (known)
    return {*known, true, packed, 0, words.rest(), words.rest().empty() ? kind : words.rest()};
  if (kind == "kernel") return only_named(words.rest(), threads, table, {});
  return by_threads(signature, threads);
}

KernelTime KernelPrices::attention(const Attention& kernel, std::string_view signature) const {
  KernelTime time = machine_.kernels().time(kernel);
  // A query a sequence reads its keys, however fast products are.
  if (kernel.query_length == 1) return time;
  if (const auto rate = rates_.attention(signature)) {
    time.time.value /= kernel.backward ? rate->backward : rate->forward;
    time.basis = kernel.backward ? rate->basis : std::max(rate->basis, time.basis);
    return time;
  }
  // FlashAttention 2 and CUTLASS, which PyTorch brings along; those of libraries are what was measured.
  const bool own = signature.find("pytorch_flash") != std::string_view::npos ||
                   signature.find("fmha_cutlass") != std::string_view::npos;
  if (own) time.time.value /= std::min(1.0, conditions_.attention_share);
  return time;
}

/// Small ones by the model, which knows launches and caches; large ones move as their class was seen to.
KernelTime KernelPrices::streaming(const MemoryBound& kernel, const Signature& read) const {
  KernelTime time = machine_.kernels().time(kernel);
  const auto known = rates_.streaming(read.kernel_name);
  // Rows that are read once were measured as what they are.
  if (!known || read.guessed || kernel.op == MemoryOp::kSoftmax) return time;
  const double seconds = known->seconds(kernel_bytes(kernel).value, read.elements);
  const bool assumed = time.basis == Basis::kAssumed;
  const double longest = kStreamLaunch + seconds;
  const double seen = std::clamp(time.time.value, assumed ? longest : seconds, longest);
  if (assumed || seen != time.time.value) time.basis = known->basis;
  time.time.value = seen;
  return time;
}

/// Products, bytes and operations run beside each other: as long as what takes longest.
KernelTime KernelPrices::counted(const Signature& read, std::string_view signature) const {
  const CountedKernel& work = *read.counted;
  KernelTime time = work.rows ? machine_.kernels().time(*work.rows)
                              : streaming(std::get<MemoryBound>(read.kernel), read);
  const bool program = signature.starts_with("counted ");
  const bool attends =
      std::any_of(work.products.begin(), work.products.end(),
                  [](const auto& part) { return std::holds_alternative<Attention>(part.kernel); });
  // The model of attention knows what it reads.
  if (attends && !program) time.time = {};
  KernelTime products;
  products.basis = Basis::kMeasured;
  const auto add = [&products](const KernelTime& one, double share) {
    products.time.value += one.time.value * share;
    products.roofline.value += one.roofline.value * share;
    products.basis = std::max(products.basis, one.basis);
  };
  for (const CountedKernel::Part& part : work.products) {
    const auto* attention_part = std::get_if<Attention>(&part.kernel);
    KernelTime one = attention_part ? attention(*attention_part, signature)
                                    : machine_.kernels().time(part.kernel);
    // The rates are those of others' kernels, but where the kernel's own are known.
    const bool own = attention_part && !program && rates_.attention(signature);
    if (!own) one.basis = std::max(one.basis, Basis::kRoofline);
    add(one, part.share);
  }
  products.time.value /= conditions_.power_share;
  if (products.time.value > time.time.value) {
    time.time = products.time;
    time.basis = products.basis;
  }
  const double peak = peak_rate(machine_.cluster().chip, DataType::kFp32).value;
  const double operations = peak > 0 ? work.operations / peak : 0;
  time.roofline.value = std::max({time.roofline.value, products.roofline.value, operations});
  return time;
}

KernelTime KernelPrices::time_of(const Signature& read, std::string_view signature) const {
  if (read.counted) return counted(read, signature);
  if (read.cycles) {
    KernelTime time = machine_.kernels().time(read.kernel);  // the least that any takes
    const double hertz = highest_hertz(machine_.cluster().chip);
    if (hertz > 0) time.time.value = std::max(time.time.value, *read.cycles / hertz);
    time.basis = hertz > 0 ? Basis::kRoofline : Basis::kAssumed;
    return time;
  }
  if (const auto* memory = std::get_if<MemoryBound>(&read.kernel)) return streaming(*memory, read);
  const auto* attends = std::get_if<Attention>(&read.kernel);
  KernelTime time =
      attends != nullptr ? attention(*attends, signature) : machine_.kernels().time(read.kernel);
  time.time.value /= conditions_.power_share;
  return time;
}

KernelPrices::Price KernelPrices::price_of(std::string_view signature,
                                           std::uint64_t threads) const {
  Signature read = parse_signature(signature, threads, table_);
  const KernelTime time = time_of(read, signature);
  Price price;
  // Whatever a rate says, nothing is faster than the chip.
  const double seconds = std::max(time.time.value, time.roofline.value);
  // No number of a hostile size passes the comparison.
  price.time = on_clock({seconds < kLongestKernel ? seconds : kLongestKernel});
  price.basis = !read.known    ? "unknown"
                : read.guessed ? std::string(name(Basis::kAssumed))
                               : std::string(word_of(time.basis));
  price.name = read.name;
  price.unknown = !read.known;
  price.fills = product_blocks(read) >= machine_.cluster().chip.cores;
  price.lack = std::move(read.lack);
  price.rule = read.rule;
  price.behind = std::clamp(read.behind, 0.0, 1e15);
  price.floor = price.time;
  if (price.unknown && price.behind > 0) {
    const KernelTime moved = machine_.kernels().time(moves(price.behind, 0));
    price.floor = std::max(price.time, on_clock(moved.roofline));
  }
  return price;
}

Time KernelPrices::price(std::string_view signature, std::uint64_t threads) {
  const auto [found, first] = prices_.try_emplace({signatures_.intern(signature), threads});
  Price& price = found->second;
  if (first) {
    price = price_of(signature, threads);
    begin_to_count(price);
  }
  const auto count = [&price](Coverage& coverage) {
    ++coverage.kernels;
    coverage.time = sum_on_clock(coverage.time, price.time);
  };
  count(*price.of_basis);
  count(*price.of_name);
  if (price.of_unknown) {
    Unknown& unknown = *price.of_unknown;
    count(unknown.priced);
    unknown.bytes += static_cast<std::uint64_t>(price.behind);
    unknown.floor = sum_on_clock(unknown.floor, price.floor);
  }
  return price.time;
}

void KernelPrices::begin_to_count(Price& price) {
  if (price.rule) matched_.insert(price.rule);
  price.of_basis = &by_basis_[price.basis];
  price.of_name = &by_name_[price.name];
  if (price.unknown)
    price.of_unknown =
        &unknown_[price.lack.empty() ? price.name : price.name + " (" + price.lack + ")"];
}

std::vector<std::string> KernelPrices::unmatched() const {
  std::vector<std::string> all;
  for (const OperatorTable::Own& one : table_.own()) {
    if (matched_.count(one.name) == 0) all.push_back(one.place + ": " + *one.name);
  }
  return all;
}

bool KernelPrices::fills_chip(std::string_view signature, std::uint64_t threads) {
  const auto found = prices_.find({signatures_.intern(signature), threads});
  return found != prices_.end() && found->second.fills;
}

Time KernelPrices::copy_on_chip(std::uint64_t bytes) const {
  Signature copy;
  copy.kernel_name = "Memcpy DtoD";
  const auto moved = static_cast<double>(bytes);
  return on_clock(streaming(moves(moved, moved), copy).time);
}

Time KernelPrices::fill_on_chip(std::uint64_t bytes) const {
  Signature fill;
  fill.kernel_name = "Memset";
  return on_clock(streaming(moves(0, static_cast<double>(bytes)), fill).time);
}

}  // namespace flopcast::live
