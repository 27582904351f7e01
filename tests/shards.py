#!/usr/bin/env python3
"""A cluster on one machine: a run is cut into many shards, each a process that writes into one shared folder; some are killed at random,
by SIGKILL or SIGTERM, and started again with --resume, as a scheduler requeues them; a dependent merge makes one result of all, which is
compared, byte for byte, with that of one run.

    tests/shards.py REACH [--shards 256] [--workers 8] [--killed 0.3] [--seed N]

Python 3.8 and nothing else. Exit 1 if a shard fails by itself, or the bytes differ."""
import argparse, os, random, shutil, signal, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reach")
    parser.add_argument("--shards", type=int, default=256)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--killed", type=float, default=0.3, help="share of the starts that are killed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, reach, folder = random.Random(options.seed), os.path.abspath(options.reach), tempfile.mkdtemp(prefix="shards-")
    environment = dict(os.environ, OMP_NUM_THREADS="1", PATH="/nonexistent")
    line = [reach, "erf", os.path.join(ROOT, "examples/models/alibi"), "--text", os.path.join(ROOT, "examples/text/sqlalchemy.py.gz"),
            "--length", "48", "--segments", str(3 * options.shards + 1), "--bootstrap", "50", "--quiet"]

    def start(words):
        return subprocess.Popen(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def run(words):
        child = start(words)
        said = child.communicate()[1]
        if child.returncode != 0:
            sys.exit("shards: %s: exit %d: %s" % (" ".join(words[1:3]), child.returncode, said.decode()))

    started = time.monotonic()
    run(line + ["-o", "whole"])
    waiting = list(range(1, options.shards + 1))
    draw.shuffle(waiting)
    working, kills, starts, took = {}, 0, 0, []
    while waiting or working:
        while waiting and len(working) < options.workers:
            shard = waiting.pop()
            child = start(line + ["--shard", "%d/%d" % (shard, options.shards), "-o", "part-%d" % shard, "--resume"])
            end = draw.random() * (sum(took) / len(took) if took else 1) if draw.random() < options.killed else None
            working[shard] = (child, time.monotonic(), end)
            starts += 1
        for shard, (child, since, end) in list(working.items()):
            now = time.monotonic()
            if child.poll() is None:
                if end is not None and now - since > end:
                    child.send_signal(draw.choice((signal.SIGKILL, signal.SIGTERM)))
                    working[shard] = (child, since, None)
                    kills += 1
                continue
            said = child.stderr.read().decode()
            child.stderr.close()
            del working[shard]
            if child.returncode == 0:
                took.append(now - since)
            elif child.returncode < 0 or "interrupted" in said:
                waiting.insert(0, shard)  # the scheduler starts it again, behind the others
            else:
                sys.exit("shards: shard %d: exit %d: %s" % (shard, child.returncode, said))
        time.sleep(0.002)
    run([reach, "merge"] + ["part-%d" % i for i in range(1, options.shards + 1)] + ["-o", "merged", "--quiet"])
    for name in ("erf.h5", "curve.csv", "summary.csv"):
        with open(os.path.join(folder, "whole", name), "rb") as a, open(os.path.join(folder, "merged", name), "rb") as b:
            if a.read() != b.read():
                sys.exit("shards: %s of %d shards differs from that of one run; files are in %s" % (name, options.shards, folder))
    shutil.rmtree(folder)
    print("%d shards of %d segments: %d starts, %d killed, %.0f s; merged to the bytes of one run" %
          (options.shards, 3 * options.shards + 1, starts, kills, time.monotonic() - started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
