package master

import (
	"time"

	"github.com/det-deploy/det-deploy/master/accounting"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/rm"
)

// accountBook returns the usage by time and owner, with the current names of experiments, projects
// and workspaces.
func (m *Master) accountBook() *accounting.Book {
	return &accounting.Book{
		Store: m.store, Placed: m.tasks.Placed, Now: time.Now,
		Experiment: m.subjectOf, Workspace: m.workspaces.WorkspaceName, Project: m.projectName,
	}
}

// subjectOf returns the experiment of a job.
func (m *Master) subjectOf(job rm.JobID) accounting.Subject {
	x, found := m.experiments.OfJob(job)
	if !found {
		return accounting.Subject{}
	}
	return accounting.Subject{ID: x.ID, Name: x.Name, Labels: x.Labels, Project: x.ProjectID}
}

// projectName returns "workspace / project", or "" if the project was deleted.
func (m *Master) projectName(id int32) string {
	p, err := m.workspaces.Project(id)
	if err != nil {
		return ""
	}
	return m.workspaces.WorkspaceName(p.WorkspaceID) + " / " + p.Name
}

// DescribeSlotPrice returns the price of a pool's slots for clients; nil means unknown.
func DescribeSlotPrice(p config.Pool) *apiv1.SlotPrice {
	if p.SlotPrice == nil {
		return nil
	}
	return &apiv1.SlotPrice{PerHour: p.SlotPrice.PerHour, SpotPerHour: p.SlotPrice.SpotPerHour, Currency: p.SlotPrice.Currency}
}

// priceAssignment returns the hourly price of a slot where an allocation was placed, or nil if its
// pool has no price.
func (m *Master) priceAssignment(as rm.Assignment) *rm.Price {
	for _, p := range m.parts.Config.ResourcePools {
		if p.Name == as.Pool && p.SlotPrice != nil {
			return priceSlots(*p.SlotPrice, as.Containers, func(id rm.AgentID) bool { return m.launchers.IsSpot(p.Name, string(id)) })
		}
	}
	return nil
}

// priceSlots returns the mean over the slots of all containers, because only some may be on spot
// machines.
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
