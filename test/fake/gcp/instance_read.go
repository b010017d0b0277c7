package gcptest

import (
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"
)

func instanceReadActs() map[string]act {
	return map[string]act{
		"compute.instances.getSerialPortOutput": getSerialPort,
		"compute.instances.getGuestAttributes":  getGuestAttributes,
	}
}

// getSerialPort returns up to the last megabyte of the serial port output.
// https://cloud.google.com/compute/docs/troubleshooting/viewing-serial-port-output
func getSerialPort(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	start, _ := strconv.Atoi(c.query.Get("start")) // 0 if it is missing
	start = min(max(start, 0, len(m.console)-(1<<20)), len(m.console))
	return &compute.SerialPortOutput{
		Kind: "compute#serialPortOutput", SelfLink: linkTo(path) + "/serialPort", Contents: m.console[start:],
		Start: int64(start), Next: int64(len(m.console)), ForceSendFields: []string{"Contents", "Start", "Next"},
	}, nil
}

// getGuestAttributes returns the guest attributes of an instance. They must be enabled.
// https://cloud.google.com/compute/docs/metadata/manage-guest-attributes
func getGuestAttributes(c *call) (any, error) {
	path, m, err := instances().find(c)
	if err != nil {
		return nil, err
	}
	query := orElse(c.query.Get("queryPath"), c.query.Get("variableKey"))
	if !m.allowsGuestAttributes() {
		return nil, refuse(403, "forbidden", "Guest attributes endpoint access is disabled.")
	}
	out := &compute.GuestAttributes{Kind: "compute#guestAttributes", QueryPath: query, SelfLink: linkTo(path) + "/guestAttributes", QueryValue: &compute.GuestAttributesValue{}}
	namespace, key, _ := strings.Cut(query, "/")
	for _, e := range m.guest {
		if (namespace == "" || e.Namespace == namespace) && (key == "" || e.Key == key) {
			out.QueryValue.Items = append(out.QueryValue.Items, e)
		}
	}
	if len(out.QueryValue.Items) == 0 {
		return nil, notFound(path + "/guestAttributes/" + query)
	}
	return out, nil
}

func (m *machine) allowsGuestAttributes() bool {
	for _, item := range m.Metadata.Items {
		if item.Key == "enable-guest-attributes" && item.Value != nil && strings.EqualFold(*item.Value, "true") {
			return true
		}
	}
	return false
}

// WriteConsole appends to the serial port output of an instance.
func (w *World) WriteConsole(projectID, zoneName, name, text string) {
	w.onMachine(projectID, zoneName, name, func(_ string, m *machine) { m.console += text })
}

// SetGuestAttribute sets a guest attribute as the instance itself.
func (w *World) SetGuestAttribute(projectID, zoneName, name, key, value string) {
	w.onMachine(projectID, zoneName, name, func(_ string, m *machine) {
		namespace, key, _ := strings.Cut(key, "/")
		for _, e := range m.guest {
			if e.Namespace == namespace && e.Key == key {
				e.Value = value
				return
			}
		}
		m.guest = append(m.guest, &compute.GuestAttributesEntry{Namespace: namespace, Key: key, Value: value})
	})
}

func machinePath(projectID, zoneName, name string) string {
	return "projects/" + projectID + "/zones/" + zoneName + "/instances/" + name
}

// onMachine calls f with an instance. The instance must exist.
func (w *World) onMachine(projectID, zoneName, name string, f func(path string, m *machine)) {
	w.tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	path := machinePath(projectID, zoneName, name)
	m, found := w.engine.instances.get(path)
	if !found {
		w.tb.Errorf("gcptest: there is no machine %s", path)
		return
	}
	f(path, m)
}
