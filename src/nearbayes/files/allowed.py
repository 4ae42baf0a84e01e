"""Allowed: the list of types that a saved scikit-learn model may consist of.

A type is listed if creating it from a file and predicting with it can only compute. `indices.py`
checks those whose compiled code uses indices unchecked. Other types are refused, both on save and
on load; `trusted=` extends the list for one call.
"""

from __future__ import annotations

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
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.gaussian_process import kernels

__all__ = ["ALLOWED", "type_name"]


def type_name(kind: type) -> str:
    """Full name of a type.

    Examples
    --------
    >>> type_name(int)
    'builtins.int'
    """
    return f"{kind.__module__}.{kind.__qualname__}"


ESTIMATORS = {
    calibration: "CalibratedClassifierCV",
    compose: "ColumnTransformer TransformedTargetRegressor make_column_selector",
    decomposition: "PCA TruncatedSVD",
    discriminant_analysis: "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    dummy: "DummyClassifier DummyRegressor",
    ensemble: "AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor "
    "ExtraTreesClassifier ExtraTreesRegressor HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor "
    "StackingClassifier StackingRegressor VotingClassifier VotingRegressor",
    feature_selection: "SelectKBest SelectPercentile VarianceThreshold",
    gaussian_process: "GaussianProcessClassifier GaussianProcessRegressor",
    impute: "KNNImputer MissingIndicator SimpleImputer",
    isotonic: "IsotonicRegression",
    kernel_approximation: "Nystroem RBFSampler",
    kernels: "CompoundKernel ConstantKernel DotProduct ExpSineSquared Exponentiation Matern "
    "Product RBF RationalQuadratic Sum WhiteKernel",
    linear_model: "ARDRegression BayesianRidge ElasticNet ElasticNetCV GammaRegressor "
    "HuberRegressor Lars Lasso LassoCV LassoLars LinearRegression LogisticRegression "
    "LogisticRegressionCV PoissonRegressor QuantileRegressor Ridge RidgeCV RidgeClassifier "
    "SGDClassifier SGDRegressor TheilSenRegressor TweedieRegressor",
    multiclass: "OneVsRestClassifier",
    multioutput: "MultiOutputRegressor RegressorChain",
    naive_bayes: "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    neighbors: "BallTree KDTree KNeighborsClassifier KNeighborsRegressor NearestCentroid",
    neural_network: "MLPClassifier MLPRegressor",
    pipeline: "FeatureUnion Pipeline",
    preprocessing: "Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder "
    "MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures "
    "PowerTransformer QuantileTransformer RobustScaler StandardScaler TargetEncoder",
    svm: "LinearSVC LinearSVR NuSVC NuSVR SVC SVR",
    tree: "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
}
# Our own learners, and private types of scikit-learn, with their names since 1.6.
PARTS = {
    "nearbayes.learners.basis": "Basis Levels Number",
    "nearbayes.learners.choosing": "Choice",
    "nearbayes.learners.ridge": "Ridge",
    "nearbayes.learners.smooth_trees": "SmoothTreesClassifier SmoothTreesRegressor",
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    "sklearn._loss.loss": "AbsoluteError HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss "
    "HalfPoissonLoss HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity HuberLoss "
    "PinballLoss",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.linear_model._ridge": "_IdentityRegressor",
    "sklearn.metrics._dist_metrics": "ChebyshevDistance64 EuclideanDistance64 ManhattanDistance64 "
    "MinkowskiDistance64",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
}
LOSSES = (
    "CyAbsoluteError CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss CyHalfPoissonLoss "
    "CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity CyHuberLoss CyPinballLoss"
)
SGD_LOSSES = (
    "EpsilonInsensitive Hinge Huber ModifiedHuber SquaredEpsilonInsensitive SquaredHinge "
    "SquaredLoss"
)
# Functions of one number, functions that score columns, and scikit-learn's `check_array`, which
# histogram boosting stores.
FUNCTIONS = {
    "numpy": "abs absolute arcsinh cbrt clip cos exp exp2 expm1 log log10 log1p log2 sin sqrt "
    "sinh square tan tanh",
    "scipy.special._ufuncs": "expit logit",
    "scipy.special": "expit logit",
    "sklearn.feature_selection._univariate_selection": "f_classif f_regression chi2",
    "sklearn.feature_selection._mutual_info": "mutual_info_classif mutual_info_regression",
    "sklearn.utils.validation": "check_array",
}
SCALARS = (
    "bool bool_ float16 float32 float64 int8 int16 int32 int64 str_ uint8 uint16 uint32 uint64"
)


def _in(module: str, names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in names.split())


NUMBERS = _in("numpy", SCALARS)
# Type names by the skops loader that creates them; other loaders are refused.
ALLOWED: dict[str, frozenset[str]] = {
    "ObjectNode": frozenset(
        type_name(getattr(module, name))
        for module, names in ESTIMATORS.items()
        for name in names.split()
    ).union(*(_in(module, names) for module, names in PARTS.items())),
    "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
    "LossNode": _in("sklearn._loss._loss", LOSSES)
    | _in("sklearn.linear_model._sgd_fast", SGD_LOSSES),
    "FunctionNode": frozenset().union(*(_in(module, names) for module, names in FUNCTIONS.items())),
    "PartialNode": frozenset({"functools.partial"}),
    "TypeNode": _in("builtins", "bool float int str NoneType") | NUMBERS,
    "NdArrayNode": frozenset({"numpy.ndarray"}) | NUMBERS,
    "DTypeNode": frozenset({"numpy.dtype"}),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "DictNode": frozenset(
        {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}
    ),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "JsonNode": frozenset({"builtins.str"}),
}
