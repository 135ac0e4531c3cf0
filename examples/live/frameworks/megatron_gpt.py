"""A GPT built and trained by Megatron-core: tensor, pipeline (interleaved) and expert parallel, distributed optimizer.

    torchrun --nproc-per-node 4 megatron_gpt.py --tp 2 --pp 2                on GPUs
    flopcast run --on dgx-h100 --ranks 4 megatron_gpt.py --tp 2 --pp 2       on none
    flopcast run --on dgx-h100 --ranks 4 megatron_gpt.py --pp 2 --chunks 2
    flopcast run --on dgx-h100 --ranks 4 megatron_gpt.py --experts 8 --ep 4
    flopcast run --on dgx-h100 --ranks 4 megatron_gpt.py --tp 2 --spec te --fp8 hybrid
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
from megatron.core.distributed.finalize_model_grads import finalize_model_grads
from megatron.core.models.gpt import gpt_layer_specs
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.moe import moe_utils
from megatron.core.transformer.transformer_config import TransformerConfig


def settings(args):
    return TransformerConfig(
        num_layers=args.layers, hidden_size=args.width, num_attention_heads=max(args.tp, args.width // 64), bf16=True,
        params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16, hidden_dropout=0.0, attention_dropout=0.0,
        tensor_model_parallel_size=args.tp, pipeline_model_parallel_size=args.pp, sequence_parallel=args.tp > 1 and args.spec == "te",
        virtual_pipeline_model_parallel_size=args.chunks if args.chunks > 1 else None,
        num_moe_experts=args.experts or None, expert_model_parallel_size=args.ep, moe_token_dispatcher_type="alltoall",
        moe_router_topk=2, moe_router_load_balancing_type="aux_loss", moe_aux_loss_coeff=1e-2, add_bias_linear=False,
        gradient_accumulation_fusion=False, bias_dropout_fusion=False, persist_layer_norm=False, fp8=args.fp8,
    )  # fmt: skip


def chunk(args, config, number):
    spec = gpt_layer_specs.get_gpt_layer_local_spec if args.spec == "local" else gpt_layer_specs.get_gpt_layer_with_transformer_engine_spec
    model = GPTModel(
        config=config, transformer_layer_spec=spec(num_experts=args.experts or None), vocab_size=args.vocabulary,
        max_sequence_length=args.sequence, position_embedding_type="rope", share_embeddings_and_output_weights=False,
        pre_process=parallel_state.is_pipeline_first_stage(ignore_virtual=False, vp_stage=number),
        post_process=parallel_state.is_pipeline_last_stage(ignore_virtual=False, vp_stage=number), vp_stage=number,
    )  # fmt: skip
    ddp = DistributedDataParallelConfig(use_distributed_optimizer=True, overlap_grad_reduce=False)
    return DistributedDataParallel(config, ddp, Float16Module(config, model.cuda()))


def forward(args):
    texts = torch.Generator().manual_seed(parallel_state.get_data_parallel_rank())
    places = torch.arange(args.sequence, device="cuda").expand(args.batch, args.sequence)
    later = torch.ones(1, 1, args.sequence, args.sequence, dtype=torch.bool, device="cuda").triu(1)

    def step(_, model):
        tokens = torch.randint(args.vocabulary, (args.batch, args.sequence), generator=texts).cuda()
        losses = model(tokens, places, later, labels=tokens)

        def mean(output):
            loss = output.float().mean()
            return loss, {"loss": loss.detach()}

        return losses, mean

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--chunks", type=int, default=1, help="of a pipeline stage: interleaved where more than one")
    parser.add_argument("--experts", type=int, default=0)
    parser.add_argument("--ep", type=int, default=1)
    parser.add_argument("--spec", default="local", choices=["local", "te"], help="whose layers")
    parser.add_argument("--fp8", choices=["hybrid", "e4m3"], help="products of Transformer Engine's layers in 8 bits")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--sequence", type=int, default=512)
    parser.add_argument("--batch", type=int, default=2, help="sequences of a micro-batch")
    parser.add_argument("--accumulate", type=int, default=4, help="micro-batches of a step")
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    parallel_state.initialize_model_parallel(
        args.tp, args.pp, args.chunks if args.chunks > 1 else None, expert_model_parallel_size=args.ep
    )
    model_parallel_cuda_manual_seed(123)
    if not moe_utils.HAVE_TE:
        moe_utils.te_general_gemm = None  # this release's router asks for it, and only Transformer Engine defines it
    config = settings(args)
    model = [chunk(args, config, number if args.chunks > 1 else None) for number in range(args.chunks)]
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-3, bf16=True, use_distributed_optimizer=True), model
    )
    config.finalize_model_grads_func = finalize_model_grads
    one_step, forward_backward = forward(args), get_forward_backward_func()
    speaks = parallel_state.is_pipeline_last_stage() and dist.get_rank() == dist.get_world_size() - 1
    start = time.perf_counter()
    for step in range(args.steps):
        for part in model:
            part.zero_grad_buffer()
        optimizer.zero_grad()
        losses = forward_backward(
            forward_step_func=one_step, data_iterator=[None] * args.chunks if args.chunks > 1 else None,
            model=model if args.chunks > 1 else model[0], num_microbatches=args.accumulate, seq_length=args.sequence,
            micro_batch_size=args.batch, forward_only=False,
        )
        _, norm, _ = optimizer.step()
        torch.cuda.synchronize()
        took, start = time.perf_counter() - start, time.perf_counter()
        if speaks:
            loss = sum(one["loss"].item() for one in losses) / len(losses)
            print(f"step {step}: loss {loss:.4f}, gradient norm {norm:.3f}, {1e3 * took:.1f} ms", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
