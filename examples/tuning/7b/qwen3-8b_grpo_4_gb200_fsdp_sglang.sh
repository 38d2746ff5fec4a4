#!/usr/bin/env bash
#
# Tag:      –
# Model:    Qwen/Qwen3-8B
# Task:     GRPO
# Hardware: 4 x GB200 (1 node; the source gives 192 GB for each GPU)
# Backends: FSDP trains, SGLang generates (SGLang 0.5.6.post2 in the image of the published run)
# Source:   https://github.com/verl-project/verl/commit/3f2fd075da015579639cd2f99aa1c2811c6f48d4
#           https://github.com/verl-project/verl/blob/3f2fd075da015579639cd2f99aa1c2811c6f48d4/examples/grpo_trainer/run_qwen3-8b_gb200.sh#L1
# Data:     verl's examples/data_preprocess/gsm8k.py --local_dir ~/data/gsm8k (data_source
#           openai/gsm8k)
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# Activations are recomputed, the reference model is offloaded, and weights, gradients and
# Adam's moments are held in bf16. GB200 is the reason for enforce_eager, for FlashInfer and for
# giving Ray its number of GPUs.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen3-8B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/gsm8k/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/gsm8k/test.parquet"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-4}

# Parallelism and memory
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-4}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.7}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-1024}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-256}
PPO_MICRO_BATCH_SIZE_PER_GPU=${PPO_MICRO_BATCH_SIZE_PER_GPU:-32}
LOG_PROB_MICRO_BATCH_SIZE_PER_GPU=${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU:-32}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-512}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-1024}
ROLLOUT_N=${ROLLOUT_N:-5}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-15}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen3-8b_grpo_4_gb200_fsdp_sglang}

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
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.fsdp_config.model_dtype=bfloat16
    actor_rollout_ref.actor.fsdp_config.param_offload=False
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=False
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=sglang
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.enforce_eager=True
    actor_rollout_ref.rollout.free_cache_engine=True
    actor_rollout_ref.rollout.enable_chunked_prefill=True
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu="${LOG_PROB_MICRO_BATCH_SIZE_PER_GPU}"
    +actor_rollout_ref.rollout.engine_kwargs.sglang.attention_backend=flashinfer
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
    trainer.save_freq=20
    trainer.test_freq=5
    trainer.total_epochs="${TOTAL_EPOCHS}"
    +ray_kwargs.ray_init.num_gpus="${GPUS_PER_NODE}"
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
