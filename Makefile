# Every target works from a clean clone: the environment is made first, once.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: setup setup-torch demo cluster-dask cluster-ray test-clusters kill soak test lint fuzz test-install test-slow test-autogluon bench experiments clean

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else f"nearbayes needs Python 3.11 or newer, got {v[0]}.{v[1]}: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev,plot,report]'
	touch $@

demo: $(READY)       ## real data, base model against bagging against nearbayes, a picture and a report
	$(BIN)/python examples/demo.py

cluster-dask: .venv-clusters/.ready  ## the same draws on a Dask scheduler with 2 workers on loopback
	.venv-clusters/bin/python examples/cluster.py dask

cluster-ray: .venv-clusters/.ready   ## the same draws on Ray with 2 workers on loopback
	.venv-clusters/bin/python examples/cluster.py ray

test-clusters: .venv-clusters/.ready  ## Dask, Ray and object stores; workers that are killed
	.venv-clusters/bin/python -m pytest tests/clusters

kill: .venv-clusters/.ready          ## 60 random SIGKILLs of workers and parents on joblib, Dask and Ray
	PYTHONPATH=. .venv-clusters/bin/python tests/faults/killing.py

# An environment of its own: Ray and moto pin what others need.
.venv-clusters/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-clusters
	.venv-clusters/bin/python -m pip install --quiet --upgrade pip
	.venv-clusters/bin/python -m pip install --quiet --editable '.[cli,dask,jax,ray,s3,xgboost]' 'moto[server]' pytest pytest-timeout
	touch $@

test: $(READY)       ## unit, contract, fault and fast statistical tests, and every docstring example
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=60

# Not part of the setup, as PyTorch brings gigabytes of CUDA on most machines. Without it, its tests
# are skipped.
TORCH ?= torch==2.13.0
setup-torch: $(READY)  ## PyTorch in the environment of the tests
	$(BIN)/python -m pip install --quiet '$(TORCH)'

lint: $(READY)       ## style, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What users install: the package without our tools, then with the command line.
test-install:        ## the README's install commands in an environment of their own
	rm -rf .venv-install && $(PYTHON) -m venv .venv-install
	.venv-install/bin/python -m pip install --quiet .
	.venv-install/bin/python examples/skeleton_algorithm.py
	.venv-install/bin/python -m pip install --quiet '.[cli]'
	.venv-install/bin/nearbayes demo --output .venv-install/demo --quiet
	rm -rf .venv-install

test-slow: $(READY)  ## coverage over many replications, seed sweeps, laws with XLA's optimisation
	$(BIN)/python -m pytest -n 2 -m slow --timeout 3600
	XLA_FLAGS= $(BIN)/python -m pytest -n 2 --dist worksteal tests/contracts

fuzz: $(READY)       ## 20,000 mutated files of every kind of model; none may crash, hang or fill memory
	$(BIN)/python tests/files/fuzzing.py

soak: $(READY)       ## 20 minutes of fits, files, reports and resumed runs; nothing may grow
	$(BIN)/python tests/faults/soak.py

test-autogluon: .venv-autogluon/.ready  ## AutoGluon with tiny models
	.venv-autogluon/bin/python -m pytest tests/autogluon

# An environment of its own: AutoGluon pins pandas and scikit-learn, and wants plain xgboost.
.venv-autogluon/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-autogluon
	.venv-autogluon/bin/python -m pip install --quiet --upgrade pip
	.venv-autogluon/bin/python -m pip install --quiet --editable '.[autogluon]' pytest pytest-timeout
	touch $@

bench: $(READY)      ## speed and memory, as ratios measured side by side
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/boosting.py
	$(BIN)/python -m benchmarks.gp
	$(BIN)/python -m benchmarks.gradient_martingale
	$(BIN)/python -m benchmarks.neural
	$(BIN)/python -m benchmarks.causal

# Resumable: what is recorded is skipped. Hours; take them one at a time, in the background.
EXPERIMENTS := classification refit_policy feature_importance coverage coverage_learners functionals against_bart rare_classes untuned small_samples regression_trees gp_hyperparameters neural_truths neural_classification neural_regression causal_synthetic causal_synthetic.regimes causal_effects causal_fmri theory_families theory_inverse multitask joint_bands diagnostics
experiments: $(VENV)/.ready-experiments  ## the tables of the paper and of the design page
	for name in $(EXPERIMENTS); do nice $(BIN)/python -m experiments.$$name run --jobs 2 && $(BIN)/python -m experiments.$$name tables || exit 1; done
	$(BIN)/python -m experiments.gp_toy run && $(BIN)/python -m experiments.gp_toy tables
	$(BIN)/python -m experiments.tried run

$(VENV)/.ready-experiments: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[experiments]'
	touch $@

clean:
	rm -rf $(VENV) .venv-autogluon .venv-clusters .venv-install .pytest_cache .mypy_cache .ruff_cache .hypothesis
