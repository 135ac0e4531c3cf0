# The TOML lies beside it.
NGPU=8 CONFIG_FILE=./llama3_8b.toml ./run_train.sh --training.seq_len 2048 --compile.no-enable
