package config

import (
	"fmt"
	"strconv"
	"strings"
)

// DefaultTaskUsers lies between the IDs that systemd allocates (up to 65535) and those that useradd
// allocates for containers of users (from 100000).
const DefaultTaskUsers = "70000-79999"

// DefaultTaskProcessLimit stops fork bombs but not training: on a machine with 256 cores, data
// loaders with a thread per core use several thousand.
const DefaultTaskProcessLimit = 32768

// TaskUserRange parses task_users. It returns 0, 0 if the setting is empty.
func (a Agent) TaskUserRange() (first, last int, err error) {
	if a.TaskUsers == "" {
		return 0, 0, nil
	}
	from, to, _ := strings.Cut(a.TaskUsers, "-")
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	// IDs below 1000 belong to the system; the largest are reserved (overflow and -1).
	if err1 != nil || err2 != nil || first < 1000 || last < first || last > 1<<31-2 {
		return 0, 0, fmt.Errorf("must be FIRST-LAST with 1000 <= FIRST <= LAST, such as %s (is %q)", DefaultTaskUsers, a.TaskUsers)
	}
	return first, last, nil
}
