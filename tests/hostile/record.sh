#!/usr/bin/env bash
# Data:     PAYLOAD https://example.org/PAYLOAD javascript:alert(1)
# Reward:   PAYLOAD `x` **y** https://example.org/"onclick="alert(1)
python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path='PAYLOAD' \
    actor_rollout_ref.model.target_modules='"PAYLOAD"' actor_rollout_ref.model.lora_rank=8
