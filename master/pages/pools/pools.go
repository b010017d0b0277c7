// Package pools has the pages of resource pools and their machines: the slots in use, the launches, and the
// switches of machines and slots.
package pools

import (
	"embed"
	"net/http"
	"net/url"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

//go:embed *.html
var files embed.FS

var (
	listPage    = ui.MustParse(files, "list.html", "grid.html")
	poolPage    = ui.MustParse(files, "pool.html", "grid.html")
	machinePage = ui.MustParse(files, "machine.html")
)

const (
	listPath    = ui.Root + "pools"
	machinePath = ui.Root + "machines/"
)

// Pages returns the pages of pools and machines.
func Pages() []ui.Page {
	return append([]ui.Page{
		{Pattern: "GET " + listPath, Nav: "Pools", Serve: showList},
		{Pattern: "GET " + listPath + "/{pool}", Serve: showPool},
		{Pattern: "GET " + machinePath + "{agent}", Serve: showMachine},
	}, switchPages()...)
}

// poolPath returns the path of the page of a pool, and agentPath that of a machine.
func poolPath(name string) string { return listPath + "/" + url.PathEscape(name) }
func agentPath(id string) string  { return machinePath + url.PathEscape(id) }

func showList(v *ui.Visit) error {
	pools, err := v.API.Pools(v.Context())
	if err != nil {
		return err
	}
	agents, err := v.API.Agents(v.Context())
	if err != nil {
		return err
	}
	return v.Show(listPage, "Resource pools", newList(pools, agents))
}

func showPool(v *ui.Visit) error {
	name := v.PathValue("pool")
	pools, err := v.API.Pools(v.Context())
	if err != nil {
		return err
	}
	launches, err := v.API.PoolMachines(v.Context(), name)
	if kind := client.KindOf(err); kind == client.NotFound || kind == client.Unbuilt {
		launches, err = nil, nil
	}
	if err != nil {
		return err
	}
	p := find(pools, name)
	if p == nil && len(launches) == 0 {
		return &ui.Refusal{Status: http.StatusNotFound, Message: "There is no resource pool " + ui.Plain(name) + "."}
	}
	agents, err := v.API.Agents(v.Context())
	if err != nil {
		return err
	}
	return v.Show(poolPage, "Resource pool "+name, newPool(name, p, agents, launches))
}

func find(pools []*apiv1.ResourcePool, name string) *apiv1.ResourcePool {
	for _, p := range pools {
		if p.GetName() == name {
			return p
		}
	}
	return nil
}

// findAgent returns the agent of a visit.
func findAgent(v *ui.Visit) (*apiv1.Agent, error) {
	id := v.PathValue("agent")
	agents, err := v.API.Agents(v.Context())
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if a.GetId() == id {
			return a, nil
		}
	}
	return nil, &ui.Refusal{Status: http.StatusNotFound, Message: "The machine " + ui.Plain(id) + " is not in the cluster any more."}
}

func showMachine(v *ui.Visit) error {
	a, err := findAgent(v)
	if err != nil {
		return err
	}
	return v.Show(machinePage, a.GetId(), newMachinePage(a, v.User.GetAdmin()))
}
