f() { for i in $@; do A[$i]=$((i**2)); (( B += i )); done; }; f 1 2 3; case $B in ?) X=${A[@]:1:2};; esac
[[ ! ( -n $B || $B -lt 3 ) ]] && eval "$X" <<< x | y 2>&1 &
while read l; do [ "$l" ] || break; done < <(g); A=("${A[@]/1/\}}" `h '$i'`) ; echo ${!A} ${A^} ${#} $'q\'' > z
