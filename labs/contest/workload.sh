# What is measured. /extra/words is drawn anew each time.
cd /tmp
mkdir d
for n in $(seq 300); do echo $n >d/name$n; done
ls d | wc -l
cat d/name1* | sort -n | tail -n 3
rm -r d
for n in 1 2 3 4 5 6 7 8; do cat /extra/words; done >big
for n in 1 2 3 4; do cat big | cat | wc; done
for n in $(seq 40); do (x=$n; echo $x); done | tail -n 1
sort big | uniq | head -n 5
rm big
