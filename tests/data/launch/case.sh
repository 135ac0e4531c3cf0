PRECISION=bf16
case "$PRECISION" in
  fp16|half) TYPE="--fp16" ;;
  bf*)       TYPE="--bf16" ;;
  *)         TYPE="" ;;
esac
torchrun train.py --tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 16 $TYPE
