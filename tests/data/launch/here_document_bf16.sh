cat > ds.json <<-"EOF"
	{ "train_micro_batch_size_per_gpu": "auto", "zero_optimization": { "stage": 0 },
	  "bf16": { "enabled": true } }
	EOF
deepspeed train.py --tp 4 --pp 4 --micro-batch-size 2 --global-batch-size 64 --bf16 \
    --checkpoint-activations --deepspeed --deepspeed_config ds.json
