#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Candidates for a shell that completes a command line of Jacquard's programs: complete.sh WORD... CURRENT, with the words before
# the cursor and the one at it, which may be empty. Prints lines of a candidate, a tab, and its meaning. They are read from the help of
# the program itself: options are the lines that begin with a dash, commands those of the usage.

# Prints each command (what=commands) or option (what=options) that the help on standard input has, for the program in `path`.
candidates() { # what path
    awk -v what="$1" -v path="$2" '
        { line = $0; sub(/^[Uu]sage:/, "", line); sub(/^ +/, "", line) }
        what == "commands" && index(line, path " ") == 1 {
            rest = substr(line, length(path) + 2)
            if (match(rest, /^[a-z][a-z0-9|-]*/)) {
                after = substr(rest, RLENGTH + 1)
                count = split(substr(rest, 1, RLENGTH), word, "|")
                sub(/^.*   +/, "", after)
                if (after ~ /^ |^\[|^$/) after = ""
                for (i = 1; i <= count; i++) if (!(word[i] in seen)) { seen[word[i]] = 1; print word[i] "\t" after }
            }
        }
        what == "options" && /^ +-/ {
            meaning = ""
            if (match(line, /  +/)) { meaning = substr(line, RSTART + RLENGTH); line = substr(line, 1, RSTART - 1) }
            count = split(line, word, /[ ,=]+/)
            for (i = 1; i <= count; i++) if (word[i] ~ /^-/ && !(word[i] in seen)) { seen[word[i]] = 1; print word[i] "\t" meaning }
        }'
}

help_of() { # program commands...
    case ${1##*/} in
    pmrun) "$1" -list-options 2>/dev/null | sed 's/^/  -/; s/\t/ /; s/\t/  /' ;;
    *) "$@" --help 2>/dev/null ;;
    esac
}

program=$1
path=${1##*/}
commands=
shift
while [ $# -gt 1 ]; do
    # The commands so far have no blanks.
    # shellcheck disable=SC2086
    if help_of "$program" $commands | candidates commands "$path" | cut -f1 | grep -qxF -e "$1"; then
        path="$path $1"
        commands="$commands $1"
    fi
    shift
done
case ${1:-} in -*) what=options ;; *) what=commands ;; esac
# shellcheck disable=SC2086
help_of "$program" $commands | candidates $what "$path" | awk -v start="${1:-}" 'index($0, start) == 1'
