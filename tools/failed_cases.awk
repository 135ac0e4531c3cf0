# Of GoogleTest's output: what failed cases said, the case in which the process ended too early, and what was said outside
# of cases (a sanitizer at the end).
/^\[ RUN / { text = ""; name = $4; running = 1 }
running { text = text $0 "\n" }
!running && !/^(\[[-=]|$)/
/^\[       OK |^\[  SKIPPED / { running = 0 }
running && /^\[  FAILED  \].* ms\)$/ { printf "%s", text; running = 0 }
END { if (running) printf "%s[  FAILED  ] %s: the process ended\n", text, name }
