package workspace

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func newCreate(s *term.Streams) *cobra.Command {
	o := &settings{}
	c := command.NewRemote(s, o, runCreate, &cobra.Command{
		Use: "create NAME", Short: "Create a workspace",
		Example: "  det-deploy workspace create vision\n  det-deploy workspace create vision --default-compute-pool gpu --storage storage.yaml",
	})
	o.addSettings(c.Flags())
	o.CompleteFlag(c, "default-compute-pool", client.Pools)
	o.CompleteFlag(c, "default-aux-pool", client.Pools)
	return c
}

func runCreate(ctx context.Context, o *settings, master *client.Client) error {
	p, err := o.patch(ctx, master)
	if err != nil {
		return err
	}
	in := &apiv1.PostWorkspaceRequest{
		Name: o.Args[0], DefaultComputePool: p.GetDefaultComputePool(), DefaultAuxPool: p.GetDefaultAuxPool(),
		CheckpointStorageConfig: p.GetCheckpointStorageConfig(), AgentUserGroup: p.GetAgentUserGroup(),
	}
	for _, id := range p.GetMemberIds().GetValues() {
		in.MemberIds = append(in.MemberIds, int32(id.GetNumberValue()))
	}
	w, err := master.CreateWorkspace(ctx, in)
	if err != nil {
		return err
	}
	return o.AnswerNote(w, "Created workspace %s (ID %d).", w.GetName(), w.GetId())
}
