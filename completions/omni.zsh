#compdef omni
# Generated from the application by `make completions`; do not edit.
_omni() {
  local at="" word
  local -a flags offers
  for word in ${words[2,CURRENT-1]}; do
    case "$at $word" in
    " serve" | " chat" | " models" | "models list" | "models pull" | "models path" | "models remove" | " version") at="${at:+$at }$word" ;;
    esac
  done
  case "$at ${words[CURRENT-1]}" in
    "serve --host" | "serve --port" | "serve --api-server-count" | "serve --threads" | "serve --ready-timeout" | "serve --stop-timeout" | "serve --served-model-name" | "serve --quantization" | "serve -q" | "serve --load-format" | "serve --tokenizer" | "serve --generation-config" | "serve --tool-call-parser" | "serve --reasoning-parser" | "serve --seed" | "serve --max-model-len" | "serve --max-num-seqs" | "serve --max-num-batched-tokens" | "serve --kv-cache-memory-bytes" | "serve --gpu-memory-utilization" | "serve --tensor-parallel-size" | "serve -tp" | "serve --pipeline-parallel-size" | "serve -pp" | "serve --data-parallel-size" | "serve -dp" | "chat --url" | "chat --api-key" | "chat --timeout" | "chat --model" | "chat -m" | "chat --system" | "chat -s" | "chat --temperature" | "chat --top-p" | "chat --max-tokens" | "chat --seed" | "models pull --timeout") :; return ;;
    "serve --start-method") compadd -- auto fork spawn; return ;;
    "serve --distributed-executor-backend") compadd -- uni mp; return ;;
    "serve --dtype") compadd -- auto half float16 bfloat16 float float32; return ;;
    "serve --chat-template") _files; return ;;
    "serve --log-level") compadd -- debug info warning error; return ;;
  esac
  case "$at" in
    "") flags=(--version -h --help) offers=(serve chat models version) ;;
    "serve") flags=(--host --port --api-server-count --start-method --threads --distributed-executor-backend --ready-timeout --stop-timeout --served-model-name --dtype --quantization -q --load-format --tokenizer --trust-remote-code --no-trust-remote-code --chat-template --generation-config --enable-auto-tool-choice --no-enable-auto-tool-choice --tool-call-parser --reasoning-parser --seed --max-model-len --max-num-seqs --max-num-batched-tokens --kv-cache-memory-bytes --gpu-memory-utilization --enforce-eager --no-enforce-eager --enable-prefix-caching --no-enable-prefix-caching --tensor-parallel-size -tp --pipeline-parallel-size -pp --data-parallel-size -dp --log-level --quiet --verbose -h --help) offers=(smollm2-135m-instruct minilm-l6); _files ;;
    "chat") flags=(--url --api-key --timeout --model -m --system -s --temperature --top-p --max-tokens --seed --stats --json --no-stream -h --help) offers=() ;;
    "models") flags=(-h --help) offers=(list pull path remove) ;;
    "models list") flags=(--json -h --help) offers=() ;;
    "models pull") flags=(--timeout -h --help) offers=(smollm2-135m-instruct minilm-l6) ;;
    "models path") flags=(-h --help) offers=(smollm2-135m-instruct minilm-l6) ;;
    "models remove") flags=(-h --help) offers=(smollm2-135m-instruct minilm-l6) ;;
    "version") flags=(--json -h --help) offers=() ;;
  esac
  if [[ $PREFIX == -* ]]; then compadd -- $flags; else compadd -- $offers; fi
}
if [[ $funcstack[1] == _omni ]]; then _omni "$@"; else compdef _omni omni; fi
