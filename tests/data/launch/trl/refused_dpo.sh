trl dpo --model_name_or_path meta-llama/Llama-3.2-1B --dataset_name d
