package config

import (
	"fmt"
	"strconv"
	"strings"
)

// DefaultTaskUsers lies between what systemd hands out (up to 65535) and what
// useradd gives to containers of users (from 100000 on).
const DefaultTaskUsers = "70000-79999"

// DefaultTaskProcessLimit stops a task that forks without end, and no training: a machine of 256
// cores whose loaders have a thread for each has some thousands.
const DefaultTaskProcessLimit = 32768

// TaskUserRange is task_users as numbers, which are 0 where it is empty.
func (a Agent) TaskUserRange() (first, last int, err error) {
	if a.TaskUsers == "" {
		return 0, 0, nil
	}
	from, to, _ := strings.Cut(a.TaskUsers, "-")
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	// Lower IDs are the system's own; the largest are reserved (overflow and -1).
	if err1 != nil || err2 != nil || first < 1000 || last < first || last > 1<<31-2 {
		return 0, 0, fmt.Errorf("must be FIRST-LAST with 1000 <= FIRST <= LAST, such as %s (is %q)", DefaultTaskUsers, a.TaskUsers)
	}
	return first, last, nil
}
