#!/usr/bin/env bash
#
# Tag:      –
# Model:    Qwen/Qwen2.5-Math-7B
# Task:     DAPO
# Hardware: 32 x H20 96 GB (4 nodes of 8: 2 train, 2 generate)
# Backends: FSDP2 trains, vLLM generates
# Source:   https://github.com/verl-project/verl/blob/1dda039b9c6311889a9c9a26040677e1254814f9/docs/advance/fully_async.md#L358
#           https://github.com/verl-project/verl/blob/1dda039b9c6311889a9c9a26040677e1254814f9/verl/experimental/fully_async_policy/shell/dapo_7b_math_fsdp2_16_16.sh
# Data:     VERL_HOME=~ bash dapo/prepare_dapo_data.sh of verl-recipe (data_source math_dapo):
#           https://github.com/verl-project/verl-recipe/blob/48ea0a797fa29867ea0ad92aff7d284eec7d4be3/dapo/prepare_dapo_data.sh
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - staleness_threshold is 0.5, as the page measured it; the published script has 0.1.
#   - The reference model is left out: without a KL loss none is loaded.
#   - The penalty on overlong answers is left out: it changes the reward, not what a run needs.
#   - rollout.mode is left out: the current release generates in asynchronous mode only.
#   - model.enable_gradient_checkpointing, a default of verl, is spelled out. Data paths, project and
#     experiment name are ours.
#
# Training and generation run at the same time, each on GPUs of its own. The source drops no prompts
# whose responses all score alike, which DAPO does.
#
# Several nodes: start a Ray cluster over all 4 nodes first, then this script once, on the head
# node.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-Math-7B}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/dapo-math-17k.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/aime-2024.parquet"}

# Hardware
TRAIN_NNODES=${TRAIN_NNODES:-2}
ROLLOUT_NNODES=${ROLLOUT_NNODES:-2}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}

# Parallelism and memory
FSDP_SIZE=${FSDP_SIZE:-8}
SEQUENCE_PARALLEL_SIZE=${SEQUENCE_PARALLEL_SIZE:-4}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-4}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.8}

# Batch and lengths
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-32}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-2048}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-28672}
MAX_TOKEN_LEN_PER_GPU=${MAX_TOKEN_LEN_PER_GPU:-$((2 * (MAX_PROMPT_LENGTH + MAX_RESPONSE_LENGTH)))}
LOG_PROB_MAX_TOKEN_LEN_PER_GPU=${LOG_PROB_MAX_TOKEN_LEN_PER_GPU:-$((3 * (MAX_PROMPT_LENGTH + MAX_RESPONSE_LENGTH)))}
ROLLOUT_N=${ROLLOUT_N:-16}
STALENESS_THRESHOLD=${STALENESS_THRESHOLD:-0.5}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-10}
TOTAL_ROLLOUT_STEPS=${TOTAL_ROLLOUT_STEPS:-$((512 * 400))}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen2.5-math-7b_dapo_32_h20_fsdp2_vllm}

ALGORITHM=(
    algorithm.adv_estimator=grpo
    algorithm.use_kl_in_reward=False
)

DATA=(
    data.train_files="${TRAIN_FILES}"
    data.val_files="${VAL_FILES}"
    data.train_batch_size=0
    data.gen_batch_size=1
    data.return_raw_chat=True
    data.max_prompt_length="${MAX_PROMPT_LENGTH}"
    data.max_response_length="${MAX_RESPONSE_LENGTH}"
    data.prompt_key=prompt
    data.truncation=left
)

MODEL=(
    actor_rollout_ref.hybrid_engine=False
    actor_rollout_ref.model.path="${MODEL_PATH}"
    actor_rollout_ref.model.use_remove_padding=True
    actor_rollout_ref.model.enable_gradient_checkpointing=True
    +actor_rollout_ref.model.override_config.max_position_embeddings=32768
)

ACTOR=(
    actor_rollout_ref.actor.strategy=fsdp2
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    actor_rollout_ref.actor.optim.lr_warmup_steps=10
    actor_rollout_ref.actor.optim.weight_decay=0.1
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.actor.ulysses_sequence_parallel_size="${SEQUENCE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.clip_ratio_low=0.2
    actor_rollout_ref.actor.clip_ratio_high=0.28
    actor_rollout_ref.actor.clip_ratio_c=10.0
    actor_rollout_ref.actor.loss_agg_mode=token-mean
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.grad_clip=1.0
    actor_rollout_ref.actor.fsdp_config.fsdp_size="${FSDP_SIZE}"
    actor_rollout_ref.actor.fsdp_config.param_offload=False
    actor_rollout_ref.actor.fsdp_config.optimizer_offload=False
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.temperature=1.0
    actor_rollout_ref.rollout.top_p=1.0
    actor_rollout_ref.rollout.top_k=-1
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.enable_chunked_prefill=True
    actor_rollout_ref.rollout.max_num_batched_tokens="$((MAX_PROMPT_LENGTH + MAX_RESPONSE_LENGTH))"
    actor_rollout_ref.rollout.calculate_log_probs=True
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu="${LOG_PROB_MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.rollout.val_kwargs.do_sample=True
    actor_rollout_ref.rollout.val_kwargs.temperature=1.0
    actor_rollout_ref.rollout.val_kwargs.top_p=0.7
    actor_rollout_ref.rollout.val_kwargs.top_k=-1
    actor_rollout_ref.rollout.val_kwargs.n=1
)

ASYNC=(
    async_training.staleness_threshold="${STALENESS_THRESHOLD}"
    async_training.trigger_parameter_sync_step=4
    async_training.require_batches=4
    async_training.partial_rollout=True
)

TRAINER=(
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${TRAIN_NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    rollout.nnodes="${ROLLOUT_NNODES}"
    rollout.n_gpus_per_node="${GPUS_PER_NODE}"
    rollout.total_rollout_steps="${TOTAL_ROLLOUT_STEPS}"
    trainer.val_before_train=True
    trainer.save_freq=-1
    trainer.test_freq=20
    trainer.resume_mode=auto
    trainer.total_epochs="${TOTAL_EPOCHS}"
)

python3 -m verl.experimental.fully_async_policy.fully_async_main \
    "${ALGORITHM[@]}" \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${ASYNC[@]}" \
    "${TRAINER[@]}" \
    "$@"
