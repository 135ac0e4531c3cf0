#include "cli/mapping/map_options.h"

#include <fmt/format.h>

#include "base/files/read_file.h"
#include "flopcast/mapping/setup.h"

namespace flopcast::cli {
namespace {

void add_system(CLI::App& command, MapFlags& flags) {
  MappingQuestion& q = flags.question;
  command
      .add_option("--on", q.on,
                  "The system: \"8 x sn10\", any chip of `flopcast hw list`, or a cluster")
      ->type_name("SYSTEM");
  command
      .add_option("--topology", q.system.topology,
                  "The network: torus:4x2, ring:8, full:8, switch:8, dragonfly:8x128, dgx-1:8x128, "
                  "dgx-2:8x128, or dimensions by hand, innermost first: ring:8,switch:16")
      ->type_name("KIND:SIZES");
  command
      .add_option("--memory", q.system.memory,
                  "Memory technology (ddr, hbm, 3d) or bandwidth (300GB/s) instead of the chip's")
      ->type_name("MEMORY");
  command
      .add_option("--link", q.system.link,
                  "Interconnect (pcie, nvlink), or bandwidths, one for each dimension: "
                  "150GB/s,25GB/s")
      ->type_name("LINK");
  std::string names;
  for (const std::string& name : system_settings()) names += (names.empty() ? "" : ", ") + name;
  add_mapping_texts(
      command, "--set", q.system.changes,
      fmt::format("Change the system: sram=640MB, or a factor: sram=2x; of {}", names),
      "NAME=VALUE");
  command
      .add_option("--precision", flags.precision, "Whose peak rate counts: bf16, fp8, fp32, ...")
      ->type_name("TYPE");
}

void add_degree(CLI::App& command, MappingSearch& search, Parallelism parallelism,
                const std::string& what) {
  command
      .add_option("--" + std::string(name(parallelism)),
                  search.degree[static_cast<std::size_t>(parallelism)],
                  fmt::format("{}-parallel degree; every one if not given", what))
      ->type_name("N")
      ->check(whole_from(1));
}

void add_whole(CLI::App& command, const std::string& flag, std::int64_t& value,
               const std::string& help) {
  command.add_option(flag, value, help)->type_name("N")->check(whole_from(1));
}

void add_tokens(CLI::App& command, const std::string& flag, std::int64_t& value,
                const std::string& help) {
  command.add_option(flag, value, help)->type_name("N")->transform(tokens())->check(whole_from(1));
}

void add_search(CLI::App& command, MapFlags& flags) {
  MappingQuestion& q = flags.question;
  add_degree(command, q.search, Parallelism::kTensor, "Tensor");
  add_degree(command, q.search, Parallelism::kPipeline, "Pipeline");
  add_degree(command, q.search, Parallelism::kData, "Data");
  add_whole(command, "--microbatch", q.search.microbatch,
            "Samples of a microbatch; every divisor of a replica's batch if not given");
  add_tokens(command, "--tile", q.search.tile, "Tokens of a tile; every divisor if not given");
  command.add_flag("--every-tile", q.search.every_tile,
                   "Tiles need not divide the tokens (slower; of use with --cycles)");
  command
      .add_option("--partitions", q.search.partitions,
                  "At most so many partitions of each pass; any number if not given")
      ->type_name("N")
      ->check(whole_from(1));
  add_mapping_texts(command, "--pin", q.pins,
                    "Keep a kernel in a partition of its pass, counted from 0; may be given again",
                    "KERNEL=P");
  add_mapping_texts(command, "--forbid", q.forbids, "Keep a kernel out of partitions: q=0,1",
                    "KERNEL=P");
  add_mapping_texts(command, "--sharding", q.shardings,
                    "Divide a kernel so among tensor-parallel chips: none, outer, m, n, k, k->m "
                    "(summed, then divided) or k->n; may be given again",
                    "KERNEL=HOW");
  command.add_flag("--mix-passes", q.search.mix_passes,
                   "Forward and backward kernels may share a partition");
  command.add_flag("--split-dimensions", q.search.split_dimensions,
                   "A dimension of the network may be shared by several kinds of parallelism");
  command
      .add_option("--gap", q.search.gap,
                  "Relative gap at which a search that cannot be exact stops")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--threads", q.search.threads, "Threads to search with; 0 means every core")
      ->type_name("N")
      ->capture_default_str();
}

void add_model(CLI::App& command, MapFlags& flags) {
  MappingQuestion& q = flags.question;
  command
      .add_option("--mode", q.mode, "What the model counts: full, or paper (DFModel as published)")
      ->type_name("full|paper")
      ->capture_default_str();
  CLI::Option* utilisation =
      command
          .add_option("--utilisation", flags.utilisation,
                      "Share of the peak rate that kernels reach (0.9 if not said)")
          ->type_name("SHARE")
          ->check(CLI::Range(1e-6, 1.0));
  command
      .add_flag("--cycles", flags.cycles,
                "Count cycles of the chip's systolic tiles instead of a share of the peak")
      ->excludes(utilisation);
  command
      .add_option("--overlap", q.overlap,
                  "What runs at once: perfect (compute, memory and network), compute-memory, none")
      ->type_name("KIND");
}

Result<MappingRequest> request_of_setup(const MapFlags& flags) {
  const Result<std::string> text = read_file(flags.dfmodel, "name a setup.txt of DFModel");
  if (!text) return text.error();
  const Result<DfmodelSetup> setup = parse_dfmodel_setup(*text, flags.dfmodel.string());
  if (!setup) return setup.error();
  Result<MappingRequest> request = mapping_of_setup(*setup);
  if (!request) {
    Diagnostic error = request.error();
    error.where = flags.dfmodel.string();
    return error;
  }
  request->search.threads = flags.question.search.threads;
  return request;
}

}  // namespace

void add_mapping_texts(CLI::App& command, const std::string& flag, std::vector<std::string>& texts,
                       const std::string& help, const std::string& type) {
  command.add_option(flag, texts, help)->type_name(type)->allow_extra_args(false);
}

void add_mapping(CLI::App& command, MapFlags& flags) {
  MappingQuestion& q = flags.question;
  command
      .add_option("WORKLOAD", q.workload,
                  "gpt3-175b, gpt3-1t, dlrm, hpl, fft, ...; any model of `flopcast estimate` with "
                  ":forward, :training, :prefill or :decode; or a graph as .toml")
      ->type_name("");
  add_system(command, flags);
  add_whole(command, "--global-batch", q.dataflow.global_batch, "Samples a step");
  add_tokens(command, "--sequence,--seq", q.dataflow.sequence, "Tokens of a sample");
  add_whole(command, "--unroll", q.dataflow.unroll, "Layers in the graph");
  add_search(command, flags);
  add_model(command, flags);
}

Result<MappingQuestion> mapping_question(const MapFlags& flags) {
  MappingQuestion question = flags.question;
  if (question.workload.empty()) {
    return usage_error("WORKLOAD", "is missing", "name it first: flopcast map gpt3-175b --on ...");
  }
  if (!flags.precision.empty()) {
    const std::optional<DataType> type = parse_data_type(flags.precision);
    if (!type) {
      return usage_error("--precision", fmt::format("unknown type '{}'", flags.precision),
                         "bf16, fp16, fp8, fp32, ...");
    }
    question.system.precision = *type;
  }
  if (flags.utilisation) question.utilisation = *flags.utilisation;
  if (flags.cycles) question.utilisation = 0;
  return question;
}

Result<MappingRequest> mapping_request(const MapFlags& flags) {
  if (!flags.dfmodel.empty()) {
    if (flags.question.workload.empty() && flags.question.on.empty()) {
      return request_of_setup(flags);
    }
    return usage_error("--dfmodel", "brings its own workload and system",
                       "leave out WORKLOAD and --on");
  }
  const Result<MappingQuestion> question = mapping_question(flags);
  if (!question) return question.error();
  if (question->on.empty()) {
    return usage_error("--on", "is missing", "name the system, such as \"8 x sn10\"");
  }
  return mapping_request(*question);
}

}  // namespace flopcast::cli
