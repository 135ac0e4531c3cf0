#include "whatif/structure/plan/sizes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/numeric/rounded.h"
#include "flopcast/machine.h"
#include "whatif/durations/chip.h"
#include "whatif/structure/recorded/task_shapes.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::kNoIndex;

/// What a dimension of an operator stands for.
enum class Role : std::uint8_t { kTokens, kHidden, kHeads, kFfn, kWords, kOther };
constexpr std::size_t kRoles = 6;

/// A matrix product with roles.
struct Product {
  std::array<std::int64_t, 3> size{};  // m, n, k
  std::array<Role, 3> role{};
};

Diagnostic no_shapes(std::string what) {
  return {ErrorCode::kNoAnswer, "sizes", std::move(what),
          "record with shapes (record_shapes=True)"};
}

class SizeFinder {
 public:
  SizeFinder(const TraceSet& set, const replaying::Recording& recording, const TraceModel& model,
             const Library& library, const NewPlan& plan, const StructureChange& change)
      : set_(set),
        rec_(recording),
        model_(model),
        library_(library),
        plan_(plan),
        change_(change) {}

  Result<Sizes> run() {
    for (const Stretch& stretch : library_.stretches) {
      out_.time.emplace_back(stretch.tasks.size(), 1.0);
      out_.bytes.emplace_back(stretch.tasks.size(), 1.0);
    }
    if (!asked()) return std::move(out_);
    if (auto problem = check_degrees()) return *problem;
    out_.changed = true;
    shapes_.emplace(set_, rec_, model_, library_);
    if (auto problem = find_roles()) return *problem;
    if (auto problem = find_ratios()) return *problem;
    choose_model();
    for (std::uint32_t s = 0; s < library_.stretches.size(); ++s) scale(s);
    return std::move(out_);
  }

 private:
  std::uint32_t before(Dimension d) const { return plan_.before.degree(d); }
  std::uint32_t after(Dimension d) const { return plan_.grid.degree(d); }
  bool differs(Dimension d) const { return before(d) != after(d); }

  bool asked() const {
    return change_.hidden || change_.ffn || change_.heads || change_.sequence ||
           change_.microbatch_size || differs(Dimension::kTensor) || differs(Dimension::kContext) ||
           (change_.ep && *change_.ep != model_.ep) || first_replicas();
  }
  /// Replicas of a run that had one: how much they have to reduce is in the shapes of its layers.
  bool first_replicas() const {
    return before(Dimension::kData) == 1 && after(Dimension::kData) > 1;
  }

  std::optional<Diagnostic> check_degrees() const {
    if (change_.ep && *change_.ep != model_.ep) {
      return Diagnostic{
          ErrorCode::kNoAnswer, "sizes",
          "how tokens are dealt to other numbers of experts on a rank is not recorded",
          "record a run with that many expert-parallel ranks"};
    }
    for (const Dimension d : {Dimension::kTensor, Dimension::kContext}) {
      if (!differs(d) || before(d) > 1) continue;
      const bool tensor = d == Dimension::kTensor;
      return Diagnostic{
          ErrorCode::kNoAnswer, "sizes",
          fmt::format("no collective of {} parallelism was recorded: which ones a layer gets, and "
                      "what they cost the host, is not known",
                      tensor ? "tensor" : "context"),
          fmt::format("record a run with {} 2 or more", tensor ? "tp" : "cp")};
    }
    return std::nullopt;
  }

  // ---- roles ------------------------------------------------------------------------------------

  static bool is_attention(const TaskShape& shape) {
    return kernel_kind(shape.kernel) == KernelKind::kAttention ||
           (shape.known && std::holds_alternative<Attention>(*shape.known));
  }
  static const Gemm* gemm_of(const TaskShape& shape) {
    return shape.known ? std::get_if<Gemm>(&*shape.known) : nullptr;
  }

  std::optional<Diagnostic> find_roles() {
    for (std::uint32_t s = 0; s < library_.stretches.size(); ++s) {
      const StretchKey& key = library_.stretches[s].key;
      if (key.pass == Pass::kForward && key.part == UnitPart::kLayer && !key.bucket) read_layer(s);
    }
    if (products_.empty()) {
      return no_shapes(model_.layers == 0 ? "no layers were found: " + model_.layer_evidence
                                          : "no matrix product of a layer tells its shape");
    }
    for (std::uint32_t s = 0; s < library_.stretches.size(); ++s) {
      const StretchKey& key = library_.stretches[s].key;
      if (key.pass != Pass::kForward || key.part != UnitPart::kAfter) continue;
      for (const TaskShape& shape : (*shapes_)[s]) {
        const Gemm* gemm = gemm_of(shape);
        if (gemm == nullptr || gemm->k != hidden_) continue;
        words_ = gemm->n;
        add(*gemm, {Role::kTokens, Role::kWords, Role::kHidden}, false);
      }
    }
    return std::nullopt;
  }

  void read_layer(std::uint32_t s) {
    const auto& shapes = (*shapes_)[s];
    const auto attention = std::find_if(shapes.begin(), shapes.end(), is_attention);
    if (attention != shapes.end()) read_attention(*attention);
    std::size_t last = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (gemm_of(shapes[i]) != nullptr) last = i;
    }
    ++layers_read_;
    bool joined = false;  // the product after attention has been seen
    const auto at = static_cast<std::size_t>(attention - shapes.begin());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Gemm* gemm = gemm_of(shapes[i]);
      if (gemm == nullptr) continue;
      if (gemm->type == GemmType::kFp32 || gemm->type == GemmType::kTf32) element_bytes_ = 4;
      if (hidden_ == 0) hidden_ = gemm->k;
      if (tokens_ == 0) tokens_ = gemm->m;
      if (at < shapes.size() && i < at) {
        add(*gemm, {Role::kTokens, Role::kHeads, Role::kHidden}, true);
      } else if (at < shapes.size() && !joined) {
        joined = true;
        add(*gemm, {Role::kTokens, Role::kHidden, Role::kHeads}, true);
      } else if (gemm->k == hidden_ && i != last) {
        add(*gemm, {Role::kTokens, Role::kFfn, Role::kHidden}, true);
      } else {
        ffn_ = gemm->k;
        add(*gemm, {Role::kTokens, Role::kHidden, Role::kFfn}, true);
      }
    }
  }

  void add(const Gemm& gemm, std::array<Role, 3> roles, bool of_layer) {
    products_.push_back({{gemm.m, gemm.n, gemm.k}, roles});
    if (!of_layer) return;
    layer_products_.push_back(products_.size() - 1);
    const auto name = [&](std::int64_t size, Role role) { widths_.try_emplace(size, role); };
    name(gemm.n, roles[1]);
    name(gemm.k, roles[2]);
  }

  /// [batch, sequence, heads, width], [batch, heads, sequence, width] or [tokens, heads, width].
  void read_attention(const TaskShape& shape) {
    if (const Attention* known = shape.known ? std::get_if<Attention>(&*shape.known) : nullptr) {
      heads_ = known->heads;
      batch_ = known->batch;
      sequence_ = known->query_length;
    }
    if (shape.inputs.empty()) return;
    const std::vector<std::int64_t>& size = shape.inputs.front().size;
    if (size.size() == 3 && heads_ == 0) {
      heads_ = size[1];
      sequence_ = size[0];
      batch_ = 1;
      out_.assumed = "one sequence a microbatch: shapes tell only tokens";
    }
    attention_ = size;
  }

  // ---- ratios -----------------------------------------------------------------------------------

  double& ratio(Role role) { return ratio_[static_cast<std::size_t>(role)]; }

  std::optional<Diagnostic> find_ratios() {
    // Which of the two middle dimensions counts heads: the tokens tell.
    if (attention_.size() == 4 && attention_[0] * attention_[1] == tokens_) {
      batch_ = attention_[0];
      sequence_ = attention_[1];
      heads_ = attention_[2];
    } else if (attention_.size() == 4 && attention_[0] * attention_[2] == tokens_) {
      batch_ = attention_[0];
      heads_ = attention_[1];
      sequence_ = attention_[2];
    }
    const double tp_ratio =
        static_cast<double>(before(Dimension::kTensor)) / after(Dimension::kTensor);
    const double cp_ratio =
        static_cast<double>(before(Dimension::kContext)) / after(Dimension::kContext);
    if ((change_.heads || change_.sequence || change_.microbatch_size) && heads_ == 0) {
      return no_shapes("no attention kernel tells its heads and its sequence");
    }
    if (change_.ffn && ffn_ == 0) return no_shapes("no product of a feed-forward part was found");
    const auto over = [](const std::optional<std::uint32_t>& asked, double now) {
      return asked && now > 0 ? static_cast<double>(*asked) / now : 1.0;
    };
    const double tp = before(Dimension::kTensor);
    const double longer =
        over(change_.sequence, static_cast<double>(sequence_) * before(Dimension::kContext));
    ratio(Role::kTokens) =
        over(change_.microbatch_size, static_cast<double>(batch_)) * longer * cp_ratio;
    ratio(Role::kHidden) = over(change_.hidden, static_cast<double>(hidden_));
    ratio(Role::kHeads) = over(change_.heads, static_cast<double>(heads_) * tp) * tp_ratio;
    ratio(Role::kFfn) = over(change_.ffn, static_cast<double>(ffn_) * tp) * tp_ratio;
    ratio(Role::kWords) = tp_ratio;
    attended_ = longer;
    if (auto problem = check_shards()) return problem;
    double parameters = 0;
    double changed = 0;
    for (const std::size_t p : layer_products_) {
      const Product& product = products_[p];
      const double size =
          static_cast<double>(product.size[1]) * static_cast<double>(product.size[2]);
      parameters += size;
      changed += size * of(product.role[1]) * of(product.role[2]);
    }
    out_.parameters = parameters > 0 ? changed / parameters : 1;
    // Gradients are reduced in the type that products are computed in: two bytes but for fp32.
    out_.layer_bytes =
        changed * element_bytes_ / static_cast<double>(std::max<std::size_t>(layers_read_, 1));
    return std::nullopt;
  }
  double of(Role role) const { return ratio_[static_cast<std::size_t>(role)]; }

  std::optional<Diagnostic> check_shards() const {
    const std::uint32_t tp = after(Dimension::kTensor);
    const auto check = [&](const char* what, double now,
                           const std::optional<std::uint32_t>& asked) -> std::optional<Diagnostic> {
      const double whole = asked ? *asked : now * before(Dimension::kTensor);
      if (whole == 0 || std::fmod(whole, tp) == 0) return std::nullopt;
      return Diagnostic{ErrorCode::kUsage, "structure",
                        fmt::format("{} {} cannot be cut into {} shards", whole, what, tp),
                        "a multiple of tp"};
    };
    if (auto problem = check("heads", static_cast<double>(heads_), change_.heads)) return problem;
    return check("ffn", static_cast<double>(ffn_), change_.ffn);
  }

  /// The chip's own fits tell how products of other sizes compare.
  void choose_model() {
    for (const Device& device : rec_.ranks.front().trace->devices) {
      const auto chip = chip_of_device(device.name, Catalog::builtin());
      if (!chip) continue;
      Result<Machine> machine = Machine::of(*chip, Catalog::builtin());
      if (!machine) continue;
      machine_ = std::move(*machine);
      out_.chip = chip->name;
      return;
    }
  }

  // ---- kernels ----------------------------------------------------------------------------------

  void scale(std::uint32_t s) {
    const Stretch& stretch = library_.stretches[s];
    if (stretch.key.bucket) {
      for (double& b : out_.bytes[s]) b = out_.parameters;
      return;
    }
    const bool model_work = stretch.key.part != UnitPart::kRest;
    for (std::uint32_t i = 0; i < stretch.tasks.size(); ++i) {
      const StretchTask& task = stretch.tasks[i];
      if (!model_work) continue;
      if (task.communication) {
        out_.bytes[s][i] = bytes_ratio(task);
      } else {
        out_.time[s][i] = time_ratio(s, i, task.time.median());
      }
    }
  }

  double bytes_ratio(const StretchTask& task) const {
    const double tokens = of(Role::kTokens);
    // Keys and values of all heads are what context parallelism gathers: of the whole sequence.
    if (task.group == bit(Dimension::kContext)) {
      return tokens * of(Role::kHeads) * after(Dimension::kContext) / before(Dimension::kContext);
    }
    return tokens * of(Role::kHidden);
  }

  double time_ratio(std::uint32_t s, std::uint32_t i, Time recorded) const {
    const TaskShape& shape = (*shapes_)[s][i];
    if (is_attention(shape)) {
      return with_floor(recorded, of(Role::kTokens) * attended_ * of(Role::kHeads));
    }
    if (const Gemm* gemm = gemm_of(shape)) {
      if (const Product* product = like(*gemm)) return product_ratio(*gemm, *product, recorded);
    }
    if (const auto forward = shapes_->forward_of(s, i)) {
      const TaskShape& other = (*shapes_)[forward->first][forward->second];
      const Gemm* gemm = gemm_of(other);
      const bool product = kernel_kind(shape.kernel) == KernelKind::kGemm;
      if (product && gemm != nullptr) {
        if (const Product* p = like(*gemm)) return product_ratio(*gemm, *p, recorded);
      }
      if (!product && gemm == nullptr) return with_floor(recorded, memory_ratio(other));
    }
    return with_floor(recorded, memory_ratio(shape));
  }

  /// The forward product of these three sizes, in whatever order.
  const Product* like(const Gemm& gemm) const {
    std::array<std::int64_t, 3> size{gemm.m, gemm.n, gemm.k};
    std::sort(size.begin(), size.end());
    for (const Product& product : products_) {
      std::array<std::int64_t, 3> other = product.size;
      std::sort(other.begin(), other.end());
      if (other == size) return &product;
    }
    return nullptr;
  }

  double product_ratio(const Gemm& gemm, const Product& product, Time recorded) const {
    double work = 1;
    for (const Role role : product.role) work *= of(role);
    if (work == 1 || !machine_) return with_floor(recorded, work);
    Gemm grown = gemm;
    std::array<bool, 3> used{};
    for (std::int64_t* size : {&grown.m, &grown.n, &grown.k}) {
      for (std::size_t d = 0; d < 3; ++d) {
        if (used[d] || product.size[d] != *size) continue;
        used[d] = true;
        *size = static_cast<std::int64_t>(
            rounded_whole(static_cast<double>(*size) * of(product.role[d])));
        break;
      }
    }
    const double now = machine_->kernels().time(gemm).time.value;
    const double then = machine_->kernels().time(grown).time.value;
    return now > 0 ? then / now : work;
  }

  /// Of what is bound by memory: tokens times the width of its rows.
  double memory_ratio(const TaskShape& shape) const {
    double work = of(Role::kTokens);
    if (shape.inputs.empty() || shape.inputs.front().size.empty()) {
      return work * of(Role::kHidden);
    }
    const std::vector<std::int64_t>& size = shape.inputs.front().size;
    const std::int64_t last = size.back();
    if (last == hidden_) return work * of(Role::kHidden);
    if (last == words_ && words_ != 0) return work * of(Role::kWords);
    if (const auto it = widths_.find(last); it != widths_.end()) return work * of(it->second);
    // Rows cut into heads.
    if (size.size() >= 3 && heads_ != 0 &&
        std::find(size.begin(), size.end(), heads_) != size.end()) {
      return work * of(Role::kHeads);
    }
    return work;
  }

  /// Part of a kernel's time is launch and start alone.
  double with_floor(Time recorded, double work) const {
    if (recorded <= Time{} || work == 1) return 1;
    const double whole = static_cast<double>(recorded.ps);
    const double fixed = std::min(whole, static_cast<double>(library_.kernel_floor.ps));
    return (fixed + (whole - fixed) * work) / whole;
  }

  const TraceSet& set_;
  const replaying::Recording& rec_;
  const TraceModel& model_;
  const Library& library_;
  const NewPlan& plan_;
  const StructureChange& change_;
  Sizes out_;
  std::optional<TaskShapes> shapes_;  // read once they are needed
  std::vector<Product> products_;
  std::vector<std::size_t> layer_products_;
  std::map<std::int64_t, Role> widths_;
  std::vector<std::int64_t> attention_;
  std::int64_t tokens_ = 0, hidden_ = 0, ffn_ = 0, heads_ = 0, words_ = 0;  // of one rank
  std::int64_t batch_ = 1, sequence_ = 0;
  std::array<double, kRoles> ratio_{1, 1, 1, 1, 1, 1};
  double attended_ = 1;
  double element_bytes_ = 2;
  std::size_t layers_read_ = 0;  // kinds of layers
  std::optional<Machine> machine_;
};

}  // namespace

Result<Sizes> find_sizes(const TraceSet& set, const replaying::Recording& recording,
                         const TraceModel& model, const Library& library, const NewPlan& plan,
                         const StructureChange& change) {
  return SizeFinder(set, recording, model, library, plan, change).run();
}

}  // namespace flopcast::whatif::structure
