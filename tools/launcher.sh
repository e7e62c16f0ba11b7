# The part of the launcher that tests and measures: what that needs is installed, and Python does the work. Read by
# ../hakmem, whose functions and variables it uses.
# shellcheck shell=sh disable=SC2034,SC2154

# --- testing -----------------------------------------------------------------------------------------------------------

# Prints the Debian packages that the tests need and that are not here. Lines of tests/packages.txt: a package, what it is
# for; of tests/programs/packages.txt: a package, `core` or `all`, a program that makes it unnecessary. $1: core or all.
missing_packages() {
    sed 's/#.*//' "$root/tests/packages.txt" | while read -r package _; do
        is_installed "$package" || printf '%s\n' "$package"
    done
    sed 's/#.*//' "$root/tests/programs/packages.txt" | while read -r package extent program; do
        case $1:$extent in *:core | all:all) ;; *) continue ;; esac
        if [ -e "$program" ] || have "$program"; then continue; fi
        is_installed "$package" || printf '%s\n' "$package"
    done
}

# An empty name, of an empty line, needs nothing.
is_installed() {
    [ -z "$1" ] || case $(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null) in
    ii*) ;;
    *) return 1 ;;
    esac
}

python_works() {
    have "$1" && "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# A Python environment of the tests' own, made anew when its list of packages changed: what the tests need, and what the
# package in python/ depends on.
make_venv() {
    name_plainly "$root" tree ''
    venv=$plain/build/venv
    requirements=$root/tests/requirements.txt
    project=$root/python/pyproject.toml
    if cat "$requirements" "$project" | cmp -s - "$venv/made-for" && "$venv/bin/python" -c 'import pytest' 2>/dev/null; then
        return
    fi
    python=
    for python in /usr/bin/python3 python3; do
        if python_works "$python"; then break; fi
        python=
    done
    [ -n "$python" ] || fail 'Python 3.11 or later with its venv module is missing (Debian: python3 python3-venv)'
    say "making a Python environment in $venv"
    rm -rf "$venv"
    "$python" -m venv "$venv" >&2 || fail "$venv could not be made by $python"
    dependencies='import sys, tomllib; print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["dependencies"])'
    # shellcheck disable=SC2046 # words
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$requirements" \
        $("$venv/bin/python" -c "$dependencies" "$project") </dev/null >&2 ||
        fail "pip could not install what $requirements and $project list"
    cat "$requirements" "$project" >"$venv/made-for"
}

run_tests() {
    check_test_arguments "$@"
    assume_yes=yes
    programs=core
    for argument in "$@"; do
        [ "$argument" != --all ] || programs=all
    done
    if have dpkg-query; then
        packages=$(missing_packages "$programs" | sort -u | tr '\n' ' ')
        # shellcheck disable=SC2086 # words
        [ -z "$packages" ] || install_packages 'something the tests need' $packages
    else
        say "not Debian: nothing is installed; the tests need what $root/tests/packages.txt names"
    fi
    make_venv
    build always
    exec "$venv/bin/python" "$root/tools/run_tests.py" "$@"
}

check_test_arguments() {
    while [ $# -gt 0 ]; do
        case $1 in
        --all | --long) ;;
        --help | -h) help_of test ;;
        -k)
            [ $# -gt 1 ] || misuse 'test: -k needs an expression'
            shift
            ;;
        *) misuse "test: unknown argument $1" ;;
        esac
        shift
    done
}

# --- measuring ---------------------------------------------------------------------------------------------------------

# Prints the Debian packages of bench/packages.txt that the command $1 needs and that are not here.
missing_for() {
    sed 's/#.*//' "$root/bench/packages.txt" | while read -r package commands program; do
        case ,$commands, in *",$1,"*) ;; *) continue ;; esac
        if [ -e "$program" ] || have "$program"; then continue; fi
        is_installed "$package" || printf '%s\n' "$package"
    done
}

# $1: the command; the rest: its arguments. The package in python/ does the work.
measure() {
    measured=$1
    shift
    if [ "${1-}" = --yes ]; then
        assume_yes=yes
        shift
    fi
    if have dpkg-query; then
        packages=$(missing_for "$measured" | tr '\n' ' ')
        # shellcheck disable=SC2086 # words
        [ -z "$packages" ] || install_packages "something that $measured needs" $packages
    fi
    make_venv
    case $measured in
    bench | ab | health | trace) if is_stale; then build if-stale; fi ;;
    esac
    exec "$venv/bin/python" "${venv%/build/venv}/python" "$measured" "$@"
}
