package apiv1

import "strings"

// StateWord returns the name of a state in lower case and without its prefix, such as "running" for
// STATE_RUNNING.
func StateWord(name string) string { return strings.ToLower(strings.TrimPrefix(name, "STATE_")) }
