#!/usr/bin/env bash
#
# Tag:      –
# Model:    Qwen/Qwen2.5-32B
# Task:     GRPO
# Hardware: 64 x H100 80 GB (8 nodes of 8)
# Backends: FSDP trains, vLLM generates
# Source:   https://github.com/hkust-nlp/simpleRL-reason/blob/cf1c7858bfc145a27aa733e75d930d34f0d318a6/README.md#L140
#           https://github.com/hkust-nlp/simpleRL-reason/blob/cf1c7858bfc145a27aa733e75d930d34f0d318a6/train_grpo_math_tune_ray.sh
# Data:     train.parquet and test.parquet of simplelr_qwen_level3to5 (data_source *simplelr*), as the
#           source downloads them, in ~/data/simplelr_qwen_level3to5:
#           https://github.com/hkust-nlp/simpleRL-reason/blob/cf1c7858bfc145a27aa733e75d930d34f0d318a6/README.md#L131
# Reward:   verl scores no such data: write compute_score(data_source, solution_str, ground_truth,
#           extra_info) around compute_score of the source and pass its file as
#           reward.custom_reward_function.path (before verl 0.7.1: custom_reward_function.path):
#           https://github.com/hkust-nlp/simpleRL-reason/blob/cf1c7858bfc145a27aa733e75d930d34f0d318a6/verl/utils/reward_score/hf_math_verify.py#L163
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - The source trains with a verl of its own. What only that one has is left out: the batch size
#     of generation and the switch of the clip.
#   - The micro batch of log probabilities, 160 responses on all GPUs, is written for each GPU: 2.
#   - rollout.enforce_eager, a default of that verl, is spelled out.
#   - The gradient offload of that verl, off there, is gone.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# Lengths, batch, rollouts and the share of the engine are those of the command for 32B on the
# page.
#
# Several nodes: start a Ray cluster over all 8 nodes first, then this script once, on the head
# node.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-32B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/simplelr_qwen_level3to5/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/simplelr_qwen_level3to5/test.parquet"}

# Hardware
NNODES=${NNODES:-8}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-8}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.75}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-1024}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-256}
PPO_MICRO_BATCH_SIZE_PER_GPU=${PPO_MICRO_BATCH_SIZE_PER_GPU:-2}
LOG_PROB_MICRO_BATCH_SIZE_PER_GPU=${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU:-2}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-1024}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-8192}
ROLLOUT_N=${ROLLOUT_N:-8}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-5e-7}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-20}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen2.5-32b_grpo_64_h100_fsdp_vllm}

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
    actor_rollout_ref.actor.clip_ratio=0.2
    actor_rollout_ref.actor.entropy_coeff=0.001
    actor_rollout_ref.actor.fsdp_config.param_offload=False
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=False
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.enforce_eager=True
    actor_rollout_ref.rollout.enable_chunked_prefill=False
    actor_rollout_ref.rollout.max_num_batched_tokens="$((MAX_PROMPT_LENGTH + MAX_RESPONSE_LENGTH + 1000))"
    actor_rollout_ref.rollout.temperature=1.0
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
)

REFERENCE=(
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.ref.fsdp_config.param_offload=True
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.save_freq=5
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
