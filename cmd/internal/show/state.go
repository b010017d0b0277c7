package show

import apiv1 "github.com/det-deploy/det-deploy/master/api/v1"

// TaskState returns the state of a task in one word. A master of an earlier version sends only the state of
// Determined's API.
func TaskState(c *apiv1.Command) string {
	if c.Status == nil {
		return Enum(c.GetState(), "STATE_")
	}
	return c.GetStatus()
}
