#!/usr/bin/env bash
# vary.sh NUMBER NAME: prints exercises/faults/NUMBER_….cpp with the change of that name in exercises/faults/mends.txt.
# Every line that goes must stand there once. NAME sick changes nothing.
cd "$(dirname "$0")/../faults" || exit
awk -v wanted="$1 $2" '
    FNR == NR { if (!/^[-+=#]/) here = $0 == wanted
                if (here && /^-/) old[++n] = substr($0, 3)
                if (here && /^\+/) new[n] = substr($0, 3)
                next }
    { for (i = 1; i <= n; i++) if ($0 == old[i]) { $0 = new[i]; met[i]++; break }
      print }
    END { for (i = 1; i <= n; i++) if (met[i] != 1) { print "not there once: " old[i] >"/dev/stderr"; exit 1 }
          if (!n && wanted !~ / sick$/) { print "no change " wanted >"/dev/stderr"; exit 1 } }
' mends.txt "$(ls "$1"_*.cpp)"
