# Generated from the application by `make completions`; do not edit.
# A flag ends in = if it takes a value, @ if that is a path, ? if only after a =.
# Spellings of one flag are joined by commas; * at the end: it may be given again.
_omni_models="smollm2-135m-instruct minilm-l6"
_omni_shared="
  --distributed-executor-backend= --ready-timeout= --start-method= --stop-timeout= --threads=
  --log-level= --quiet,--no-quiet --verbose,--no-verbose --config@ --attention-backend=
  --block-size= --enable-mamba-shared-prefix-checkpoint,--no-enable-mamba-shared-prefix-checkpoint
  --enable-prefix-caching,--no-enable-prefix-caching
  --gpu-memory-utilization=,--device-memory-utilization= --kv-cache-dtype=
  --kv-cache-dtype-skip-layers= --kv-cache-memory-bytes= --kv-offloading-backend=
  --kv-offloading-size= --kv-sharing-fast-prefill,--no-kv-sharing-fast-prefill --mamba-block-size=
  --mamba-cache-dtype= --mamba-cache-mode= --mamba-ssm-cache-dtype= --num-gpu-blocks-override=
  --prefix-cache-retention-interval= --prefix-caching-hash-algo= --prefix-match-unit=
  --replayssm-buffer-len= --swa-bounded-replay,--no-swa-bounded-replay
  --use-replayssm,--no-use-replayssm --cudagraph-capture-sizes= --max-cudagraph-capture-size=
  --anthropic-disabled-thinking-effort= --chat-template@ --chat-template-content-format=
  --cohere-format= --cohere-is-reasoning-model,--no-cohere-is-reasoning-model
  --default-chat-template-kwargs= --disable-access-log-for-endpoints=
  --disable-uvicorn-access-log,--no-disable-uvicorn-access-log
  --enable-auto-tool-choice,--no-enable-auto-tool-choice
  --enable-flash-late-interaction,--no-enable-flash-late-interaction
  --enable-force-include-usage,--no-enable-force-include-usage
  --enable-log-deltas,--no-enable-log-deltas --enable-log-outputs,--no-enable-log-outputs
  --enable-offline-docs,--no-enable-offline-docs
  --enable-per-request-metrics,--no-enable-per-request-metrics
  --enable-prompt-tokens-details,--no-enable-prompt-tokens-details
  --enable-request-id-headers,--no-enable-request-id-headers
  --enable-scale-out,--no-enable-scale-out
  --enable-server-load-tracking,--no-enable-server-load-tracking
  --enable-ssl-refresh,--no-enable-ssl-refresh
  --enable-tokenizer-info-endpoint,--no-enable-tokenizer-info-endpoint
  --exclude-tools-when-tool-choice-none,--no-exclude-tools-when-tool-choice-none --fingerprint-mode=
  --fingerprint-value= --log-error-stack,--no-log-error-stack --lora-modules= --max-log-len=
  --response-role= --return-tokens-as-token-ids,--no-return-tokens-as-token-ids
  --sse-keep-alive-interval= --tool-call-parser= --tool-parser-plugin@ --tool-server=
  --tool-strict-level= --trust-request-chat-template,--no-trust-request-chat-template
  --trust-request-mm-kwargs,--no-trust-request-mm-kwargs
  --enable-flashinfer-autotune,--no-enable-flashinfer-autotune --ir-op-priority= --linear-backend=
  --moe-backend= --sparse-indexer-topk-backend= --default-mm-loras= --enable-lora,--no-enable-lora
  --enable-mixed-moe-lora-format,--no-enable-mixed-moe-lora-format
  --enable-moe-shared-loras,--no-enable-moe-shared-loras
  --enable-tower-connector-lora,--no-enable-tower-connector-lora
  --fully-sharded-loras,--no-fully-sharded-loras --lora-dtype= --lora-target-modules=
  --max-cpu-loras= --max-lora-cls-labels= --max-lora-rank= --max-loras=
  --specialize-active-lora,--no-specialize-active-lora --download-dir@ --ignore-patterns=
  --load-format= --model-loader-extra-config= --pt-load-map-location= --safetensors-load-strategy=
  --safetensors-prefetch-block-size= --safetensors-prefetch-num-threads=
  --use-tqdm-on-load,--no-use-tqdm-on-load
  --enable-mamba-cache-stochastic-rounding,--no-enable-mamba-cache-stochastic-rounding
  --mamba-backend= --mamba-cache-philox-rounds= --mamba-ssu-algorithm=
  --allow-deprecated-quantization,--no-allow-deprecated-quantization --allowed-local-media-path@
  --allowed-media-domains= --code-revision= --config-format= --convert=
  --disable-sliding-window,--no-disable-sliding-window --dtype=
  --enable-cumem-allocator,--no-enable-cumem-allocator
  --enable-prompt-embeds,--no-enable-prompt-embeds
  --enable-return-routed-experts,--no-enable-return-routed-experts
  --enable-trace-replay,--no-enable-trace-replay --enforce-eager,--no-enforce-eager
  --generation-config@ --hf-config-path@ --hf-overrides= --hf-token= --io-processor-plugin=
  --logits-processors= --logprobs-mode= --max-logprobs= --max-model-len= --model=
  --model-class-overrides= --model-impl= --override-generation-config= --pooler-config=
  --quantization=,-q= --quantization-config= --renderer-num-workers=
  --return-sampling-mask,--no-return-sampling-mask --revision= --runner= --seed=
  --served-model-name=* --skip-tokenizer-init,--no-skip-tokenizer-init --tokenizer@
  --tokenizer-mode= --tokenizer-revision= --trust-remote-code,--no-trust-remote-code
  --use-fp64-gumbel,--no-use-fp64-gumbel --enable-mm-embeds,--no-enable-mm-embeds
  --interleave-mm-strings,--no-interleave-mm-strings --language-model-only,--no-language-model-only
  --limit-mm-per-prompt= --media-io-kwargs= --mm-device-do-normalize,--no-mm-device-do-normalize
  --mm-encoder-attn-backend= --mm-encoder-attn-dtype= --mm-encoder-fp8-scale-path@
  --mm-encoder-fp8-scale-save-margin= --mm-encoder-fp8-scale-save-path@
  --mm-encoder-only,--no-mm-encoder-only --mm-encoder-tp-mode= --mm-hasher-algorithm=
  --mm-ipc-gpu-memory-gb= --mm-processor-cache-gb= --mm-processor-cache-type= --mm-processor-device=
  --mm-processor-kwargs= --mm-shm-cache-max-object-size-mb=
  --skip-mm-profiling,--no-skip-mm-profiling --video-pruning-method= --video-pruning-rate=
  --collect-detailed-traces= --cudagraph-metrics,--no-cudagraph-metrics --custom-histogram-buckets=
  --enable-layerwise-nvtx-tracing,--no-enable-layerwise-nvtx-tracing
  --enable-logging-iteration-details,--no-enable-logging-iteration-details
  --enable-mfu-metrics,--no-enable-mfu-metrics --jit-monitor-mode=
  --jit-monitor-verbose,--no-jit-monitor-verbose --kv-cache-metrics,--no-kv-cache-metrics
  --kv-cache-metrics-sample= --otlp-traces-endpoint= --per-request-spec-decode-metrics=
  --show-hidden-metrics-for-version= --cpu-offload-gb= --cpu-offload-params= --offload-backend=
  --offload-group-size= --offload-num-in-group= --offload-params= --offload-prefetch-step=
  --all2all-backend= --cp-kv-cache-interleave-size= --cpu-distributed-timeout-seconds=
  --data-parallel-size=,-dp= --dbo-decode-token-threshold= --dbo-prefill-token-threshold=
  --dcp-comm-backend= --dcp-kv-cache-interleave-size= --dcp-q-replicate,--no-dcp-q-replicate
  --decode-context-parallel-size=,-dcp= --device-ids=
  --disable-custom-all-reduce,--no-disable-custom-all-reduce
  --disable-nccl-for-dp-synchronization,--no-disable-nccl-for-dp-synchronization
  --distributed-timeout-seconds= --dp-sync-interval=
  --enable-batch-sharded-sampling,--no-enable-batch-sharded-sampling --enable-dbo,--no-enable-dbo
  --enable-ep-weight-filter,--no-enable-ep-weight-filter --enable-eplb,--no-enable-eplb
  --enable-expert-parallel,-ep,--no-enable-expert-parallel --enable-hc-sp,--no-enable-hc-sp
  --enable-shm-tensor-arena,--no-enable-shm-tensor-arena --eplb-config= --expert-placement-strategy=
  --max-parallel-loading-workers= --numa-bind-cpus= --numa-bind-nodes=
  --pipeline-parallel-size=,-pp= --prefill-context-parallel-size=,-pcp=
  --ray-workers-use-nsight,--no-ray-workers-use-nsight --tensor-parallel-size=,-tp= --ubatch-size=
  --worker-cls= --worker-extension-cls= --async-scheduling,--no-async-scheduling
  --disable-chunked-mm-input,--no-disable-chunked-mm-input
  --disable-hybrid-kv-cache-manager,--no-disable-hybrid-kv-cache-manager
  --enable-chunked-prefill,--no-enable-chunked-prefill --long-prefill-token-threshold=
  --long-prefill-token-threshold-adaptive,--no-long-prefill-token-threshold-adaptive
  --max-num-active-seqs= --max-num-batched-tokens= --max-num-queued-reqs= --max-num-queued-tokens=
  --max-num-scheduled-tokens= --max-num-seqs= --prefill-schedule-interval= --scheduler-cls=
  --scheduler-reserve-full-isl,--no-scheduler-reserve-full-isl --scheduling-policy=
  --stream-interval= --watermark= --aggregate-engine-logging --disable-log-stats
  --enable-log-requests,--no-enable-log-requests
  --fail-on-environ-validation,--no-fail-on-environ-validation --gdn-prefill-backend=
  --kda-decode-backend= --kda-prefill-backend= --reasoning-parser= --reasoning-parser-plugin@
  --additional-config= --attention-config=,-ac= --aux-output-config= --compilation-config=,-cc=
  --diffusion-config=,-dc= --ec-manager-config= --ec-transfer-config= --engram-config=
  --kernel-config= --kv-events-config= --kv-transfer-config= --optimization-level=,-O=
  --performance-mode= --reasoning-config= --spec-method= --spec-model= --spec-tokens=
  --speculative-config=,-sc= --structured-outputs-config= --watermark-config=
"

_omni_place() { # COMMAND: sets what can follow it
  case $1 in
  "")
    members=" serve chat complete bench check doctor run-batch models completion version " operands=""
    flags="
      --version -h,--help
    "
    ;;
  serve)
    members="" operands="targets"
    flags=" $_omni_shared
      --disable-fastapi-docs,--no-disable-fastapi-docs --host= --port= --root-path=
      --allowed-hosts=* --api-key=* --api-key-file@* --h11-max-header-count=
      --h11-max-incomplete-event-size= --max-body-bytes= --ssl-ca-certs@ --ssl-cert-reqs=
      --ssl-certfile@ --ssl-ciphers= --ssl-keyfile@ --allow-credentials,--no-allow-credentials
      --allowed-headers= --allowed-methods= --allowed-origins= --api-server-count=,-asc= --help?,-h?
      --json --print-config
    "
    ;;
  chat)
    members="" operands=""
    flags="
      --url= --api-key= --timeout= --ca-file@ --insecure --model=,-m= --system=,-s= --temperature=
      --top-p= --max-tokens= --seed= --stats --json --no-stream -h,--help
    "
    ;;
  complete)
    members="" operands=""
    flags="
      --file@,-f@ --url= --api-key= --timeout= --ca-file@ --insecure --model=,-m= --temperature=
      --top-p= --max-tokens= --seed= --stop=* --echo -n= --logprobs= --stats --json --no-stream
      -h,--help
    "
    ;;
  bench)
    members=" serve startup " operands=""
    flags="
      -h,--help
    "
    ;;
  "bench serve")
    members="" operands=""
    flags="
      --url= --api-key= --timeout= --ca-file@ --insecure --model=,-m= --endpoint= --num-prompts=,-n=
      --concurrency=,-c= --request-rate= --warmup= --max-seconds= --seed= --input-len= --output-len=
      --dataset@ --ignore-eos --temperature= --goodput=* --percentiles= --chunk-usage --json --save@
      -h,--help
    "
    ;;
  "bench startup")
    members="" operands=""
    flags="
      --pairs= --warmup= --against= --against-ready= --timeout= --json -h,--help
    "
    ;;
  check)
    members="" operands=""
    flags="
      --url= --api-key= --model=,-m= --family=* --ca-file@ --insecure --timeout= --json -h,--help
    "
    ;;
  doctor)
    members="" operands=""
    flags="
      --port= --json -h,--help
    "
    ;;
  run-batch)
    members="" operands="files targets"
    flags=" $_omni_shared
      -o@,--output@ --errors@ --check --resume --overwrite --unordered --concurrency= --max-retries=
      --json --url= --api-key= --timeout= --ca-file@ --insecure --help?,-h?
    "
    ;;
  models)
    members=" list pull path remove " operands=""
    flags="
      -h,--help
    "
    ;;
  "models list")
    members="" operands=""
    flags="
      --json -h,--help
    "
    ;;
  "models pull")
    members="" operands="models"
    flags="
      --timeout= -h,--help
    "
    ;;
  "models path")
    members="" operands="models"
    flags="
      -h,--help
    "
    ;;
  "models remove")
    members="" operands="models"
    flags="
      -h,--help
    "
    ;;
  completion)
    members="" operands="words" words="bash zsh fish"
    flags="
      -h,--help
    "
    ;;
  version)
    members="" operands=""
    flags="
      --json -h,--help
    "
    ;;
  esac
}

_omni_values() { # COMMAND FLAG: sets its values, if they are known; of FLAG. its keys
  values=""
  case "$1 $2" in
  "serve --help" | "serve -h")
    values="
      all Listening Security CrossOrigin Processes Output Settings AttentionConfig CacheConfig
      CompilationConfig Frontend KernelConfig LoRAConfig LoadConfig LoggingConfig MambaConfig
      ModelConfig MultiModalConfig ObservabilityConfig OffloadConfig ParallelConfig SchedulerConfig
      Server StructuredOutputsConfig VllmConfig
    "
    ;;
  "serve --distributed-executor-backend" | "run-batch --distributed-executor-backend")
    values="
      uni mp
    "
    ;;
  "serve --start-method" | "run-batch --start-method")
    values="
      auto fork spawn
    "
    ;;
  "serve --log-level" | "run-batch --log-level")
    values="
      debug info warning error
    "
    ;;
  "serve --attention-backend" | "run-batch --attention-backend")
    values="
      AMX_MLA B12X CPU_ATTN CPU_MLA CUSTOM CUTLASS_MLA CUTLASS_MSA FLASHINFER FLASHINFER_MLA
      FLASHINFER_MLA_SPARSE FLASHINFER_MLA_SPARSE_DSV4 FLASHINFER_MLA_SPARSE_DSV41
      FLASHINFER_MLA_SPARSE_SM120 FLASHINFER_MLA_SPARSE_SM90 FLASHMLA FLASHMLA_MEGA_ATTN_DSV41
      FLASHMLA_SPARSE FLASHMLA_SPARSE_DSV4 FLASHMLA_SPARSE_DSV41 FLASH_ATTN FLASH_ATTN_DIFFKV
      FLASH_ATTN_MLA FLASH_ATTN_MLA_SPARSE FLEX_ATTENTION HPC_ATTN MINIMAX_M3_SPARSE NO_ATTENTION
      ROCM_AITER_FA ROCM_AITER_MLA ROCM_AITER_MLA_SPARSE ROCM_AITER_TRITON_MLA
      ROCM_AITER_UNIFIED_ATTN ROCM_ATTN ROCM_FLASHMLA_SPARSE_DSV4 ROCM_SEGMENTED_ATTN TOKENSPEED_MLA
      TORCH_SDPA TRITON_ATTN TRITON_ATTN_DIFFKV TRITON_FLASHINFER TRITON_FLASH_ATTN TRITON_MLA
      TRITON_MSA TURBOQUANT ULTRAQUANT XPU_MLA_SPARSE auto
    "
    ;;
  "serve --kv-cache-dtype" | "run-batch --kv-cache-dtype")
    values="
      auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc fp8_per_token_head
      int4_per_token_head int8_per_token_head nvfp4 nvfp4_4over6 nvfp4_ds_mla turboquant_3bit_nc
      turboquant_4bit_nc turboquant_k3v4_nc turboquant_k8v4 ultraquant_4bit
    "
    ;;
  "serve --kv-offloading-backend" | "run-batch --kv-offloading-backend")
    values="
      lmcache native
    "
    ;;
  "serve --mamba-cache-dtype" | "serve --mamba-ssm-cache-dtype" | "run-batch --mamba-cache-dtype" | "run-batch --mamba-ssm-cache-dtype")
    values="
      auto bfloat16 float16 float32
    "
    ;;
  "serve --mamba-cache-mode" | "run-batch --mamba-cache-mode")
    values="
      align none
    "
    ;;
  "serve --prefix-caching-hash-algo" | "run-batch --prefix-caching-hash-algo")
    values="
      sha256 sha256_cbor xxhash xxhash_cbor
    "
    ;;
  "serve --anthropic-disabled-thinking-effort" | "run-batch --anthropic-disabled-thinking-effort")
    values="
      auto high low max medium none xhigh
    "
    ;;
  "serve --chat-template-content-format" | "run-batch --chat-template-content-format")
    values="
      auto openai string
    "
    ;;
  "serve --fingerprint-mode" | "run-batch --fingerprint-mode")
    values="
      custom full hash none
    "
    ;;
  "serve --tool-call-parser" | "run-batch --tool-call-parser")
    values="
      apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4
      deepseek_v41 dots ernie45 functiongemma gemma4 gigachat3 glm45 glm47 granite granite-20b-fc
      granite4 hermes hf hunyuan_a13b hy_v3 hy_v4 inkling internlm jamba k2_horizon kimi_k2 kimi_k3
      lfm2 ling3 llama3_json llama4_json llama4_pythonic longcat mimo minicpm5 minimax_m2 minimax_m3
      mistral muse_glimmer olmo3 openai phi4_mini_json plamo3 poolside_v1 pythonic qwen3_coder
      qwen3_json qwen3_xml seed_oss step3 step3p5 xlam
    "
    ;;
  "serve --tool-strict-level" | "run-batch --tool-strict-level")
    values="
      auto function parameter
    "
    ;;
  "serve --ir-op-priority." | "run-batch --ir-op-priority.")
    values="
      rms_norm fused_add_rms_norm gelu_and_mul_sparse
    "
    ;;
  "serve --linear-backend" | "run-batch --linear-backend")
    values="
      aiter auto b12x conch cutlass deep_gemm emulation exllama fbgemm flashinfer_b12x
      flashinfer_cudnn flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm humming machete
      marlin torch triton xpu xpu_woq
    "
    ;;
  "serve --moe-backend" | "run-batch --moe-backend")
    values="
      aiter aiter_mega_moe aiter_triton_mxfp4_bf16 auto b12x batched_triton cutlass deep_gemm
      deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl flashinfer_cutlass
      flashinfer_moe_ep_cutedsl flashinfer_moe_ep_mega_deep_gemm flashinfer_trtllm flydsl hpc
      humming marlin rdna3 triton triton_unfused
    "
    ;;
  "serve --sparse-indexer-topk-backend" | "run-batch --sparse-indexer-topk-backend")
    values="
      aiter auto cooperative deep_select flashinfer per_row persistent torch
    "
    ;;
  "serve --lora-dtype" | "run-batch --lora-dtype")
    values="
      auto bfloat16 float16
    "
    ;;
  "serve --max-lora-rank" | "run-batch --max-lora-rank")
    values="
      1 8 16 32 64 128 256 320 512
    "
    ;;
  "serve --load-format" | "run-batch --load-format")
    values="
      auto dummy fastsafetensors hf instanttensor ipc_cache mistral modelexpress npcache pt
      runai_streamer runai_streamer_sharded safetensors sharded_state tensorizer
    "
    ;;
  "serve --safetensors-load-strategy" | "run-batch --safetensors-load-strategy")
    values="
      eager lazy prefetch torchao
    "
    ;;
  "serve --mamba-backend" | "run-batch --mamba-backend")
    values="
      cpu flashinfer triton
    "
    ;;
  "serve --mamba-ssu-algorithm" | "run-batch --mamba-ssu-algorithm")
    values="
      auto horizontal simple vertical
    "
    ;;
  "serve --config-format" | "run-batch --config-format")
    values="
      auto hf mistral
    "
    ;;
  "serve --convert" | "run-batch --convert")
    values="
      auto classify embed none
    "
    ;;
  "serve --dtype" | "run-batch --dtype")
    values="
      auto bfloat16 float float16 float32 half
    "
    ;;
  "serve --logprobs-mode" | "run-batch --logprobs-mode")
    values="
      processed_logits processed_logprobs raw_logits raw_logprobs
    "
    ;;
  "serve --model-impl" | "run-batch --model-impl")
    values="
      auto terratorch transformers vllm
    "
    ;;
  "serve --pooler-config." | "run-batch --pooler-config.")
    values="
      task pooling_type seq_pooling_type tok_pooling_type use_activation
      enable_flash_late_interaction dimensions enable_chunked_processing max_embed_len logit_mean
      logit_sigma step_tag_id returned_token_ids
    "
    ;;
  "serve --quantization" | "serve -q" | "run-batch --quantization" | "run-batch -q")
    values="
      auto_awq auto_gptq awq awq_marlin compressed-tensors deepseek_v4_fp8 experts_int8 fbgemm_fp8
      fp8 fp8_per_block fp8_per_channel fp8_per_tensor fp_quant gpt_oss_mxfp4 gptq gptq_marlin
      humming inc int8_per_channel_weight_only modelopt modelopt_fp4 modelopt_mixed modelopt_mxfp8
      moe_wna16 mxfp4 mxfp8 nvfp4_per_token online quark torchao
    "
    ;;
  "serve --quantization-config." | "run-batch --quantization-config.")
    values="
      linear linear.weight linear.activation moe moe.weight moe.activation ignore targets
    "
    ;;
  "serve --runner" | "run-batch --runner")
    values="
      auto draft generate pooling
    "
    ;;
  "serve --tokenizer-mode" | "run-batch --tokenizer-mode")
    values="
      auto cohere deepseek_v32 deepseek_v4 hf inkling kimi_k3 mistral
    "
    ;;
  "serve --mm-encoder-attn-dtype" | "run-batch --mm-encoder-attn-dtype")
    values="
      fp8
    "
    ;;
  "serve --mm-encoder-tp-mode" | "run-batch --mm-encoder-tp-mode")
    values="
      data weights
    "
    ;;
  "serve --mm-hasher-algorithm" | "run-batch --mm-hasher-algorithm")
    values="
      blake3 sha256 sha512
    "
    ;;
  "serve --mm-processor-cache-type" | "run-batch --mm-processor-cache-type")
    values="
      lru shm
    "
    ;;
  "serve --mm-processor-device" | "run-batch --mm-processor-device")
    values="
      auto cpu cuda
    "
    ;;
  "serve --video-pruning-method" | "run-batch --video-pruning-method")
    values="
      evs vidcom2
    "
    ;;
  "serve --collect-detailed-traces" | "run-batch --collect-detailed-traces")
    values="
      all model worker
    "
    ;;
  "serve --jit-monitor-mode" | "run-batch --jit-monitor-mode")
    values="
      error warn
    "
    ;;
  "serve --per-request-spec-decode-metrics" | "run-batch --per-request-spec-decode-metrics")
    values="
      detailed none summary
    "
    ;;
  "serve --offload-backend" | "run-batch --offload-backend")
    values="
      auto prefetch uva
    "
    ;;
  "serve --all2all-backend" | "run-batch --all2all-backend")
    values="
      allgather_reducescatter deepep_high_throughput deepep_low_latency deepep_v2
      flashinfer_all2allv flashinfer_nvlink_one_sided flashinfer_nvlink_two_sided moonep
      mori_high_throughput mori_low_latency naive nixl_ep pplx
    "
    ;;
  "serve --dcp-comm-backend" | "run-batch --dcp-comm-backend")
    values="
      a2a ag_rs
    "
    ;;
  "serve --eplb-config." | "run-batch --eplb-config.")
    values="
      window_size step_interval num_redundant_experts log_balancedness log_balancedness_interval
      use_async policy communicator enable_migration_batching
    "
    ;;
  "serve --expert-placement-strategy" | "run-batch --expert-placement-strategy")
    values="
      linear round_robin
    "
    ;;
  "serve --scheduling-policy" | "run-batch --scheduling-policy")
    values="
      fcfs priority
    "
    ;;
  "serve --gdn-prefill-backend" | "run-batch --gdn-prefill-backend")
    values="
      flashinfer triton cutedsl aiter_flydsl
    "
    ;;
  "serve --kda-decode-backend" | "run-batch --kda-decode-backend")
    values="
      auto native flashinfer triton
    "
    ;;
  "serve --kda-prefill-backend" | "run-batch --kda-prefill-backend")
    values="
      auto triton flashkda flashinfer fused
    "
    ;;
  "serve --reasoning-parser" | "run-batch --reasoning-parser")
    values="
      cohere_command3 cohere_command4 deepseek_r1 deepseek_v3 deepseek_v4 deepseek_v41 ernie45
      gemma4 glm45 glm47 granite granite_thinking_parser hf holo2 hunyuan_a13b hy_v3 hy_v4 inkling
      k2_horizon kimi_k2 kimi_k3 ling3 mimo minicpmv minimax_m2 minimax_m2_append_think minimax_m3
      mistral muse_glimmer nemotron_v3 olmo3 openai_gptoss plamo3 poolside_v1 qwen3 seed_oss step3
      step3p5
    "
    ;;
  "serve --attention-config." | "serve -ac." | "run-batch --attention-config." | "run-batch -ac.")
    values="
      backend minimax_m3_msa_decode_backend backend_per_kind flash_attn_version
      flash_attn_max_num_splits_for_cuda_graph tokenspeed_mla_min_split_kv
      tq_max_kv_splits_for_cuda_graph use_trtllm_attention disable_flashinfer_q_quantization
      mla_prefill_backend use_prefill_query_quantization indexer_kv_dtype indexer_sparse_logits
      hisparse_config hisparse_config.device_buffer_size hisparse_config.eager_host_mirror
      use_non_causal sparse_mla_force_mqa sparse_mla_prefill_workspace_factor flex_attn_block_m
      flex_attn_block_n flex_attn_q_block_size flex_attn_kv_block_size
    "
    ;;
  "serve --aux-output-config." | "run-batch --aux-output-config.")
    values="
      enable_return_routed_experts max_bytes
    "
    ;;
  "serve --compilation-config." | "serve -cc." | "run-batch --compilation-config." | "run-batch -cc.")
    values="
      mode debug_dump_path cache_dir compile_cache_save_format backend custom_ops
      ir_enable_torch_wrap splitting_ops compile_mm_encoder cudagraph_mm_encoder
      encoder_cudagraph_token_budgets encoder_cudagraph_max_vision_items_per_batch
      encoder_cudagraph_max_frames_per_batch cudagraph_decoder_replay
      decoder_replay_cudagraph_capture_sizes decoder_replay_trim_threshold compile_sizes
      compile_ranges_endpoints inductor_compile_config inductor_passes cudagraph_mode
      cudagraph_num_of_warmups cudagraph_capture_sizes cudagraph_copy_inputs
      cudagraph_specialize_lora use_inductor_graph_partition pass_config pass_config.fuse_norm_quant
      pass_config.fuse_act_quant pass_config.fuse_attn_quant pass_config.eliminate_noops
      pass_config.fuse_allreduce_rms pass_config.enable_qk_norm_rope_fusion
      pass_config.fuse_rope_kvcache_cat_mla pass_config.fuse_act_padding
      pass_config.fuse_mla_dual_rms_norm pass_config.fuse_rope_kvcache
      pass_config.fuse_qk_norm_rope_kvcache pass_config.rope_kvcache_fusion_max_token_num
      pass_config.fi_allreduce_fusion_max_size_mb max_cudagraph_capture_size dynamic_shapes_config
      dynamic_shapes_config.type dynamic_shapes_config.evaluate_guards
      dynamic_shapes_config.assume_32_bit_indexing fast_moe_cold_start
    "
    ;;
  "serve --ec-manager-config." | "run-batch --ec-manager-config.")
    values="
      encoder_cache_manager_cls manager_config
    "
    ;;
  "serve --ec-transfer-config." | "run-batch --ec-transfer-config.")
    values="
      ec_connector engine_id ec_buffer_device ec_buffer_size ec_role ec_ip ec_port
      ec_connector_extra_config ec_connector_module_path
    "
    ;;
  "serve --engram-config." | "run-batch --engram-config.")
    values="
      cpu_offload embedding_across_dp dp_shared_memory use_thp
    "
    ;;
  "serve --kernel-config." | "run-batch --kernel-config.")
    values="
      ir_op_priority ir_op_priority.rms_norm ir_op_priority.fused_add_rms_norm
      ir_op_priority.gelu_and_mul_sparse enable_flashinfer_autotune
      enable_rocm_segmented_attn_autotune enable_cutedsl_warmup enable_jit_warmup moe_backend
      sparse_indexer_topk_backend linear_backend linear_backend_per_quant
    "
    ;;
  "serve --kv-events-config." | "run-batch --kv-events-config.")
    values="
      enable_kv_cache_events publisher endpoint replay_endpoint buffer_steps hwm max_queue_size
      topic
    "
    ;;
  "serve --kv-transfer-config." | "run-batch --kv-transfer-config.")
    values="
      kv_connector engine_id kv_buffer_device kv_role kv_port kv_connector_extra_config
      kv_connector_module_path enable_permute_local_kv kv_load_failure_policy
    "
    ;;
  "serve --optimization-level" | "serve -O" | "run-batch --optimization-level" | "run-batch -O")
    values="
      0 1 2 3
    "
    ;;
  "serve --performance-mode" | "run-batch --performance-mode")
    values="
      balanced interactivity throughput
    "
    ;;
  "serve --reasoning-config." | "run-batch --reasoning-config.")
    values="
      reasoning_parser reasoning_start_str reasoning_end_str
    "
    ;;
  "serve --spec-method" | "run-batch --spec-method")
    values="
      bailing_hybrid_mtp bailing_hybrid_v3_mtp custom_class deepseek_mtp dflash dots3_note_mtp
      draft_model dspark eagle eagle3 ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states
      gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm5_next_mtp glm_ocr_mtp hy_v3_mtp hy_v4_mtp
      inkling_mtp kimi_k3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp minimax_m3_mtp
      mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp
      qwen3_next_mtp qwen4_exp_mtp step3p5_mtp suffix
    "
    ;;
  "serve --structured-outputs-config." | "run-batch --structured-outputs-config.")
    values="
      backend disable_any_whitespace disable_additional_properties reasoning_parser
      reasoning_parser_plugin enable_in_reasoning
    "
    ;;
  "bench serve --endpoint")
    values="
      chat completions embeddings
    "
    ;;
  "check --family")
    values="
      models replies lengths sse usage stop errors limits disconnect auth
    "
    ;;
  "run-batch --help" | "run-batch -h")
    values="
      all Batch RunningServer Listening Security CrossOrigin Processes Output Settings
      AttentionConfig CacheConfig CompilationConfig Frontend KernelConfig LoRAConfig LoadConfig
      LoggingConfig MambaConfig ModelConfig MultiModalConfig ObservabilityConfig OffloadConfig
      ParallelConfig SchedulerConfig Server StructuredOutputsConfig VllmConfig
    "
    ;;
  esac
}

_omni_offer() { # WORDS: those that begin with what is being typed
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$1" -- "$cur")
}

_omni_files() { # COMPGEN'S ARGUMENTS; they are inserted with their spaces quoted
  local word
  compopt -o filenames 2>/dev/null
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$@" -- "$cur")
}

_omni_flags() { # those that are not given yet, or may be given again
  local entry names name given words=""
  for entry in $flags; do
    names=${entry//[=@?]/}
    given=""
    if [[ $entry != *\* ]]; then
      for name in ${names//,/ }; do
        if [[ $seen == *" $name "* ]]; then given=1; fi
      done
    fi
    if [[ ! $given ]]; then words+=" ${names//[,\*]/ }"; fi
  done
  _omni_offer "$words"
}

_omni() {
  local cur=${COMP_WORDS[COMP_CWORD]} at="" flag="" seen=" " count=0 i word
  local flags members values operands words repeated
  COMPREPLY=()
  _omni_place ""
  # Which command, which flags, and whether the last one waits for its value
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $flag ]]; then
      # --flag=value comes as three words
      if [[ $word != "=" ]]; then flag=""; fi
    elif [[ $word == -* ]]; then
      seen+="${word%%=*} "
      # --flag.key takes a value as --flag does
      if [[ $flags == *[[:space:],]"${word%%.*}"[=@]* ]]; then flag=$word; fi
      if [[ $flags == *[[:space:],]"$word"\?* && ${COMP_WORDS[i + 1]} == "=" ]]; then flag=$word; fi
    elif [[ $members == *" $word "* ]]; then
      at=${at:+$at }$word seen=" "
      _omni_place "$at"
    else
      count=$((count + 1))
    fi
  done
  if [[ $flag && $cur == "=" ]]; then cur=""; fi
  if [[ ! $flag && $cur == --*=* ]]; then # where the user does not break words at =
    flag=${cur%%=*} cur=${cur#*=}
  fi
  if [[ $flag ]]; then
    _omni_values "$at" "$flag"
    if [[ $values ]]; then _omni_offer "$values"; fi
    if [[ $flags == *[[:space:],]"$flag@"* ]]; then _omni_files -f; fi
    if [[ ${COMP_WORDS[COMP_CWORD]} == --*=* ]]; then COMPREPLY=("${COMPREPLY[@]/#/$flag=}"); fi
  elif [[ $cur == -*.* ]]; then
    flag=${cur%%.*} cur=${cur#*.}
    _omni_values "$at" "$flag."
    _omni_offer "$values"
    COMPREPLY=("${COMPREPLY[@]/#/$flag.}")
  elif [[ $cur == -* ]]; then
    _omni_flags
  elif [[ $members ]]; then
    _omni_offer "$members"
  else
    _omni_operand
  fi
}

_omni_operand() { # the one that comes after $count others
  local -a kinds=($operands)
  case ${kinds[count]:-${repeated:+${kinds[-1]}}} in
  "") ;;
  files) _omni_files -f ;;
  models) _omni_offer "$_omni_models" ;;
  targets)
    _omni_offer "$_omni_models"
    _omni_files -f -X '!*.yaml'
    _omni_files -f -X '!*.yml'
    _omni_files -d
    ;;
  words) _omni_offer "$words" ;;
  esac
}

complete -F _omni omni
