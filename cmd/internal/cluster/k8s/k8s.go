// Package k8s is the commands for clusters on Kubernetes.
package k8s

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// New returns `det-deploy k8s`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "k8s",
		Short: "Run a cluster on Kubernetes",
		Long: `Run a cluster in a namespace of a Kubernetes cluster: a master, its database, and
tasks as pods. It is a Helm release of the name that --cluster-id gives; helm list
shows it, and the same chart serves plain Helm and GitOps tools. Which Kubernetes is
meant, --kubeconfig, --context and --namespace say as they do to kubectl.`,
		Example: `  det-deploy k8s install --cluster-id lab --set imageRegistry=registry.example.com/team,maxSlotsPerPod=8
  det-deploy k8s status --cluster-id lab
  det-deploy k8s uninstall --cluster-id lab`,
	}
	c.AddCommand(
		newInstall(s, runInstall), newPlan(s, runPlan), newDoctor(s, runDoctor), newStatus(s, RunStatus), newList(s, runList),
		newUpgrade(s, RunUpgrade), newLogs(s, runLogs), newCredentials(s, runCredentials), newValues(s, runValues),
		newTemplate(s, runTemplate), newUninstall(s, RunUninstall), newInitSecrets(s, runInitSecrets), newImage(s),
	)
	return c
}

// Where says which Kubernetes is meant.
type Where struct {
	Kubeconfig string
	Context    string
	Namespace  string
	Verbose    bool
}

func (w *Where) addFlags(f *pflag.FlagSet) {
	f.StringVar(&w.Kubeconfig, "kubeconfig", "", "kubeconfig file to use (default KUBECONFIG, then ~/.kube/config)")
	f.StringVar(&w.Context, "context", "", "context of the kubeconfig to use (DET_K8S_CONTEXT)")
	f.StringVarP(&w.Namespace, "namespace", "n", "", "namespace of the cluster (DET_K8S_NAMESPACE)")
	f.BoolVarP(&w.Verbose, "verbose", "v", false, "show every call to Kubernetes")
}

func (w *Where) at(s *term.Streams) wire.K8sAt {
	at := wire.K8sAt{
		Kubeconfig: w.Kubeconfig,
		Context:    cmp.Or(w.Context, s.Getenv("DET_K8S_CONTEXT")),
		Namespace:  cmp.Or(w.Namespace, s.Getenv("DET_K8S_NAMESPACE")),
	}
	if w.Verbose {
		at.Log = slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return at
}

// Which is the cluster that a command is about.
type Which struct {
	Where

	Cluster string
}

func (w *Which) addFlags(f *pflag.FlagSet) {
	f.StringVar(&w.Cluster, "cluster-id", "", "cluster ID")
	w.Where.addFlags(f)
}

func (w *Which) validate() error {
	if w.Cluster == "" {
		return usage.Errorf("--cluster-id is missing: `det-deploy k8s list` shows what there is")
	}
	if !spec.ValidCluster(w.Cluster) {
		return usage.Errorf("--cluster-id: must be up to 31 lower-case letters, digits and inner dashes, a letter first (is %q)", w.Cluster)
	}
	return nil
}

// open puts together a cluster as it is.
func (w *Which) open(ctx context.Context, s *term.Streams) (*wire.K8s, error) {
	k, err := wire.NewK8s(ctx, s, wire.K8sRequest{Cluster: w.Cluster, At: w.at(s)})
	if err != nil {
		return nil, err
	}
	if there, err := k.Exists(ctx); err != nil || there {
		return k, err
	}
	return nil, absent(ctx, k)
}

// flags are what a further command needs to mean the same cluster.
func (w *Which) flags(k *wire.K8s) string {
	line := "--cluster-id " + w.Cluster + " --namespace " + k.Namespace()
	if w.Context != "" {
		line += " --context " + w.Context
	}
	if w.Kubeconfig != "" {
		line += " --kubeconfig " + w.Kubeconfig
	}
	return line
}

// absentError is a cluster that is not there.
type absentError struct {
	cluster, namespace string
	elsewhere          []string
}

func absent(ctx context.Context, k *wire.K8s) error {
	return &absentError{k.Cluster, k.Namespace(), k.Elsewhere(ctx)}
}

func (e *absentError) Error() string {
	return fmt.Sprintf("there is no cluster %s in namespace %s", e.cluster, e.namespace)
}

// Hint says where it is, or what makes one.
func (e *absentError) Hint() string {
	if len(e.elsewhere) > 0 {
		return "there is one in namespace " + strings.Join(e.elsewhere, ", ") + ": name it with --namespace"
	}
	return "`det-deploy k8s list` shows what there is; `det-deploy k8s install --cluster-id " + e.cluster + "` makes it"
}

// values are what the flags of a command say of the chart's values.
type values struct {
	wire.K8sValues
}

func (v *values) addFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&v.Files, "values", "f", nil, "YAML file with values, - for standard input; repeatable (DET_K8S_VALUES)")
	f.StringArrayVar(&v.Set, "set", nil, "set values, as in db.type=embedded,masterPort=8080; repeatable")
	f.StringArrayVar(&v.SetString, "set-string", nil, "set STRING values")
	f.StringArrayVar(&v.SetFile, "set-file", nil, "set values from files, as in db.password=FILE")
	f.StringArrayVar(&v.SetJSON, "set-json", nil, "set JSON values, as in resourcePools=[…]")
}

// given is what the user says, with the variable below the flags.
func (v *values) given(s *term.Streams) wire.K8sValues {
	out := v.K8sValues
	if file := s.Getenv("DET_K8S_VALUES"); file != "" && len(out.Files) == 0 {
		out.Files = strings.Split(file, ",")
	}
	return out
}

// said reports whether any value is given.
func (v *values) said() bool {
	return v.Reset || len(v.Files)+len(v.Set)+len(v.SetString)+len(v.SetFile)+len(v.SetJSON) > 0
}

// wanted is what the flags of a command say a cluster should be.
type wanted struct {
	Which
	values

	CreateNamespace bool
	Adopt           bool
}

// validate holds what the flags say of a cluster against each other.
func (w *wanted) validate() error {
	if w.Adopt && w.Reset {
		return usage.Errorf("--adopt-determined and --reset-values exclude each other: the first takes the old release's values; leave one out with --set KEY=null")
	}
	return w.Which.validate()
}

func (w *wanted) addFlags(f *pflag.FlagSet) {
	w.Which.addFlags(f)
	w.values.addFlags(f)
	f.BoolVar(&w.Reset, "reset-values", false, "reset all values that are not given to the chart's defaults")
	f.BoolVar(&w.CreateNamespace, "create-namespace", false, "create the namespace if it does not exist")
	f.BoolVar(&w.Adopt, "adopt-determined", false, "replace a release of Determined's own chart, keeping its values; its database stays and is not read")
}
