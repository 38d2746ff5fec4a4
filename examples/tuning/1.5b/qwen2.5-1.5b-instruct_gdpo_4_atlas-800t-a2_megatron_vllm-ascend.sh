#!/usr/bin/env bash
#
# Tag:      –
# Model:    Qwen/Qwen2.5-1.5B-Instruct
# Task:     GDPO
# Hardware: 4 NPUs of an Atlas 800T A2 server (1 node)
# Backends: Megatron-Core trains, vLLM Ascend generates (vLLM Ascend 0.18.0 in the published run)
# Source:   https://github.com/verl-project/verl-ascend-recipe/blob/2a3edec04b4d4aaee83b61f050d507c431f63156/verl_ascend_practice/run_qwen2_5_1_5b_gdpo_megatron_npu.sh
# Data:     dataset/rlla_4k of ToolRL as ~/data/rlla_4k:
#           https://github.com/qiancheng0/ToolRL/tree/8cee13ec0ca72f0461da372a93a6fd8140dbb840/dataset/rlla_4k
# Reward:   REWARD_FUNCTION_PATH, by default verl/utils/reward_score/rlla.py in a checkout of verl
#           in ~/verl:
#           https://github.com/verl-project/verl/blob/483b8a009ba3a97563edee3a19887e4862b8094a/verl/utils/reward_score/rlla.py
#
# Rewritten from the source for the current verl configuration (0.9.1). Changes:
#   - actor.megatron.grad_offload, False in the source, is gone: param_offload now releases the
#     gradient buffers as well.
#   - model.enable_gradient_checkpointing is left out: it changes nothing under Megatron.
#   - Micro batch sizes in samples are left out: all micro batches are filled by tokens.
#   - The HCCL, CANN and vLLM variables that the source exports for its machine are left out, and
#     so is the test of the parallel sizes.
#   - data.val_batch_size, 16 in the source, is left out: verl calls it deprecated.
#   - The reward function is that of a checkout of verl in your home: the source asks Python for the
#     one of the installed verl, utils/reward_score/rlla.py.
#   - The coefficients of the KL terms, which are both off, are left out, and the reference model
#     that nothing uses.
#   - Data paths, project and experiment name are ours; actor.strategy is spelled out.
#
# Settings: environment variables of the names below, or more Hydra overrides as arguments.

set -euo pipefail

# Model and data
MODEL_PATH=${MODEL_PATH:-Qwen/Qwen2.5-1.5B-Instruct}
TRAIN_FILES=${TRAIN_FILES:-"${HOME}/data/rlla_4k/train.parquet"}
VAL_FILES=${VAL_FILES:-"${HOME}/data/rlla_4k/test.parquet"}
REWARD_FUNCTION_PATH=${REWARD_FUNCTION_PATH:-"${HOME}/verl/verl/utils/reward_score/rlla.py"}

# Hardware
NNODES=${NNODES:-1}
GPUS_PER_NODE=${GPUS_PER_NODE:-4}

# Parallelism and memory
TENSOR_PARALLEL_SIZE=${TENSOR_PARALLEL_SIZE:-2}
PIPELINE_PARALLEL_SIZE=${PIPELINE_PARALLEL_SIZE:-1}
ROLLOUT_TENSOR_PARALLEL_SIZE=${ROLLOUT_TENSOR_PARALLEL_SIZE:-2}
GPU_MEMORY_UTILIZATION=${GPU_MEMORY_UTILIZATION:-0.35}

# Batch and lengths
TRAIN_BATCH_SIZE=${TRAIN_BATCH_SIZE:-16}
PPO_MINI_BATCH_SIZE=${PPO_MINI_BATCH_SIZE:-8}
MAX_PROMPT_LENGTH=${MAX_PROMPT_LENGTH:-2048}
MAX_RESPONSE_LENGTH=${MAX_RESPONSE_LENGTH:-1024}
MAX_MODEL_LEN=${MAX_MODEL_LEN:-$((MAX_PROMPT_LENGTH + MAX_RESPONSE_LENGTH))}
PPO_MAX_TOKEN_LEN_PER_GPU=${PPO_MAX_TOKEN_LEN_PER_GPU:-$((2 * MAX_MODEL_LEN))}
MAX_NUM_SEQS=${MAX_NUM_SEQS:-32}
ROLLOUT_N=${ROLLOUT_N:-4}

# Optimization
LEARNING_RATE=${LEARNING_RATE:-1e-6}
TOTAL_EPOCHS=${TOTAL_EPOCHS:-1}
TOTAL_TRAINING_STEPS=${TOTAL_TRAINING_STEPS:-100}

# Run
PROJECT_NAME=${PROJECT_NAME:-rl-resources}
EXPERIMENT_NAME=${EXPERIMENT_NAME:-qwen2.5-1.5b-instruct_gdpo_4_atlas-800t-a2_megatron_vllm-ascend}

ALGORITHM=(
    algorithm.adv_estimator=gdpo
    '+algorithm.gdpo_reward_keys=["accuracy_reward","format_reward"]'
    algorithm.use_kl_in_reward=False
)

DATA=(
    data.train_files="${TRAIN_FILES}"
    data.val_files="${VAL_FILES}"
    data.train_batch_size="${TRAIN_BATCH_SIZE}"
    data.max_prompt_length="${MAX_PROMPT_LENGTH}"
    data.max_response_length="${MAX_RESPONSE_LENGTH}"
    data.dataloader_num_workers=0
    data.seed=42
    data.filter_overlong_prompts=True
    data.truncation=error
)

MODEL=(
    actor_rollout_ref.model.path="${MODEL_PATH}"
    actor_rollout_ref.model.use_remove_padding=True
)

ACTOR=(
    actor_rollout_ref.actor.strategy=megatron
    actor_rollout_ref.actor.optim.lr="${LEARNING_RATE}"
    actor_rollout_ref.actor.ppo_mini_batch_size="${PPO_MINI_BATCH_SIZE}"
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu="${PPO_MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.actor.loss_agg_mode=token-mean
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.actor.entropy_coeff=0
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size="${TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size="${PIPELINE_PARALLEL_SIZE}"
    actor_rollout_ref.actor.megatron.param_offload=False
    actor_rollout_ref.actor.megatron.optimizer_offload=False
    actor_rollout_ref.actor.megatron.use_mbridge=True
    actor_rollout_ref.actor.megatron.vanilla_mbridge=False
    actor_rollout_ref.actor.megatron.dtype=bfloat16
    +actor_rollout_ref.actor.megatron.override_transformer_config.apply_rope_fusion=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.position_embedding_type=rope
    +actor_rollout_ref.actor.megatron.override_transformer_config.use_fused_rotary_pos_emb=True
    +actor_rollout_ref.actor.megatron.override_transformer_config.normalization=RMSNorm
    +actor_rollout_ref.actor.megatron.override_transformer_config.use_fused_rmsnorm=True
    ++actor_rollout_ref.actor.megatron.override_transformer_config.attention_backend=flash
    +actor_rollout_ref.actor.megatron.override_transformer_config.use_flash_attn=True
)

ROLLOUT=(
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.n="${ROLLOUT_N}"
    actor_rollout_ref.rollout.tensor_model_parallel_size="${ROLLOUT_TENSOR_PARALLEL_SIZE}"
    actor_rollout_ref.rollout.gpu_memory_utilization="${GPU_MEMORY_UTILIZATION}"
    actor_rollout_ref.rollout.max_model_len="${MAX_MODEL_LEN}"
    actor_rollout_ref.rollout.max_num_seqs="${MAX_NUM_SEQS}"
    actor_rollout_ref.rollout.max_num_batched_tokens=8192
    actor_rollout_ref.rollout.enforce_eager=True
    actor_rollout_ref.rollout.free_cache_engine=True
    actor_rollout_ref.rollout.enable_chunked_prefill=True
    actor_rollout_ref.rollout.enable_prefix_caching=True
    actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=512
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True
    actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu="${PPO_MAX_TOKEN_LEN_PER_GPU}"
    actor_rollout_ref.rollout.val_kwargs.n=1
    actor_rollout_ref.rollout.val_kwargs.temperature=1.0
    actor_rollout_ref.rollout.val_kwargs.top_p=0.7
)

REWARD=(
    reward.custom_reward_function.path="${REWARD_FUNCTION_PATH}"
    reward.custom_reward_function.name=compute_score
    reward.reward_manager.name=gdpo
)

TRAINER=(
    trainer.critic_warmup=0
    'trainer.logger=["console"]'
    trainer.project_name="${PROJECT_NAME}"
    trainer.experiment_name="${EXPERIMENT_NAME}"
    trainer.nnodes="${NNODES}"
    trainer.n_gpus_per_node="${GPUS_PER_NODE}"
    trainer.balance_batch=True
    trainer.val_before_train=False
    trainer.save_freq=-1
    trainer.test_freq=-1
    trainer.total_epochs="${TOTAL_EPOCHS}"
    trainer.total_training_steps="${TOTAL_TRAINING_STEPS}"
    trainer.device=npu
)

python3 -m verl.trainer.main_ppo model_engine=megatron \
    "${ALGORITHM[@]}" \
    "${DATA[@]}" \
    "${MODEL[@]}" \
    "${ACTOR[@]}" \
    "${ROLLOUT[@]}" \
    "${REWARD[@]}" \
    "${TRAINER[@]}" \
    "$@"
