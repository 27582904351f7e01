# gnuplot -e "set terminal pngcairo; set output 'windows.png'" windows.gp
# style
set encoding utf8
set tics nomirror
set border 3
# data
$cone << END
1.414 1.3921
1.682 1.6555
2.000 1.9688
2.378 2.3413
2.828 2.7842
3.364 3.3110
4.000 3.9375
4.757 4.6825
5.657 5.5685
6.727 6.6221
8.000 7.8750
9.514 9.3650
11.314 11.1369
13.454 13.2441
16.000 15.7500
19.027 18.7300
22.627 22.2739
26.909 26.4882
32.000 31.5000
38.055 37.4600
45.255 44.5477
53.817 52.9765
64.000 63.0000
76.109 74.9200
END
$horizon << END
1.414 1.5
1.682 1.5
2.000 1.5
2.378 1.5
2.828 1.5
3.364 1.5
4.000 1.5
4.757 1.5
5.657 1.5
6.727 1.5
8.000 1.5
9.514 1.5
11.314 1.5
13.454 1.5
16.000 1.5
19.027 1.5
22.627 1.5
26.909 1.5
32.000 1.5
38.055 1.5
45.255 1.5
53.817 1.5
64.000 1.5
76.109 1.5
END
$signs0 << END
2 0.4531
3 0.5938
4 0.6719
6 0.7812
8 0.8438
12 0.9219
16 0.9531
24 1.0000
32 1.0156
48 1.0469
64 1.0625
END
$signs1 << END
2 1.2812
3 1.5938
4 1.7969
6 2.0781
8 2.2656
12 2.4688
16 2.5938
24 2.7188
32 2.7969
48 2.8594
64 2.9062
END
$signs2 << END
2 1.7656
3 2.3281
4 2.7344
6 3.2812
8 3.6094
12 3.9844
16 4.2188
24 4.4531
32 4.5781
48 4.7188
64 4.7969
END
$t0 << END
1.765 0.4375
3.531 0.5000
3.531 0.5000
7.062 0.5625
14.123 0.5625
1.840 0.4375
3.681 0.5000
3.681 0.5000
7.362 0.5312
1.919 0.4375
3.837 0.4844
3.837 0.5000
7.674 0.5000
END
$t1 << END
1.765 1.1875
3.531 1.4375
3.531 1.4375
7.062 1.6250
14.123 1.6875
1.840 1.1250
3.681 1.4062
3.681 1.4062
7.362 1.5625
1.919 1.1250
3.837 1.4062
3.837 1.4219
7.674 1.5625
END
$t2 << END
1.765 1.7500
3.531 2.3750
3.531 2.3750
7.062 2.8125
14.123 3.0625
1.840 1.7500
3.681 2.4062
3.681 2.3750
7.362 2.8438
1.919 1.7656
3.837 2.4531
3.837 2.4688
7.674 2.9062
END
$a0 << END
2.085 0.5625
2.085 0.5625
4.170 0.6875
4.170 0.7500
8.340 0.8125
8.340 0.8125
16.679 0.9375
16.679 0.8750
2.173 0.5312
2.173 0.5312
4.347 0.6875
4.347 0.7188
8.694 0.8125
8.694 0.8438
2.266 0.5156
2.266 0.5312
4.532 0.6875
4.532 0.7188
9.063 0.8281
9.063 0.8438
69.551 1.0000
33.359 0.9375
END
$a1 << END
2.085 1.3125
2.085 1.3125
4.170 1.7500
4.170 1.8125
8.340 2.1875
8.340 2.1875
16.679 2.4375
16.679 2.4375
2.173 1.3125
2.173 1.3125
4.347 1.7812
4.347 1.8125
8.694 2.2188
8.694 2.2500
2.266 1.3125
2.266 1.3125
4.532 1.7969
4.532 1.8281
9.063 2.2344
9.063 2.2812
69.551 2.5000
33.359 2.5000
END
$a2 << END
2.085 1.8125
2.085 1.8125
4.170 2.6875
4.170 2.6875
8.340 3.4375
8.340 3.5000
16.679 4.0000
16.679 4.0000
2.173 1.7812
2.173 1.7812
4.347 2.7188
4.347 2.7500
8.694 3.5000
8.694 3.5938
2.266 1.7812
2.266 1.7812
4.532 2.7344
4.532 2.7656
9.063 3.5469
9.063 3.6250
69.551 4.1250
33.359 4.1875
END
$steps0 << END
8 1.3125
16 1.3125
32 1.1875
63 1.2500
126 1.0000
250 1.0000
497 1.0625
988 1.1250
1965 1.1250
3906 1.1875
END
$steps1 << END
8 1.7812
16 1.5000
32 1.4375
63 1.4375
126 1.2500
250 1.1562
497 1.2500
988 1.3125
1965 1.4062
3906 1.4375
END
$steps2 << END
8 2.1875
16 1.5625
32 1.5625
63 1.5000
126 1.3125
250 1.1875
497 1.3125
988 1.4375
1965 1.5625
3906 1.6250
END
$steps3 << END
8 2.4375
16 1.5625
32 2.0000
63 1.5625
126 1.3125
250 1.2500
497 1.3125
988 1.5000
1965 1.5625
3906 1.6875
END
# panels
set multiplot layout 1,2 margins 0.07,0.985,0.29,0.97 spacing 0.1,0
set logscale xy 2
set xrange [1.6:80]
set yrange [0.4:16]
set format y '%g'
set xtics (2,4,8,16,32,64)
set xlabel 'layers'
set ylabel 'ERF(q) / window' offset 1
set key at screen 0.5,0.005 center bottom vertical Left reverse noenhanced samplen 1.6 spacing 0.95 maxrows 3 width -2
plot $cone using 1:2 with lines lc rgb '#808080' dt (2,3) lw 1.2 title 'cone', \
     $horizon using 1:2 with lines lc rgb '#808080' dt (9,3,2,3) lw 1.2 title '1.5 windows', \
     $signs0 using 1:2 with lines lc rgb '#0072B2' dt (9,4) lw 0.8 notitle, \
     $signs1 using 1:2 with lines lc rgb '#D55E00' dt (9,4) lw 0.8 notitle, \
     $signs2 using 1:2 with lines lc rgb '#009E73' dt (9,4) lw 0.8 notitle, \
     NaN with lines lc rgb '#808080' dt (9,4) lw 0.8 title 'random signs, as drawn', \
     $t0 using 1:2 with points pt 5 ps 1.5 lw 0.7 lc rgb '#0072B2' title 'ERF(0.5), trained', \
     $t1 using 1:2 with points pt 7 ps 1.5 lw 0.7 lc rgb '#D55E00' title 'ERF(0.9), trained', \
     $t2 using 1:2 with points pt 9 ps 1.5 lw 0.7 lc rgb '#009E73' title 'ERF(0.99), trained', \
     $a0 using 1:2 with points pt 4 ps 1.5 lw 0.7 lc rgb '#0072B2' title 'ERF(0.5), as drawn', \
     $a1 using 1:2 with points pt 6 ps 1.5 lw 0.7 lc rgb '#D55E00' title 'ERF(0.9), as drawn', \
     $a2 using 1:2 with points pt 8 ps 1.5 lw 0.7 lc rgb '#009E73' title 'ERF(0.99), as drawn'
unset logscale y
set logscale x
set xrange [6:5000]
set yrange [0.8:2.6]
set format y '%.1f'
set ytics 0.5
set xtics ('as drawn' 8,'100' 100,'1000' 1000)
set xlabel 'step'
set ylabel 'ERF(0.9) / window, windows of 16' offset 1
set key at graph 0.98,0.98 right top vertical Left reverse maxrows 8
plot $steps0 using 1:2 with linespoints pt 11 ps 1.5 lw 1.2 lc rgb '#CC79A7' title '2 layers', \
     $steps1 using 1:2 with linespoints pt 13 ps 1.5 lw 1.2 lc rgb '#E69F00' title '4 layers', \
     $steps2 using 1:2 with linespoints pt 15 ps 1.5 lw 1.2 lc rgb '#56B4E9' title '8 layers', \
     $steps3 using 1:2 with linespoints pt 2 ps 1.5 lw 1.2 lc rgb '#000000' title '16 layers'
unset multiplot
