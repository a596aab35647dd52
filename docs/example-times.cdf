# Seconds, and the share of times up to that.
1 0.2
5 0.5
30 0.9
300 1
