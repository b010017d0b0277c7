package chart

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// effect is a value of the chart of Determined 0.38.1 that has a different effect here.
type effect struct {
	path, says string
	// when reports whether a value has a different effect; nil means every value.
	when func(value any) bool
}

// oldestPostgres is the minimum major version of PostgreSQL.
const oldestPostgres = 13

func upstreamEffects() []effect {
	const unbuilt = "has no effect yet: the feature is not built"
	out := []effect{
		{"detVersion", "is the tag of det-deploy's image, and not a version of Determined", nil},
		{"defaultImages.postgreSQL", "is too old: the master needs PostgreSQL " + strconv.Itoa(oldestPostgres) + " or newer; leave it out for the chart's own", oldPostgres},
		{"defaultImages.kubeScheduler", "is used with defaultScheduler coscheduler only, and one from k8s.gcr.io is too old for it; leave it out for the chart's own", isFrozenRegistry},
		{"defaultImages.kubeSchedulerPreemption", "has no effect: preemption is the master's own, without a scheduler", nil},
		{"resourcePools", "has kubernetes_namespace in a pool, which has no effect: all pools have the namespace resourceManager.defaultNamespace", hasNamespace},
		{"createNonNamespacedObjects", "as false also means that no namespace is made for tasks", isFalse},
		{"telemetry.enabled", "has no effect: nothing is reported to anybody", isTrue},
		{"tensorboardTimeout", unbuilt, nil},
		{"notebookTimeout", unbuilt, nil},
		{"taskContainerDefaults.logPolicies", unbuilt, nil},
		{"security.token", "has no effect: how long sessions last is the master's own", nil},
		{"retentionPolicy.schedule", "has no effect: old logs are looked for every ten minutes", nil},
		{"defaultScheduler", "as preemption is the master's own: it asks tasks to stop, and Kubernetes' scheduler stays as it is", func(v any) bool { return v == "preemption" }},
		{"db.snapshotSuffix", "takes the snapshot in the release's namespace, with the class db.snapshotClassName or the cluster's own", nil},
	}
	for _, path := range []string{
		"db.memRequest", "db.memLimit", "masterMemRequest", "masterMemLimit", "coscheduler.memRequest", "coscheduler.memLimit",
		"db.storageSize", "checkpointStorage.storageSize",
	} {
		out = append(out, effect{path, "is an amount of bytes; give it a unit such as Gi, as in 2Gi", fewBytes})
	}
	return out
}

// OtherEffects returns a sentence for each value whose effect differs from the chart of Determined
// 0.38.1.
func OtherEffects(v Values) []string {
	var out []string
	for _, e := range upstreamEffects() {
		value, found := v.Get(e.path)
		if found && value != nil && value != "" && (e.when == nil || e.when(value)) {
			out = append(out, "The value "+e.path+" "+e.says+".")
		}
	}
	return out
}

func oldPostgres(value any) bool {
	text, _ := value.(string)
	m := regexp.MustCompile(`(?:^|/)postgres:(\d+)`).FindStringSubmatch(text)
	if m == nil {
		return false
	}
	major, err := strconv.Atoi(m[1])
	return err == nil && major < oldestPostgres
}

func isFrozenRegistry(value any) bool {
	text, _ := value.(string)
	return regexp.MustCompile(`^k8s\.gcr\.io/`).MatchString(text)
}

// hasNamespace reports whether a pool of the list has a namespace.
func hasNamespace(value any) bool {
	pools, _ := value.([]any)
	return slices.ContainsFunc(pools, func(p any) bool {
		pool, _ := p.(map[string]any)
		return pool["kubernetes_namespace"] != nil && pool["kubernetes_namespace"] != ""
	})
}

// fewBytes reports whether an amount of memory or storage is below 1 MiB: its unit is missing, or the unit m, which is
// a thousandth.
func fewBytes(value any) bool {
	text, thousandths := strings.CutSuffix(fmt.Sprint(value), "m")
	n, err := strconv.ParseFloat(text, 64)
	if thousandths {
		n /= 1000
	}
	return err == nil && n > 0 && n < 1<<20
}

func isTrue(value any) bool  { return value == true }
func isFalse(value any) bool { return value == false }
