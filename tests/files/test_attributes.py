"""Attributes that fits set are known to the check of files, for every estimator that it allows."""

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils import all_estimators

from nearbayes.files.allowed import ALLOWED, type_name
from nearbayes.files.sklearn_parts import _attributes

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, size=(40, 3)) + 1.0
Y = (X[:, 0] + RNG.normal(size=40) > 2.5).astype(int)
ESTIMATORS = {
    name: kind for name, kind in all_estimators() if type_name(kind) in ALLOWED["ObjectNode"]
}
PARTS = {  # those that are made around others
    **dict.fromkeys(("OneVsRestClassifier", "MultiOutputRegressor", "RegressorChain")),
    **dict.fromkeys(("StackingClassifier", "StackingRegressor", "VotingClassifier")),
    **dict.fromkeys(("VotingRegressor", "ColumnTransformer", "FeatureUnion", "Pipeline")),
    **dict.fromkeys(("LabelBinarizer", "LabelEncoder", "IsotonicRegression")),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - set(PARTS)))
def test_attributes_of_a_fit_are_known(name):
    kind = ESTIMATORS[name]
    few = {"max_iter": 20, "n_estimators": 3, "cv": 2, "n_quantiles": 10, "max_subpopulation": 50}
    known = kind().get_params()
    model = kind(**{key: value for key, value in few.items() if key in known})
    y = Y + 1 if name == "GammaRegressor" else Y
    model.fit(X, y)
    if hasattr(model, "transform"):
        model.fit_transform(X, y)
    assert set(vars(model)) <= _attributes(kind)


def test_an_attribute_that_stands_in_for_a_method_is_unknown():
    assert "predict" not in _attributes(SVC)
