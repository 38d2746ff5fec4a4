#!/usr/bin/env bash
#
# Tag:      –
# Model:    Qwen/Qwen3-30B-A3B-Base
# Task:     SAPO
# Hardware: 16 x Ascend 910B3 64 GB (2 nodes of 8)
# Backends: Megatron-Core trains, vLLM Ascend generates
# Source:   https://github.com/verl-project/verl-ascend-recipe/blob/684037df8a3af795421efb82cfa1f80a0aed7834/sapo/run_qwen3_30b_a3b_megatron_npu.sh#L6
# Data:     VERL_HOME=~ bash dapo/prepare_dapo_data.sh of verl-recipe (data_source math_dapo):
#           https://github.com/verl-project/verl-recipe/blob/48ea0a797fa29867ea0ad92aff7d284eec7d4be3/dapo/prepare_dapo_data.sh
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - actor.megatron.grad_offload is gone: param_offload now releases the gradient buffers as
#     well.
#   - use_mbridge=True is left out: it is the default now.
#   - Micro batch sizes are left out: with use_dynamic_bsz the token limits decide.
#   - Settings of the reference model are left out: with both KL terms off there is none.
#   - Profiling and the choice between kinds of recomputation are left out; the source recomputes
#     all layers by default.
#   - The weights come from the Hugging Face checkpoint; the run of the source loaded a converted
#     one.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# The whole optimizer is in host memory, so the optimizer_offload of verl has nothing left to
# move. The source says that the first step runs out of memory with all offload off.
#
# Several nodes: start a Ray cluster over all 2 nodes first, with CUDA_DEVICE_MAX_CONNECTIONS=1,
# HCCL_CONNECT_TIMEOUT=1500, HCCL_OP_EXPANSION_MODE=AIV,
# RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES=1 and TASK_QUEUE_ENABLE=1 in the environment of
# each, then this script once, on the head node.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3-30B-A3B-Base}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/dapo-math-17k.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/aime-2024.parquet"}

# Hardware
NNODES=${NNODES:-2}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
TENSOR_PARALLEL_SIZE=${TENSOR_PARALLEL_SIZE:-4}
PIPELINE_PARALLEL_SIZE=${PIPELINE_PARALLEL_SIZE:-1}
EXPERT_PARALLEL_SIZE=${EXPERT_PARALLEL_SIZE:-8}
OPTIMIZER_OFFLOAD_FRACTION=${OPTIMIZER_OFFLOAD_FRACTION:-1}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-4}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.6}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-96}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-32}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-2048}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-4096}
PPO_MAX_TOKEN_LEN_PER_GPU=${PPO_MAX_TOKEN_LEN_PER_GPU:-8192}
ROLLOUT_N=${ROLLOUT_N:-8}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-1}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3-30b-a3b-base_sapo_16_ascend-910b3_megatron_vllm-ascend}

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
)

ACTOR=(
    actor_rollout_ref.actor.strategy=megatron
    actor_rollout_ref.actor.use_torch_compile=False
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True
    +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction="${OPTIMIZER_OFFLOAD_FRACTION}"
    +actor_rollout_ref.actor.optim.override_optimizer_config.overlap_cpu_optimizer_d2h_h2d=True
    +actor_rollout_ref.actor.optim.override_optimizer_config.use_precision_aware_optimizer=True
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${PPO_MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.policy_loss.loss_mode=sapo
    actor_rollout_ref.actor.tau_pos=1.0
    actor_rollout_ref.actor.tau_neg=1.05
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size="${TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size="${PIPELINE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.expert_model_parallel_size="${EXPERT_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1
    actor_rollout_ref.actor.megatron.param_offload=True
    actor_rollout_ref.actor.megatron.optimizer_offload=False
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1
    +actor_rollout_ref.actor.megatron.override_transformer_config.gradient_accumulation_fusion=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_permute_fusion=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype=fp32
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu="${PPO_MAX_TOKEN_LEN_PER_GPU}"
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
    trainer.test_freq=-1
    trainer.device=npu
    trainer.total_training_steps=100
    trainer.total_epochs="${TOTAL_EPOCHS}"
)

python3 -m verl.trainer.main_ppo model_engine=megatron \
    "${ALGORITHM[@]}" \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${TRAINER[@]}" \
    "$@"
