#!/usr/bin/env bash
#
# Tag:      RECOMMENDED
# Model:    deepseek-ai/DeepSeek-R1-Distill-Qwen-14B
# Task:     GRPO
# Hardware: 32 x A100 80 GB (4 nodes of 8)
# Backends: FSDP trains, vLLM generates
# Source:   https://github.com/agentica-project/rllm/blob/874daa4acb7f451dc2a4b2b6e8ce28f5aa88d1f5/scripts/deepcoder/README.md#L4
#           https://github.com/rllm-org/rllm/blob/8766fffb2f3e7f14797bc0618ff49afd2b07ab11/scripts/deepcoder/train/deepcoder_14b_coding_16k.sh
# Data:     scripts/data/download_datasets.py, then scripts/data/deepcoder_dataset.py --local_dir
#           ~/data/deepcoder of rLLM (data_source primeintellect, taco, livecodebench):
#           https://github.com/rllm-org/rllm/blob/8766fffb2f3e7f14797bc0618ff49afd2b07ab11/scripts/data/deepcoder_dataset.py
# Reward:   verl scores no such data: write compute_score(data_source, solution_str, ground_truth,
#           extra_info) around rllm_reward_fn of rLLM and pass its file as
#           reward.custom_reward_function.path (before verl 0.7.1: custom_reward_function.path):
#           https://github.com/rllm-org/rllm/blob/8766fffb2f3e7f14797bc0618ff49afd2b07ab11/rllm/rewards/rl_reward.py#L37
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - The source trains with a verl of its own. What only that one has is left out: the reward
#     computed during generation, and the masking of responses that were cut off.
#   - The total micro batch size is left out: with use_dynamic_bsz the token limit decides.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out, and so are
#     the token limits of both log-probability passes, which follow the actor's.
#
# Several nodes: start a Ray cluster over all 4 nodes first, then this script once, on the head
# node.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-deepseek-ai/DeepSeek-R1-Distill-Qwen-14B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/deepcoder/deepcoder_train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/deepcoder/test_livecodebench.parquet"}

# Hardware
NNODES=${NNODES:-4}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
SEQUENCE_PARALLEL_SIZE=${SEQUENCE_PARALLEL_SIZE:-2}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-2}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.8}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-128}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-64}
MAX_TOKEN_LEN_PER_GPU=${MAX_TOKEN_LEN_PER_GPU:-20000}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-2048}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-16384}
ROLLOUT_N=${ROLLOUT_N:-8}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-100}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-deepseek-r1-distill-qwen-14b_grpo_32_a100-80g_fsdp_vllm}

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
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.actor.ulysses_sequence_parallel_size="${SEQUENCE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.clip_ratio_low=0.2
    actor_rollout_ref.actor.clip_ratio_high=0.28
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.grad_clip=1.0
    actor_rollout_ref.actor.fsdp_config.param_offload=False
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=False
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.temperature=0.6
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.save_freq=10
    trainer.test_freq=10
    trainer.total_epochs="${TOTAL_EPOCHS}"
)

python3 -m verl.trainer.main_ppo \
    "${ALGORITHM[@]}" \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${TRAINER[@]}" \
    "$@"
