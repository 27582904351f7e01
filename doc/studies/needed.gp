# gnuplot -e "set terminal pngcairo; set output 'needed.png'" needed.gp
# style
set encoding utf8
set tics nomirror
set border 3
set logscale x 2
set format x '%.0f'
# data
$line << END
96 0
96 1
END
$e0 << END
1 0.0208
2 0.0458
4 0.1
8 0.15
16 0.2208
32 0.3167
64 0.4875
96 0.6042
128 0.65
256 0.8625
512 1.0
END
$o0 << END
1.181 0.3866 0.2673 0.4952
2.362 0.1213 -0.0118 0.2495
4.724 0.3103 0.1844 0.4201
9.448 0.2766 0.1489 0.3921
18.9 0.1869 0.0596 0.3129
37.79 0.373 0.244 0.4924
75.58 0.3162 0.1883 0.4389
151.2 0.449 0.332 0.5561
302.3 0.4358 0.3193 0.5395
END
$e1 << END
1 0.0583
2 0.1042
4 0.1375
8 0.1833
16 0.2792
32 0.375
64 0.5208
96 0.6042
128 0.6667
256 0.8
512 1.0
END
$o1 << END
1.292 0.4074 0.2923 0.5163
2.585 0.2828 0.1624 0.3984
5.169 0.3288 0.2039 0.4436
10.34 0.4704 0.3623 0.5606
20.68 0.2869 0.164 0.4007
41.36 0.4456 0.3168 0.5581
82.71 0.2157 0.0812 0.3445
165.4 0.3464 0.2253 0.459
330.8 0.202 0.0737 0.3232
END
$e2 << END
1 0.0333
2 0.0667
4 0.1292
8 0.1708
16 0.2375
32 0.35
64 0.575
96 0.675
128 0.7208
256 0.9167
512 1.0
END
$o2 << END
1.414 0.4161 0.302 0.5159
2.828 0.3491 0.2317 0.4559
5.657 0.3122 0.1974 0.4213
11.31 0.3793 0.2675 0.4868
22.63 0.2971 0.1752 0.4061
45.25 0.5463 0.4331 0.642
90.51 0.322 0.1995 0.4369
181 0.536 0.4272 0.6295
362 0.4632 0.3433 0.5679
END
$e3 << END
1 0.0067
2 0.0267
4 0.04
8 0.0967
16 0.1533
32 0.2633
64 0.4
96 0.4633
128 0.53
256 0.74
512 1.0
END
$o3 << END
1.548 -0.0803 -0.1993 0.0381
3.095 0.1205 0.0052 0.2326
6.19 0.1091 -0.0075 0.2234
12.38 0.2327 0.1143 0.3433
24.76 0.1373 0.0071 0.2606
49.52 0.2611 0.144 0.3689
99.04 0.1987 0.0763 0.3071
198.1 0.2869 0.1642 0.3975
396.2 0.182 0.0729 0.2931
END
$e4 << END
1 0.0267
2 0.0533
4 0.0733
8 0.1233
16 0.1867
32 0.2867
64 0.3767
96 0.4233
128 0.51
256 0.7
512 1.0
END
$o4 << END
1.693 0.0873 -0.0247 0.1978
3.387 0.1933 0.0802 0.3013
6.774 0.1053 -0.0066 0.2144
13.55 0.211 0.0949 0.3119
27.1 0.2444 0.1319 0.3444
54.19 0.2217 0.1171 0.3218
108.4 0.3056 0.1912 0.4066
216.8 0.2489 0.1196 0.3655
433.5 0.2621 0.1667 0.3509
END
# panels
set multiplot layout 1,2 margins 0.075,0.815,0.15,0.96 spacing 0.1,0
set bars 0.5
set xrange [0.9:570]
set yrange [0:1.02]
set xtics 1,4
set xlabel 'tokens kept'
set ylabel 'share of targets for which they are enough' offset 1
plot $line with lines lc rgb '#808080' lw 1 dt 3 notitle, \
     $e0 using 1:2 with linespoints lc rgb '#0072B2' pt 5 ps 0.9 lw 1.2 notitle, \
     $e1 using 1:2 with linespoints lc rgb '#D55E00' pt 7 ps 0.9 lw 1.2 notitle, \
     $e2 using 1:2 with linespoints lc rgb '#009E73' pt 9 ps 0.9 lw 1.2 notitle, \
     $e3 using 1:2 with linespoints lc rgb '#CC79A7' pt 11 ps 0.9 lw 1.2 notitle, \
     $e4 using 1:2 with linespoints lc rgb '#E69F00' pt 13 ps 0.9 lw 1.2 notitle
set yrange [-0.25:0.7]
set xlabel 'distance, tokens'
set ylabel 'rank correlation over targets' offset 1
set key at screen 0.82,0.95 left top Left reverse noenhanced samplen 1.2
plot 0 with lines lc rgb '#808080' lw 0.5 notitle, \
     $o0 using 1:2:3:4 with yerrorbars lc rgb '#0072B2' pt 5 ps 0.9 lw 1 title 'alibi', \
     $o1 using 1:2:3:4 with yerrorbars lc rgb '#D55E00' pt 7 ps 0.9 lw 1 title 'kerple-log', \
     $o2 using 1:2:3:4 with yerrorbars lc rgb '#009E73' pt 9 ps 0.9 lw 1 title 'kerple-power', \
     $o3 using 1:2:3:4 with yerrorbars lc rgb '#CC79A7' pt 11 ps 0.9 lw 1 title 'smollm2-135m', \
     $o4 using 1:2:3:4 with yerrorbars lc rgb '#E69F00' pt 13 ps 0.9 lw 1 title 'gemma-3-270m'
unset multiplot
