"""What both peers print and write: `measure` gives norms and log p of one segment."""
import resource
import sys
import time

import torch


def report(measure, repeats):
    """Best of so many runs, as key=value lines like those of bench/erf.c; the norms go to the file named by the fourth argument, if there is one."""
    best = least = float("inf")
    for _ in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        norms, logprob = measure()
        best, least = min(best, time.perf_counter() - start), min(least, time.process_time() - used)
    if len(sys.argv) > 4:
        norms.detach().double().numpy().tofile(sys.argv[4])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peer=torch {torch.__version__}, {torch.get_num_threads()} threads\nseconds={best:.3f}\nprocessor={least:.3f}\npeak_mb={peak:.0f}\nlogprob={float(logprob.detach()):.9g}")
