# Inference protocols: perplexity and cost ([B] figure 1 and table 1; [A] appendix B and table 5).
. examples/studies/common.sh
study protocols "Nonoverlapping, sliding and cached inference: perplexity and cost"
gzip -dc $NOVEL | head -c 65537 >"$work/text"
say <<'T'
A model can be kept within its training length on a long text in several ways. Nonoverlapping blocks cost least, but the first tokens of each block see almost nothing. Sliding windows
see enough and encode every token many times (*Exploring Transformer Extrapolation*, table 1 and figure 1). With a window on its attention and its keys cached, a model reads the
text once (*Dissecting Transformer Length Extrapolation*, appendix B and table 5). The same 65536 bytes of Moby-Dick for all; every byte but the first is scored once.

Blocks and windows of 32 to 512 bytes, for ALiBi and for rotary positions, which fail beyond 128:
T
run ppl $(paths alibi rotary) --text "$work/text" --protocol nonoverlapping --context 32,64,128,256,512 --timing -o "$work/blocks" --quiet --force
run ppl $(paths alibi rotary) --text "$work/text" --protocol sliding --stride 4 --context 32,64 --timing -o "$work/sliding" --quiet --force
run ppl $(paths alibi rotary) --text "$work/text" --protocol sliding --stride 8 --context 128 --timing -o "$work/sliding-128" --quiet --force
run ppl $(paths alibi rotary) --text "$work/text" --protocol sliding --stride 64 --context 256,512 --timing -o "$work/sliding-far" --quiet --force
{ printf 'model\tprotocol\tcontext\tstride\tPPL\ttime per byte, us\n'
  for f in blocks sliding sliding-128 sliding-far; do columns "$work/$f/ppl.csv" model protocol context stride ppl seconds_per_token; done | sort -t "$(printf '\t')" -k1,1 -k2,2 -k3,3n |
      awk -F '\t' '{ printf "%s\t%s\t%d\t%s\t%.4g\t%.3g\n", $1, $2, $3, $4 == "" ? "-" : $4, $5, $6 * 1e6 }'; } | table
"$REACH" plot "$work/blocks/ppl.csv" "$work/sliding/ppl.csv" "$work/sliding-128/ppl.csv" --train-length 128 -o "$work/plot" --force >/dev/null
figure "$work/plot/ppl.png" "Perplexity against the size of blocks and windows"
say <<'T'
Times are of one run on a machine with two cores, and vary. Cached inference: one pass over the text, 512 times the training length, every layer attending to the last w keys.
T
for w in 16 32 64 128 256; do
    run ppl $(paths window-16 alibi sandwich kerple-log rotary none) --text "$work/text" --protocol cached --window $w --timing -o "$work/cached-$w" --quiet --force
done
{ printf 'model\tw\tPPL\ttime per byte, us\n'
  for w in 16 32 64 128 256; do columns "$work/cached-$w/ppl.csv" model window ppl seconds_per_token; done | sort -t "$(printf '\t')" -k1,1 -k2,2n |
      awk -F '\t' '{ printf "%s\t%d\t%.4g\t%.3g\n", $1, $2, $3, $4 * 1e6 }'; } | table
"$REACH" plot "$work"/cached-*/ppl.csv --train-length 128 -o "$work/cached" --force >/dev/null
figure "$work/cached/ppl.png" "Perplexity of cached inference against the window"
say <<'T'
The same at lengths of 1 to 16 times the training length: the perplexity of the last byte of 200 segments, with a window of 128 put on models that were trained
without one, and without it, as the other studies have it.
T
cached="alibi sandwich kerple-log rotary none"
run ppl $(paths $cached) --text $NOVEL --window 128 --segments $TARGETS -o "$work/windowed" --quiet --force
{ columns "$work/windowed/ppl.csv" context | sort -nu | sed 's/^/context\t/'
  for f in $(every ppl.csv) "$work/windowed/ppl.csv"; do columns "$f" model window context ppl | sed 's/^/ppl\t/'; done; } | awk -F '\t' -v wanted="$cached" '
      $1 == "context" { context[++contexts] = $2; next }
      { ppl[$2, $3, $4] = $5 }
      END { printf "model\twindow"; for (k = 1; k <= contexts; k++) printf "\tPPL %d", context[k]
            print ""
            models = split(wanted, model, " ")
            for (i = 1; i <= models; i++) for (w = 0; w <= 1; w++) {
                printf "%s\t%s", model[i], w ? 128 : "-"
                for (k = 1; k <= contexts; k++) {
                    if (!((model[i], w ? 128 : "", context[k]) in ppl)) { print model[i] ": not measured at " context[k] >"/dev/stderr"; exit 1 }
                    printf "\t%.4g", ppl[model[i], w ? 128 : "", context[k]]
                }
                print ""
            } }' | table
say <<'T'
## What was found

Sliding windows give the lowest perplexity and cost by far the most: in steps of 4, about 8 times the time of blocks at a window of 32 and 10 to 13 times at 64. Blocks of 32 cost ALiBi 7 % in perplexity, blocks of 512 less than 1 %. For
rotary positions the window must stay within the training length, 128: at 256 perplexity is eight times as high.

A cached window has the perplexity of sliding (4.80 for rotary at 64, 5.05 for ALiBi at 32) at the price of blocks: the text is read once. And it makes rotary positions work at any length: on a text 512 times the training
length with w = 128, and at 16 times, where the perplexity of the last byte is 5.55 with the window and 45 without. It does not help a model without positions (20 and more at any w).
Of a model that was trained with a window of 16, no other window works: 7.4 at 32, 16.7 at 256.

ALiBi, KERPLE and Sandwich do not need the window, and lose nothing by it.

Departures. In table 5 of *Dissecting Transformer Length Extrapolation* a window of four times the training length makes Sandwich a little worse, since it uses what lies farther; here a window of once the training length makes it 2 % better.
T
