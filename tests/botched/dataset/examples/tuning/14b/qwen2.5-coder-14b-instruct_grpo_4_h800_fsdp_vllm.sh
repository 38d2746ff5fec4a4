#!/usr/bin/env bash
#
# Tag:      MIN
# Model:    Qwen/Qwen2.5-Coder-14B-Instruct
# Task:     GRPO
# Hardware: 4 x H800 80 GB (1 node)
# Backends: FSDP trains, vLLM generates (vLLM 0.8.2 in the published run)
# Source:   https://github.com/volcengine/verl/blob/b178a3cd56f58b2d502255daba591e92833930a7/examples/tuning/14b/qwen2_14b_grpo_4_h800_fsdp_vllm.sh
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-Coder-14B-Instruct}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/gsm8k/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/math/test.parquet"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-4}

# Parallelism and memory
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-4}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.5}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-1024}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-256}
PPO_MICRO_BATCH_SIZE_PER_GPU=${PPO_MICRO_BATCH_SIZE_PER_GPU:-16}
LOG_PROB_MICRO_BATCH_SIZE_PER_GPU=${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU:-16}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-1024}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-1024}
ROLLOUT_N=${ROLLOUT_N:-5}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-1}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen2.5-coder-14b-instruct_grpo_4_h800_fsdp_vllm}

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
)

ACTOR=(
    actor_rollout_ref.actor.strategy=fsdp
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu="${PPO_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.actor.use_kl_loss=True
    actor_rollout_ref.actor.kl_loss_coef=0.001
    actor_rollout_ref.actor.kl_loss_type=low_var_kl
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.fsdp_config.param_offload=True
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=True
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
)

REFERENCE=(
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.ref.fsdp_config.param_offload=True
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console","wandb"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.save_freq=-1
    trainer.test_freq=5
    trainer.total_epochs="${TOTAL_EPOCHS}"
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
