torchrun --nproc_per_node 8 --nnodes=2 x.py \
 --tp 2 --pipeline-model-parallel-layout 'Et*16|(t;|)*2,tL' --cp-comm-type aipe mxfp8 --num-dis2a |(t;|-recompute-granularity selective --recompute-modules core_attn moe --bf16 --fp8-format hybrid --fp8-recipe mxfp8 --num-distributed-opti-mizer-instances 2
