package gcptest

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/serviceusage/v1"
)

// enabling is an operation of Service Usage.
type enabling struct {
	due      time.Time
	project  *project
	services []string
	to       bool
	done     bool
}

func serviceActs() map[string]act {
	return map[string]act{
		"serviceusage.services.get":         getService,
		"serviceusage.services.list":        listServices,
		"serviceusage.services.batchGet":    batchGetServices,
		"serviceusage.services.enable":      enableService,
		"serviceusage.services.disable":     disableService,
		"serviceusage.services.batchEnable": batchEnable,
		"serviceusage.operations.get":       getEnabling,
	}
}

func (p *project) describeService(name string) *serviceusage.GoogleApiServiceusageV1Service {
	parent := "projects/" + strconv.FormatUint(p.number, 10)
	state := "DISABLED"
	if p.isEnabled(name) {
		state = "ENABLED"
	}
	return &serviceusage.GoogleApiServiceusageV1Service{
		Name: parent + "/services/" + name, Parent: parent, State: state,
		Config: &serviceusage.GoogleApiServiceusageV1ServiceConfig{Name: name, Title: name},
	}
}

func (c *call) usageProject() (*project, error) { return c.project(c.projectID()) }

// checkService: https://cloud.google.com/service-usage/docs/reference/rest/v1/services/batchEnable
func (c *call) checkService(p *project, name string) error {
	if _, known := p.enabled[name]; !known {
		return refuse(403, "forbidden", "Not found or permission denied for service(s): %s.", name)
	}
	return nil
}

func getService(c *call) (any, error) {
	p, err := c.usageProject()
	if err != nil {
		return nil, err
	}
	name := c.params["servicesId"]
	if err := c.checkService(p, name); err != nil {
		return nil, err
	}
	return p.describeService(name), nil
}

// listServices supports the filters state:ENABLED and state:DISABLED.
// https://cloud.google.com/service-usage/docs/reference/rest/v1/services/list
func listServices(c *call) (any, error) {
	p, err := c.usageProject()
	if err != nil {
		return nil, err
	}
	var items []any
	for _, name := range sortedKeys(p.enabled) {
		items = append(items, p.describeService(name))
	}
	return c.namedPage("services", items)
}

func batchGetServices(c *call) (any, error) {
	p, err := c.usageProject()
	if err != nil {
		return nil, err
	}
	var items []any
	for _, name := range c.query["names"] {
		short := name[strings.LastIndexByte(name, '/')+1:]
		if err := c.checkService(p, short); err != nil {
			return nil, err
		}
		items = append(items, p.describeService(short))
	}
	return map[string]any{"services": items}, nil
}

func enableService(c *call) (any, error) { return c.enable(true, c.params["servicesId"]) }

func disableService(c *call) (any, error) { return c.enable(false, c.params["servicesId"]) }

// batchEnable accepts at most 20 services per call.
// https://cloud.google.com/service-usage/docs/reference/rest/v1/services/batchEnable
func batchEnable(c *call) (any, error) {
	names := decode[serviceusage.BatchEnableServicesRequest](c).ServiceIds
	if len(names) == 0 || len(names) > 20 {
		return nil, invalid("A request enables 1 to 20 services (is %d).", len(names))
	}
	return c.enable(true, names...)
}

func (c *call) enable(to bool, names ...string) (any, error) {
	p, err := c.usageProject()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := c.checkService(p, name); err != nil {
			return nil, err
		}
	}
	name := "operations/acf.p2-" + strconv.FormatUint(p.number, 10) + "-" + decimal64(c.nextID())
	e := &enabling{due: c.now().Add(c.opt.Operation), project: p, services: names, to: to}
	c.enablings[name] = e
	return e.describe(name), nil
}

func (e *enabling) describe(name string) map[string]any {
	if !e.done {
		return map[string]any{"name": name}
	}
	return map[string]any{"name": name, "done": true, "response": map[string]any{"@type": "type.googleapis.com/google.api.serviceusage.v1.BatchEnableServicesResponse"}}
}

// settleServices completes the operations that are due.
func (w *World) settleServices() {
	for _, e := range w.enablings {
		if e.done || e.due.After(w.now()) {
			continue
		}
		e.done = true
		for _, name := range e.services {
			e.project.enabled[name] = e.to
		}
	}
}

// getEnabling: https://cloud.google.com/service-usage/docs/reference/rest/v1/operations/get
func getEnabling(c *call) (any, error) {
	name := "operations/" + c.params["operationsId"]
	e := c.enablings[name]
	if e == nil {
		return nil, refuse(404, "notFound", "Operation %s not found.", name)
	}
	return e.describe(name), nil
}
