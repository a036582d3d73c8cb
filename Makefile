# Every target checks what it needs and says what is missing. `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
LAB := node dist/lab.js
NAME ?= default
TOPOLOGY ?= home-edge
# What nodes are made of: netns or vm; KERNEL is the machines'.
BACKEND ?= netns
KERNEL ?= 6.12


.PHONY: help scenarios vm-image kernels lab-up lab-down lab-status test soak bench golden crds build format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

scenarios: build ## boot the lab, run every scenario, write out/report, take the lab down
	@$(LAB) scenarios --backend $(BACKEND) --kernel $(KERNEL) $(ARGS)

lab-up: build ## boot the default topology and leave it up
	@$(LAB) up $(TOPOLOGY) --name $(NAME) --backend $(BACKEND) --kernel $(KERNEL) $(ARGS)

vm-image: build ## build the image of virtual machines from Debian packages (a minute and a half, once)
	@$(LAB) vm-image --kernel $(KERNEL)

kernels: build ## run the scenarios on Debian's 6.1, 6.12 and 7.2 kernels and compare the verdicts (slow)
	@$(LAB) kernels $(ARGS)

lab-down: build ## take it down
	@$(LAB) down --name $(NAME)

lab-status: build ## what is up
	@$(LAB) status --name $(NAME)

test: build ## format, lint, types, unit, golden and lab tests, then the scenarios
	@node lab/build/test.mjs

soak: build ## kill driver and holder at 50 random moments and compare the host before and after
	@$(LAB) soak --kills 50

bench: build ## what mappings cost, with 2 to 5,000 of them on a node (three minutes, on a quiet machine)
	@$(LAB) bench $(ARGS)

golden: node_modules/.package-lock.json ## rewrite the golden files from the code
	@npm run --silent golden

build: node_modules/.package-lock.json
	@node lab/build/build.mjs

format: node_modules/.package-lock.json ## format the code
	@npm run --silent format

clean: ## remove what was built and reported
	rm -rf dist out

node_modules/.package-lock.json: package-lock.json
	@command -v node >/dev/null || { echo "error: no Node.js on this machine: kuport needs version 20.19 or newer (https://nodejs.org, or: apt-get install nodejs npm)" >&2; exit 2; }
	@node -e 'const [a, b] = process.versions.node.split(".").map(Number); if (a < 20 || (a === 20 && b < 19)) { console.error(`error: Node.js $${process.version} is too old: kuport needs 20.19 or newer`); process.exit(2); }'
	npm ci --no-fund --no-audit
	@touch $@
