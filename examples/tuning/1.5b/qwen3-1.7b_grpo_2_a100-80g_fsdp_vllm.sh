#!/usr/bin/env bash
#
# Tag:      MIN
# Model:    Qwen/Qwen3-1.7B
# Task:     GRPO
# Hardware: 2 x A100 80 GB (1 node)
# Backends: PyTorch FSDP trains, vLLM generates
# Source:   https://github.com/ChenxinAn-fdu/POLARIS/blob/9e4fda202cde05f8e31b0b8f8e6752b731f3e0b2/scripts/train/qwen3-1.7b/stage1.sh
# Data:     parquet/stage1/polaris-data-53K.parquet of POLARIS as ~/data/polaris/train.parquet:
#           https://github.com/ChenxinAn-fdu/POLARIS/blob/9e4fda202cde05f8e31b0b8f8e6752b731f3e0b2/parquet/stage1/polaris-data-53K.parquet
# Data:     evaluation/benchmarks/aime24.parquet of POLARIS (data_source test-math-aime24) as
#           ~/data/aime24/test.parquet:
#           https://github.com/ChenxinAn-fdu/POLARIS/blob/9e4fda202cde05f8e31b0b8f8e6752b731f3e0b2/evaluation/benchmarks/aime24.parquet
# Reward:   verl scores no such data: write compute_score(data_source, solution_str, ground_truth,
#           extra_info) around deepscaler_reward_fn of POLARIS and pass its file as
#           reward.custom_reward_function.path (before verl 0.7.1: custom_reward_function.path):
#           https://github.com/ChenxinAn-fdu/POLARIS/blob/9e4fda202cde05f8e31b0b8f8e6752b731f3e0b2/deepscaler/rewards/math_reward.py#L100
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - trainer.dyn_sampling_polaris is left out: only the fork of verl in the source knows it. It
#     puts copies of other prompts of the batch in place of those whose responses all score alike,
#     and changes no size.
#   - Both KL terms are off, so the settings of the reference model and of the KL terms are left
#     out.
#   - rollout.enforce_eager is spelled out as the fork has it: verl's default is another now.
#   - data.val_batch_size, 512 in the source, is left out: verl calls it deprecated; so are
#     trainer.debug and the micro batch size in samples, which micro batches filled by tokens do
#     not use.
#   - Data paths, project, experiment name and logger are ours; actor.strategy is spelled out.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3-1.7B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/polaris/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/aime24/test.parquet"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-2}

# Parallelism and memory
SEQUENCE_PARALLEL_SIZE=${SEQUENCE_PARALLEL_SIZE:-1}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-1}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.8}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-128}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-128}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-1024}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-39936}
PPO_MAX_TOKEN_LEN_PER_GPU=${PPO_MAX_TOKEN_LEN_PER_GPU:-40960}
ROLLOUT_N=${ROLLOUT_N:-8}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-30}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3-1.7b_grpo_2_a100-80g_fsdp_vllm}

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
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${PPO_MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.actor.ulysses_sequence_parallel_size="${SEQUENCE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.clip_ratio_low=0.2
    actor_rollout_ref.actor.clip_ratio_high=0.28
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.fsdp_config.param_offload=True
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=True
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.max_num_batched_tokens=40960
    actor_rollout_ref.rollout.enable_chunked_prefill=True
    actor_rollout_ref.rollout.enforce_eager=True
    actor_rollout_ref.rollout.free_cache_engine=True
    actor_rollout_ref.rollout.temperature=1.5
    actor_rollout_ref.rollout.top_p=1.0
    actor_rollout_ref.rollout.top_k=-1
    actor_rollout_ref.rollout.val_kwargs.do_sample=True
    actor_rollout_ref.rollout.val_kwargs.temperature=1.2
    actor_rollout_ref.rollout.val_kwargs.top_p=1.0
    actor_rollout_ref.rollout.val_kwargs.n=8
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.val_before_train=False
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
