# Every target makes what it needs in .venv; a second call does only what changed.
#   make run      the main job on bundled data            make test      lint and test
#   make bench CASE=kmeans_f32                            make docs, coverage, soak, fuzz, matrix, dist-check, clean
#   make sanitize, sanitize-fuzz, sanitize-threads        native code under the compiler's sanitizers

VENV := .venv
COMMA := ,
PYTHON := $(VENV)/bin/python
PYTEST := $(PYTHON) -m pytest
WORKERS ?= auto
CASE ?= kmeans_f32
# CPU levels to compile: the best one of this machine, and for the tests also the lowest, which every CPU runs. The wheel
# has them all; LEVELS=all does so here.
LEVELS ?= host
BENCH ?=
FUZZ ?=
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export NINJA := $(CURDIR)/tools/ninja
# Bytecode is kept, whatever the caller asks for: without it each of the processes that tests start compiles scikit-learn,
# pandas and mercer anew, 0.8 s for each, and each test worker all the test files, 9 s.
unexport PYTHONDONTWRITEBYTECODE

# The build recipe proper; .py files are seen as they are, native ones are rebuilt on import.
RECIPE := pyproject.toml meson.build meson.options $(wildcard src/mercer/_native/meson.build src/mercer/_native/*/meson.build)
EDITABLE := $(CURDIR)/build/cp$(shell python3 -c "import sys; print('%d%d' % sys.version_info[:2])")
STAGE := $(CURDIR)/build/sanitize-stage
THREAD_STAGE := $(CURDIR)/build/thread-stage
# The interpreter is not built with a sanitizer, so its library is loaded before it. Allocations that are refused give
# MemoryError as without a sanitizer; leaks of the interpreter are not ours. GCC 13 places local registers of 64 bytes at
# multiples of 32 on the stack that detects uses after return (GCC's bug 110027), and crashes: it stays off.
SANITIZED = LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=0 \
	UBSAN_OPTIONS=print_stacktrace=1 OPENBLAS_NUM_THREADS=1 MESONPY_EDITABLE_SKIP=$(EDITABLE) PYTHONPATH=$(STAGE)

.PHONY: run test sklearn-suite test-all lint rules types format build bench docs coverage sanitize sanitize-build sanitize-fuzz sanitize-threads soak fuzz matrix dist-check clean

# Two levels show whether results depend on the instructions; a level of another architecture is passed over.
test test-all lint rules types build wheel-check sklearn-suite coverage docs bench soak fuzz: LEVELS := $(LEVELS)$(COMMA)v2

run: $(VENV)/ready-app
	$(PYTHON) -m mercer

# scikit-learn's own tests with mercer's classes in their place; tests/sklearn_suite lists the deliberate differences.
SKLEARN_SUITE = $(PYTEST) -n $(WORKERS) --dist worksteal -q -r fE -W ignore -o xfail_strict=false \
	-p tests.sklearn_suite.plugin --pyargs \
	sklearn.preprocessing.tests.test_data \
	sklearn.preprocessing.tests.test_common \
	sklearn.preprocessing.tests.test_discretization \
	sklearn.compose.tests.test_column_transformer \
	sklearn.compose.tests.test_target \
	sklearn.tests.test_pipeline \
	sklearn.preprocessing.tests.test_encoders \
	sklearn.preprocessing.tests.test_label \
	sklearn.preprocessing.tests.test_function_transformer \
	sklearn.preprocessing.tests.test_polynomial \
	sklearn.preprocessing.tests.test_target_encoder \
	sklearn.feature_extraction.tests.test_text \
	sklearn.feature_extraction.tests.test_dict_vectorizer \
	sklearn.feature_extraction.tests.test_feature_hasher \
	sklearn.feature_extraction.tests.test_image \
	sklearn.feature_selection.tests.test_base \
	sklearn.feature_selection.tests.test_chi2 \
	sklearn.feature_selection.tests.test_mutual_info \
	sklearn.feature_selection.tests.test_feature_select \
	sklearn.feature_selection.tests.test_from_model \
	sklearn.feature_selection.tests.test_rfe \
	sklearn.feature_selection.tests.test_sequential \
	sklearn.feature_selection.tests.test_variance_threshold \
	sklearn.impute.tests.test_impute \
	sklearn.impute.tests.test_common \
	sklearn.impute.tests.test_knn \
	sklearn.cluster.tests.test_k_means \
	sklearn.cluster.tests.test_bisect_k_means \
	sklearn.cluster.tests.test_spectral \
	sklearn.cluster.tests.test_affinity_propagation \
	sklearn.cluster.tests.test_bicluster \
	sklearn.cluster.tests.test_feature_agglomeration \
	sklearn.cluster.tests.test_mean_shift \
	sklearn.cluster.tests.test_optics \
	sklearn.cluster.tests.test_dbscan \
	sklearn.cluster.tests.test_hdbscan \
	sklearn.cluster.tests.test_hierarchical \
	sklearn.cross_decomposition.tests.test_pls \
	sklearn.manifold.tests.test_mds \
	sklearn.manifold.tests.test_classical_mds \
	sklearn.manifold.tests.test_isomap \
	sklearn.manifold.tests.test_locally_linear \
	sklearn.manifold.tests.test_spectral_embedding \
	sklearn.decomposition.tests.test_pca \
	sklearn.decomposition.tests.test_fastica \
	sklearn.decomposition.tests.test_incremental_pca \
	sklearn.decomposition.tests.test_kernel_pca \
	sklearn.decomposition.tests.test_truncated_svd \
	sklearn.decomposition.tests.test_factor_analysis \
	sklearn.decomposition.tests.test_nmf \
	sklearn.decomposition.tests.test_online_lda \
	sklearn.decomposition.tests.test_dict_learning \
	sklearn.decomposition.tests.test_sparse_pca \
	sklearn.tests.test_random_projection \
	sklearn.manifold.tests.test_t_sne \
	sklearn.tests.test_calibration \
	sklearn.tests.test_dummy \
	sklearn.linear_model.tests.test_passive_aggressive \
	sklearn.model_selection.tests.test_classification_threshold \
	sklearn.tests.test_multiclass \
	sklearn.tests.test_multioutput \
	sklearn.model_selection.tests.test_search \
	sklearn.model_selection.tests.test_successive_halving \
	sklearn.tests.test_isotonic \
	sklearn.tests.test_kernel_ridge \
	sklearn.tests.test_kernel_approximation \
	sklearn.semi_supervised.tests.test_label_propagation \
	sklearn.semi_supervised.tests.test_self_training \
	sklearn.ensemble.tests.test_gradient_boosting \
	sklearn.ensemble.tests.test_iforest \
	sklearn.covariance.tests.test_robust_covariance \
	sklearn.covariance.tests.test_elliptic_envelope \
	sklearn.neighbors.tests.test_lof \
	sklearn.ensemble._hist_gradient_boosting.tests.test_gradient_boosting \
	sklearn.ensemble._hist_gradient_boosting.tests.test_monotonic_constraints \
	sklearn.ensemble._hist_gradient_boosting.tests.test_warm_start \
	sklearn.metrics.cluster.tests.test_unsupervised \
	sklearn.neural_network.tests.test_mlp \
	sklearn.neural_network.tests.test_rbm \
	sklearn.gaussian_process.tests.test_gpr \
	sklearn.gaussian_process.tests.test_gpc \
	sklearn.linear_model._glm.tests.test_glm \
	sklearn.linear_model.tests.test_base \
	sklearn.linear_model.tests.test_ridge \
	sklearn.linear_model.tests.test_logistic \
	sklearn.linear_model.tests.test_bayes \
	sklearn.linear_model.tests.test_coordinate_descent \
	sklearn.linear_model.tests.test_huber \
	sklearn.linear_model.tests.test_least_angle \
	sklearn.linear_model.tests.test_omp \
	sklearn.linear_model.tests.test_quantile \
	sklearn.linear_model.tests.test_ransac \
	sklearn.linear_model.tests.test_theil_sen \
	sklearn.linear_model.tests.test_sgd \
	sklearn.linear_model.tests.test_perceptron \
	sklearn.ensemble.tests.test_weight_boosting \
	sklearn.ensemble.tests.test_bagging \
	sklearn.ensemble.tests.test_voting \
	sklearn.ensemble.tests.test_stacking \
	sklearn.mixture.tests.test_bayesian_mixture \
	sklearn.mixture.tests.test_gaussian_mixture \
	sklearn.neighbors.tests.test_kde \
	sklearn.neighbors.tests.test_nca \
	sklearn.neighbors.tests.test_nearest_centroid \
	sklearn.neighbors.tests.test_neighbors \
	sklearn.neighbors.tests.test_neighbors_pipeline \
	sklearn.neighbors.tests.test_graph \
	sklearn.covariance.tests.test_covariance \
	sklearn.covariance.tests.test_graphical_lasso \
	sklearn.svm.tests.test_svm \
	sklearn.svm.tests.test_sparse \
	sklearn.tests.test_discriminant_analysis \
	sklearn.tree.tests.test_tree \
	sklearn.tree.tests.test_export \
	sklearn.tree.tests.test_monotonic_tree \
	sklearn.ensemble.tests.test_forest \
	sklearn.tests.test_naive_bayes

# Types are checked beside the tests, because mypy takes a minute on one core where it has no cache; what it says is
# printed at the end. A failure of one part does not hide those of the others.
test: rules build
	@mypy > build/types.txt 2>&1 & types=$$!; failed=0; \
	$(WHEEL_CHECK) || failed=1; \
	$(PYTEST) -n $(WORKERS) --dist worksteal || failed=1; \
	$(SKLEARN_SUITE) || failed=1; \
	wait $$types || failed=1; cat build/types.txt; exit $$failed

# The tests of the report's page need Chromium: find it, install Debian's package where that is allowed, or say loudly that
# they are skipped. This never fails.
.PHONY: browser
browser: | $(PYTHON)
	@$(PYTHON) tools/find_browser.py
test test-all: browser

# The wheel, in new environments that have what it requires alone. It takes the compiled modules of the tests.
WHEEL_CHECK = $(PYTHON) -m tools.wheel_check --levels $(LEVELS) --build $(EDITABLE)

.PHONY: wheel-check
wheel-check: build
	$(WHEEL_CHECK)

sklearn-suite: build
	$(SKLEARN_SUITE)

test-all: lint build
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not soak"
	$(SKLEARN_SUITE) -m "not soak"

soak: $(VENV)/ready-test build
	$(PYTEST) -m soak --hypothesis-profile=default

# Minutes of hostile input; a short part with fixed seeds is in `make test`. `make fuzz KINDS=parameters` tries all
# values of all parameters (an hour), `make fuzz KINDS=files FUZZ="--mutations 1000"` asks for more files.
KINDS ?= files containers estimators tables serve interrupts
FUZZ_files := --mutations 30 --quiet
FUZZ_containers := --first-setting --mutations 6 --quiet
FUZZ_estimators := --first-setting --quiet
FUZZ_parameters := --first-setting --quiet
FUZZ_interrupts := --first-setting --quiet
fuzz: $(VENV)/ready-test build
	set -e; $(foreach kind,$(KINDS),$(PYTHON) -m tools.fuzzing $(kind) $(FUZZ_$(kind)) $(FUZZ);)

lint: rules types

rules: $(VENV)/ready-test,lint
	ruff check .
	ruff format --check .
	$(PYTHON) tools/house_rules.py
	$(PYTHON) tools/prose_rules.py
	$(PYTHON) -m tools.room_map --check
	$(PYTHON) -m tools.make_stubs --check
	MESONPY_EDITABLE_SKIP=$(EDITABLE) PYTHONPATH=src:. lint-imports

types: $(VENV)/ready-test,lint
	mypy

format: $(VENV)/ready-test,lint
	ruff check --fix .
	ruff format .

# One import brings the native modules up to date, before many processes ask for them at once.
build: $(VENV)/ready-test,lint
	@MESONPY_EDITABLE_VERBOSE=1 $(PYTHON) -c "import mercer._native"

bench: $(VENV)/ready-bench build
	$(PYTHON) -m benchmarks --case $(CASE) $(BENCH)

docs: $(VENV)/ready-docs build
	$(PYTHON) -m sphinx -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
	$(PYTHON) -m tools.site_check

coverage: $(VENV)/ready-test,lint
	$(PYTHON) tools/coverage.py

# Bounds checks, the address sanitizer and the undefined-behaviour sanitizer.
sanitize: sanitize-build
	$(SANITIZED) $(PYTEST) tests/native tests/base/test_forged_models.py -p no:cacheprovider

sanitize-build: $(VENV)/ready-test,lint
	test -f build/sanitize/build.ninja || meson setup build/sanitize -Dsanitize=true -Dchecked=true \
		-Dlevels=$(LEVELS) -Dpython.platlibdir=$(STAGE) -Dpython.purelibdir=$(STAGE)
	meson install -C build/sanitize --quiet

# Forged files and hostile inputs against that build; FUZZ="--mutations 10000 --per-class --jobs 16" asks for more.
sanitize-fuzz: sanitize-build
	$(SANITIZED) $(PYTHON) -m tools.fuzzing files --mutations 30 --quiet $(FUZZ)
	$(SANITIZED) $(PYTHON) -m tools.fuzzing estimators --first-setting --quiet

# The thread sanitizer, on the fits in which threads share native steps; a data race ends it with status 66. FUZZ="--all"
# adds a fit of every class that takes n_jobs, which has not been timed to its end.
sanitize-threads: $(VENV)/ready-test,lint
	test -f build/thread/build.ninja || meson setup build/thread -Dsanitize_threads=true -Dlevels=$(LEVELS) \
		-Dpython.platlibdir=$(THREAD_STAGE) -Dpython.purelibdir=$(THREAD_STAGE)
	meson install -C build/thread --quiet
	LD_PRELOAD="$$(cc -print-file-name=libtsan.so)" TSAN_OPTIONS=halt_on_error=1 OPENBLAS_NUM_THREADS=1 \
	MESONPY_EDITABLE_SKIP=$(EDITABLE) PYTHONPATH=$(THREAD_STAGE) $(PYTHON) -m tools.fuzzing races $(FUZZ)

# A selection of the tests with every Python here, the oldest dependencies, and unusual users, folders and signals.
matrix:
	python3 -m tools.matrix

# Source distribution -> wheel with every CPU level -> new environments.
dist-check: $(VENV)/ready-build
	$(PYTHON) -m tools.wheel_check --sdist --levels all

$(PYTHON):
	python3 -m venv $(VENV)

# --no-compile: modules are compiled to bytecode when they are first imported, not all of them here.
$(VENV)/ready-build: pyproject.toml | $(PYTHON)
	@echo "tools of the build: installing"
	$(PYTHON) -m pip install --quiet --no-compile "meson-python>=0.17" ninja "Cython>=3.3,<3.4" "scipy>=1.13"
	touch $@

$(VENV)/ready-%: $(RECIPE) $(VENV)/ready-build
	$(PYTHON) tools/install.py --extras "$*" --levels $(LEVELS)
	touch "$@"

clean:
	rm -rf build dist docs/_build report .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	find src tests benchmarks tools -name __pycache__ -type d -exec rm -rf {} +
