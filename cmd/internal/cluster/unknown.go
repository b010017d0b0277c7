package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/internal/document/naming"
)

// unknownError reports a cluster that is not in the records of this machine.
type unknownError struct {
	cluster string
	have    []string
}

func (e *unknownError) Error() string {
	if len(e.have) == 0 {
		return fmt.Sprintf("no cluster %s here (none is known on this machine)", e.cluster)
	}
	return fmt.Sprintf("no cluster %s here%s", e.cluster, NameOthers(e.cluster, e.have))
}

// NameOthers returns the end of an error about an unknown cluster: the known clusters, and the one with the
// most similar ID.
func NameOthers(id string, have []string) string {
	if len(have) == 0 {
		return ""
	}
	text := " (have: " + strings.Join(have, ", ") + ")"
	if near := naming.Nearest(id, have); near != "" {
		text += ", did you mean " + near + "?"
	}
	return text
}

// Hint names the commands that find clusters which other machines have created.
func (e *unknownError) Hint() string {
	return "for a cluster that another machine has created, use --platform; `det-deploy aws list --all-regions`, `gcp list` and `k8s list` find it"
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
