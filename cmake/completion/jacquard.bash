# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completion for bash; what there is, complete.sh asks of the program.
_jacquard() {
    local program line

    program=$(type -P -- "$1") || return
    COMPREPLY=()
    while IFS= read -r line; do COMPREPLY+=("${line%%$'\t'*}"); done < <(
        "${program%/*}/../share/jacquard/complete.sh" "$program" "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null
    )
}
complete -o default -F _jacquard sim-run jacquard jacquard-fabricd jacquard-lnet jacquard-lst jacquard-m0 pmnameserver mad_ping mad_test
