# Bytes, and the share of flows up to that size.
500 0
2000 0.4
10000 0.8
100000 0.97
2000000 1
