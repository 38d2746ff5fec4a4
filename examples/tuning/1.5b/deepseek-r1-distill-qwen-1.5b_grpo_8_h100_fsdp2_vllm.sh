#!/usr/bin/env bash
#
# Tag:      MIN
# Model:    deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B
# Task:     GRPO
# Hardware: 8 x H100 80 GB (1 node)
# Backends: FSDP2 trains, vLLM generates
# Source:   https://github.com/verl-project/vexact/blob/88ad2a9a924be72e5df1fe6a91e750f59ff1b599/README.md#L61
#           https://github.com/verl-project/vexact/blob/88ad2a9a924be72e5df1fe6a91e750f59ff1b599/examples/verify/run_dense_vllm.sh
# Data:     math_1460 of sail/Sanity-Test-R1D-1.5B to train, AIME 2024 and 2025 to validate, as
#           vexact names them:
#           https://github.com/verl-project/vexact/blob/88ad2a9a924be72e5df1fe6a91e750f59ff1b599/examples/README.md#L30
# Reward:   the source scores with a function of its own: put a checkout of vexact on PYTHONPATH and
#           pass its math_grader.py as reward.custom_reward_function.path (before verl 0.7.1:
#           custom_reward_function.path), with compute_math_score as the name next to it:
#           https://github.com/verl-project/vexact/blob/88ad2a9a924be72e5df1fe6a91e750f59ff1b599/examples/math_reward_model/math_grader.py
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - The reward function is left to the reader: the source's own is part of its repository.
#   - rollout.mode is left out: the current release generates in asynchronous mode only. So are
#     trainer.use_legacy_worker_impl, which is gone, and data.val_batch_size, which is deprecated.
#   - Settings that the source leaves to verl's defaults, such as the learning rate, the packing of
#     sequences and the token limit of log-probabilities, are spelled out.
#   - kl_loss_coef is left out: without a KL loss no reference model is loaded.
#   - Data paths, project and experiment name are ours.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/math_1460/math_1460.parquet"}
VAL_FILES=${VAL_FILES:-"['${HOME}/data/math_1460/aime_2024.parquet', '${HOME}/data/math_1460/aime_2025.parquet']"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-1}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.9}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-64}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-16}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-1024}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-8192}
MAX_TOKEN_LEN_PER_GPU=${MAX_TOKEN_LEN_PER_GPU:-32768}
ROLLOUT_N=${ROLLOUT_N:-8}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-88}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-deepseek-r1-distill-qwen-1.5b_grpo_8_h100_fsdp2_vllm}

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
)

MODEL=(
    actor_rollout_ref.model.path="${MODEL_PATH}"
    actor_rollout_ref.model.use_remove_padding=True
    actor_rollout_ref.model.enable_gradient_checkpointing=True
)

ACTOR=(
    actor_rollout_ref.actor.strategy=fsdp2
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    actor_rollout_ref.actor.optim.weight_decay=0.0
    actor_rollout_ref.actor.optim.betas=[0.9,0.95]
    +actor_rollout_ref.actor.optim.override_optimizer_config.eps=1e-15
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.clip_ratio_high=0.28
    actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum-norm
    actor_rollout_ref.actor.fsdp_config.param_offload=True
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=True
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.max_num_seqs=512
    actor_rollout_ref.rollout.max_num_batched_tokens=4096
    actor_rollout_ref.rollout.calculate_log_probs=True
    actor_rollout_ref.rollout.val_kwargs.do_sample=True
    actor_rollout_ref.rollout.val_kwargs.temperature=0.6
    actor_rollout_ref.rollout.val_kwargs.n=32
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
    trainer.val_before_train=True
    trainer.save_freq=-1
    trainer.test_freq=50
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
