"""Calling: what a user's function gives, found without numbers, or one sentence why it fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax

__all__ = ["shape_given"]

NO_JAX = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)


def shape_given(
    name: str, function: Callable[..., Any], names: tuple[str, ...], given: tuple[Any, ...]
) -> tuple[int, ...] | str:
    """Shape of what a function gives, or the name of a type that is no array.

    Parameters
    ----------
    name : str
        Of the function, for the error message.
    function : callable
    names : tuple of str
        Of its arguments.
    given : tuple
        The arguments.

    Examples
    --------
    >>> shape_given("log_density", lambda theta, z: theta * z, ("theta", "z"), (1.0, 2.0))
    ()
    """
    _check_arguments(name, function, names)
    try:
        found = jax.eval_shape(function, *given)
    except NO_JAX as error:
        raise TypeError(
            f"{name} must be made of functions of JAX, as it is compiled: use jax.numpy in place "
            "of numpy, jax.random in place of numpy.random, and jax.numpy.where in place of if."
        ) from error
    except Exception as error:
        shapes = ", ".join(
            f"{each} of shape {_shape(value)}" for each, value in zip(names, given, strict=True)
        )
        raise TypeError(
            f"{name} failed for {shapes} ({type(error).__name__}: {_first_line(error)}): check it, "
            "and the shapes of start and of the data."
        ) from error
    return tuple(found.shape) if hasattr(found, "shape") else type(found).__name__


def _check_arguments(name: str, function: Callable[..., Any], names: tuple[str, ...]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some compiled functions have none
        return
    try:
        signature.bind(*names)
    except TypeError:
        why = "have" if "x" in names else "have no"
        raise TypeError(
            f"{name} must take ({', '.join(names)}), as the data {why} inputs, got a function of "
            f"{signature}: write it with these arguments."
        ) from None


def _shape(value: Any) -> Any:
    return jax.tree.map(lambda leaf: getattr(leaf, "shape", ()), value)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0].rstrip(".")
