package policy

import (
	"fmt"
	"path"
	"strings"
)

// Asked is the set of a task's requests, each with its field in the task's configuration.
type Asked struct {
	Mounts       []Mount
	Devices      []Text
	Capabilities []Text
	Images       []Text
	// Chosen are those of Images that the task's owner names, and not the cluster.
	Chosen []Text
	// Users are the Unix accounts of its programs.
	Users []User
	// Privileged, HostNetwork, HostPID and HostIPC are the fields that request these.
	Privileged, HostNetwork, HostPID, HostIPC []string
	// Priority is the priority of the job; 0 for that of its pool.
	Priority int
	// Priorities are priority classes above all others.
	Priorities []Text
	// Tokens are the fields that request the token of a Kubernetes service account.
	Tokens      []string
	Shm, Memory []Amount
	// Never are requests that no user may make under any policy, as found by the caller.
	Never []Violation
}

// Mount is a mounted path of the machine.
type Mount struct {
	Field    string
	Path     string
	ReadOnly bool
	// Propagation is as in task configurations: rprivate, rslave, rshared and so on.
	Propagation string
	// Storage reports that the cluster mounts it for checkpoints.
	Storage bool
}

// Text is a requested value.
type Text struct{ Field, Value string }

// User is an account; root has UID 0.
type User struct {
	Field string
	UID   int64
}

// Amount is a number of bytes.
type Amount struct {
	Field string
	Bytes int64
}

// Violation is a request that the policy forbids.
type Violation struct {
	// Field is its field in the task's configuration: "bind_mounts[0].host_path".
	Field string
	// Text describes the violation.
	Text string
	// Allow is the setting of master.yaml that would allow it, or "" if no user may have it.
	Allow string
}

// String returns a text such as "bind_mounts[0].host_path: …; to allow it, …".
func (v Violation) String() string {
	s := v.Field + ": " + v.Text
	if v.Allow != "" {
		s += "; to allow it, an administrator sets " + v.Allow
	}
	return s
}

// Error reports a task with forbidden requests.
type Error struct{ Violations []Violation }

// Error returns one violation per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		lines[i] = v.String()
	}
	return strings.Join(lines, "\n")
}

// Check returns an *Error with the violations, or nil.
func Check(p Policy, a Asked) error {
	if v := Judge(p, a); len(v) > 0 {
		return &Error{Violations: v}
	}
	return nil
}

// Judge returns all forbidden requests of a task.
func Judge(p Policy, a Asked) []Violation {
	var out violations
	out = append(out, a.Never...)
	for _, m := range a.Mounts {
		out.checkMount(p, m)
	}
	for _, d := range a.Devices {
		out.checkDevice(p, d)
	}
	if p.Free {
		return out
	}
	for _, c := range a.Capabilities {
		out.checkAllowed(p.findCapability(c.Value), c.Field, fmt.Sprintf("the capability %s is not allowed", quoteText(Capability(c.Value))),
			list("capabilities", Capability(c.Value)))
	}
	for _, i := range a.Chosen {
		out.checkRegistry(p, i)
	}
	for _, i := range a.Images {
		out.checkAllowed(p.findImage(i.Value), i.Field, fmt.Sprintf("the image %s is not among those that may run (%s)", quoteText(i.Value), showAll(p.Images)),
			list("images", fullImage(i.Value)))
	}
	for _, u := range a.Users {
		out.checkAllowed(p.Root || u.UID != 0, u.Field, "the task would run as root, which is not allowed; "+
			"link an account to its owner with `det user link-with-agent-user`, or set security.default_task", "task_policy.root: true")
	}
	out.checkFlags(p.Privileged, a.Privileged, "a privileged container is not allowed", "privileged")
	out.checkFlags(p.HostNetwork, a.HostNetwork, "the machine's network is not allowed", "host_network")
	out.checkFlags(p.HostPID, a.HostPID, "the machine's processes are not allowed", "host_pid")
	out.checkFlags(p.HostIPC, a.HostIPC, "the machine's shared memory and semaphores are not allowed", "host_ipc")
	out.checkPriority(p, a.Priority)
	for _, c := range a.Priorities {
		out.checkAllowed(false, c.Field, fmt.Sprintf("the priority class %s is reserved for node-critical pods and administrators", quoteText(c.Value)), "")
	}
	for _, field := range a.Tokens {
		out.checkAllowed(false, field, "only administrators may give tasks a Kubernetes API token, in the pool's pod spec "+
			"(task_container_defaults.cpu_pod_spec and gpu_pod_spec)", "")
	}
	for _, s := range a.Shm {
		out.checkAmount(p.MaxShm, s, "shared memory", "max_shm_size")
	}
	for _, m := range a.Memory {
		out.checkAmount(p.MaxMemory, m, "memory", "max_memory")
	}
	return out
}

type violations []Violation

func (v *violations) checkAllowed(ok bool, field, text, allow string) {
	if !ok {
		*v = append(*v, Violation{Field: field, Text: text, Allow: allow})
	}
}

func (v *violations) checkFlags(allowed bool, fields []string, text, key string) {
	for _, f := range fields {
		v.checkAllowed(allowed, f, text, "task_policy."+key+": true")
	}
}

func (v *violations) checkAmount(most int64, a Amount, what, key string) {
	v.checkAllowed(most == 0 || a.Bytes <= most, a.Field, fmt.Sprintf("%d bytes of %s exceed the limit of %d", a.Bytes, what, most),
		fmt.Sprintf("task_policy.%s: %d", key, a.Bytes))
}

// checkRegistry checks that an image is not fetched from the machine itself or its metadata server,
// unless the policy lists it.
func (v *violations) checkRegistry(p Policy, image Text) {
	ok := !isOwnRegistry(image.Value) || len(p.Images) > 0
	v.checkAllowed(ok, image.Field, fmt.Sprintf("the registry of the image %s is the machine that runs the task, or only reachable from there", quoteText(image.Value)),
		list("images", fullImage(image.Value)))
}

func (v *violations) checkMount(p Policy, m Mount) {
	host := path.Clean(m.Path)
	if !path.IsAbs(m.Path) || strings.ContainsRune(m.Path, 0) {
		v.checkAllowed(false, m.Field, "must be an absolute path", "")
		return
	}
	if guarded, reached := Reaches(host, Guarded()); reached {
		v.checkAllowed(false, m.Field, neverMounted(host, guarded), "")
		return
	}
	if p.Free {
		return
	}
	allowed, found := p.findMount(host, m.Storage)
	switch {
	case !found && p.isStorage(host):
		v.checkAllowed(false, m.Field, fmt.Sprintf("%s is in the checkpoint storage, where an experiment may only mount its own directory", quoteText(host)), "")
	case !found:
		v.checkAllowed(false, m.Field, fmt.Sprintf("%s is not among the host paths that tasks may mount", quoteText(host)), list("host_paths", host))
	case allowed.ReadOnly && !m.ReadOnly:
		v.checkAllowed(false, m.Field, fmt.Sprintf("%s may be mounted with read_only: true only", quoteText(host)),
			fmt.Sprintf("task_policy.host_paths: [{path: %s, read_only: false}]", quoteText(allowed.Path)))
	case shares(m.Propagation) && !allowed.Shared:
		v.checkAllowed(false, m.Field, fmt.Sprintf("%s may not be mounted with propagation %s", quoteText(host), quoteText(m.Propagation)),
			fmt.Sprintf("task_policy.host_paths: [{path: %s, shared: true}]", quoteText(allowed.Path)))
	}
}

// allowsPriority reports whether a job may have a priority; 0 is that of its pool.
func (p Policy) allowsPriority(n int) bool {
	switch {
	case p.MinPriority == 0 || n == 0:
		return true
	case p.HighFirst:
		return n <= p.MinPriority
	default:
		return n >= p.MinPriority
	}
}

func (v *violations) checkPriority(p Policy, n int) {
	v.checkAllowed(p.allowsPriority(n), "resources.priority", fmt.Sprintf("the priority %d is more urgent than %d, the most urgent one that is allowed", n, p.MinPriority),
		fmt.Sprintf("task_policy.min_priority: %d", n))
}

func shares(propagation string) bool {
	switch propagation {
	case "", "private", "rprivate", "slave", "rslave":
		return false
	}
	return true
}

func (v *violations) checkDevice(p Policy, d Text) {
	host := path.Clean(d.Value)
	if !path.IsAbs(d.Value) {
		v.checkAllowed(false, d.Field, "must be an absolute path", "")
		return
	}
	if guarded, reached := Reaches(host, Guarded()); reached {
		v.checkAllowed(false, d.Field, neverMounted(host, guarded), "")
		return
	}
	v.checkAllowed(p.Free || p.findDevice(host), d.Field, fmt.Sprintf("the device %s is not allowed", quoteText(host)), list("devices", host))
}

func neverMounted(host, guarded string) string {
	if host == guarded {
		return fmt.Sprintf("%s is not allowed for any task, including those of administrators", quoteText(host))
	}
	return fmt.Sprintf("%s is not allowed for any task, including those of administrators: it exposes %s", quoteText(host), quoteText(guarded))
}

func list(key, value string) string {
	return fmt.Sprintf("task_policy.%s: [%s]", key, quoteText(value))
}

// longest is the maximum length of a quoted user text.
const longest = 200

// quoteText quotes a user's text so that it stays on one line.
func quoteText(s string) string {
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	if strings.IndexFunc(s, strange) >= 0 || s == "" {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func strange(r rune) bool { return r <= ' ' || r == 0x7f || r > 0x7e && r != '…' }

func showAll(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quoteText(s)
	}
	return strings.Join(out, ", ")
}
