"""Published results of AutoGluon, with corrected names (see classification/published.py)."""

METHODS = ("base", "bootstrap", "martingale")
# true name: NLL of AutoGluon 1.0.0 alone, with bagging, with the martingale posterior (20 draws)
ROWS = {
    "balance-scale": (0.663, 0.137, 0.163),
    "blood-transfusion-service-center": (0.473, 0.470, 0.469),
    "breast-w": (0.138, 0.103, 0.110),
    "car": (0.028, 0.047, 0.025),
    "climate-model-simulation-crashes": (0.140, 0.139, 0.136),
    "credit-g": (0.504, 0.501, 0.500),
    "cylinder-bands": (0.407, 0.407, 0.396),
    "diabetes": (0.476, 0.472, 0.471),
    "dresses-sales": (0.701, 0.683, 0.683),
    "eucalyptus": (0.689, 0.704, 0.679),
    "ilpd": (0.533, 0.524, 0.523),
    "pc3": (0.264, 0.264, 0.263),
    "pc4": (0.200, 0.200, 0.196),
    "vehicle": (0.448, 0.450, 0.424),
    "wdbc": (0.119, 0.094, 0.095),
}
