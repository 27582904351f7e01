"""The expected numbers of a case, common to both oracles: norms of the gradient and log p, checked as they are made."""

import os
import zlib

import numpy as np
import torch


def generator(name):
    """Random numbers of one case, from its name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def draw_tokens(rng, segments, length, vocabulary):
    """Uniform random tokens, int32 [segments, length]."""
    return rng.integers(0, vocabulary, (segments, length)).astype(np.int32)


def norms_of(log_probability, rows, target):
    """(norms [n], log p, gradient [n, d]) of log_probability(rows, target) at token rows [n, d]."""
    leaf = rows.detach().clone().requires_grad_(True)
    value = log_probability(leaf, target)
    (gradient,) = torch.autograd.grad(value, leaf)
    return gradient.norm(dim=1), value.item(), gradient


def check_gradient(log_probability, rows, target, gradient, rng, where):
    """Compare <g_m, delta> with the central difference of log p, for a few positions m."""
    n = rows.shape[0]
    step = 1e-6
    for m in {n - 1, n - 2, int(rng.integers(n // 2, n)), int(rng.integers(0, n))}:
        delta = torch.zeros_like(rows)
        delta[m] = torch.from_numpy(rng.standard_normal(rows.shape[1]))
        with torch.no_grad():
            ahead = log_probability(rows + step * delta, target)
            behind = log_probability(rows - step * delta, target)
        measured = ((ahead - behind) / (2 * step)).item()
        expected = (gradient * delta).sum().item()
        if abs(measured - expected) > 1e-7 + 1e-6 * abs(expected):
            raise AssertionError(f"{where}: position {m}: gradient {expected}, finite difference {measured}")


def check_cone(norm, cone, where):
    """Norms outside the cone of `cone` tokens are exactly 0; the first inside is not."""
    n = norm.shape[-1]
    if (norm[..., :max(0, n - cone)] != 0).any():
        raise AssertionError(f"{where}: a gradient outside the cone")
    if (norm[..., max(0, n - cone):] == 0).any():
        raise AssertionError(f"{where}: a zero gradient inside the cone")


def expected_of(log_probability, table, tokens, cone, rng, where):
    """norm [S, L-1] and logprob [S] of all segments, checked as they are made."""
    norms, logprobs = [], []
    for segment in tokens:
        ids = torch.from_numpy(segment.astype(np.int64))
        rows, target = table[ids[:-1]], ids[-1]
        norm, logprob, gradient = norms_of(log_probability, rows, target)
        check_gradient(log_probability, rows, target, gradient, rng, where)
        norms.append(norm.numpy())
        logprobs.append(logprob)
    norm, logprob = np.stack(norms), np.array(logprobs)
    assert norm.dtype == np.float64 and np.isfinite(norm).all() and np.isfinite(logprob).all()
    check_cone(norm, cone, where)
    return norm, logprob


def write_expected(folder, tokens, norm, logprob):
    """Write the three arrays of a case."""
    np.save(os.path.join(folder, "tokens.npy"), tokens)
    np.save(os.path.join(folder, "norm.npy"), norm)
    np.save(os.path.join(folder, "logprob.npy"), logprob)
    for name in os.listdir(folder):
        os.chmod(os.path.join(folder, name), 0o644)
