#!/bin/sh
# Installs the package as a newcomer does, with pip into an environment of its own, from the sources
# in the working folder: needs numpy, h5py, setuptools and wheel of the distribution, and no network.
# Then runs the program, a measurement, the notebook, and the tests of the functions. What make built
# is used again.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
unset REACH PYTHONPATH

"${PYTHON:-python3}" -m venv --system-site-packages "$folder/env"
"$folder/env/bin/pip" install --quiet --no-index --no-deps --no-build-isolation "$root"
cd "$folder"
"$folder/env/bin/reach" version | head -n 1
"$folder/env/bin/reach" --no-such-verb 2>/dev/null && exit 1 || [ $? = 2 ]
"$folder/env/bin/python" - "$folder/env" "$root/examples" <<'END'
import os, sys
import reach_erf, reach_results
environment, examples = sys.argv[1:]
program = reach_erf.find_program()
assert os.path.dirname(program) == os.path.join(os.path.dirname(reach_erf.__file__), "bin"), program
assert reach_erf.__file__.startswith(os.path.realpath(environment)), reach_erf.__file__
assert reach_results.open_result is reach_erf.open_result
result = reach_erf.erf(f"{examples}/models/window-40", text=f"{examples}/text/sqlalchemy.py.gz", length=128, segments=8)
assert "data:image/svg+xml" in result._repr_html_()
print(result)
END
mkdir -p python/examples
cp "$root/python/examples/tour.ipynb" python/examples/
ln -s "$root/examples" examples
"$folder/env/bin/python" "$root/python/tests/run_notebook.py" python/examples/tour.ipynb
cd "$root/python/tests"
REACH=$("$folder/env/bin/python" -c 'import reach_erf; print(reach_erf.find_program())') \
    "$folder/env/bin/python" -B -m unittest test_verbs test_explain
