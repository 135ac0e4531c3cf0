// What training adds to kernels and collectives measured alone: how chips behave under load for
// hours, and what a framework spends around its kernels. catalog/training/constants.toml holds the
// values, by chip architecture and by software; tools/fit_training.py fits them. Read here and nowhere else.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"

namespace flopcast {

/// Values for one chip under one software; 1 and 0 are where nothing is lost.
struct TrainingConstants {
  // Of a chip's architecture: rates under load over those of kernels timed alone.
  double matrix_share = 1;              ///< GEMMs in 16 and 32 bits
  double narrow_share = 1;              ///< GEMMs in 8 bits
  double block_share = 1;               ///< GEMMs in 8 bits with a scale per block / per tensor
  double fp4_share = 1;                 ///< GEMMs in 4 bits
  double unaligned = 2;                 ///< time of a GEMM whose rows are no multiple of 16 bytes
  double attention_share = 1;           ///< attention, forward
  double attention_backward_share = 1;  ///< attention, backward
  double memory_share = 1;              ///< kernels that only move bytes
  double collective_share = 1;          ///< transfers
  double expert_share = 1;              ///< grouped GEMMs of experts
  double power_exponent = 0.5;          ///< of compute rates over the power a chip is held to

  // Of a software.
  double whole_inputs = 0;    ///< 1: linear layers keep inputs gathered and in 16 bits
  double idle_outputs = 0;    ///< 1: selective recompute keeps outputs that backward does not need
  double unfused = 1;         ///< memory traffic over that of fused kernels
  double expert_traffic = 1;  ///< memory traffic of sorting tokens by expert / one pass each way
  /// of element-wise passes over experts' rows: 0 where recipes with scales per block have a kernel that does them
  double expert_eager = 1;
  double launch_s = 0;           ///< host time of one kernel of the model
  double launch_transfer_s = 0;  ///< host time of one transfer
  double adds_apart = 0;         ///< 1: gradients are added up by a pass of their own
  double microbatch_s = 0;       ///< per microbatch and virtual stage, nothing overlaps it
  double sends_wait = 0;         ///< 1: interleaved sends hide behind passes the other way only
  double step_s = 0;             ///< per step, on average over nodes
  double tensor_overlap = 0;     ///< share of a tensor-parallel transfer that its GEMM hides
  double expert_kernel_s = 0;    ///< of one expert's product: what it is too small for
  double expert_host_s = 0;   ///< host time of each kernel that one expert's product is launched as
  double expert_once = 0;     ///< 1: a row is sent once to each node (chip) that needs it
  double expert_overlap = 0;  ///< share of an expert-parallel transfer that other work hides
  double async_overlap = 0;   ///< share hidden behind the other gradient's GEMM
  double gradient_overlap = 1;   ///< share of the last backward that gradients are reduced behind
  double weight_overlap = 1;     ///< share of compute that gathers of weights may hide behind
  double contention = 0;         ///< compute lost per second of a transfer beside it
  double straggler = 0;          ///< of the step, per doubling of nodes
  double workspace_bytes = 0;    ///< device context, libraries' workspaces and flat buffers
  double logit_bytes = 6;        ///< per logit while the loss is differentiated
  double gradient_copies = 0;    ///< bytes per weight beside its fp32 gradient
  double boundary_copies = 0;    ///< of what stages hand on, per microbatch in flight
  double apart_activations = 0;  ///< 1: experts' gated activations are operators apart
  double whole_windows = 0;      ///< 1: in 8 bits, backward skips nothing outside of a window
  double expandable = 0;         ///< 1: the allocator's segments grow (expandable_segments:True)

  bool own_band = false;  ///< the band is of the machine's own fit

  // Quantiles of measured over forecast, for the band.
  double band_low = 0.9, band_high = 1.1;
  double band_experts_low = 0.8, band_experts_high = 1.3;
};

/// One of them, as the file has it.
struct TrainingConstantField {
  std::string_view name;              ///< in the file
  double TrainingConstants::*member;  ///< where it is kept
  double low, high;                   ///< physical limits
  std::string_view meaning;           ///< one line with its unit
};
/// All of them, in the order in which they are told.
std::span<const TrainingConstantField> training_constant_fields();

/// Values for a chip (its architecture's, then its own) and a software. Errors: an unknown software, with what there is.
/// @param fits a machine's own: of those that are constants the values come on top, in their order. Errors: one that is none
/// of training; with `must`, one that has none for this chip and software.
Result<TrainingConstants> training_constants(const Chip& chip, std::string_view software,
                                             OwnFiles fits = {}, bool must = true);
/// What experts' rows cost under a dispatcher, as fitted to the software that [dispatcher] of the catalogue's constants names
/// for it. Errors (kUsage): no such dispatcher.
struct DispatcherConstants {
  double expert_once = 0, expert_traffic = 1;  ///< as of TrainingConstants
};
/// @param dispatcher "alltoall", "deepep", "hybridep"; @param fits as of training_constants
Result<DispatcherConstants> dispatcher_constants(const Chip& chip, std::string_view dispatcher,
                                                 OwnFiles fits = {});
/// What is known of a chip whatever runs on it: its architecture's values, then its own. Error: none.
Result<TrainingConstants> chip_constants(const Chip& chip);
/// How much wider bands are either way on chips of an architecture that no run was measured on. Errors: the catalogue's
/// constants cannot be read, or have no such factor with its source and basis.
Result<double> unseen_chip_factor();
/// The software's name; "" gives the first of the catalogue, XLA for chips that nothing else compiles for.
std::string software_name(std::string_view software, const Chip& chip);
/// Profiles of catalog/training/constants.toml, the default first.
std::vector<std::string> training_software();

}  // namespace flopcast
