#!/usr/bin/env bash
#
# Tag:      MIN
# Model:    Qwen/Qwen3-30B-A3B-Instruct-2507
# Task:     GRPO
# Hardware: 16 x Ascend 910C 64 GB (1 node)
# Backends: Megatron-Core trains, SGLang generates
# Source:   https://github.com/verl-project/verl/blob/1dda039b9c6311889a9c9a26040677e1254814f9/tests/special_npu/nightly_ci_ascend/run_grpo_qwen3_30b_megatron_sglang_npu.sh
# Data:     VERL_HOME=~ bash dapo/prepare_dapo_data.sh of verl-recipe (data_source math_dapo):
#           https://github.com/verl-project/verl-recipe/blob/48ea0a797fa29867ea0ad92aff7d284eec7d4be3/dapo/prepare_dapo_data.sh
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - actor.megatron.grad_offload is gone: param_offload now releases the gradient buffers as
#     well.
#   - model_engine=megatron takes the place of --config-path and --config-name.
#   - use_mbridge=True is left out: it is the default now.
#   - Token limits are left out: micro batches are counted in responses.
#   - The profiler is left out; the validation file is another than the training file.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# The source patches a fault of its SGLang, and sets HCCL_OP_EXPANSION_MODE=AIV,
# TASK_QUEUE_ENABLE=1, DISABLE_L2_CACHE=1 and HCCL_CONNECT_TIMEOUT=1500 in the environment.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3-30B-A3B-Instruct-2507}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/dapo-math-17k.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/aime-2024.parquet"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-16}

# Parallelism and memory
TENSOR_PARALLEL_SIZE=${TENSOR_PARALLEL_SIZE:-4}
PIPELINE_PARALLEL_SIZE=${PIPELINE_PARALLEL_SIZE:-1}
EXPERT_PARALLEL_SIZE=${EXPERT_PARALLEL_SIZE:-4}
EXPERT_TENSOR_PARALLEL_SIZE=${EXPERT_TENSOR_PARALLEL_SIZE:-4}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-4}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.5}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-16}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-16}
PPO_MICRO_BATCH_SIZE_PER_GPU=${PPO_MICRO_BATCH_SIZE_PER_GPU:-1}
LOG_PROB_MICRO_BATCH_SIZE_PER_GPU=${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU:-1}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-2048}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-8192}
ROLLOUT_N=${ROLLOUT_N:-8}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-15}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3-30b-a3b-instruct-2507_grpo_16_ascend-910c_megatron_sglang}

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
    data.prompt_key=prompt
    data.truncation=left
)

MODEL=(
    actor_rollout_ref.model.path="${MODEL_PATH}"
    actor_rollout_ref.model.use_remove_padding=True
)

ACTOR=(
    actor_rollout_ref.actor.strategy=megatron
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu="${PPO_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.actor.use_dynamic_bsz=False
    actor_rollout_ref.actor.use_torch_compile=False
    actor_rollout_ref.actor.use_kl_loss=True
    actor_rollout_ref.actor.kl_loss_coef=0.001
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size="${TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size="${PIPELINE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.expert_model_parallel_size="${EXPERT_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.expert_tensor_parallel_size="${EXPERT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.param_offload=True
    actor_rollout_ref.actor.megatron.optimizer_offload=True
    actor_rollout_ref.actor.megatron.vanilla_mbridge=True
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_method=uniform
    actor_rollout_ref.actor.megatron.override_transformer_config.recompute_num_layers=1
    +actor_rollout_ref.actor.megatron.override_transformer_config.use_flash_attn=True
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=sglang
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.temperature=1.0
    actor_rollout_ref.rollout.top_p=1.0
    actor_rollout_ref.rollout.top_k=-1
    +actor_rollout_ref.rollout.engine_kwargs.sglang.attention_backend=ascend
    +actor_rollout_ref.rollout.engine_kwargs.sglang.enable_dp_attention=False
    +actor_rollout_ref.rollout.engine_kwargs.sglang.chunked_prefill_size=-1
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.rollout.val_kwargs.do_sample=True
    actor_rollout_ref.rollout.val_kwargs.temperature=1.0
    actor_rollout_ref.rollout.val_kwargs.top_p=1.0
    actor_rollout_ref.rollout.val_kwargs.top_k=-1
    actor_rollout_ref.rollout.val_kwargs.n=1
)

REFERENCE=(
    actor_rollout_ref.ref.use_torch_compile=False
    actor_rollout_ref.ref.log_prob_use_dynamic_bsz=False
    actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
    actor_rollout_ref.ref.megatron.tensor_model_parallel_size="${TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.ref.megatron.pipeline_model_parallel_size="${PIPELINE_PARALLEL_SIZE}"
    actor_rollout_ref.ref.megatron.expert_model_parallel_size="${EXPERT_PARALLEL_SIZE}"
    actor_rollout_ref.ref.megatron.expert_tensor_parallel_size="${EXPERT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.ref.megatron.param_offload=True
)

TRAINER=(
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.val_before_train=False
    trainer.save_freq=-1
    trainer.test_freq=-1
    trainer.device=npu
    trainer.total_training_steps=15
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
