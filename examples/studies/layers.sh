# Where in the network, and where in the segment: fields layer by layer and target by target; other encodings put on a trained model.
. examples/studies/common.sh
study layers "The field layer by layer, along the text, and under another encoding"
say <<'T'
The gradient can be taken with respect to the input of any layer. At the last one only its own attention lies between a token and the target; the field grows layer by layer down to
the embedding, which is the ERF.
T
run erf $(paths window-32 alibi sandwich rotary) --text $NOVEL --segments 32 --layer all -o "$work/layers" --quiet --force
{ printf 'model\tlayer 3 (the last)\tlayer 2\tlayer 1\tlayer 0 (embedding)\n'
  columns "$work/layers/summary.csv" model layer threshold erf saturated | awk -F '\t' '$3 == 0.99 { if (!($1 in n)) order[++models] = $1; n[$1]; erf[$1, $2] = ($5 == 1 ? ">= " : "") $4 }
      END { for (i = 1; i <= models; i++) { m = order[i]; printf "%s\t%s\t%s\t%s\t%s\n", m, erf[m, 3], erf[m, 2], erf[m, 1], erf[m, 0] } }'; } | table
figure "$work/layers/layers.png" "ERF layer by layer"
say <<'T'
## Along the text

The same segments cut to their first p bytes, so that the target is byte p: how the field grows with the text before it.
T
run erf $(paths window-32 alibi sandwich rotary) --text $NOVEL --segments 32 --target-position 64 --target-position 128 --target-position 256 --target-position 512 --target-position 1024 --target-position 2048 -o "$work/targets" --quiet --force
{ printf 'model\ttarget 64\t128\t256\t512\t1024\t2048\n'
  columns "$work/targets/summary.csv" model target threshold erf saturated | awk -F '\t' '$3 == 0.99 { if (!($1 in n)) order[++models] = $1; n[$1]; erf[$1, $2] = ($5 == 1 ? ">= " : "") $4 }
      END { for (i = 1; i <= models; i++) { m = order[i]; printf "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m, erf[m, 64], erf[m, 128], erf[m, 256], erf[m, 512], erf[m, 1024], erf[m, 2048] } }'; } | table
figure "$work/targets/targets.png" "ERF against the position of the target"
say <<'T'
## Another encoding on a trained model

`--bias` and `--window` replace what a checkpoint was trained with, without training. ALiBi with its slopes shifted, and with a window:

    for bias in 'alibi(delta=-2)' 'alibi(delta=0)' 'alibi(delta=2)' 'alibi(delta=4)'; do
        ./reach erf examples/models/alibi --bias "$bias" --text examples/text/moby-dick.txt.gz --segments 32 --force
        ./reach ppl examples/models/alibi --bias "$bias" --text examples/text/moby-dick.txt.gz --context 128,2048 --segments 100
    done

and `--window 16`, 32, 64, 128 in its place. Delta 0 is what the model was trained with.
T
# changed NAME OPTION VALUE: ERF and perplexity of the ALiBi model under that option, as a row
changed() {
    quietly erf "$MODELS/alibi" "$2" "$3" --text $NOVEL --segments 32 -o "$work/bias" --quiet --force
    quietly ppl "$MODELS/alibi" "$2" "$3" --context 128,2048 --segments $((TARGETS / 2)) --text $NOVEL -o "$work/bias" --quiet --force
    printf '%s\t%s%s\n' "$1" "$(columns "$work/bias/summary.csv" threshold erf | awk '$1 == 0.99 { print $2 }')" "$(columns "$work/bias/ppl.csv" ppl | awk '{ printf "\t%.4g", $1 }')"
}
{ printf 'alibi with\tERF(0.99)\tPPL 128\tPPL 2048\n'
  for b in -2 0 2 4; do changed "slopes shifted by $b" --bias "alibi(delta=$b)"; done
  for w in 16 32 64 128; do changed "window $w" --window $w; done; } >"$work/changed"
table <"$work/changed"
say <<'T'
## What was found

The field of the last layer alone is 41 % of the whole for window 32 (32 of 77, its window), 82 % for ALiBi and 90 % for Sandwich: where heads are wide, one layer reaches nearly as far as four. The rest of the growth of a
window is steady, about 15 tokens a layer.

Along the text the field of the window is the same from the training length on; that of ALiBi slows down and ends near 670; those of Sandwich and rotary grow with the text, to 89 and 100 % of it, wherever one looks.

A trained model does not bear other slopes: shifted by 2, the perplexity of ALiBi is four times as high at 128 already, where a model trained with those slopes has 5.9 (the page on slopes). Sharper slopes hurt too. Its field follows the new slopes all the same, 186 to 1944.
A window of 16 to 128 tokens costs it nothing that 100 targets could show: the far part of its field, 673 tokens, carries little for the next byte.
T
