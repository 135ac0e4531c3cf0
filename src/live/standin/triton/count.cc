// Programs of a grid, products, and the sums of all.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "live/standin/triton/counter.h"

namespace flopcast::live::triton {
namespace {

/// Programs of a grid that are followed; of more, so many are spread over it. A prime, so that they meet all columns.
constexpr std::int64_t kFollowed = 251;

/// Words of the engine's signatures, and how many products of tensor cores stand for one.
struct Multiplies {
  std::string_view type;
  int times = 1;
};
std::optional<Multiplies> multiplied_as(std::string_view element, std::string_view text) {
  if (element == "bf16") return Multiplies{"bf16"};
  if (element == "f16") return Multiplies{"fp16"};
  if (element.starts_with("f8")) return Multiplies{"fp8_static"};
  if (element == "i8") return Multiplies{"sq"};
  if (element != "f32") return std::nullopt;
  const auto with = [text](std::string_view how) {
    return text.find("inputPrecision = " + std::string(how)) != text.npos;
  };
  if (with("tf32x3")) return Multiplies{"tf32", 3};
  if (with("bf16x3")) return Multiplies{"bf16", 3};
  if (with("bf16x6")) return Multiplies{"bf16", 6};
  if (with("tf32")) return Multiplies{"tf32"};
  return Multiplies{"fp32"};
}

/// Up to the next blank.
std::string_view word_behind(std::string_view text, std::string_view what) {
  const std::size_t at = text.find(what);
  if (at == text.npos) return {};
  text.remove_prefix(at + what.size());
  return text.substr(0, text.find(' '));
}

std::uint64_t whole_bytes(double bytes) {
  constexpr double kMost = 1e18;
  return static_cast<std::uint64_t>(std::llround(std::min(bytes, kMost)));
}

}  // namespace

LaunchWork Counter::count(const Values& arguments) {
  const auto kernel = program_.functions.find(program_.kernel);
  if (kernel == program_.functions.end() || kernel->second.parameters.size() != arguments.size()) {
    note("its parameters");
    return finish();
  }
  const std::int64_t all = grid_.x * grid_.y * grid_.z;
  const std::int64_t followed = std::min(all, kFollowed);
  follow(kernel->second, arguments, all / 2,
         0);  // finds out which loops memory holds the ends of
  for (std::int64_t i = 0; i < followed && !spent(); ++i) {
    const auto at = static_cast<std::int64_t>(
        (static_cast<double>(i) + 0.5) * static_cast<double>(all) / static_cast<double>(followed));
    follow(kernel->second, arguments, std::min(at, all - 1),
           static_cast<double>(all) / static_cast<double>(followed));
  }
  // The ends of the grid tell how far addresses go.
  if (all > followed) {
    follow(kernel->second, arguments, 0, 0);
    follow(kernel->second, arguments, all - 1, 0);
  }
  return finish();
}

void Counter::follow(const Function& kernel, const Values& arguments, std::int64_t number,
                     double weight) {
  place_[0] = number % grid_.x;
  place_[1] = number / grid_.x % grid_.y;
  place_[2] = number / grid_.x / grid_.y;
  turns_ = 1;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Value& own = value(kernel.parameters[i]);
    own = arguments[i];
    if (kernel.types[i].kind == Type::Kind::kPointer) own.root = root_at(own);
    if (own.descriptor && own.descriptor->base != 0) {
      auto placed = std::make_shared<Descriptor>(*own.descriptor);
      placed->root = root_at(Value::number(placed->base));
      own.descriptor = std::move(placed);
    }
  }
  run_function(kernel, weight);
  for (auto& [op, site] : sites_) {
    if (site.blocks_here > 0)
      site.product.most = std::max(site.product.most, site.here / site.blocks_here);
    site.here = site.blocks_here = 0;
  }
}

void Counter::dot(const Operation& op, double weight) {
  const Value a = operand(op, 0), b = operand(op, 1);
  const auto type =
      op.inputs.size() > 1 ? multiplied_as(op.inputs[0].element, op.text) : std::nullopt;
  const bool shaped = a.rank >= 2 && b.rank == a.rank;
  if (!type || !shaped) {
    note(shaped && !op.inputs.empty() ? "tt.dot of " + op.inputs[0].element : op.name);
    return opaque(op);
  }
  Multiplied sizes{type->type, static_cast<double>(type->times), a.shape[a.rank - 2],
                   b.shape[b.rank - 1], a.shape[a.rank - 1]};
  for (unsigned i = 0; i + 2 < a.rank; ++i) sizes.batch *= static_cast<double>(a.shape[i]);
  multiplied(op, a, b, sizes, weight);
}

/// "tt.dot_scaled %a scale %sa, %b scale %sb, %c lhs = e4m3 rhs = e2m1 {...}": either scale may be missing; of four bits two
/// lie in a byte, along what is summed over unless an attribute says otherwise.
void Counter::scaled_dot(const Operation& op, double weight) {
  const std::string_view text = op.text;
  const std::size_t comma = std::min(text.find(','), text.size());
  const bool scaled = text.substr(0, comma).find(" scale ") != text.npos;
  const Value a = operand(op, 0), b = operand(op, scaled ? 2 : 1);
  const std::string_view left = word_behind(text, "lhs = "), right = word_behind(text, "rhs = ");
  if (left.empty() || right.empty() || a.rank < 2 || b.rank != a.rank) {
    note(op.name);
    return opaque(op);
  }
  const bool halves = left == "e2m1", other_halves = right == "e2m1";
  const auto wide = [](std::string_view type) { return type == "bf16" || type == "fp16"; };
  Multiplied sizes{"fp8_static", 1, a.shape[a.rank - 2], b.shape[b.rank - 1], a.shape[a.rank - 1]};
  if (!around_.scales_blocks() || wide(left) || wide(right)) {
    sizes.type = left == "fp16" || right == "fp16" ? "fp16" : "bf16";
  } else if (halves && other_halves) {
    sizes.type = "nvfp4";
  }
  if (halves) (text.find("lhs_k_pack = false") != text.npos ? sizes.m : sizes.k) *= 2;
  if (other_halves && text.find("rhs_k_pack = false") != text.npos) sizes.n *= 2;
  for (unsigned i = 0; i + 2 < a.rank; ++i) sizes.batch *= static_cast<double>(a.shape[i]);
  multiplied(op, a, b, sizes, weight);
}

void Counter::multiplied(const Operation& op, const Value& a, const Value& b,
                         const Multiplied& sizes, double weight) {
  Site& site = sites_[&op];
  site.product.type = sizes.type;
  site.product.m = sizes.m;
  site.product.n = sizes.n;
  const double summed = weight * sizes.times * sizes.batch * static_cast<double>(sizes.k);
  site.count += summed;
  site.product.blocks += weight / turns_;
  site.here += summed;
  site.blocks_here += weight / turns_;
  using Kind = Product::Kind;
  if (a.of_gradient || b.of_gradient) {
    site.product.kind = Kind::kAttentionBackward;
  } else if (a.of_weights || b.of_weights) {
    site.product.kind = std::max(site.product.kind, Kind::kAttention);
  }
  Value made = Value::unknown(op.types.front().shape);
  made.of_product = true;
  give(op, made);
}

LaunchWork Counter::finish() {
  LaunchWork work;
  work.assumed = assumed_;
  work.operations = operations_;
  double read = read_anywhere_.bytes, written = written_anywhere_.bytes, most = 0;
  const auto elements = [&most](const Reached& reached, double bytes) {
    most = std::max(most, bytes / static_cast<double>(reached.element));
  };
  elements(read_anywhere_, read);
  elements(written_anywhere_, written);
  const auto once = [this](const Root& root, const Reached& reached) {
    double bytes = reached.bytes;
    if (!reached.anywhere && reached.high > reached.low)
      bytes = std::min(bytes, static_cast<double>(reached.high - reached.low));
    if (!root.placed || !(bytes > 0) || reached.low < root.base) return bytes;
    const std::uint64_t left = around_.left(root.base, whole_bytes(std::ceil(bytes)));
    return left > 0 ? std::min(bytes, static_cast<double>(left)) : bytes;
  };
  work.all_writes = written_anywhere_.bytes == 0;
  for (const Root& root : roots_) {
    const double once_read = once(root, root.read), once_written = once(root, root.written);
    read += once_read;
    written += once_written;
    elements(root.read, once_read);
    elements(root.written, once_written);
    if (root.written.bytes > 0) work.written_at.push_back(root.base);
  }
  work.most_elements = whole_bytes(most);
  work.read = whole_bytes(read);
  work.written = whole_bytes(written);
  for (const auto& [op, site] : sites_) {
    Product product = site.product;
    if (!(product.blocks > 0)) continue;
    product.k = site.count / product.blocks;
    work.products.push_back(product);
  }
  for (const auto& [op, rows] : reductions_) {
    if (std::tie(rows.elements, rows.rows) > std::tie(work.rows.elements, work.rows.rows))
      work.rows = rows;
  }
  work.rows.exponentials = exponentials_;
  const auto key = [](const Product& one) {
    return std::tie(one.kind, one.type, one.m, one.n, one.k, one.blocks);
  };
  std::sort(work.products.begin(), work.products.end(),
            [&key](const Product& one, const Product& other) { return key(one) < key(other); });
  for (const std::string& what : unknown_) work.unknown += (work.unknown.empty() ? "" : ",") + what;
  return work;
}

LaunchWork count_work(const Program& program, const Grid& grid, const std::vector<Value>& arguments,
                      Surroundings& surroundings, std::uint64_t most_steps) {
  return Counter(program, grid, surroundings, most_steps).count(arguments);
}

}  // namespace flopcast::live::triton
