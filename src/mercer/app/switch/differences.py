"""Where mercer differs from scikit-learn on purpose, test by test: pattern -> reason.

The documentation's list of differences is made from this table.
"""

REPLACED: dict[str, tuple[str, ...]] = {
    "calibration": ("CalibratedClassifierCV",),
    "cluster": (
        *("AffinityPropagation", "FeatureAgglomeration", "SpectralBiclustering", "SpectralCoclustering"),
        *("affinity_propagation",),
        *("AgglomerativeClustering", "BisectingKMeans", "DBSCAN", "HDBSCAN", "KMeans", "MeanShift"),
        *("MiniBatchKMeans", "OPTICS", "SpectralClustering", "cluster_optics_dbscan", "cluster_optics_xi"),
        *("compute_optics_graph", "dbscan", "estimate_bandwidth", "get_bin_seeds", "k_means"),
        *("kmeans_plusplus", "mean_shift", "spectral_clustering"),
    ),
    "covariance": (
        *("EllipticEnvelope", "EmpiricalCovariance", "GraphicalLasso", "GraphicalLassoCV", "LedoitWolf", "MinCovDet"),
        *(
            "OAS",
            "ShrunkCovariance",
            "graphical_lasso",
            "empirical_covariance",
            "fast_mcd",
            "ledoit_wolf",
            "ledoit_wolf_shrinkage",
            "log_likelihood",
        ),
        *("oas", "shrunk_covariance"),
    ),
    "cross_decomposition": ("CCA", "PLSCanonical", "PLSRegression", "PLSSVD"),
    "decomposition": (
        *("FactorAnalysis", "FastICA", "IncrementalPCA", "KernelPCA", "MiniBatchNMF", "NMF", "PCA"),
        *("LatentDirichletAllocation", "TruncatedSVD", "fastica", "non_negative_factorization"),
        *("DictionaryLearning", "MiniBatchDictionaryLearning", "MiniBatchSparsePCA", "SparseCoder", "SparsePCA"),
        *("dict_learning", "dict_learning_online", "sparse_encode"),
    ),
    "dummy": ("DummyClassifier", "DummyRegressor"),
    "discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "ensemble": (
        *("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor"),
        *("ExtraTreesClassifier", "ExtraTreesRegressor", "GradientBoostingClassifier"),
        *("GradientBoostingRegressor", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        *("IsolationForest", "RandomForestClassifier", "RandomForestRegressor", "RandomTreesEmbedding"),
        *("StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"),
    ),
    "feature_extraction": ("DictVectorizer", "FeatureHasher"),
    "feature_extraction.image": (
        *("PatchExtractor", "extract_patches_2d", "grid_to_graph", "img_to_graph", "reconstruct_from_patches_2d"),
    ),
    "feature_extraction.text": ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
    "feature_selection": (
        *("RFE", "RFECV", "SelectFromModel", "SequentialFeatureSelector"),
        *("GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFwe", "SelectKBest", "SelectPercentile"),
        "VarianceThreshold",
    ),
    "gaussian_process": ("GaussianProcessClassifier", "GaussianProcessRegressor"),
    "impute": ("IterativeImputer", "KNNImputer", "MissingIndicator", "SimpleImputer"),
    "isotonic": ("IsotonicRegression",),
    "kernel_approximation": (
        *("AdditiveChi2Sampler", "Nystroem", "PolynomialCountSketch", "RBFSampler", "SkewedChi2Sampler"),
    ),
    "kernel_ridge": ("KernelRidge",),
    "linear_model": (
        *("ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "GammaRegressor", "HuberRegressor", "Lars"),
        *("MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV"),
        *("LarsCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "LinearRegression"),
        *("LogisticRegression", "LogisticRegressionCV", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
        *(
            "PassiveAggressiveClassifier",
            "PassiveAggressiveRegressor",
            "Perceptron",
            "PoissonRegressor",
            "QuantileRegressor",
            "TheilSenRegressor",
            "RANSACRegressor",
            "Ridge",
            "RidgeCV",
        ),
        *("RidgeClassifier",),
        *(
            "RidgeClassifierCV",
            "SGDClassifier",
            "SGDOneClassSVM",
            "SGDRegressor",
            "TweedieRegressor",
            "enet_path",
            "lars_path",
        ),
        *("lars_path_gram", "lasso_path", "orthogonal_mp", "orthogonal_mp_gram"),
    ),
    "manifold": (
        *("ClassicalMDS", "Isomap", "LocallyLinearEmbedding", "MDS", "SpectralEmbedding", "TSNE"),
        *("locally_linear_embedding", "smacof", "spectral_embedding", "trustworthiness"),
    ),
    "model_selection": (
        *("FixedThresholdClassifier", "GridSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"),
        *("RandomizedSearchCV", "TunedThresholdClassifierCV"),
    ),
    "metrics.cluster": ("calinski_harabasz_score", "davies_bouldin_score", "silhouette_samples", "silhouette_score"),
    "mixture": ("BayesianGaussianMixture", "GaussianMixture"),
    "multiclass": ("OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier"),
    "multioutput": ("ClassifierChain", "MultiOutputClassifier", "MultiOutputRegressor", "RegressorChain"),
    "naive_bayes": ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "neighbors": (
        *("KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsTransformer", "KernelDensity"),
        *("LocalOutlierFactor", "NearestCentroid", "NearestNeighbors", "NeighborhoodComponentsAnalysis"),
        *("RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer", "kneighbors_graph"),
        *("radius_neighbors_graph", "sort_graph_by_row_values"),
    ),
    "neural_network": ("BernoulliRBM", "MLPClassifier", "MLPRegressor"),
    "compose": ("ColumnTransformer", "TransformedTargetRegressor", "make_column_transformer"),
    "pipeline": ("FeatureUnion", "Pipeline", "make_pipeline", "make_union"),
    "preprocessing": (
        *("Binarizer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "OneHotEncoder"),
        *(
            "LabelBinarizer",
            "LabelEncoder",
            "MultiLabelBinarizer",
            "OrdinalEncoder",
            "PowerTransformer",
            "FunctionTransformer",
            "PolynomialFeatures",
            "QuantileTransformer",
            "SplineTransformer",
            "RobustScaler",
            "StandardScaler",
            "TargetEncoder",
        ),
    ),
    "random_projection": ("GaussianRandomProjection", "SparseRandomProjection", "johnson_lindenstrauss_min_dim"),
    "semi_supervised": ("SelfTrainingClassifier",),
    "semi_supervised._label_propagation": ("LabelPropagation", "LabelSpreading"),
    "svm": ("LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR"),
    "tree": (
        *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
        *("export_graphviz", "export_text", "plot_tree"),
    ),
}

DIFFERENCES: dict[str, str] = {
    "test_online_lda::test_lda_preplexity_mismatch": "calls a private method",
    "test_online_lda::test_verbosity*": "counts the lines of scikit-learn's progress; mercer prints one for each step",
    "test_dict_learning::test_dict_learning_lars_positive_parameter": (
        'finds codes by coordinate descent for `fit_algorithm="lars"` too, which can keep them positive'
    ),
    "test_dict_learning::test_dict_learning_online_lars_positive_parameter": (
        'finds codes by coordinate descent for `fit_algorithm="lars"` too, which can keep them positive'
    ),
    "test_dict_learning::test_dict_learning_online_initialization": (
        "brings given atoms to length one at most before the first step, as the problem asks"
    ),
    "test_dict_learning::test_minibatch_dictionary_learning_dtype_match*": "reads the private attribute _A",
    "test_passive_aggressive::test_classifier_accuracy*True[]]": "reads the private attribute _average_coef",
    "test_passive_aggressive::test_classifier_partial_fit*True[]]": "reads the private attribute _average_coef",
    "test_passive_aggressive::test_regressor_mse*True[]]": "reads the private attribute _average_coef",
    "test_passive_aggressive::test_regressor_partial_fit*True[]]": "reads the private attribute _average_coef",
    "test_passive_aggressive::test_*_correctness*csr_*": (
        "expects the smaller steps of the intercept that scikit-learn takes on sparse rows"
    ),
    "test_multioutput::test_multi_target_sample_weights_api": (
        "expects that OrthogonalMatchingPursuit takes no weights; mercer's does"
    ),
    "test_multioutput::test_multi_output_classification_partial_fit_parallelism": (
        "expects copies that joblib's processes send back; here they learn in place"
    ),
    "test_multioutput::test_multiclass_multioutput_estimator_predict_proba": (
        "expects the digits in which scikit-learn's solver stops"
    ),
    "test_multioutput::test_multi_output_classification_sample_weights": (
        "expects the rows that scikit-learn's forest of ten trees draws"
    ),
    "test_multioutput::test_classifier_chain_tuple_order*": ("expects the rows that scikit-learn's forest draws"),
    "test_multioutput::test_multioutput_regressor_has_partial_fit": (
        "expects that LinearRegression has no partial_fit; mercer's has"
    ),
    "test_self_training::test_strings_dtype": 'takes arrays of texts, with "-1" where there is no label',
    "test_search::test_search_callbacks_*": (
        "counts the tasks of scikit-learn's searches; a task of mercer's is a step, which is a setting on all splits"
    ),
    "test_search::test_custom_run_search": "compares all attributes with those of a search of scikit-learn's own",
    "test_search::test_multi_metric_search_forwards_metadata*": (
        "looks for fit among the callers of a scorer, which runs on a thread of its own"
    ),
    "test_search::test_search_cv_sample_weight_equivalence[[]estimator0]": (
        "expects 1e-7 of two fits that stop at tol=1e-4; both certificates hold, probabilities differ by 5e-4"
    ),
    "test_search::test_search_cv_verbose_3*": "verbose prints a line for each setting, not for each fit",
    "test_search::test_search_html_repr": "shows the parameters of the search, not the best model in their place",
    "test_successive_halving::test_min_resources_null*": "expects other words of an error about no rows",
    "test_successive_halving::test_select_best_index*": "calls a private method of scikit-learn's class",
    "test_column_transformer::test_column_transformer_remainder": (
        "asks for mercer's FunctionTransformer where scikit-learn's class, which mercer's extends, makes its own"
    ),
    "test_column_transformer::test_column_transformer_remainder_numpy*": (
        "asks for mercer's FunctionTransformer where scikit-learn's class, which mercer's extends, makes its own"
    ),
    "test_column_transformer::test_column_transformer_remainder_pandas*": (
        "asks for mercer's FunctionTransformer where scikit-learn's class, which mercer's extends, makes its own"
    ),
    "test_column_transformer::test_sk_visual_block_remainder_fitted_*": (
        "asks for mercer's FunctionTransformer where scikit-learn's class, which mercer's extends, makes its own"
    ),
    "test_pipeline::test_pipeline_invalid_parameters": "lists the parameters of scikit-learn's SelectKBest",
    "test_column_transformer::test_column_transformer_get_set_params*": "lists the parameters of scikit-learn's scaler",
    "test_column_transformer::test_remainder_set_output": "mercer's VarianceThreshold gives floats, also for booleans",
    "test_target::test_transform_target_regressor_error": "expects that LinearRegression refuses weights by their name",
    "test_target::test_transform_target_regressor_not_warns_with_global_output_set*": (
        "makes every warning an error; mercer's LinearRegression warns of columns that depend on others"
    ),
    "test_pipeline::test_pipeline_raise_set_params_error": "lists the parameters of scikit-learn's LinearRegression",
    "test_pipeline::test_feature_union_array_api_support_tag": "reads the tag of scikit-learn's scaler",
    "test_pipeline::test_pipeline_with_callbacks*": "counts tasks of a fit; mercer's scaler reports its own",
    "test_pipeline::test_pipeline_memory_callbacks_second_fit*": (
        "counts the tasks of a fit; mercer's scaler reports its own"
    ),
    "test_encoders::test_ordinal_encoder_sparse*": "expects other words of an error; mercer's names the argument",
    "test_label_propagation::test_convergence_warning": "expects scikit-learn's words; mercer's warning names the sum",
    "test_ransac::test_ransac_no_valid_*": "reads attributes of a fit that failed; the error has the counts",
    "test_ransac::test_ransac_exceed_max_skips": "reads attributes of a fit that failed; the error has the counts",
    "test_ransac::test_ransac_default_residual_threshold": "other draws find a larger consensus, 266 rows for 240",
    "test_bicluster::test_fit_best_piecewise*": "calls a private method of scikit-learn's class",
    "test_bicluster::test_project_and_cluster*": "calls a private method of scikit-learn's class",
    "test_bicluster::test_spectralbiclustering_parameter_validation[[]params1-*": "expects other words of an error",
    "test_affinity_propagation::test_correct_clusters*": "draws decide a tie; 24 of 30 of scikit-learn's seeds pass",
    "test_affinity_propagation::test_sparse_input_for_fit_predict*": "draws decide a tie of the same table",
    "test_ransac::test_ransac_fit_sample_weight": "other draws find a larger consensus, 266 rows for 240",
    "test_calibration::test_temperature_scaling[[]*": "expects calibrators to be estimators; mercer's are records",
    "test_isotonic::test_assert_raises_exceptions": "expects other words of an error about weights",
    "test_isotonic::test_isotonic_regression_oob_raise": "expects SciPy's words of an error; mercer's names the range",
    "test_isotonic::test_fast_predict": "calls private methods of scikit-learn's class",
    "test_bayes::test_update_of_sigma_in_ard": "expects a column of zeros to be dropped; it keeps its prior",
    "test_bayes::test_update_sigma*": "calls private methods of scikit-learn's class",
    "test_least_angle::test_lasso_lars_*copyX_behaviour[[]False]": "expects rows to be overwritten; mercer never does",
    "test_least_angle::test_lars_with_jitter*": "expects columns that tie to need jitter; here they join together",
    "test_least_angle::test_lars_cv_max_iter": "expects no warning of paths that were cut short",
    "test_least_angle::test_lasso_lars_vs_lasso_cd_ill_conditioned2": (
        "expects a warning of columns that depend on others; of columns 1e20 times the others mercer says that the "
        "certificate does not hold"
    ),
    "test_glm::test_glm_wrong_y_range*": "expects scikit-learn's words; mercer's error names the loss and its range",
    "test_glm::test_tweedie_link_*": "reads the private attribute _base_loss, or asks for the identity link of power 1",
    "test_glm::test_tweedie_score[[]identity*": "asks for the identity link of powers above 0, which mercer refuses",
    "test_glm::test_linalg_warning_with_newton_solver*": (
        "expects a warning that collinear columns end Newton's method; mercer's steps go on"
    ),
    "test_glm::test_glm_regression_unpenalized_hstacked_X[[]*-long-*": (
        "expects, of all optima of columns given twice, the one of least norm that steps from zero end in"
    ),
    "test_glm::test_glm_regression_unpenalized*-wide-*-False-lbfgs*": (
        "expects, of all optima of more columns than rows, the one of least norm that steps from zero end in"
    ),
    "test_glm::test_glm_regression[[]*-newton-cholesky*": (
        "expects nine digits of coefficients; a gap of 1e-14 of the objective, which is rounding, leaves seven"
    ),
    "test_glm::test_glm_regression_?stacked_X[[]*-long-PoissonRegressor()-False-newton-cholesky*": (
        "expects nine digits of coefficients; a gap of 1e-14 of the objective, which is rounding, leaves seven"
    ),
    "test_feature_select::test_dataframe_output_dtypes": "expects columns of text and categories to be passed on",
    "test_from_model::test_from_model_estimator_attribute_error": (
        "asks for the error of a missing partial_fit; mercer's LinearRegression has the method"
    ),
    "test_text::test_feature_names": "reads an attribute of a call that failed",
    "test_text::test_pickling_built_processors[[]build_analyzer*": (
        "pickles an analyzer that holds scikit-learn's own class, which is not found under its name in this suite"
    ),
    "test_text::test_tfidf_vectorizer_setter": "expects the misspelt words user_idf in an error",
    "test_text::test_vectorizer_stop_words_inconsistent": "calls a private method of scikit-learn's class",
    "test_text::test_stop_word_validation_custom_preprocessor*": "calls a private method of scikit-learn's class",
    "test_text::test_countvectorizer_sort_features_64bit_sparse_indices*": (
        "calls a private method of scikit-learn's class"
    ),
    "test_voting::test_sample_weight*": "expects that KNeighborsClassifier takes no sample weights; mercer's does",
    "test_nca::test_toy_example_collapse_points": "calls the private method _loss_grad_lbfgs",
    "test_nca::test_finite_differences*": "calls the private method _loss_grad_lbfgs",
    "test_nca::test_expected_transformation_shape": "assigns infinity to n_iter_; mercer checks what is assigned",
    "test_nca::test_verbose*": "expects the lines that scikit-learn prints; mercer prints one line of its own a step",
    "test_nca::test_convergence_warning": "expects scikit-learn's words; mercer's warning names the gradient and tol",
    "test_isomap::test_multiple_connected_components_metric_precomputed*": (
        "expects RuntimeError for a graph that cannot be connected; mercer raises a ValueError of its own"
    ),
    "test_spectral_embedding::test_spectral_eigen_tol_auto*": "replaces a private function of scikit-learn by a mock",
    "test_iforest::test_max_samples_consistency": "reads the private attribute _max_samples",
    "test_iforest::test_iforest_chunks_works*": "counts the calls of a private function that cuts rows into chunks",
    "test_lof::test_lof[[]*": "calls the private method _predict",
    "test_lof::test_lof_precomputed*": "calls the private method _predict",
    "test_robust_covariance::test_mcd_increasing_det_warning*": (
        "a C-step that raises the determinant by rounding is not taken, so there is nothing to warn of"
    ),
    "test_pls::test_copy*": "expects copy=False to overwrite the tables; mercer never overwrites what it is given",
    "test_rbm::test_fit_gibbs*": "expects the weights that scikit-learn's own random numbers lead to",
    "test_rbm::test_convergence_dtype_consistency": (
        "asks that a bias of 0.005, left over where float32 steps of both signs cancel, be right to 1e-5"
    ),
    "test_rbm::test_sparse_and_verbose*": "the line of a pass has no seconds; they are in history_",
    "test_rbm::test_transform": "calls a private method of scikit-learn's class",
    "test_rbm::test_sample_hiddens": "calls private methods of scikit-learn's class",
    "test_mlp::test_preserve_feature_names*": (
        "fits ten rows without a seed; for some draws the validation score still rises after 200 epochs, which is said"
    ),
    "test_mlp::test_fit": "sets private attributes of scikit-learn's network and calls its private steps",
    "test_mlp::test_gradient": "calls private methods; tests/neural_network checks every gradient",
    "test_mlp::test_learning_rate_warmstart": "reads the private optimizer",
    "test_mlp::test_adaptive_learning_rate": "reads the private optimizer; history_ has the learning rates",
    "test_mlp::test_n_iter_no_change*": "reads a private counter",
    "test_mlp::test_nonfinite_params": "a fit that diverges warns and keeps the last good weights; it does not raise",
    "test_mlp::test_mlp_diverging_loss": "a fit that diverges ends there: no later score is NaN",
    "test_mlp::test_verbose_sgd": "verbose prints mercer's lines, which say step and objective",
    "test_mlp::test_early_stopping_stratified": "the message names the class by its number",
    "test_nmf::test_convergence_warning*": "the warning names the estimator, the steps and the cure in other words",
    "test_nmf::test_nmf_multiplicative_update_sparse*": (
        "expects beta=2 to take the steps of beta=2 - 1e-5; mercer repeats updates under squared error for each product"
    ),
    "test_nmf::test_nmf_minibatchnmf_equivalence[[]2]": (
        "expects one update for each product; mercer's NMF repeats them under squared error, which ends lower"
    ),
    "test_nmf::test_nmf_sparse_input[[]*-0.0-*-NMF-solver0]": (
        "one entry of 3e-7 differs by 2e-13 between sparse and dense rows; the test allows no absolute difference"
    ),
    "test_nmf::test_non_negative_factorization_consistency[[][1s]*-1.0-cd-*]": (
        "under so strong a penalty zero factors are best, and mercer's solver reaches them; as a start both refuse them"
    ),
    "test_nmf::test_nmf_float32_float64_consistency[[]NMF-solver1]": (
        "repeated updates carry the rounding of float32 further: four of 350 entries differ by up to 3e-4"
    ),
    "test_nmf::test_nmf_n_components_auto[[]*": (
        "reads the private _n_components; the public attribute is n_components_"
    ),
    "test_nmf::test_minibatch_nmf_partial_fit": (
        "compares two models that share one array, since scikit-learn overwrites the H that it is given"
    ),
    "test_nmf::test_mbnmf_inverse_transform": (
        "the largest error of both libraries is 0.010 for a bound of 0.010, and the seed decides on which side it falls"
    ),
    "test_t_sne::test_high_perplexity_precomputed_sparse_distances*": (
        "the error counts neighbours without the row itself, and says which row has too few"
    ),
    "test_t_sne::test_max_iter_used": "n_iter_ is the number of iterations, not the index of the last one",
    "test_t_sne::test_verbose": "verbose prints the lines that every mercer estimator prints",
    "test_t_sne::test_n_iter_without_progress": "verbose prints the lines that every mercer estimator prints",
    "test_t_sne::test_accessible_kl_divergence": "verbose prints the lines that every mercer estimator prints",
    "test_t_sne::test_tsne_with_different_distance_metrics*cosine*": (
        "asks for equal bits from distances in float32 and in float64; mercer computes them in float64"
    ),
    "test_t_sne::test_tsne_with_mahalanobis_distance": "the covariance is that of the rows where none is given",
    "test_neighbors::test_auto_algorithm*": "reads the private attribute _fit_method",
    "test_neighbors::test_neighbors_minkowski_semimetric_algo_warn*": "reads the private attribute _fit_method",
    "test_neighbors::test_k_and_radius_neighbors_duplicates*": (
        "of equal distances the row with the lower index comes first, for every query"
    ),
    "test_neighbors::test_kneighbors_regressor_sparse*": "sparse queries are made dense where the tree has dense rows",
    "test_neighbors::test_predict_sparse_ball_kd_tree*": "sparse queries are made dense where the tree has dense rows",
    "test_neighbors::test_neighbors_metrics*-braycurtis]": "sparse queries are made dense for trees of dense rows",
    "test_neighbors::test_neighbors_metrics*-canberra]": "sparse queries are made dense for trees of dense rows",
    "test_neighbors::test_neighbors_metrics*-haversine]": "sparse queries are made dense for trees of dense rows",
    "test_neighbors::test_neighbors_metrics*-mahalanobis]": "sparse queries are made dense for trees of dense rows",
    "test_neighbors::test_neighbors_metrics*-minkowski]": "sparse queries are made dense for trees of dense rows",
    "test_neighbors::test_neighbors_metrics*-seuclidean]": "sparse queries are made dense for trees of dense rows",
    "test_neighbors::test_neigh_predictions_algorithm_agnosticity*-KNeighbors*-100-100-10]": (
        "tells the parameter by scikit-learn's private mixin of the class"
    ),
    "test_neighbors::test_precomputed_sparse_invalid*": (
        "a graph without entries of rows for themselves has as many neighbours as entries, not one less"
    ),
    "test_sgd::test_sgd_oneclass_vs_linear_oneclass_offsets_match*": (
        "asks for offsets equal to 1.3e-6 where the machine was asked to stop at a violation of 5e-6"
    ),
    "test_voting::test_set_estimator_drop": "expects the two rows that scikit-learn's forest of ten trees draws",
    "test_export::test_export_text": "of two columns that split equally well the lower one is asked, not one at random",
    "test_export::test_export_text_feature_class_names_array_support*": (
        "of two columns that split equally well the lower one is asked, not one at random"
    ),
    "test_impute::test_imputation_mean_median_error_invalid_type*": "texts are refused in mercer's words",
    "test_impute::test_imputation_const_mostf_error_invalid_types*": "texts are refused in mercer's words",
    "test_impute::test_simple_imputer_constant_fill_value_casting*": "reads the private attribute _fill_dtype",
    "test_impute::test_iterative_imputer_min_max_array_like*": "reads the private attributes _min_value and _max_value",
    "test_common::test_missing_value_handling*": "gives the functions of scalers all parameters of the class",
    "test_dict_vectorizer::test_mapping_error": "nested mappings are refused in mercer's words",
    "test_impute::test_imputation_copy*": "sparse rows become CSR: copy=False writes over no others",
    "test_discretization::test_nonuniform_strategies?kmeans-averaged*": (
        "a centre without rows moves elsewhere, so that k-means of six values in five bins ends in another optimum"
    ),
    "test_data::test_quantile_transform_check_error*": "a number for rows is refused in mercer's words",
    "test_data::test_binarizer?array?": "whole numbers become float64 here too: copy=False cannot write over them",
    "test_data::test_binarizer?cs?_*": "whole numbers become float64 here too: copy=False cannot write over them",
    "test_data::test_standard_scaler_dtype?*None?": "rows of half precision become float64, and stay so",
    "test_data::test_standard_scaler_callback_support*": "callbacks see the one step of the fit as a task of its own",
    "test_forest::test_friedman_mse_deprecation*": "the name stays: it chooses the splits of squared_error",
    "test_fastica::test_fastica_convergence_fail*": (
        "the warning is a ConvergenceWarning in mercer's words, with the steps taken and the gradient reached"
    ),
    "test_fastica::test_fastica_eigh_low_rank_warning*": (
        "rank-deficient rows give as many components as their rank, with a warning that says so, not components of "
        "noise"
    ),
    "test_kernel_pca::test_precomputed_kernel_not_psd?randomized?": (
        "The randomised solver finds the largest eigenvalues, not the largest in size, and need not refuse."
    ),
    "test_kernel_approximation::test_rbf_sampler_gamma_scale": (
        "reads the private attribute _gamma; the public attribute is gamma_"
    ),
    "test_weight_boosting::test_iris": "stumps draw nothing at random, so members have no random_state to differ in",
    "test_weight_boosting::test_sample_weights_infinite": (
        "weights are multiplied up and down around one, so that these do not overflow and there is nothing to warn of"
    ),
    "test_weight_boosting::test_adaboost_negative_weight_error*": "the error says sample_weight must be non-negative",
    "test_voting::test_voting_verbose*": "a line for each member is printed in words of our own",
    "test_bagging::test_max_samples_consistency": "reads the private attribute _max_samples",
    "test_k_means::test_kmeans_init_auto_with_initial_centroids*": "reads the private attribute _n_init",
    "test_k_means::test_n_init_auto*": "reads the private attribute _n_init",
    "test_k_means::test_minibatch_kmeans_init_size": "reads the private attribute _init_size",
    "test_k_means::test_sample_weight_init*": "calls the private method _init_centroids",
    "test_k_means::test_sample_weight_zero*": "calls the private method _init_centroids",
    "test_k_means::test_warning_elkan_1_cluster": "elkan works with one cluster, so there is no fallback to warn of",
    "test_dbscan::test_weighted_dbscan*": (
        "A weight is a number of rows: a negative one is refused, and a row of weight zero is never core."
    ),
    "test_hdbscan::test_labelling_distinct*": (
        "reads the private _single_linkage_tree_; the public attribute is single_linkage_tree_"
    ),
    "test_hdbscan::test_hdbscan_default_copy_warning": "The input is never changed, so there is no copy to warn of.",
    "test_hierarchical::test_agglomerative_clustering_with_distance_threshold[[]*": (
        "clusters are numbered in the order of their first rows; scikit-learn's private _hc_cut follows a heap"
    ),
    "test_pca::test_sparse_pca_solver_error*": (
        "sparse rows also run with svd_solver='randomized' and 'power', so the error names other solvers"
    ),
    "test_pca::test_pca_score[[]*": (
        "the covariance of the model does not depend on whiten; scikit-learn multiplies it by the variances once more"
    ),
    "test_pca::test_pca_svd_solver_auto*": "reads the private _fit_svd_solver; the public attribute is solver_used_",
    "test_base::test_raises_value_error_if_positive_and_sparse*": "LinearRegression(positive=True) fits sparse rows.",
    "test_data::test_power_transformer_2d": (
        "the power is that of greatest likelihood to 1e-8; SciPy's search, with which it is compared to seven digits, "
        "ends up to 1e-7 off"
    ),
    "test_data::test_power_transformer_lambda_one": "powers are assigned to a transformer that was never fitted",
    "test_base::test_inplace_data_preprocessing*": "Rows are never overwritten, so copy_X=False changes nothing.",
    "test_base::test_linear_regression_sample_weight_consistency*csr*": (
        "Zero weights do equal absent rows on sparse data; scikit-learn expects its own failure."
    ),
    "test_gradient_boosting::test_raise_if_init_has_no_predict_proba": "the error is in words of our own",
    "test_gradient_boosting::test_max_feature_regression*": "calls the private attribute _loss",
    "test_gradient_boosting::test_huber_overfit": "reads the private attribute _loss",
    "test_gradient_boosting::test_verbose_output": "a line is printed for each round, in words of our own",
    "test_gradient_boosting::test_more_verbose_output": "a line is printed for each round, in words of our own",
    "test_gradient_boosting::test_gradient_boosting_with_init_pipeline": (
        "expects scikit-learn's words for a wrong parameter of NuSVR, which is ours too"
    ),
    "test_gradient_boosting::test_multinomial_error_exact_backward_compat": (
        "expects two probabilities that are equal by symmetry to differ in the eighth digit; here they are equal"
    ),
    "test_gradient_boosting::test_should_stop*": "calls the private method _should_stop",
    "test_gradient_boosting::test_binning_train_validation_are_separated": "reads the private attribute _bin_mapper",
    "test_gradient_boosting::test_small_trainset": "calls the private method _get_small_trainset",
    "test_gradient_boosting::test_max_depth_max_leaf_nodes": "reads the private attribute _predictors",
    "test_gradient_boosting::test_early_stopping_with_sample_weights": "replaces the private method _raw_predict",
    "test_gradient_boosting::test_raw_predict_is_called_with_custom_scorer": "replaces the private method _raw_predict",
    "test_gradient_boosting::test_single_node_trees*": (
        "reads the private attribute _predictors; a classifier refuses rows of one class"
    ),
    "test_gradient_boosting::test_custom_loss*": "passes instances of scikit-learn's private losses",
    "test_gradient_boosting::test_categorical_encoding_strategies": "reads the private attribute _predictors",
    "test_gradient_boosting::test_categorical_bad_encoding_errors*": (
        "of more categories than bins the rarer share one, which is no error"
    ),
    "test_gradient_boosting::test_dataframe_categorical_errors*": (
        "of more categories than bins the rarer share one, which is no error"
    ),
    "test_gradient_boosting::test_dataframe_categorical_results_same_as_ndarray*": (
        "reads the private attribute _preprocessor"
    ),
    "test_gradient_boosting::test_categorical_different_order_same_model*": "reads the private attribute _predictors",
    "test_warm_start::test_warm_start_yields_identical_results*": "reads the private attribute _predictors",
    "test_warm_start::test_warm_start_max_depth*": "reads the private attribute _predictors",
    "test_warm_start::test_warm_start_equal_n_estimators*": "reads the private attribute _predictors",
    "test_warm_start::test_warm_start_clear*": "reads the private attribute _predictors",
    "test_bayesian_mixture::test_compare_covar_type": "calls private methods of scikit-learn's class",
    "test_gaussian_mixture::test_gaussian_mixture_fit_convergence_warning": (
        "the warning says how far from the optimum the fit stopped, in words of our own"
    ),
    "test_gaussian_mixture::test_gaussian_mixture_setting_best_params": (
        "a component that has shrunk to a single row at reg_covar=0 is an error with its cure"
    ),
    "test_gaussian_mixture::test_gaussian_mixture_precisions_init[[]*": "calls the private method _set_parameters",
    "test_gaussian_mixture::test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters*": (
        "counts the calls of a private function of scikit-learn"
    ),
    "test_gaussian_mixture::test_gaussian_mixture_raises_where_array_api_not_implemented*": (
        "every init_params works for rows of every array library"
    ),
    "test_ridge::test_n_iter": "n_iter_ counts the steps of every solver; a closed form takes one, and is not None.",
    "test_ridge::test_ridge_fit_intercept_sparse_error*": (
        "Ridge fits an intercept on sparse rows with cholesky and saga; svd refuses sparse rows with a TypeError."
    ),
    "test_ridge::test_ridge_fit_intercept_sparse_sag*": (
        "Sparse rows are centred by algebra, so the intercept does not slow sag and needs no warning."
    ),
    "test_ridge::test_lbfgs_solver_error": "The active-set method behind positive=True solves this case in one step.",
    "test_ridge::test_ridge_gcv_sample_weights*": (
        "A weight of two is the row twice, and leave-one-out leaves out one of them; scikit-learn leaves out both."
    ),
    "test_logistic::test_logistic_cv_multinomial_score*": "hands our parameters to a private function of scikit-learn",
    "test_logistic::test_logreg_predict_proba_multinomial*": "calls the private _predict_proba_lr",
    "test_logistic::test_max_iter*": "the warning says how far from the optimum the fit stopped, in words of our own",
    "test_logistic::test_dtype_match*liblinear]": "float32 rows give float32 coefficients with every solver",
    "test_logistic::test_large_sparse_matrix*liblinear]": "64-bit indices are supported by every solver",
    "test_logistic::test_large_sparse_matrix*sag*]": "64-bit indices are supported by every solver",
    "test_logistic::test_liblinear_with_large_values": "values above 1e30 do not freeze the fit, so they are no error",
    "test_logistic::test_newton_cholesky_fallback_to_lbfgs": "no solver is ever replaced by another silently",
    "test_logistic::test_logisticregression_warns_with_n_jobs": "n_jobs has an effect and is not deprecated",
    "test_logistic::test_logistic_regression_callback_support*": "callbacks see each step of every solver exactly once",
    "test_coordinate_descent::test_multi_task_lasso_and_enet": (
        "the warning says how far from the optimum the fit stopped, in words of our own"
    ),
    "test_coordinate_descent::test_warm_start": (
        "every five sweeps are extrapolated, so two fits of five sweeps are not one of ten to 6 digits"
    ),
    "test_coordinate_descent::test_check_input_false": "rows are always checked and may be in any order",
    "test_coordinate_descent::test_enet_copy_X_False_check_input_False": "rows are never overwritten",
    "test_coordinate_descent::test_warm_start_convergence_with_regularizer_decrement": (
        "a move to the exact minimum over the coefficients in use ends both fits after 20 sweeps"
    ),
    "test_coordinate_descent::test_enet_coordinate_descent_raises_convergence*": (
        "the warning says how far from the optimum the fit stopped, in words of our own"
    ),
    "test_coordinate_descent::test_sparse_dense_descent_paths*-2-*": (
        "lasso_path and enet_path of several targets under one penalty are not there; MultiTaskLasso is"
    ),
    "test_coordinate_descent::test_lassoCV_does_not_set_precompute*": (
        "replaces a class in a private module of scikit-learn"
    ),
    "test_sgd::test_plain_has_no_average_attr*SGDClassifier]": "reads the private attribute _average_coef",
    "test_sgd::test_plain_has_no_average_attr*SGDRegressor]": "reads the private attribute _average_coef",
    "test_sgd::test_plain_has_no_average_attr*SGDOneClassSVM]": "reads the private attribute _average_coef",
    "test_sgd::test_partial_fit_oneclass*": (
        "expects the array coef_ to be overwritten by the next call; here each call stores a new one"
    ),
    "test_sgd::test_late_onset_averaging_reached_oneclass[[]Sparse*": "expects an offset slowed down for sparse rows",
    "test_sgd::test_sgd_averaged_computed_correctly_oneclass[[]Sparse*": (
        "expects an offset slowed down for sparse rows"
    ),
    "test_sgd::test_sgd_averaged_partial_fit_oneclass[[]Sparse*": "expects an offset slowed down for sparse rows",
    "test_sgd::test_average_sparse_oneclass[[]Sparse*": "expects an offset slowed down for sparse rows",
    "test_sgd::test_late_onset_averaging_reached[[]Sparse*": (
        "The intercept of sparse rows is learnt at the rate of dense ones, so that both give the same model."
    ),
    "test_sgd::test_average_binary_computed_correctly[[]Sparse*": "expects an intercept slowed down for sparse rows",
    "test_sgd::test_sgd_multiclass_average[[]Sparse*": "expects an intercept slowed down for sparse rows",
    "test_sgd::test_sgd_averaged_computed_correctly[[]Sparse*": "expects an intercept slowed down for sparse rows",
    "test_sgd::test_sgd_averaged_partial_fit[[]Sparse*": "expects an intercept slowed down for sparse rows",
    "test_sgd::test_average_sparse[[]Sparse*": "expects an intercept slowed down for sparse rows",
    "test_sgd::test_sgd_predict_proba_method_access*": "reads the undocumented table loss_functions of the class",
    "test_sgd::test_loss_function_epsilon*": "reads the undocumented table loss_functions of the class",
    "test_sgd::test_balanced_weight*": (
        "class_weight weighs the rows of a class in the problems of all classes, like sample_weight; scikit-learn "
        "weighs them in the problem of their own class alone. The test's bound of 0.96 is missed by 0.00002."
    ),
    "test_sgd::test_tol_parameter": (
        "compares numbers of epochs that depend on the order drawn from a seed, and expects the words of a warning "
        "that is in words of our own"
    ),
    # These look at the last step of one seed, whose order is another one here. Over 25 to 150 seeds they hold at least
    # as often as with the orders of numpy.random.Generator.
    "test_sgd::test_class_weights*": "holds for 86 % of 150 seeds, and for 85 % with NumPy's orders; not for this one",
    "test_sgd::test_sample_weights*": "the rows, the steps and the seed of test_class_weights",
    "test_sgd::test_multi_thread_multi_class_and_early_stopping": (
        "bounds the number of epochs of one seed by 120; holds for 40 % of 25 seeds, and for 24 % with NumPy's orders"
    ),
    "test_perceptron::test_perceptron_l1_ratio": (
        "expects two penalties to misclassify different numbers of rows; holds for 92 % of 25 seeds, and for 80 % with "
        "NumPy's orders"
    ),
    "test_sgd::test_validation_mask_correctly_subsets": "replaces a private class of scikit-learn",
    "test_sgd::test_sgd_error_on_zero_validation_weight": "weights that are all zero are refused before any split",
    "test_tree::test_almost_constant_feature*": "values that differ are told apart, however little",
    "test_tree::test_min_sample_split_1_error*": "the same rule, in words of our own",
    "test_tree::test_big_input": "values beyond float32 are kept in float64",
    "test_tree::test_huge_allocations": "pokes the private builder of scikit-learn's tree",
    "test_tree::test_deterministic_pickle": "history_ has the seconds of each fit",
    "test_tree::test_build_pruned_tree_*": "pokes private functions of scikit-learn's Cython",
    "test_tree::test_friedman_mse_deprecation": "friedman_mse stays: it chooses the splits of squared_error",
    "test_forest::test_forest_multioutput_integral_regression_target*": "draws rows by a private function again",
    "test_forest::test_memory_layout*": "reads the template `estimator` that scikit-learn's class keeps",
    "test_forest::test_validate_y_class_weight*": "pokes a private method",
    "test_forest::test_random_trees_embedding_raise_error_oob*": "calls a private method",
    "test_forest::test_random_hasher": (
        "other draws from a seed: two components of the code separate the circles for 33 of 40"
        " seeds, as scikit-learn's do"
    ),
    "test_forest::test_class_weights_forest*": "reads the private attribute _sample_weight",
    "test_forest::test_oob_not_computed_twice*": "patches a private method",
    "test_forest::test_poisson_y_positive_check": "the same rule, in words of our own",
    "test_forest::test_backend_respected": "threads are our own, not joblib's",
    "test_forest::test_max_samples_geq_one*": "reads the private attribute _n_samples_bootstrap",
    "test_forest::test_mse_criterion_object_segfault_smoke_test*": "gives a private object of scikit-learn's Cython",
    "test_forest::test_forest_regressor_oob[[]True-X0-y0-0.7-*-RandomForestRegressor]": (
        "other draws from a seed: over eight seeds the score is 0.707 +- 0.010, scikit-learn's 0.710 +- 0.007, and the "
        "bound of 0.7 is missed by the seed of the test"
    ),
    "test_kde::test_kernel_density_sampling": "every kernel can be sampled from, not only Gaussian and tophat",
    "test_discriminant_analysis::test_lda_transform": (
        "solver='lsqr' finds the axes too, as combinations of its coefficients"
    ),
    "test_discriminant_analysis::test_qda_regularization*svd]": (
        "reg_param regularises all directions, also of a class with fewer rows than columns"
    ),
    "test_naive_bayes::test_gnb_check_update_with_no_data": "calls the private method _update_mean_variance",
    "test_naive_bayes::test_alpha_vector": "calls the private method _check_alpha",
    "test_naive_bayes::test_check_alpha": "calls the private method _check_alpha",
    "test_naive_bayes::test_discretenb_provide_prior[[]*": (
        "expects the classes of a fit that failed to stay; here a failed fit leaves the model as it was"
    ),
    "test_naive_bayes::test_discretenb_provide_prior_with_partial_fit*CategoricalNB*": (
        "fractions are no categories: they are an error and not cut off"
    ),
    "test_gpr::test_gpr_correct_error_message": (
        "a covariance that is singular to rounding gets the least jitter that gives it a factor, recorded in jitter_"
    ),
    "test_gpc::test_predict_consistent_structured": (
        "the latent mean of every row is zero, a tie: predict gives the first of two classes of equal probability"
    ),
    "test_svm::test_svr_errors": "a kernel function that returns the wrong shape is refused by fit, not by predict",
    "test_svm::test_tweak_params": "writes to the private attribute _dual_coef_",
    "test_svm::test_negative_sample_weights_mask_all_samples*": (
        "A weight is a number of rows: negative ones are refused, and all zeros in mercer's words."
    ),
    "test_svm::test_negative_weights_svc_leave_just_one_label*": "negative weights are refused",
    "test_svm::test_negative_weights_svc_leave_two_labels*": "negative weights are refused",
    "test_svm::test_negative_weight_equal_coeffs*": "negative weights are refused",
    "test_svm::test_bad_input*": "a machine fitted to dense rows also predicts for sparse ones",
    "test_svm::test_libsvm_convergence_warnings*": "two pair steps solve this problem",
    "test_svm::test_linear_svm_convergence_warnings*": "two steps solve this problem: nothing to warn of",
    "test_sparse::test_timeout*": "one pair step solves this problem",
    "test_svm::test_svc_ovr_tie_breaking*": (
        "the kernel is so narrow that scores are intercepts, and their signs the rounding of LIBSVM: mercer's are zero"
    ),
    "test_svm::test_svc_raises_error_internal_representation": "writes to the private attribute _n_support",
    "test_svm::test_probability_raises_futurewarning*": (
        "probabilities that agree with predict are no reason to give the parameter up"
    ),
    "test_svm::test_svc_nusvc_probA_probB_deprecated*": (
        "Platt's two numbers do not exist: probabilities agree with predict"
    ),
}
