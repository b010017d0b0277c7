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
tasks as pods. It is a Helm release of the name that --cluster-id gives; helm list
shows it, and the same chart serves plain Helm and GitOps tools. Which Kubernetes is
meant, --kubeconfig, --context and --namespace say as they do to kubectl.`,
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
func (Platform) Location() []string { return []string{"kubeconfig", "context", "namespace"} }

// Select returns the selection of a single command.
func (Platform) Select(s *term.Streams) cluster.Selection { return &wanted{Streams: s} }

// Help returns the help texts specific to Kubernetes.
func (Platform) Help(v cluster.Verb) (cluster.Help, bool) {
	h, found := map[cluster.Verb]cluster.Help{
		cluster.Up: {
			Use: "install",
			Long: `Create a cluster on Kubernetes, or bring one to what is asked for: install again
changes what differs, repairs what is broken, continues what was interrupted, and
does nothing else. Values are those of the chart, given as to Helm; what is left out
keeps the value it had. On a terminal it asks for what cannot be inferred. Another
version than the one that runs is for upgrade. Nodes pull the image of det-deploy from
imageRegistry, where image push puts it. A release of the name that is not det-deploy's
is left as it is; with --adopt-determined one of Determined's own chart makes room for
the cluster, which begins with its values and without its data.`,
			Example: `  det-deploy k8s install --cluster-id lab --set imageRegistry=registry.example.com/team,maxSlotsPerPod=8
  det-deploy k8s install --cluster-id lab -n ml --create-namespace -f values.yaml --yes
  det-deploy k8s install --cluster-id lab -f values.yaml --set slotType=cpu,slotResourceRequests.cpu=3,maxSlotsPerPod=1 --dry-run`,
		},
		cluster.Plan: {
			Short: "Show the plan of install for a cluster on Kubernetes",
			Long: `Show what install with the same flags would create, change and delete: every live
object is compared with the rendered one, and the server itself says what a change
would come to. What is in a Secret is not shown. Nothing is asked, checked or changed.`,
			Example: "  det-deploy k8s plan --cluster-id lab --set masterPort=9090",
		},
		cluster.Doctor: {
			Long: `Check what install with the same flags needs: that the server is reached and is new
enough, what the caller may do, storage, GPUs and what maxSlotsPerPod should be,
taints, Secrets that are named, load balancers, quotas. Each check says pass, fail or
unknown, what was found, what is needed, and what to do. Nothing is changed. It is the
first act of install.`,
			Example: `  det-deploy k8s doctor --cluster-id lab -f values.yaml
  det-deploy k8s doctor --cluster-id lab --output json`,
		},
		cluster.Status: {
			Long: `Show the status of a cluster on Kubernetes: its release, whether every object is as it should
be, its pods, where its master answers, and the pods of tasks.`,
		},
		cluster.List: {
			Long: `List clusters on Kubernetes: those of one namespace with --namespace, and else
those of every namespace into which the caller may look. A cluster whose chart was
applied without Helm is there as applied, and parts of one that is gone as remains.`,
			Example: `  det-deploy k8s list
  det-deploy k8s list --context prod --output json`,
		},
		cluster.Logs: {
			Short: "Show the master's logs of a cluster on Kubernetes",
			Long: `Show the master's logs of a cluster on Kubernetes, or its database, read from
their pods: also when the master does not answer. The log of a task is in
det-deploy task logs.`,
			Example: `  det-deploy k8s logs --cluster-id lab --follow
  det-deploy k8s logs --cluster-id lab --database --since 10m`,
		},
		cluster.Credentials: {
			Long: `Show the address and the passwords of admin and determined with which a cluster on
Kubernetes was created, read from the Secret in which they were made or the ones that
the values name. A password that was changed since is not known there.`,
		},
		cluster.Upgrade: {
			Long: `Upgrade a cluster on Kubernetes to this version of det-deploy, or to the image that
--set image.tag names. The new image is pulled first; then the master stops, its store
is backed up onto a volume that outlives the cluster, and the new master is tried on a
copy of it. Until it serves, whatever goes wrong puts the old one back, and a new
master that does not become ready is rolled back; after an interruption the same
command continues. Pods of tasks go on, and the new master takes them up again; with
--pause-tasks they are stopped first, if all can be run again, and are afterwards.

--abandon gives up an upgrade that is under way or stuck, by whomever it was begun, and
leads back to what ran before. A new master that has answered is not given up: what it
has written the old one cannot read.`,
			Example: `  det-deploy k8s upgrade --cluster-id lab
  det-deploy k8s upgrade --cluster-id lab --backup-to claim:my-backups --yes
  det-deploy k8s upgrade --cluster-id lab --backup-to s3://backups/clusters --pause-tasks
  det-deploy k8s upgrade --cluster-id lab --abandon`,
		},
		cluster.Down: {
			Use: "uninstall", Aliases: []string{"down"},
			Long: `Remove a cluster from Kubernetes: its master stops, the pods, Jobs and Secrets that
tasks left go, then the release. It names what it deletes before, and ends with a
receipt: removed, kept and why, left. The volumes of the database and of backups stay,
with the Secret that opens them, unless --delete-data says otherwise; install finds
them again. The namespace stays. It works on a half-made cluster, without its record,
on one whose chart was applied without Helm, when the namespace is gone, and twice; a
release that is not det-deploy's it leaves as it is.`,
			Example: `  det-deploy k8s uninstall --cluster-id lab
  det-deploy k8s uninstall --cluster-id lab --delete-data --yes`,
		},
	}[v]
	h.On = "Kubernetes"
	return h, found
}
