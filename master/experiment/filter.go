package experiment

import (
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// Filter says which experiments are listed. What is empty or nil leaves all in.
type Filter struct {
	Archived *bool
	Users    []string
	UserIDs  []int32
	// Name and Description are parts of them, upper and lower case alike.
	Name        string
	Description string
	// Labels must all be there.
	Labels []string
	// States are shown ones; ACTIVE stands for all of those that it is shown as.
	States  []string
	Project int32
	// IDs and NotIDs are sets; the others are bounds, both included, 0 for none.
	IDs, NotIDs     []int32
	FromID, UntilID int32
}

// leavesIn judges all but the state.
func (f Filter) leavesIn(x *record.Experiment) bool {
	return (f.Archived == nil || *f.Archived == x.Archived) && f.leavesID(x.ID) && f.leavesUser(x) && f.leavesText(x) &&
		(f.Project == 0 || f.Project == x.ProjectID)
}

func (f Filter) leavesID(id int32) bool {
	return (len(f.IDs) == 0 || slices.Contains(f.IDs, id)) && !slices.Contains(f.NotIDs, id) &&
		id >= f.FromID && (f.UntilID == 0 || id <= f.UntilID)
}

func (f Filter) leavesUser(x *record.Experiment) bool {
	if len(f.Users) == 0 && len(f.UserIDs) == 0 {
		return true
	}
	return slices.Contains(f.Users, x.Username) || slices.Contains(f.UserIDs, x.UserID)
}

func (f Filter) leavesText(x *record.Experiment) bool {
	for _, label := range f.Labels {
		if !slices.Contains(x.Labels, label) {
			return false
		}
	}
	return containsFold(x.Name, f.Name) && containsFold(x.Description, f.Description)
}

func containsFold(text, part string) bool {
	return part == "" || strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func (f Filter) leavesState(r Row) bool {
	return len(f.States) == 0 || r.State == lifecycle.Active && slices.Contains(f.States, string(r.State)) || slices.Contains(f.States, r.Shown())
}
