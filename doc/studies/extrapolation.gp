# gnuplot -e "set terminal pngcairo; set output 'extrapolation.png'" extrapolation.gp
# style
set encoding utf8
set key opaque bottom left Left reverse samplen 0.5 spacing 0.85 width -2
set tics nomirror
set border 3
set logscale x
set xrange [0.05:16]
set nonlinear y via asinh(y/0.05) inverse 0.05*sinh(y)
set yrange [-1:10]
set ytics (-1,-0.3,-0.1,0,0.1,0.3,1,3,10)
set ylabel 'NLL at 16 L_{tr} less that at L_{tr}, nats'
# data
$line << END
1 -1
1 10
END
$f0_0 << END
0.3125 0.3125 0.3125 0.0 0.0
0.4765625 0.46875 0.484375 0.0 0.0
0.6484375 0.640625 0.65625 0.0 0.0
0.875 0.8671875 0.8828125 0.0023 0.000882
1.1484375 1.140625 1.15625 0.09346 0.013033999999999999
1.515625 1.5 1.53125 0.3953 0.0330456
2.1953125 2.171875 2.21875 1.132 0.0569968
END
$f0_1 << END
6.8515625 6.7109375 6.9765625 -0.09822 0.0182084
1.484375 1.421875 1.578125 -0.02128 0.007016799999999999
7.609375 7.5859375 7.625 0.91932 0.0491764
END
$f0_2 << END
0.265625 0.25 0.28125 0.0 0.0
1.015625 0.984375 1.046875 0.03436 0.0071932
7.6640625 7.6171875 7.703125 1.32432 0.058408
END
$f0_3 << END
7.9765625 7.9765625 7.984375 1.91937 0.071638
7.96875 7.96875 7.9765625 2.47813 0.0812224
7.984375 7.984375 7.984375 6.2675 0.1044288
END
$f0_4 << END
7.7421875 7.71875 7.765625 -0.06015 0.0235396
7.8671875 7.84375 7.8984375 0.28677 0.0292824
7.8203125 7.78125 7.8515625 0.07567 0.0216776
4.3125 4.171875 4.4375 -0.11931 0.0186396
7.9609375 7.953125 7.96875 0.60369 0.048059199999999996
END
$f0_5 << END
7.78125 7.7578125 7.7890625 0.2772 0.0294588
7.7578125 7.734375 7.7734375 0.15067 0.0238532
7.7890625 7.71875 7.859375 -0.10641 0.0262836
7.3125 7.234375 7.390625 -0.06989 0.017875199999999997
7.3203125 7.265625 7.375 -0.06055 0.016268
END
$f1_0 << END
0.0625 0.0625 0.0625 0.0 0.0
0.09375 0.09375 0.1015625 0.0 0.0
0.125 0.125 0.1328125 0.0 0.0
0.171875 0.171875 0.1796875 0.0023 0.000882
0.265625 0.2578125 0.28125 0.09346 0.013033999999999999
0.4375 0.421875 0.4453125 0.3953 0.0330456
0.625 0.609375 0.640625 1.132 0.0569968
END
$f1_1 << END
0.2421875 0.2265625 0.265625 -0.09822 0.0182084
0.09375 0.0859375 0.1015625 -0.02128 0.007016799999999999
1.2734375 1.21875 1.3359375 0.91932 0.0491764
END
$f1_2 << END
0.0234375 0.0234375 0.0234375 0.0 0.0
0.109375 0.109375 0.1171875 0.03436 0.0071932
0.859375 0.828125 0.8984375 1.32432 0.058408
END
$f1_3 << END
1.1171875 1.046875 1.1796875 1.91937 0.071638
4.125 4.109375 4.140625 2.47813 0.0812224
6.984375 6.9765625 6.984375 6.2675 0.1044288
END
$f1_4 << END
0.2734375 0.234375 0.3125 -0.06015 0.0235396
0.5078125 0.4765625 0.546875 0.28677 0.0292824
0.2421875 0.2265625 0.265625 0.07567 0.0216776
0.1484375 0.1328125 0.15625 -0.11931 0.0186396
0.765625 0.625 0.9296875 0.60369 0.048059199999999996
END
$f1_5 << END
0.8046875 0.7578125 0.8515625 0.2772 0.0294588
0.625 0.5859375 0.6640625 0.15067 0.0238532
0.2734375 0.2421875 0.3125 -0.10641 0.0262836
0.2734375 0.25 0.296875 -0.06989 0.017875199999999997
0.265625 0.2421875 0.2890625 -0.06055 0.016268
END
# panels
set multiplot layout 1,2 margins 0.08,0.98,0.16,0.97 spacing 0.11,0
set xlabel 'ERF(0.99) / L_{tr}'
plot $line with lines lc rgb '#808080' lw 1 dt 3 notitle, \
     0 with lines lc rgb '#808080' lw 0.5 notitle, \
     $f0_0 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 5 ps 1.1 lc rgb '#0072B2' notitle, \
     1/0 with points pt 5 ps 1.1 lc rgb '#0072B2' title 'windows', \
     $f0_1 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 7 ps 1.1 lc rgb '#D55E00' notitle, \
     1/0 with points pt 7 ps 1.1 lc rgb '#D55E00' title 'ALiBi, shifted slopes', \
     $f0_2 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 9 ps 1.1 lc rgb '#009E73' notitle, \
     1/0 with points pt 9 ps 1.1 lc rgb '#009E73' title 'ALiBi, equal slopes', \
     $f0_3 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 11 ps 1.1 lc rgb '#CC79A7' notitle, \
     1/0 with points pt 11 ps 1.1 lc rgb '#CC79A7' title 'absolute, rotary, none', \
     $f0_4 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 15 ps 1.1 lc rgb '#E69F00' notitle, \
     1/0 with points pt 15 ps 1.1 lc rgb '#E69F00' title 'KERPLE, T5', \
     $f0_5 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 13 ps 1.1 lc rgb '#56B4E9' notitle, \
     1/0 with points pt 13 ps 1.1 lc rgb '#56B4E9' title 'other biases'
unset key
set xlabel 'ERF(0.5) / L_{tr}'
plot $line with lines lc rgb '#808080' lw 1 dt 3 notitle, \
     0 with lines lc rgb '#808080' lw 0.5 notitle, \
     $f1_0 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 5 ps 1.1 lc rgb '#0072B2' notitle, \
     $f1_1 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 7 ps 1.1 lc rgb '#D55E00' notitle, \
     $f1_2 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 9 ps 1.1 lc rgb '#009E73' notitle, \
     $f1_3 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 11 ps 1.1 lc rgb '#CC79A7' notitle, \
     $f1_4 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 15 ps 1.1 lc rgb '#E69F00' notitle, \
     $f1_5 using 1:4:2:3:($4-$5):($4+$5) with xyerrorbars pt 13 ps 1.1 lc rgb '#56B4E9' notitle
unset key
unset multiplot
