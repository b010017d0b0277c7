package gang

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// insufficient matches the scheduler's reason for a resource that no node has enough of.
var insufficient = regexp.MustCompile(`^\d+ Insufficient (\S+)$`)

// foreseen matches the scheduler's reasons that this package checks before it opens a gang.
var foreseen = regexp.MustCompile(`^\d+ node\(s\) (had untolerated taint|didn't match Pod's node affinity/selector$|were unschedulable$)`)

// Lacking returns the insufficient resources in the scheduler's messages about pods. It returns nil
// if a message contains a reason that this package does not check, such as a volume's zone or other
// pods: the message does not name the affected node, which may have enough room.
func Lacking(messages ...string) []corev1.ResourceName {
	var out []corev1.ResourceName
	for _, message := range messages {
		for _, reason := range splitReasons(message) {
			found := insufficient.FindStringSubmatch(reason)
			switch {
			case found != nil:
				out = append(out, corev1.ResourceName(found[1]))
			case strings.HasSuffix(reason, " Too many pods"):
				out = append(out, corev1.ResourcePods)
			case !foreseen.MatchString(reason):
				return nil
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// splitReasons returns the reasons in the first sentence of a scheduler's message, such as "0/3
// nodes are available: 1 Insufficient cpu, 2 Too many pods. no new claims to deallocate,
// preemption: 0/3 nodes are available: ...".
func splitReasons(message string) []string {
	if message == "" {
		return nil
	}
	_, text, found := strings.Cut(message, "available: ")
	if !found {
		text = message
	}
	text, _, _ = strings.Cut(text, ". ")
	return strings.Split(strings.TrimSuffix(strings.TrimSpace(text), "."), ", ")
}
