package cluster

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// unknown returns the error for a cluster that is not in the records of this machine.
func unknown(id string, all []known) error {
	return &AbsentError{
		Cluster: id, Have: existing(all), None: "none is known on this machine",
		Try: "for a cluster that another machine has created, use --platform; `det-deploy aws list --all-regions`, `gcp list` and `k8s list` find it",
	}
}

// existing returns the known clusters in order, each once.
func existing(all []known) []Existing {
	var out []Existing
	for _, id := range idsOf(all) {
		out = append(out, Existing{ID: id})
	}
	return out
}

// idsOf returns the IDs of clusters in order, each once.
func idsOf(all []known) []string {
	var ids []string
	for _, k := range all {
		ids = append(ids, k.Cluster)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// completeID makes --cluster-id complete with the known clusters of the platforms.
func completeID(c *cobra.Command, s *term.Streams, platforms ...Platform) {
	// It fails only for an unknown or a completed flag.
	_ = c.RegisterFlagCompletionFunc("cluster-id", func(_ *cobra.Command, _ []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		all, err := rememberedClusters(s, platforms)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, k := range all {
			if strings.HasPrefix(k.Cluster, text) {
				out = append(out, cobra.CompletionWithDesc(k.Cluster, strings.TrimSpace(k.Platform+" "+k.placeName())))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	})
}
