#!/bin/sh
# Makes catalog/kernels/*.toml from public measurements.
#
#   tools/fit_kernels.sh ../shared/measured/kernels [FLOPCAST]
#
# The folder holds AIConfigurator's tables (aiconfigurator/CHIP_KIND_perf.csv.gz), Vidur's layer
# profiles (vidur/*CHIP*mlp.csv.gz) and LLMCompass's operator times (llmcompass/*_CHIP.csv).
set -eu
tables=$1
flopcast=${2:-flopcast}
out=$(dirname "$0")/../catalog/kernels
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# LLMCompass lists "rows, columns, Gelem/s" (softmax, layernorm) or "elements, Gelem/s" (gelu), fp16.
# Its least time per operator, 13 to 49 us, is the launch from Python; it is replaced by 2.5 us, and
# rows that are little but launch are left out.
llmcompass() {
  {
    for op in softmax layernorm; do
      awk -F, -v op="$op" 'NF >= 3 { sub("layernorm", "layer_norm", op)
        printf "%s,%d,%d,fp16,%.9g\n", op, $1, $2, $1 * $2 / $3 * 1e-6 }' \
        "$tables"/llmcompass/*"$op"_"$1".csv
    done
    awk -F, 'NF >= 2 { printf "activation,1,%d,fp16,%.9g\n", $1, $1 / $2 * 1e-6 }' \
      "$tables"/llmcompass/*gelu_"$1".csv
  } | awk -F, 'BEGIN { print "op,rows,columns,dtype,latency" }
      { row[NR] = $0; if (!($1 in least) || $5 < least[$1]) least[$1] = $5 }
      END { for (i = 1; i <= NR; i++) { split(row[i], x, ",")
        if (x[5] > 2 * least[x[1]])
          printf "%s,%s,%s,%s,%.9g\n", x[1], x[2], x[3], x[4], x[5] - least[x[1]] + 0.0025 } }' \
    >"$work/llmcompass_$1.csv"
}

# fit CHIP SOURCE FILE...
fit() {
  chip=$1 source=$2
  shift 2
  "$flopcast" calibrate kernels "$@" --chip "$chip" --source "$source" -o "$out/$chip.toml"
}

llmcompass A100
llmcompass MI210
aic=$tables/aiconfigurator
fit a100-sxm-80g "TensorRT-LLM 1.0.0, Vidur, LLMCompass" "$aic"/a100_sxm_* "$tables"/vidur/*a100* \
  "$work/llmcompass_A100.csv"
fit h100-sxm "TensorRT-LLM 1.2.0rc5, Vidur" "$aic"/h100_sxm_* "$tables"/vidur/*h100*
fit h200-sxm "TensorRT-LLM 1.2.0rc5" "$aic"/h200_sxm_*
fit b200-sxm "TensorRT-LLM 1.2.0rc5" "$aic"/b200_sxm_*
fit b300-sxm "TensorRT-LLM 1.3.0rc10" "$aic"/b300_sxm_*
fit gb200 "TensorRT-LLM 1.3.0rc10" "$aic"/gb200_*
fit gb300 "TensorRT-LLM 1.3.0rc10" "$aic"/gb300_*
fit mi210 "LLMCompass" "$work/llmcompass_MI210.csv"
