package gang

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// insufficient is how the scheduler names a resource of which no node has enough left.
var insufficient = regexp.MustCompile(`^\d+ Insufficient (\S+)$`)

// foreseen is how it names what else is looked at here before a gang is let go.
var foreseen = regexp.MustCompile(`^\d+ node\(s\) (had untolerated taint|didn't match Pod's node affinity/selector$|were unschedulable$)`)

// Lacking reads the resources of which the scheduler found too little out of what it
// says of pods. It is nil if the scheduler names any reason that is not looked at here,
// such as a volume's zone or other pods: which node it is of is not said, and that node
// may have room enough.
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

// splitReasons are the parts of the first sentence of what the scheduler says of a pod, such as
// "0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods. no new claims to
// deallocate, preemption: 0/3 nodes are available: ...".
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
