package tasks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// machine is a machine of a task's latest attempt.
type machine struct {
	ID string
	// Slots are the numbers of its slots, as in "0, 1".
	Slots string
	// Failure is why the container there failed.
	Failure string
}

func machinesOf(t *apiv1.GetTaskResponse) []machine {
	var out []machine
	for _, r := range t.GetResources() {
		for agent, devices := range r.GetAgentDevices() {
			var slots []string
			for _, d := range devices.GetDevices() {
				slots = append(slots, strconv.Itoa(int(d.GetId())))
			}
			out = append(out, machine{ID: agent, Slots: strings.Join(slots, ", "), Failure: r.GetExited().GetFailure().GetErrMsg()})
		}
	}
	slices.SortStableFunc(out, func(a, b machine) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// HasFailure reports whether one of the machines has a failure.
func (t task) HasFailure() bool {
	return slices.ContainsFunc(t.Machines, func(m machine) bool { return m.Failure != "" })
}

// attempt is one try to run a task.
type attempt struct {
	Number     int
	State, End string
	Start, At  *timestamppb.Timestamp
}

// attemptsOf returns the tries of a task that had several, the latest first.
func attemptsOf(t *apiv1.GetTaskResponse) []attempt {
	list := t.GetTask().GetAllocations()
	if len(list) < 2 {
		return nil
	}
	var out []attempt
	for i, a := range list {
		out = append(out, attempt{
			Number: len(list) - i, State: apiv1.StateWord(a.GetState().String()), End: a.GetExitReason(), Start: a.GetStartTime(), At: a.GetEndTime(),
		})
	}
	return out
}

// imageOf returns the image of a task for the devices that it has.
func imageOf(config *structpb.Struct, c *apiv1.Command) string {
	image := field(config, "environment").GetStructValue().GetFields()["image"]
	if text := image.GetStringValue(); text != "" {
		return text
	}
	of := "cpu"
	for _, d := range c.GetContainer().GetDevices() {
		of = strings.ToLower(strings.TrimPrefix(d.GetType().String(), "TYPE_"))
	}
	images := image.GetStructValue().GetFields()
	return cmp.Or(images[of].GetStringValue(), images["cuda"].GetStringValue(), images["cpu"].GetStringValue())
}

// hasWebPage reports whether a configuration lists a port that speaks HTTP.
func hasWebPage(config *structpb.Struct) bool {
	ports := field(config, "environment").GetStructValue().GetFields()["proxy_ports"].GetListValue().GetValues()
	return slices.ContainsFunc(ports, func(p *structpb.Value) bool {
		return !p.GetStructValue().GetFields()["proxy_tcp"].GetBoolValue()
	})
}

func field(config *structpb.Struct, name string) *structpb.Value { return config.GetFields()[name] }
