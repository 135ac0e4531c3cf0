// Any document, read as each launcher's, is a plan or one error; any number of chips makes a plan of it, or an
// error.
#include <cstddef>
#include <cstdint>

#include "base/text/yaml.h"
#include "parallel/trainers/readers.h"
#include "support/fuzz_target.h"

namespace {

using flopcast::LaunchSite;
using flopcast::PlanFile;
using flopcast::Result;
using flopcast::parallel::LaunchText;

using TrainerReader = Result<PlanFile> (*)(const LaunchText&);
constexpr TrainerReader kTrainerReaders[] = {
    flopcast::parallel::read_torchtitan,    flopcast::parallel::read_accelerate,
    flopcast::parallel::read_hf_trainer,    flopcast::parallel::read_trl,
    flopcast::parallel::read_llama_factory, flopcast::parallel::read_axolotl,
    flopcast::parallel::read_nanotron,      flopcast::parallel::read_olmo_core,
    flopcast::parallel::read_automodel,     flopcast::parallel::read_maxtext};

}  // namespace

FUZZ_TARGET(data, size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = flopcast::parse_yaml(bytes, "input");
  if (!file || !file->root.is_object()) return -1;
  LaunchText text;
  text.where = "input";
  text.document = file->root;
  text.settings = flopcast::parallel::document_settings(text.document);
  for (const TrainerReader read : kTrainerReaders) {
    const Result<PlanFile> plan = read(text);
    if (!plan) {
      flopcast::test::check(!plan.error().what.empty());
      continue;
    }
    flopcast::test::check(plan->plan.micro_batch >= 1 && plan->accumulation >= 1);
    flopcast::test::check(plan->plan.tp >= 1 && plan->plan.pp >= 1 && plan->plan.cp >= 1);
    for (const unsigned chips : {0u, 1u, 64u}) {
      const auto whole = flopcast::with_chips(*plan, chips);
      flopcast::test::check(!whole || whole->dp >= 1);
    }
  }
  return 0;
}
