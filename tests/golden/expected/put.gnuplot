# Results, by mininb.
#
#     gnuplot FILE                                   mininb-*.svg
#     gnuplot -e "terminal='png'; output='a'" FILE   a-*.png

if (!exists("terminal")) terminal = "svg"
if (!exists("output")) output = "mininb"
if (terminal eq "png") {
	set terminal png noenhanced size 1000,600
} else {
	set terminal svg noenhanced size 1000,600 background "white"
}
set key outside bottom center horizontal
set grid
set datafile missing "?"

# seconds, operations a second
$rate0 << EOD
0.021420 53033.948
0.053424 32496.199
0.081503 0.000
0.113429 36396.899
0.145658 13683.473
0.169430 12493.842
0.224586 11639.620
0.257404 0.000
0.285330 34914.569
0.329409 28539.594
0.359841 33155.845
0.397443 0.000
0.437575 25141.969
0.473455 17698.057
0.498271 0.000
0.518905 0.000
0.569500 7826.867
EOD

set output output . "-throughput." . terminal
set title "Throughput over time"
unset logscale
set xtics auto
set yrange [0:*]
set xlabel "seconds"
set ylabel "operations a second"
plot $rate0 using 1:2 with lines title "leveldb"

# 1/(1-percentile), microseconds
$service0 << EOD
1.000000 1.753
1.111111 2.325
1.250000 2.485
1.428571 2.635
1.666667 2.795
2.000000 3.005
2.222222 3.117
2.500000 3.255
2.857143 3.417
3.333333 3.607
4.000000 3.837
4.444444 3.967
5.000000 4.127
5.714286 4.319
6.666667 4.579
8.000000 4.979
8.888889 5.211
10.000000 5.531
11.428571 6.011
13.333333 6.623
16.000000 7.255
17.777778 7.675
20.000000 7.947
22.857143 8.351
26.666667 8.887
32.000000 9.759
35.555556 10.223
40.000000 10.735
45.714286 11.423
53.333333 12.199
64.000000 12.999
71.111111 13.295
80.000000 13.847
91.428571 14.599
106.666667 15.719
128.000000 17.023
142.222222 18.735
160.000000 19.727
182.857143 21.199
213.333333 24.751
256.000000 35.263
284.444444 37.023
320.000000 43.839
365.714286 48.767
426.666667 57.887
512.000000 74.175
568.888889 88.447
640.000000 94.207
731.428571 152.959
853.333333 8904.703
1024.000000 24821.759
1137.777778 31277.055
1280.000000 36962.303
1462.857143 37388.287
1706.666667 43057.151
2048.000000 44892.159
2275.555556 44892.159
2560.000000 47054.847
2925.714286 47054.847
3413.333333 52625.407
4096.000000 52625.407
4551.111111 52625.407
5120.000000 60129.279
5851.428571 60129.279
6826.666667 60129.279
8192.000000 60129.279
9102.222222 60129.279
10240.000000 71331.925
EOD

set output output . "-percentiles." . terminal
set title "Latency by percentile"
set logscale xy 10
set xrange [1:*]
set yrange [*:*]
set xtics ("0%%" 1, "90%%" 10, "99%%" 100, "99.9%%" 1000, "99.99%%" 10000, "99.999%%" 100000, "99.9999%%" 1000000)
set xlabel "percentile"
set ylabel "microseconds"
plot $service0 using 1:2 with lines title "leveldb, service"
set xrange [*:*]

# seconds, p50, p99, greatest, in microseconds
$service0_0 << EOD
0.021420 2.435 8.999 74.175
0.053424 2.675 12.535 31277.055
0.113429 2.745 10.039 37388.287
0.145658 3.025 ? 44892.159
0.169430 3.977 ? 23773.183
0.224586 4.017 ? 24821.759
0.285330 3.197 ? 71368.703
0.329409 2.585 8.703 36962.303
0.359841 3.807 ? 43057.151
0.437575 3.135 14.359 60129.279
0.473455 3.627 ? 52625.407
0.569500 3.637 ? 47054.847
EOD

set output output . "-over-time-1." . terminal
set title "Latency over time: leveldb"
unset logscale x
set logscale y 10
set xtics auto
set yrange [*:*]
set xlabel "seconds"
set ylabel "microseconds"
plot $service0_0 using 1:2 with lines linetype 1 title "put service, p50", \
     $service0_0 using 1:3 with lines linetype 1 dashtype 2 title "put service, p99", \
     $service0_0 using 1:4 with points linetype 1 pointtype 7 pointsize 0.4 title "put service, max"
