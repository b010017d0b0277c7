package gcptest

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"
)

// directory is a metadata directory: names and their values, which are directories, lists of
// directories, strings, numbers and lists of strings.
type directory map[string]any

// attributes are set by users. Their names are not converted.
type attributes map[string]any

// lines is a list of strings. As text, it has one string per line.
type lines []string

// values returns the metadata of an instance.
// https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys#instance-metadata
func (m metadataServer) values(i *machine) directory {
	m.world.mu.Lock()
	number := m.world.findProject(m.project).number
	m.world.mu.Unlock()
	below := "projects/" + strconv.FormatUint(number, 10) + "/"
	return directory{
		"instance": m.instanceValues(i, below),
		"project": directory{
			"project-id": m.project, "numeric-project-id": number, "attributes": attributes{},
		},
		"universe": directory{"universe-domain": "googleapis.com"},
	}
}

func (m metadataServer) instanceValues(i *machine, below string) directory {
	set := attributes{}
	for _, item := range i.Metadata.Items {
		set[item.Key] = *item.Value
	}
	return directory{
		"name": i.Name, "id": i.Id, "hostname": i.Name + "." + m.zone + ".c." + m.project + ".internal", "description": i.Description,
		"zone": below + "zones/" + m.zone, "machine-type": below + "machineTypes/" + nameOf(i.MachineType), "cpu-platform": i.CpuPlatform,
		"image": m.imageOf(i), "attributes": set, "tags": slices.Clone(i.Tags.Items),
		"disks": diskValues(i.Disks), "network-interfaces": interfaceValues(i.NetworkInterfaces, below), "service-accounts": accountValues(i.ServiceAccounts),
		"preempted": upperText(i.preempted), "maintenance-event": orElse(i.maintenance, "NONE"),
		"scheduling": directory{
			"automatic-restart":   upperText(i.Scheduling.AutomaticRestart != nil && *i.Scheduling.AutomaticRestart),
			"on-host-maintenance": i.Scheduling.OnHostMaintenance, "preemptible": upperText(i.isSpot()),
		},
	}
}

// imageOf returns the image of the instance's boot disk.
func (m metadataServer) imageOf(i *machine) string {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	d, found := m.world.engine.disks.get(strings.TrimPrefix(i.Disks[0].Source, linkBase))
	if !found {
		return ""
	}
	return strings.TrimPrefix(d.SourceImage, linkBase)
}

func diskValues(disks []*compute.AttachedDisk) []any {
	var out []any
	for _, d := range disks {
		out = append(out, directory{
			"device-name": d.DeviceName, "index": d.Index, "interface": d.Interface, "mode": d.Mode, "type": d.Type,
		})
	}
	return out
}

func interfaceValues(all []*compute.NetworkInterface, below string) []any {
	var out []any
	for _, nic := range all {
		out = append(out, directory{
			"ip": nic.NetworkIP, "network": below + "networks/" + nameOf(nic.Network), "mtu": 1460,
			"access-configs": []any{directory{"external-ip": externalOf(nic), "type": "ONE_TO_ONE_NAT"}},
		})
	}
	return out
}

// accountValues returns the metadata of service accounts under their emails and under "default".
func accountValues(all []*compute.ServiceAccount) directory {
	out := directory{}
	for _, a := range all {
		v := directory{"aliases": lines{"default"}, "email": a.Email, "scopes": lines(slices.Clone(a.Scopes))}
		out[a.Email], out["default"] = v, v
	}
	return out
}

func upperText(b bool) string { return strings.ToUpper(strconv.FormatBool(b)) }

// findValue returns the value at a path.
func findValue(v any, path string) (any, bool) {
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' }) {
		switch d := v.(type) {
		case directory:
			v = d[part]
		case attributes:
			v = d[part]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(d) {
				return nil, false
			}
			v = d[n]
		default:
			return nil, false
		}
		if v == nil {
			return nil, false
		}
	}
	return v, true
}

func isDirectory(v any) bool {
	switch v.(type) {
	case directory, attributes, []any:
		return true
	}
	return false
}

// isText reports whether a value is returned as plain text.
func isText(v any) bool {
	switch v.(type) {
	case string, lines:
		return true
	}
	return false
}

// toText converts a value to text. A directory becomes a list of names, one per line.
func toText(v any) string {
	var names []string
	add := func(name string, sub any) {
		if isDirectory(sub) {
			name += "/"
		}
		names = append(names, name)
	}
	switch d := v.(type) {
	case string:
		return d
	case lines:
		return strings.Join(d, "\n")
	case directory:
		for _, name := range sortedKeys(d) {
			add(name, d[name])
		}
	case attributes:
		for _, name := range sortedKeys(d) {
			add(name, d[name])
		}
	case []any:
		for n, sub := range d {
			add(strconv.Itoa(n), sub)
		}
	}
	return strings.Join(names, "\n")
}

// camelKeys converts a value to the server's JSON form: "machine-type" becomes "machineType".
func camelKeys(v any) any {
	switch d := v.(type) {
	case directory:
		out := make(map[string]any)
		for name, sub := range d {
			if !strings.Contains(name, "@") {
				name = toCamel(name)
			}
			out[name] = camelKeys(sub)
		}
		return out
	case []any:
		out := make([]any, len(d))
		for n, sub := range d {
			out[n] = camelKeys(sub)
		}
		return out
	}
	return v
}

func toCamel(name string) string {
	parts := strings.Split(name, "-")
	for n, p := range parts[1:] {
		parts[n+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}
