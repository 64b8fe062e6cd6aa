#compdef omni
# Generated from the application by `make completions`; do not edit.

__omni_models() {
  local -a models=(smollm2-135m-instruct minilm-l6)
  compadd "$@" -a models
}

__omni_targets() { # whatever can be served
  _alternative \
    'models:bundled model:__omni_models' \
    'files:pipeline or folder:_files -g "*.(yaml|yml)"'
}

typeset -ga __omni_shared=(
  '(--distributed-executor-backend)--distributed-executor-backend=[uni runs the worker inside the engine process, mp in processes of...]:distributed-executor-backend:(uni mp)'
  '(--ready-timeout)--ready-timeout=[Seconds that a child may take to become ready]:ready-timeout:'
  '(--start-method)--start-method=[How children start]:start-method:(auto fork spawn)'
  '(--stop-timeout)--stop-timeout=[Seconds from SIGTERM to SIGKILL when a child is stopped]:stop-timeout:'
  '(--threads)--threads=[OpenMP threads of each worker]:threads:'
  '(--log-level)--log-level=[Show what engines and frontends log from this level on]:log-level:(debug info warning error)'
  '(--quiet --no-quiet)--quiet[Say only what went wrong]'
  '(--quiet --no-quiet)--no-quiet[Say only what went wrong]'
  '(--verbose --no-verbose)--verbose[Say more about each step]'
  '(--verbose --no-verbose)--no-verbose[Say more about each step]'
  '(--config)--config=[Read settings from a YAML or TOML file]:config:_files'
  '(--attention-backend)--attention-backend=[Attention backend to use]:attention-backend:(AMX_MLA B12X CPU_ATTN CPU_MLA CUSTOM CUTLASS_MLA CUTLASS_MSA FLASHINFER FLASHINFER_MLA FLASHINFER_MLA_SPARSE FLASHINFER_MLA_SPARSE_DSV4 FLASHINFER_MLA_SPARSE_DSV41 FLASHINFER_MLA_SPARSE_SM120 FLASHINFER_MLA_SPARSE_SM90 FLASHMLA FLASHMLA_MEGA_ATTN_DSV41 FLASHMLA_SPARSE FLASHMLA_SPARSE_DSV4 FLASHMLA_SPARSE_DSV41 FLASH_ATTN FLASH_ATTN_DIFFKV FLASH_ATTN_MLA FLASH_ATTN_MLA_SPARSE FLEX_ATTENTION HPC_ATTN MINIMAX_M3_SPARSE NO_ATTENTION ROCM_AITER_FA ROCM_AITER_MLA ROCM_AITER_MLA_SPARSE ROCM_AITER_TRITON_MLA ROCM_AITER_UNIFIED_ATTN ROCM_ATTN ROCM_FLASHMLA_SPARSE_DSV4 ROCM_SEGMENTED_ATTN TOKENSPEED_MLA TORCH_SDPA TRITON_ATTN TRITON_ATTN_DIFFKV TRITON_FLASHINFER TRITON_FLASH_ATTN TRITON_MLA TRITON_MSA TURBOQUANT ULTRAQUANT XPU_MLA_SPARSE auto)'
  '(--block-size)--block-size=[Size of a contiguous cache block in number of tokens]:block-size:'
  '(--enable-mamba-shared-prefix-checkpoint --no-enable-mamba-shared-prefix-checkpoint)--enable-mamba-shared-prefix-checkpoint[Also register a Mamba "align" checkpoint at the shared-prefix...]'
  '(--enable-mamba-shared-prefix-checkpoint --no-enable-mamba-shared-prefix-checkpoint)--no-enable-mamba-shared-prefix-checkpoint[Also register a Mamba "align" checkpoint at the shared-prefix...]'
  '(--enable-prefix-caching --no-enable-prefix-caching)--enable-prefix-caching[Reuse the KV cache of equal beginnings]'
  '(--enable-prefix-caching --no-enable-prefix-caching)--no-enable-prefix-caching[Reuse the KV cache of equal beginnings]'
  '(--gpu-memory-utilization --device-memory-utilization)--gpu-memory-utilization=[Share of a GPU'\''s memory that an engine may use]:gpu-memory-utilization:'
  '(--gpu-memory-utilization --device-memory-utilization)--device-memory-utilization=[Share of a GPU'\''s memory that an engine may use]:gpu-memory-utilization:'
  '(--kv-cache-dtype)--kv-cache-dtype=[Data type for kv cache storage]:kv-cache-dtype:(auto bfloat16 float16 fp8 fp8_ds_mla fp8_e4m3 fp8_e5m2 fp8_inc fp8_per_token_head int4_per_token_head int8_per_token_head nvfp4 nvfp4_4over6 nvfp4_ds_mla turboquant_3bit_nc turboquant_4bit_nc turboquant_k3v4_nc turboquant_k8v4 ultraquant_4bit)'
  '(--kv-cache-dtype-skip-layers)--kv-cache-dtype-skip-layers=[Layer patterns to skip KV cache quantization]:kv-cache-dtype-skip-layers:'
  '(--kv-cache-memory-bytes)--kv-cache-memory-bytes=[Size of the KV cache in bytes, such as 256M or 1G]:kv-cache-memory-bytes:'
  '(--kv-offloading-backend)--kv-offloading-backend=[The backend to use for KV cache offloading]:kv-offloading-backend:(lmcache native)'
  '(--kv-offloading-size)--kv-offloading-size=[Size of the KV cache offloading buffer in GiB]:kv-offloading-size:'
  '(--kv-sharing-fast-prefill --no-kv-sharing-fast-prefill)--kv-sharing-fast-prefill[In some KV sharing setups, e.g. YOCO...]'
  '(--kv-sharing-fast-prefill --no-kv-sharing-fast-prefill)--no-kv-sharing-fast-prefill[In some KV sharing setups, e.g. YOCO...]'
  '(--mamba-block-size)--mamba-block-size=[Size of a contiguous cache block in number of tokens for mamba cache]:mamba-block-size:'
  '(--mamba-cache-dtype)--mamba-cache-dtype=[The data type to use for the Mamba cache (both the conv as well as...]:mamba-cache-dtype:(auto bfloat16 float16 float32)'
  '(--mamba-cache-mode)--mamba-cache-mode=[The cache strategy for Mamba layers]:mamba-cache-mode:(align none)'
  '(--mamba-ssm-cache-dtype)--mamba-ssm-cache-dtype=[The data type to use for the Mamba cache (ssm state only, conv state...]:mamba-ssm-cache-dtype:(auto bfloat16 float16 float32)'
  '(--num-gpu-blocks-override)--num-gpu-blocks-override=[Number of GPU blocks to use]:num-gpu-blocks-override:'
  '(--prefix-cache-retention-interval)--prefix-cache-retention-interval=[Token interval between retained sliding-window and Mamba...]:prefix-cache-retention-interval:'
  '(--prefix-caching-hash-algo)--prefix-caching-hash-algo=[Set the hash algorithm for prefix caching]:prefix-caching-hash-algo:(sha256 sha256_cbor xxhash xxhash_cbor)'
  '(--prefix-match-unit)--prefix-match-unit=[The finest token boundary (in tokens) a prefix-cache hit can land on]:prefix-match-unit:'
  '(--replayssm-buffer-len)--replayssm-buffer-len=[ReplaySSM logical history length B for Mamba2]:replayssm-buffer-len:'
  '(--swa-bounded-replay --no-swa-bounded-replay)--swa-bounded-replay[Keep the sliding-window KV of models that support it (DeepSeek-V4.1)...]'
  '(--swa-bounded-replay --no-swa-bounded-replay)--no-swa-bounded-replay[Keep the sliding-window KV of models that support it (DeepSeek-V4.1)...]'
  '(--use-replayssm --no-use-replayssm)--use-replayssm[Use the ReplaySSM Mamba2 decode kernel]'
  '(--use-replayssm --no-use-replayssm)--no-use-replayssm[Use the ReplaySSM Mamba2 decode kernel]'
  '(--cudagraph-capture-sizes)--cudagraph-capture-sizes=[Sizes to capture cudagraph]:cudagraph-capture-sizes:'
  '(--max-cudagraph-capture-size)--max-cudagraph-capture-size=[The maximum cudagraph capture size]:max-cudagraph-capture-size:'
  '(--anthropic-disabled-thinking-effort)--anthropic-disabled-thinking-effort=[Anthropic /v1/messages only]:anthropic-disabled-thinking-effort:(auto high low max medium none xhigh)'
  '(--chat-template)--chat-template=[Chat template]:chat-template:_files'
  '(--chat-template-content-format)--chat-template-content-format=[The format to render message content within a chat template]:chat-template-content-format:(auto openai string)'
  '(--cohere-format)--cohere-format=[Cohere --tokenizer-mode cohere only]:cohere-format:'
  '(--cohere-is-reasoning-model --no-cohere-is-reasoning-model)--cohere-is-reasoning-model[Cohere /cohere/v2/chat only]'
  '(--cohere-is-reasoning-model --no-cohere-is-reasoning-model)--no-cohere-is-reasoning-model[Cohere /cohere/v2/chat only]'
  '(--default-chat-template-kwargs)--default-chat-template-kwargs=[Default keyword arguments to pass to the chat template renderer]:default-chat-template-kwargs:'
  '(--disable-access-log-for-endpoints)--disable-access-log-for-endpoints=[Comma-separated list of endpoint paths to exclude from uvicorn...]:disable-access-log-for-endpoints:'
  '(--disable-uvicorn-access-log --no-disable-uvicorn-access-log)--disable-uvicorn-access-log[Disable uvicorn access log]'
  '(--disable-uvicorn-access-log --no-disable-uvicorn-access-log)--no-disable-uvicorn-access-log[Disable uvicorn access log]'
  '(--enable-auto-tool-choice --no-enable-auto-tool-choice)--enable-auto-tool-choice[Let the model decide to call tools]'
  '(--enable-auto-tool-choice --no-enable-auto-tool-choice)--no-enable-auto-tool-choice[Let the model decide to call tools]'
  '(--enable-flash-late-interaction --no-enable-flash-late-interaction)--enable-flash-late-interaction[If set, run pooling score MaxSim on GPU in the API server process]'
  '(--enable-flash-late-interaction --no-enable-flash-late-interaction)--no-enable-flash-late-interaction[If set, run pooling score MaxSim on GPU in the API server process]'
  '(--enable-force-include-usage --no-enable-force-include-usage)--enable-force-include-usage[If set to True, including usage on every request]'
  '(--enable-force-include-usage --no-enable-force-include-usage)--no-enable-force-include-usage[If set to True, including usage on every request]'
  '(--enable-log-deltas --no-enable-log-deltas)--enable-log-deltas[If set to False, output deltas will not be logged]'
  '(--enable-log-deltas --no-enable-log-deltas)--no-enable-log-deltas[If set to False, output deltas will not be logged]'
  '(--enable-log-outputs --no-enable-log-outputs)--enable-log-outputs[Log answers as well]'
  '(--enable-log-outputs --no-enable-log-outputs)--no-enable-log-outputs[Log answers as well]'
  '(--enable-offline-docs --no-enable-offline-docs)--enable-offline-docs[Enable offline FastAPI documentation for air-gapped environments]'
  '(--enable-offline-docs --no-enable-offline-docs)--no-enable-offline-docs[Enable offline FastAPI documentation for air-gapped environments]'
  '(--enable-per-request-metrics --no-enable-per-request-metrics)--enable-per-request-metrics[If set to True, include per-request timing metrics in API responses]'
  '(--enable-per-request-metrics --no-enable-per-request-metrics)--no-enable-per-request-metrics[If set to True, include per-request timing metrics in API responses]'
  '(--enable-prompt-tokens-details --no-enable-prompt-tokens-details)--enable-prompt-tokens-details[If set to True, enable prompt_tokens_details in usage]'
  '(--enable-prompt-tokens-details --no-enable-prompt-tokens-details)--no-enable-prompt-tokens-details[If set to True, enable prompt_tokens_details in usage]'
  '(--enable-request-id-headers --no-enable-request-id-headers)--enable-request-id-headers[If specified, API server will add X-Request-Id header to responses]'
  '(--enable-request-id-headers --no-enable-request-id-headers)--no-enable-request-id-headers[If specified, API server will add X-Request-Id header to responses]'
  '(--enable-scale-out --no-enable-scale-out)--enable-scale-out[If set to True, register the scale-out endpoints (/render...]'
  '(--enable-scale-out --no-enable-scale-out)--no-enable-scale-out[If set to True, register the scale-out endpoints (/render...]'
  '(--enable-server-load-tracking --no-enable-server-load-tracking)--enable-server-load-tracking[If set to True, enable tracking server_load_metrics in the app state]'
  '(--enable-server-load-tracking --no-enable-server-load-tracking)--no-enable-server-load-tracking[If set to True, enable tracking server_load_metrics in the app state]'
  '(--enable-ssl-refresh --no-enable-ssl-refresh)--enable-ssl-refresh[Refresh SSL Context when SSL certificate files change]'
  '(--enable-ssl-refresh --no-enable-ssl-refresh)--no-enable-ssl-refresh[Refresh SSL Context when SSL certificate files change]'
  '(--enable-tokenizer-info-endpoint --no-enable-tokenizer-info-endpoint)--enable-tokenizer-info-endpoint[Enable the /tokenizer_info endpoint]'
  '(--enable-tokenizer-info-endpoint --no-enable-tokenizer-info-endpoint)--no-enable-tokenizer-info-endpoint[Enable the /tokenizer_info endpoint]'
  '(--exclude-tools-when-tool-choice-none --no-exclude-tools-when-tool-choice-none)--exclude-tools-when-tool-choice-none[If specified, exclude tool definitions in prompts when...]'
  '(--exclude-tools-when-tool-choice-none --no-exclude-tools-when-tool-choice-none)--no-exclude-tools-when-tool-choice-none[If specified, exclude tool definitions in prompts when...]'
  '(--fingerprint-mode)--fingerprint-mode=[Controls the system_fingerprint field on responses]:fingerprint-mode:(custom full hash none)'
  '(--fingerprint-value)--fingerprint-value=[Literal fingerprint string used when --fingerprint-mode=custom]:fingerprint-value:'
  '(--log-error-stack --no-log-error-stack)--log-error-stack[If set to True, log the stack trace of error responses]'
  '(--log-error-stack --no-log-error-stack)--no-log-error-stack[If set to True, log the stack trace of error responses]'
  '(--lora-modules)--lora-modules=[LoRA modules configurations in either '\''name=path'\'' format or JSON...]:lora-modules:'
  '(--max-log-len)--max-log-len=[Max number of prompt characters or prompt ID numbers being printed...]:max-log-len:'
  '(--response-role)--response-role=[The role name to return if request.add_generation_prompt=true]:response-role:'
  '(--return-tokens-as-token-ids --no-return-tokens-as-token-ids)--return-tokens-as-token-ids[When --max-logprobs is specified, represents single tokens as...]'
  '(--return-tokens-as-token-ids --no-return-tokens-as-token-ids)--no-return-tokens-as-token-ids[When --max-logprobs is specified, represents single tokens as...]'
  '(--sse-keep-alive-interval)--sse-keep-alive-interval=[Send an SSE keep-alive comment line every this many seconds when a...]:sse-keep-alive-interval:'
  '(--tool-call-parser)--tool-call-parser=[vLLM'\''s parser for the model'\''s tool calls, or one of --tool-parser-plugin]:tool-call-parser:(apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 dots ernie45 functiongemma gemma4 gigachat3 glm45 glm47 granite granite-20b-fc granite4 hermes hf hunyuan_a13b hy_v3 hy_v4 inkling internlm jamba k2_horizon kimi_k2 kimi_k3 lfm2 ling3 llama3_json llama4_json llama4_pythonic longcat mimo minicpm5 minimax_m2 minimax_m3 mistral muse_glimmer olmo3 openai phi4_mini_json plamo3 poolside_v1 pythonic qwen3_coder qwen3_json qwen3_xml seed_oss step3 step3p5 xlam)'
  '(--tool-parser-plugin)--tool-parser-plugin=[Special the tool parser plugin write to parse the model-generated...]:tool-parser-plugin:_files'
  '(--tool-server)--tool-server=[Comma-separated list of host\:port pairs (IPv4, IPv6, or hostname)]:tool-server:'
  '(--tool-strict-level)--tool-strict-level=[Server-side floor for structural-tag based tool calling, applied on...]:tool-strict-level:(auto function parameter)'
  '(--trust-request-chat-template --no-trust-request-chat-template)--trust-request-chat-template[Whether to trust the chat template provided in the request]'
  '(--trust-request-chat-template --no-trust-request-chat-template)--no-trust-request-chat-template[Whether to trust the chat template provided in the request]'
  '(--trust-request-mm-kwargs --no-trust-request-mm-kwargs)--trust-request-mm-kwargs[Whether to trust per-request multimodal kwargs (mm_processor_kwargs...]'
  '(--trust-request-mm-kwargs --no-trust-request-mm-kwargs)--no-trust-request-mm-kwargs[Whether to trust per-request multimodal kwargs (mm_processor_kwargs...]'
  '(--enable-flashinfer-autotune --no-enable-flashinfer-autotune)--enable-flashinfer-autotune[If True, run FlashInfer autotuning during kernel warmup]'
  '(--enable-flashinfer-autotune --no-enable-flashinfer-autotune)--no-enable-flashinfer-autotune[If True, run FlashInfer autotuning during kernel warmup]'
  '(--ir-op-priority)--ir-op-priority=[vLLM IR op priority for dispatching/lowering during the forward pass]:ir-op-priority:'
  '(--linear-backend)--linear-backend=[Backend for linear layer GEMM kernels]:linear-backend:(aiter auto b12x conch cutlass deep_gemm emulation exllama fbgemm flashinfer_b12x flashinfer_cudnn flashinfer_cutedsl flashinfer_cutlass flashinfer_trtllm humming machete marlin torch triton xpu xpu_woq)'
  '(--moe-backend)--moe-backend=[Backend for MoE expert computation kernels]:moe-backend:(aiter aiter_mega_moe aiter_triton_mxfp4_bf16 auto b12x batched_triton cutlass deep_gemm deep_gemm_mega_moe emulation flashinfer_b12x flashinfer_cutedsl flashinfer_cutlass flashinfer_moe_ep_cutedsl flashinfer_moe_ep_mega_deep_gemm flashinfer_trtllm flydsl hpc humming marlin rdna3 triton triton_unfused)'
  '(--sparse-indexer-topk-backend)--sparse-indexer-topk-backend=[Backend for the DSA sparse indexer decode top-k kernel]:sparse-indexer-topk-backend:(aiter auto cooperative deep_select flashinfer per_row persistent torch)'
  '(--default-mm-loras)--default-mm-loras=[Dictionary mapping specific modalities to LoRA model paths]:default-mm-loras:'
  '(--enable-lora --no-enable-lora)--enable-lora[If True, enable handling of LoRA adapters]'
  '(--enable-lora --no-enable-lora)--no-enable-lora[If True, enable handling of LoRA adapters]'
  '(--enable-mixed-moe-lora-format --no-enable-mixed-moe-lora-format)--enable-mixed-moe-lora-format[If True, force the engine to use the universal 2D MoE LoRA wrapper...]'
  '(--enable-mixed-moe-lora-format --no-enable-mixed-moe-lora-format)--no-enable-mixed-moe-lora-format[If True, force the engine to use the universal 2D MoE LoRA wrapper...]'
  '(--enable-moe-shared-loras --no-enable-moe-shared-loras)--enable-moe-shared-loras[If True, load MoE expert adapters in the "shared-outer" layout...]'
  '(--enable-moe-shared-loras --no-enable-moe-shared-loras)--no-enable-moe-shared-loras[If True, load MoE expert adapters in the "shared-outer" layout...]'
  '(--enable-tower-connector-lora --no-enable-tower-connector-lora)--enable-tower-connector-lora[If True, LoRA support for the tower (vision encoder) and connector...]'
  '(--enable-tower-connector-lora --no-enable-tower-connector-lora)--no-enable-tower-connector-lora[If True, LoRA support for the tower (vision encoder) and connector...]'
  '(--fully-sharded-loras --no-fully-sharded-loras)--fully-sharded-loras[By default, only half of the LoRA computation is sharded with tensor...]'
  '(--fully-sharded-loras --no-fully-sharded-loras)--no-fully-sharded-loras[By default, only half of the LoRA computation is sharded with tensor...]'
  '(--lora-dtype)--lora-dtype=[Data type for LoRA]:lora-dtype:(auto bfloat16 float16)'
  '(--lora-target-modules)--lora-target-modules=[Restrict LoRA to specific module suffixes (e.g., \["o_proj", "qkv_proj"\])]:lora-target-modules:'
  '(--max-cpu-loras)--max-cpu-loras=[Maximum number of LoRAs to store in CPU memory]:max-cpu-loras:'
  '(--max-lora-cls-labels)--max-lora-cls-labels=[Maximum output size for LoRA classification heads]:max-lora-cls-labels:'
  '(--max-lora-rank)--max-lora-rank=[Max LoRA rank]:max-lora-rank:(1 8 16 32 64 128 256 320 512)'
  '(--max-loras)--max-loras=[Max number of LoRAs in a single batch]:max-loras:'
  '(--specialize-active-lora --no-specialize-active-lora)--specialize-active-lora[Whether to construct lora kernel grid by the number of active LoRA...]'
  '(--specialize-active-lora --no-specialize-active-lora)--no-specialize-active-lora[Whether to construct lora kernel grid by the number of active LoRA...]'
  '(--download-dir)--download-dir=[Directory to download and load the weights, default to the default...]:download-dir:_files'
  '(--ignore-patterns)--ignore-patterns=[The list of patterns to ignore when loading the model]:ignore-patterns:'
  '(--load-format)--load-format=[The format of the model weights to load]:load-format:(auto dummy fastsafetensors hf instanttensor ipc_cache mistral modelexpress npcache pt runai_streamer runai_streamer_sharded safetensors sharded_state tensorizer)'
  '(--model-loader-extra-config)--model-loader-extra-config=[Extra config for model loader]:model-loader-extra-config:'
  '(--pt-load-map-location)--pt-load-map-location=[The map location for loading pytorch checkpoint, to support loading...]:pt-load-map-location:'
  '(--safetensors-load-strategy)--safetensors-load-strategy=[Specifies the loading strategy for safetensors weights]:safetensors-load-strategy:(eager lazy prefetch torchao)'
  '(--safetensors-prefetch-block-size)--safetensors-prefetch-block-size=[Read size in bytes for each safetensors checkpoint file prefetch]:safetensors-prefetch-block-size:'
  '(--safetensors-prefetch-num-threads)--safetensors-prefetch-num-threads=[Number of worker threads used to prefetch safetensors checkpoint...]:safetensors-prefetch-num-threads:'
  '(--use-tqdm-on-load --no-use-tqdm-on-load)--use-tqdm-on-load[Whether to enable tqdm for showing progress bar when loading model...]'
  '(--use-tqdm-on-load --no-use-tqdm-on-load)--no-use-tqdm-on-load[Whether to enable tqdm for showing progress bar when loading model...]'
  '(--enable-mamba-cache-stochastic-rounding --no-enable-mamba-cache-stochastic-rounding)--enable-mamba-cache-stochastic-rounding[Enable stochastic rounding when writing SSM state to fp16 cache]'
  '(--enable-mamba-cache-stochastic-rounding --no-enable-mamba-cache-stochastic-rounding)--no-enable-mamba-cache-stochastic-rounding[Enable stochastic rounding when writing SSM state to fp16 cache]'
  '(--mamba-backend)--mamba-backend=[Mamba SSU backend to use]:mamba-backend:(cpu flashinfer triton)'
  '(--mamba-cache-philox-rounds)--mamba-cache-philox-rounds=[Number of Philox PRNG rounds for stochastic rounding random number...]:mamba-cache-philox-rounds:'
  '(--mamba-ssu-algorithm)--mamba-ssu-algorithm=[Selective state update algorithm to use with the FlashInfer backend]:mamba-ssu-algorithm:(auto horizontal simple vertical)'
  '(--allow-deprecated-quantization --no-allow-deprecated-quantization)--allow-deprecated-quantization[Whether to allow deprecated quantization methods]'
  '(--allow-deprecated-quantization --no-allow-deprecated-quantization)--no-allow-deprecated-quantization[Whether to allow deprecated quantization methods]'
  '(--allowed-local-media-path)--allowed-local-media-path=[Allowing API requests to read local images or videos from...]:allowed-local-media-path:_files'
  '(--allowed-media-domains)--allowed-media-domains=[If set, only media URLs that belong to this domain can be used for...]:allowed-media-domains:'
  '(--code-revision)--code-revision=[The specific revision to use for the model code on the Hugging Face Hub]:code-revision:'
  '(--config-format)--config-format=[The format of the model config to load]:config-format:(auto hf mistral)'
  '(--convert)--convert=[Convert the model using adapters defined in...]:convert:(auto classify embed none)'
  '(--disable-sliding-window --no-disable-sliding-window)--disable-sliding-window[Whether to disable sliding window]'
  '(--disable-sliding-window --no-disable-sliding-window)--no-disable-sliding-window[Whether to disable sliding window]'
  '(--dtype)--dtype=[Type of weights and activations]:dtype:(auto bfloat16 float float16 float32 half)'
  '(--enable-cumem-allocator --no-enable-cumem-allocator)--enable-cumem-allocator[Enable the custom cumem allocator to leverage advanced GPU memory...]'
  '(--enable-cumem-allocator --no-enable-cumem-allocator)--no-enable-cumem-allocator[Enable the custom cumem allocator to leverage advanced GPU memory...]'
  '(--enable-prompt-embeds --no-enable-prompt-embeds)--enable-prompt-embeds[If True, enables passing text embeddings as inputs via the...]'
  '(--enable-prompt-embeds --no-enable-prompt-embeds)--no-enable-prompt-embeds[If True, enables passing text embeddings as inputs via the...]'
  '(--enable-return-routed-experts --no-enable-return-routed-experts)--enable-return-routed-experts[Capture and return routed-experts auxiliary outputs]'
  '(--enable-return-routed-experts --no-enable-return-routed-experts)--no-enable-return-routed-experts[Capture and return routed-experts auxiliary outputs]'
  '(--enable-trace-replay --no-enable-trace-replay)--enable-trace-replay[Whether to allow requests to set...]'
  '(--enable-trace-replay --no-enable-trace-replay)--no-enable-trace-replay[Whether to allow requests to set...]'
  '(--enforce-eager --no-enforce-eager)--enforce-eager[Run without compilation]'
  '(--enforce-eager --no-enforce-eager)--no-enforce-eager[Run without compilation]'
  '(--generation-config)--generation-config=[The folder path to the generation config]:generation-config:_files'
  '(--hf-config-path)--hf-config-path=[Name or path of the Hugging Face config to use]:hf-config-path:_files'
  '(--hf-overrides)--hf-overrides=[If a dictionary, contains arguments to be forwarded to the Hugging...]:hf-overrides:'
  '(--hf-token)--hf-token=[The token to use as HTTP bearer authorization for remote files ]:hf-token:'
  '(--io-processor-plugin)--io-processor-plugin=[IOProcessor plugin name to load at model startup]:io-processor-plugin:'
  '(--logits-processors)--logits-processors=[One or more logits processors'\'' fully-qualified class names or class...]:logits-processors:'
  '(--logprobs-mode)--logprobs-mode=[Indicates the content returned in the logprobs and prompt_logprobs]:logprobs-mode:(processed_logits processed_logprobs raw_logits raw_logprobs)'
  '(--max-logprobs)--max-logprobs=[Maximum number of log probabilities to return when logprobs is...]:max-logprobs:'
  '(--max-model-len)--max-model-len=[Longest prompt plus answer in tokens, such as 4096 or 4k]:max-model-len:'
  '(--model)--model=[The same as TARGET, for lines written for vLLM]:model:'
  '(--model-class-overrides)--model-class-overrides=[Override the model class used for one or more architectures, mapping...]:model-class-overrides:'
  '(--model-impl)--model-impl=[Which implementation of the model to use]:model-impl:(auto terratorch transformers vllm)'
  '(--override-generation-config)--override-generation-config=[Overrides or sets generation config]:override-generation-config:'
  '(--pooler-config)--pooler-config=[Pooler config which controls the behaviour of output pooling in...]:pooler-config:'
  '(--quantization -q)--quantization=[Quantization, if the model does not say]:quantization:(auto_awq auto_gptq awq awq_marlin compressed-tensors deepseek_v4_fp8 experts_int8 fbgemm_fp8 fp8 fp8_per_block fp8_per_channel fp8_per_tensor fp_quant gpt_oss_mxfp4 gptq gptq_marlin humming inc int8_per_channel_weight_only modelopt modelopt_fp4 modelopt_mixed modelopt_mxfp8 moe_wna16 mxfp4 mxfp8 nvfp4_per_token online quark torchao)'
  '(--quantization -q)-q=[Quantization, if the model does not say]:quantization:(auto_awq auto_gptq awq awq_marlin compressed-tensors deepseek_v4_fp8 experts_int8 fbgemm_fp8 fp8 fp8_per_block fp8_per_channel fp8_per_tensor fp_quant gpt_oss_mxfp4 gptq gptq_marlin humming inc int8_per_channel_weight_only modelopt modelopt_fp4 modelopt_mixed modelopt_mxfp8 moe_wna16 mxfp4 mxfp8 nvfp4_per_token online quark torchao)'
  '(--quantization-config)--quantization-config=[User-facing quantization configuration]:quantization-config:'
  '(--renderer-num-workers)--renderer-num-workers=[Number of worker threads in the renderer thread pool]:renderer-num-workers:'
  '(--return-sampling-mask --no-return-sampling-mask)--return-sampling-mask[Whether to return the post-processing token support for each sample]'
  '(--return-sampling-mask --no-return-sampling-mask)--no-return-sampling-mask[Whether to return the post-processing token support for each sample]'
  '(--revision)--revision=[The specific model version to use]:revision:'
  '(--runner)--runner=[The type of model runner to use]:runner:(auto draft generate pooling)'
  '(--seed)--seed=[Seed of the engine]:seed:'
  '*--served-model-name=[Names by which requests choose the model]:served-model-name:'
  '(--skip-tokenizer-init --no-skip-tokenizer-init)--skip-tokenizer-init[Skip initialization of tokenizer and detokenizer]'
  '(--skip-tokenizer-init --no-skip-tokenizer-init)--no-skip-tokenizer-init[Skip initialization of tokenizer and detokenizer]'
  '(--tokenizer)--tokenizer=[Another tokenizer]:tokenizer:_files'
  '(--tokenizer-mode)--tokenizer-mode=[Tokenizer mode]:tokenizer-mode:(auto cohere deepseek_v32 deepseek_v4 hf inkling kimi_k3 mistral)'
  '(--tokenizer-revision)--tokenizer-revision=[The specific revision to use for the tokenizer on the Hugging Face Hub]:tokenizer-revision:'
  '(--trust-remote-code --no-trust-remote-code)--trust-remote-code[Run Python code that comes with the model]'
  '(--trust-remote-code --no-trust-remote-code)--no-trust-remote-code[Run Python code that comes with the model]'
  '(--use-fp64-gumbel --no-use-fp64-gumbel)--use-fp64-gumbel[Whether to use FP64 (instead of FP32) random noise for Gumbel-max...]'
  '(--use-fp64-gumbel --no-use-fp64-gumbel)--no-use-fp64-gumbel[Whether to use FP64 (instead of FP32) random noise for Gumbel-max...]'
  '(--enable-mm-embeds --no-enable-mm-embeds)--enable-mm-embeds[If True, enables passing multimodal embeddings]'
  '(--enable-mm-embeds --no-enable-mm-embeds)--no-enable-mm-embeds[If True, enables passing multimodal embeddings]'
  '(--interleave-mm-strings --no-interleave-mm-strings)--interleave-mm-strings[Enable fully interleaved support for multimodal prompts, while using...]'
  '(--interleave-mm-strings --no-interleave-mm-strings)--no-interleave-mm-strings[Enable fully interleaved support for multimodal prompts, while using...]'
  '(--language-model-only --no-language-model-only)--language-model-only[If True, disables all multimodal inputs by setting all modality...]'
  '(--language-model-only --no-language-model-only)--no-language-model-only[If True, disables all multimodal inputs by setting all modality...]'
  '(--limit-mm-per-prompt)--limit-mm-per-prompt=[The maximum number of input items and options allowed per prompt for...]:limit-mm-per-prompt:'
  '(--media-io-kwargs)--media-io-kwargs=[Additional args passed to process media inputs, keyed by modalities]:media-io-kwargs:'
  '(--mm-device-do-normalize --no-mm-device-do-normalize)--mm-device-do-normalize[Move the do_normalize computation in the mm preprocessing to before...]'
  '(--mm-device-do-normalize --no-mm-device-do-normalize)--no-mm-device-do-normalize[Move the do_normalize computation in the mm preprocessing to before...]'
  '(--mm-encoder-attn-backend)--mm-encoder-attn-backend=[Optional override for the multi-modal encoder attention backend when...]:mm-encoder-attn-backend:'
  '(--mm-encoder-attn-dtype)--mm-encoder-attn-dtype=[Optional dtype override for ViT encoder attention]:mm-encoder-attn-dtype:(fp8)'
  '(--mm-encoder-fp8-scale-path)--mm-encoder-fp8-scale-path=[Path to a JSON file containing per-layer FP8 Q/K/V scales for ViT...]:mm-encoder-fp8-scale-path:_files'
  '(--mm-encoder-fp8-scale-save-margin)--mm-encoder-fp8-scale-save-margin=[Safety margin multiplied onto scales when auto-saving]:mm-encoder-fp8-scale-save-margin:'
  '(--mm-encoder-fp8-scale-save-path)--mm-encoder-fp8-scale-save-path=[When set with dynamic FP8 scaling (mm_encoder_attn_dtype="fp8" and...]:mm-encoder-fp8-scale-save-path:_files'
  '(--mm-encoder-only --no-mm-encoder-only)--mm-encoder-only[When enabled, skips the language component of the model]'
  '(--mm-encoder-only --no-mm-encoder-only)--no-mm-encoder-only[When enabled, skips the language component of the model]'
  '(--mm-encoder-tp-mode)--mm-encoder-tp-mode=[Indicates how to optimize multi-modal encoder inference using tensor...]:mm-encoder-tp-mode:(data weights)'
  '(--mm-hasher-algorithm)--mm-hasher-algorithm=[Hash algorithm to use for multi-modal input caching]:mm-hasher-algorithm:(blake3 sha256 sha512)'
  '(--mm-ipc-gpu-memory-gb)--mm-ipc-gpu-memory-gb=[Amount of GPU memory (in GiB) sequestered on the engine'\''s device for...]:mm-ipc-gpu-memory-gb:'
  '(--mm-processor-cache-gb)--mm-processor-cache-gb=[The size (in GiB) of the multi-modal processor cache, which is used...]:mm-processor-cache-gb:'
  '(--mm-processor-cache-type)--mm-processor-cache-type=[Type of cache to use for the multi-modal preprocessor/mapper]:mm-processor-cache-type:(lru shm)'
  '(--mm-processor-device)--mm-processor-device=[Device the HF multi-modal processor runs the image/video transform on]:mm-processor-device:(auto cpu cuda)'
  '(--mm-processor-kwargs)--mm-processor-kwargs=[Arguments to be forwarded to the model'\''s processor for multi-modal...]:mm-processor-kwargs:'
  '(--mm-shm-cache-max-object-size-mb)--mm-shm-cache-max-object-size-mb=[Size limit (in MiB) for each object stored in the multi-modal...]:mm-shm-cache-max-object-size-mb:'
  '(--skip-mm-profiling --no-skip-mm-profiling)--skip-mm-profiling[When enabled, skips multimodal memory profiling and only profiles...]'
  '(--skip-mm-profiling --no-skip-mm-profiling)--no-skip-mm-profiling[When enabled, skips multimodal memory profiling and only profiles...]'
  '(--video-pruning-method)--video-pruning-method=[Video token pruning algorithm applied when video_pruning_rate > 0]:video-pruning-method:(evs vidcom2)'
  '(--video-pruning-rate)--video-pruning-rate=[Fraction of video tokens to prune from each video]:video-pruning-rate:'
  '(--collect-detailed-traces)--collect-detailed-traces=[It makes sense to set this only if --otlp-traces-endpoint is set]:collect-detailed-traces:(all model worker)'
  '(--cudagraph-metrics --no-cudagraph-metrics)--cudagraph-metrics[Enable CUDA graph metrics (number of padded/unpadded tokens, runtime...]'
  '(--cudagraph-metrics --no-cudagraph-metrics)--no-cudagraph-metrics[Enable CUDA graph metrics (number of padded/unpadded tokens, runtime...]'
  '(--custom-histogram-buckets)--custom-histogram-buckets=[Custom Prometheus histogram bucket boundaries, as a JSON mapping...]:custom-histogram-buckets:'
  '(--enable-layerwise-nvtx-tracing --no-enable-layerwise-nvtx-tracing)--enable-layerwise-nvtx-tracing[Enable layerwise NVTX tracing]'
  '(--enable-layerwise-nvtx-tracing --no-enable-layerwise-nvtx-tracing)--no-enable-layerwise-nvtx-tracing[Enable layerwise NVTX tracing]'
  '(--enable-logging-iteration-details --no-enable-logging-iteration-details)--enable-logging-iteration-details[Log what each step computes and how long it takes]'
  '(--enable-logging-iteration-details --no-enable-logging-iteration-details)--no-enable-logging-iteration-details[Log what each step computes and how long it takes]'
  '(--enable-mfu-metrics --no-enable-mfu-metrics)--enable-mfu-metrics[Enable Model FLOPs Utilization (MFU) metrics]'
  '(--enable-mfu-metrics --no-enable-mfu-metrics)--no-enable-mfu-metrics[Enable Model FLOPs Utilization (MFU) metrics]'
  '(--jit-monitor-mode)--jit-monitor-mode=[How to handle post-warmup JIT compilation events]:jit-monitor-mode:(error warn)'
  '(--jit-monitor-verbose --no-jit-monitor-verbose)--jit-monitor-verbose[Log every monitored JIT compile with runtime details]'
  '(--jit-monitor-verbose --no-jit-monitor-verbose)--no-jit-monitor-verbose[Log every monitored JIT compile with runtime details]'
  '(--kv-cache-metrics --no-kv-cache-metrics)--kv-cache-metrics[Enable KV cache residency metrics (lifetime, idle time, reuse gaps)]'
  '(--kv-cache-metrics --no-kv-cache-metrics)--no-kv-cache-metrics[Enable KV cache residency metrics (lifetime, idle time, reuse gaps)]'
  '(--kv-cache-metrics-sample)--kv-cache-metrics-sample=[Sampling rate for KV cache metrics (0.0, 1.0\]]:kv-cache-metrics-sample:'
  '(--otlp-traces-endpoint)--otlp-traces-endpoint=[Target URL to which OpenTelemetry traces will be sent]:otlp-traces-endpoint:'
  '(--per-request-spec-decode-metrics)--per-request-spec-decode-metrics=[Include per-request speculative-decoding acceptance metrics in the...]:per-request-spec-decode-metrics:(detailed none summary)'
  '(--show-hidden-metrics-for-version)--show-hidden-metrics-for-version=[Enable deprecated Prometheus metrics that have been hidden since the...]:show-hidden-metrics-for-version:'
  '(--cpu-offload-gb)--cpu-offload-gb=[The space in GiB to offload to CPU, per GPU]:cpu-offload-gb:'
  '(--cpu-offload-params)--cpu-offload-params=[The set of parameter name segments to target for CPU offloading]:cpu-offload-params:'
  '(--offload-backend)--offload-backend=[The backend for weight offloading]:offload-backend:(auto prefetch uva)'
  '(--offload-group-size)--offload-group-size=[Group every N layers together]:offload-group-size:'
  '(--offload-num-in-group)--offload-num-in-group=[Number of layers to offload per group]:offload-num-in-group:'
  '(--offload-params)--offload-params=[The set of parameter name segments to target for prefetch offloading]:offload-params:'
  '(--offload-prefetch-step)--offload-prefetch-step=[Number of layers to prefetch ahead]:offload-prefetch-step:'
  '(--all2all-backend)--all2all-backend=[All2All backend for MoE expert parallel communication]:all2all-backend:(allgather_reducescatter deepep_high_throughput deepep_low_latency deepep_v2 flashinfer_all2allv flashinfer_nvlink_one_sided flashinfer_nvlink_two_sided moonep mori_high_throughput mori_low_latency naive nixl_ep pplx)'
  '(--cp-kv-cache-interleave-size)--cp-kv-cache-interleave-size=[Interleave size of kv_cache storage while using DCP]:cp-kv-cache-interleave-size:'
  '(--cpu-distributed-timeout-seconds)--cpu-distributed-timeout-seconds=[Timeout (in seconds) for cpu communication groups]:cpu-distributed-timeout-seconds:'
  '(--data-parallel-size -dp)--data-parallel-size=[Number of copies of the engine]:data-parallel-size:'
  '(--data-parallel-size -dp)-dp=[Number of copies of the engine]:data-parallel-size:'
  '(--dbo-decode-token-threshold)--dbo-decode-token-threshold=[The threshold for dual batch overlap for batches only containing decodes]:dbo-decode-token-threshold:'
  '(--dbo-prefill-token-threshold)--dbo-prefill-token-threshold=[The threshold for dual batch overlap for batches that contain one or...]:dbo-prefill-token-threshold:'
  '(--dcp-comm-backend)--dcp-comm-backend=[Communication backend for Decode Context Parallel (DCP)]:dcp-comm-backend:(a2a ag_rs)'
  '(--dcp-kv-cache-interleave-size)--dcp-kv-cache-interleave-size=[Interleave size of kv_cache storage while using DCP]:dcp-kv-cache-interleave-size:'
  '(--dcp-q-replicate --no-dcp-q-replicate)--dcp-q-replicate[Replicate the MLA query projection within each DCP group so decode...]'
  '(--dcp-q-replicate --no-dcp-q-replicate)--no-dcp-q-replicate[Replicate the MLA query projection within each DCP group so decode...]'
  '(--decode-context-parallel-size -dcp)--decode-context-parallel-size=[Number of ranks that shard the decode KV cache]:decode-context-parallel-size:'
  '(--decode-context-parallel-size -dcp)-dcp=[Number of ranks that shard the decode KV cache]:decode-context-parallel-size:'
  '(--device-ids)--device-ids=[Comma-separated physical GPU device IDs or UUIDs to use (e.g....]:device-ids:'
  '(--disable-custom-all-reduce --no-disable-custom-all-reduce)--disable-custom-all-reduce[Disable the custom all-reduce kernel and fall back to NCCL]'
  '(--disable-custom-all-reduce --no-disable-custom-all-reduce)--no-disable-custom-all-reduce[Disable the custom all-reduce kernel and fall back to NCCL]'
  '(--disable-nccl-for-dp-synchronization --no-disable-nccl-for-dp-synchronization)--disable-nccl-for-dp-synchronization[Forces the dp synchronization logic in vllm/v1/worker/dp_utils.py to...]'
  '(--disable-nccl-for-dp-synchronization --no-disable-nccl-for-dp-synchronization)--no-disable-nccl-for-dp-synchronization[Forces the dp synchronization logic in vllm/v1/worker/dp_utils.py to...]'
  '(--distributed-timeout-seconds)--distributed-timeout-seconds=[Timeout in seconds for distributed operations (e.g., init_process_group)]:distributed-timeout-seconds:'
  '(--dp-sync-interval)--dp-sync-interval=[Steps between DP finish-sync all-reduces]:dp-sync-interval:'
  '(--enable-batch-sharded-sampling --no-enable-batch-sharded-sampling)--enable-batch-sharded-sampling[Use sharded sampling across tensor parallel ranks]'
  '(--enable-batch-sharded-sampling --no-enable-batch-sharded-sampling)--no-enable-batch-sharded-sampling[Use sharded sampling across tensor parallel ranks]'
  '(--enable-dbo --no-enable-dbo)--enable-dbo[Enable dual batch overlap for the model executor]'
  '(--enable-dbo --no-enable-dbo)--no-enable-dbo[Enable dual batch overlap for the model executor]'
  '(--enable-ep-weight-filter --no-enable-ep-weight-filter)--enable-ep-weight-filter[Skip non-local expert weights during model loading when expert...]'
  '(--enable-ep-weight-filter --no-enable-ep-weight-filter)--no-enable-ep-weight-filter[Skip non-local expert weights during model loading when expert...]'
  '(--enable-eplb --no-enable-eplb)--enable-eplb[Enable expert parallelism load balancing for MoE layers]'
  '(--enable-eplb --no-enable-eplb)--no-enable-eplb[Enable expert parallelism load balancing for MoE layers]'
  '(--enable-expert-parallel -ep --no-enable-expert-parallel)--enable-expert-parallel[Use expert parallelism instead of tensor parallelism for MoE layers]'
  '(--enable-expert-parallel -ep --no-enable-expert-parallel)-ep[Use expert parallelism instead of tensor parallelism for MoE layers]'
  '(--enable-expert-parallel -ep --no-enable-expert-parallel)--no-enable-expert-parallel[Use expert parallelism instead of tensor parallelism for MoE layers]'
  '(--enable-hc-sp --no-enable-hc-sp)--enable-hc-sp[Enable sequence parallelism for HyperConnection (HC) computation]'
  '(--enable-hc-sp --no-enable-hc-sp)--no-enable-hc-sp[Enable sequence parallelism for HyperConnection (HC) computation]'
  '(--enable-shm-tensor-arena --no-enable-shm-tensor-arena)--enable-shm-tensor-arena[Route large CPU tensors (e.g. multimodal pixel_values) in the...]'
  '(--enable-shm-tensor-arena --no-enable-shm-tensor-arena)--no-enable-shm-tensor-arena[Route large CPU tensors (e.g. multimodal pixel_values) in the...]'
  '(--eplb-config)--eplb-config=[Expert parallelism configuration]:eplb-config:'
  '(--expert-placement-strategy)--expert-placement-strategy=[The expert placement strategy for MoE layers]:expert-placement-strategy:(linear round_robin)'
  '(--max-parallel-loading-workers)--max-parallel-loading-workers=[Maximum number of parallel loading workers when loading model...]:max-parallel-loading-workers:'
  '(--numa-bind-cpus)--numa-bind-cpus=[Optional CPU lists to bind each GPU worker to]:numa-bind-cpus:'
  '(--numa-bind-nodes)--numa-bind-nodes=[NUMA node to bind each GPU worker to]:numa-bind-nodes:'
  '(--pipeline-parallel-size -pp)--pipeline-parallel-size=[Number of workers that share the layers out]:pipeline-parallel-size:'
  '(--pipeline-parallel-size -pp)-pp=[Number of workers that share the layers out]:pipeline-parallel-size:'
  '(--prefill-context-parallel-size -pcp)--prefill-context-parallel-size=[Number of ranks that split prefill sequence computation]:prefill-context-parallel-size:'
  '(--prefill-context-parallel-size -pcp)-pcp=[Number of ranks that split prefill sequence computation]:prefill-context-parallel-size:'
  '(--ray-workers-use-nsight --no-ray-workers-use-nsight)--ray-workers-use-nsight[Whether to profile Ray workers with nsight, see...]'
  '(--ray-workers-use-nsight --no-ray-workers-use-nsight)--no-ray-workers-use-nsight[Whether to profile Ray workers with nsight, see...]'
  '(--tensor-parallel-size -tp)--tensor-parallel-size=[Number of workers that share each layer]:tensor-parallel-size:'
  '(--tensor-parallel-size -tp)-tp=[Number of workers that share each layer]:tensor-parallel-size:'
  '(--ubatch-size)--ubatch-size=[Number of ubatch size]:ubatch-size:'
  '(--worker-cls)--worker-cls=[The full name of the worker class to use]:worker-cls:'
  '(--worker-extension-cls)--worker-extension-cls=[The full name of the worker extension class to use]:worker-extension-cls:'
  '(--async-scheduling --no-async-scheduling)--async-scheduling[If set to False, disable async scheduling]'
  '(--async-scheduling --no-async-scheduling)--no-async-scheduling[If set to False, disable async scheduling]'
  '(--disable-chunked-mm-input --no-disable-chunked-mm-input)--disable-chunked-mm-input[If set to true and chunked prefill is enabled, we do not want to...]'
  '(--disable-chunked-mm-input --no-disable-chunked-mm-input)--no-disable-chunked-mm-input[If set to true and chunked prefill is enabled, we do not want to...]'
  '(--disable-hybrid-kv-cache-manager --no-disable-hybrid-kv-cache-manager)--disable-hybrid-kv-cache-manager[If set to True, KV cache manager will allocate the same size of KV...]'
  '(--disable-hybrid-kv-cache-manager --no-disable-hybrid-kv-cache-manager)--no-disable-hybrid-kv-cache-manager[If set to True, KV cache manager will allocate the same size of KV...]'
  '(--enable-chunked-prefill --no-enable-chunked-prefill)--enable-chunked-prefill[If True, prefill requests can be chunked based on the remaining...]'
  '(--enable-chunked-prefill --no-enable-chunked-prefill)--no-enable-chunked-prefill[If True, prefill requests can be chunked based on the remaining...]'
  '(--long-prefill-token-threshold)--long-prefill-token-threshold=[For chunked prefill, a request is considered long if the prompt is...]:long-prefill-token-threshold:'
  '(--long-prefill-token-threshold-adaptive --no-long-prefill-token-threshold-adaptive)--long-prefill-token-threshold-adaptive[Floor the effective long prefill token threshold at a fair share of...]'
  '(--long-prefill-token-threshold-adaptive --no-long-prefill-token-threshold-adaptive)--no-long-prefill-token-threshold-adaptive[Floor the effective long prefill token threshold at a fair share of...]'
  '(--max-num-active-seqs)--max-num-active-seqs=[Maximum number of requests the scheduler admits into RUNNING]:max-num-active-seqs:'
  '(--max-num-batched-tokens)--max-num-batched-tokens=[Most tokens that one step computes, such as 2048 or 8k]:max-num-batched-tokens:'
  '(--max-num-queued-reqs)--max-num-queued-reqs=[Maximum number of requests that can be in-flight (waiting or...]:max-num-queued-reqs:'
  '(--max-num-queued-tokens)--max-num-queued-tokens=[Maximum total prompt tokens of requests currently in the prefill...]:max-num-queued-tokens:'
  '(--max-num-scheduled-tokens)--max-num-scheduled-tokens=[Maximum number of tokens that the scheduler may issue in a single...]:max-num-scheduled-tokens:'
  '(--max-num-seqs)--max-num-seqs=[Most sequences that one step computes]:max-num-seqs:'
  '(--prefill-schedule-interval)--prefill-schedule-interval=[For data-parallel deployments, only admit new prefill requests once...]:prefill-schedule-interval:'
  '(--scheduler-cls)--scheduler-cls=[The scheduler class to use]:scheduler-cls:'
  '(--scheduler-reserve-full-isl --no-scheduler-reserve-full-isl)--scheduler-reserve-full-isl[If True, the scheduler checks whether the full input sequence length...]'
  '(--scheduler-reserve-full-isl --no-scheduler-reserve-full-isl)--no-scheduler-reserve-full-isl[If True, the scheduler checks whether the full input sequence length...]'
  '(--scheduling-policy)--scheduling-policy=[The scheduling policy to use]:scheduling-policy:(fcfs priority)'
  '(--stream-interval)--stream-interval=[The interval (or buffer size) for streaming in terms of token length]:stream-interval:'
  '(--watermark)--watermark=[Fraction of total KV cache blocks to keep free (the watermark) when...]:watermark:'
  '(--aggregate-engine-logging)--aggregate-engine-logging[Log aggregate rather than per-engine statistics when using data...]'
  '(--disable-log-stats)--disable-log-stats[Disable logging statistics]'
  '(--enable-log-requests --no-enable-log-requests)--enable-log-requests[Log each request with its parameters]'
  '(--enable-log-requests --no-enable-log-requests)--no-enable-log-requests[Log each request with its parameters]'
  '(--fail-on-environ-validation --no-fail-on-environ-validation)--fail-on-environ-validation[If set, the engine will raise an error if environment validation fails]'
  '(--fail-on-environ-validation --no-fail-on-environ-validation)--no-fail-on-environ-validation[If set, the engine will raise an error if environment validation fails]'
  '(--gdn-prefill-backend)--gdn-prefill-backend=[Select GDN prefill backend]:gdn-prefill-backend:(flashinfer triton cutedsl aiter_flydsl)'
  '(--kda-decode-backend)--kda-decode-backend=[Select KDA decode backend]:kda-decode-backend:(auto native flashinfer triton)'
  '(--kda-prefill-backend)--kda-prefill-backend=[Select KDA prefill backend]:kda-prefill-backend:(auto triton flashkda flashinfer fused)'
  '(--reasoning-parser)--reasoning-parser=[vLLM'\''s parser for this model'\''s reasoning, or one of...]:reasoning-parser:(cohere_command3 cohere_command4 deepseek_r1 deepseek_v3 deepseek_v4 deepseek_v41 ernie45 gemma4 glm45 glm47 granite granite_thinking_parser hf holo2 hunyuan_a13b hy_v3 hy_v4 inkling k2_horizon kimi_k2 kimi_k3 ling3 mimo minicpmv minimax_m2 minimax_m2_append_think minimax_m3 mistral muse_glimmer nemotron_v3 olmo3 openai_gptoss plamo3 poolside_v1 qwen3 seed_oss step3 step3p5)'
  '(--reasoning-parser-plugin)--reasoning-parser-plugin=[Path to a dynamically reasoning parser plugin that can be...]:reasoning-parser-plugin:_files'
  '(--additional-config)--additional-config=[Additional config for specified platform]:additional-config:'
  '(--attention-config -ac)--attention-config=[Attention configuration]:attention-config:'
  '(--attention-config -ac)-ac=[Attention configuration]:attention-config:'
  '(--aux-output-config)--aux-output-config=[Execution auxiliary output configuration]:aux-output-config:'
  '(--compilation-config -cc)--compilation-config=[torch.compile and cudagraph capture configuration for the model]:compilation-config:'
  '(--compilation-config -cc)-cc=[torch.compile and cudagraph capture configuration for the model]:compilation-config:'
  '(--diffusion-config -dc)--diffusion-config=[Diffusion LLM (dLLM) configuration]:diffusion-config:'
  '(--diffusion-config -dc)-dc=[Diffusion LLM (dLLM) configuration]:diffusion-config:'
  '(--ec-manager-config)--ec-manager-config=[The configurations for custom encoder cache manager]:ec-manager-config:'
  '(--ec-transfer-config)--ec-transfer-config=[The configurations for distributed EC cache transfer]:ec-transfer-config:'
  '(--engram-config)--engram-config=[N-gram embedding storage and sharding settings]:engram-config:'
  '(--kernel-config)--kernel-config=[Kernel configuration]:kernel-config:'
  '(--kv-events-config)--kv-events-config=[The configurations for event publishing]:kv-events-config:'
  '(--kv-transfer-config)--kv-transfer-config=[The configurations for distributed KV cache transfer]:kv-transfer-config:'
  '(--optimization-level -O)--optimization-level=[The optimization level]:optimization-level:(0 1 2 3)'
  '(--optimization-level -O)-O=[The optimization level]:optimization-level:(0 1 2 3)'
  '(--performance-mode)--performance-mode=[Performance mode for runtime behavior, '\''balanced'\'' is the default]:performance-mode:(balanced interactivity throughput)'
  '(--reasoning-config)--reasoning-config=[The configurations for reasoning model]:reasoning-config:'
  '(--spec-method)--spec-method=[The name of the speculative method to use]:spec-method:(bailing_hybrid_mtp bailing_hybrid_v3_mtp custom_class deepseek_mtp dflash dots3_note_mtp draft_model dspark eagle eagle3 ernie_mtp exaone4_5_mtp exaone_moe_mtp extract_hidden_states gemma4_mtp glm4_moe_lite_mtp glm4_moe_mtp glm5_next_mtp glm_ocr_mtp hy_v3_mtp hy_v4_mtp inkling_mtp kimi_k3_mtp longcat_flash_mtp medusa mimo_mtp mimo_v2_mtp minimax_m3_mtp mlp_speculator mtp nemotron_h_mtp ngram ngram_gpu pangu_ultra_moe_mtp qwen3_5_mtp qwen3_next_mtp qwen4_exp_mtp step3p5_mtp suffix)'
  '(--spec-model)--spec-model=[The name of the draft model, eagle head, or additional weights, if...]:spec-model:'
  '(--spec-tokens)--spec-tokens=[The number of speculative tokens, if provided]:spec-tokens:'
  '(--speculative-config -sc)--speculative-config=[Speculative decoding configuration]:speculative-config:'
  '(--speculative-config -sc)-sc=[Speculative decoding configuration]:speculative-config:'
  '(--structured-outputs-config)--structured-outputs-config=[Structured outputs configuration]:structured-outputs-config:'
  '(--watermark-config)--watermark-config=[Text watermarking configuration]:watermark-config:'
)

__omni_keys() { # the keys of --flag.key, of which _arguments knows nothing
  local -a keys
  case ${PREFIX%%.*} in
  --ir-op-priority) keys=(rms_norm fused_add_rms_norm gelu_and_mul_sparse) ;;
  --pooler-config) keys=(task pooling_type seq_pooling_type tok_pooling_type use_activation enable_flash_late_interaction dimensions enable_chunked_processing max_embed_len logit_mean logit_sigma step_tag_id returned_token_ids) ;;
  --quantization-config) keys=(linear linear.weight linear.activation moe moe.weight moe.activation ignore targets) ;;
  --eplb-config) keys=(window_size step_interval num_redundant_experts log_balancedness log_balancedness_interval use_async policy communicator enable_migration_batching) ;;
  --attention-config|-ac) keys=(backend minimax_m3_msa_decode_backend backend_per_kind flash_attn_version flash_attn_max_num_splits_for_cuda_graph tokenspeed_mla_min_split_kv tq_max_kv_splits_for_cuda_graph use_trtllm_attention disable_flashinfer_q_quantization mla_prefill_backend use_prefill_query_quantization indexer_kv_dtype indexer_sparse_logits hisparse_config hisparse_config.device_buffer_size hisparse_config.eager_host_mirror use_non_causal sparse_mla_force_mqa sparse_mla_prefill_workspace_factor flex_attn_block_m flex_attn_block_n flex_attn_q_block_size flex_attn_kv_block_size) ;;
  --aux-output-config) keys=(enable_return_routed_experts max_bytes) ;;
  --compilation-config|-cc) keys=(mode debug_dump_path cache_dir compile_cache_save_format backend custom_ops ir_enable_torch_wrap splitting_ops compile_mm_encoder cudagraph_mm_encoder encoder_cudagraph_token_budgets encoder_cudagraph_max_vision_items_per_batch encoder_cudagraph_max_frames_per_batch cudagraph_decoder_replay decoder_replay_cudagraph_capture_sizes decoder_replay_trim_threshold compile_sizes compile_ranges_endpoints inductor_compile_config inductor_passes cudagraph_mode cudagraph_num_of_warmups cudagraph_capture_sizes cudagraph_copy_inputs cudagraph_specialize_lora use_inductor_graph_partition pass_config pass_config.fuse_norm_quant pass_config.fuse_act_quant pass_config.fuse_attn_quant pass_config.eliminate_noops pass_config.fuse_allreduce_rms pass_config.enable_qk_norm_rope_fusion pass_config.fuse_rope_kvcache_cat_mla pass_config.fuse_act_padding pass_config.fuse_mla_dual_rms_norm pass_config.fuse_rope_kvcache pass_config.fuse_qk_norm_rope_kvcache pass_config.rope_kvcache_fusion_max_token_num pass_config.fi_allreduce_fusion_max_size_mb max_cudagraph_capture_size dynamic_shapes_config dynamic_shapes_config.type dynamic_shapes_config.evaluate_guards dynamic_shapes_config.assume_32_bit_indexing fast_moe_cold_start) ;;
  --ec-manager-config) keys=(encoder_cache_manager_cls manager_config) ;;
  --ec-transfer-config) keys=(ec_connector engine_id ec_buffer_device ec_buffer_size ec_role ec_ip ec_port ec_connector_extra_config ec_connector_module_path) ;;
  --engram-config) keys=(cpu_offload embedding_across_dp dp_shared_memory use_thp) ;;
  --kernel-config) keys=(ir_op_priority ir_op_priority.rms_norm ir_op_priority.fused_add_rms_norm ir_op_priority.gelu_and_mul_sparse enable_flashinfer_autotune enable_rocm_segmented_attn_autotune enable_cutedsl_warmup enable_jit_warmup moe_backend sparse_indexer_topk_backend linear_backend linear_backend_per_quant) ;;
  --kv-events-config) keys=(enable_kv_cache_events publisher endpoint replay_endpoint buffer_steps hwm max_queue_size topic) ;;
  --kv-transfer-config) keys=(kv_connector engine_id kv_buffer_device kv_role kv_port kv_connector_extra_config kv_connector_module_path enable_permute_local_kv kv_load_failure_policy) ;;
  --reasoning-config) keys=(reasoning_parser reasoning_start_str reasoning_end_str) ;;
  --structured-outputs-config) keys=(backend disable_any_whitespace disable_additional_properties reasoning_parser reasoning_parser_plugin enable_in_reasoning) ;;
  esac
  compset -P 1 '*.'
  compadd -a keys
}

_omni() {
  local context state state_descr line
  typeset -A opt_args
  local -a members=(
    'serve:Serve a model, or a pipeline of models, over HTTP until interrupted'
    'chat:Talk to a served model, or ask it one question'
    'complete:Let a served model go on from a text, once'
    'bench:Measure how fast a server answers, and how fast it starts'
    'check:Test whether a server keeps the rules of its APIs'
    'doctor:Report what is installed here, and what is in the way'
    'run-batch:Run a file of requests, against a server or on engines of its own'
    'models:Fetch, list and remove the bundled models'
    'completion:Print the completion script of a shell'
    'version:Show the versions of omni and of the engine below it'
  )
  _arguments -C -S \
    '(--version)--version[Show omni'\''s version]' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]' \
    '1: :->member' \
    '*:: :->rest'
  case $state in
  member) _describe -t commands command members ;;
  rest)
    case $line[1] in
    serve) _omni_serve ;;
    chat) _omni_chat ;;
    complete) _omni_complete ;;
    bench) _omni_bench ;;
    check) _omni_check ;;
    doctor) _omni_doctor ;;
    run-batch) _omni_run_batch ;;
    models) _omni_models ;;
    completion) _omni_completion ;;
    version) _omni_version ;;
    esac
    ;;
  esac
}

_omni_serve() {
  if [[ $PREFIX == -*.* ]]; then __omni_keys; return; fi
  _arguments -S \
    $__omni_shared \
    '(--disable-fastapi-docs --no-disable-fastapi-docs)--disable-fastapi-docs[Serve neither /docs nor /openapi.json]' \
    '(--disable-fastapi-docs --no-disable-fastapi-docs)--no-disable-fastapi-docs[Serve neither /docs nor /openapi.json]' \
    '(--host)--host=[Address to listen on]:host:' \
    '(--port)--port=[Port to listen on]:port:' \
    '(--root-path)--root-path=[Prefix under which a proxy publishes the server, such as /llm]:root-path:' \
    '*--allowed-hosts=[Names that a request'\''s Host header may carry, such as *.example.org]:allowed-hosts:' \
    '*--api-key=[Ask every request but liveness for a key]:api-key:' \
    '*--api-key-file=[File with one API key per line]:api-key-file:_files' \
    '(--h11-max-header-count)--h11-max-header-count=[Most headers of one request]:h11-max-header-count:' \
    '(--h11-max-incomplete-event-size)--h11-max-incomplete-event-size=[Longest request line with its headers, in bytes]:h11-max-incomplete-event-size:' \
    '(--max-body-bytes)--max-body-bytes=[Largest request body, such as 64M]:max-body-bytes:' \
    '(--ssl-ca-certs)--ssl-ca-certs=[PEM file of the authorities that sign clients'\'' certificates]:ssl-ca-certs:_files' \
    '(--ssl-cert-reqs)--ssl-cert-reqs=[Whether clients need a certificate]:ssl-cert-reqs:' \
    '(--ssl-certfile)--ssl-certfile=[PEM file of the certificate chain]:ssl-certfile:_files' \
    '(--ssl-ciphers)--ssl-ciphers=[OpenSSL'\''s list of ciphers for TLS 1.2]:ssl-ciphers:' \
    '(--ssl-keyfile)--ssl-keyfile=[PEM file of the certificate'\''s private key]:ssl-keyfile:_files' \
    '(--allow-credentials --no-allow-credentials)--allow-credentials[Let them send cookies and the like]' \
    '(--allow-credentials --no-allow-credentials)--no-allow-credentials[Let them send cookies and the like]' \
    '(--allowed-headers)--allowed-headers=[JSON list of the headers that they may send]:allowed-headers:' \
    '(--allowed-methods)--allowed-methods=[JSON list of the methods that they may use]:allowed-methods:' \
    '(--allowed-origins)--allowed-origins=[JSON list of the origins whose pages may call]:allowed-origins:' \
    '(--api-server-count -asc)--api-server-count=[Number of HTTP frontends]:api-server-count:' \
    '(--api-server-count -asc)-asc=[Number of HTTP frontends]:api-server-count:' \
    '(--help -h)--help=-[Show this help]::topic:(all Listening Security CrossOrigin Processes Output Settings AttentionConfig CacheConfig CompilationConfig Frontend KernelConfig LoRAConfig LoadConfig LoggingConfig MambaConfig ModelConfig MultiModalConfig ObservabilityConfig OffloadConfig ParallelConfig SchedulerConfig Server StructuredOutputsConfig VllmConfig)' \
    '(--help -h)-h[Show this help]' \
    '(--json)--json[With --print-config]' \
    '(--print-config)--print-config[Show each setting with its origin, secrets masked, and start nothing]' \
    '1:model:__omni_targets'
}

_omni_chat() {
  _arguments -S \
    '(--url)--url=[Address of the server, with or without /v1]:url:' \
    '(--api-key)--api-key=[Key that the server asks for]:api-key:' \
    '(--timeout)--timeout=[Longest wait for a server that is starting, and for the next piece...]:timeout:' \
    '(--ca-file)--ca-file=[Trust the certificates in this PEM file instead of the well-known...]:ca-file:_files' \
    '(--insecure)--insecure[Trust any certificate]' \
    '(--model -m)--model=[Served model to talk to]:model:' \
    '(--model -m)-m=[Served model to talk to]:model:' \
    '(--system -s)--system=[System prompt]:system:' \
    '(--system -s)-s=[System prompt]:system:' \
    '(--temperature)--temperature=[Randomness]:temperature:' \
    '(--top-p)--top-p=[Choose among the likeliest tokens that make up this share, 0 to 1]:top-p:' \
    '(--max-tokens)--max-tokens=[Longest answer, in tokens]:max-tokens:' \
    '(--seed)--seed=[Seed of the randomness, for answers that can be repeated]:seed:' \
    '(--stats)--stats[Say on stderr how fast the answer came]' \
    '(--json)--json[Print one JSON object instead of text]' \
    '(--no-stream)--no-stream[Ask for the answer in one piece]' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]'
}

_omni_complete() {
  _arguments -S \
    '(--file -f)--file=[Read the prompt from a file]:file:_files' \
    '(--file -f)-f=[Read the prompt from a file]:file:_files' \
    '(--url)--url=[Address of the server, with or without /v1]:url:' \
    '(--api-key)--api-key=[Key that the server asks for]:api-key:' \
    '(--timeout)--timeout=[Longest wait for a server that is starting, and for the next piece...]:timeout:' \
    '(--ca-file)--ca-file=[Trust the certificates in this PEM file instead of the well-known...]:ca-file:_files' \
    '(--insecure)--insecure[Trust any certificate]' \
    '(--model -m)--model=[Served model to talk to]:model:' \
    '(--model -m)-m=[Served model to talk to]:model:' \
    '(--temperature)--temperature=[Randomness]:temperature:' \
    '(--top-p)--top-p=[Choose among the likeliest tokens that make up this share, 0 to 1]:top-p:' \
    '(--max-tokens)--max-tokens=[Longest answer, in tokens]:max-tokens:' \
    '(--seed)--seed=[Seed of the randomness, for answers that can be repeated]:seed:' \
    '*--stop=[End before this text]:stop:' \
    '(--echo)--echo[Show the prompt before its completion]' \
    '(-n)-n=[Ask for N completions]:n:' \
    '(--logprobs)--logprobs=[With --json]:logprobs:' \
    '(--stats)--stats[Say on stderr how fast the answer came]' \
    '(--json)--json[Print one JSON object instead of text]' \
    '(--no-stream)--no-stream[Ask for the answer in one piece]' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]'
}

_omni_bench() {
  local context state state_descr line
  typeset -A opt_args
  local -a members=(
    'serve:Put any OpenAI-style server under load and tell how it answered'
    'startup:Measure how long omni serve takes to be ready, and its memory then'
  )
  _arguments -C -S \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]' \
    '1: :->member' \
    '*:: :->rest'
  case $state in
  member) _describe -t commands command members ;;
  rest)
    case $line[1] in
    serve) _omni_bench_serve ;;
    startup) _omni_bench_startup ;;
    esac
    ;;
  esac
}

_omni_bench_serve() {
  _arguments -S \
    '(--url)--url=[Address of the server, with or without /v1]:url:' \
    '(--api-key)--api-key=[Key that the server asks for]:api-key:' \
    '(--timeout)--timeout=[Longest time of one request, and longest wait for a server that is...]:timeout:' \
    '(--ca-file)--ca-file=[Trust the certificates in this PEM file instead of the well-known...]:ca-file:_files' \
    '(--insecure)--insecure[Trust any certificate]' \
    '(--model -m)--model=[Served model to ask]:model:' \
    '(--model -m)-m=[Served model to ask]:model:' \
    '(--endpoint)--endpoint=[Route to put under load]:endpoint:(chat completions embeddings)' \
    '(--num-prompts -n)--num-prompts=[Requests to measure]:num-prompts:' \
    '(--num-prompts -n)-n=[Requests to measure]:num-prompts:' \
    '(--concurrency -c)--concurrency=[Requests in flight at most]:concurrency:' \
    '(--concurrency -c)-c=[Requests in flight at most]:concurrency:' \
    '(--request-rate)--request-rate=[Send requests at this mean rate, at the times of a Poisson process]:request-rate:' \
    '(--warmup)--warmup=[Requests sent before, which count for nothing]:warmup:' \
    '(--max-seconds)--max-seconds=[End after this time, warm-up included, done or not]:max-seconds:' \
    '(--seed)--seed=[Seed of the prompts and of the times of sending]:seed:' \
    '(--input-len)--input-len=[Words of a random prompt, about as many tokens]:input-len:' \
    '(--output-len)--output-len=[Longest answer, in tokens]:output-len:' \
    '(--dataset)--dataset=[Take the prompts from a JSONL file instead]:dataset:_files' \
    '(--ignore-eos)--ignore-eos[Ask for answers of exactly the output length (vLLM'\''s ignore_eos)]' \
    '(--temperature)--temperature=[Randomness]:temperature:' \
    '*--goodput=[Count the requests within these limits, in milliseconds]:goodput:' \
    '(--percentiles)--percentiles=[Which percentiles to tell, 0 to 100]:percentiles:' \
    '(--chunk-usage)--chunk-usage[Ask for a token count with each chunk (vLLM'\''s...]' \
    '(--json)--json[Print one JSON object instead of text]' \
    '(--save)--save=[Write a line of JSON for each request]:save:_files' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]'
}

_omni_bench_startup() {
  _arguments -S \
    '(--pairs)--pairs=[Starts of each server to measure]:pairs:' \
    '(--warmup)--warmup=[Starts of each server before, which fill the caches and count for...]:warmup:' \
    '(--against)--against=[Another server to start in turn]:against:' \
    '(--against-ready)--against-ready=[Answers 200 once that server is ready]:against-ready:' \
    '(--timeout)--timeout=[Longest wait for one start]:timeout:' \
    '(--json)--json[Print one JSON object instead of text]' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]'
}

_omni_check() {
  _arguments -S \
    '(--url)--url=[Address of the server, with or without /v1]:url:' \
    '(--api-key)--api-key=[Key that the server asks for]:api-key:' \
    '(--model -m)--model=[Served model to use]:model:' \
    '(--model -m)-m=[Served model to use]:model:' \
    '*--family=[Check this family alone]:family:(models replies lengths sse usage stop errors limits disconnect auth)' \
    '(--ca-file)--ca-file=[Trust the certificates in this PEM file instead of the well-known...]:ca-file:_files' \
    '(--insecure)--insecure[Trust any certificate]' \
    '(--timeout)--timeout=[Longest time for one check]:timeout:' \
    '(--json)--json[Print one JSON object instead of text]' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]'
}

_omni_doctor() {
  _arguments -S \
    '(--port)--port=[Port to look for]:port:' \
    '(--json)--json[Print one JSON object instead of text]' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]'
}

_omni_run_batch() {
  if [[ $PREFIX == -*.* ]]; then __omni_keys; return; fi
  _arguments -S \
    $__omni_shared \
    '(-o --output)-o=[Where results go]:o:_files' \
    '(-o --output)--output=[Where results go]:o:_files' \
    '(--errors)--errors=[Where failed lines go]:errors:_files' \
    '(--check)--check[Look at every line, say what is wrong, and run nothing]' \
    '(--resume)--resume[Go on with a batch that was stopped or killed]' \
    '(--overwrite)--overwrite[Begin again over results of before]' \
    '(--unordered)--unordered[Write each result as soon as it is there, not in the order of INPUT]' \
    '(--concurrency)--concurrency=[Lines at work at once]:concurrency:' \
    '(--max-retries)--max-retries=[Further attempts for a line that met a busy or broken server]:max-retries:' \
    '(--json)--json[Print the summary as one JSON object on stdout]' \
    '(--url)--url=[Address of the server, with or without /v1]:url:' \
    '(--api-key)--api-key=[Key that the server asks for]:api-key:' \
    '(--timeout)--timeout=[Longest wait for a server that is starting, and for one answer]:timeout:' \
    '(--ca-file)--ca-file=[Trust the certificates in this PEM file instead of the well-known...]:ca-file:_files' \
    '(--insecure)--insecure[Trust any certificate]' \
    '(--help -h)--help=-[Show this help]::topic:(all Batch RunningServer Listening Security CrossOrigin Processes Output Settings AttentionConfig CacheConfig CompilationConfig Frontend KernelConfig LoRAConfig LoadConfig LoggingConfig MambaConfig ModelConfig MultiModalConfig ObservabilityConfig OffloadConfig ParallelConfig SchedulerConfig Server StructuredOutputsConfig VllmConfig)' \
    '(--help -h)-h[Show this help]' \
    '1:file:_files' \
    '2:model:__omni_targets'
}

_omni_models() {
  local context state state_descr line
  typeset -A opt_args
  local -a members=(
    'list:List the bundled models, and which of them are in the cache'
    'pull:Fetch a bundled model and prepare it for vLLM'
    'path:Print the folder of a bundled model that is in the cache'
    'remove:Remove a bundled model from the cache'
  )
  _arguments -C -S \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]' \
    '1: :->member' \
    '*:: :->rest'
  case $state in
  member) _describe -t commands command members ;;
  rest)
    case $line[1] in
    list) _omni_models_list ;;
    pull) _omni_models_pull ;;
    path) _omni_models_path ;;
    remove) _omni_models_remove ;;
    esac
    ;;
  esac
}

_omni_models_list() {
  _arguments -S \
    '(--json)--json[Print one JSON object instead of text]' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]'
}

_omni_models_pull() {
  _arguments -S \
    '(--timeout)--timeout=[Give up after this many seconds]:timeout:' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]' \
    '1:bundled model:__omni_models'
}

_omni_models_path() {
  _arguments -S \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]' \
    '1:bundled model:__omni_models'
}

_omni_models_remove() {
  _arguments -S \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]' \
    '1:bundled model:__omni_models'
}

_omni_completion() {
  _arguments -S \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]' \
    '1:word:(bash zsh fish)'
}

_omni_version() {
  _arguments -S \
    '(--json)--json[Print one JSON object instead of text]' \
    '(- *)-h[Show this help]' \
    '(- *)--help[Show this help]'
}

# Autoloaded from a folder of $fpath, or read by a startup file
if [[ $funcstack[1] == _omni ]]; then _omni "$@"; else compdef _omni omni; fi
