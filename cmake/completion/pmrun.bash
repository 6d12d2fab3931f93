# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completion for bash; the options are asked of pmrun itself.
_pmrun() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} dashes

    case ${before##*-} in
    launcher | bootstrap) mapfile -t COMPREPLY < <(compgen -W 'ssh rsh slurm fork' -- "$word") && return ;;
    code) mapfile -t COMPREPLY < <(compgen -W 'max or shell' -- "$word") && return ;;
    auth) mapfile -t COMPREPLY < <(compgen -W 'user challenge draft' -- "$word") && return ;;
    to | by | binding) mapfile -t COMPREPLY < <(compgen -W 'none core hwthread socket numa machine l2cache l3cache' -- "$word") && return ;;
    hostfile | f | machinefile | configfile) mapfile -t COMPREPLY < <(compgen -f -- "$word") && return ;;
    esac
    case $word in
    --*) dashes=-- ;;
    -*) dashes=- ;;
    *) mapfile -t COMPREPLY < <(compgen -c -- "$word") && return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$(pmrun -list-options 2>/dev/null | sed "s/\t.*//; s/^/$dashes/")" -- "$word")
}
complete -o default -F _pmrun pmrun
