#!/usr/bin/env bash
#
# Tag:      MIN
# Model:    Qwen/Qwen3-VL-30B-A3B-Instruct
# Task:     GRPO
# Hardware: 8 x H100 80 GB (1 node)
# Backends: Megatron-Core trains, vLLM generates (vLLM 0.13.0 in the source)
# Source:   https://github.com/verl-project/verl/blob/1dda039b9c6311889a9c9a26040677e1254814f9/examples/grpo_trainer/run_qwen3_vl_30b_a3b_megatron.sh#L5
# Data:     verl's examples/data_preprocess/geo3k.py --local_dir ~/data/geo3k (data_source
#           hiyouga/geometry3k)
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - actor.megatron.grad_offload is gone: param_offload now releases the gradient buffers as
#     well.
#   - use_mbridge=True is left out: it is the default now. vanilla_mbridge, a default of the
#     release that the source names, is spelled out.
#   - Micro batch sizes are left out: with use_dynamic_bsz the token limits decide.
#   - The source starts Python by uv, with verl's lock file; this one takes python3 as it is.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# The parallel sizes are those with which it ran by the header of the source; its defaults are tensor
# and context parallel size 2. The source asks for 8 GPUs of 80 GB and names H100 and H200 as
# examples. It names verl 0.7.1, Megatron-LM 0.16.0 and mbridge 0.15.1, and sets
# CUDA_DEVICE_MAX_CONNECTIONS=1 and VLLM_ALLREDUCE_USE_SYMM_MEM=0 in the environment. DeepEP has to
# be installed.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3-VL-30B-A3B-Instruct}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/geo3k/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/geo3k/test.parquet"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
TENSOR_PARALLEL_SIZE=${TENSOR_PARALLEL_SIZE:-4}
PIPELINE_PARALLEL_SIZE=${PIPELINE_PARALLEL_SIZE:-1}
EXPERT_PARALLEL_SIZE=${EXPERT_PARALLEL_SIZE:-8}
OPTIMIZER_OFFLOAD_FRACTION=${OPTIMIZER_OFFLOAD_FRACTION:-1}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-4}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.7}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-512}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-128}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-1024}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-2048}
MAX_TOKEN_LEN_PER_GPU=${MAX_TOKEN_LEN_PER_GPU:-4096}
ROLLOUT_N=${ROLLOUT_N:-5}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-15}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3-vl-30b-a3b-instruct_grpo_8_h100_megatron_vllm}

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
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True
    +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction="${OPTIMIZER_OFFLOAD_FRACTION}"
    +actor_rollout_ref.actor.optim.override_optimizer_config.overlap_cpu_optimizer_d2h_h2d=True
    +actor_rollout_ref.actor.optim.override_optimizer_config.use_precision_aware_optimizer=True
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.actor.use_kl_loss=True
    actor_rollout_ref.actor.kl_loss_coef=0.01
    actor_rollout_ref.actor.kl_loss_type=low_var_kl
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size="${TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size="${PIPELINE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.expert_model_parallel_size="${EXPERT_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size=1
    actor_rollout_ref.actor.megatron.param_offload=True
    actor_rollout_ref.actor.megatron.optimizer_offload=True
    actor_rollout_ref.actor.megatron.vanilla_mbridge=True
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1
    +actor_rollout_ref.actor.megatron.override_transformer_config.gradient_accumulation_fusion=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype=fp32
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_permute_fusion=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_enable_deepep=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_token_dispatcher_type=flex
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_aux_loss_coeff=0.01
    +actor_rollout_ref.actor.megatron.override_transformer_config.moe_z_loss_coeff=0.001
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
)

REFERENCE=(
    actor_rollout_ref.ref.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.ref.log_prob_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.ref.megatron.tensor_model_parallel_size="${TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.ref.megatron.pipeline_model_parallel_size="${PIPELINE_PARALLEL_SIZE}"
    actor_rollout_ref.ref.megatron.expert_model_parallel_size="${EXPERT_PARALLEL_SIZE}"
    actor_rollout_ref.ref.megatron.expert_tensor_parallel_size=1
    actor_rollout_ref.ref.megatron.param_offload=True
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.save_freq=20
    trainer.test_freq=5
    trainer.total_epochs="${TOTAL_EPOCHS}"
)

python3 -m verl.trainer.main_ppo model_engine=megatron \
    "${ALGORITHM[@]}" \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${REFERENCE[@]}" \
    "${TRAINER[@]}" \
    "$@"
