package model

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func reply(list []*apiv1.Model) any { return &apiv1.GetModelsResponse{Models: list} }

func fetchOne(ctx context.Context, master *client.Client, name string) (*apiv1.Model, error) {
	return master.Model(ctx, name)
}

func newArchive(s *term.Streams) *cobra.Command {
	return archive(s, true, "Archived", &cobra.Command{
		Use: "archive MODEL…", Short: "Hide models from lists, so that they accept no versions",
		Example: "  det-deploy model archive digits",
	})
}

func newUnarchive(s *term.Streams) *cobra.Command {
	return archive(s, false, "Unarchived", &cobra.Command{
		Use: "unarchive MODEL…", Short: "Open archived models again",
		Example: "  det-deploy model unarchive digits",
	})
}

func archive(s *term.Streams, archived bool, done string, c *cobra.Command) *cobra.Command {
	return command.NewChange(s, command.Change[*apiv1.Model]{
		Names: client.Models, Fetch: fetchOne, Reply: reply,
		Do: func(ctx context.Context, master *client.Client, m *apiv1.Model) (*apiv1.Model, string, error) {
			if err := master.ArchiveModel(ctx, m.GetName(), archived); err != nil {
				return nil, "", err
			}
			after, err := master.Model(ctx, m.GetName())
			return after, fmt.Sprintf("%s model %s.", done, m.GetName()), err
		},
	}, c)
}

func newMove(s *term.Streams) *cobra.Command {
	return command.NewMove(s, command.Move[*apiv1.Model]{
		Change: command.Change[*apiv1.Model]{Names: client.Models, Fetch: fetchOne, Reply: reply},
		To:     client.Workspaces,
		Do: func(ctx context.Context, master *client.Client, m *apiv1.Model, to int32) (*apiv1.Model, string, error) {
			if err := master.MoveModel(ctx, m.GetName(), to); err != nil {
				return nil, "", err
			}
			after, err := master.Model(ctx, m.GetName())
			return after, fmt.Sprintf("Moved model %s.", m.GetName()), err
		},
	}, &cobra.Command{
		Use: "move MODEL…", Short: "Move models to another workspace",
		Example: "  det-deploy model move digits --to research",
	})
}

func newDelete(s *term.Streams) *cobra.Command {
	return command.NewChange(s, command.Change[*apiv1.Model]{
		Names: client.Models, Fetch: fetchOne, Reply: reply, Ask: question,
		Do: func(ctx context.Context, master *client.Client, m *apiv1.Model) (*apiv1.Model, string, error) {
			return m, fmt.Sprintf("Deleted model %s.", m.GetName()), master.DeleteModel(ctx, m.GetName())
		},
	}, &cobra.Command{
		Use: "delete MODEL…", Aliases: []string{"rm"}, Short: "Delete models with their versions",
		Long: `Delete models with their versions (irreversible). Their checkpoints stay, but policies
and users may delete them then.`,
		Example: "  det-deploy model delete digits --yes",
	})
}

// question names what would be deleted.
func question(list []*apiv1.Model) string {
	var parts []string
	for _, m := range list {
		parts = append(parts, fmt.Sprintf("model %s (%s)", m.GetName(), term.Count(int(m.GetNumVersions()), "version")))
	}
	return "Delete " + strings.Join(parts, ", ") + "? Programs that load them by name will fail. This is irreversible."
}
