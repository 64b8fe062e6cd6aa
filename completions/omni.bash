# Generated from the application by `make completions`; do not edit.
_omni_offer() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_omni() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local at="" flags="" words="" i
  COMPREPLY=()
  # --flag=value comes as three words
  if [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
  if [[ $cur == "=" ]]; then cur=""; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${COMP_WORDS[i]}" in
    " serve" | " chat" | " models" | "models list" | "models pull" | "models path" | "models remove" | " version") at="${at:+$at }${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $prev" in
    "serve --host" | "serve --port" | "serve --api-server-count" | "serve --threads" | "serve --ready-timeout" | "serve --stop-timeout" | "serve --served-model-name" | "serve --quantization" | "serve -q" | "serve --load-format" | "serve --tokenizer" | "serve --generation-config" | "serve --tool-call-parser" | "serve --reasoning-parser" | "serve --seed" | "serve --max-model-len" | "serve --max-num-seqs" | "serve --max-num-batched-tokens" | "serve --kv-cache-memory-bytes" | "serve --gpu-memory-utilization" | "serve --tensor-parallel-size" | "serve -tp" | "serve --pipeline-parallel-size" | "serve -pp" | "serve --data-parallel-size" | "serve -dp" | "chat --url" | "chat --api-key" | "chat --timeout" | "chat --model" | "chat -m" | "chat --system" | "chat -s" | "chat --temperature" | "chat --top-p" | "chat --max-tokens" | "chat --seed" | "models pull --timeout") :; return ;;
    "serve --start-method") _omni_offer "auto fork spawn"; return ;;
    "serve --distributed-executor-backend") _omni_offer "uni mp"; return ;;
    "serve --dtype") _omni_offer "auto half float16 bfloat16 float float32"; return ;;
    "serve --chat-template") compopt -o default 2>/dev/null; return ;;
    "serve --log-level") _omni_offer "debug info warning error"; return ;;
  esac
  case "$at" in
    "") flags="--version -h --help" words="serve chat models version" ;;
    "serve") flags="--host --port --api-server-count --start-method --threads --distributed-executor-backend --ready-timeout --stop-timeout --served-model-name --dtype --quantization -q --load-format --tokenizer --trust-remote-code --no-trust-remote-code --chat-template --generation-config --enable-auto-tool-choice --no-enable-auto-tool-choice --tool-call-parser --reasoning-parser --seed --max-model-len --max-num-seqs --max-num-batched-tokens --kv-cache-memory-bytes --gpu-memory-utilization --enforce-eager --no-enforce-eager --enable-prefix-caching --no-enable-prefix-caching --tensor-parallel-size -tp --pipeline-parallel-size -pp --data-parallel-size -dp --log-level --quiet --verbose -h --help" words="smollm2-135m-instruct minilm-l6"; compopt -o default 2>/dev/null ;;
    "chat") flags="--url --api-key --timeout --model -m --system -s --temperature --top-p --max-tokens --seed --stats --json --no-stream -h --help" words="" ;;
    "models") flags="-h --help" words="list pull path remove" ;;
    "models list") flags="--json -h --help" words="" ;;
    "models pull") flags="--timeout -h --help" words="smollm2-135m-instruct minilm-l6" ;;
    "models path") flags="-h --help" words="smollm2-135m-instruct minilm-l6" ;;
    "models remove") flags="-h --help" words="smollm2-135m-instruct minilm-l6" ;;
    "version") flags="--json -h --help" words="" ;;
  esac
  if [[ $cur == -* ]]; then _omni_offer "$flags"; else _omni_offer "$words"; fi
}
complete -F _omni omni
