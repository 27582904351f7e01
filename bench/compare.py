"""Largest difference of the cumulative curves of two norm files: python3 bench/compare.py A B"""
import sys

import numpy as np

curves = []
for path in sys.argv[1:3]:
    norms = np.fromfile(path, dtype=np.float64)
    share = norms / norms.sum()
    curves.append(share[::-1].cumsum()[::-1])
print(f"{np.abs(curves[0] - curves[1]).max():.2e}")
