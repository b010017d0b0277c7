package cloud

import "strings"

// consoleLines is the number of lines of console output to keep. Boot failures are at its end.
const consoleLines = 100

// TailConsole returns the last lines of a machine's console output.
func TailConsole(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-consoleLines):], "\n")
}
