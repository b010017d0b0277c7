package master

import (
	"time"

	"github.com/det-deploy/det-deploy/master/accounting"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/rm"
)

// accountBook is what was used when, by whom, with the names that experiments, projects and
// workspaces have now.
func (m *Master) accountBook() *accounting.Book {
	return &accounting.Book{
		Store: m.store, Placed: m.tasks.Placed, Now: time.Now,
		Experiment: m.subjectOf, Workspace: m.workspaces.WorkspaceName, Project: m.projectName,
	}
}

// subjectOf is the experiment that a job is.
func (m *Master) subjectOf(job rm.JobID) accounting.Subject {
	x, found := m.experiments.OfJob(job)
	if !found {
		return accounting.Subject{}
	}
	return accounting.Subject{ID: x.ID, Name: x.Name, Labels: x.Labels, Project: x.ProjectID}
}

// projectName is the name of a project behind that of its workspace, empty for one that is
// gone.
func (m *Master) projectName(id int32) string {
	p, err := m.workspaces.Project(id)
	if err != nil {
		return ""
	}
	return m.workspaces.WorkspaceName(p.WorkspaceID) + " / " + p.Name
}

// DescribeSlotPrice is what clients are shown of what a pool's slots cost; nil is not known.
func DescribeSlotPrice(p config.Pool) *apiv1.SlotPrice {
	if p.SlotPrice == nil {
		return nil
	}
	return &apiv1.SlotPrice{PerHour: p.SlotPrice.PerHour, SpotPerHour: p.SlotPrice.SpotPerHour, Currency: p.SlotPrice.Currency}
}

// priceAssignment is what a slot costs in an hour where an allocation was placed, nil where
// its pool has no price.
func (m *Master) priceAssignment(as rm.Assignment) *rm.Price {
	for _, p := range m.parts.Config.ResourcePools {
		if p.Name == as.Pool && p.SlotPrice != nil {
			return priceSlots(*p.SlotPrice, as.Containers, func(id rm.AgentID) bool { return m.launchers.IsSpot(p.Name, string(id)) })
		}
	}
	return nil
}

// priceSlots is the mean over the slots of all containers, which may be on spot machines and
// on others.
func priceSlots(p config.SlotPrice, containers []rm.Container, isSpot func(rm.AgentID) bool) *rm.Price {
	var sum float64
	slots := 0
	for _, c := range containers {
		sum += p.On(isSpot(c.Agent)) * float64(len(c.Devices))
		slots += len(c.Devices)
	}
	if slots == 0 {
		return &rm.Price{PerHour: p.PerHour, Currency: p.Currency}
	}
	return &rm.Price{PerHour: sum / float64(slots), Currency: p.Currency}
}
