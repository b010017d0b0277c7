package workspace

import (
	"math"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
)

// mostMembers limits the members of a workspace, because every list of workspaces includes them.
const mostMembers = 1000

// applyMembers replaces the members of a workspace unless in is nil. It returns InvalidArgument if a
// member is not a user.
func (s *spaces) applyMembers(w *workspaceRecord, in *structpb.ListValue) error {
	if in == nil {
		return nil
	}
	ids := make([]int32, 0, len(in.GetValues()))
	for i, v := range in.GetValues() {
		n, ok := v.GetKind().(*structpb.Value_NumberValue)
		if !ok || n.NumberValue != math.Trunc(n.NumberValue) || n.NumberValue < 1 || n.NumberValue > math.MaxInt32 {
			return status.New(status.InvalidArgument, "memberIds[%d]: must be the ID of a user", i)
		}
		ids = append(ids, int32(n.NumberValue))
	}
	return s.setMembers(w, ids)
}

// setMembers sets the members of a workspace. Existing members may be deleted users.
func (s *spaces) setMembers(w *workspaceRecord, ids []int32) error {
	if len(ids) > mostMembers {
		return status.New(status.InvalidArgument, "memberIds: a workspace has at most %d members (got %d)", mostMembers, len(ids))
	}
	members := slices.Clone(ids)
	slices.Sort(members)
	members = slices.Compact(members)
	for _, id := range members {
		if slices.Contains(w.Members, id) {
			continue
		}
		if _, err := s.cfg.Users.User(id); err != nil {
			return status.New(status.InvalidArgument, "memberIds: user %d not found", id)
		}
	}
	w.Members = members
	return nil
}
