"""Fitting of estimators of scikit-learn, XGBoost, LightGBM and AutoGluon."""
