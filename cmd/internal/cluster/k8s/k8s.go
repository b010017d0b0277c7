// Package k8s implements the commands for clusters on Kubernetes.
package k8s

import (
	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// Platform implements cluster.Platform for Kubernetes.
type Platform struct{}

var _ cluster.Platform = Platform{}

// New returns `det-deploy k8s`.
func New(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "k8s",
		Short: "Run a cluster on Kubernetes",
		Long: `Run a cluster in a namespace of a Kubernetes cluster: a master, its database, and
tasks as pods. The cluster is a Helm release named after --cluster-id; helm list shows
it, and the same chart works with Helm and GitOps tools. --kubeconfig, --kube-context and
--namespace have the same meaning as in kubectl.`,
		Example: `  det-deploy k8s install --cluster-id lab --set imageRegistry=registry.example.com/team,maxSlotsPerPod=8
  det-deploy k8s status --cluster-id lab
  det-deploy k8s uninstall --cluster-id lab`,
	}
	c.AddCommand(cluster.Commands(s, Platform{})...)
	c.AddCommand(newValues(s, runValues), newTemplate(s, runTemplate), newInitSecrets(s, runInitSecrets), newImage(s))
	return c
}

// Name returns the platform's name in contexts.
func (Platform) Name() string { return "k8s" }

// About describes Kubernetes in the list of platforms.
func (Platform) About() string { return "Kubernetes" }

// Location lists the flags that locate a cluster.
func (Platform) Location() []string {
	return []string{"kubeconfig", "kube-context", "context", "namespace"}
}

// Select returns the selection of a single command.
func (Platform) Select(s *term.Streams) cluster.Selection { return &wanted{Streams: s} }

// Help returns the help texts specific to Kubernetes.
func (Platform) Help(v cluster.Verb) (cluster.Help, bool) {
	h, found := map[cluster.Verb]cluster.Help{
		cluster.Up: {
			Use: "install",
			Long: `Create or update a cluster on Kubernetes. Re-running is safe: it applies changes,
repairs drift and resumes an interrupted install. Values are given as to Helm; values
that are not given are kept. On a terminal, install asks for settings that it cannot
infer. To change the version, use k8s upgrade. Nodes pull the det-deploy image from
imageRegistry; push it there with image push. A release of another chart with the same
name is never changed, except that --adopt-determined replaces a release of Determined's
own chart: the cluster starts with its values and without its data.`,
			Example: `  det-deploy k8s install --cluster-id lab --set imageRegistry=registry.example.com/team,maxSlotsPerPod=8
  det-deploy k8s install --cluster-id lab -n ml --create-namespace --values values.yaml --yes
  det-deploy k8s install --cluster-id lab --values values.yaml --set slotType=cpu,slotResourceRequests.cpu=3,maxSlotsPerPod=1 --dry-run`,
		},
		cluster.Plan: {
			Short: "Show the plan of install for a cluster on Kubernetes",
			Long: `Show what install with the same flags would create, change and delete. Live objects are
compared with rendered ones, and the effects of a change are determined by a dry run on
the server. Contents of Secrets are not shown. Nothing is checked or changed.`,
			Example: "  det-deploy k8s plan --cluster-id lab --set masterPort=9090",
		},
		cluster.Doctor: {
			Long: `Check the prerequisites of install with the same flags: access to the server and its
version, the caller's permissions, storage, GPUs, maxSlotsPerPod, taints, referenced
Secrets, load balancers and quotas. Each check passes, fails or is unknown, with its
result, requirement and remedy. Nothing is changed. install runs the same checks first.`,
			Example: `  det-deploy k8s doctor --cluster-id lab --values values.yaml
  det-deploy k8s doctor --cluster-id lab --output json`,
		},
		cluster.Status: {
			Long: `Show the status of a cluster on Kubernetes: its release, drift of its objects, its pods,
the address of its master, and the pods of tasks.`,
		},
		cluster.List: {
			Long: `List clusters on Kubernetes, in one namespace with --namespace, or in all namespaces
that the caller may read. A cluster whose chart was applied without Helm has the status
applied, and leftovers of a removed cluster the status remains.`,
			Example: `  det-deploy k8s list
  det-deploy k8s list --kube-context prod --output json`,
		},
		cluster.Logs: {
			Short: "Show the master's log of a cluster on Kubernetes",
			Long: `Show the log of a cluster's master or database on Kubernetes, read from the pods, so
that it works even if the master does not answer. For the logs of a task, see
det-deploy task logs.`,
			Example: `  det-deploy k8s logs --cluster-id lab --follow
  det-deploy k8s logs --cluster-id lab --database --since 10m`,
		},
		cluster.Credentials: {
			Long: `Show the address of a cluster on Kubernetes and the initial passwords of the users admin
and determined, read from the generated Secret or those referenced by the values.
Passwords that were changed since are not shown.`,
		},
		cluster.Upgrade: {
			Long: `Upgrade a cluster on Kubernetes to this version of det-deploy, or to the image selected
by --set image.tag. The new image is pulled, the master stops, its store is backed up to
a volume that outlives the cluster, and the new master is tested on a copy of the store.
If the upgrade fails before the new master serves, or the new master does not become
ready, it is rolled back. After an interruption, the same command continues. Task pods
continue, and the new master re-attaches to them; with --pause-tasks they are stopped
before and resumed afterwards, provided that all of them are preemptible.

--abandon abandons an upgrade that is in progress or stuck and returns to the previous
version. An upgrade whose new master has served cannot be abandoned, because the old
version cannot read its store.`,
			Example: `  det-deploy k8s upgrade --cluster-id lab
  det-deploy k8s upgrade --cluster-id lab --backup-to claim:my-backups --yes
  det-deploy k8s upgrade --cluster-id lab --backup-to s3://backups/clusters --pause-tasks
  det-deploy k8s upgrade --cluster-id lab --abandon`,
		},
		cluster.Down: {
			Use: "uninstall", Aliases: []string{"down"},
			Long: `Remove a cluster from Kubernetes: stop its master, delete the pods, Jobs and Secrets of
tasks, and uninstall the release. The plan is shown first, and a receipt lists removed
and kept objects at the end. The volumes of the database and of backups are kept with
the Secret to access them, unless --delete-data is given; install restores them. The
namespace is kept. uninstall also removes incomplete clusters, clusters without a record
and clusters whose chart was applied without Helm, works after the namespace was deleted,
and can be repeated. Releases of other charts are never changed.`,
			Example: `  det-deploy k8s uninstall --cluster-id lab
  det-deploy k8s uninstall --cluster-id lab --delete-data --yes`,
		},
	}[v]
	h.On = "Kubernetes"
	return h, found
}
