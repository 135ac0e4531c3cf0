#include "published/subramanian/case_input.h"

#include <utility>

namespace flopcast::published {
namespace {

using Json = nlohmann::json;

const Json& empty_object() {
  static const Json none = Json::object();
  return none;
}
const Json& empty_array() {
  static const Json none = Json::array();
  return none;
}

PaperSystem::Network read_network(const Fields& system, const char* bandwidth,
                                  const char* efficiency, const char* latency) {
  return {.bandwidth = {system.number(bandwidth) * 1e9},
          .efficiency = system.number(efficiency),
          .latency = {system.number(latency)}};
}

}  // namespace

bool Fields::has(const char* key) const { return json_->is_object() && json_->contains(key); }

const Json* Fields::find(const char* key, bool (*is)(const Json&)) const {
  if (has(key)) {
    const Json& found = (*json_)[key];
    if (is(found)) return &found;
  }
  if (problem_->empty()) *problem_ = std::string(key) + " is missing or of another type";
  return nullptr;
}

Fields Fields::object(const char* key) const {
  const Json* found = find(key, [](const Json& j) { return j.is_object(); });
  return {found != nullptr ? *found : empty_object(), *problem_};
}

const Json& Fields::array(const char* key) const {
  const Json* found = find(key, [](const Json& j) { return j.is_array(); });
  return found != nullptr ? *found : empty_array();
}

double Fields::number(const char* key) const {
  const Json* found = find(key, [](const Json& j) { return j.is_number(); });
  return found != nullptr ? found->get<double>() : 0;
}

std::int64_t Fields::integer(const char* key) const {
  const Json* found = find(key, [](const Json& j) { return j.is_number_integer(); });
  return found != nullptr ? found->get<std::int64_t>() : 0;
}

std::int64_t Fields::integer_or(const char* key, std::int64_t missing) const {
  return has(key) ? integer(key) : missing;
}

std::string Fields::text(const char* key) const {
  const Json* found = find(key, [](const Json& j) { return j.is_string(); });
  return found != nullptr ? found->get<std::string>() : std::string();
}

PaperSystem read_system(const Fields& system, std::string name) {
  return {.name = std::move(name),
          .matrix = {system.number("matrix_flops_fp16") * 1e12},
          .vector = {system.number("vector_flops_fp16") * 1e12},
          .hbm_bandwidth = {system.number("hbm_bandwidth") * 1e9},
          .hbm_capacity = {system.number("hbm_capacity") * 1e9},
          .nvlink = read_network(system, "nvlink_bandwidth", "nvlink_eff", "nvlink_latency"),
          .infiniband = read_network(system, "ib_bandwidth", "ib_eff", "ib_latency"),
          .domain = system.integer("nvlink_size"),
          .nics_per_gpu = system.number("nic_factor")};
}

PaperCase read_case(const Fields& input, const PaperDefects& defects, std::string& problem) {
  const Fields model = input.object("model");
  PaperCase c;
  c.model = {.name = input.text("model_name"),
             .sequence = model.integer("l"),
             .embed = model.integer("e"),
             .heads = model.integer("h"),
             .depth = model.integer("depth"),
             .hidden = model.integer("f"),
             .training_samples = 0};
  c.system = read_system(input.object("system"), input.text("system_name"));
  const std::string strategy = input.text("strategy");
  if (const auto known = parse_paper_strategy(strategy)) {
    c.strategy = *known;
  } else if (problem.empty()) {
    problem = "strategy '" + strategy + "' is unknown";
  }
  c.global_batch = input.integer("global_batch");
  c.defects = defects;
  return c;
}

PaperPlan read_plan(const Fields& holder) {
  const Fields size = holder.object("parallel");
  const Fields domain = holder.object("nvs_assignment");
  return {.size = {size.integer("n1"), size.integer("n2"), size.integer("np"), size.integer("nd")},
          .domain = {domain.integer("nvs_1"), domain.integer("nvs_2"), domain.integer("nvs_p"),
                     domain.integer("nvs_d")},
          .microbatch = size.integer("bm"),
          .panels = size.integer_or("nb", 1)};
}

}  // namespace flopcast::published
