#!/usr/bin/env bash
#
# Tag:      MIN
# Model:    Qwen/Qwen3.5-122B-A10B
# Task:     GRPO
# Hardware: 32 x H20 96 GB (4 nodes of 8)
# Backends: Megatron-Core trains, vLLM generates
# Source:   https://github.com/verl-project/verl/blob/3bc65164b185cf51e39c333a791b8cf5cb15de00/examples/grpo_trainer/run_qwen3_5-122b-a10b-megatron.sh
# Data:     verl's examples/data_preprocess/geo3k.py --local_dir ~/data/geo3k (data_source
#           hiyouga/geometry3k)
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - actor.megatron.grad_offload is gone: param_offload now releases the gradient buffers as
#     well.
#   - model_engine=megatron takes the place of --config-path and --config-name.
#   - rollout.mode=async and use_mbridge=True are left out: they are the defaults now.
#   - Token limits are left out: micro batches are counted in responses.
#   - Settings of the reference model are left out: with both KL terms off there is none.
#   - Checkpoints every 50 steps are left out.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# The source names the image verlai/verl:vllm017.latest, Megatron-LM 0.16.0, mbridge from its
# repository and flash-linear-attention.
#
# Several nodes: start a Ray cluster over all 4 nodes first, with CUDA_DEVICE_MAX_CONNECTIONS=1
# and VLLM_ALLREDUCE_USE_SYMM_MEM=0 in the environment of each, then this script once, on the head
# node.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3.5-122B-A10B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/geo3k/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/geo3k/test.parquet"}

# Hardware
NNODES=${NNODES:-4}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
TENSOR_PARALLEL_SIZE=${TENSOR_PARALLEL_SIZE:-2}
PIPELINE_PARALLEL_SIZE=${PIPELINE_PARALLEL_SIZE:-2}
EXPERT_PARALLEL_SIZE=${EXPERT_PARALLEL_SIZE:-8}
OPTIMIZER_OFFLOAD_FRACTION=${OPTIMIZER_OFFLOAD_FRACTION:-1}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-8}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.66}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-128}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-64}
PPO_MICRO_BATCH_SIZE_PER_GPU=${PPO_MICRO_BATCH_SIZE_PER_GPU:-1}
LOG_PROB_MICRO_BATCH_SIZE_PER_GPU=${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU:-1}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-3240}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-4096}
ROLLOUT_N=${ROLLOUT_N:-6}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-20}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3.5-122b-a10b_grpo_32_h20_megatron_vllm}

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
    data.truncation=right
)

MODEL=(
    actor_rollout_ref.model.path="${MODEL_PATH}"
    actor_rollout_ref.model.use_remove_padding=False
    actor_rollout_ref.nccl_timeout=10800
)

ACTOR=(
    actor_rollout_ref.actor.strategy=megatron
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True
    +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction="${OPTIMIZER_OFFLOAD_FRACTION}"
    +actor_rollout_ref.actor.optim.override_optimizer_config.overlap_cpu_optimizer_d2h_h2d=True
    +actor_rollout_ref.actor.optim.override_optimizer_config.use_precision_aware_optimizer=True
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu="${PPO_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.actor.use_dynamic_bsz=False
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size="${TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size="${PIPELINE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.expert_model_parallel_size="${EXPERT_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1
    actor_rollout_ref.actor.megatron.param_offload=True
    actor_rollout_ref.actor.megatron.optimizer_offload=True
    actor_rollout_ref.actor.megatron.use_remove_padding=False
    actor_rollout_ref.actor.megatron.vanilla_mbridge=True
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1
    +actor_rollout_ref.actor.megatron.override_transformer_config.apply_rope_fusion=False
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_grouped_gemm=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_permute_fusion=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_load_balancing_type=none
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=4096
    +actor_rollout_ref.rollout.engine_kwargs.vllm.max_model_len=15768
)

TRAINER=(
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.val_before_train=False
    trainer.save_freq=-1
    trainer.test_freq=10
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
