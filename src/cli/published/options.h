// Paper mode on the command line: what `estimate` and `plan` do with `--model-of subramanian`.
//
// A command adds the options of paper mode to its own and asks paper_mode(). Where that says yes, it
// fills the first members of the struct below from its own options and runs it instead. What
// full mode requires (--on; of plan also MODEL, for --figure) cannot be required of the parser.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/cli11.h"
#include "cli/terminal/io.h"
#include "cli/terminal/options.h"
#include "flopcast/published/subramanian.h"

namespace flopcast::cli {

/// Options that only paper mode has, of estimate and plan alike.
struct PaperOptions {
  std::string model_of;                  ///< --model-of; empty: full mode
  std::string system;                    ///< --system B200-NVS8
  std::string strategy = "1d";           ///< --strategy
  std::string defects = "published";     ///< --defects
  PaperPlan::Groups domain{0, 0, 0, 0};  ///< --domain-tp, -tp2, -pp, -dp; 0: any
};
void add_paper_options(CLI::App& command, PaperOptions& options);
/// --figure: of plan alone. It brings its own models, systems and sizes.
void add_paper_figure(CLI::App& command, std::string& figure);

/// Whether the parsed line asks for paper mode (--model-of). Errors (kUsage): a mode that is not
/// known; an option of the other mode.
Result<bool> paper_mode(const CLI::App& command, const PaperOptions& options);

struct PaperEstimateCommand {
  // Of the command itself; 0: not given.
  std::string model;
  PaperPlan::Groups size{0, 0, 0, 0};  ///< --tp, --tp2, --pp, --dp; 0: 1
  std::int64_t microbatch = 0;         ///< 0: 1
  std::int64_t panels = 0;             ///< 0: the fastest
  std::int64_t global_batch = 0;       ///< 0: 4096, as in the paper
  FormatOptions format;
  // add_paper_options.
  PaperOptions paper;
};
/// One plan. Exit code 4 where it does not fit: the estimate is printed all the same, and on stderr
/// what is lacking and the nearest plan that fits.
int run_paper_estimate(Io& io, const PaperEstimateCommand& command);

struct PaperPlanCommand {
  // Of the command itself; 0: not given.
  std::string model;
  std::int64_t chips = 0;
  std::int64_t global_batch = 0;    ///< 0: 4096
  std::size_t best = 10;            ///< plans to print
  std::vector<std::string> must;    ///< "pp=4", "microbatch=1,tp=8"
  std::vector<std::string> sweeps;  ///< "chips=4..16384", "domain=4,8,64"
  unsigned threads = 0;
  FormatOptions format;
  // add_paper_options and add_paper_figure.
  PaperOptions paper;
  std::string figure;
};
/// The best plans of `chips` GPUs, or the best one of every point of a sweep or a figure. Where none
/// of one size fits, exit code 4 and on stderr the leanest plan and a size that is enough.
int run_paper_plan(Io& io, const PaperPlanCommand& command);

}  // namespace flopcast::cli
