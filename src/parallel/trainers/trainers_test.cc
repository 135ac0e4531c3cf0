#include <gtest/gtest.h>

#include "catalog_files.h"
#include "flopcast/parallel/files.h"
#include "parallel/launch/names.h"
#include "parallel/trainers/torchtitan_models.h"

namespace flopcast {
namespace {

PlanFile read_trainer(std::string_view text, const LaunchSite& site = {}) {
  const Result<PlanFile> file = parse_plan(text, "run", site);
  EXPECT_TRUE(file.ok()) << file.error().text();
  return file.ok() ? *file : PlanFile{};
}
std::string refused_trainer(std::string_view text) {
  const Result<PlanFile> file = parse_plan(text, "run");
  return file.ok() ? "read" : file.error().text();
}
bool tells(const std::vector<std::string>& all, std::string_view part) {
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

// --- torchtitan ---------------------------------------------------------------------------------

TEST(TitanModels, EveryFlavorAndConfigurationIsAModel) {
  std::size_t flavors = 0;
  for (const auto& [name, flavor] :
       {std::pair("llama3", "1B"), {"llama3", "3B"},        {"llama3", "8B"},
        {"llama3", "70B"},         {"llama3", "405B"},      {"llama3", "debugmodel"},
        {"llama4", "17bx16e"},     {"llama4", "17bx128e"},  {"deepseek_v3", "16B"},
        {"deepseek_v3", "236B"},   {"deepseek_v3", "671B"}, {"gpt_oss", "20b"},
        {"gpt_oss", "120b"},       {"qwen3", "0.6B"},       {"qwen3", "1.7B"},
        {"qwen3", "4B"},           {"qwen3", "8B"},         {"qwen3", "14B"},
        {"qwen3", "32B"},          {"qwen3", "30B-A3B"},    {"qwen3", "235B-A22B"}}) {
    const Result<Model> model = parallel::titan_model(name, flavor, "run");
    EXPECT_TRUE(model.ok()) << name << flavor << model.error().text();
    flavors += model.ok();
  }
  EXPECT_EQ(flavors, 21u);
  // Qwen's own counts of 1.7B, 4B and 14B, which the catalogue does not have.
  EXPECT_EQ(count_parameters(*parallel::titan_model("qwen3", "1.7B", "run")).total, 1'720'574'976);
  EXPECT_EQ(count_parameters(*parallel::titan_model("qwen3", "4B", "run")).total, 4'022'468'096);
  EXPECT_EQ(count_parameters(*parallel::titan_model("qwen3", "14B", "run")).total, 14'768'307'200);
  EXPECT_TRUE(parallel::titan_config("llama3", "llama3_405b", "run").ok());
  EXPECT_FALSE(parallel::titan_config("llama3", "llama3_9b", "run").ok());
}

/// 126 layers, embedding and loss on 8 x 2 stages: the first and the last have one less.
TEST(Torchtitan, StagesCountEmbeddingAndLoss) {
  const PlanFile file = read_trainer(
      "[model]\nname = \"llama3\"\nflavor = \"405B\"\n[training]\nlocal_batch_size = 16\n"
      "[parallelism]\npipeline_parallel_degree = 8\npipeline_parallel_schedule = "
      "\"Interleaved1F1B\"\n");
  const std::vector<unsigned> stages = {7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7};
  EXPECT_EQ(file.plan.stage_layers, stages);
  EXPECT_EQ(file.plan.vpp, 2u);
}

TEST(Torchtitan, LayersOfAStageGiveItsLoops) {
  const PlanFile file = read_trainer(
      "[model]\nname = \"llama3\"\nflavor = \"405B\"\n[training]\nlocal_batch_size = 16\n"
      "[parallelism]\npipeline_parallel_degree = 8\npipeline_parallel_schedule = "
      "\"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 4\n");
  EXPECT_EQ(file.plan.vpp, 4u);
}

TEST(Torchtitan, SplitPointsAreStages) {
  const PlanFile file = read_trainer(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = 8\n"
      "[experimental]\npipeline_parallel_degree = 2\npipeline_parallel_split_points = "
      "[\"layers.20\"]\n");
  EXPECT_EQ(file.plan.stage_layers, (std::vector<unsigned>{20, 12}));
  EXPECT_EQ(file.plan.micro_batch, 4);  // as many microbatches as stages
}

TEST(Torchtitan, WithoutCompileItsKernelsAreEager) {
  const std::string text = "[training]\nlocal_batch_size = 1\n[compile]\n";
  EXPECT_EQ(read_trainer(text + "enable = true\n").software, "fsdp-compiled");
  EXPECT_EQ(read_trainer(text + "enable = true\ncomponents = [\"loss\"]\n").software, "fsdp");
  EXPECT_EQ(read_trainer("[training]\nlocal_batch_size = 1\n").software, "fsdp");
}

// --- Hugging Face -------------------------------------------------------------------------------

std::string fsdp_run(std::string_view words) {
  return "torchrun --nproc_per_node 8 --nnodes 2 t.py --per_device_train_batch_size 1 "
         "--max_seq_length 2048 " +
         std::string(words);
}

TEST(HfTrainer, ShardingStrategiesAreZeroAndReplicas) {
  struct Case {
    const char* words;
    Zero zero;
    bool reshard;
    unsigned replicas;
  };
  for (const Case& one :
       {Case{"--fsdp full_shard", Zero::kWeights, true, 0},
        Case{"--fsdp shard_grad_op", Zero::kWeights, false, 0},
        Case{"--fsdp 'hybrid_shard auto_wrap'", Zero::kWeights, true, 2},
        Case{"--fsdp hybrid_shard_zero2", Zero::kWeights, false, 2},
        Case{"--fsdp no_shard", Zero::kNone, true, 0}, Case{"--bf16", Zero::kNone, true, 0}}) {
    const PlanFile file = read_trainer(fsdp_run(one.words));
    EXPECT_EQ(file.plan.zero, one.zero) << one.words;
    EXPECT_EQ(file.plan.reshard, one.reshard) << one.words;
    EXPECT_EQ(file.replicas, one.replicas) << one.words;
    EXPECT_EQ(file.chips, 16u);
  }
  EXPECT_NE(refused_trainer(fsdp_run("--fsdp spiral")).find("FULL_SHARD"), std::string::npos);
}

TEST(HfTrainer, AnInventedFlagIsNotKnown) {
  const PlanFile file = read_trainer(fsdp_run("--bf16 --my_new_recompute_everything"));
  ASSERT_EQ(file.unknown.size(), 1u);
  EXPECT_EQ(file.unknown[0], "--my_new_recompute_everything");
  EXPECT_FALSE(tells(file.ignored, "everything"));
}

TEST(HfTrainer, TheSequenceIsAskedForAndNeverInvented) {
  const PlanFile file =
      read_trainer("torchrun --nproc_per_node 8 t.py --per_device_train_batch_size 1 --bf16");
  ASSERT_EQ(file.open.size(), 1u);
  EXPECT_EQ(file.open[0].name, "seq");
  EXPECT_EQ(file.plan.sequence, 0);
}

TEST(HfTrainer, WeightsIn16BitsHaveNoCopyWithoutAnUpcast) {
  EXPECT_TRUE(read_trainer(fsdp_run("--bf16")).plan.fp32_master);
  EXPECT_FALSE(read_trainer(fsdp_run("--bf16 --torch_dtype bfloat16")).plan.fp32_master);
  EXPECT_TRUE(
      read_trainer(fsdp_run("--bf16 --torch_dtype bfloat16 --fsdp full_shard")).plan.fp32_master);
  const PlanFile alone = read_trainer(fsdp_run("--torch_dtype bfloat16"));
  EXPECT_EQ(alone.plan.precision, Precision::kBf16);
  EXPECT_FALSE(alone.plan.fp32_master);
}

TEST(HfTrainer, TheRankOfAScriptsAdaptersIsAskedFor) {
  const PlanFile file = read_trainer(fsdp_run("--bf16 --lora_enable True"));
  ASSERT_EQ(file.open.size(), 1u);
  EXPECT_EQ(file.open[0].name, "lora_rank");
  EXPECT_EQ(read_trainer(fsdp_run("--lora_enable True --lora_r 64")).plan.lora_rank, 64);
  EXPECT_EQ(read_trainer(fsdp_run("--lora_enable False")).plan.lora_rank, 0);
  EXPECT_TRUE(tells(read_trainer(fsdp_run("--q_lora True --lora_r 64")).unmodelled, "16 bits"));
}

TEST(HfTrainer, OptimizersKeepWhatTheyKeep) {
  EXPECT_EQ(read_trainer(fsdp_run("--optim adamw_bnb_8bit")).plan.moment_bytes, 2u);
  EXPECT_EQ(read_trainer(fsdp_run("--optim adamw_torch_fused")).plan.moment_bytes, 0u);
  EXPECT_EQ(read_trainer(fsdp_run("--optim sgd")).plan.optimizer, OptimizerKind::kSgd);
  EXPECT_TRUE(tells(read_trainer(fsdp_run("--optim adafactor")).unmodelled, "adafactor"));
}

TEST(Accelerate, FlagsOfItsCommandCount) {
  const PlanFile file = read_trainer(
      "accelerate launch --use_fsdp --fsdp_sharding_strategy FULL_SHARD --mixed_precision bf16 "
      "--num_processes 4 t.py --per_device_train_batch_size 2 --max_seq_length 1024");
  EXPECT_EQ(file.launcher, Launcher::kHfTrainer);
  EXPECT_EQ(file.plan.zero, Zero::kWeights);
  EXPECT_EQ(file.plan.precision, Precision::kBf16);
  EXPECT_EQ(file.chips, 4u);
  const PlanFile zero = read_trainer(
      "accelerate launch --use_deepspeed --zero_stage 3 --mixed_precision bf16 --num_processes 4 "
      "t.py --my_script_flag 1");
  EXPECT_EQ(zero.launcher, Launcher::kAccelerate);
  EXPECT_EQ(zero.plan.zero, Zero::kWeights);
  EXPECT_TRUE(zero.software.empty());  // of no profile that was fitted
}

TEST(Accelerate, AConfigurationThatIsNotThereIsAskedFor) {
  const PlanFile file = read_trainer(
      "accelerate launch --config_file gone.yaml t.py --per_device_train_batch_size 2 "
      "--max_seq_length 1024");
  ASSERT_EQ(file.open.size(), 2u);
  EXPECT_EQ(file.open[0].name, "zero");
  EXPECT_EQ(file.open[1].name, "precision");
}

TEST(Trl, BundledConfigurationsShard) {
  EXPECT_EQ(read_trainer("trl sft --model_name_or_path m --accelerate_config zero2").plan.zero,
            Zero::kGradients);
  EXPECT_EQ(read_trainer("trl sft --model_name_or_path m --accelerate_config fsdp2").plan.zero,
            Zero::kWeights);
  EXPECT_NE(refused_trainer("trl sft --model_name_or_path m --accelerate_config gone.yaml")
                .find("not beside it"),
            std::string::npos);
}

TEST(Trl, ARecipeOfAnotherMethodIsRefused) {
  const std::string recipe =
      "model_name_or_path: m\nper_device_train_batch_size: 1\nmax_length: 512\n";
  EXPECT_EQ(refused_trainer(recipe), "read");
  EXPECT_NE(refused_trainer(recipe + "beta: 0.1\n").find("only supervised"), std::string::npos);
}

TEST(LlamaFactory, AdaptersEverywhereAreItsDefault) {
  const PlanFile file = read_trainer("model_name_or_path: m\ncutoff_len: 512\nbf16: true\n");
  EXPECT_EQ(file.plan.lora_rank, 8);
  EXPECT_TRUE(file.plan.lora_mlp);
  EXPECT_EQ(file.plan.recompute, Recompute::kFull);
  const PlanFile full = read_trainer(
      "model_name_or_path: m\ncutoff_len: 512\nbf16: true\nfinetuning_type: full\n"
      "disable_gradient_checkpointing: true\n");
  EXPECT_EQ(full.plan.lora_rank, 0);
  EXPECT_EQ(full.plan.recompute, Recompute::kNone);
}

TEST(Axolotl, ContextIsARingWhereItSaysSo) {
  const std::string text =
      "base_model: m\nsequence_len: 512\nmicro_batch_size: 1\ncontext_parallel_size: 4\n";
  EXPECT_EQ(read_trainer(text).plan.cp, 4u);
  EXPECT_EQ(read_trainer(text).plan.context, ContextKind::kAllGather);
  EXPECT_EQ(read_trainer(text + "ring_attn_func: batch_ring\n").plan.context, ContextKind::kRing);
}

TEST(Axolotl, Bf16IsWhatTheChipHas) {
  const std::string text = "base_model: m\nsequence_len: 512\nmicro_batch_size: 1\n";
  EXPECT_EQ(read_trainer(text).plan.precision, Precision::kBf16);
  LaunchSite old;
  old.bf16 = false;
  EXPECT_EQ(read_trainer(text, old).plan.precision, Precision::kFp32);
  EXPECT_EQ(read_trainer(text + "fp16: true\n").plan.precision, Precision::kFp16);
}

// --- what is none of these ------------------------------------------------------------------------

TEST(OtherLaunchers, AreRefusedByWhatTheyLookLike) {
  EXPECT_NE(refused_trainer("model:\n  _component_: torchtune.models.m\nbatch_size: 2\n"
                            "gradient_accumulation_steps: 1\nepochs: 1\ndtype: bf16\n")
                .find("torchtune"),
            std::string::npos);
  // A key of DeepSpeed's among others makes no configuration of it: its defaults would be fp32 and ZeRO 0.
  EXPECT_NE(refused_trainer("{\"gradient_accumulation_steps\": 4, \"learning_rate\": 1e-4, "
                            "\"model\": \"x\", \"load_in_4bit\": true}")
                .find("of no launcher"),
            std::string::npos);
  EXPECT_NE(refused_trainer("trainer: {accelerator: gpu, devices: 8}\nmodel: {class_path: M}\n")
                .find("Lightning"),
            std::string::npos);
}

// --- others -------------------------------------------------------------------------------------

TEST(Nanotron, ItsExpertsAreRefused) {
  EXPECT_NE(refused_trainer("model:\n  model_config: {hidden_size: 64, moe_config: {top_k: 1}}\n"
                            "tokens: {sequence_length: 128, micro_batch_size: 1}\n"
                            "parallelism: {dp: 1, tp: 1, pp: 1}\n")
                .find("experts of nanotron's"),
            std::string::npos);
}

TEST(OlmoCore, BatchesAreTokens) {
  const PlanFile file = read_trainer(
      "torchrun t.py --dataset.sequence_length=2048 --data_loader.global_batch_size=1048576 "
      "--train_module.rank_microbatch_size=2*2048");
  EXPECT_EQ(file.plan.global_batch, 512);
  EXPECT_EQ(file.plan.micro_batch, 2);
  EXPECT_NE(refused_trainer("torchrun t.py --dataset.sequence_length=2048 "
                            "--train_module.rank_microbatch_size=3000")
                .find("multiple"),
            std::string::npos);
}

TEST(Maxtext, AxesAreProductsOfBothSides) {
  const PlanFile file = read_trainer(
      "python3 -m MaxText.train base.yml model_name=llama2-7b per_device_batch_size=1 "
      "dcn_fsdp_parallelism=2 ici_fsdp_parallelism=4 ici_tensor_parallelism=2 "
      "dcn_data_parallelism=3 max_target_length=1024");
  EXPECT_EQ(file.plan.tp, 2u);
  EXPECT_EQ(file.plan.dp, 24u);
  EXPECT_EQ(file.replicas, 3u);
  EXPECT_EQ(file.chips, 48u);
  EXPECT_EQ(file.plan.micro_batch, 2);  // of a replica: one a device
}

// Of a TPU v7 programs see two devices.
TEST(Maxtext, AChipOfTwoDevicesHasTheBatchOfBoth) {
  const std::string run =
      "python3 -m MaxText.train base.yml model_name=llama2-7b per_device_batch_size=3 "
      "max_target_length=1024 ici_fsdp_parallelism=";
  LaunchSite site;
  site.devices = 2;
  const PlanFile open = read_trainer(run + "-1", site);
  EXPECT_EQ(open.plan.micro_batch, 6);
  EXPECT_EQ(with_chips(open, 64)->global_batch, 3 * 128);
  const PlanFile said = read_trainer(run + "128", site);
  EXPECT_EQ(said.chips, 64u);
  EXPECT_EQ(with_chips(said)->global_batch, 3 * 128);
  EXPECT_FALSE(parse_plan(run + "7", "run", site).ok());
}

TEST(Maxtext, NamesOfItsModelsAreThoseHere) {
  const auto name = [](const std::string& model) {
    return read_trainer("python3 -m MaxText.train base.yml model_name=" + model).model.name;
  };
  for (const char* model : {"deepseek3-671b", "kimi-k2-1t", "llama4-17b-16e", "llama3.1-8b",
                            "mixtral-8x7b", "gemma2-9b", "gpt3-175b"}) {
    EXPECT_TRUE(load_model(name(model)).ok()) << model;
  }
}

TEST(LauncherNamesOfTrainers, EveryFileIsReadAndSaysWhatIsTaken) {
  for (const Launcher launcher :
       {Launcher::kTorchtitan, Launcher::kAccelerate, Launcher::kHfTrainer, Launcher::kTrl,
        Launcher::kLlamaFactory, Launcher::kAxolotl, Launcher::kNanotron, Launcher::kAutomodel,
        Launcher::kMaxtext, Launcher::kOlmoCore}) {
    const auto& names = parallel::LauncherNames::of(launcher);
    EXPECT_TRUE(names.ignored("master-port")) << name(launcher);
    EXPECT_FALSE(names.ignored("never-heard-of-it")) << name(launcher);
  }
  const auto& hf = parallel::LauncherNames::of(Launcher::kTrl);
  EXPECT_TRUE(hf.ignored("learning-rate"));
  EXPECT_FALSE(hf.instead_of({"activation-offloading", {"true"}, "", 0, false}).empty());
  EXPECT_TRUE(hf.instead_of({"activation-offloading", {"false"}, "", 0, false}).empty());
}

}  // namespace
}  // namespace flopcast
