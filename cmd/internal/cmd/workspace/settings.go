package workspace

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// settings are the flags that create and edit share.
type settings struct {
	command.Remote

	ComputePool, AuxPool string
	Storage              string
	Members              []string
	AgentUser            string
	AgentUID             int32
	AgentGroup           string
	AgentGID             int32
}

func (o *settings) addSettings(f *pflag.FlagSet) {
	f.StringVar(&o.ComputePool, "default-compute-pool", "", "resource pool of tasks that name none")
	f.StringVar(&o.AuxPool, "default-aux-pool", "", "resource pool of tasks without slots that name none")
	f.StringVar(&o.Storage, "storage", "", "YAML file with the checkpoint storage of its experiments")
	f.StringSliceVar(&o.Members, "members", nil, "all users who may run tasks in it beside its owner, if it has storage keys or a Unix account")
	f.StringVar(&o.AgentUser, "agent-user", "", "Unix user of the tasks (administrators only)")
	f.Int32Var(&o.AgentUID, "agent-uid", 0, "Unix user ID of the tasks")
	f.StringVar(&o.AgentGroup, "agent-group", "", "Unix group of the tasks")
	f.Int32Var(&o.AgentGID, "agent-gid", 0, "Unix group ID of the tasks")
}

// flags returns the names of the flags.
func (o *settings) flags() []string {
	return []string{"default-compute-pool", "default-aux-pool", "storage", "members", "agent-user", "agent-uid", "agent-group", "agent-gid"}
}

// patch returns the changes that the flags request. An empty --storage removes the storage.
func (o *settings) patch(ctx context.Context, master *client.Client) (*apiv1.PatchWorkspace, error) {
	p := &apiv1.PatchWorkspace{AgentUserGroup: o.account()}
	if o.Given("default-compute-pool") {
		p.DefaultComputePool = &o.ComputePool
	}
	if o.Given("default-aux-pool") {
		p.DefaultAuxPool = &o.AuxPool
	}
	if o.Given("storage") {
		p.CheckpointStorageConfig = &structpb.Struct{}
	}
	var err error
	if o.Storage != "" {
		if p.CheckpointStorageConfig, err = command.ReadYAML(o.Storage, "the checkpoint storage"); err != nil {
			return nil, err
		}
	}
	if o.Given("members") {
		ids, err := idsOf(ctx, master, o.Members)
		if err != nil {
			return nil, err
		}
		p.MemberIds = &structpb.ListValue{}
		for _, id := range ids {
			p.MemberIds.Values = append(p.MemberIds.Values, structpb.NewNumberValue(float64(id)))
		}
	}
	return p, nil
}

// account returns the given parts of the Unix account, or nil.
func (o *settings) account() *apiv1.AgentUserGroup {
	if !slices.ContainsFunc([]string{"agent-user", "agent-uid", "agent-group", "agent-gid"}, o.Given) {
		return nil
	}
	g := &apiv1.AgentUserGroup{}
	if o.Given("agent-user") {
		g.AgentUser = &o.AgentUser
	}
	if o.Given("agent-uid") {
		g.AgentUid = &o.AgentUID
	}
	if o.Given("agent-group") {
		g.AgentGroup = &o.AgentGroup
	}
	if o.Given("agent-gid") {
		g.AgentGid = &o.AgentGID
	}
	return g
}

// idsOf returns the IDs of users.
func idsOf(ctx context.Context, master *client.Client, names []string) ([]int32, error) {
	var ids []int32
	for _, name := range names {
		u, err := master.User(ctx, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, u.GetId())
	}
	return ids, nil
}

// namesOf returns the names of users. A user who no longer exists is shown by ID.
func namesOf(ctx context.Context, master *client.Client, ids []int32) ([]string, error) {
	list, err := master.Users(ctx, true)
	var names []string
	for _, id := range ids {
		name := fmt.Sprint(id)
		for _, u := range list {
			if u.GetId() == id {
				name = u.GetUsername()
			}
		}
		names = append(names, name)
	}
	return names, err
}
