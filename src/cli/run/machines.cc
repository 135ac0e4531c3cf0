#include "cli/run/machines.h"

#include <fmt/format.h>

#include <cstdlib>
#include <random>

#include "base/text/format.h"
#include "base/text/numbers.h"
#include "flopcast/live/setup.h"

namespace flopcast::cli {
namespace {

std::string text_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? text : "";
}

std::string fresh_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

/// Launchers number the processes that they start: here one on each machine. Scripts that people start on each set NODE_RANK.
Result<std::uint32_t> number_of(const LiveProgram& program) {
  std::string variable = "--host-number", text = program.host_number;
  const std::optional<LiveCopies> copies = live_copies();
  if (text.empty() && copies) {
    if (copies->all != program.hosts) {
      return usage_error(
          "--hosts",
          fmt::format("are {}, and a launcher has started this command {} times ({}={})",
                      program.hosts, copies->all, copies->variable, copies->number),
          "start it once on each machine, for instance by srun --ntasks-per-node=1");
    }
    return static_cast<std::uint32_t>(copies->number);
  }
  if (text.empty()) {
    variable = "NODE_RANK";
    text = text_in("NODE_RANK");
  }
  if (text.empty()) {
    return usage_error("--host-number", "says which of the machines this is, and is not there",
                       "0 on the first of them, which has the engine; NODE_RANK and the variables "
                       "of Slurm, Open MPI, MPICH and torchrun say it, too");
  }
  const auto number = parse_whole<std::uint32_t>(text);
  if (!number || *number >= program.hosts) {
    return usage_error(variable,
                       fmt::format("is '{}', and there are {} machines", text, program.hosts),
                       fmt::format("a number from 0 to {}", program.hosts - 1));
  }
  return *number;
}

}  // namespace

Result<LiveMachines> machines_of(const LiveProgram& program) {
  LiveMachines machines;
  if (program.hosts == 1) {
    if (program.meet.empty() && program.host_number.empty()) return machines;
    return usage_error(program.meet.empty() ? "--host-number" : "--meet",
                       "is for runs on several machines", "say how many with --hosts");
  }
  machines.count = program.hosts;
  const Result<std::uint32_t> own = number_of(program);
  if (!own) return own.error();
  machines.own = *own;
  machines.meet = program.meet;
  if (machines.meet.empty()) {
    return usage_error("--meet", "says where the machines find the first one, and is not there",
                       "an address of the first machine and a free port of it: 10.0.0.1:29400");
  }
  machines.token = text_in(kToken);
  if (machines.token.empty() && machines.own == 0) machines.token = fresh_token();
  if (machines.token.empty()) {
    return usage_error(kToken, "lets this machine in, and is not set",
                       "set it to what the first machine says, or to one secret on all of them");
  }
  return machines;
}

std::string others_wanted(const LiveMachines& machines) {
  const std::string secret =
      text_in(kToken).empty() ? fmt::format(", with {}={} set", kToken, machines.token) : "";
  return fmt::format("waits at {} for {}: the same command there{}", machines.meet,
                     counted(machines.count - 1, "other machine"), secret);
}

}  // namespace flopcast::cli
