#!/usr/bin/env bash
#
# Tag:      RECOMMENDED
# Model:    Qwen/Qwen3-8B
# Task:     GRPO-LoRA
# Hardware: 4 NPUs of an Atlas 800T A2 server (1 node)
# Backends: FSDP trains, vLLM Ascend generates (vLLM Ascend 0.23.0 in the published run)
# Source:   https://github.com/verl-project/verl-ascend-recipe/blob/0d6be4b53141f024ad95f94a21c502f902503f7a/grpo/lora/README.md#L147
#           https://github.com/verl-project/verl-ascend-recipe/blob/88df6a55690ad02c54f040ed73ee269011ce743c/lora/run_qwen3_8b_from_adapter_fsdp.sh
# Data:     verl's examples/data_preprocess/gsm8k.py --local_dir ~/data/gsm8k (data_source
#           openai/gsm8k)
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - The source goes on from an adapter that is given by its path; ours begins with a new one
#     of the same rank. To go on from one, add actor_rollout_ref.model.lora_adapter_path.
#   - Number of devices, batch and the size of weight synchronization are those of the page's
#     command for 4 devices, rank and alpha those of its table for that run.
#   - Environment variables of Ascend and Ray's settings are left to the environment.
#   - Data paths, project and experiment name are ours.
#
# Activations are recomputed. With LoRA the actor without its adapters is the reference model,
# so that ref.fsdp_config moves nothing.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Environment
export USE_OPTIMIZED_MODEL=0

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3-8B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/gsm8k/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/gsm8k/test.parquet"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-4}

# Parallelism and memory
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-1}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.65}
MAX_NUM_SEQS=${MAX_NUM_SEQS:-32}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-32}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-32}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-512}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-1024}
MAX_TOKEN_LEN_PER_GPU=${MAX_TOKEN_LEN_PER_GPU:-12288}
ROLLOUT_N=${ROLLOUT_N:-4}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-3e-6}
LORA_RANK=${LORA_RANK:-64}
LORA_ALPHA=${LORA_ALPHA:-32}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-1}
TOTAL_TRAINING_STEPS=${TOTAL_TRAINING_STEPS:-100}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3-8b_grpo-lora_4_atlas-800t-a2_fsdp_vllm-ascend}

ALGORITHM=(
    algorithm.adv_estimator=grpo
    algorithm.use_kl_in_reward=False
)

DATA=(
    data.train_files="${TRAIN_FILES}"
    data.val_files="${VAL_FILES}"
    data.train_batch_size="${TRAIN_BATCH_SIZE}"
    data.max_prompt_length="${MAX_PROMPT_LENGTH}"
    data.max_response_length="${MAX_RESPONSE_LENGTH}"
    data.filter_overlong_prompts=True
    data.truncation=error
)

MODEL=(
    actor_rollout_ref.model.path="${MODEL_PATH}"
    actor_rollout_ref.model.use_remove_padding=True
    actor_rollout_ref.model.enable_gradient_checkpointing=True
    actor_rollout_ref.model.lora_rank="${LORA_RANK}"
    actor_rollout_ref.model.lora_alpha="${LORA_ALPHA}"
)

ACTOR=(
    actor_rollout_ref.actor.strategy=fsdp
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.actor.use_kl_loss=True
    actor_rollout_ref.actor.kl_loss_coef=0.001
    actor_rollout_ref.actor.kl_loss_type=low_var_kl
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.use_torch_compile=False
    actor_rollout_ref.actor.fsdp_config.model_dtype=bfloat16
    actor_rollout_ref.actor.fsdp_config.forward_prefetch=True
    actor_rollout_ref.actor.fsdp_config.param_offload=False
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=False
    +actor_rollout_ref.actor.checkpoint.save_lora_only=True
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.temperature=1.0
    actor_rollout_ref.rollout.top_p=1.0
    actor_rollout_ref.rollout.top_k=-1
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.max_model_len="$((MAX_PROMPT_LENGTH + MAX_RESPONSE_LENGTH))"
    actor_rollout_ref.rollout.max_num_seqs="${MAX_NUM_SEQS}"
    actor_rollout_ref.rollout.max_num_batched_tokens=8192
    actor_rollout_ref.rollout.enforce_eager=False
    actor_rollout_ref.rollout.enable_chunked_prefill=True
    actor_rollout_ref.rollout.free_cache_engine=True
    actor_rollout_ref.rollout.load_format=safetensors
    actor_rollout_ref.rollout.layered_summon=True
    actor_rollout_ref.rollout.calculate_log_probs=True
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=8
    '+actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config.cudagraph_capture_sizes=[1,2,4,8,16,32]'
    +actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config.cudagraph_mode=FULL_DECODE_ONLY
)

REFERENCE=(
    actor_rollout_ref.ref.strategy=fsdp
    actor_rollout_ref.ref.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.ref.log_prob_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.ref.use_torch_compile=False
    actor_rollout_ref.ref.fsdp_config.model_dtype=bfloat16
    actor_rollout_ref.ref.fsdp_config.forward_prefetch=True
    actor_rollout_ref.ref.fsdp_config.param_offload=True
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.device=npu
    trainer.val_before_train=False
    trainer.save_freq=20
    trainer.test_freq=-1
    trainer.total_epochs="${TOTAL_EPOCHS}"
    trainer.total_training_steps="${TOTAL_TRAINING_STEPS}"
)

python3 -m verl.trainer.main_ppo \
    "${ALGORITHM[@]}" \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${REFERENCE[@]}" \
    "${TRAINER[@]}" \
    "$@"
