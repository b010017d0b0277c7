package server

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// experimentsRequest is the parameters of a list of experiments; what is wrong with them
// is in c.bad.
func (c *call) experimentsRequest() *apiv1.GetExperimentsRequest {
	r := &apiv1.GetExperimentsRequest{
		SortBy: enumParam[apiv1.GetExperimentsRequest_SortBy](c, "sortBy"), Descending: c.isDescending(),
		Offset: int32(c.numberParam("offset")), Limit: int32(c.limitParam()),
		Description: c.textParam("description"), Name: c.textParam("name"), Labels: c.allValues("labels"),
		Archived: c.flagParam("archived"), States: enumParams[apiv1.Experiment_State](c, "states"),
		Users: c.allValues("users"), UserIds: c.numberParams("userIds"), ProjectId: int32(c.numberParam("projectId")),
		Ids: c.numberParams("experimentIdFilter.incl"), ExcludedIds: c.numberParams("experimentIdFilter.notIn"),
		FromId: c.boundParam("experimentIdFilter.gte", "experimentIdFilter.gt", 1),
		ToId:   c.boundParam("experimentIdFilter.lte", "experimentIdFilter.lt", -1),
		// What is shown of trials are numbers that are at hand.
		ShowTrialData: c.isSet("showTrialData"),
	}
	return r
}

// boundParam is a bound that is included, given as one that is or, one step beside it, as
// one that is not.
func (c *call) boundParam(included, excluded string, step int32) *int32 {
	if c.textParam(included) != "" {
		return new(int32(c.numberParam(included)))
	}
	if c.textParam(excluded) != "" {
		return new(int32(c.numberParam(excluded)) + step)
	}
	return nil
}

// enumeration is an enum of the API.
type enumeration interface {
	~int32
	protoreflect.Enum
}

// enumParam is the value that a parameter names; 0 where it names none.
func enumParam[E enumeration](c *call, name string) E {
	if list := enumParams[E](c, name); len(list) > 0 {
		return list[0]
	}
	return 0
}

// enumParams is all values that a parameter names, without the one that says nothing.
func enumParams[E enumeration](c *call, name string) []E {
	var zero E
	values := zero.Descriptor().Values()
	var list []E
	for _, text := range c.allValues(name) {
		v := values.ByName(protoreflect.Name(text))
		if v == nil {
			c.rejectParam(name, "one of "+strings.Join(enumNames(values), ", "))
			continue
		}
		if v.Number() != 0 {
			list = append(list, E(v.Number()))
		}
	}
	return list
}

func enumNames(values protoreflect.EnumValueDescriptors) []string {
	var names []string
	for i := range values.Len() {
		if v := values.Get(i); v.Number() != 0 {
			names = append(names, string(v.Name()))
		}
	}
	return names
}
