// Package show formats values of the master's API for tables.
package show

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Time formats a time in the local time zone. It returns "" for nil.
func Time(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// When returns a time for a table, which is zero for nil.
func When(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// Enum returns the name of an enum value without its prefix, such as "aws" for RESOURCE_POOL_TYPE_AWS. It
// returns "" for an unspecified value.
func Enum(value fmt.Stringer, prefix string) string {
	s := strings.ToLower(strings.TrimPrefix(value.String(), prefix))
	return strings.ReplaceAll(strings.TrimSuffix(s, "unspecified"), "_", " ")
}

// YesNo returns "yes" or "no".
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// AgentState returns the state of an agent, which determines whether it accepts tasks.
func AgentState(a *apiv1.Agent) string {
	switch {
	case a.GetLost():
		return "lost"
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

// Restrictions lists the restrictions of an agent, one sentence each: the tasks that it does not run with
// reasons, and the users that it trusts.
func Restrictions(a *apiv1.Agent) []string {
	var out []string
	switch {
	case a.GetNotIsolated() == "":
	case a.GetTrustsUsers():
		out = append(out, "tasks of all users run without isolation (trust_users in agent.yaml): "+a.GetNotIsolated())
	default:
		out = append(out, apiv1.OnlyAdministrators(a.GetNotIsolated()))
	}
	if why := a.GetNoFixedPaths(); why != "" {
		out = append(out, "no trials run there: "+why)
	}
	return out
}

// CountBusy returns the number of busy slots of an agent and of all its slots.
func CountBusy(a *apiv1.Agent) (used, all int) {
	for _, s := range a.GetSlots() {
		all++
		if s.GetContainer() != nil {
			used++
		}
	}
	return used, all
}
