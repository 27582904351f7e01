# gnuplot -e "set terminal pngcairo; set output 'attention.png'" attention.gp
# style
set encoding utf8
set key bottom left Left reverse noenhanced samplen 2 spacing 0.85 width -2
set tics nomirror
set border 3
set logscale xy
set xrange [0.009:0.55]
set yrange [0.9:1200]
set format '%.4g'
set xtics (0.01,0.02,0.05,0.1,0.2,0.5)
set xlabel 'share left out, eps'
set ylabel 'tokens'
set title offset 0,-0.5
# data
$m0_0 << END
0.01 731
0.02 598
0.05 397
0.1 242
0.15 163
0.2 115
0.3 61
0.4 34
0.5 19
END
$m0_1 << END
0.01 938
0.02 857
0.05 640
0.1 363
0.15 175
0.2 60
0.3 3
0.4 2
0.5 1
END
$m0_2 << END
0.01 365
0.02 279
0.05 169
0.1 92
0.15 50
0.2 26
0.3 10
0.4 6
0.5 3
END
$m0_3 << END
0.01 874
0.02 739
0.05 433
0.1 171
0.15 65
0.2 24
0.3 4
0.4 2
0.5 2
END
$m0_4 << END
0.01 872
0.02 757
0.05 536
0.1 346
0.15 242
0.2 175
0.3 96
0.4 54
0.5 31
END
$m0_5 << END
0.01 875
0.02 765
0.05 550
0.1 356
0.15 247
0.2 177
0.3 95
0.4 53
0.5 30
END
$m1_0 << END
0.01 600
0.02 507
0.05 350
0.1 218
0.15 148
0.2 104
0.3 55
0.4 31
0.5 17
END
$m1_1 << END
0.01 737
0.02 636
0.05 456
0.1 253
0.15 116
0.2 41
0.3 8
0.4 4
0.5 3
END
$m1_2 << END
0.01 360
0.02 277
0.05 167
0.1 89
0.15 47
0.2 27
0.3 12
0.4 7
0.5 4
END
$m1_3 << END
0.01 687
0.02 578
0.05 378
0.1 186
0.15 90
0.2 44
0.3 13
0.4 4
0.5 3
END
$m1_4 << END
0.01 686
0.02 590
0.05 438
0.1 298
0.15 212
0.2 155
0.3 86
0.4 48
0.5 27
END
$m1_5 << END
0.01 699
0.02 605
0.05 453
0.1 309
0.15 218
0.2 159
0.3 86
0.4 47
0.5 27
END
# panels
set multiplot layout 1,2 margins 0.08,0.98,0.16,0.92 spacing 0.11,0
set title 'bias alone, one layer'
plot $m0_0 using 1:2 with linespoints lc rgb '#0072B2' pt 5 ps 0.9 lw 1.2 title 'alibi', \
     $m0_1 using 1:2 with linespoints lc rgb '#D55E00' pt 7 ps 0.9 lw 1.2 title 'kerple-log', \
     $m0_2 using 1:2 with linespoints lc rgb '#009E73' pt 9 ps 0.9 lw 1.2 title 'kerple-power', \
     $m0_3 using 1:2 with linespoints lc rgb '#CC79A7' pt 11 ps 0.9 lw 1.2 title 'sandwich', \
     $m0_4 using 1:2 with linespoints lc rgb '#E69F00' pt 4 ps 0.9 lw 1.2 title 'type1', \
     $m0_5 using 1:2 with linespoints lc rgb '#56B4E9' pt 6 ps 0.9 lw 1.2 title 'type2'
unset key
set title 'attention'
plot $m1_0 using 1:2 with linespoints lc rgb '#0072B2' pt 5 ps 0.9 lw 1.2 title 'alibi', \
     $m1_1 using 1:2 with linespoints lc rgb '#D55E00' pt 7 ps 0.9 lw 1.2 title 'kerple-log', \
     $m1_2 using 1:2 with linespoints lc rgb '#009E73' pt 9 ps 0.9 lw 1.2 title 'kerple-power', \
     $m1_3 using 1:2 with linespoints lc rgb '#CC79A7' pt 11 ps 0.9 lw 1.2 title 'sandwich', \
     $m1_4 using 1:2 with linespoints lc rgb '#E69F00' pt 4 ps 0.9 lw 1.2 title 'type1', \
     $m1_5 using 1:2 with linespoints lc rgb '#56B4E9' pt 6 ps 0.9 lw 1.2 title 'type2'
unset key
unset multiplot
