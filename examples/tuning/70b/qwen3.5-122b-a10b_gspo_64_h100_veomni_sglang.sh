#!/usr/bin/env bash
#
# Tag:      –
# Model:    Qwen/Qwen3.5-122B-A10B
# Task:     GSPO
# Hardware: 64 x H100 80 GB (8 nodes of 8)
# Backends: VeOmni trains, SGLang generates (SGLang 0.5.9 in the source)
# Source:   https://github.com/verl-project/verl/blob/8ebccd4468ab5f947e90e712f36a0d7ddbb775a9/examples/grpo_trainer/run_qwen3_5-122b-a10b_veomni.sh
# Data:     verl's examples/data_preprocess/geo3k.py --local_dir ~/data/geo3k (data_source
#           hiyouga/geometry3k)
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - rollout.mode=async is left out: it is the default now.
#   - Token limits are left out: micro batches are counted in responses.
#   - Settings of the reference model are left out: with both KL terms off there is none.
#   - The logging of generations is left out.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# The source names transformers 5.3.0, flash-linear-attention 0.4.1 and veomni 0.1.9a5.
#
# Several nodes: start a Ray cluster over all 8 nodes first, then this script once, on the head
# node.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3.5-122B-A10B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/geo3k/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/geo3k/test.parquet"}

# Hardware
NNODES=${NNODES:-8}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
SEQUENCE_PARALLEL_SIZE=${SEQUENCE_PARALLEL_SIZE:-2}
EXPERT_PARALLEL_SIZE=${EXPERT_PARALLEL_SIZE:-8}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-8}
ROLLOUT_EXPERT_PARALLEL_SIZE=${ROLLOUT_EXPERT_PARALLEL_SIZE:-8}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.6}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-128}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-32}
PPO_MICRO_BATCH_SIZE_PER_GPU=${PPO_MICRO_BATCH_SIZE_PER_GPU:-1}
LOG_PROB_MICRO_BATCH_SIZE_PER_GPU=${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU:-1}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-1024}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-2048}
ROLLOUT_N=${ROLLOUT_N:-8}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-10}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3.5-122b-a10b_gspo_64_h100_veomni_sglang}

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
)

ACTOR=(
    actor_rollout_ref.actor.strategy=veomni
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu="${PPO_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.actor.use_dynamic_bsz=False
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.policy_loss.loss_mode=gspo
    actor_rollout_ref.actor.clip_ratio_low=3e-4
    actor_rollout_ref.actor.clip_ratio_high=4e-4
    actor_rollout_ref.actor.clip_ratio_c=10.0
    actor_rollout_ref.actor.veomni.ulysses_parallel_size="${SEQUENCE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.veomni.expert_parallel_size="${EXPERT_PARALLEL_SIZE}"
    actor_rollout_ref.actor.veomni.enable_full_shard=True
    actor_rollout_ref.actor.veomni.param_offload=True
    actor_rollout_ref.actor.veomni.optimizer_offload=True
    actor_rollout_ref.actor.veomni.attn_implementation=flash_attention_2
    actor_rollout_ref.actor.veomni.moe_implementation=fused_triton
    actor_rollout_ref.actor.veomni.cross_entropy_loss_implementation=liger_kernel
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=sglang
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.data_parallel_size=1
    actor_rollout_ref.rollout.expert_parallel_size="${ROLLOUT_EXPERT_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.rollout.val_kwargs.top_p=0.7
    actor_rollout_ref.rollout.val_kwargs.temperature=1.0
    actor_rollout_ref.rollout.val_kwargs.n=1
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.val_before_train=False
    trainer.save_freq=-1
    trainer.test_freq=10
    trainer.total_training_steps=500
    trainer.total_epochs="${TOTAL_EPOCHS}"
)

python3 -m verl.trainer.main_ppo model_engine=veomni \
    "${ALGORITHM[@]}" \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${TRAINER[@]}" \
    "$@"
