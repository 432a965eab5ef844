//! Flags that are on or off: `--dev`, and as Hydra takes them, `--dev=true`, `--dev=false`.

use clap::{Arg, ArgAction, Command};

use super::value;

/// The command, whose flags may all be given a value.
pub(super) fn with_values(command: Command) -> Command {
    command.mut_args(with_value).mut_subcommands(with_values)
}

fn with_value(flag: Arg) -> Arg {
    if !matches!(flag.get_action(), ArgAction::SetTrue) {
        return flag;
    }
    flag.action(ArgAction::Set)
        .value_parser(value::boolean)
        .value_name("BOOL")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("true")
        .default_value("false")
        .hide_default_value(true)
}
