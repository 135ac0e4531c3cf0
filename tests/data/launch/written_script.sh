cat > job.sh <<EOF
#!/bin/bash
torchrun --nproc_per_node 8 train.py --tp 8 --micro-batch-size 1 --global-batch-size 16 --bf16
EOF
sbatch job.sh
