#!/usr/bin/env python3
"""What a long run may meet, at random: kills, signals, damaged journals, full disks, little memory, failing calls, files that change,
names, command lines, CSV files by hand. A run must end with 0, or with 1 or 2 and one line that says why, never by a signal of its
own and never without an end; and one that goes on afterwards must write the bytes of a run that nothing happened to.

    tests/torture.py REACH [--short] [--seed N] [--only PART,...]

Python 3.8 and nothing else; the part `calls` wants strace, and is passed over without it. Prints a row of counts for each part."""
import argparse, gzip, os, random, shutil, signal, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = ("erf.h5", "curve.csv", "summary.csv", "attention.csv")
WAIT = 300  # seconds that a run may take on a busy machine


class Torture:
    def __init__(self, reach, seed, short):
        self.reach, self.random, self.short, self.failures, self.rows = os.path.abspath(reach), random.Random(seed), short, 0, []
        self.folder = tempfile.mkdtemp(prefix="torture-")
        self.model = os.path.join(self.folder, "model")
        shutil.copytree(os.path.join(ROOT, "examples/models/alibi"), self.model)
        text = gzip.open(os.path.join(ROOT, "examples/text/sqlalchemy.py.gz")).read()
        self.text = self.write("text", text[:60000])
        self.environment = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive", PATH="/nonexistent")
        self.run_line = ["erf", "model", "--text", "text", "--length", "48", "--segments", "160", "--bootstrap", "20", "--quiet",
                         "--attention"]
        code, err = self.run(self.run_line + ["-o", "whole"])
        if code != 0:
            sys.exit("torture: a run that nothing happens to ends with %s: %s" % (code, err))
        started = time.monotonic()
        self.run(self.run_line + ["-o", "timed"])
        self.took = time.monotonic() - started

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)
        return self.path(name)

    def start(self, words, before=()):
        return subprocess.Popen(list(before) + [self.reach] + words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # a file would fall under ulimit -f

    def finish(self, child):
        try:
            said, code = child.communicate(timeout=WAIT)[1], child.returncode
        except subprocess.TimeoutExpired:
            child.kill()
            said, code = child.communicate()[1], "no end"
        return code, said.decode("utf-8", "replace")

    def run(self, words, before=()):
        return self.finish(self.start(words, before))

    def wrong(self, part, what, code, err):
        self.failures += 1
        print("%s: %s: ended with %s: %s" % (part, what, code, err.strip()[:300]), file=sys.stderr)

    def ended_well(self, part, what, code, err, also=()):
        """0, or 1 or 2 with a line; `also`: other ends that are in order."""
        if code in also or code == 0 or (code in (1, 2) and err.count("\n") == 1):
            return True
        self.wrong(part, what, code, err)
        return False

    def same(self, folder, other="whole"):
        for name in FILES:
            try:
                with open(self.path(folder, name), "rb") as a, open(self.path(other, name), "rb") as b:
                    if a.read() != b.read():
                        return False
            except FileNotFoundError:
                return False
        return True

    def goes_on(self, part, what, folder, line=None, whole="whole"):
        """Goes on after what happened, to the bytes of the whole run."""
        line = line or self.run_line
        if self.same(folder, whole) and not os.path.exists(self.path(folder, "erf.part")):
            return
        code, err = self.run(line + ["-o", folder, "--resume"])
        if code == 1 and "--force" in err and "erf.part" not in os.listdir(self.path(folder)):
            code, err = self.run(line + ["-o", folder, "--force"])
        if code != 0 or not self.same(folder, whole):
            self.wrong(part, what + ", then --resume", code, err if code else "other bytes")
        left = [n for n in os.listdir(self.path(folder)) if n.startswith(".") or n == "erf.part"]
        if left:
            self.wrong(part, what + ", then --resume", code, "leaves " + " ".join(left))

    def size(self, path):
        try:
            return os.path.getsize(path)
        except FileNotFoundError:
            return 0

    def fresh(self, name="run"):
        shutil.rmtree(self.path(name), ignore_errors=True)
        return name

    # -- parts: each yields what it did --

    def kills(self, count):
        for i in range(count):
            folder, times = self.fresh(), self.random.randint(1, 3)
            for k in range(times):
                child = self.start(self.run_line + ["-o", folder] + (["--resume"] if k else []))
                time.sleep(self.random.random() * self.took)
                child.kill()
                child.wait()
            self.goes_on("kills", "case %d" % i, folder)
            yield times

    def signals(self, count):
        for i in range(count):
            folder, number = self.fresh(), self.random.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            child = self.start(self.run_line + ["-o", folder])
            time.sleep(self.random.random() * self.took)
            child.send_signal(number)
            code, err = self.finish(child)
            # before there is anything to keep the signal ends the program
            self.ended_well("signals", "%s in case %d" % (number.name, i), code, err, (-number,))
            if os.path.isdir(self.path(folder)):
                self.goes_on("signals", "case %d" % i, folder)
            yield 1

    def journals(self, count):
        for tries in range(200):
            folder = self.fresh("stopped")
            part = self.path(folder, "erf.part")
            child = self.start(self.run_line + ["-o", folder])
            while child.poll() is None and not os.path.exists(part):
                time.sleep(0.001)
            time.sleep(0.001 * tries)  # the journal has its whole size from the start, and goes if nothing is measured
            child.send_signal(signal.SIGINT)
            self.finish(child)
            if os.path.exists(part):
                break
        else:
            return self.wrong("journals", "200 tries", 0, "no run could be stopped while it measured")
        yield from self.damaged("journals", count, folder, self.run_line, "whole")

    def damaged(self, part, count, stopped, line, whole, first=0, end=None):
        """Copies of the folder of a stopped run whose journal is damaged somewhere in its bytes [first, end); yields 1 for each."""
        with open(self.path(stopped, "erf.part"), "rb") as f:
            good = f.read()
        for i in range(count):
            bytes_ = bytearray(good)
            how = self.random.choice(("flip", "cut", "zeros", "more", "swap"))
            at = self.random.randrange(first, end or len(bytes_))
            if how == "flip":
                bytes_[at] ^= 1 << self.random.randrange(8)
            elif how == "cut":
                del bytes_[at:]
            elif how == "zeros":
                bytes_[at:at + 512] = bytes(len(bytes_[at:at + 512]))
            elif how == "more":
                bytes_ += self.random.getrandbits(8 * 300).to_bytes(300, "little")
            else:
                to = self.random.randrange(first, end or len(bytes_))
                bytes_[at:at + 64], bytes_[to:to + 64] = bytes_[to:to + 64], bytes_[at:at + 64]
            shutil.rmtree(self.path("run"), ignore_errors=True)
            shutil.copytree(self.path(stopped), self.path("run"))
            with open(self.path("run", "erf.part"), "wb") as f:
                f.write(bytes_)
            code, err = self.run(line + ["-o", "run", "--resume"])
            what = "%s at %d of %d" % (how, at, len(good))
            if code == 0 and not self.same("run", whole):
                self.wrong(part, what, code, "other bytes")
            elif code != 0:
                self.ended_well(part, what, code, err)
            yield 1

    def attention(self, count):
        """Attention is measured behind all gradients. Its sums go to the journal, before the gradients there, when a run is stopped, and every ten seconds."""
        line = list(self.run_line)
        line[line.index("--length") + 1], line[line.index("--segments") + 1] = "200", "110"
        child, part, full = self.start(line + ["-o", "attended"]), self.path("attended", "erf.part"), 0
        while child.poll() is None:
            full = max(full, self.size(part))  # with all gradients; room for attention is there from the start
        code, err = self.finish(child)
        if code != 0 or not full:
            return self.wrong("attention", "a whole run", code, err)

        def journal(folder):
            try:
                with open(self.path(folder, "erf.part"), "rb") as f:
                    return f.read()
            except FileNotFoundError:
                return b""

        def in_attention(folder):
            """A run that has all gradients in its journal, and the journal before any attention is in it."""
            child = self.start(line + ["-o", folder])
            while child.poll() is None and self.size(self.path(folder, "erf.part")) < full:
                time.sleep(0.001)
            return child, journal(folder)

        def saved(folder, before):
            """The bytes of attention in the journal, as a slice; None: there are none."""
            now = journal(folder)
            changed = [i for i in range(full) if now[i] != before[i]] if len(now) == len(before) == full and now != before else []
            return slice(changed[0], changed[-1] + 1) if changed else None

        for tries in range(200):
            stopped = self.fresh("stopped")
            child, before = in_attention(stopped)
            time.sleep(self.random.random() * 0.05)
            child.send_signal(signal.SIGINT)
            self.finish(child)
            place = saved(stopped, before)
            if place:
                break
        else:
            return self.wrong("attention", "200 tries", 0, "no run could be stopped while it measured attention")
        for i in range(count):
            if i % 12 == 0:  # the clock runs on while a process is stopped, so that its next batch is saved; then it is killed
                folder = self.fresh()
                child, before = in_attention(folder)
                child.send_signal(signal.SIGSTOP)
                time.sleep(10.5)
                child.send_signal(signal.SIGCONT)
                while child.poll() is None and not saved(folder, before):
                    time.sleep(0.001)
                child.kill()
                self.finish(child)
                self.goes_on("attention", "killed behind a save by the clock", folder, line, "attended")
                yield 1
            elif i % 2:
                folder = self.fresh()
                shutil.copytree(self.path(stopped), self.path(folder))
                for k in range(self.random.randint(1, 3)):
                    child = self.start(line + ["-o", folder, "--resume"])
                    time.sleep(self.random.random() * self.took)
                    child.kill()
                    self.finish(child)
                self.goes_on("attention", "killed in case %d" % i, folder, line, "attended")
                yield 1
            else:
                yield from self.damaged("attention", 1, stopped, line, "attended", place.start, place.stop)

    def sizes(self, count):
        for i in range(count):
            folder, blocks = self.fresh(), self.random.randint(0, 160)
            code, err = self.run(self.run_line + ["-o", folder], ("/bin/sh", "-c", 'ulimit -f %d; exec "$@"' % blocks, "sh"))
            self.ended_well("sizes", "ulimit -f %d" % blocks, code, err)
            if os.path.isdir(self.path(folder)):
                self.goes_on("sizes", "ulimit -f %d" % blocks, folder)
            yield 1

    def memory(self, count):
        for i in range(count):
            folder, kilobytes = self.fresh(), self.random.randint(200000, 900000)
            limit = self.random.choice("vd")
            code, err = self.run(self.run_line + ["-o", folder], ("/bin/sh", "-c", 'ulimit -%s %d; exec "$@"' % (limit, kilobytes), "sh"))
            # a library that cannot start its threads ends the program before main
            self.ended_well("memory", "ulimit -%s %d" % (limit, kilobytes), code, err, (127, 130) if "OpenBLAS" in err else (127,))
            yield 1

    def calls(self, count):
        strace = shutil.which("strace")
        if not strace or subprocess.run([strace, "-o", "/dev/null", "/bin/true"], stderr=subprocess.DEVNULL).returncode != 0:
            print("calls: passed over: strace is not there, or may not trace", file=sys.stderr)
            return
        kinds = (("write", "ENOSPC"), ("pwrite64", "EIO"), ("fsync", "EIO"), ("fdatasync", "EIO"), ("rename", "EACCES"),
                 ("ftruncate", "EIO"), ("unlink", "EACCES"), ("flock", "ENOLCK"), ("mkdir", "ENOSPC"), ("pread64", "EIO"), ("read", "EINTR"))
        for i in range(count):
            call, error = kinds[i % len(kinds)]
            folder, at = self.fresh(), i // len(kinds) * (7 if call == "write" else 1) + 1
            what = "%s of the %d. %s" % (error, at, call)
            code, err = self.run(self.run_line + ["-o", folder],
                                 (strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                                  "inject=%s:error=%s:when=%d" % (call, error, at)))
            # what the loader reads, or standard error itself, may be what fails: then there is no line
            self.ended_well("calls", what, code, err, (1, 127))
            if os.path.isdir(self.path(folder)):
                self.goes_on("calls", what, folder)
            yield 1

    def swaps(self, count):
        with open(self.text, "rb") as f:
            good = f.read()
        texts, changed = {"other": good[::-1], "shorter": good[:100]}, {}
        for how, text in texts.items():
            self.write("text", text)
            changed[how] = "of-" + how
            self.run(self.run_line + ["-o", changed[how]])
        self.write("text", good)
        for i in range(count):
            folder, how = self.fresh(), self.random.choice(("other", "shorter", "gone", "renamed"))
            child = self.start(self.run_line + ["-o", folder])
            time.sleep(self.random.random() * self.took)
            if how == "renamed":
                os.path.isdir(self.path(folder)) and os.rename(self.path(folder), self.path(self.fresh("elsewhere")))
            elif how == "gone":
                os.remove(self.text)
            else:
                self.write("text", texts[how])
            code, err = self.finish(child)
            self.write("text", good)
            self.ended_well("swaps", how, code, err)
            if os.path.isdir(self.path(folder)) and os.path.exists(self.path(folder, "erf.h5")) and not self.same(folder):
                # of the text as it was when it was read: before the change, or behind it
                if how not in changed or not self.same(folder, changed[how]):
                    self.wrong("swaps", how, code, "bytes of no text that was there")
            yield 1

    def names(self, count):
        for i in range(count):
            raw = bytes(self.random.choice(b"a .-=,:;'\"\\$`&|<>*?[]{}()#%~!@\n\t\r\x1b\x7f\x80\xff\xc3\xa9\xe2\x82\xac0")
                        for _ in range(self.random.randint(1, 60)))
            name = os.fsdecode(raw)
            if name.startswith("-") or name in (".", ".."):
                name = "x" + name
            os.symlink(self.text, self.path(name))
            words = ["erf", "model", "--text", name, "--length", "16", "--segments", "2", "--bootstrap", "0", "--quiet", "--force",
                     "-o", "named", "--log", name + ".log"]
            code, err = self.run(words)
            if code != 0:
                self.ended_well("names", ascii(name), code, err)
            os.remove(self.path(name))
            yield 1

    def lines(self, count):
        verbs = ["erf", "ppl", "trf", "bias", "fit", "info", "plot", "merge", "report", "explain", "convert", "tokenize", "families",
                 "formula", "help", "version", "completion"]
        words = ["model", "text", "alibi", "alibi(delta=2)", "--text", "--tokens", "--length", "--segments", "-o", "out", "--heads",
                 "--quiet", "--resume", "--force", "--window", "--bias", "--rope", "linear:factor=2", "--shard", "1/2", "3/2",
                 "--threshold", "0.5", "nan", "-1", "0", "1e99", "99999999999999999999", "", "--", "-", "--help", "--memory", "1k", "2G",
                 "--threads", "2", "--device", "cpu", "cuda", "--dtype", "f64", "bf16", "--format", "svg", "--attention", "--layer", "all",
                 "--target-position", "8", "16,8", "whole", "whole/erf.h5", "whole/curve.csv", "--context", "8", "--protocol", "last",
                 "t", "exp(t", "-ln(1+t)", "--set", "a=1", "--form", "a+b*t", "--range", "0:9", "--log", "log", "\xff", "%s%n", "--bos"]
        for i in range(count):
            shutil.rmtree(self.path("out"), ignore_errors=True)
            line = [self.random.choice(verbs)] + [self.random.choice(words) for _ in range(self.random.randint(0, 7))]
            if self.random.random() < 0.5:
                line += ["--length", "16", "--segments", "2"]
            if self.random.random() < 0.05:
                line[0] = line[0][:-1] + "x"
            code, err = self.run(line)
            if code not in (0, 1, 2) or (code and not err):
                self.wrong("lines", repr(line), code, err)
            yield 1

    def tables(self, count):
        sources = []
        for name in ("curve.csv", "summary.csv", "attention.csv"):
            with open(self.path("whole", name), "rb") as f:
                sources.append(f.read()[:6000])
        values = [b"nan", b"inf", b"-inf", b"", b"-1", b"0", b"1e308", b"1e-320", b"x", b'"', b'""', b"\xff", b"1,2", b"9" * 400]
        for i in range(count):
            rows = [line.split(b",") for line in self.random.choice(sources).split(b"\n")]
            for k in range(self.random.randint(1, 6)):
                row = self.random.choice(rows) or [b""]
                how = self.random.randrange(5)
                if how == 0 and row:
                    row[self.random.randrange(len(row))] = self.random.choice(values)
                elif how == 1:
                    row.append(self.random.choice(values))
                elif how == 2 and row:
                    del row[self.random.randrange(len(row))]
                elif how == 3:
                    rows.insert(self.random.randrange(len(rows)), list(row))
                else:
                    self.random.shuffle(row)
            self.write("hand.csv", b"\n".join(b",".join(row) for row in rows))
            code, err = self.run([self.random.choice(("plot", "report")), "hand.csv", "-o", "drawn-%d" % (i % 3)] +
                                 (["--force"] if self.random.random() < 0.8 else []))
            if code != 0 and code != 2:
                self.ended_well("tables", "case %d" % i, code, err)
            yield 1


PARTS = (("kills", 6, 150), ("signals", 12, 240), ("journals", 15, 400), ("attention", 7, 240), ("sizes", 8, 120), ("memory", 8, 80), ("calls", 22, 440),
         ("swaps", 4, 60), ("names", 12, 200), ("lines", 60, 2000), ("tables", 25, 1000))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reach")
    parser.add_argument("--short", action="store_true", help="about a minute on a quiet machine, not half an hour")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default=",".join(p[0] for p in PARTS))
    options = parser.parse_args()
    torture = Torture(options.reach, options.seed, options.short)
    print("seed %d, a run takes %.2f s" % (options.seed, torture.took))
    print("| part | cases | failures | seconds |\n|---|---|---|---|")
    for name, few, many in PARTS:
        if name not in options.only.split(","):
            continue
        before, started = torture.failures, time.monotonic()
        cases = sum(getattr(torture, name)(few if options.short else many))
        print("| %s | %d | %d | %.0f |" % (name, cases, torture.failures - before, time.monotonic() - started), flush=True)
    if torture.failures:
        print("torture: %d failures; files are in %s" % (torture.failures, torture.folder), file=sys.stderr)
        return 1
    shutil.rmtree(torture.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
