// The parts of a question about the whole fleet: router, replicas that come and go, faults, measured factors.
#include <fmt/format.h>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/measured/serving.h"
#include "question/serve/values.h"

namespace flopcast::question {
namespace {

constexpr const char* kAutoscaleHint =
    "such as least=1,most=8,aim=64 (requests a replica),interval=15s,start-up=60s,idle=300s";
constexpr const char* kFaultHint = "such as 0@60s, 0@60s..180s or 0@60s:lost";

/// One part of an autoscaling; whether it was understood.
bool read_autoscale_part(std::string_view name, const std::string& value, Autoscaling& out) {
  const auto count = [&](unsigned& to) {
    const auto whole = whole_from(value, 1);
    if (!whole || *whole > 1'000'000) return false;
    to = static_cast<unsigned>(*whole);
    return true;
  };
  const auto time = [&](Time& to) {
    const Result<Time> read = time_from(value);
    if (!read) return false;
    to = *read;
    return true;
  };
  const std::string key = name_key(name);
  if (key == "least") return count(out.least);
  if (key == "most") return count(out.most);
  if (key == "aim") {
    const auto number = parse_number(value);
    if (!number || !(*number > 0)) return false;
    out.requests_per_replica = *number;
    return true;
  }
  if (key == "interval") return time(out.interval) && out.interval.ps > 0;
  if (key == "startup") return time(out.start_up);
  return key == "idle" && time(out.idle_before_stop);
}

void read_autoscale(ServeValues& values, Fleet& fleet) {
  const std::string* text = values.last("autoscale");
  if (text == nullptr) return;
  const auto pairs = pairs_from(*text);
  Autoscaling scaling;
  scaling.most = fleet.pool.replicas;
  bool good = pairs.has_value();
  for (std::size_t i = 0; good && i < pairs->size(); ++i) {
    good = read_autoscale_part((*pairs)[i].first, (*pairs)[i].second, scaling);
    if (!good) {
      return values.wrong(
          "autoscale",
          fmt::format("'{}={}' is not understood", (*pairs)[i].first, (*pairs)[i].second),
          kAutoscaleHint);
    }
  }
  if (!good) return values.wrong("autoscale", "expected KEY=VALUE,...", kAutoscaleHint);
  if (scaling.least > scaling.most || scaling.most > fleet.pool.replicas) {
    return values.wrong(
        "autoscale",
        fmt::format("{} to {} replicas of {}", scaling.least, scaling.most, fleet.pool.replicas),
        "least <= most <= replicas");
  }
  if (!(scaling.requests_per_replica > 0)) {
    return values.wrong("autoscale", "how many requests a replica should have is missing",
                        kAutoscaleHint);
  }
  if (fleet.decode) {
    return values.wrong("autoscale", "is of replicas that do all", "leave --disaggregated out");
  }
  fleet.autoscaling = scaling;
}

/// "0@60s..180s:lost"; nothing where it is not understood.
std::optional<ReplicaFault> fault_of(std::string_view text) {
  ReplicaFault fault;
  if (text.ends_with(":lost")) {
    fault.retried = false;
    text.remove_suffix(5);
  }
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  const auto replica = parse_whole<unsigned>(trim(text.substr(0, at)));
  const std::string_view times = text.substr(at + 1);
  const std::size_t dots = times.find("..");
  const Result<Time> dies = time_from(trim(times.substr(0, dots)));
  if (!replica || !dies) return std::nullopt;
  fault.replica = *replica;
  fault.at = *dies;
  if (dots == std::string_view::npos) return fault;
  const Result<Time> back = time_from(trim(times.substr(dots + 2)));
  if (!back || *back <= fault.at) return std::nullopt;
  fault.back = *back;
  return fault;
}

void read_faults(ServeValues& values, Fleet& fleet) {
  const unsigned replicas = fleet.pool.replicas + (fleet.decode ? fleet.decode->replicas : 0);
  for (const std::string& text : values.all("fault")) {
    const std::optional<ReplicaFault> fault = fault_of(text);
    if (!fault) {
      return values.wrong("fault", fmt::format("'{}' is not understood", text), kFaultHint);
    }
    if (fault->replica >= replicas) {
      return values.wrong("fault",
                          fmt::format("there is no replica {}, only {}", fault->replica, replicas),
                          "they count from 0");
    }
    fleet.faults.push_back(*fault);
  }
}

bool set_factor(std::string_view name, double value, ServingFactors& factors) {
  if (!(value > 0.01 && value < 100)) return false;
  if (name == "decode") {
    factors.decode = value;
  } else if (name == "prefill") {
    factors.prefill = value;
  } else if (name == "front") {
    factors.front = value;
  } else if (name == "host") {
    factors.host = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace

void read_fleet_parts(ServeValues& values, Fleet& fleet) {
  if (const std::string* text = values.last("router")) {
    const std::optional<Router> router = parse_router(*text);
    if (router) {
      fleet.router = *router;
    } else {
      values.wrong("router", fmt::format("there is no router '{}'", *text),
                   "round-robin, least-loaded or prefix-aware");
    }
  }
  read_autoscale(values, fleet);
  read_faults(values, fleet);
}

namespace {

/// "decode=1.05,prefill=0.9". @return false where it names a file.
bool read_given_factors(ServeValues& values, const std::string& text, Fleet& fleet) {
  const auto pairs = pairs_from(text);
  if (!pairs) return false;
  ServingFactors factors;
  for (const auto& [name, value] : *pairs) {
    const auto number = parse_number(value);
    if (!number || !set_factor(name, *number, factors)) {
      values.wrong("point", fmt::format("'{}={}' is no factor", name, value),
                   "decode=1.05,prefill=0.9,front=1,host=1 or a file of calibrate serving");
    }
  }
  fleet.pool.factors = factors;
  if (fleet.decode) fleet.decode->factors = factors;
  return true;
}

/// What measured points of deployments put on those of the fleet.
void calibrate(ServeValues& values, const FitFile& file, Fleet& fleet) {
  const auto known = parse_serving_calibration(file.text, file.path);
  if (!known) return values.wrong(known.error());
  std::int64_t input = 0;
  values.whole("input", input, 1);
  for (ReplicaPool* pool : {&fleet.pool, fleet.decode ? &*fleet.decode : nullptr}) {
    if (pool == nullptr) continue;
    const Result<ServingFactors> factors = factors_for(*known, pool->deployment, input);
    if (factors) {
      pool->factors = *factors;
      continue;
    }
    Diagnostic error = factors.error();
    error.where = fmt::format("{}: {}", file.path, error.where);
    values.wrong(std::move(error));
  }
}

}  // namespace

void read_factors(ServeValues& values, Fleet& fleet) {
  for (const auto& fit : fleet.pool.deployment.cluster.fits) {
    if (fit->kind == FitKind::kServing) calibrate(values, *fit, fleet);
  }
  const std::string* text = values.last("point");
  if (text == nullptr || read_given_factors(values, *text, fleet)) return;
  const auto file = read_fit_file(*text);
  if (!file) return values.wrong(file.error());
  if ((*file)->kind == FitKind::kServing) return calibrate(values, **file, fleet);
  values.wrong("point", fmt::format("{} is a fit of {}", *text, name((*file)->kind)),
               "give a file of calibrate serving; others go into --fit");
}

Result<Cluster> cluster_with(const std::string& line, unsigned chips, const Catalog& catalog) {
  Result<Cluster> own = catalog.cluster(line);
  if (!own || own->chips() >= chips) return own;
  const Result<CountedName> counted = catalog.counted(line);
  if (!counted) return counted.error();
  const unsigned unit = std::max(own->chips() / std::max(counted->count, 1U), 1U);
  return catalog.cluster(counted->with_count((chips + unit - 1) / unit));
}

}  // namespace flopcast::question
