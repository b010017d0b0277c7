package pool

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/show"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// describePolicy describes the task policy of a pool, one setting per line.
func describePolicy(p *apiv1.TaskPolicy) [][2]string {
	if p == nil { // the master is older than task policies
		return nil
	}
	var paths []string
	for _, h := range p.GetHostPaths() {
		text := h.GetPath()
		if h.GetReadOnly() {
			text += " (read only)"
		}
		if h.GetShared() {
			text += " (shared)"
		}
		paths = append(paths, text)
	}
	out := [][2]string{
		{"Host paths", list(paths, "none")},
		{"Capabilities", list(p.GetCapabilities(), "none")},
		{"Devices", list(p.GetDevices(), "none")},
		{"Images", list(p.GetImages(), "all")},
		{"Root", show.YesNo(p.GetRoot())},
		{"Privileged", show.YesNo(p.GetPrivileged())},
		{"Host", list(hostParts(p), "none")},
		{"Max shm", amount(p.GetMaxShmSize())},
		{"Max memory", amount(p.GetMaxMemory())},
		{"Max processes", number(p.GetMaxProcesses())},
		{"Min priority", number(int64(p.GetMinPriority()))},
	}
	for _, w := range p.GetWarnings() {
		out = append(out, [2]string{"Warning", w})
	}
	for i := range out {
		out[i][0] = "Policy: " + strings.ToLower(out[i][0])
	}
	return out
}

func hostParts(p *apiv1.TaskPolicy) []string {
	var out []string
	for _, part := range []struct {
		is   bool
		name string
	}{{p.GetHostNetwork(), "network"}, {p.GetHostPid(), "processes"}, {p.GetHostIpc(), "ipc"}} {
		if part.is {
			out = append(out, part.name)
		}
	}
	return out
}

func list(all []string, empty string) string {
	if len(all) == 0 {
		return empty
	}
	return strings.Join(all, ", ")
}

func number(n int64) string {
	if n == 0 {
		return "no limit"
	}
	return strconv.FormatInt(n, 10)
}

func amount(bytes int64) string {
	if bytes == 0 {
		return "no limit"
	}
	return fmt.Sprintf("%d bytes", bytes)
}
