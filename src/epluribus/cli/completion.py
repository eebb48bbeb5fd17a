"""Shell completion: a script made from the parser of the command line."""

from __future__ import annotations

import argparse
from string import Template

__all__ = ["completion_script"]

_BASH = Template("""\
_epluribus() {
    local cur=$${COMP_WORDS[COMP_CWORD]} prev=$${COMP_WORDS[COMP_CWORD-1]} words=""
    if [ "$$COMP_CWORD" -eq 1 ]; then
        words="$commands"
    else
        case "$${COMP_WORDS[1]}:$$prev" in
$values
        *)
            case "$${COMP_WORDS[1]}" in
$options
            esac ;;
        esac
    fi
    case "$$words:$$cur" in
    --*:-*|[!-]*:*) COMPREPLY=($$(compgen -W "$$words" -- "$$cur")) ;;
    *) COMPREPLY=() ;;
    esac
    [ "$${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($$(compgen -f -- "$$cur"))
}
complete -o filenames -F _epluribus epluribus""")

_ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Script that completes the commands, options and choices of `parser`, for bash or zsh."""
    commands = _commands(parser)
    values: list[str] = []
    options: list[str] = []
    for name, command in commands.items():
        words: list[str] = []
        for action in command._actions:
            words += [option for option in action.option_strings if option.startswith("--")]
            choices = " ".join(_choices(action))
            if choices and action.option_strings:
                values += [
                    f'        {name}:{option}) words="{choices}" ;;'
                    for option in action.option_strings
                ]
            elif choices:
                values.append(f'        {name}:{name}) words="{choices}" ;;')
        options.append(f'            {name}) words="{" ".join(words)}" ;;')
    script = _BASH.substitute(
        commands=" ".join([*commands, "--help", "--version"]),
        values="\n".join(values),
        options="\n".join(options),
    )
    return _ZSH + script if shell == "zsh" else script


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _choices(action: argparse.Action) -> list[str]:
    """Values that an argument takes, where they can be listed."""
    if action.dest == "loss":
        from epluribus.losses import available

        return list(available())
    if action.dest == "search":
        from epluribus.search._minimize import SEARCHES

        return list(SEARCHES)
    if action.dest == "prior":
        from epluribus.models.prior import ON_K

        return list(ON_K)
    if action.dest == "moves":
        from epluribus.sampling.moves import SCHEDULES

        return list(SCHEDULES)
    return [str(choice) for choice in action.choices or ()]
