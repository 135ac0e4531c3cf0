// Readers of launchers that train on PyTorch's FSDP, on DeepSpeed and on JAX.
#pragma once

#include "flopcast/parallel/files.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {

/// A document of TOML or JSON, or a command that names one, or a configuration of torchtitan's own registry.
Result<PlanFile> read_torchtitan(const LaunchText& text);
/// DeepSpeed's JSON, or a command that names it: of the script itself nothing is known.
Result<PlanFile> read_deepspeed_launch(const LaunchText& text);
/// Flags of a script on Hugging Face's Trainer, with what `accelerate launch` was told ahead of it; or its
/// arguments as a document.
Result<PlanFile> read_hf_trainer(const LaunchText& text);
/// accelerate's configuration, or `accelerate launch` of a script whose flags are no Trainer's.
Result<PlanFile> read_accelerate(const LaunchText& text);
/// `trl sft`, scripts/sft.py and recipes for them.
Result<PlanFile> read_trl(const LaunchText& text);
Result<PlanFile> read_llama_factory(const LaunchText& text);
Result<PlanFile> read_axolotl(const LaunchText& text);
Result<PlanFile> read_nanotron(const LaunchText& text);
Result<PlanFile> read_olmo_core(const LaunchText& text);
Result<PlanFile> read_automodel(const LaunchText& text);
Result<PlanFile> read_maxtext(const LaunchText& text);

}  // namespace flopcast::parallel
