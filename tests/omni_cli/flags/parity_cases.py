"""Command lines for the comparison with vLLM's parser, as a person would type them."""

from __future__ import annotations

__all__ = ["DIFFERENT", "SAME"]

# One line each, as in a shell; both parsers must make the same of it, or both refuse it. (A dotted
# flag without a value ends vLLM with an IndexError; that counts as refused.)
SAME = r"""
m
./models/m
org/name
--model org/name
--model=org/name
--port 9000
--port=9000
m --port 9000
--port 9000 m
m --host 0.0.0.0 --port 8080
m --host :: --port 0
m --port 1 --port 2
m --port 65535
m --tensor-parallel-size 2
m --tensor_parallel_size 2
m --tensor_parallel_size=2
m --tensor-parallel_size 2
m -tp 2
m -tp=2
m -tp 2 -tp 1
m -pp 2
m -dp 2
m -dp=2 -tp 4 -pp 1
m -dcp 2
m -pcp 1
m -asc 4
m -asc=4
m --api-server-count 4
m -q awq
m -qawq
m -q=awq
m -q awq_marlin
m --quantization gptq
m --quantization None
m --quantization ''
m --quantization=
m -n 1
m -n1
m -n=1
m -r 0
m -r0
m -O3
m -O 3
m -O=3
m -O0
m -O1 m2
m -O
m -O 7
m --optimization-level 2
m --optimization_level=2
m -cc.mode 3
m -cc.mode=3
m -cc '{"mode": 3}'
m -cc='{"mode": 3}'
m -cc.mode 3 -cc.cudagraph_mode NONE
m -cc.mode 0 -cc.mode 3
m -cc.pass_config.fuse_norm_quant true
m -cc.pass_config '{"fuse_norm_quant": true}'
m --compilation-config.mode 3
m --compilation_config.mode 3
m --compilation-config.cudagraph_capture_sizes '[1, 2, 4]'
m --compilation-config.cudagraph_capture_sizes+ 1 --compilation-config.cudagraph_capture_sizes+ 2,4
m --compilation-config.splitting_ops+ a,b
m --compilation-config.splitting_ops+=a
m --compilation-config.custom_ops+ +rms_norm --compilation-config.custom_ops+ -silu
m --compilation-config.custom_ops '["none"]' --compilation-config.custom_ops+ +rms_norm
m --compilation-config '{"mode": 3}' --compilation-config.cudagraph_mode NONE
m --compilation-config.cudagraph_mode NONE --compilation-config '{"mode": 3}'
m -cc.mode 3 --compilation-config.cudagraph_mode NONE
m --compilation-config.cudagraph_mode NONE -cc.mode 3
m --compilation-config '{"mode": 3,}'
m --compilation-config 3
m --compilation-config '[]'
m --compilation-config '{"no_such_key": 3}'
m --compilation-config.no_such_key 3
m --compilation-config.pass_config.no_such_key 3
m --compilation-config.level 3
m --compilation-config.mode nonsense
m --compilation-config.mode
m --compilation-config.
m --compilation-config.pass_config.fuse_norm_quant
m --compilation-config.inductor_compile_config.x.y 1
m --compilation-config.inductor_compile_config '{"any": {"thing": 1}}'
m -ac.backend FLASH_ATTN
m -ac.flash_attn_version 3
m --attention-config.flash_attn_version=3
m --attention-backend FLASH_ATTN
m --kernel-config.moe_backend triton
m --kernel-config.ir_op_priority.rms_norm+ a,b
m --ir-op-priority.rms_norm+ a,b
m --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
m --kv-transfer-config.kv_connector NixlConnector --kv-transfer-config.kv_role kv_both
m --kv-transfer-config.kv_port 80k
m --kv-transfer-config '{"kv_port": 80k}'
m --kv-transfer-config '{"kv_port": 1.5k}'
m --kv-transfer-config '{"kv_port": 1.5K}'
m --kv-transfer-config.kv_connector_extra_config.cpu_bytes_to_use 80m
m --kv-transfer-config.kv_connector_extra_config.name 80x
m --kv-transfer-config '{"engine_id": "80m", "kv_port": 2k}'
m --kv-transfer-config None
m --kv-events-config '{"enable_kv_cache_events": true, "publisher": "zmq"}'
m --kv-events-config.enable_kv_cache_events true
m --ec-transfer-config.ec_role ec_both
m --speculative-config '{"method": "ngram", "num_speculative_tokens": 4}'
m -sc '{"method": "ngram"}'
m -sc.method ngram -sc.num_speculative_tokens 4
m --speculative-config.model org/draft --speculative-config.num_speculative_tokens=5
m --speculative-config nonsense
m --speculative-config None
m --spec-method ngram
m --spec-method none-of-them
m --spec-model org/draft --spec-tokens 3
m --structured-outputs-config.backend xgrammar
m --structured-outputs-config '{"backend": "guidance", "disable_any_whitespace": true}'
m --structured-outputs-config.backend nonsense
m --pooler-config '{"pooling_type": "MEAN"}'
m --pooler-config.pooling_type CLS --pooler-config.use_activation false
m --pooler-config.no_such_key 1
m --eplb-config '{"window_size": 100}'
m --eplb-config.window_size 1k
m --structured-outputs-config.disable_any_whitespace True
m --structured-outputs-config.disable_any_whitespace t
m --structured-outputs-config.disable_any_whitespace maybe
m --structured-outputs-config.disable_any_whitespace 2
m --structured-outputs-config.reasoning_parser 3
m --eplb-config.window_size 0
m --eplb-config.window_size '"5"'
m --eplb-config.window_size 5.0
m --eplb-config.window_size 5.5
m --eplb-config.window_size true
m --eplb-config.window_size '[5]'
m --pooler-config.logit_mean text
m --pooler-config.logit_mean '"1.5"'
m --pooler-config.logit_mean null
m --hf-overrides.a +5
m --hf-overrides.a 1_000
m --hf-overrides.a +5k
m --hf-overrides.a +x
m --pooler-config '{"pooling_type": "FOO"}'
m --pooler-config '{"pooling_type": null}'
m -cc.mode 9
m -cc.mode VLLM_Compile
m -cc.mode nosuch
m -cc.mode null
m -cc.cudagraph_mode full_and_piecewise
m -cc.cudagraph_mode nosuch
m -cc.cudagraph_mode 2
m -cc.cudagraph_mode 7
m -cc.compile_cache_save_format nosuch
m -cc.cache_dir null
m --attention-config.backend Flash_Attn
m --attention-config.backend auto
m --attention-config.backend nosuch
m --attention-config.flash_attn_version 3
m --attention-config.flash_attn_version 5
m --attention-config.mla_prefill_backend flashinfer
m --attention-config.mla_prefill_backend nosuch
m --kernel-config.moe_backend Deep-Gemm
m --kernel-config.moe_backend nosuch
m --eplb-config '{"window_size": null}'
m --eplb-config '{"communicator": null}'
m --pooler-config.dimensions many
m --attention-config.tokenspeed_mla_min_split_kv 300
m --attention-config.hisparse_config.device_buffer_size 0
m --kv-transfer-config.kv_role both
m --kv-transfer-config '{"kv_port": "many"}'
m --compilation-config.cudagraph_num_of_warmups none
m --compilation-config.pass_config.fuse_norm_quant 3
m --compilation-config.cache_dir 3
m --compilation-config.cudagraph_capture_sizes 3
m --kernel-config.moe_backend Triton
m --quantization-config.linear.weight fp8
m --reasoning-config.reasoning_start_str '<think>'
m --hf-overrides '{"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}'
m --hf-overrides.rope_scaling.rope_type yarn --hf-overrides.rope_scaling.factor 4.0
m --hf-overrides '{"architectures": ["A"], "x": null}'
m --hf-overrides '{"a.b": 1}'
m --hf-overrides='{"a.b": "c=d"}'
m --hf-overrides '{broken'
m --hf-overrides '{broken}'
m --hf-overrides module.function
m --limit-mm-per-prompt '{"image": 2, "video": 0}'
m --limit-mm-per-prompt.image 2
m --limit-mm-per-prompt.image=2 --limit-mm-per-prompt.video=1
m --limit-mm-per-prompt nonsense
m --mm-processor-kwargs '{"num_crops": 4}'
m --media-io-kwargs '{"video": {"num_frames": 40}}'
m --media-io-kwargs.video.num_frames 40
m --override-generation-config '{"temperature": 0.1}'
m --override-generation-config.temperature 0.1 --override-generation-config.top_p=0.5
m --default-chat-template-kwargs '{"enable_thinking": false}'
m --default-chat-template-kwargs.enable_thinking false
m --model-loader-extra-config '{"concurrency": 4}'
m --model-loader-extra-config.concurrency 4
m --model-loader-extra-config text
m --additional-config '{"a": 1}'
m --additional-config.a.b.c 1
m --pt-load-map-location cuda:0
m --pt-load-map-location '{"cuda": "cpu"}'
m --custom-histogram-buckets '{"a": [1, 2]}'
m --max-model-len 4096
m --max-model-len 4k
m --max-model-len 4K
m --max-model-len 25.6k
m --max-model-len 25.6K
m --max-model-len 1m
m --max-model-len auto
m --max-model-len AUTO
m --max-model-len -1
m --max-model-len=-1
m --max_model_len=-1
m --max-model-len abc
m --max-model-len ''
m --max-model-len 4kk
m --max-num-batched-tokens 8k
m --max-num-batched-tokens 2048
m --max-num-batched-tokens 1.5k
m --max-num-batched-tokens many
m --max-num-scheduled-tokens 2k
m --max-num-queued-tokens 1M
m --max-num-seqs 16
m --max-num-seqs 16k
m --max-num-seqs 1.5
m --kv-cache-memory-bytes 1G
m --kv-cache-memory-bytes 256M
m --kv-cache-memory-bytes 1.5g
m --kv-cache-memory-bytes 268435456
m --kv-cache-memory-bytes None
m --safetensors-prefetch-block-size 16M
m --gpu-memory-utilization 0.9
m --gpu_memory_utilization=.5
m --gpu-memory-utilization 1
m --gpu-memory-utilization 5e-1
m --gpu-memory-utilization half
m --device-memory-utilization 0.5
m --swap-space 4
m --cpu-offload-gb 0
m --cpu-offload-gb 1.5
m --cpu-offload-params a b c
m --block-size 16
m --block-size sixteen
m --seed 42
m --seed 4_2
m --seed ' 42 '
m --seed x
m --seed 1.0
m --dtype bfloat16
m --dtype auto
m --dtype BFLOAT16
m --dtype int8
m --kv-cache-dtype fp8
m --kv-cache-dtype fp9
m --enforce-eager
m --no-enforce-eager
m --enforce_eager
m --no_enforce_eager
m --no-enforce-eager --enforce-eager
m --enforce-eager --no-enforce-eager
m --enforce-eager=true
m --no-enforce-eager=false
m --enable-prefix-caching --enable-chunked-prefill
m --no-enable-prefix-caching
m --no-enable-chunked-prefill
m --enable-expert-parallel
m -ep
m -ep --no-enable-expert-parallel
m --trust-remote-code
m --trust_remote_code
m --no-trust-remote-code
m --disable-log-stats
m --no-disable-log-stats
m --disable_log_stats
m --enable-log-requests --max-log-len 100
m --enable-log-outputs
m --enable-log-outputs --enable-log-requests
m --enable-auto-tool-choice
m --enable-auto-tool-choice --tool-call-parser hermes
m --tool-call-parser hermes
m --tool-call-parser
m --reasoning-parser qwen3
m --reasoning-parser ''
m --chat-template '{{ messages }}'
m --chat-template ./no/such/template.jinja
m --chat-template-content-format openai
m --chat-template-content-format nonsense
m --response-role assistant
m --served-model-name one
m --served-model-name one two three
m --served-model-name=one
--served-model-name one two -- m
--served-model-name one two m
--served-model-name one --port 3 m
m --served_model_name one
m --lora-modules a=/x b=/y
m --lora-modules '{"name": "a", "path": "/x", "base_model_name": "b"}'
m --lora-modules nonsense
m --lora-modules
m --lora-modules=a=/x
m --enable-lora --max-loras 2 --max-lora-rank 64
m --max-lora-rank 65
m --max-lora-rank abc
m --lora-dtype bfloat16
m --allowed-media-domains a.example b.example
m --allowed-local-media-path /srv/media
m --ignore-patterns '*.bin' '*.pt'
m --logits-processors a:B c:D
m --cudagraph-capture-sizes 1 2 4 8
m --cudagraph-capture-sizes 1 two
m --cudagraph-capture-sizes=1
m --cudagraph-capture-sizes
m --collect-detailed-traces model worker
m --collect-detailed-traces all
m --collect-detailed-traces nonsense
m --numa-bind-nodes 0 1
m --device-ids 0,1
m --device-ids 'GPU-a, GPU-b'
m --api-key secret
m --api-key one two
m --api-key=one
m --api-key
m --hf-token
m --hf-token abc
m --hf-token=abc
--hf-token -- m
m --ssl-keyfile k.pem --ssl-certfile c.pem
m --ssl-cert-reqs 2
m --ssl-cert-reqs required
m --ssl-ciphers 'ECDHE+AESGCM'
m --ssl-ca-certs ca.pem
m --root-path /llm
m --allowed-origins '["https://a.example"]'
m --allowed-origins '["*"]' --allowed-methods '["GET", "POST"]' --allowed-headers '["*"]'
m --allowed-origins nonsense
m --allow-credentials
m --no-allow-credentials
m --disable-fastapi-docs
m --h11-max-incomplete-event-size 65536
m --h11-max-header-count 100
m --headless
m --grpc
m --grpc-port 50051
m --uds /tmp/x.sock
m --uvicorn-log-level debug
m --uvicorn-log-level loud
m --middleware a.B --middleware c.D
m --disable-uvicorn-access-log
m --disable-access-log-for-endpoints /health,/metrics
m --enable-ssl-refresh
m --enable-request-id-headers
m --tool-server demo
m --tool-server localhost:1234,localhost:1235
m --tool-parser-plugin ./p.py
m --sse-keep-alive-interval 15
m --sse-keep-alive-interval -1
m --fingerprint-mode custom --fingerprint-value x
m --distributed-executor-backend mp
m --distributed-executor-backend uni
m --data-parallel-backend ray
m --data-parallel-rank 0
m --data-parallel-size-local 1
m --data-parallel-address 127.0.0.1 --data-parallel-rpc-port 13345
m -dpl 1 -dpa 127.0.0.1 -dpp 13345 -dpb mp
m --data-parallel-hybrid-lb
m -dph
m -dpe
m -dpm
m -dpn 0 -dpr 0
m --nnodes 2 --node-rank 1 --master-addr 192.0.2.1 --master-port 29501
m --all2all-backend naive
m --moe-backend triton
m --moe-backend Flashinfer-Cutlass
m --moe-backend FLASHINFER_CUTLASS
m --moe-backend nonsense
m --linear-backend Torch
m --load-format dummy
m --download-dir /models
m --safetensors-load-strategy lazy
m --safetensors-load-strategy None
m --safetensors-load-strategy nonsense
m --revision main --tokenizer-revision main --code-revision main
m --tokenizer org/other --tokenizer-mode slow
m --runner pooling --convert embed
m --runner embed
m --task embed
m --config-format hf
m --generation-config vllm
m --scheduling-policy priority
m --async-scheduling
m --no-async-scheduling
m --stream-interval 4
m --watermark 0.1
m --prefix-cache-retention-interval 0
m --prefix-cache-retention-interval None
m --mm-processor-cache-gb 0
m --mm-processor-device auto
m --mm-encoder-tp-mode data
m --video-pruning-rate 0.5
m --video-pruning-rate None
m --shutdown-timeout 30
m --performance-mode throughput
m --otlp-traces-endpoint http://127.0.0.1:4317
m --kv-cache-metrics --kv-cache-metrics-sample 0.5
m --show-hidden-metrics-for-version 0.31
m --diffusion-config '{}'
m --watermark-config '{"type": "x"}'
m --profiler-config.profiler torch
m --weight-transfer-config.backend nccl
m --fault-tolerance-config.engine_recovery_timeout_sec 30
m --logging-config.log_level DEBUG
m --no-such-flag
m --no-such-flag value
m --no-such-flag=value
m -x
m -x 3
m --no-port
m --port
m --port --host x
m --port abc
m --port 80a
m --port=
m --port ''
m --port 3 4
m extra
m extra words
m --enforce-eager extra
-- m
m --
m -- extra
-- --port
-- m --port 3
--port -- 3
m --seed -- 3
m --attention-backend -
m --tokenizer ''
m --tokenizer 'two words'
m --chat-template '-- {{ messages }}'
m --tokenizer -x
m --tokenizer=-x
m --tokenizer=--port
m --max-logprobs -1
m --max-logprobs=-1
m --long-prefill-token-threshold 0
m --generation-config ./folder.with.dots
m --tokenizer=./folder.with.dots
--model=./folder.with.dots
m --download-dir=/a.b/c=d
m --tokenizer a=b
m --limit-mm-per-prompt.image
m --no-enforce-eager.x 1
m --such.thing 1
m --dtype=
m --dtype half --dtype float
m --ubatch-size 0 --dp-sync-interval 16
m --enable-eplb --no-enable-eplb
m --max-parallel-loading-workers None
m --kv-offloading-size 1.5 --kv-offloading-backend native
m --enable-tokenizer-info-endpoint --enable-server-load-tracking
m --trust-request-chat-template --return-tokens-as-token-ids
m --model-impl transformers
m --additional-config.list+ a --additional-config.list+ b,c
m --additional-config.a 1 --additional-config.a.b 2
m --additional-config.a.b 2 --additional-config.a 1
m --additional-config.flag True
m --additional-config.flag true
m --additional-config.text '"quoted"'
m --additional-config.n 1e3
m --additional-config.n -5
m --additional-config.n=-5
m --additional-config.path /a.b
"""

# By line: how omni differs, and why. `refuses` where vLLM takes the line, `takes` where vLLM
# refuses it, `reads` where both take it and a value differs.
DIFFERENT = {
    # Abbreviations. vLLM's flags grow with each version, and with them what is unique.
    "m --por 3": ("refuses", "an abbreviation"),
    "m --enforce": ("refuses", "an abbreviation"),
    "m --tensor-par 2": ("refuses", "an abbreviation"),
    "m -t 2": ("refuses", "an abbreviation"),
    # vLLM takes --model only from scripts that name TARGET as well.
    "a --model b": ("refuses", "TARGET and --model contradict each other"),
    # vLLM takes any negative number with a point for a dotted flag.
    "m --watermark -0.0": ("takes", "a number with a point is no dotted flag"),
    # Values that vLLM refuses later, or that are no value at all.
    "m --port 99999": ("refuses", "no such port"),
    "m --port -1": ("refuses", "no such port"),
    "m --host ''": ("refuses", "an empty address would listen on every one"),
    "m --tensor-parallel-size 0": ("refuses", "vLLM's configuration refuses it later"),
    "m --gpu-memory-utilization 1.5": ("refuses", "vLLM's configuration refuses it later"),
    "m --gpu-memory-utilization nan": ("refuses", "not a number"),
    "m --watermark 1": ("refuses", "vLLM's configuration refuses it later"),
    "m --seed -1": ("refuses", "torch takes none below 0"),
    "m --max-model-len 0": ("refuses", "no model has room for nothing"),
    "m --api-server-count 0": ("refuses", "a server without frontends is not built yet"),
    "m --override-generation-config 3": ("refuses", "not an object"),
    "m --speculative-config 3": ("refuses", "not an object"),
    "m --default-chat-template-kwargs '[]'": ("refuses", "not an object"),
    "m --tokenizer.x 3": ("refuses", "a text has no keys"),
    "m --chat-template.x '{{ m }}'": ("refuses", "a text has no keys"),
    "m --distributed-executor-backend ray": ("refuses", "Ray is not built yet"),
    "m --distributed-executor-backend my.Executor": ("refuses", "omni chooses the executor"),
    "--enforce-eager true": ("refuses", "the word is a value for the switch, not a model"),
    "''": ("refuses", "an empty TARGET"),
    # omni has a level of its own, in lower case.
    "m --log-level INFO": ("reads", "info"),
    "m --log-level info": ("takes", "omni's own level"),
    "m --log-level CRITICAL": ("refuses", "omni's own levels"),
    # Repeatable with omni.
    "m --api-key a --api-key b": ("reads", "both keys"),
    "m --served-model-name a --served-model-name b": ("reads", "both names"),
    "m --optimization-level 7": ("refuses", "vLLM's configuration refuses it later"),
    "m -Odecode": ("refuses", "vLLM's configuration refuses it later"),
}
