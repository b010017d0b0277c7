package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// foreignContainers lists what a pod spec uses that belongs to the cluster or to another task,
// as sentences. No task may, not even an administrator's: with the passwords of the
// master and its database, or with another task's token, a task acts as another user.
func foreignContainers(s *corev1.PodSpec, t Template) []string {
	var out []string
	for _, r := range listReferences(s) {
		if why := t.ownerOf(r); why != "" {
			out = append(out, fmt.Sprintf("%s: no task may use %s %s, which belongs to %s", r.path, r.kind, r.name, why))
		}
	}
	return out
}

// ownerOf is the owner of an object that no task may use; empty if tasks may use it.
func (t Template) ownerOf(r reference) string {
	const cluster = "the cluster"
	begins := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.name, p) })
	}
	isSecret := r.kind == secretObject || r.kind == pullObject || r.kind == optionObject
	isClaim := r.kind == claimObject || r.kind == optionObject
	switch {
	case r.kind == pullObject && slices.Contains(t.PullSecrets, r.name):
		return "" // every task of the cluster pulls with it
	case r.kind != accountObject && (slices.Contains(t.Protected, r.name) || isSecret && slices.Contains(t.PullSecrets, r.name)):
		return cluster
	case isClaim && (r.name == t.CheckpointClaim || begins(checkpointClaims)):
		return cluster + ": experiments get their own directories of it"
	case isSecret && begins(jobPrefix):
		return "a task"
	case isSecret && begins("determined-secrets-", "determined-master-", "determined-db-", "determined-coscheduler-", "sh.helm.release."):
		return cluster
	case isClaim && begins("determined-db-", "determined-master-", "determined-backup-"):
		return cluster
	case r.kind == accountObject && begins("determined-master-", "determined-db-", "determined-coscheduler-"):
		return cluster
	}
	return ""
}
