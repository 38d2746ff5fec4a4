#!/usr/bin/env bash
#
# Tag:      –
# Model:    deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B
# Task:     GRPO
# Hardware: 8 x H200 141 GB (1 node)
# Backends: FSDP trains, vLLM generates
# Source:   https://github.com/rllm-org/rllm/issues/29
#           https://github.com/agentica-project/rllm/blob/ee4579243c95ca8b83e36f7791ad05fd25053347/scripts/train/run_deepscaler_1.5b_8k.sh
# Data:     scripts/data/deepscaler_dataset.py --local_dir ~/data/deepscaler of DeepScaleR
#           (data_source empty):
#           https://github.com/agentica-project/rllm/blob/ee4579243c95ca8b83e36f7791ad05fd25053347/scripts/data/deepscaler_dataset.py
# Reward:   verl scores no such data: write compute_score(data_source, solution_str, ground_truth,
#           extra_info) around deepscaler_reward_fn of DeepScaleR and pass its file as
#           reward.custom_reward_function.path (before verl 0.7.1: custom_reward_function.path):
#           https://github.com/agentica-project/rllm/blob/ee4579243c95ca8b83e36f7791ad05fd25053347/deepscaler/rewards/math_reward.py#L101
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - n_val and val_temperature of the source's fork of verl are val_kwargs in verl.
#   - rollout.enforce_eager, a default of verl when the source was written, is spelled out, as are
#     entropy_coeff, the token limits and the limits of the rollout; max_num_seqs is that of vLLM, as
#     the fork does not pass its own on.
#   - grad_offload is left out: verl has no such switch now, and it was off. data.val_batch_size is
#     deprecated.
#   - VLLM_ATTENTION_BACKEND=XFORMERS, which the source's vLLM needed, is left out.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/deepscaler/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/deepscaler/aime.parquet"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-1}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.85}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-128}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-64}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-1024}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-8192}
MAX_TOKEN_LEN_PER_GPU=${MAX_TOKEN_LEN_PER_GPU:-32768}
ROLLOUT_N=${ROLLOUT_N:-8}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-30}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-deepseek-r1-distill-qwen-1.5b_grpo_8_h200_fsdp_vllm}

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
    actor_rollout_ref.actor.use_kl_loss=True
    actor_rollout_ref.actor.kl_loss_coef=0.001
    actor_rollout_ref.actor.kl_loss_type=low_var_kl
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
    actor_rollout_ref.rollout.max_num_seqs=256
    actor_rollout_ref.rollout.max_num_batched_tokens=8192
    actor_rollout_ref.rollout.temperature=0.6
    actor_rollout_ref.rollout.val_kwargs.do_sample=True
    actor_rollout_ref.rollout.val_kwargs.temperature=0.6
    actor_rollout_ref.rollout.val_kwargs.n=8
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
)

REFERENCE=(
    actor_rollout_ref.ref.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.ref.log_prob_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.ref.fsdp_config.param_offload=True
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.val_before_train=True
    trainer.save_freq=20
    trainer.test_freq=20
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
