package k8s

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
	"github.com/det-deploy/det-deploy/installer"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
)

// Where selects a Kubernetes cluster and namespace.
type Where struct {
	Kubeconfig string
	Context    string
	Namespace  string
	Verbose    bool
}

func (w *Where) addFlags(f *pflag.FlagSet) {
	f.StringVar(&w.Kubeconfig, "kubeconfig", "", "kubeconfig file to use (default KUBECONFIG, then ~/.kube/config)")
	f.StringVar(&w.Context, "kube-context", "", "context of the kubeconfig to use (DET_K8S_CONTEXT)")
	f.StringVar(&w.Context, "context", "", "former name of --kube-context (DET_K8S_CONTEXT)")
	_ = f.MarkHidden("context") // it fails only for an unknown flag
	f.StringVarP(&w.Namespace, "namespace", "n", "", "namespace of the cluster (DET_K8S_NAMESPACE)")
	f.BoolVarP(&w.Verbose, "verbose", "v", false, "show every call to Kubernetes")
}

func (w *Where) kubeAt(s *term.Streams) k8swire.At {
	return k8swire.At{
		Kubeconfig: w.Kubeconfig,
		Context:    cmp.Or(w.Context, s.Getenv("DET_K8S_CONTEXT")),
		Namespace:  cmp.Or(w.Namespace, s.Getenv("DET_K8S_NAMESPACE")),
		Log:        cluster.CallLog(s, w.Verbose),
	}
}

// Which selects the cluster of a command.
type Which struct {
	Where

	Cluster string
}

func (w *Which) addFlags(f *pflag.FlagSet) {
	cluster.AddID(f, &w.Cluster, "")
	w.Where.addFlags(f)
}

func (w *Which) validate() error {
	return cluster.RequireID(w.Cluster, "k8s list")
}

// clusterFlags returns the flags that select the same cluster in another command.
func (w *Which) clusterFlags(k *k8swire.Opened) string {
	line := "--cluster-id " + w.Cluster + " --namespace " + k.Namespace()
	if w.Context != "" {
		line += " --kube-context " + w.Context
	}
	if w.Kubeconfig != "" {
		line += " --kubeconfig " + w.Kubeconfig
	}
	return line
}

// kubectlFlags adds the flags to a kubectl command that select the same Kubernetes cluster.
func (w *Where) kubectlFlags(line string) string {
	more := ""
	if w.Kubeconfig != "" {
		more += " --kubeconfig " + w.Kubeconfig
	}
	if w.Context != "" {
		more += " --kube-context " + w.Context
	}
	return strings.Replace(line, "kubectl", "kubectl"+more, 1)
}

// values holds the flags for values of the chart.
type values struct {
	k8swire.Values
}

func (v *values) addFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&v.Files, "values", "f", nil, "YAML file with values, - for standard input; repeatable (DET_K8S_VALUES)")
	_ = f.MarkShorthandDeprecated("values", "use --values, as -f is --follow elsewhere") // it fails only for an unknown flag
	f.StringArrayVar(&v.Set, "set", nil, "set values, as in db.type=embedded,masterPort=8080; repeatable")
	f.StringArrayVar(&v.SetString, "set-string", nil, "set values as strings, as in --set")
	f.StringArrayVar(&v.SetFile, "set-file", nil, "set values from files, as in db.password=FILE; repeatable")
	f.StringArrayVar(&v.SetJSON, "set-json", nil, "set values from JSON, as in resourcePools=[…]; repeatable")
}

// givenValues returns the given values; DET_K8S_VALUES is used if no --values flag is given.
func (v *values) givenValues(s *term.Streams) k8swire.Values {
	out := v.Values
	if file := s.Getenv("DET_K8S_VALUES"); file != "" && len(out.Files) == 0 {
		out.Files = strings.Split(file, ",")
	}
	return out
}

// isGiven reports whether any value is given.
func (v *values) isGiven() bool {
	return v.Reset || len(v.Files)+len(v.Set)+len(v.SetString)+len(v.SetFile)+len(v.SetJSON) > 0
}

// upgrading holds the flags of upgrade.
type upgrading struct {
	BackupTo   string
	PauseTasks bool
	// Abandon abandons an upgrade in progress instead of starting one.
	Abandon    bool
	PauseLimit time.Duration
	// BackupClaim or BackupBucket is the parsed form of BackupTo.
	BackupClaim, BackupBucket string
}

func (u *upgrading) addFlags(f *pflag.FlagSet) {
	f.StringVar(&u.BackupTo, "backup-to", "", "volume claim for the backup as claim:NAME, or s3://BUCKET/PREFIX (default a new volume for the cluster)")
	f.BoolVar(&u.PauseTasks, "pause-tasks", false, "stop preemptible tasks before the upgrade and resume them afterwards; fails while others run")
	f.DurationVar(&u.PauseLimit, "pause-limit", installer.DefaultPauseLimit, "grace period after which paused tasks are killed, with --pause-tasks")
	f.BoolVar(&u.Abandon, "abandon", false, "abandon an upgrade in progress and return to the previous version")
}

// validate checks the flags. limited reports whether --pause-limit was given, and valued whether values
// were.
func (u *upgrading) validate(limited, valued bool) (err error) {
	if u.PauseLimit < 0 {
		return usage.Errorf("--pause-limit: must be 0 or more (is %s)", u.PauseLimit)
	}
	if limited && !u.PauseTasks {
		return usage.Errorf("--pause-limit: requires --pause-tasks")
	}
	if u.Abandon && (valued || u.BackupTo != "" || u.PauseTasks) {
		return usage.Errorf("--abandon: cannot be combined with values, --backup-to or --pause-tasks")
	}
	u.BackupClaim, u.BackupBucket, err = backupAt(u.BackupTo)
	return err
}

// backupAt parses --backup-to into a claim or a bucket.
func backupAt(to string) (claim, bucket string, err error) {
	kind, rest, _ := strings.Cut(to, ":")
	path := strings.Trim(rest, "/")
	switch {
	case to == "":
		return "", "", nil
	case kind == "claim" && rest != "":
		return rest, "", nil
	case kind == "s3" && strings.HasPrefix(rest, "//") && path != "":
		return "", "s3://" + path, nil
	}
	return "", "", usage.Errorf("--backup-to: must be claim:NAME or s3://BUCKET/PREFIX (is %q); for other buckets, copy the backup from a claim", to)
}

// addTimeout declares --timeout.
func addTimeout(f *pflag.FlagSet, limit *time.Duration) {
	f.DurationVar(limit, "timeout", target.DefaultLimit, "time limit for the master to become ready")
}
