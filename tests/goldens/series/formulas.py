#!/usr/bin/env python3
"""Writes formulas.txt: 1,000 biases of all families, for `make check-formulas`, which asks one question of each.

Those of natural.tsv and cases.tsv as they were then, those below that take longest, and shapes with numbers put in: of each shape's
combinations as many as stand before it, evenly spread. Run: python3 formulas.py
"""
import csv
import itertools
import os

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = 1000

# what took longest of some thousands that were tried, and what is long or extreme
SLOW = """
-t^3+10^1000*t^2
sandwich(dbar=65536)
cos(pi*t/64)*3-1.01*ln(1+t)-ln(ln(3+t))
-(2.01+cos(pi*t/60))*ln(1+t)
ln(sum(i,1,300,(1+t)^(-1-1/i)))
-sqrt(t)*ln(1+t)+1000*sqrt(t)
-t^1.01+t*10^6
-2*ln(1+t)+floor(exp(2000)*t)-exp(2000)*t
t-127*floor(t/127)<60?-1.01*ln(1+t):-2*ln(1+t)
-sum(i,1,9000,abs(t-7*i))/9000000
ln(sum(i,1,1000,exp(-t/i)))
3*t-t^1.001
-sum(i,1,5000,t>i*10)/10-t/10000
-10^-300*t^0.3-ln(1+t)-ln(ln(3+t))
-sum(i,1,500,t>i*10)-t/100
-ln(sum(i,1,100,(t+i)^(i/50)))
-ln(1+t)-ln(1+t)^0.1-1.5*ln(ln(3+t))
-(t-10^1000)^2
-1.01*ln(1+t)-10^6/(1+ln(1+t))
-sum(i,1,3000,ln(1+t/i))/1000
t<10^6?-sum(i,1,100,abs(sin(t*i))):-inf
-(t-10^500)^2/10^300
exp(sqrt(ln(1+t)))-t^0.1
cos(pi*t/64)-1.001*ln(1+t)
-(1+t)^1.001+(1+t)*1.5
-ln(1+t)-exp(sqrt(ln(ln(3+t))))
-sum(i,1,300,floor(t/i))/1000
-(2.1+cos(pi*t/60))*ln(1+t)
-t^1.01+t*1000
-sum(i,1,30000,sqrt(t+i))/30000-ln(1+t)
-ln(2+t)-exp(sqrt(ln(ln(2+t)+3)))
-t*ln(1+t)+1000*t
1000*t-t*ln(1+t)
-(2.001+cos(pi*t/30))*ln(1+t)
exp(sin(pi*t/60))*ln(1+t)-4*ln(1+t)
-(1+2*ln(ln(3+t))/ln(3+t))*ln(3+t)
-ln(2+t)-2*ln(ln(3+t))
-ln(3+t)-exp(ln(ln(3+t))^0.5)
10000*ln(1+t)-t^0.001
-ln(2000000+t)-ln(ln(2000000+t))-ln(ln(ln(2000000+t)))-2*ln(ln(ln(ln(4000000+t))))
floor(sqrt(t))^2==t?-0.51*ln(1+t):-inf
10^4*ln(1+t)-t^0.0001
-t*sum(i,1,10000,1/(i^2+t))
ln(sum(i,1,3000,1/(i+t)^2))
-(1+0.001)*ln(1+t)
-1.0001*ln(1+t)-exp(-sqrt(ln(1+t)))
-1.5*ln(1+t)+sum(i,1,500,cos(t/i))/50
-ln(1+t)^1.0001
-(t-10^500)^2/10^499
100*ln(1+t)-t^0.001
-ln(sum(i,1,1000,exp(-t/i)))-2*ln(1+t)
20*sqrt(t)-sqrt(t)*ln(1+t)+sin(t)
-1.5*ln(1+t)+sum(i,1,500,cos(t/i)^2)/50
-ln(2+t)-1.01*ln(ln(5+3*t))
-ln(2+t)-ln(ln(3+t))-2*ln(ln(ln(20+t)))
(1+1/(1+t))^(2^(2^40))-t
-ln(3+t)-ln(1+t)^0.1
1000*ln(1+t)-t^0.01
-(t-10^50)^2/10^49
10^6*ln(1+t)-t^0.001
-1.01*ln(1+t)+10*exp(-ln(1+t)^0.5)
-sum(i,1,9000,abs(t-7*i))/9000000*h
-sum(i,1,30000,sqrt(t+i*h))/30000-ln(1+t)
sandwich(8192,0)-1.1*ln(1+t)
-(t-10^5000)^2/10^4999
-t/10^9000
t<10^3000?-t/10^2999:-inf
-0.5*ln(1+t)-10^-1000*t
-2*ln(1+t)+cos(10^10000*t)
-2*ln(1+t)+cos(exp(2000)*t)
-(t-1000)^200/10^500
-((t-10^10)^2-10^18)^2/10^33
cos(t)*10^9-ln(1+t)*2
cos(pi*t/512)*10^6-1.5*ln(1+t)
-ln(1+t)*(1+(t-100*floor(t/100))/50)-1.01*ln(ln(3+t))
-sum(i,1,10,abs(sin(pi*t/i)))-1.1*ln(1+t)
-1.1*ln(1+t)+sum(i,1,50,cos(sqrt(i)*t)/i)
ln(sum(i,0,60,exp(-t/2^i-i)))
ln(sum(i,1,12,(1+t/10^i)^-1.1))
-t/5000+ln(1+sum(i,1,3000,(t/i)^2))
((((((((((t/2+1)^2+1)^2+1)^2+1)^2+1)^2+1)^2+1)^2+1)^2+1)^2)*(-1)
-sqrt(t+sqrt(t+sqrt(t+sqrt(t+sqrt(t)))))
-ln(1+t+ln(1+t+ln(1+t+ln(1+t))))*1.5
-abs(sin(abs(cos(abs(sin(t))*t))*t))-1.5*ln(1+t)
floor(t*(sqrt(5)-1)/2)-t*(sqrt(5)-1)/2-1.2*ln(1+t)
-1.001*floor(1000*ln(1+t))/1000
"""

# family: how many of a shape, the shape, and the values of its letters
SHAPES = """
# presets
12|alibi(%a)|0 1 2 3.5 -1 -2 5 0.25 0.5 7 -3 10
6|alibi_equal(%s)|1 2 4 8 16 0.5
8|window(%w)|1 2 40 100 1000 65536 10^9 10^30
20|kerple_log(%p,%a)|0.5 1 1.001 1.05 1.5 3.25 8|0.01 0.1 1 10
20|kerple_power(%p,%a)|0.05 0.1 0.3 0.5 1 1.5 2|0.001 0.1 1 5
6|sandwich(%d,%f)|8 32 128|0 1
12|type1(%k)|10^-9 0.001 0.01 0.1 0.3 1 2 5 17 100 10^6 10^12
12|type2(%k)|10^-9 0.001 0.01 0.1 0.3 1 2 5 17 100 10^6 10^12
4|divergent_a(%k)|0.001 0.1 1 10
4|divergent_b(%k)|0.001 0.1 1 10
2|t5(0,-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11,-12,-13,-14,-15,-16,-17,-18,-19,-20,-21,-22,-23,-24,-25,-26,-27,-28,-29,-30,%w)|-31 2

# powers
16|-%a*t^%p|0.001 0.03 0.2 1|0.1 0.25 0.5 0.9 1.3 2
8|-%a*(%c+t)^%p+%b*t^0.25|0.1 1|3 17|0.5 1.2|0.01 0.5
8|-(t/%a)^%p-(t/%b)^0.5|10 300|0.4 0.8 1.5|7 1000
6|-t^%a/(1+t^%b)|1.5 2|0.3 0.5 1.2

# logarithms
20|-%p*ln(%c+%a*t)|0.9 1 1.0001 1.01 1.05 1.3 2 5|1 3.5|0.05 1 7
12|-%p*ln(1+(%a*t)^%q)|0.55 1 2|0.01 1|1.5 2 3
12|-%w*ln(%c+t)^%q|0.1 1|1 3|0.5 1.1 2 3
8|-%p*ln(%c+t+t^%q)|1.2 2.5|0.05 1|0.3 0.5 0.8
8|-%p*ln(1+t)-%q*ln(%c+t)|0.5 1|0.5 1.01 2|2 30
8|-%a*ln(1+t)*ln(%c+t)|0.05 0.3 1|2 10 1000

# nested logarithms
16|-ln(%c+t)-%p*ln(ln(%c+t))|2 2.5 10|0.9 1 1.1 2 3 8
12|-ln(1+t)-%p*ln(%c+%m*ln(1+t))|1 1.5 2 3 6|0.5 1 4|0.3 1 2
8|-%q*ln(1+t)-%p*ln(%c+ln(1+t))|0.9 1.05 1.5|-2 1 3|1 2
8|-ln(3+t)-ln(ln(3+t))-%p*ln(ln(ln(%c+t)))|0.5 1 2 5|16 20 100
8|-ln(1+t)-ln(1+ln(1+t))-%p*ln(%c+ln(1+ln(1+t)))|1 2 7 9|1 2.5
8|-ln(%c+t)-%p*ln(ln(%d+t))-%w*ln(ln(ln(20+t)))|2 3|1 2.5|3 7|1 2

# exponentials
12|-t/%a+%c*exp(-t/%d)|0.5 10 300|-5 0.3 3|2 40
6|-exp(t/%a)/%b|1 20 500|1 100
8|-%p*ln(1+t)-%c*exp(-t/%d)|0.7 1.3 3|1 -2|3 50
8|ln(exp(-%a*t)+(1+%b*t)^-%p)|0.05 1|0.05 3|1.5 2.75
6|-ln(1+exp((t-%c)/%d))|5 60 1000|1 9
6|ln(1-%a/(%b+exp(-t/%d)))|0.3 0.9|1 2|5 50
6|-%a*2^(t/%b)-%c*t|0.001 0.2|10 100|0.01 1

# stretched
12|-ln(%c+t)-%w*ln(1+t)^%q|1 3|0.2 1 3|0.2 0.5 0.8
12|-%w*t^%q-%p*ln(1+t)|0.01 0.3 2|0.1 0.3 0.7|-1 1 2.5
8|-ln(1+t)-%w*sqrt(%c+ln(1+t))|0.5 2 5|1 2 10
8|-%p*ln(1+t)-%w*ln(ln(3+t))^%q|1 1.01|1 3|0.5 1.5 2

# peaks
8|%a*t-t*ln(1+t)|0.5 3 10 15 25 80 200 500
8|%a*sqrt(t)-t/%d|0.3 2 7 30|3 50 1000
8|-(t-%c)^2/%d|5 1000 10^5 10^7|3 10^4
8|-abs(t-%c)*%a|3 17 4000|0.05 0.3 2
6|%p*ln(1+t)-%w*t^%q|1 5 30|0.01 1|0.3 0.6

# waves
16|-%p*ln(1+t)+%w*sin(%f*t)|1.1 1.5 2 3|0.3 2|0.1 1 2.5
10|-t/%a+%w*cos(%f*t+1)|3 50 1000|0.5 3|0.01 1 3
10|ln(%c+cos(%f*t))-%p*ln(1+t)|1 1.01 2|0.1 1|1.2 2
10|-(%c+%w*cos(%f*t))*ln(1+t)|1 1.5 2.5|0.2 1|0.3 1
6|-%p*ln(1+t)-t*abs(sin(%f*t))/%d|0.5 2|1 0.1|1 100
8|%w*sin(pi*t/%k)-%p*ln(1+t)|0.5 3|1 3 7 64|1.05 2
6|-t^%q*(1+sin(%f*t))|0.5 1 3|1 0.25
8|sum(i,1,%k,cos(t/%b^i))/%d-%p*ln(1+t)|2 8 40|2 10|1 5|1.3 2.5
6|%w*cos(t^%q)-%p*ln(1+t)|0.5 2|0.5 2|1.5 2
6|%w*sin(ln(1+t))-%p*ln(1+t)|0.3 1|0.9 1.2 2

# pieces and windows
10|t<%c?%w:-%p*ln(1+%a*t)|3 64 10^6|0.05 1|1.2 4|0.5 3
8|t<%c?-t/%d:t<%e?-%p*ln(1+t):-inf|10 500|5 100|600 10^6|1 2
8|window(%c)-%p*ln(1+t)|21 448 10^6 10^20|0.05 0.3 1 2
6|t<%a?0:t<%b?-1:t<%c?-2:-%p*t|3 10|20 50|100 4000|0.001 1
6|t>%a?-inf:-abs(t-%b)/%c|100 10^5|30 70|4 90
6|abs(t-%a)<%b?-t/%c:-inf|30 500|5 20|10 100

# periods
10|-%p*ln(1+floor(t/%k))|1.05 1.5 2|2 7 64 1000
10|t-%k*floor(t/%k)<%j?-%p*ln(1+t):-inf|8 30 500|1 3|1 1.2 2
6|(-1)^t*%w-%p*ln(1+t)|0.5 5|0.9 1.1 2
8|-(%p+t-%k*floor(t/%k))*ln(1+t)|0.9 1.05 2|2 4 16
6|-floor(t/%k)/%d-(t-%k*floor(t/%k))*%a|3 40|2 30|0.1 1

# buckets
10|-%w*floor(%m*ln(1+t)/ln(2))|0.5 0.7 1 3|1 2 16
8|t<16?-t/%a:-%w-floor(%m*ln(t/16)/ln(8))|8 16|2 16|2 4 8
8|t<16?-t/16:-min(%k,16+floor(16*ln(t/16)/ln(8)))/%d|31 40 63|1 3
6|-%w*floor(sqrt(t))|0.1 0.5 1 3 0.01 7
6|-%w*floor(ln(1+ln(1+t)))-%p*ln(1+t)|1 2|0.5 1.1 2

# least and greatest
8|min(-%p*ln(1+t),%c-%q*ln(1+t))|1.2 2 2.75|0.05 1|3 4
8|max(-%p*ln(1+t),-t/%d)|1 1.3 2|3 50 1000
8|max(-%c,-%p*ln(1+t))-%q*ln(2+t)|1 10|1 2|0.9 1.1 2
6|-max(%c,t)/%d|5 60 1000|2 30
6|min(0,%c-t)/%d+min(0,%e-t)/%d|5 40|3 30|70 900
6|-min(t/%a,%p*ln(1+t))-%w*ln(1+ln(1+t))|10 1000|1 1.5|0.5 2

# sums to t
8|-%p*sum(i,1,t,1/i)|0.5 1 1.1 1.5 2 3 5 10
6|-sum(i,1,t,1/i^%q)/%d|0.3 0.5 0.9|1 5 20
4|-sum(i,0,t,i^%q)/%d|0.5 1|3 100
4|-%p*sum(i,1,t,1/(i+%c))-ln(1+t)/2|0.6 2|1 10
4|-sum(i,1,t,ln(%c+i)/i)|1 3 10 100

# sums of many terms
8|-sum(i,1,%n,ln(1+t/i))/%d|10 100 1000|5 90
6|-sum(i,1,%n,sqrt(t+i))/%n-%p*ln(1+t)|10 300 3000|0.1 2
6|-sum(i,1,%n,abs(t-%c*i))/%d|30 300 2000|3 7|100 10^5
4|-sum(i,1,%n,1/(1+t/i))-2*ln(1+t)|20 2000 50 500
4|sum(i,1,%n,exp(-t/i))/%n-t/%d|20 500|30 1000

# quotients
8|-%a*t/(%c+t)*ln(1+t)|1 1.5 3|5 10 300
6|-t^2/(%c+t)/%d|10 1000|1 5 90
8|-(1+%a/ln(2+t))*ln(1+t)|0.5 1 3 30
8|-(1+%a*ln(ln(3+t))/ln(3+t))*ln(3+t)|0.5 1 1.5 2 5
6|ln(1/(%c+t)-1/(%d+t))|1 2.5|3 7 100
6|sqrt(t^2+%c)-t-%p*ln(1+t)|1 50|1 1.3 2
6|-t/(1+%a*sqrt(t))|0.1 1 3 0.01 10 30
6|-%p*ln(1+t)*(1+t)/(%c+t)-%w/(1+t)|1 2|2 9|1 5
6|3*ln(sqrt(t+%c)-sqrt(t))+%w*exp(-t)|1 2 30|0.5 4

# constants
6|-sqrt(%c)*ln(1+t)|1.0001 1.5 2 3 1.1 10^6
6|-%a*t-%b|10^-12 10^-3 10^9|10^-20 10^30
6|-(sqrt(%a)*sqrt(%b)-sqrt(%c))*t-t/%d|2 3|3 5|6 15|10 300
4|-%p*ln(1+t)+exp(%c)|1.5 2|5 300
"""


def shapes():
    for line in SHAPES.strip().split("\n"):
        if "|" not in line:
            if line:
                yield line
            continue
        most, shape, *values = line.split("|")
        letters = list(dict.fromkeys(shape[i + 1] for i in range(len(shape)) if shape[i] == "%"))
        assert len(letters) == len(values), line
        choices = list(itertools.product(*(v.split() for v in values)))
        count = min(int(most), len(choices))
        for n in range(count):
            text = shape
            for letter, value in zip(letters, choices[n * len(choices) // count]):
                text = text.replace("%" + letter, value)
            yield text


def golden(name):
    with open(os.path.join(HERE, name)) as f:
        for row in csv.DictReader((line.lstrip("# ") for line in f), delimiter="\t", quoting=csv.QUOTE_NONE):
            if row.get("set", "-") == "-":
                yield row["formula"]


def main():
    lines, seen = [], set()

    def add(text):
        if text.startswith("#") or text and text not in seen:
            seen.add(text)
            lines.append(text)
            return not text.startswith("#")
        return False
    left = COUNT
    for name, texts in (("natural.tsv", golden("natural.tsv")), ("cases.tsv", golden("cases.tsv")), ("slow", SLOW.split("\n"))):
        add("# " + name)
        left -= sum(add(text) for text in texts)
    more = [text for text in dict.fromkeys(shapes()) if text not in seen]
    count = n = sum(not text.startswith("#") for text in more)
    for text in more: # those left out are evenly spread
        if text.startswith("#"):
            add(text)
            continue
        n -= 1
        if left * (n + 1) // count > left * n // count:
            add(text)
    assert len([line for line in lines if not line.startswith("#")]) == COUNT, "shapes are missing"
    with open(os.path.join(HERE, "formulas.txt"), "w") as out:
        out.write("# Biases of all families, by formulas.py\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
