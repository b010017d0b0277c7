package spec

// HookFile is the script among a task's files that runs before its program.
const HookFile = "startup-hook.sh"

// runHook sources the script, in the work directory, in the shell that becomes the program, so that
// exported variables apply. If a command of the script fails, the task ends with its exit code. It uses
// bash if present, because hooks are written for bash.
const runHook = `s=/bin/sh; [ -x /bin/bash ] && s=/bin/bash
exec "$s" -c 'set -e; if [ -f ./startup-hook.sh ]; then . ./startup-hook.sh; fi; set +e; exec "$@"' "$0" "$@"`

// afterHook returns a command line that runs the script before argv.
func afterHook(argv []string) []string {
	return append([]string{"/bin/sh", "-c", runHook, HookFile}, argv...)
}
