package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// event is a launch or an end of a machine.
type event struct {
	At                  time.Time
	Pool, Machine, What string
	// Why is the type and place of a launched machine, and the reason of an end.
	Why string
}

// events returns the latest events since a time, the latest first, and the numbers of launches and ends.
func events(machines []*apiv1.Machine, since time.Time) (list []event, launched, ended int) {
	add := func(m *apiv1.Machine, at *timestamppb.Timestamp, what, why string) bool {
		if at == nil || !at.AsTime().After(since) {
			return false
		}
		list = append(list, event{at.AsTime(), m.GetResourcePool(), m.GetId(), what, why})
		return true
	}
	for _, m := range machines {
		kind := strings.Join(slices.DeleteFunc([]string{m.GetInstanceType(), m.GetZone(), m.GetPrice()}, func(s string) bool { return s == "" }), ", ")
		if add(m, m.GetLaunchTime(), "launched", kind) {
			launched++
		}
		add(m, m.GetJoinTime(), "joined", kind)
		if add(m, m.GetEndTime(), "ended", m.GetReason()) {
			ended++
		}
	}
	slices.SortFunc(list, func(a, b event) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Machine, b.Machine)) })
	return list[:min(len(list), mostShown)], launched, ended
}
