# Two commands do all the set-up: `make serve`, and in another terminal `make chat`.
# ARGS goes to the command (make serve ARGS="--port 9000"); PYTHON names the interpreter to install with.

.PHONY: install serve chat test check types completions flags bench lock clean
bin := .venv/bin
export PYTHON TORCH_INDEX_URL

install:
	@sh requirements/install.sh

serve: install
	@exec $(bin)/omni serve $(ARGS)

chat: install
	@exec $(bin)/omni chat $(ARGS)

test: install-test
	@exec $(bin)/python -m pytest $(ARGS)

check: install-test
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy
	$(bin)/lint-imports

types: install-test
	@exec $(bin)/mypy $(ARGS)

completions: install
	@exec $(bin)/python -m omni_cli.completions

flags: install
	@exec $(bin)/python -m engine_bridge.vllm_flags

bench: install-test
	@exec $(bin)/python benchmarks/startup.py $(ARGS)

lock: install-test
	@exec $(bin)/python requirements/lock.py $(ARGS)

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

.PHONY: install-test
install-test:
	@sh requirements/system.sh
	@sh requirements/install.sh test
