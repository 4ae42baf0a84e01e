"""How libraries fit: scikit-learn, XGBoost, LightGBM, AutoGluon."""
