"""AutoGluon as the algorithm: the paper's second classification experiment."""
