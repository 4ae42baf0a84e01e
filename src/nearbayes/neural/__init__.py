"""Neural networks in JAX: estimators, the proximal Bregman refit, losses.

They implement section 4 ("A modified objective for DNNs") and App. C of the paper. JAX is imported
on first use: ``pip install 'nearbayes[jax]'``.
"""
