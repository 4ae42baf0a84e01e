"""Models to fuzz: one of every kind that can be saved.

`uncovered` names the types of `nearbayes.files.allowed` that none of them holds.
"""

import importlib

import lightgbm
import numpy as np
import xgboost
from forging import SETTINGS, saved, skops_parts
from sklearn import (
    calibration,
    compose,
    decomposition,
    discriminant_analysis,
    dummy,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    isotonic,
    kernel_approximation,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.gaussian_process import kernels

import nearbayes as nb
from nearbayes.files.allowed import ALLOWED

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(60, 2)), RNG.integers(0, 3, 60)])
SIGNAL = X[:, 0] + X[:, 2] + 0.5 * RNG.normal(size=60)
LABELS = np.array(["no", "perhaps", "yes"])[np.digitize(SIGNAL, [0.2, 1.2])]
QUIET = {"n_estimators": 3, "verbosity": -1, "min_child_samples": 5}
HOT = compose.ColumnTransformer(
    [("hot", preprocessing.OneHotEncoder(handle_unknown="ignore"), [2])], remainder="drop"
)
FIRST = compose.ColumnTransformer([("first", "passthrough", [0])])
KERNEL = kernels.ConstantKernel() * kernels.RBF() + kernels.WhiteKernel()
KERNELS = (
    kernels.Matern() * kernels.RationalQuadratic()
    + kernels.DotProduct() ** 2
    + kernels.ExpSineSquared()
    + kernels.WhiteKernel()
)
LOGISTIC = linear_model.LogisticRegression()
steps = pipeline.make_pipeline
CLASSIFIERS = {
    "tree": tree.DecisionTreeClassifier(max_depth=3),
    "extra tree": tree.ExtraTreeClassifier(max_depth=3),
    "forest": ensemble.RandomForestClassifier(3, max_depth=3),
    "extra trees of classes": ensemble.ExtraTreesClassifier(3, max_depth=3),
    "histogram boosting": ensemble.HistGradientBoostingClassifier(
        max_iter=2, categorical_features=[2], min_samples_leaf=5
    ),
    "neighbours k-d": neighbors.KNeighborsClassifier(5, algorithm="kd_tree", leaf_size=5),
    "neighbours ball": neighbors.KNeighborsClassifier(
        5, algorithm="ball_tree", leaf_size=5, metric="chebyshev"
    ),
    "neighbours": neighbors.KNeighborsClassifier(5, algorithm="brute"),
    "centroids": neighbors.NearestCentroid(),
    "one-hot": steps(HOT, LOGISTIC),
    "bayes": naive_bayes.GaussianNB(),
    "bayes of bits": steps(preprocessing.Binarizer(), naive_bayes.BernoulliNB()),
    "bayes of counts": steps(preprocessing.MinMaxScaler(), naive_bayes.MultinomialNB()),
    "bayes of the rest": steps(
        preprocessing.KBinsDiscretizer(
            3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"
        ),
        naive_bayes.ComplementNB(),
    ),
    "bayes of categories": steps(
        preprocessing.KBinsDiscretizer(
            3, encode="ordinal", quantile_method="averaged_inverted_cdf"
        ),
        naive_bayes.CategoricalNB(),
    ),
    "calibrated": calibration.CalibratedClassifierCV(svm.SVC(), ensemble=False, cv=2),
    "calibrated in steps": calibration.CalibratedClassifierCV(
        svm.NuSVC(nu=0.1), method="isotonic", ensemble=False, cv=2
    ),
    "linear support vectors": calibration.CalibratedClassifierCV(
        svm.LinearSVC(), ensemble=False, cv=2
    ),
    "adaboost": ensemble.AdaBoostClassifier(n_estimators=3),
    "bagging of classes": ensemble.BaggingClassifier(n_estimators=2, max_features=2),
    "stacking of classes": ensemble.StackingClassifier(
        [
            ("lda", discriminant_analysis.LinearDiscriminantAnalysis()),
            ("qda", discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1)),
        ],
        cv=2,
    ),
    "voting of classes": ensemble.VotingClassifier(
        [("dummy", dummy.DummyClassifier()), ("bayes", naive_bayes.GaussianNB())], voting="soft"
    ),
    "process of classes": gaussian_process.GaussianProcessClassifier(optimizer=None),
    "logistic by folds": linear_model.LogisticRegressionCV(
        Cs=2, cv=2, l1_ratios=(0.0,), use_legacy_attributes=False
    ),
    "ridge of classes": calibration.CalibratedClassifierCV(
        linear_model.RidgeClassifier(), ensemble=False, cv=2
    ),
    "sgd": linear_model.SGDClassifier(loss="log_loss"),
    "sgd huber": linear_model.SGDClassifier(loss="modified_huber"),
    "one against the rest": multiclass.OneVsRestClassifier(LOGISTIC),
    "perceptron": neural_network.MLPClassifier((4,), max_iter=20, solver="lbfgs"),
    "chosen columns": steps(
        pipeline.FeatureUnion(
            [
                ("best", feature_selection.SelectKBest(k=1)),
                ("share", feature_selection.SelectPercentile(percentile=50)),
                ("varies", feature_selection.VarianceThreshold()),
            ]
        ),
        LOGISTIC,
    ),
    "target encoder": steps(
        compose.ColumnTransformer([("means", preprocessing.TargetEncoder(cv=2), [2])]), LOGISTIC
    ),
    "xgboost": xgboost.XGBClassifier(n_estimators=2, max_depth=3),
    "lightgbm": lightgbm.LGBMClassifier(**QUIET),
}
OF_TWO_CLASSES = {
    "histogram boosting of two": ensemble.HistGradientBoostingClassifier(max_iter=2),
    "support vectors of two": calibration.CalibratedClassifierCV(
        svm.SVC(kernel="sigmoid"), ensemble=False, cv=2
    ),
    "smooth trees of two": nb.SmoothTreesClassifier(),
    "xgboost of two": xgboost.XGBClassifier(n_estimators=2, max_depth=3),
    "lightgbm of two": lightgbm.LGBMClassifier(**QUIET),
}
REGRESSORS = {
    "support vectors": svm.SVR(),
    "nu support vectors": svm.NuSVR(kernel="poly"),
    "linear support regression": svm.LinearSVR(),
    "powers": steps(
        impute.SimpleImputer(), preprocessing.PolynomialFeatures(2), linear_model.Ridge()
    ),
    "tree regression": tree.DecisionTreeRegressor(max_depth=3),
    "extra tree regression": tree.ExtraTreeRegressor(max_depth=3),
    "forest regression": ensemble.RandomForestRegressor(3, max_depth=3),
    "extra trees": ensemble.ExtraTreesRegressor(3, max_depth=3),
    "histogram regression": ensemble.HistGradientBoostingRegressor(max_iter=2),
    "histogram quantiles": ensemble.HistGradientBoostingRegressor(
        max_iter=2, loss="quantile", quantile=0.5
    ),
    "bagging": ensemble.BaggingRegressor(n_estimators=2),
    "adaboost regression": ensemble.AdaBoostRegressor(n_estimators=2),
    "stacking": ensemble.StackingRegressor(
        [("lars", linear_model.Lars()), ("lasso", linear_model.LassoLars(0.01))], cv=2
    ),
    "voting": ensemble.VotingRegressor(
        [("dummy", dummy.DummyRegressor()), ("linear", linear_model.LinearRegression())]
    ),
    "gaussian process": gaussian_process.GaussianProcessRegressor(
        KERNEL, optimizer=None, alpha=0.1
    ),
    "gaussian process of kernels": gaussian_process.GaussianProcessRegressor(
        KERNELS, optimizer=None, alpha=9.0
    ),
    "automatic relevance": linear_model.ARDRegression(),
    "bayesian ridge": linear_model.BayesianRidge(),
    "elastic net": linear_model.ElasticNet(0.01),
    "elastic net by folds": linear_model.ElasticNetCV(cv=2, alphas=3),
    "huber": linear_model.HuberRegressor(),
    "lasso": linear_model.Lasso(0.01),
    "lasso by folds": linear_model.LassoCV(cv=2, alphas=3),
    "quantile": linear_model.QuantileRegressor(alpha=0.0),
    "ridge by folds": linear_model.RidgeCV(),
    "sgd regression": linear_model.SGDRegressor(),
    "theil-sen": linear_model.TheilSenRegressor(max_subpopulation=10),
    "neighbour regression": neighbors.KNeighborsRegressor(
        5, algorithm="kd_tree", leaf_size=5, metric="manhattan"
    ),
    "neighbour regression by powers": neighbors.KNeighborsRegressor(
        5, algorithm="ball_tree", leaf_size=5, p=3
    ),
    "histogram of absolutes": ensemble.HistGradientBoostingRegressor(
        max_iter=2, loss="absolute_error"
    ),
    "perceptron regression": neural_network.MLPRegressor(hidden_layer_sizes=(4,), max_iter=20),
    "perceptron by momentum": neural_network.MLPRegressor(
        hidden_layer_sizes=(4,), max_iter=20, solver="sgd"
    ),
    "isotonic": steps(FIRST, isotonic.IsotonicRegression(out_of_bounds="clip")),
    "of a transformed target": compose.TransformedTargetRegressor(
        linear_model.Ridge(), func=np.arcsinh, inverse_func=np.sinh
    ),
    "components": steps(
        preprocessing.StandardScaler(),
        pipeline.FeatureUnion(
            [("pca", decomposition.PCA(2)), ("svd", decomposition.TruncatedSVD(2))]
        ),
        linear_model.Ridge(),
    ),
    "approximate kernels": steps(
        pipeline.FeatureUnion(
            [
                ("nystroem", kernel_approximation.Nystroem(n_components=4)),
                ("random", kernel_approximation.RBFSampler(n_components=4)),
            ]
        ),
        linear_model.Ridge(),
    ),
    "scales": steps(
        preprocessing.MaxAbsScaler(),
        preprocessing.RobustScaler(),
        preprocessing.Normalizer(),
        preprocessing.FunctionTransformer(np.tanh),
        preprocessing.PowerTransformer(),
        preprocessing.QuantileTransformer(n_quantiles=10),
        linear_model.Ridge(),
    ),
    "gaps": steps(
        impute.MissingIndicator(features="all"),
        impute.KNNImputer(n_neighbors=2),
        linear_model.Ridge(),
    ),
    "ordinal": steps(
        compose.ColumnTransformer(
            [
                (
                    "codes",
                    preprocessing.OrdinalEncoder(
                        handle_unknown="use_encoded_value", unknown_value=-1
                    ),
                    [2],
                )
            ],
            remainder="passthrough",
        ),
        linear_model.Ridge(),
    ),
    "xgboost dart": xgboost.XGBRegressor(n_estimators=2, max_depth=3, booster="dart"),
    "xgboost linear": xgboost.XGBRegressor(n_estimators=2, booster="gblinear"),
    "lightgbm regression": lightgbm.LGBMRegressor(**QUIET),
}
POSITIVE = {
    "gamma": linear_model.GammaRegressor(),
    "poisson": linear_model.PoissonRegressor(),
    "tweedie": linear_model.TweedieRegressor(power=1.5),
    "histogram poisson": ensemble.HistGradientBoostingRegressor(max_iter=2, loss="poisson"),
    "xgboost poisson": xgboost.XGBRegressor(n_estimators=2, max_depth=3, objective="count:poisson"),
    "lightgbm poisson": lightgbm.LGBMRegressor(objective="poisson", **QUIET),
}


def smooth_trees(path):
    return saved(path, nb.SmoothTreesRegressor(), X, SIGNAL)


def kept(path):
    model = nb.PosteriorRegressor(linear_model.Ridge(), **SETTINGS)
    return model.fit(X, SIGNAL, predict_on=X).save(path)


def calibrated(path):
    settings = {**SETTINGS, "calibration": "simulation", "n_draws": 3}
    return nb.PosteriorRegressor(linear_model.Ridge(), **settings).fit(X, SIGNAL).save(path)


def empirical_bayes(path):
    return saved(path, nb.gp.EmpiricalBayesGP(), X, SIGNAL)


def network(path):
    return saved(path, nb.neural.MLPRegressor(hidden=(4,), n_passes=5), X, SIGNAL)


def random_features(path):
    return _example("nearbayes.gp.sequential_map", path)


def family(path):
    return _example("nearbayes.algorithms.families", path)


def linear_gaussian(path):
    return _example("nearbayes.algorithms.linear_gaussian", path)


def _example(module, path):
    algorithm, data = importlib.import_module(module).example()
    run = {"n_draws": 3, "schedule": nb.Schedule.optimal(refits=1), "random_state": 0}
    posterior = nb.martingale_posterior(algorithm, data, progress=False, **run)
    posterior.save(path)
    return path


def _frame():
    import pandas as pd

    return pd.DataFrame({"a": X[:, 0], "b": X[:, 2].astype(int), "y": SIGNAL})


def causal(path):
    run = {"n_draws": 2, "n_refits": 1, "random_state": 0, "progress": False}
    model = nb.causal.SCM([("a", "y"), ("b", "y")], models=linear_model.Ridge(), **run)
    return model.fit(_frame()).save(path)


def diffusion(path):
    run = {"n_draws": 2, "n_refits": 1, "random_state": 0, "progress": False}
    small = {"width": 4, "depth": 1, "n_iterations": 5}
    model = nb.causal.DiffusionSCM([("a", "y"), ("b", "y")], **small, **run)
    return model.fit(_frame()).save(path)


MADE = {
    "smooth trees": smooth_trees,
    "kept predictions": kept,
    "calibrated posterior": calibrated,
    "empirical Bayes process": empirical_bayes,
    "network": network,
    "random features": random_features,
    "exponential family": family,
    "linear-Gaussian": linear_gaussian,
    "causal": causal,
    "diffusion": diffusion,
}
KINDS = (*CLASSIFIERS, *OF_TWO_CLASSES, *REGRESSORS, *POSITIVE, *MADE)


def made(kind, path):
    """A saved model of a kind."""
    if kind in MADE:
        return MADE[kind](path)
    if kind in CLASSIFIERS:
        return saved(path, CLASSIFIERS[kind], X, LABELS)
    if kind in OF_TWO_CLASSES:
        return saved(path, OF_TWO_CLASSES[kind], X, np.where(LABELS == "no", "no", "yes"))
    if kind in REGRESSORS:
        return saved(path, REGRESSORS[kind], X, SIGNAL)
    return saved(path, POSITIVE[kind], X, np.exp(SIGNAL))


def uncovered(models):
    """Types that a file may hold, but that no model does; of files as `forging.unpacked` gives."""
    found = set()
    for files in models.values():
        for name, data in files.items():
            if name.endswith(".skops"):
                schema, _ = skops_parts(data)
                found.update(_names(schema))
    return sorted(ALLOWED["ObjectNode"] - found)


def _names(value):
    if isinstance(value, dict):
        if "__class__" in value:
            yield f"{value['__module__']}.{value['__class__']}"
        for each in value.values():
            yield from _names(each)
    elif isinstance(value, list):
        for each in value:
            yield from _names(each)
