// The problem of one point of a sweep.
#include <fmt/format.h>

#include "base/text/numbers.h"
#include "flopcast/mapping/explore.h"
#include "mapping/explore/names.h"
#include "mapping/system/head.h"

namespace flopcast {

using namespace mapping;  // the room's own names

namespace {

/// Another chip in the same place.
Result<std::string> with_chip(const std::string& on, const std::string& chip,
                              const Catalog& catalog) {
  const Result<mapping::SystemHead> head = mapping::read_system_head(on, catalog);
  if (!head) return head.error();
  if (!head->bare) return fmt::format("{}, chip {}", on, chip);
  return head->count == 0 ? chip : fmt::format("{} x {}", head->count, chip);
}

/// As many chips: of nodes, as many nodes as hold them.
Result<std::string> with_chips(const std::string& on, std::int64_t chips, const Catalog& catalog) {
  const Result<mapping::SystemHead> head = mapping::read_system_head(on, catalog);
  if (!head) return head.error();
  const Result<CountedName> counted = catalog.counted(on);
  if (!counted) return counted.error();
  if (head->bare) return counted->with_count(static_cast<std::uint64_t>(chips));
  const std::int64_t each = head->count / std::max(counted->count, 1U);
  if (chips % each != 0) {
    return Diagnostic{ErrorCode::kUsage, on,
                      fmt::format("{} chips do not fill units of {}", chips, each),
                      fmt::format("use a multiple of {}", each)};
  }
  return counted->with_count(static_cast<std::uint64_t>(chips / each));
}

/// A request as its axes change it, one value after the other.
class Changed {
 public:
  Changed(const ExploreRequest& request, const Catalog& catalog)
      : request_(request), catalog_(catalog) {}

  std::optional<Diagnostic> apply(const std::string& name, const std::string& value) {
    if (name == "chip" || name == "chips") return apply_chip(name, value);
    if (apply_text(name, value) || apply_model(name, value) || apply_count(name, value)) {
      return std::nullopt;
    }
    request_.system.changes.push_back(fmt::format("{}={}", name, value));
    return std::nullopt;
  }

  Result<MappingRequest> make() const {
    Result<DataflowWorkload> workload = load_dataflow(request_.workload, request_.dataflow);
    if (!workload) return workload.error();
    Result<MappingSystem> system = mapping_system(request_.on, request_.system, catalog_);
    if (!system) return system.error();
    return MappingRequest{std::move(*workload), std::move(*system), request_.model,
                          request_.search};
  }

 private:
  std::optional<Diagnostic> apply_chip(const std::string& name, const std::string& value) {
    Result<std::string> on =
        name == "chip" ? with_chip(request_.on, value, catalog_)
                       : with_chips(request_.on, parse_whole(value).value_or(1), catalog_);
    if (!on) return on.error();
    request_.on = std::move(*on);
    return std::nullopt;
  }

  bool apply_text(const std::string& name, const std::string& value) {
    const std::pair<std::string_view, std::string*> fields[] = {
        {"topology", &request_.system.topology},
        {"memory", &request_.system.memory},
        {"link", &request_.system.link},
        {"workload", &request_.workload},
    };
    for (const auto& [key, field] : fields) {
      if (key != name) continue;
      *field = key == "workload" ? value : mapping::with_commas(value);
      return true;
    }
    return false;
  }

  /// The overlap and the utilisation that were asked for outlive another mode.
  bool apply_model(const std::string& name, const std::string& value) {
    MappingModel& model = request_.model;
    if (name == "mode") {
      MappingModel other = mapping::parse_mode(value).value_or(model);
      other.overlap = model.overlap;
      other.utilisation = model.utilisation;
      model = std::move(other);
    } else if (name == "overlap") {
      model.overlap = mapping::parse_overlap(value).value_or(model.overlap);
    } else if (name == "utilisation") {
      const Result<double> share = parse_quantity(value, UnitKind::kNone);
      if (share) model.utilisation = *share;
    } else {
      return false;
    }
    return true;
  }

  bool apply_count(const std::string& name, const std::string& value) {
    const std::optional<std::int64_t> count = parse_whole(value);
    if (!count) return false;
    MappingSearch& search = request_.search;
    for (std::size_t p = 0; p < kParallelisms; ++p) {
      if (name != flopcast::name(static_cast<Parallelism>(p))) continue;
      search.degree[p] = static_cast<unsigned>(*count);
      return true;
    }
    if (name == "partitions") return search.partitions = static_cast<unsigned>(*count), true;
    const std::pair<std::string_view, std::int64_t*> fields[] = {
        {"microbatch", &search.microbatch},
        {"tile", &search.tile},
        {"sequence", &request_.dataflow.sequence},
        {"global-batch", &request_.dataflow.global_batch},
    };
    for (const auto& [key, field] : fields) {
      if (key == name) return *field = *count, true;
    }
    return false;
  }

  ExploreRequest request_;
  const Catalog& catalog_;
};

}  // namespace

Result<MappingRequest> explore_request(const ExploreRequest& request,
                                       std::span<const ExploreAxis> axes, std::size_t point,
                                       const Catalog& catalog) {
  const std::vector<std::string> values = explore_values(axes, point);
  Changed changed(request, catalog);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (auto error = changed.apply(axes[i].name, values[i])) return *error;
  }
  return changed.make();
}

}  // namespace flopcast
