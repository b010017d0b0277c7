package cloud

import "strings"

// consoleLines is how much of a boot is shown: what went wrong is at the end.
const consoleLines = 100

// TailConsole is the last lines of what a machine wrote while it booted.
func TailConsole(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-consoleLines):], "\n")
}
