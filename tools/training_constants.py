"""What tools/fit_training.py expects of each constant of training, and what it does not fit."""

from __future__ import annotations

# table/constant: (expected, standard deviation of its logarithm)
SHARE, KERNEL = 0.1, 0.3
PARAMETERS = {
    "chip.ampere/matrix_share": (1.0, SHARE),
    "chip.ampere/attention_share": (1.0, KERNEL),
    "chip.ampere/memory_share": (0.95, SHARE),
    "chip.hopper/matrix_share": (1.0, SHARE),
    "chip.hopper/narrow_share": (1.0, SHARE),
    "chip.hopper/attention_share": (1.0, KERNEL),
    "chip.hopper/memory_share": (0.95, SHARE),
    "chip.blackwell/matrix_share": (1.0, SHARE),
    "chip.blackwell/narrow_share": (1.0, SHARE),
    "chip.blackwell/block_share": (0.9, SHARE),
    "chip.blackwell/fp4_share": (1.0, SHARE),
    # cuDNN's kernels of training, alone, against the tables of inference's, 1.5 (tests/data/kernels/attention_training.csv);
    # under load, as products, 0.9 of that.
    "chip.blackwell/attention_share": (1.35, SHARE),
    "chip.blackwell/memory_share": (0.95, SHARE),
    # Kernels of Blackwell's first containers, against those of half a year later.
    "pair.blackwell+megatron-2025-spring/matrix_share": (0.92, 0.05),
    "pair.blackwell+megatron-2025-spring/narrow_share": (1.0, SHARE),
    "chip.blackwell-ultra/narrow_share": (1.0, SHARE),
    "chip.blackwell-ultra/block_share": (1.0, SHARE),
    "chip.blackwell-ultra/fp4_share": (1.0, KERNEL),
    # What twice the exponentials a cycle buy is in its tables; cuDNN's kernels gain as much over them as Blackwell's.
    "chip.blackwell-ultra/attention_share": (1.0, SHARE),
    # The table's rates are other chips' scaled by peaks, which these reach less of: power holds them. MI300X and
    # MI325X are the same dies at 750 and 1000 W; MI350X has 0.92 of MI355X's peak at 1000 of 1400 W. Of each, memory
    # and what links the dies take about 250 W, whatever is computed.
    "chip.cdna3/narrow_share": (0.65, KERNEL),
    "chip.mi300x/narrow_share": (0.67, SHARE),
    "chip.cdna4/narrow_share": (1.0, KERNEL),
    "chip.mi350x/narrow_share": (0.71, SHARE),
    "pair.hopper+fsdp/attention_share": (0.6, KERNEL),
    "pair.hopper+fsdp-compiled/attention_share": (0.6, KERNEL),
    "software.fsdp-compiled/block_share": (0.75, KERNEL),
    "software.megatron/unfused": (1.1, 0.2),
    "software.megatron-2024/unfused": (1.0, SHARE),
    "software.fsdp-te/unfused": (1.0, 0.05),
    "software.megatron-2021/unfused": (1.3, KERNEL),
    "software.megatron-deepspeed/unfused": (1.0, KERNEL),
    "software.deepspeed-2022/unfused": (1.3, KERNEL),
    "software.fsdp/unfused": (1.5, KERNEL),
    "software.fsdp-compiled/unfused": (1.1, KERNEL),
    "software.deepspeed-2022/launch_s": (4.5e-5, 0.7),
    "software.deepspeed-2022/launch_transfer_s": (2e-4, 0.7),
    "software.deepspeed-2022/microbatch_s": (1e-3, 1.0),
    "software.megatron-2021/microbatch_s": (5e-4, 1.0),
    "software.megatron-2024/microbatch_s": (3e-4, 0.5),
    "software.megatron/microbatch_s": (1e-4, 1.0),
    "all/unaligned": (2.0, 0.5),
    "all/step_s": (5e-3, 1.0),
    "software.deepspeed-2022/step_s": (1e-2, 1.0),
    "all/straggler": (4e-3, 0.7),
    "all/contention": (0.1, 0.5),
    "all/tensor_overlap": (0.7, 0.2),
    "all/gradient_overlap": (0.8, 0.2),
    "all/collective_share": (0.9, 0.1),
    "software.fsdp/collective_share": (0.8, KERNEL),
    "software.megatron-deepspeed/collective_share": (0.8, KERNEL),
    "software.deepspeed-2021/collective_share": (0.2, 0.5),
    # Products of experts against those of dense layers; what one expert's costs beside; passes over all
    # copies of a token.
    # Tables of experts' kernels reach 0.9 of dense products in 16 bits, 0.7 in 8 (balanced, all experts on a chip).
    "all/expert_share": (0.8, 0.03),
    "all/expert_kernel_s": (3e-6, 0.3),
    "all/expert_traffic": (0.8, SHARE),
    "all/expert_overlap": (0.5, SHARE),
    # Before grouped kernels, the host launches each expert's product: what a call of Transformer Engine takes it.
    "software.megatron-2025/expert_host_s": (2e-5, SHARE),
    "software.megatron-2025/expert_traffic": (2.0, SHARE),
    "software.megatron-2024/expert_host_s": (1.0, SHARE),
    "software.megatron-2024/expert_traffic": (1.0, SHARE),
    # DeepEP and HybridEP sort rows in the kernels that send them.
    "software.megatron-2025-flex/expert_traffic": (0.5, SHARE),
}
# Constants that are expected to be those of a sibling times a factor: a chip or a software with few
# runs, or none, takes what its sibling's runs say. (Then PARAMETERS holds the factor.)
SIBLINGS = {
    "pair.blackwell+megatron-2025-spring/matrix_share": "chip.blackwell/matrix_share",
    "pair.blackwell+megatron-2025-spring/narrow_share": "chip.blackwell/narrow_share",
    "chip.blackwell-ultra/narrow_share": "chip.blackwell/narrow_share",
    "chip.blackwell-ultra/block_share": "chip.blackwell/block_share",
    "chip.blackwell-ultra/fp4_share": "chip.blackwell/fp4_share",
    "chip.blackwell-ultra/attention_share": "chip.blackwell/attention_share",
    "chip.mi300x/narrow_share": "chip.cdna3/narrow_share",
    "chip.mi350x/narrow_share": "chip.cdna4/narrow_share",
    "software.megatron-deepspeed/unfused": "software.megatron-2021/unfused",
    # The kernels are Transformer Engine's.
    "software.megatron-2024/unfused": "software.megatron/unfused",
    "software.fsdp-te/unfused": "software.megatron/unfused",
    "software.megatron-2025/expert_traffic": "all/expert_traffic",
    "software.megatron-2024/expert_traffic": "software.megatron-2025/expert_traffic",
    "software.megatron-2025-flex/expert_traffic": "software.megatron-2025/expert_traffic",
    "software.megatron-2024/expert_host_s": "software.megatron-2025/expert_host_s",
}
# Host times of software whose public runs do not wait for the host: written down, not fitted.
ASSUMED = {
    "all/launch_s": 3e-6,
    "software.fsdp/launch_s": 5e-6,
    "all/async_overlap": 0.9,
    "all/weight_overlap": 0.9,
    "all/workspace_bytes": 1.5e9,
    # Memory: bytes a logit of eager and compiled losses, what is kept beside gradients and stages'
    # inputs, and (BLOOM, read off nvidia-smi) buffers of the framework.
    "software.fsdp/logit_bytes": 12,
    "software.fsdp/boundary_copies": 2,
    # torchtitan's start script asks for expandable segments; runs that torchrun started did not.
    "software.fsdp/expandable": 1,
    "software.fsdp-compiled/expandable": 1,
    "software.fsdp-compiled-segments/expandable": 0,
    # Megatron-Core without fused activations of experts.
    "software.megatron-2025-apart/apart_activations": 1,
    # PyTorch's DTensor and torchao keep inputs of products gathered and in 16 bits; eager selective recompute
    # keeps outputs that backward never asks for.
    "software.fsdp/whole_inputs": 1,
    "software.fsdp/idle_outputs": 1,
    "software.fsdp-compiled/whole_inputs": 1,
    "software.fsdp-compiled/logit_bytes": 4,
    "software.fsdp-compiled/boundary_copies": 2,
    "software.fsdp-compiled-2024/logit_bytes": 12,
    # FSDP around Transformer Engine's kernels: those of Megatron, but for what FSDP keeps.
    "software.fsdp-te/launch_s": 5e-6,
    "software.fsdp-te/logit_bytes": 12,
    "software.fsdp-te/boundary_copies": 2,
    # Rows go once to each place that needs them: DeepEP and its like.
    "software.megatron/expert_once": 1,
    "software.megatron-2025/expert_once": 0,
    "software.megatron-2025-flex/expert_once": 1,
    "software.fsdp-te/expert_once": 1,
    # Megatron-Bridge's recipes of mxfp8 from 26.06 on: attention in 8 bits (fp8_dot_product_attention).
    "software.megatron/whole_windows": 1,
    "software.megatron-2025/whole_windows": 0,
    # The same recipes: grouped products with the activation and biases in them.
    "software.megatron/expert_eager": 0,
    "software.megatron-2025/expert_eager": 1,
    "software.megatron-deepspeed/workspace_bytes": 1.1e10,
    "software.megatron-deepspeed/gradient_copies": 2,
    "software.megatron-deepspeed/boundary_copies": 1,
    # What DeepSpeed's pipeline loses around every microbatch besides: read off how the runs of the BLOOM
    # sweep order by microbatch, which residuals of single runs hardly see. Its cause is not known.
    "software.megatron-deepspeed/microbatch_s": 0.05,
    # Without products that add weights' gradients up in place (Megatron-LM's gradient_accumulation_fusion).
    "software.megatron-deepspeed/adds_apart": 1,
    "software.deepspeed-2022/adds_apart": 1,
    # Sends of pipelines: Megatron hides them behind passes the other way.
    "software.megatron/sends_wait": 1,
    "software.megatron-2024/sends_wait": 1,
    "software.megatron-2021/launch_s": 4.5e-5,
    "software.megatron-deepspeed/launch_s": 4.5e-5,
    # A whole step compiled by XLA: no launches, norms fused as well as torch.compile does; transfers are made
    # by engines of their own, which take nothing from the products.
    "software.xla/launch_s": 0.0,
    "software.xla/microbatch_s": 0.0,
    "software.xla/step_s": 2e-3,
    "software.xla/unfused": 1.0,
    "software.xla/contention": 0.0,
    # TPUs keep their clock under load, which the GPUs whose rates are scaled to them do not: read off the runs
    # of one pod of v5e (tests/data/training_tpu.json).
    "chip.tpu/matrix_share": 1.1,
}
SOFTWARES = [
    "megatron", "megatron-2025", "megatron-2025-flex", "megatron-2025-apart", "megatron-2025-spring",
    "megatron-2024", "megatron-2021", "fsdp",
    "fsdp-compiled", "fsdp-compiled-2024", "fsdp-compiled-segments", "fsdp-te", "deepspeed-2022", "megatron-deepspeed",
    "deepspeed-2021", "xla",
]  # fmt: skip
# Variants have the constants of a software unless they have their own.
VARIANTS = {
    "megatron-2025": "megatron", "megatron-2025-spring": "megatron-2025", "megatron-2025-flex": "megatron-2025",
    "megatron-2025-apart": "megatron-2025-flex", "fsdp-compiled-2024": "fsdp-compiled",
    "fsdp-compiled-segments": "fsdp-compiled",
}  # fmt: skip
