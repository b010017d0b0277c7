// Package show writes what the master's API says in the words of tables.
package show

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Time is a time of this machine's zone; it is empty for none.
func Time(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// Enum is the value of an enum without its prefix: RESOURCE_POOL_TYPE_AWS is "aws", and
// one that is not known is empty.
func Enum(value fmt.Stringer, prefix string) string {
	s := strings.ToLower(strings.TrimPrefix(value.String(), prefix))
	return strings.ReplaceAll(strings.TrimSuffix(s, "unspecified"), "_", " ")
}

// YesNo is a yes or a no.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// AgentState is whether an agent takes tasks, and why not.
func AgentState(a *apiv1.Agent) string {
	switch {
	case a.GetSick() != nil:
		return "sick (" + a.GetSick().GetLack() + ")"
	case a.GetDraining():
		return "draining"
	case !a.GetEnabled():
		return "disabled"
	case a.GetNotIsolated() != "" && !a.GetTrustsUsers():
		return "administrators only"
	default:
		return "enabled"
	}
}

// Restrictions are sentences on which tasks an agent does not run, and why, and on whom it
// trusts.
func Restrictions(a *apiv1.Agent) []string {
	var out []string
	switch {
	case a.GetNotIsolated() == "":
	case a.GetTrustsUsers():
		out = append(out, "tasks of all users run without isolation (trust_users in agent.yaml): "+a.GetNotIsolated())
	default:
		out = append(out, "only administrators' tasks run there, because it does not isolate them: "+a.GetNotIsolated())
	}
	if why := a.GetNoFixedPaths(); why != "" {
		out = append(out, "no trials of experiments run there: "+why)
	}
	return out
}

// CountBusy counts the slots of an agent that run something, of those that there are.
func CountBusy(a *apiv1.Agent) (used, all int) {
	for _, s := range a.GetSlots() {
		all++
		if s.GetContainer() != nil {
			used++
		}
	}
	return used, all
}
